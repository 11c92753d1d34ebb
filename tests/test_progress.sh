#!/bin/sh
# Progress on standard error, on a terminal (made by script(1)) and elsewhere, and the same as JSON by --trace: $OATGP is the command,
# $TMPDIR an empty folder. One line for each check; ends with 1 if any failed.
set -u
LC_ALL=C TERM=xterm OPENBLAS_NUM_THREADS=1
export LC_ALL TERM OPENBLAS_NUM_THREADS
. "$(dirname "$0")/checks.sh"

# shows PIECE NAME, hides PIECE NAME: an extended regular expression in some line of the screen, or in none
shows() { if grep -qE -e "$1" screen; then pass "$2"; else miss "$2: no '$1' in $(tail -n 3 screen)"; fi; }
hides() { if grep -qE -e "$1" screen; then miss "$2: '$1'"; else pass "$2"; fi; }
# on_terminal WIDTH COMMAND...: what a terminal of that width got, one line for each time that the cursor went back, in screen
on_terminal() {
  width=$1
  shift
  script -qec "stty cols $width rows 24; $*" /dev/null </dev/null | tr '\r' '\n' >screen
}
# Durations depend on the machine and its other work. So the work grows until progress is visible, and short work is tried again, because it
# may have taken long by chance. shows_after PIECE NAME AMOUNTS COMMAND...: the command with one amount after the other until some line of
# the screen has the piece
shows_after() {
  piece=$1 name=$2 amounts=$3
  shift 3
  for amount in $amounts; do
    "$@" "$amount"
    if grep -qE -e "$piece" screen; then break; fi
  done
  shows "$piece" "$name"
}
# silent PIECE NAME COMMAND...: in one of five times no line of the screen has the piece
silent() {
  piece=$1 name=$2
  shift 2
  for _ in 1 2 3 4 5; do
    "$@"
    if ! grep -qE -e "$piece" screen; then break; fi
  done
  hides "$piece" "$name"
}
# adds_up LIMIT SECONDS RESULT: in each line with a time that is left, that time and the one so far make up the limit, with what came before
# the fit: no more than what the command in $took took besides the fit, whose seconds are in the result. The lines begin after so many seconds.
adds_up() {
  rest=$(sed -n 's/^seconds  *//p' "$3" | awk -v took="$took" '{ print took - $1 }')
  awk -F ', ' -v limit="$1" -v first="$2" -v rest="$rest" '/ s left/ {
    for (i = 1; i <= NF; i++) { if ($i ~ / s left/) { left = $i + 0 } if ($i ~ / s so far/) { past = $i + 0 } }
    seen = 1
    if (past < first || left + past < limit - 0.11 || left + past > limit + rest + 0.5) { print; wrong = 1 }
  } END { exit !seen || wrong }' screen
}
# timed COMMAND...: the seconds that it takes in $took
timed() {
  started=$(date +%s.%N)
  "$@"
  took=$(awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')
}
# widest WIDTH: no live line of a fit is wider
widest() { awk -v w="$1" '/^20 knots/ && length($0) > w { exit 1 }' screen; }

rows() {
  awk -v n="$1" 'BEGIN {
    srand(1); print "a,y"
    for (i = 0; i < n; i++) { a = 4 * rand() - 2; printf "%.6f,%.6f\n", a, sin(2 * a) + 0.2 * rand() }
  }'
}
rows 300 >train.csv
endless="--knots 20 --optimizer adadelta --max-iter 1000000000 --obj-tol 0 --grad-tol 0 --patience 1000000"
fit="'$OATGP' fit train.csv --target y $endless -o m.oatgp"
logged_fit() { eval "$fit $1" >out 2>screen; }
logged_for() { timed logged_fit "--trace fit.jsonl --time-limit $1"; }
# live_for WIDTH SECONDS
live_for() { timed on_terminal "$1" "$fit --time-limit $2"; }
"$OATGP" fit train.csv --target y --knots 20 --max-iter 30 --quiet -o m.oatgp >/dev/null || miss "a model to work with"

# ---- elsewhere -----------------------------------------------------------------------------------------------------

