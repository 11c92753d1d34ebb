#!/bin/sh
# Several ranks: the bits do not depend on their number or on threads; a rank that fails ends all with one sentence; a fit goes on with another
# number of ranks. $OATGP is the command, $TMPDIR an empty folder. ALL=yes: every model with every number of ranks and threads, and nothing else
# (test_ranks_slow.sh).
set -u
LC_ALL=C
export LC_ALL
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/command.sh"
for tool in mpirun python3; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "skipped: there is no $tool"
    exit 77
  }
done
[ -f "$(dirname "$OATGP")/liboatgp_mpi.so" ] || {
  echo "skipped: oatgp was built without MPI"
  exit 77
}
if ldd "$OATGP" 2>/dev/null | grep -q 'lib.san'; then
  echo "skipped: MPI leaks what a sanitizer would tell of"
  exit 77
fi
mkdir few
python3 "$PROJECT_DIR/tests/large_rows.py" 70000 .
# Ranks of tests share a few cores, and must not wait for each other at full speed.
OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_mpi_yield_when_idle
ranks() { # COUNT ARGUMENTS..
  count=$1
  shift
  mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$count" "$OATGP" "$@"
}
# results: what a fit printed, without times and names
results() { grep -v '"seconds\|"model\|"output\|"command\|"settings\|"threads\|"memory' | sed 's/"seconds[^,]*,//g'; }

