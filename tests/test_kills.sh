#!/bin/sh
# Fits of every strategy are killed at random moments, by SIGKILL and by the signals that ask for an end, some of them several times, and
# go on from their checkpoints, with another number of threads. The result must be that of a fit without a break, bit for bit. And
# commands that write over a model are killed: the file is the old one or the new one, whole.
# KILLS: how many of fits (test_kills_slow.sh has many); WRITES: how many of writing; SEED: other moments; SIGNALS: some of KILL TERM HUP
# INT; SECONDS_AT_MOST: no further kill after so long; WAYS: some of the strategies.
set -u
. ./checks.sh
kills=${KILLS:-${OATGP_TEST_QUICK:+8}}
kills=${kills:-20}
writes=${WRITES:-${OATGP_TEST_QUICK:+5}}
writes=${writes:-10}
seed=${SEED:-1}
signals=${SIGNALS:-KILL TERM HUP INT}
most=${SECONDS_AT_MOST:-100000}
begun=$(date +%s)
in_time() { [ $(($(date +%s) - begun)) -lt "$most" ]; }

# make_data ROWS NOISE ROUGH: 1 for far more waves than there are knots; y is a number, c 0 or 1
make_data() {
  awk -v n="$1" -v noise="$2" -v rough="$3" 'BEGIN {
    srand(5); print "a,b,y,c"
    for (i = 0; i < n; i++) {
      a = 4 * rand() - 2; b = 10 * rand(); u = a / 2; v = b / 5 - 1
      f = sin(2 * a) + cos(b) + rough * (0.7 * sin(9 * u + 5 * v) + 0.5 * sin(17 * v - 7 * u) + 0.4 * sin(31 * u + 11 * v))
      printf "%.6f,%.6f,%.6f,%d\n", a, b, f + noise * (rand() + rand() - 1), (f + rand() - 0.5 > 0)
    }
  }'
}
make_data 250 0.3 0 >few.csv
make_data 250 0 0 >clean.csv
make_data 600 0.3 0 >many.csv
make_data 400 0.02 1 >rough.csv

# data_of WAY
data_of() {
  case $1 in
    auto-default) echo many.csv ;;
    auto-exact) echo clean.csv ;;
    auto-neighbours) echo rough.csv ;;
    *) echo few.csv ;;
  esac
}

# options_of WAY
options_of() {
  case $1 in
    bernoulli*) echo "--target c --likelihood bernoulli-logit" ;;
    *) echo "--target y" ;;
  esac
  echo "--inputs a,b"
  case $1 in
    auto) echo "--max-knots 60" ;;
    auto-default) ;; # nearly all of the time goes into the exact GP of all rows, after that of some
    auto-subset) echo "--subset-rows 60 --max-knots 120" ;; # the exact GP of some rows; knots are doubled
    auto-exact) echo "--subset-rows 130 --restarts 1" ;; # the result is the exact GP
    auto-refined) echo "--max-knots 40 --refine --restarts 1" ;;
    auto-neighbours) echo "--kernel matern32-ard --subset-rows 100" ;; # the result has knots and neighbours
    neighbours) echo "--approx fic --select fixed --knots 10 --neighbours 8 --max-iter 40" ;;
    bernoulli) echo "--select oat-gain --knots 3 --max-knots 8 --max-iter 20" ;;
    bernoulli-auto) echo "--max-knots 20 --max-iter 20" ;;
    expression) echo "--kernel se(a)+matern32(b) --select oat-gain --knots 3 --max-knots 10 --max-iter 40" ;;
    prior) echo "--select fixed --knots 20 --max-iter 60 --restarts 1 --prior weak,sigma~lognormal(0,2)" ;;
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
ways=${WAYS:-auto auto-default auto-subset auto-exact auto-refined auto-neighbours bernoulli bernoulli-auto neighbours expression prior fixed full \
  simultaneous adadelta oat-bo oat-rs oat-gain variance}
ways=$(echo $ways)

# result_of MODEL OUT: all that must be the same: predictions with all digits, knots, counts, objective
result_of() {
  : >knots.csv
  knots="--knots knots.csv"
  case $way in
    full | auto-exact) knots= ;; # it has none
  esac
  # shellcheck disable=SC2086
  head -n 60 "$(data_of "$way")" >first.csv && "$OATGP" predict "$1" first.csv >"$2" && "$OATGP" info "$1" $knots --json >info.json &&
    cat knots.csv >>"$2" &&
    tr ',{}' '\n' <info.json | grep -E '"(objective|iterations|evaluations|rejected|stop|knots|sigma|tau|neighbours)"' >>"$2"
}

# part OPTIONS...: a part of the fit, in the background
part() {
  # shellcheck disable=SC2046
  "$OATGP" fit "$(data_of "$way")" --quiet $(options_of "$way") --checkpoint check.point --checkpoint-seconds 0 --trace trace \
    "$@" -o part.oatgp >/dev/null 2>err &
  pid=$!
}

# Each without a break, and how long it takes when each step is saved.
for way in $ways; do
  started=$(date +%s.%N)
  part --threads 1
  if ! wait $pid || ! result_of part.oatgp "$way.whole"; then
    miss "a fit without a break: $way: $(cat err)"
  fi
  awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { print b - a }' >"$way.seconds"
done
if echo "$ways" | grep -q auto-neighbours && ! grep -q '"neighbours":[[:space:]]*[1-9]' auto-neighbours.whole; then
  miss "the automatic fit of rough rows has no neighbours"
fi

