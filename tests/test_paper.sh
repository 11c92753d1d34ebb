#!/bin/sh
# The paper's experiments, quick: every output is there and well formed, the numbers are in their bands, and the splits are the paper's.
set -u
program=$(dirname "$OATGP")/experiments/paper
if [ ! -x "$program" ]; then
  echo "SKIPPED: the experiments are not in this build"
  exit 77
fi
failures=0
out=$TMPDIR/paper

fail() {
  echo "FAILED  $1"
  failures=$((failures + 1))
}

run() { OPENBLAS_NUM_THREADS=1 "$program" --project "$PROJECT_DIR" --out "$out" --workers 2 "$@" 2>"$TMPDIR/log"; }

# field SET RUN MODEL PRESET COLUMN: a number of results.csv
field() {
  awk -F, -v set="$1" -v run="$2" -v model="$3" -v preset="$4" -v column="$5" '
    NR == 1 { for (i = 1; i <= NF; i++) { at[$i] = i }; next }
    $at["set"] == set && $at["run"] == run && $at["model"] == model && $at["preset"] == preset { print $at[column] }' "$out/results.csv"
}

# between WHAT LOW HIGH VALUE
between() {
  awk -v low="$2" -v high="$3" -v value="$4" 'BEGIN { exit !(value != "" && value + 0 >= low && value + 0 <= high) }' ||
    fail "$1 is '$4', not between $2 and $3"
}

# parses FILE: as XML where xmllint is here, else begins and ends as it should
parses() {
  if command -v xmllint >/dev/null 2>&1; then
    xmllint --noout "$1" || fail "$1 does not parse"
  else
    { head -n 1 "$1" | grep -q '^<svg' && tail -n 1 "$1" | grep -q '</svg>$'; } || fail "$1 is not a whole svg element"
  fi
}

run --quick || { cat "$TMPDIR/log"; fail "the quick run"; exit 1; }

figures='1 2 3'
if [ -f "$SHARED_DIR/data/airfoil.csv" ] && [ -f "$SHARED_DIR/data/ccpp.csv" ]; then
  figures='1 2 3 4 5'
elif ! grep -q 'airfoil.csv was not found: skipped' "$TMPDIR/log"; then
  fail "nothing is said of a missing set"
fi
for i in $figures; do
  if [ -s "$out/figure$i.svg" ]; then
    parses "$out/figure$i.svg"
  else
    fail "figure$i.svg is not there"
  fi
done
for file in results.csv growth.csv facts.csv tables.md index.html; do
  [ -s "$out/$file" ] || fail "$file is not there"
done
tail -n 1 "$out/index.html" | grep -q '</html>' || fail "index.html has no end"
[ "$(grep -c '<svg' "$out/index.html")" -eq "$(echo "$figures" | wc -w)" ] || fail "index.html has not all figures"
if grep -q 'https\{0,1\}://[^"]*\.\(css\|js\)\|<script\|<img\|<link' "$out/index.html"; then
  fail "index.html needs other files"
fi
[ "$(grep -c '^| [0-9]*\. ' "$out/tables.md")" -ge 20 ] || fail "tables.md has fewer than 20 claims"
grep -q -i 'nan\|inf ' "$out/tables.md" && fail "tables.md has a number that is none"

