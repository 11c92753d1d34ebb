#!/bin/sh
# Limits of the machine and of numbers, as the command meets them: a small address space, a busy machine, joint predictions that do not fit,
# and targets whose squares are no numbers. $OATGP is the command, $TMPDIR an empty folder. One line for each check; ends with 1 if any failed.
set -u
LC_ALL=C
export LC_ALL
unset OPENBLAS_NUM_THREADS GOMP_SPINCOUNT OMP_WAIT_POLICY MALLOC_ARENA_MAX
. "$(dirname "$0")/checks.sh"

# table ROWS SCALE: two inputs, and a target of that scale
table() {
  awk -v n="$1" -v s="$2" 'BEGIN {
    srand(1); print "a,b,y"
    for (i = 0; i < n; i++) { a = 4 * rand() - 2; b = rand(); printf "%.6f,%.6f,%.9fe%d\n", a, b, sin(2 * a) + b * b + 0.2 * rand(), s }
  }'
}
# says PIECE NAME: an extended regular expression in what the last command wrote to standard error
says() { if grep -qE -e "$1" err; then pass "$2"; else miss "$2: no '$1' in $(tail -n 3 err)"; fi; }
table 3000 0 >rows.csv
table 60 0 >few.csv

# ---- the address space --------------------------------------------------------------------------------------------------

# within KILOBYTES COMMAND...: with so much address space; killed after 60 seconds, which it must not take
within() {
  limit=$1
  shift
  (ulimit "${kind:--v}" "$limit" && exec timeout -s KILL 60 "$@") >out 2>err
}
# An address sanitizer needs terabytes of it.
if within 1000000 "$OATGP" --version; then
  fit="fit rows.csv --target y --select fixed --knots 40 --max-iter 5 -o m.oatgp"
  # shellcheck disable=SC2086
  within 300000 "$OATGP" $fit
  check "a fit in 300 MB" test $? -eq 0
  # shellcheck disable=SC2086
  OMP_NUM_THREADS=64 within 300000 "$OATGP" $fit
  check "a fit in 300 MB on a machine with many cores" test $? -eq 0
  # shellcheck disable=SC2086
  kind=-d within 300000 "$OATGP" $fit --threads 4
  check "a fit with 300 MB of data" test $? -eq 0
  says "note: the address space is limited to 293 MiB \(ulimit -v or -d\), which has room for [12] of 4 threads" "and it says how many"
  # shellcheck disable=SC2086
  within 300000 "$OATGP" $fit --threads 4
  check "a fit in 300 MB with 4 threads" test $? -eq 0
  says "note: the address space is limited to 293 MiB \(ulimit -v or -d\), which has room for 1 of 4 threads" "and it says that there is one"
  # shellcheck disable=SC2086
  within 1000000 "$OATGP" $fit --threads 4
  check "a fit in 1 GB with 4 threads" test $? -eq 0
  within 1000000 "$OATGP" fit few.csv --target y --approx full --threads 4 -o full.oatgp
  check "the full GP in 1 GB with 4 threads" test $? -eq 0
  within 300000 env OPENBLAS_NUM_THREADS=8 "$OATGP" predict m.oatgp rows.csv --threads 2 -o p.csv
  check "predictions in 300 MB, whatever the environment says" test $? -eq 0
  # Whatever the limit: the work is done, or there are a sentence and the exit code 1, no signal, and no output.
  "$OATGP" convert few.csv --target y -o few.npy --quiet >/dev/null || miss "rows for a file"
  for size in 60000 90000 120000 134000 139000 144000 150000 160000 180000 220000; do
    for arguments in "fit few.csv --target y --knots 20 --max-iter 2 -o made.oatgp" \
      "fit few.npy --target 3 --knots 20 --max-iter 2 --memory 1K -o made.oatgp" "fit few.csv --target y --approx full --prior weak -o made.oatgp" \
      "predict m.oatgp few.csv -o made.csv" "sensitivity m.oatgp" "convert few.csv -o made.npy" "loo m.oatgp few.csv -o made.csv" \
      "update m.oatgp few.csv -o made.oatgp" "report m.oatgp few.csv -o made.html"; do
      rm -f made.*
      # shellcheck disable=SC2086
      within $size "$OATGP" $arguments
      code=$?
      if [ $code -eq 0 ] || { [ $code -eq 1 ] && grep -q '^oatgp: ' err && [ "$(echo made.*)" = "made.*" ]; }; then
        pass "$size kB, exit code $code: $arguments"
      else
        miss "$size kB, exit code $code: $arguments: $(tail -n 2 err)"
      fi
    done
  done
  within 100000 "$OATGP" info m.oatgp
  check "100 MB are too little" test $? -eq 1
  says "the address space is limited to 98 MiB \(ulimit -v or -d\), and too little of it is left: .* needs 128 MiB" "and it says so"
fi

# ---- the environment -----------------------------------------------------------------------------------------------------

