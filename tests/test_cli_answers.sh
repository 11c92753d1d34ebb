#!/bin/sh
# The command after a fit with answers that are not Gaussian: predict, score, loo, cv, update, info, trace. $OATGP is the command, $TMPDIR
# an empty folder. One line for each check; ends with 1 if any failed.
#
# Lists of options are split into words on purpose, and awk programs have their own dollars.
# shellcheck disable=SC2086,SC2016
set -u
LC_ALL=C
export LC_ALL
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/command.sh"

# ---- data: yes or no, counts with a time, ordered classes, successes of trials, all of the same function --------------

make_answers() {
  awk -v n="$1" -v seed="$2" 'BEGIN {
    srand(seed); print "a,b,answer,count,time,level,n,hits"
    split("1 low,2 mid,3 top", names, ",")
    for (i = 0; i < n; i++) {
      a = 4 * rand() - 2; b = 4 * rand() - 2; g = 1.5 * sin(2 * a) + b / 2; p = 1 / (1 + exp(-g))
      time = 0.5 + 3 * rand(); u = rand(); mass = exp(-time * exp(g / 2)); count = 0
      for (sum = mass; sum < u && count < 99; sum += mass) { count++; mass *= time * exp(g / 2) / count }
      noise = 2 * (rand() + rand() + rand() - 1.5); level = g + noise < -0.5 ? 1 : g + noise < 0.7 ? 2 : 3
      trials = 1 + int(7 * rand()); hits = 0
      for (j = 0; j < trials; j++) hits += rand() < p
      printf "%.6f,%.6f,%s,%d,%.4f,%s,%d,%d\n", a, b, rand() < p ? "yes" : "no", count, time, names[level], trials, hits
    }
  }'
}
make_answers 90 1 >train.csv
make_answers 20 2 >test.csv
quick="--inputs a,b --knots 8 --max-iter 12 --quiet"

# column NAME FILE: the values of a column
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$2"; }
# all NAME FILE CONDITION: awk's condition on $1 holds for all values of the column
all() { column "$1" "$2" | awk "!($3) { bad = 1 } END { exit bad }"; }

# ---- yes or no ---------------------------------------------------------------------------------------------------------

works "fit yes and no" fit train.csv --target answer --likelihood bernoulli-logit $quick --trace steps.jsonl -o yes.oatgp
says out "likelihood    bernoulli-logit" "the likelihood is in the place of tau"
check "and tau is not told" sh -c '! grep -q "^tau" out'
says out "classes       no, yes; the probability is that of yes" "it says whose probability it is"
check "leave-one-out in words of the answer" grep -qE '^leave-one-out log loss [0-9.]+, Brier score [0-9.]+$' out
check "the trace has rounds" grep -qE '"likelihood_parameters":\{\},"site_rounds":[1-9]' steps.jsonl
check "and no tau" sh -c '! grep -q "\"tau\"" steps.jsonl'
works "predict yes and no" predict yes.oatgp test.csv -o p.csv
check "columns of probabilities" test "$(head -1 p.csv)" = "probability,sd,lower,upper,latent_mean,latent_sd"
check "probabilities are inside (0, 1)" all probability p.csv '$1 > 0 && $1 < 1'
check "and in their intervals" awk -F, 'NR > 1 && !($3 < $1 && $1 < $4) { bad = 1 } END { exit bad }' p.csv
works "latent" predict yes.oatgp test.csv --latent -o f.csv
check "columns of the function" test "$(head -1 f.csv)" = "mean,sd,lower,upper"
column latent_mean p.csv >one && column mean f.csv >two
check "the function is the same" cmp one two
works "the probability alone" predict yes.oatgp test.csv --mean-only -o m.csv
column probability p.csv >one && column probability m.csv >two
check "the probability alone is the same" cmp one two
works "draws of answers" predict yes.oatgp test.csv --mean-only --samples 3 -o d.csv
check "draws are 0 or 1" all sample2 d.csv '$1 == 0 || $1 == 1'
works "draws of the function" predict yes.oatgp test.csv --latent --mean-only --samples 1 -o d.csv
check "draws of the function are numbers" sh -c 'tail -1 d.csv | grep -q "\..*,.*\."'
works "predict as JSON" predict yes.oatgp test.csv --json
has_keys "JSON of probabilities" n probability sd lower upper latent_mean latent_sd
works "score yes and no" score yes.oatgp test.csv --json
has_keys "scores of yes and no" log_loss brier accuracy auc deviance mean_nlp coverage95
check "coverage of yes and no means nothing" test "$(json coverage95)" = null
column probability p.csv >values
near "$(json log_loss)" "$(column answer test.csv | paste -d, - values |
  awk -F, '{ s -= log($1 == "yes" ? $2 : 1 - $2) } END { printf "%.12g", s / NR }')" 1e-9 "log loss by hand"