# two runs, nine models by default and eight as in the paper
[ "$(grep -c '^boston,' "$out/results.csv")" -eq 34 ] || fail "results.csv has not 34 rows of boston"
between "the full GP's evidence, run 1" -1038.9640 -1038.9626 "$(field boston 1 FGP defaults objective)"
between "the full GP's evidence, run 2" -1023.7190 -1023.7178 "$(field boston 2 FGP defaults objective)"
between "the same by ADADELTA" -1039.1 -1038.9626 "$(field boston 1 FGP paper objective)"
between "SRMSE of the full GP" 0.3550 0.3553 "$(field boston 1 FGP defaults srmse)"
between "MNLP of the full GP" 2.222 2.225 "$(field boston 1 FGP defaults mnlp)"
between "MNLP, noise twice" 2.481 2.484 "$(field boston 1 FGP defaults mnlp_noise_twice)"
for preset in paper defaults; do
  between "knots of OBVk, $preset" 12 12 "$(field boston 1 OBVk $preset knots)"
  between "ELBO of OBVk, $preset" -1060 -1038.96 "$(field boston 1 OBVk $preset objective)"
  between "ELBO of SVk, $preset" -1056 -1038.96 "$(field boston 1 SVk $preset objective)"
  between "SRMSE of OBVk, $preset" 0.34 0.42 "$(field boston 1 OBVk $preset srmse)"
  between "SRMSE of OBFk, $preset" 0.34 0.44 "$(field boston 1 OBFk $preset srmse)"
done
# Table 1: dtc has the prior of new rows, fic the variances, the full GP everything
for row in '| dic | NO [^|]*| NO [^|]*| NO [^|]*| NO [^|]*| NO ' '| dtc | NO [^|]*| NO [^|]*| YES [^|]*| YES [^|]*| NO ' \
  '| fic | YES [^|]*| NO [^|]*| YES [^|]*| NO [^|]*| NO ' '| fitc | YES [^|]*| NO [^|]*| YES [^|]*| YES [^|]*| NO ' \
  '| full | YES [^|]*| YES [^|]*| YES [^|]*| YES [^|]*| YES '; do
  grep -q "^$row" "$out/tables.md" || fail "Table 1 has no row like $row"
done

# the pages again, from the results
cp "$out/tables.md" "$TMPDIR/before.md"
run --report || fail "the report alone"
cmp -s "$TMPDIR/before.md" "$out/tables.md" || fail "the report alone is another one"

# the draws are R's: Boston's from known sums, the others from the reference where it is here
run --splits >"$TMPDIR/splits.csv" || fail "the splits"
sum=$(awk -F, '$1 == "boston" && $3 == "row" { sum += $2 * $4 } END { print sum }' "$TMPDIR/splits.csv")
[ "$sum" = 1451451 ] || fail "the training rows of Boston are others: $sum"
knots=$(awk -F, '$1 == "boston" && $3 ~ /^knot/ { sum += $2 * $4 * $4 } END { printf "%.9f", sum }' "$TMPDIR/splits.csv")
[ "$knots" = 213.130661077 ] || fail "the starting knots of Boston are others: $knots"
for folder in "$SHARED_DIR"/reference/splits/airfoil/run* "$SHARED_DIR"/reference/splits/ccpp/run*; do
  [ -d "$folder" ] || continue
  set_name=$(basename "$(dirname "$folder")") run_number=${folder##*run}
  awk -F, -v set="$set_name" -v run="$run_number" '$1 == set && $2 == run && $3 == "row" { print $4 }' "$TMPDIR/splits.csv" >"$TMPDIR/ours"
  tail -n +2 "$folder/train_rows.csv" | cmp -s - "$TMPDIR/ours" || fail "training rows of $set_name, run $run_number"
  awk -F, -v set="$set_name" -v run="$run_number" '$1 == set && $2 == run && $3 ~ /^knot/ { printf "%.9f\n", $4 }' "$TMPDIR/splits.csv" >"$TMPDIR/ours"
  tail -n +2 "$folder/xu_init_k5_scaled.csv" | tr ',' '\n' | awk '{ printf "%.9f\n", $1 }' | cmp -s - "$TMPDIR/ours" ||
    fail "starting knots of $set_name, run $run_number"
done

# refusals
"$program" --out "$out" 2>"$TMPDIR/log" && fail "no usage error without --project"
grep -q '^usage:' "$TMPDIR/log" || fail "no usage"
rm "$out/results.csv"
run --report && fail "a report without results"
grep -q 'run script/paper without --report first' "$TMPDIR/log" || fail "no sentence for a report without results"
exit $((failures > 0))