# environment COMMAND...: what the command runs with, as lines, in env; it waits for rows meanwhile
environment() {
  rm -f pipe
  mkfifo pipe
  "$@" >out 2>err <pipe &
  child=$!
  exec 9>pipe
  for _ in $(seq 100); do
    sleep 0.2
    tr '\0' '\n' <"/proc/$child/environ" >env 2>/dev/null
    ls "/proc/$child/task" >tasks 2>/dev/null
    if grep -q OPENBLAS env; then break; fi
  done
  exec 9>&-
  wait "$child"
}
has() { grep -qx "$1" env; }
lacks() { ! grep -q "^$1" env; }
if [ -r /proc/self/environ ]; then
  environment "$OATGP" fit - --target y -o m.oatgp --threads 2
  check "the linear algebra starts with one thread" has OPENBLAS_NUM_THREADS=1
  check "threads that wait sleep soon" has GOMP_SPINCOUNT=1000
  check "no thread before there is work" test "$(wc -l <tasks)" -eq 1
  environment env OMP_WAIT_POLICY=active OPENBLAS_NUM_THREADS=2 "$OATGP" fit - --target y -o m.oatgp
  check "what the caller has set stays" has OPENBLAS_NUM_THREADS=2
  check "so does how threads wait" lacks GOMP_SPINCOUNT
fi

# ---- the memory of joint predictions -------------------------------------------------------------------------------------

"$OATGP" fit few.csv --target y --knots 8 --quiet -o m.oatgp >/dev/null || miss "a model to work with"
"$OATGP" predict m.oatgp rows.csv --samples 2 --memory 100M >out 2>err
check "draws that do not fit are refused" test $? -eq 1
says "the joint covariance of 3000 rows needs 0.135 GiB, but only 0.0977 GiB may be used; use fewer rows at a time or raise --memory" "with the numbers"
rm -f p.csv c.npy
"$OATGP" predict m.oatgp rows.csv --cov c.npy --memory 60M -o p.csv >out 2>err
check "so is a covariance" test $? -eq 1
says "the joint covariance of 3000 rows needs 0.0[0-9]* GiB" "with its numbers"
check "and nothing is left behind" test ! -e c.npy -a ! -e p.csv
check "what fits is made" "$OATGP" predict m.oatgp rows.csv --cov c.npy --memory 100M -o p.csv

# ---- numbers -------------------------------------------------------------------------------------------------------------

# finite FILE: no number of the file is infinite, none or 0 beyond its first line
finite() { ! tail -n +2 "$1" | grep -qiE '(^|,)-?(nan|inf|0)(,|$)'; }
for scale in -306 -170 160 300; do
  table 60 $scale >t.csv
  check "a fit at 1e$scale" "$OATGP" fit t.csv --target y --knots 8 -o t.oatgp --trace t.jsonl --json
  check "its scores are numbers" sh -c "! grep -q -e null -e inf log"
  check "its trace is JSON" sh -c "! grep -qiE '(nan|inf)[,}]' t.jsonl"
  check "predictions with draws" timeout 60 "$OATGP" predict t.oatgp t.csv --samples 2 -o p.csv
  check "which are numbers" finite p.csv
  check "leave-one-out" "$OATGP" loo t.oatgp t.csv -o l.csv
  check "which has numbers" finite l.csv
  check "scores" "$OATGP" score t.oatgp t.csv --json
  check "which are finite" sh -c "! grep -qE 'mean_nlp.*null|inf' log"
  check "an update" "$OATGP" update t.oatgp t.csv -o u.oatgp
  check "cross-validation" "$OATGP" cv t.csv --target y --knots 8 --folds 3 -o v.csv
  check "whose rows are numbers" finite v.csv
  check "a report" "$OATGP" report t.oatgp t.csv -o r.html
  check "without what is none" sh -c "! grep -qE '>(-?inf|-?nan)<' r.html"
  check "the knots" "$OATGP" info t.oatgp --knots k.csv
  check "which are numbers" finite k.csv
  "$OATGP" predict t.oatgp t.csv --cov c.npy -o p.csv >out 2>err
  check "no covariance" test $? -eq 1
  says "and its square is too (small|large) for a number" "for which there is a sentence"
done
printf 'a,b\n0,0\n1e155,0\n-1e300,1e300\n' >far.csv
for kernel in se-ard matern32-ard matern52 rq-ard; do
  "$OATGP" fit few.csv --target y --kernel $kernel --knots 8 --quiet -o m.oatgp >/dev/null || miss "a fit with $kernel"
  "$OATGP" predict m.oatgp far.csv -o p.csv 2>err
  check "far away, $kernel has the prior" sh -c "test \"\$(tail -n 2 p.csv | sort -u | wc -l)\" -eq 1 && ! grep -q nan p.csv"
done
"$OATGP" fit few.csv --target y --mean linear --knots 8 --quiet -o m.oatgp >/dev/null || miss "a fit with a linear mean"
printf 'a,b\n0,0\n1,1.7e308\n' >far.csv
"$OATGP" predict m.oatgp far.csv -o p.csv >out 2>err
check "a linear mean has no value at the end of numbers" test $? -eq 1
says "(input 'b' of|the mean of) row 2 is" "and the row is named"
printf 'a,y\n1,1.7e308\n2,-1.7e308\n3,0\n4,1\n' >t.csv
"$OATGP" fit t.csv --target y -o t.oatgp >out 2>err
check "a target at the end of numbers is refused" test $? -eq 1
says "the target is 1.7e\+308 in row 1, .* divide the target by a power of ten" "and what to do is said"
exit $((failures > 0))