# One line for each kill: way, signal, moment as a share of the time that the fit takes, threads of the part, whether the next kill is of
# the same fit.
awk -v n="$kills" -v seed="$seed" -v ways="$ways" -v names="$signals" 'BEGIN {
  srand(seed); count = split(ways, way, " "); signals = split(names, signal, " ")
  for (i = 0; i < n; i++) {
    again = more; more = i < n - 1 && rand() < 0.3
    if (!again) { w = way[1 + fits++ % count] }
    print w, signal[1 + int(signals * rand())], rand(), 1 + int(2 * rand()), again ? "again" : "first", more ? "more" : "last"
  }
}' >plan

# Moments are shares of how long a fit took before, or of what is left of it after a kill. Where one ends before its first kill, other work
# on the machine has become less since then, and what follows is killed earlier.
pace=1
# count WAY WHAT: for the table at the end
count() { echo "$1 $2" >>counts; }
: >counts
while read -r way signal share threads first last; do
  if [ "$first" = first ] && ! in_time; then
    break
  fi
  [ "$way" = full ] && threads=1 # the bits of the BLAS depend on its threads
  [ "$first" = again ] || {
    rm -f check.point
    left=1
  }
  resume=
  [ ! -s check.point ] || resume="--resume check.point"
  : >trace
  # shellcheck disable=SC2086
  part --threads "$threads" $resume
  sleep "$(awk -v s="$share" -v t="$(cat "$way.seconds")" -v p="$pace" -v l="$left" 'BEGIN { printf "%.3f", p * s * l * t }')"
  kill -s "$signal" $pid 2>/dev/null
  wait $pid 2>/dev/null
  code=$?
  count "$way" kill
  case $code in
    0)
      count "$way" ended
      [ "$first" = again ] || pace=$(awk -v p="$pace" 'BEGIN { print 0.8 * p }')
      ;;
    3 | 1[0-9][0-9])
      count "$way" interrupted
      pace=$(awk -v p="$pace" 'BEGIN { print p < 0.9 ? 1.1 * p : 1 }')
      left=$(awk -v l="$left" -v s="$share" 'BEGIN { print l * (1 - s) }')
      if grep -E '"event":"(subset|start|step|kept|proposal)"' trace | tail -n 1 | grep -q '"subset"'; then
        count "$way" exact
      fi
      ;;
    *)
      miss "$way, SIG$signal: exit code $code"
      cat err
      ;;
  esac
  # SIGKILL can come between the two calls that put a checkpoint over the last one; nothing else can.
  if [ "$signal" != KILL ] && find . -name '*.tmp*' | grep -q .; then
    miss "$way, SIG$signal: a temporary file is left"
  fi
  rm -f ./*.tmp*
  [ "$last" = last ] || continue
  resume=
  if [ -s check.point ]; then
    resume="--resume check.point"
  else
    count "$way" early
  fi
  count "$way" fit
  # shellcheck disable=SC2046,SC2086
  if "$OATGP" fit "$(data_of "$way")" --quiet $(options_of "$way") $resume -o again.oatgp >/dev/null 2>err &&
    result_of again.oatgp again.result && cmp -s again.result "$way.whole"; then
    count "$way" same
  else
    miss "$way after SIG$signal: the resumed fit is another"
    cat err
    diff again.result "$way.whole" | head -n 5
    cp check.point "lost.$way.point" 2>/dev/null
  fi
done <plan

awk '
  { n[$1, $2]++; all[$2]++; if (!($1 in seen)) { seen[$1] = 1; way[++ways] = $1 } }
  END {
    line = "%-16s %6s %14s %6s %8s %10s\n"
    printf line, "strategy", "kills", "in the middle", "fits", "the same", "early kill"
    for (i = 1; i <= ways; i++) {
      w = way[i]
      printf line, w, n[w, "kill"] + 0, n[w, "interrupted"] + 0, n[w, "fit"] + 0, n[w, "same"] + 0, n[w, "early"] + 0
    }
    printf line, "all", all["kill"] + 0, all["interrupted"] + 0, all["fit"] + 0, all["same"] + 0, all["early"] + 0
    print all["kill"] + 0, all["interrupted"] + 0, all["exact"] + 0 >"sums"
  }' counts
read -r done interrupted exact <sums
echo "$exact of the kills came while the exact GP of some rows was sought"
if { [ "$done" -ge 15 ] && [ $((3 * interrupted)) -lt "$done" ]; } || { [ "$done" -ge 200 ] && [ $((20 * exact)) -lt "$done" ] && [ -z "${WAYS:-}" ]; }; then
  miss "too few of the kills came in the middle"
fi

# ---- writing ---------------------------------------------------------------------------------------------------------------

# A model of 3 MB, with more rows, over the old one.
"$OATGP" fit many.csv --target y --inputs a,b --select fixed --knots 400 --max-iter 0 --quiet -o large.oatgp >/dev/null || miss "a large model"
started=$(date +%s.%N)
"$OATGP" update large.oatgp few.csv -o target.oatgp --quiet >/dev/null || miss "a large model with more rows"
cp target.oatgp new.oatgp # a model has its command in it, and so the file's name
awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { print b - a }' >update.seconds
old=0 new=0
awk -v n="$writes" -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < n; i++) { print 0.5 + 0.6 * rand() } }' >plan
while read -r share; do
  if ! in_time; then
    break
  fi
  cp large.oatgp target.oatgp
  "$OATGP" update large.oatgp few.csv -o target.oatgp --quiet >/dev/null 2>err &
  pid=$!
  sleep "$(awk -v s="$share" -v t="$(cat update.seconds)" 'BEGIN { printf "%.3f", s * t }')"
  kill -s KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  if cmp -s target.oatgp large.oatgp; then
    old=$((old + 1))
  elif cmp -s target.oatgp new.oatgp; then
    new=$((new + 1))
  else
    miss "a model file is neither the old one nor the new one"
  fi
  rm -f ./*.tmp*
done <plan
echo "$((old + new)) kills while a model was written: $old old files, $new new ones"

if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