works "score for people" score yes.oatgp test.csv
says out "mean of -log probability of the observed class" "scores in words of the answer"
check "what means nothing is left out" sh -c '! grep -q "coverage\|rmse\|nan" out'
works "loo of yes and no" loo yes.oatgp train.csv --json -o rows.csv
loo=$(json log_loss)
works "info of yes and no" info yes.oatgp --json
near "$(json loo_mean_nlp)" "$loo" 1e-5 "info has the same leave-one-out score"
check "info names the likelihood" test "$(json likelihood)" = '"bernoulli-logit"'
check "and the classes" test "$(json classes)" = '["no", "yes"]'
check "and no tau" sh -c '! grep -q "\"tau\"" out'
refuses 1 "exist only for Gaussian targets; this model has the likelihood bernoulli-logit" certify yes.oatgp train.csv
refuses 2 "this model has likelihood bernoulli-logit" score yes.oatgp test.csv --against yes.oatgp
works "fit --certify is a fit" fit train.csv --target answer --likelihood bernoulli-logit --inputs a,b --knots 8 --max-iter 3 --certify -o m.oatgp
says err "no bounds: bounds of the evidence exist only for Gaussian targets" "without bounds"

# ---- counts --------------------------------------------------------------------------------------------------------------

works "fit counts" fit train.csv --target count --exposure time --likelihood negative-binomial $quick -o count.oatgp
check "the shape is told" grep -qE '^likelihood    negative-binomial, shape [0-9.e+]+$' out
works "predict counts" predict count.oatgp test.csv -o p.csv
check "columns of counts" test "$(head -1 p.csv)" = "mean,sd,lower,upper,latent_mean,latent_sd"
check "quantiles are whole" all upper p.csv '$1 == int($1)'
sed 's/^\([^,]*,[^,]*,[^,]*,[^,]*\),[^,]*/\1,2/; 1s/,2,/,time,/' test.csv >twice.csv
sed 's/^\([^,]*,[^,]*,[^,]*,[^,]*\),[^,]*/\1,1/; 1s/,1,/,time,/' test.csv >once.csv
works "a time of 2" predict count.oatgp twice.csv --mean-only -o two.csv
works "a time of 1" predict count.oatgp once.csv --mean-only -o one.csv
check "the mean is in proportion to the time" sh -c \
  "paste -d, one.csv two.csv | awk -F, 'NR > 1 { d = \$2 / \$1 - 2; if (d * d > 1e-20) bad = 1 } END { exit bad }'"
works "score counts" score count.oatgp test.csv
check "counts have a deviance, and no log loss" sh -c 'grep -q "^deviance" out && grep -q "^coverage95" out && ! grep -q log_loss out'

# ---- ordered classes, trials ------------------------------------------------------------------------------------------------

works "fit levels" fit train.csv --target level --likelihood ordinal $quick -o level.oatgp
works "predict levels" predict level.oatgp test.csv -o p.csv
check "a probability for each level" test "$(head -1 p.csv)" = "mean,sd,lower,upper,latent_mean,latent_sd,p_1 low,p_2 mid,p_3 top"
check "they add up to 1" awk -F, 'NR > 1 { d = $7 + $8 + $9 - 1; if (d * d > 1e-20) bad = 1 } END { exit bad }' p.csv
works "info of levels" info level.oatgp --json
check "info has the number of levels" test "$(json answer_levels)" = 3
works "cv of levels" cv train.csv --target level --likelihood ordinal $quick --folds 3
check "cv of levels has their scores" grep -qE '^fold +rows +knots +mean_nlp +accuracy +rmse +deviance +coverage95 +seconds$' out
check "and of all rows" grep -qE '^all +90 ' out
works "cv of yes and no" cv train.csv --target answer --likelihood bernoulli-probit $quick --folds 3 --json
has_keys "scores of cv" log_loss brier accuracy auc deviance folds
works "cv of trials" cv train.csv --target hits --trials n --likelihood binomial-logit $quick --folds 3 -o rows.csv
check "rows of cv" test "$(head -1 rows.csv) $(lines rows.csv)" = "mean,sd,nlp,residual 91"

# ---- rows that come later ------------------------------------------------------------------------------------------------------

works "update" update yes.oatgp test.csv -o later.oatgp --json
says err "the 20 new rows were added, but the fit to the old rows was not revised" "it says what stays"
check "all rows are counted" test "$(json n)" = 110
updated=$(json objective)
(cat train.csv && tail -n +2 test.csv) >both.csv
refuses 1 "some were added by an update" loo later.oatgp both.csv
works "refit" update yes.oatgp test.csv --refit --data train.csv --max-iter 0 -o later.oatgp --json --quiet
near "$(json objective)" "$updated" 2e-3 "the objective of the update was near that of all rows"
works "loo of all rows" loo later.oatgp both.csv

echo
if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
