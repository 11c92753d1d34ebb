#!/bin/sh
# Fits of every strategy are killed at random moments, by SIGKILL and by the signals that ask for an end, some of them several times, and
# go on from their checkpoints, with another number of threads. The result must be that of a fit without a break, bit for bit.
# KILLS: how many (test_kills_slow.sh has many); SEED: other moments.
set -u
. ./checks.sh
kills=${KILLS:-20}
seed=${SEED:-1}

# make_data ROWS NOISE
make_data() {
  awk -v n="$1" -v noise="$2" 'BEGIN {
    srand(5); print "a,b,y"
    for (i = 0; i < n; i++) {
      a = 4 * rand() - 2; b = 10 * rand()
      printf "%.6f,%.6f,%.6f\n", a, b, sin(2 * a) + cos(b) + noise * (rand() + rand() - 1)
    }
  }'
}
make_data 250 0.3 >few.csv
make_data 250 0 >clean.csv
make_data 600 0.3 >many.csv

# data_of WAY
data_of() {
  case $1 in
    auto-default) echo many.csv ;;
    auto-exact) echo clean.csv ;;
    *) echo few.csv ;;
  esac
}

# options_of WAY
options_of() {
  case $1 in
    auto) echo "--max-knots 60" ;;
    auto-default) ;; # nearly all of the time goes into the exact GP of all rows, after that of some
    auto-subset) echo "--subset-rows 60 --max-knots 120" ;; # the exact GP of some rows; knots are doubled
    auto-exact) echo "--subset-rows 130 --restarts 1" ;; # the result is the exact GP
    auto-refined) echo "--max-knots 40 --refine --restarts 1" ;;
    fixed) echo "--select fixed --knots 20 --max-iter 60 --restarts 1" ;;
    full) echo "--approx full --max-iter 30 --threads 1" ;;
    simultaneous) echo "--select simultaneous --knots 12 --max-iter 60" ;;
    adadelta) echo "--select simultaneous --knots 10 --optimizer adadelta --max-iter 150 --restarts 1" ;;
    oat-bo) echo "--select oat-bo --knots 3 --max-knots 10 --refine --max-iter 40" ;;
    oat-rs) echo "--select oat-rs --knots 3 --max-knots 14 --optimizer adadelta --max-iter 60" ;;
    oat-gain) echo "--select oat-gain --knots 3 --max-knots 16 --batch 2 --max-iter 60" ;;
    variance) echo "--select variance --knots 20 --max-iter 40 --refine" ;;
  esac
}
ways="auto auto-default auto-subset auto-exact auto-refined fixed full simultaneous adadelta oat-bo oat-rs oat-gain variance"

# result_of MODEL OUT: all that must be the same: predictions with all digits, knots, counts, objective
result_of() {
  : >knots.csv
  knots="--knots knots.csv"
  case $way in
    full | auto-exact) knots= ;; # it has none
  esac
  # shellcheck disable=SC2086
  "$OATGP" predict "$1" "$(data_of "$way")" >"$2" && "$OATGP" info "$1" $knots --json >info.json && cat knots.csv >>"$2" &&
    tr ',{}' '\n' <info.json | grep -E '"(objective|iterations|evaluations|rejected|stop|knots|sigma|tau)"' >>"$2"
}

for way in $ways; do
  # shellcheck disable=SC2046
  if ! "$OATGP" fit "$(data_of "$way")" --target y --quiet $(options_of "$way") -o whole.oatgp >/dev/null ||
    ! result_of whole.oatgp "$way.whole"; then
    miss "a fit without a break: $way"
  fi
done

# One line for each kill: way, signal, moment as a share of the time that the fit takes, threads of the part, whether the next kill is of
# the same fit.
awk -v n="$kills" -v seed="$seed" -v ways="$ways" 'BEGIN {
  srand(seed); count = split(ways, way, " "); split("KILL TERM HUP INT", signals, " ")
  for (i = 0; i < n; i++) {
    again = more; more = i < n - 1 && rand() < 0.3
    if (!again) { w = way[1 + fits++ % count] }
    print w, signals[1 + int(4 * rand())], rand(), 1 + int(2 * rand()), again ? "again" : "first", more ? "more" : "last"
  }
}' >plan

# part OPTIONS...: a part of the fit, in the background
part() {
  # shellcheck disable=SC2046
  "$OATGP" fit "$(data_of "$way")" --target y --quiet $(options_of "$way") --checkpoint check.point --checkpoint-seconds 0 --trace trace \
    "$@" -o part.oatgp >/dev/null 2>err &
  pid=$!
}

# How long a fit takes when each step is saved.
for way in $ways; do
  begun=$(date +%s.%N)
  part --threads 1
  wait $pid
  awk -v a="$begun" -v b="$(date +%s.%N)" 'BEGIN { print b - a }' >"$way.seconds"
done

interrupted=0 ended=0 early=0 same=0 exact=0
while read -r way signal share threads first last; do
  [ "$way" = full ] && threads=1 # the bits of the BLAS depend on its threads
  [ "$first" = again ] || rm -f check.point
  resume=
  [ ! -s check.point ] || resume="--resume check.point"
  # shellcheck disable=SC2086
  part --threads "$threads" $resume
  sleep "$(awk -v s="$share" -v t="$(cat "$way.seconds")" 'BEGIN { printf "%.3f", s * t }')"
  kill -s "$signal" $pid 2>/dev/null
  wait $pid 2>/dev/null
  code=$?
  case $code in
    0) ended=$((ended + 1)) ;;
    3 | 1[0-9][0-9])
      interrupted=$((interrupted + 1))
      if grep -E '"event":"(subset|start|step|kept|proposal)"' trace | tail -n 1 | grep -q '"subset"'; then
        exact=$((exact + 1))
      fi
      ;;
    *)
      miss "$way, SIG$signal: exit code $code"
      cat err
      ;;
  esac
  # SIGKILL can come between the two calls that put a checkpoint over the last one; nothing else can.
  if [ $signal != KILL ] && find . -name '*.tmp*' | grep -q .; then
    miss "$way, SIG$signal: a temporary file is left"
  fi
  rm -f ./*.tmp*
  [ "$last" = last ] || continue
  resume=
  if [ -s check.point ]; then
    resume="--resume check.point"
  else
    early=$((early + 1))
  fi
  # shellcheck disable=SC2046,SC2086
  if "$OATGP" fit "$(data_of "$way")" --target y --quiet $(options_of "$way") $resume -o again.oatgp >/dev/null 2>err &&
    result_of again.oatgp again.result && cmp -s again.result "$way.whole"; then
    same=$((same + 1))
  else
    miss "$way after SIG$signal: the resumed fit is another"
    cat err
    diff again.result "$way.whole" | head -n 5
  fi
done <plan

echo "$kills kills: $interrupted in the middle, $exact of them while the exact GP of some rows was sought, and $ended after the end"
echo "$same resumed fits are the same bit for bit, $early of them from the beginning"
if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
if [ $((3 * interrupted)) -lt "$kills" ] || { [ "$kills" -ge 100 ] && [ $((20 * exact)) -lt "$kills" ]; }; then
  echo "too few of the kills came in the middle"
  exit 1
fi
echo "all checks passed"
