#!/bin/sh
# The report in a real browser: makes seven reports and some drawings, and lets browser.py look at them. Skips where chromium, its driver or selenium is missing.
# Screenshots of all of them: OATGP_SHOTS=FOLDER tests/run_with_scratch.sh tests/browser/run.sh, with $OATGP and $PROJECT_DIR set.
set -eu
. "$PROJECT_DIR/tests/browser/find.sh"

cd "$TMPDIR"
export OPENBLAS_NUM_THREADS=1
cp "$PROJECT_DIR/data/mcycle.csv" "$PROJECT_DIR/data/boston.csv" .
# two inputs with names that are markup, a target far from 0, and more rows than are drawn
awk 'BEGIN { srand(1); print "a <i>long</i> name,\"b & \"\"c\"\"\",yield <t/ha>"
  for (i = 0; i < 4000; i++) { a = 6 * rand() - 3; b = 200 * rand(); printf "%.5f,%.4f,%.1f\n", a, b, 2e7 + 50000 * (sin(a) + cos(b / 40)) + 9000 * (rand() + rand() + rand()) } }' >map.csv
# 40 inputs, whose long names differ at their end, and huge numbers; two rows with tiny ones
awk 'BEGIN { srand(2); for (i = 1; i <= 40; i++) { printf "Größe der Öffnung nach der Prüfung 温度 in mm, WWWW_%d;", i }; print "a target with a name that is too long for its axis at any width"
  for (i = 0; i < 90; i++) { s = 0; for (j = 1; j <= 40; j++) { x = rand(); s += j < 4 ? sin(5 * x) : 0; printf "%.6g;", -3e11 + 1e9 * x }; printf "%.9g\n", 1e14 * s } }' |
  sed 's/,/./g; s/;/,/g' >many.csv
printf 'a,b,y\n5.01e-7,3.2e-9,1.5e-12\n4.98e-7,3.3e-9,1.6e-12\n' >two.csv
"$OATGP" fit mcycle.csv --target accel --select oat-gain --max-knots 20 --quiet -o mcycle.oatgp >fit.txt
"$OATGP" fit boston.csv --target medv --select oat-gain --max-knots 25 --certify --quiet -o boston.oatgp >fit.txt
"$OATGP" fit map.csv --target last --knots 30 --max-iter 10 --quiet -o map.oatgp >fit.txt
"$OATGP" fit many.csv --target last --knots 5 --max-iter 5 --quiet -o many.oatgp >fit.txt
"$OATGP" fit two.csv --target last --knots 2 --quiet -o two.oatgp >fit.txt
# classes and counts
awk 'BEGIN { srand(3); print "an input with a long name,b,count,class"
  for (i = 0; i < 300; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2; print a "," b "," int(3 * exp(a / 2) * rand() * 2) "," (a + sin(2 * b) + rand() - 0.5 > 0 ? "<i>yes</i>, with a long name" : "no") } }' |
  sed 's/<i>.*/"&"/' >classes.csv
cut -d, -f1-3 classes.csv >counts.csv
"$OATGP" fit classes.csv --target class --inputs 1,2 --likelihood bernoulli-logit --knots 10 --max-iter 10 --quiet -o classes.oatgp >fit.txt
"$OATGP" fit counts.csv --target count --likelihood negative-binomial --knots 10 --max-iter 10 --quiet -o counts.oatgp >fit.txt
for name in mcycle boston map many two classes counts; do
  "$OATGP" report "$name.oatgp" "$name.csv" -o "$name.html"
done
# drawings: every figure of a model by itself, those of the pages, and the paper's as they come out now
for figure in observed residuals quantiles calibration objective knots relevance partial; do
  for name in boston many; do
    "$OATGP" plot "$figure" "$name.oatgp" "$name.csv" -o "$name-$figure.svg"
  done
done
for figure in reliability roc classes quantiles partial; do
  "$OATGP" plot "$figure" classes.oatgp classes.csv -o "classes-$figure.svg"
done
for figure in rootogram observed calibration; do
  "$OATGP" plot "$figure" counts.oatgp counts.csv -o "counts-$figure.svg"
done
"$OATGP" plot evidence boston.oatgp -o boston-evidence.svg
"$OATGP" plot knots mcycle.oatgp mcycle.csv -o mcycle-knots.svg
cp "$PROJECT_DIR"/docs/*.svg "$PROJECT_DIR"/docs/figures/*.svg "$PROJECT_DIR"/docs/paper/*.svg .
paper=$(dirname "$OATGP")/experiments/paper
if [ -x "$paper" ]; then
  "$paper" --project "$PROJECT_DIR" --out paper --workers 2 --quick 2>paper.txt
  for figure in paper/*.svg; do
    mv "$figure" "paper-$(basename "$figure")"
  done
fi
exec "$python" "$PROJECT_DIR/tests/browser/browser.py" "$TMPDIR" ${OATGP_SHOTS:+"$OATGP_SHOTS"}
