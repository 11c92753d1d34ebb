#!/bin/sh
# Rows that stay in their files: the same numbers as in memory, for float64 and float32, both orders, and several files; in little memory.
# $OATGP is the command, $TMPDIR an empty folder.
set -u
LC_ALL=C
export LC_ALL
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/command.sh"
command -v python3 >/dev/null 2>&1 || {
  echo "skipped: there is no python3"
  exit 77
}
rows=66000 # with fewer than 65536 a fit takes them into memory
python3 "$PROJECT_DIR/tests/large_rows.py" $rows .
streamed="--memory 100K"
at="--target 5 --approx vfe --knots 12 --lengthscale 1 --sigma 1 --tau 0.3"

# ---- one evaluation ---------------------------------------------------------------------------------------------------------

# shellcheck disable=SC2086
evaluate() { "$OATGP" objective "$@" $at --gradient --json --quiet; }
evaluate a.npy >memory
for from in "a.npy $streamed" "f.npy $streamed" "part-*.npy"; do
  # shellcheck disable=SC2086
  (set -f && evaluate $from) >file 2>err
  check "the evaluation of $from is that of rows in memory" cmp -s memory file
done
"$OATGP" objective a.npy --target 5 --approx vfe --knots k.npy --json --quiet >memory
"$OATGP" objective a.npy --target 5 --approx vfe --knots k.npy --json --quiet --memory 10 >file
check "and knots from a file that is larger than --memory" cmp -s memory file
evaluate s8.npy >memory
evaluate s.npy $streamed >file
check "float32 are the numbers that they are" cmp -s memory file

# ---- a fit, and what follows ---------------------------------------------------------------------------------------------------

results() { grep -v '"seconds\|"model\|"output\|"command\|"settings\|"memory' | sed 's/"seconds[^,]*,//g'; }
# shellcheck disable=SC2086
same_fit() { # NAME FILE OPTIONS..
  what=$1 from=$2
  shift 2
  "$OATGP" fit "$from" --target 5 "$@" -o memory.oatgp --json --quiet | results >memory
  "$OATGP" fit "$from" --target 5 "$@" $streamed -o file.oatgp --json --quiet | results >file
  check "$what: a fit to a file is one to memory" cmp -s memory file
}
same_fit vfe a.npy --approx vfe --knots 12 --max-iter 3
same_fit weights w.npy --weights 6 --approx vfe --knots 12 --max-iter 1
if [ -z "${OATGP_TEST_QUICK:-}" ]; then
  same_fit fitc a.npy --approx fitc --knots 12 --max-iter 3
  same_fit expression a.npy --kernel 'se(V1) + matern52(V2, V3, V4)' --knots 12 --max-iter 2
  same_fit automatic a.npy --max-iter 3 --max-knots 40
fi
works "an automatic fit with any number of knots" fit part-0.npy --target 5 --subset-rows 200 --max-iter 1 --tol-row 0.06 --memory 100K -o x.oatgp
check "tries no neighbours" grep -q 'neighbours were not tried: they need all rows in memory' err
same_fit bernoulli c.npy --likelihood bernoulli-logit --knots 12 --max-iter 2
same_fit linear a.npy --mean linear --knots 12 --max-iter 2
for verb in score loo; do
  "$OATGP" "$verb" memory.oatgp a.npy --quiet >memory
  # shellcheck disable=SC2086
  "$OATGP" "$verb" memory.oatgp a.npy $streamed --quiet >file
  check "$verb of a file is that of memory" cmp -s memory file
done
printf 'part-0.npy\npart-1.npy\npart-2.npy\n' >list
works "a list of files" loo memory.oatgp --data-list list
check "has the rows in its order" sh -c 'grep -v "^oatgp" out | cmp -s - memory'
run loo memory.oatgp --data-list .
exits 1 "a folder in place of a list ends it"
check "is no list" grep -q "cannot read the list of files '.': Is a directory" err
works "an update from a file" update memory.oatgp a.npy --memory 100K -o updated.oatgp
works "bounds from a file" certify memory.oatgp a.npy --memory 100K
check "say what they are" grep -q 'without iterations over all pairs of rows' err

# ---- what is refused -------------------------------------------------------------------------------------------------------------

run objective bad.npy --target 5 --memory 100K
exits 1 "a missing value ends it"
check "has its file, row and column" grep -q "bad.npy, row $((rows / 2 + 1)), column 'V3': the value is missing" err
run fit a.npy --target 5 --approx fitc --neighbours 5 --memory 100K -o x.oatgp
exits 2 "neighbours end it"
check "need memory" grep -q 'a model with neighbours needs all rows in memory' err
run objective b.npy --target 5 --memory 100K
exits 1 "the other order of bytes ends it"
check "cannot stay in a file" grep -q "'b.npy' is too large for memory, and only real numbers" err
head -c 500000 a.npy >short.npy
run objective short.npy --target 5 --memory 100K
exits 1 "a truncated file ends it"
check "is named" grep -q "'short.npy' is packed, truncated or damaged" err

# A file that shrinks while it is read is a sentence, and no signal, whatever is done with it at that moment.
for moment in 0 0.3 1.1; do
  cp a.npy changing.npy
  rm -f trace
  "$OATGP" fit changing.npy --target 5 --approx vfe --knots random:200 --select simultaneous --memory 100K --threads 1 \
    --max-iter 1000000 --obj-tol 0 --grad-tol 0 --trace trace -o x.oatgp >out 2>err &
  child=$!
  while [ ! -s trace ] && kill -0 "$child" 2>/dev/null; do sleep 0.1; done # until it is at work
  sleep "$moment"
  head -c 100000 a.npy >changing.npy
  wait "$child"
  check "a file that shrinks $moment s later ends the fit" test $? -eq 1
  check "with a sentence" grep -q "'changing.npy' changed while it was in use" err
done

# ---- convert ---------------------------------------------------------------------------------------------------------------------

works "from .npy to CSV" convert a.npy --target 5 -o a.csv
works "and back" convert a.csv --target last -o again.npy
check "the numbers are the same" sh -c 'tail -c 2800000 a.npy >one; tail -c 2800000 again.npy | cmp -s - one'
"$OATGP" convert - --target last -o piped.npy <a.csv >/dev/null
check "a pipe gives the same file" cmp -s again.npy piped.npy
exit $((failures > 0))