silent . "short work says nothing" logged_fit "--time-limit 0.3"
shows_after '^oatgp: 20 knots, iteration [0-9]+, objective [-+0-9.e]+, [0-9.]+ s left, [0-9.]+[kM]? evaluations/s, [0-9.]+ s so far' \
  "one line: state, what is left, rate" "3.5 8" logged_for
check "no more in $amount s" test "$(wc -l <screen)" -eq 1
check "after two seconds; what is left is right" adds_up "$amount" 2 out
check "no live line in a file" sh -c "! tr '\r' '!' <screen | grep -q '!'"
logged_fit "--time-limit 2.3 --quiet"
check "--quiet: nothing" test ! -s screen

# ---- what the library works through, from a slow pipe ----------------------------------------------------------------

rows 120000 >many.csv
# slowly SECONDS: the rows in parts, with time between them
slowly() {
  head -c 400000 many.csv
  sleep 0.7
  tail -c +400001 many.csv | head -c 1500000
  sleep "$1"
  tail -c +1900001 many.csv
}
convert_slowly() { slowly "$1" | "$OATGP" convert - -o x.npy --trace read.jsonl >out 2>screen; }
predict_slowly() { slowly "$1" | "$OATGP" predict m.oatgp - -o x.csv --trace predict.jsonl 2>screen; }
past='([2-9]|[1-9][0-9]+)\.[0-9] s so far$' # two seconds and more
shows_after "^oatgp: reading: [0-9.]+[kM] bytes(, [0-9.]+[kM]? bytes/s)?, $past" "reading: how much, and how fast" "1.8 4 12" convert_slowly
check "the trace has it" grep -qE '^\{"event":"progress","what":"reading","unit":"bytes","done":[0-9]+,"seconds":[0-9.]+\}$' read.jsonl
shows_after "^oatgp: prediction: (100 % of )?[0-9.]+k rows(, [0-9.]+[kM]? rows/s)?, .*$past" \
  "prediction from a pipe: how many rows, and how fast" "1.8 4 12" predict_slowly
check "the trace has the prediction" grep -q '"what":"prediction","unit":"rows"' predict.jsonl

# ---- cross-validation and certificate --------------------------------------------------------------------------------

# shellcheck disable=SC2086
cv_for() { "$OATGP" cv train.csv --target y $endless --time-limit "$1" --folds 2 --trace cv.jsonl >out 2>screen; }
shows_after '^oatgp: fold [12] of 2: 20 knots, iteration ' "cross-validation: which fold" "1.2 4 12" cv_for
check "the trace has folds" grep -qE '^\{"event":"fold","fold":2,"folds":2,"rows":150,"mean_nlp":.*"seconds":[0-9.]+\}$' cv.jsonl
check "and the steps of each" test "$(grep -c '"event":"start"' cv.jsonl)" -eq 2
"$OATGP" certify m.oatgp train.csv --trace bounds.jsonl --quiet >out
check "the trace has the bounds" grep -qE '^\{"event":"bracket","iteration":1,"elbo":[-0-9.e]+,"lower":[-0-9.e]+,"upper":[-0-9.e]+,"seconds":[-0-9.e]+\}$' bounds.jsonl
check "once in an iteration" test -z "$(grep -o '"event":"bracket","iteration":[0-9]*' bounds.jsonl | sort | uniq -d)"
head -n 20001 many.csv >some.csv
for file in some.csv many.csv; do
  "$OATGP" certify m.oatgp $file --time-limit 3 --trace certify.jsonl --quiet >out 2>screen
  if grep -q '"event":"progress"' certify.jsonl; then break; fi
done
check "--quiet: no certificate's lines" test ! -s screen
check "the trace has how far it is" grep -qE '"what":"(product|determinant)","unit":"rows","done":[0-9]+,"total":1?20000' certify.jsonl
check "every line of every trace is an object" sh -c "! grep -hvE '^\{\"event\":\"[a-z]+\",.*\}\$' *.jsonl"

# ---- on a terminal -------------------------------------------------------------------------------------------------

if ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  echo "skipped: the live line needs script(1) of util-linux"
  [ "$failures" -eq 0 ]
  exit
fi
for limit in 1.3 3 9; do # a line that stays is due once in this time
  live_for 80 $limit
  if [ "$(grep -c '^20 knots, iteration' screen)" -ge 4 ]; then break; fi
