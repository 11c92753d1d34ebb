#!/bin/sh
# The number of threads changes no bit of what the command writes: models but for the seconds in them, tables, pages, figures, numbers.
# usage: test_same_bits.sh [--all] [OATGP]
#   --all     every selection with every model, all kernels, means and noises, on more rows and more numbers of threads; minutes
#   OATGP     the command (default: $OATGP). Nothing else is needed but sh, awk, od and cmp.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
all=no
if [ "${1:-}" = --all ]; then
  all=yes
  shift
fi
OATGP=${1:-${OATGP:-}}
case $OATGP in
'')
  echo "usage: test_same_bits.sh [--all] OATGP" >&2
  exit 2
  ;;
*/*) OATGP=$(CDPATH='' cd -- "$(dirname -- "$OATGP")" && pwd)/$(basename -- "$OATGP") ;;
esac
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM
. "$here/checks.sh"

if [ "$all" = yes ]; then
  counts='1 2 7 16'
  rows=2600
  subset=400
else
  counts='1 2 5'
  rows=300
  subset=100
fi

# ---- the data: three inputs, a weight, a known noise variance, a target -----------------------------------------------------------------

# make_rows COUNT SEED
make_rows() {
  awk -v n="$1" -v seed="$2" '
    function uniform() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    function normal(    i, sum) { for (i = 0; i < 12; i++) { sum += uniform() } return sum - 6 }
    BEGIN {
      print "a,b,c,w,v,y"
      for (i = 0; i < n; i++) {
        a = normal(); b = normal(); c = 4 * uniform(); w = 0.5 + uniform(); v = 0.01 * uniform()
        printf "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", a, b, c, w, v, sin(2 * a) + a * b / 2 + cos(3 * c) + 0.2 * normal()
      }
    }'
}
make_rows "$rows" 1 >rows.csv
make_rows 150 2 >few.csv
make_rows 90 3 >new.csv

# ---- the commands, once for each number of threads, in a folder of that name -------------------------------------------------------------

# does NAME VERB ARGUMENTS: what it prints is kept in NAME.out
does() {
  name=$1
  shift
  "$OATGP" "$@" --threads "$threads" --quiet >"$name.out" 2>"$name.err" </dev/null || miss "$threads threads, $name: $(head -n 1 "$name.err")"
}
# fits NAME DATA ARGUMENTS: the model is NAME.oatgp
fits() {
  name=$1
  data=$2
  shift 2
  does "$name" fit "../$data.csv" --target y --inputs a,b,c --block 64 --json -o "$name.oatgp" "$@"
}
# evaluates NAME ARGUMENTS: the objective with its gradient
evaluates() {
  name=$1
  shift
  does "$name" objective ../rows.csv --target y --inputs a,b,c --block 64 --gradient --json "$@"
}
# uses MODEL DATA: everything that is done with a model of these rows
uses() {
  m=$1
  d=../$2.csv
  does "$m-predict" predict "$m.oatgp" ../new.csv -o "$m-predict.csv"
  does "$m-mean" predict "$m.oatgp" ../rows.csv --mean-only
  does "$m-joint" predict "$m.oatgp" ../new.csv --samples 3 --cov "$m-cov.npy"
  does "$m-score" score "$m.oatgp" ../rows.csv --json
  does "$m-loo" loo "$m.oatgp" "$d" -o "$m-loo.csv" --json
  does "$m-certify" certify "$m.oatgp" "$d" --exact --json
  does "$m-report" report "$m.oatgp" "$d" -o "$m-report.html"
  does "$m-parts" predict "$m.oatgp" ../new.csv --parts --over "$d"
  does "$m-partial" plot partial "$m.oatgp" "$d" -o "$m-partial.svg"
  does "$m-update" update "$m.oatgp" ../new.csv -o "$m-updated.oatgp"
  if [ "$2" = rows ]; then # the exact GP, which few rows get, has no knots
    does "$m-knots" plot knots "$m.oatgp" "$d" -o "$m-knots.svg"
  fi
  does "$m-refit" update "$m.oatgp" ../new.csv --refit --data "$d" --max-iter 3 -o "$m-refitted.oatgp"
}

some() {
  fits auto rows --subset-rows "$subset" --trace auto.jsonl
  fits auto-few few --subset-rows "$subset" --trace auto-few.jsonl
  fits auto-noise few --subset-rows "$subset" --max-knots 20 --kernel matern32-ard --approx fitc --noise-variance v
  fits full few --approx full --max-iter 5 --restarts 1
  fits linear rows --knots 12 --approx fitc --mean linear --kernel matern52-ard --max-iter 6
  fits weights rows --knots random:12 --approx pep --kernel rq-ard --weights w --mean fit --max-iter 6 --optimizer adadelta
  fits fixed rows --knots 12 --select fixed --approx dic --kernel se --noise-variance v --max-iter 6 --mean 0.5
  for select in oat-bo oat-rs oat-gain variance; do
    fits "$select" rows --select "$select" --knots 3 --max-knots 6 --max-iter 4 --candidates 6 --batch 2
  done
  evaluates vfe-gradient --knots 20 --weights w
  evaluates full-gradient --approx full --kernel matern32-ard --noise-variance v --mean linear
  does cv cv ../few.csv --target y --inputs a,b,c --folds 3 --knots 8 --max-iter 4 -o cv.csv --json
  does convert convert ../rows.csv -o rows.npy
}

every() {
  for select in auto fixed simultaneous oat-bo oat-rs oat-gain variance; do
    for approx in dic dtc vfe fic fitc pep; do
      case $select in
      auto) fits "$select-$approx" rows --approx "$approx" --subset-rows "$subset" --max-knots 40 --max-iter 8 ;;
      oat-*) fits "$select-$approx" rows --approx "$approx" --select "$select" --knots 5 --max-knots 9 --max-iter 5 --candidates 8 ;;
      *) fits "$select-$approx" rows --approx "$approx" --select "$select" --knots 60 --max-iter 5 ;;
      esac
    done
  done
  for kernel in se se-ard matern32 matern32-ard matern52 matern52-ard rq rq-ard exponential; do
    evaluates "full-$kernel" --approx full --kernel "$kernel"
    [ "$kernel" = exponential ] && continue # its knots cannot be moved
    evaluates "vfe-$kernel" --kernel "$kernel" --knots 80
    evaluates "fitc-$kernel" --approx fitc --kernel "$kernel" --knots 80
    fits "auto-$kernel" rows --kernel "$kernel" --subset-rows 200 --max-knots 30 --max-iter 6
  done
  for mean in mean fit linear -2; do
    for noise in --weights=w --noise-variance=v; do
      set -- --mean "$mean" "${noise%=*}" "${noise#*=}"
      fits "knots$mean$noise" rows "$@" --knots 40 --max-iter 5
      fits "exact$mean$noise" few "$@" --approx full --max-iter 5
      fits "chosen$mean$noise" few "$@" --subset-rows 100
    done
  done
  fits full-large rows --approx full --max-iter 2
  fits paper few --preset paper --max-knots 8 --approx fic
}

for threads in $counts; do
  mkdir "$threads"
  cd "$threads" || exit 1
  some
  uses auto rows
  uses full few
  if [ "$all" = yes ]; then
    every
    uses linear rows
    uses weights rows
    uses auto-few few
  fi
  cd ..
done

# ---- the comparison -----------------------------------------------------------------------------------------------------------------------

# A model file (docs/model-file.md) as text, without seconds, threads and the checksum of them: the header, then each number's bits.
model_text() {
  length=$(od -A n -t u8 -N 8 "$1" | tr -d ' ')
  tail -c +9 "$1" | head -c "$length" | sed 's/"checksum":"[0-9a-f]*"//; s/--threads [0-9]*//g; s/threads = [0-9]*//g; s/ *$//' | tee header
  echo
  tail -c +"$((9 + length))" "$1" | od -A n -v -t x8 | awk '
    function find(name,    text, part) { # "name":{"dtype":"F64","shape":[N],"data_offsets":[FROM,TO]}
      from[name] = to[name] = 0
      if (match(header, "\"" name "\":[{][^}]*[}]")) {
        text = substr(header, RSTART, RLENGTH - 2)
        sub(/.*\[/, "", text)
        split(text, part, ",")
        from[name] = part[1] / 8
        to[name] = part[2] / 8
      }
    }
    function is_time(name, width, place) { return at >= from[name] && at < to[name] && (at - from[name]) % width == place }
    BEGIN {
      getline header <"header"
      find("seconds")
      find("history")
      find("selection")
      first = from["history"] < from["selection"] || to["selection"] == 0 ? from["history"] : from["selection"]
    }
    {
      for (i = 1; i <= NF; i++) {
        if (at != from["seconds"] && (at < first || !(is_time("history", 3, 2) || is_time("selection", 8 + 3, 7)))) { print $i }
        at++
      }
    }'
}
# plain FILE: what must be the same
plain() {
  case $1 in
  *.oatgp) model_text "$1" ;;
  *.jsonl) grep -v '"event": *"progress"' "$1" | sed 's/"seconds": *[^,}]*//' ;;
  *.out | *.html) sed 's/\(seconds[a-z_]*"\{0,1\}:\{0,1\}\)[[:space:]]*[0-9.e-]*/\1/g; s/[0-9.e-]* seconds/ seconds/g; s/threads [= ]*[0-9]*//g' "$1" ;;
  *) cat "$1" ;;
  esac
}

for file in 1/*; do
  name=${file#1/}
  case $name in
  *.out | *.err) ;;
  *) [ -s "$file" ] || miss "$name is empty" ;;
  esac
  rm -f expected
  for threads in $counts; do
    cmp -s "$file" "$threads/$name" && continue
    [ -e expected ] || plain "$file" >expected
    plain "$threads/$name" >got
    cmp -s expected got || miss "$name: $threads threads give something else than one does"
  done
done
[ "$failures" -eq 0 ] && pass "$(find 1 -type f | wc -l | tr -d ' ') files are the same for $counts threads"
exit "$((failures > 0))"
