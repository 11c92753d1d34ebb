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
eval "$fit --time-limit 0.2 --quiet" >/dev/null || miss "a model to work with"

# ---- elsewhere -----------------------------------------------------------------------------------------------------

eval "$fit --time-limit 0.3" >out 2>screen
check "short work says nothing" test ! -s screen
eval "$fit --time-limit 3.5 --trace fit.jsonl" >out 2>screen
shows '^oatgp: 20 knots, iteration [0-9]+, objective [-0-9.e]+, [01]\.[0-9] s left, [0-9.]+k? evaluations/s, [23]\.[0-9] s so far' "after two seconds one line: state, what is left, rate"
check "one line in 3.5 s" test "$(wc -l <screen)" -eq 1
check "no live line in a file" sh -c "! tr '\r' '!' <screen | grep -q '!'"
eval "$fit --time-limit 2.3 --quiet" >out 2>screen
check "--quiet: nothing" test ! -s screen

# ---- what the library works through, from a slow pipe ----------------------------------------------------------------

rows 120000 >many.csv
# slowly: the rows in parts, with time between them
slowly() {
  head -c 400000 many.csv
  sleep 0.7
  tail -c +400001 many.csv | head -c 1500000
  sleep 1.8
  tail -c +1900001 many.csv
}
slowly | "$OATGP" convert - -o x.npy --trace read.jsonl >out 2>screen
shows '^oatgp: reading: [0-9.]+[kM] bytes(, [0-9.]+[kM]? bytes/s)?, [2-4]\.[0-9] s so far$' "reading: how much, and how fast"
check "the trace has it" grep -qE '^\{"event":"progress","what":"reading","unit":"bytes","done":[0-9]+,"seconds":[0-9.]+\}$' read.jsonl
slowly | "$OATGP" predict m.oatgp - -o x.csv --trace predict.jsonl 2>screen
shows '^oatgp: prediction: (100 % of )?[0-9.]+k rows(, [0-9.]+k? rows/s)?, .*[2-4]\.[0-9] s so far$' "prediction from a pipe: how many rows, and how fast"
check "the trace has the prediction" grep -q '"what":"prediction","unit":"rows"' predict.jsonl

# ---- cross-validation and certificate --------------------------------------------------------------------------------

# shellcheck disable=SC2086
"$OATGP" cv train.csv --target y $endless --time-limit 1.2 --folds 2 --trace cv.jsonl >out 2>screen
shows '^oatgp: fold [12] of 2: 20 knots, iteration ' "cross-validation: which fold"
check "the trace has folds" grep -qE '^\{"event":"fold","fold":2,"folds":2,"rows":150,"mean_nlp":.*"seconds":[0-9.]+\}$' cv.jsonl
check "and the steps of each" test "$(grep -c '"event":"start"' cv.jsonl)" -eq 2
head -n 20001 many.csv >some.csv
"$OATGP" certify m.oatgp train.csv --trace bounds.jsonl --quiet >out
check "the trace has the bounds" grep -qE '^\{"event":"bracket","iteration":1,"elbo":[-0-9.e]+,"lower":[-0-9.e]+,"upper":[-0-9.e]+,"seconds":[-0-9.e]+\}$' bounds.jsonl
check "once in an iteration" test -z "$(grep -o '"event":"bracket","iteration":[0-9]*' bounds.jsonl | sort | uniq -d)"
"$OATGP" certify m.oatgp some.csv --time-limit 3 --trace certify.jsonl --quiet >out 2>screen
check "--quiet: no certificate's lines" test ! -s screen
check "the trace has how far it is" grep -qE '"what":"(product|determinant)","unit":"rows","done":[0-9]+,"total":20000' certify.jsonl
check "every line of every trace is an object" sh -c "! grep -hvE '^\{\"event\":\"[a-z]+\",.*\}\$' *.jsonl"

# ---- on a terminal -------------------------------------------------------------------------------------------------

if ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  echo "skipped: the live line needs script(1) of util-linux"
  [ "$failures" -eq 0 ]
  exit
fi
on_terminal 80 "$fit --time-limit 1.3"
shows '^20 knots, iteration [0-9]+, objective [-0-9.e]+, [01]\.[0-9] s left, ' "the live line: state and what is left"
hides '^oatgp: 20 knots' "no log lines there"
check "several times a second" test "$(grep -c '^20 knots, iteration' screen)" -ge 4
check "it fits 80 columns" widest 79
shows '^model  *vfe' "the result stands on a line of its own"
on_terminal 200 "$fit --time-limit 1"
shows '^20 knots, iteration [0-9]+, .* s left, [0-9.]+k? evaluations/s, [01]\.[0-9] s so far' "a wide terminal shows all of it"
on_terminal 34 "$fit --time-limit 0.9"
shows '^20 knots, iteration [0-9]+ *$' "a narrow one whole pieces"
check "it fits 34 columns" widest 33
on_terminal 8 "$fit --time-limit 0.9"
shows '^20 knot *$' "a very narrow one the beginning"
on_terminal 80 "$fit --time-limit 0.9 --quiet"
hides '^20 knots, iteration' "--quiet: no live line"
on_terminal 80 "$fit --time-limit 0.05"
hides '^20 knots, iteration' "short work: no live line"
for kind in dumb ''; do
  on_terminal 80 "TERM=$kind $fit --time-limit 0.9"
  hides '^20 knots, iteration' "TERM='$kind' cannot go back: no live line"
done
on_terminal 80 "set -m; $fit --time-limit 0.9 & wait"
hides '^20 knots, iteration' "a job in the background leaves the terminal alone"
shows '^model  *vfe' "and prints its result"
on_terminal 80 "'$OATGP' fit train.csv --target y $endless --select oat-gain --knots 5 --max-knots 60 --tol-knot 0 --time-limit 1.5 -o x.oatgp"
shows '^[0-9]+/60 knots, iteration ' "a growing fit: of how many knots"
for file in some.csv many.csv; do # the second takes half a second anywhere
  on_terminal 80 "'$OATGP' fit $file --target y $endless --select oat-gain --knots 15 --max-knots 16 --inner-iter 1 --refine --max-iter 200 -o x.oatgp"
  if grep -q '^refining' screen; then break; fi
done
shows '^refining [0-9]+ knots, iteration ' "the refinement at its end"
on_terminal 80 "'$OATGP' certify m.oatgp some.csv --time-limit 3"
shows '^(product: [0-9]+ % of 20.0k rows|iteration [0-9]+, log evidence from [-0-9.e]+ to [-0-9.e]+)' "a certificate: its bounds and how far its product is"
shows '^n  *20000' "its result stands on a line of its own"
# Enough work for half a second anywhere.
"$OATGP" fit some.csv --target y --select fixed --knots random:150 --max-iter 0 --quiet -o large.oatgp >out
{ cat many.csv && for i in 1 2 3 4 5; do test "$i" && tail -n +2 many.csv; done; } >large.csv
on_terminal 80 "'$OATGP' predict large.oatgp large.csv -o x.csv"
shows '^prediction: [0-9]+ % of [0-9.]+[kM] rows, [0-9.]+[kM]? rows/s, [0-9.]+ s left' "a prediction: share, rate and what is left"
check "the estimate of all rows is right within a tenth" awk '/^prediction: .* % of/ { got = $5; unit = got ~ /M$/ ? 1e6 : 1e3; sub(/[kM]$/, "", got); last = got * unit }
  END { exit !(last > 0.65e6 && last < 0.8e6) }' screen
on_terminal 80 "head -n 150000 large.csv | '$OATGP' predict m.oatgp -"
hides '^prediction: ' "rows that go to the terminal are progress enough"

if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