done
shows '^20 knots, iteration [0-9]+, objective [-+0-9.e]+, [0-9.]+ s left(,| *$)' "the live line: state and what is left"
hides '^oatgp: 20 knots' "no log lines there"
check "several times a second" test "$(grep -c '^20 knots, iteration' screen)" -ge 4
check "it fits 80 columns" widest 79
shows '^model  *vfe' "the result stands on a line of its own"
shows_after '^20 knots, iteration [0-9]+, .* s left, [0-9.]+[kM]? evaluations/s, [0-9.]+ s so far' "a wide terminal shows all of it" "1 3 9" live_for 200
check "what is left is right there, too" adds_up "$amount" 0.5 screen
shows_after '^20 knots, iteration [0-9]+ *$' "a narrow one whole pieces" "0.9 3 9" live_for 34
check "it fits 34 columns" widest 33
shows_after '^20 knot *$' "a very narrow one the beginning" "0.9 3 9" live_for 8
on_terminal 80 "$fit --time-limit 0.9 --quiet"
hides '^20 knots, iteration' "--quiet: no live line"
silent '^20 knots, iteration' "short work: no live line" live_for 80 0.05
for kind in dumb ''; do
  on_terminal 80 "TERM=$kind $fit --time-limit 0.9"
  hides '^20 knots, iteration' "TERM='$kind' cannot go back: no live line"
done
on_terminal 80 "set -m; $fit --time-limit 0.9 & wait"
hides '^20 knots, iteration' "a job in the background leaves the terminal alone"
shows '^model  *vfe' "and prints its result"
{ cat many.csv && for i in 1 2 3 4 5; do test "$i" && tail -n +2 many.csv; done; } >large.csv
live_growth() { on_terminal 80 "'$OATGP' fit train.csv --target y $endless --select oat-gain --knots 5 --max-knots 60 --tol-knot 0 --time-limit $1 -o x.oatgp"; }
shows_after '^[0-9]+/60 knots, iteration ' "a growing fit: of how many knots" "1.5 5 15" live_growth
live_refinement() {
  on_terminal 80 "'$OATGP' fit $1 --target y $endless --select oat-gain --knots 15 --max-knots 16 --inner-iter 1 --refine --max-iter 200 -o x.oatgp"
}
shows_after '^refining [0-9]+ knots, iteration ' "the refinement at its end" "some.csv many.csv large.csv" live_refinement
live_certificate() { on_terminal 80 "'$OATGP' certify m.oatgp $1 --time-limit 3"; }
shows_after '^(product: [0-9]+ % of (20.0|120)k rows|iteration [0-9]+, log evidence from [-+0-9.e]+ to [-+0-9.e]+)' \
  "a certificate: its bounds and how far its product is" "some.csv many.csv" live_certificate
shows '^n  *1?20000' "its result stands on a line of its own"
# live_prediction KNOTS
live_prediction() {
  "$OATGP" fit some.csv --target y --select fixed --knots "random:$1" --max-iter 0 --quiet -o large.oatgp >out
  on_terminal 80 "'$OATGP' predict large.oatgp large.csv -o x.csv"
}
shows_after '^prediction: [0-9]+ % of [0-9.]+[kM] rows, [0-9.]+[kM]? rows/s, ([0-9]+ min )?[0-9.]+ s left' \
  "a prediction: share, rate and what is left" "150 300 600 1200" live_prediction
# The first part of the rows does not know of the others, and a slow machine may have lines of it.
check "most estimates of all rows are right within a tenth" awk '/^prediction: .* % of/ {
    got = $5; unit = got ~ /M$/ ? 1e6 : 1e3; sub(/[kM]$/, "", got); all++; right += got * unit > 0.65e6 && got * unit < 0.8e6
  } END { exit !(3 * right > 2 * all) }' screen
check "no more than all of it" awk '/^prediction: .* % of/ && $2 > 100 { exit 1 }' screen
on_terminal 80 "head -n 150000 large.csv | '$OATGP' predict m.oatgp -"
hides '^prediction: ' "rows that go to the terminal are progress enough"

if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