# One process has the rows in memory, or in the file; ranks leave them in the file.
same_bits() { # NAME RANKSxTHREADS.. FILE OPTIONS..
  what=$1 shares=$2 from=$3
  shift 3
  [ "${ALL:-no}" = no ] || shares='1x1 1x2 2x1 2x2 3x1 3x2 4x1 4x2'
  "$OATGP" fit "$from" --target 5 "$@" -o one.oatgp --json --quiet | results >one
  "$OATGP" predict one.oatgp part-0.npy --quiet >points
  "$OATGP" info one.oatgp --json | grep '"fingerprint"' >marked
  "$OATGP" fit "$from" --target 5 "$@" --memory 100K -o file.oatgp --json --quiet 2>err | results >several
  check "$what: rows in the file have the bits of rows in memory" cmp -s one several
  "$OATGP" info file.oatgp --json | grep '"fingerprint"' >several
  check "$what: and the same fingerprint" cmp -s marked several
  for share in $shares; do
    count=${share%x*} threads=${share#*x}
    rm -f several.oatgp
    ranks "$count" fit "$from" --target 5 "$@" --threads "$threads" -o several.oatgp --json --quiet 2>err | results >several
    check "$what: $count ranks x $threads threads have the bits of one process" cmp -s one several
    "$OATGP" predict several.oatgp part-0.npy --quiet >several
    check "$what: and so have their predictions" cmp -s points several
    "$OATGP" info several.oatgp --json | grep '"fingerprint"' >several
    check "$what: and the fingerprint of the data" cmp -s marked several
  done
}
same_bits vfe '1x1 2x2 3x1 4x2' a.npy --approx vfe --knots 12 --max-iter 2
same_bits fitc '3x2' a.npy --approx fitc --knots 12 --max-iter 2
same_bits expression '2x1' a.npy --kernel 'se(V1) + matern52(V2, V3, V4)' --knots 12 --max-iter 1
same_bits bernoulli '4x1' c.npy --likelihood bernoulli-logit --knots 12 --max-iter 1
same_bits automatic '2x2 3x1' a.npy --max-iter 2 --max-knots 40
same_bits gains '3x1' a.npy --approx vfe --select oat-gain --knots 4 --max-knots 7 --max-iter 2 --gain-rows 100
[ "${ALL:-no}" = no ] || exit $((failures > 0))

# What fits into memory alone, as CSV, is read by every rank.
"$OATGP" convert a.npy --target 5 -o a.csv --quiet
"$OATGP" fit a.csv --target last --approx vfe --knots 12 --max-iter 2 -o one.oatgp --json --quiet | results >one
ranks 3 fit a.csv --target last --approx vfe --knots 12 --max-iter 2 -o several.oatgp --json --quiet 2>err | results >several
check "CSV: 3 ranks have the bits of one process" cmp -s one several

# So are few rows: ranks try neighbours as one process does.
python3 "$PROJECT_DIR/tests/large_rows.py" 2500 few
few="--target 5 --subset-rows 200 --max-iter 1 --tol-row 0.06"
# shellcheck disable=SC2086
"$OATGP" fit few/a.npy $few -o one.oatgp --json --quiet | results >one
check "few rows: an automatic fit tries neighbours" grep -q '"stop":.*"neighbours"' one
# shellcheck disable=SC2086
ranks 2 fit few/a.npy $few -o several.oatgp --json --quiet 2>err | results >several
check "and so do 2 ranks, with the same bits" cmp -s one several

# Averages have so few rows that every rank has them all.
head -31 "$PROJECT_DIR/data/boston.csv" >boston.csv
"$OATGP" fit boston.csv --target medv -o one.oatgp --json --quiet | results >one
"$OATGP" predict one.oatgp boston.csv --quiet >points
check "the parameters of 30 rows are averaged" grep -q '"average"' one
ranks 3 fit boston.csv --target medv -o several.oatgp --json --quiet 2>err | results >several
check "3 ranks have the same draws" cmp -s one several
"$OATGP" predict several.oatgp boston.csv --quiet >several
check "and the same predictions" cmp -s points several
"$OATGP" convert boston.csv --target medv -o boston.npy --quiet
"$OATGP" fit boston.npy --target 4 -o one.oatgp --json --quiet | results >one
"$OATGP" fit boston.npy --target 4 --memory 500 -o file.oatgp --json --quiet | results >several
check "rows that stay in their file are averaged to the same bits" cmp -s one several
"$OATGP" loo one.oatgp boston.npy --quiet >one
"$OATGP" loo file.oatgp boston.npy --memory 500 --quiet >several
check "and left out to the same bits" cmp -s one several

# So is an .npy file whose rows ranks cannot share. Knots are in memory, wherever they come from.
for options in 'b.npy --approx vfe --knots 12' 'a.npy --knots 12 --approx fitc --neighbours 3' \
  'bad.npy --approx vfe --knots 12 --missing drop' 'a.npy --approx vfe --knots k.npy'; do
  # shellcheck disable=SC2086
  "$OATGP" objective $options --target 5 --json --quiet >one
  # shellcheck disable=SC2086
  ranks 2 objective $options --target 5 --json --quiet >several 2>err
  check "$options: 2 ranks have the bits of one process" cmp -s one several
done

# A rank reads its own rows, and few others; the first looks for unusual values in addition.
if [ -r /proc/self/io ]; then
  cat >counted <<'END'
#!/bin/sh
"$@"
code=$?
sed -n 's/^rchar: //p' /proc/$$/io >"read-$OMPI_COMM_WORLD_RANK"
exit $code
END
  chmod +x counted
  # read_by COUNT OPTIONS..: what each of so many ranks reads in a fit
  read_by() {
    count=$1
    shift
    mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$count" ./counted "$OATGP" fit a.npy --target 5 --memory 100K "$@" \
      -o x.oatgp --quiet >out 2>err
  }
  for fit in '--approx vfe --knots random:12 --select simultaneous --max-eval 3' '--max-knots 40 --max-iter 2'; do
    # shellcheck disable=SC2086
    read_by 1 $fit
    cp read-0 of-1
    # shellcheck disable=SC2086
    read_by 4 $fit
    for rank in 1 2 3; do
      check "$fit: rank $rank of 4 reads less than two sevenths of what one process reads" test $((7 * $(cat read-$rank))) -lt $((2 * $(cat of-1)))
    done
  done
fi

# Ranks that are given different files end with one sentence, each in its own way.
two() { # FILE FILE OPTIONS..
  mine=$1 other=$2
  shift 2
  mpirun --allow-run-as-root --oversubscribe --bind-to none -n 1 "$OATGP" objective "$mine" --target 5 "$@" : -n 1 "$OATGP" objective \
    "$other" --target 5 "$@" >out 2>err
  code=$?
}
for other in c.npy part-0.npy a.csv; do
  two a.npy $other --approx vfe --knots random:12
  check "a.npy and $other on two ranks end the run" test "$code" -eq 1
  check "with one sentence" test "$(grep -c 'oatgp: the ranks have read different data; give every rank the same files' err)" -eq 1
done
"$OATGP" convert part-0.npy --target 5 -o some.csv --quiet
"$OATGP" convert part-1.npy --target 5 -o others.csv --quiet
two some.csv others.csv --approx vfe --knots random:12
check "and so do two tables" test "$(grep -c 'oatgp: the ranks have read different data; give every rank the same files' err)" -eq 1
two a.npy none.npy --approx vfe --knots random:12
check "a file that one rank lacks ends the run" test "$code" -eq 1
check "with the sentence of that rank" test "$(grep -c "oatgp: cannot read 'none.npy'" err)" -eq 1
ranks 3 objective a.npy --targett 5 >out 2>err
check "a wrong option ends the run" test $? -eq 2
check "with one sentence" test "$(grep -c 'oatgp: --targett is not an option' err)" -eq 1

# ---- checkpoints -------------------------------------------------------------------------------------------------------------

fit="--target 5 --approx vfe --knots 12 --select simultaneous --max-eval 12"
# shellcheck disable=SC2086
"$OATGP" fit a.npy $fit -o one.oatgp --json --quiet | results >one
# shellcheck disable=SC2086
ranks 3 fit a.npy $fit --checkpoint half --checkpoint-seconds 0 -o half.oatgp --json --quiet >/dev/null 2>&1
# shellcheck disable=SC2086
ranks 2 fit a.npy $fit --resume half -o two.oatgp --json --quiet 2>err | results >several
check "a fit of three ranks goes on with two" cmp -s one several

# ---- failures ------------------------------------------------------------------------------------------------------------------

ranks 3 objective bad.npy --target 5 >out 2>err
code=$?
check "a broken cell ends all ranks with the code of a failure" test "$code" -eq 1
check "and one sentence" test "$(grep -c "bad.npy, row 35001, column 'V3': the value is missing" err)" -eq 1
ranks 2 score one.oatgp a.npy >out 2>err
code=$?
check "score is for one process" test "$code" -eq 2
check "and says so" grep -q 'only fit and objective share their rows among ranks' err

# ---- an early end ----------------------------------------------------------------------------------------------------------------

endless="--target 5 --approx vfe --knots random:60 --select simultaneous --optimizer adadelta --max-iter 1000000 --obj-tol 0 --patience 1000000"
# shellcheck disable=SC2086
ranks 3 fit a.npy $endless --time-limit 3 -o x.oatgp --json --quiet >out 2>err
check "a time limit ends a fit of three ranks" grep -q '"stop":.*"time"' out
ranks 2 fit a.npy --target 5 --kernel auto --time-limit 4 -o x.oatgp --json --quiet >out 2>err
check "and an automatic one with a choice of kernels" grep -q '"stop":.*"time"' out
# stopped SIGNAL CODE: the signal to mpirun while ranks are at work. They end by themselves in the seconds that mpirun gives them, all of
# which it waits after SIGTERM; a busy machine needs more.
stopped() {
  for patience in 4 40; do
    rm -f x.oatgp trace
    # shellcheck disable=SC2086
    mpirun --allow-run-as-root --oversubscribe --bind-to none --mca odls_base_sigkill_timeout "$patience" -n 2 \
      "$OATGP" fit a.npy $endless --trace trace -o x.oatgp --json --quiet >out 2>err &
    launcher=$!
    while ! grep -q '"event":"step"' trace 2>/dev/null && kill -0 "$launcher" 2>/dev/null; do sleep 0.2; done
    kill -s "$1" "$launcher"
    wait "$launcher"
    code=$?
    if [ -e x.oatgp ]; then break; fi
  done
  check "SIG$1 to mpirun: its exit code" test "$code" -eq "$2"
  check "SIG$1 to mpirun saves the best model" "$OATGP" info x.oatgp
  check "SIG$1 to mpirun has one sentence" test "$(grep -c 'interrupted; the best model so far is in' err)" -eq 1
}
# A file that shrinks is found by all ranks, and told by one.
cp a.npy changing.npy
rm -f trace
# shellcheck disable=SC2086
ranks 3 fit changing.npy $endless --trace trace -o x.oatgp --json --quiet >out 2>err &
launcher=$!
while ! grep -q '"event":"step"' trace 2>/dev/null && kill -0 "$launcher" 2>/dev/null; do sleep 0.2; done
head -c 100000 a.npy >changing.npy
wait "$launcher"
check "a file that shrinks ends all ranks" test $? -eq 1
check "with one sentence" test "$(grep -c "oatgp: 'changing.npy' changed while it was in use" err)" -eq 1

# The shell ignores SIGINT for what it starts in the background; mpirun does the same with SIGTERM.
stopped TERM 1
stopped USR1 3
exit $((failures > 0))
