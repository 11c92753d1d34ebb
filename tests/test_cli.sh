#!/bin/sh
# The command from end to end: $OATGP is the command, $TMPDIR an empty folder. One line for each check; ends with 1 if
# any failed. Needs nothing but a POSIX shell, awk and gzip.
#
# Lists of options and keys are split into words on purpose, and awk programs have their own dollars.
# shellcheck disable=SC2086,SC2016,SC2013
set -u
LC_ALL=C
export LC_ALL
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/command.sh"

# ---- helpers -------------------------------------------------------------------------------------------------------

# wait_until PID COMMAND...: until the command succeeds, the process ends or a minute has passed
wait_until() {
  watched=$1 tries=0
  shift
  while ! "$@" && [ $tries -lt 1200 ] && kill -0 "$watched" 2>/dev/null; do
    sleep 0.05
    tries=$((tries + 1))
  done
}

# ---- data: a smooth function of two inputs with noise, a weight and a known variance -------------------------------

make_data() {
  awk -v n="$1" -v seed="$2" 'BEGIN {
    srand(seed); print "a,b,y,w,v"
    for (i = 0; i < n; i++) {
      a = 4 * rand() - 2; b = 10 * rand()
      noise = rand() + rand() + rand() - 1.5
      printf "%.6f,%.6f,%.6f,%.3f,%.4f\n", a, b, 3 + sin(2 * a) + 0.1 * b + 0.2 * noise, 0.5 + rand(), 0.01 * rand()
    }
  }'
}
make_data 80 1 >train.csv
make_data 15 2 >test.csv
quick="--inputs a,b --knots 8 --max-iter 15"

# ---- help, version, usage ------------------------------------------------------------------------------------------

works "version" --version
says out "oatgp 0." "version on standard output"
for feature in BLAS processor threads SIMD zlib compiler; do check "version has $feature" grep -qE "^$feature +[A-Za-z0-9]" out; done
check "version has the cores" grep -qE '^cores +[1-9]' out
(unset OMP_NUM_THREADS && taskset -c "$(taskset -cp $$ | sed 's/.*[^0-9]//')" "$OATGP" --version) >out 2>err && {
  check "a process that may run on one core has one" grep -qE '^cores +1$' out
}
own=$(unset OMP_NUM_THREADS && "$OATGP" --version | grep '^cores')
bound=$(unset OMP_NUM_THREADS && OMP_PROC_BIND=true "$OATGP" --version | grep '^cores')
check "threads that are bound to cores have all of them" [ "$own" = "$bound" ]
(OMP_NUM_THREADS=3 "$OATGP" --version) >out 2>err
check "OMP_NUM_THREADS is what is used" grep -qE '^cores +3$' out
works "version" --version
check "version has the commit" grep -qE '^oatgp [0-9.]+ \(commit (unknown|[0-9a-f]{12})(, with changes)?\)$' out
for form in "--help" "-h" "help"; do
  works "oatgp $form" $form
  for verb in $("$OATGP" help --verbs); do says out "  $verb " "oatgp $form lists $verb"; done
done
for verb in $("$OATGP" help --verbs); do
  works "help $verb" help $verb
  mv out help.$verb
  works "$verb --help" $verb --help
  check "$verb --help and help $verb agree" cmp -s out help.$verb
  run $verb -h
  check "$verb -h too" cmp -s out help.$verb
  says out "usage:    oatgp $verb" "$verb --help has the usage"
  says out "Examples:" "$verb --help has an example"
  check "$verb --help is at most 100 columns wide" awk 'length($0) > 100 { exit 1 }' out
  # Every option of every verb is used somewhere in this script.
  for option in $(sed -n 's/^  \(-[oh], \)\{0,1\}--\(\[no-\]\)\{0,1\}\([a-z-]*\).*/\3/p' out); do
    check "this script uses --$option" grep -qE -e "--(no-)?$option([ =\"]|\$)" "$self"
  done
done
for title in Data Model Parameters "Selection of knots" Optimisation Machine "Input and output"; do says help.fit "$title:" "heading $title in fit --help"; done
tr -s ' \n' ' ' <help.fit >help.text # lines are wrapped
says help.text "(default 0.5, above 0 and at most 1)" "help shows default and open range"
says help.text "(default auto, from 0 to 1)" "help shows a closed range"
says help.text "one of full dic dtc vfe tvfe fic fitc pep (default vfe)" "help shows choices"
says help.fit "--[no-]scale" "help shows the negation of a flag"

refuses 2 '--data-list takes the place of DATA' fit data.npy --data-list list --target y -o x.oatgp
refuses 2 "a verb is missing"
refuses 2 "there is no verb 'fti'; the verbs are fit, predict" fti
refuses 2 "there is no verb 'nope'" help nope
refuses 2 "there is no verb 'nope'" help --man nope
refuses 2 "--completion is 'tcsh' but must be one of bash|zsh|fish" help --completion tcsh
refuses 2 "--completion is ''" help --completion
refuses 2 "fit needs DATA" fit
refuses 2 "predict needs MODEL" predict
refuses 2 "predict needs DATA" predict m
refuses 2 "'c' is one argument too many for predict" predict a b c
refuses 2 "'b' is one argument too many" fit -- a b
refuses 2 "fit needs --target" fit train.csv -o m
refuses 2 "fit needs -o FILE" fit train.csv --target y
refuses 2 "objective needs --target" objective train.csv
refuses 2 "cannot go to standard output" fit train.csv --target y -o -
refuses 2 "--target is not an option of predict, but of fit,score,objective,convert" predict m d --target y
refuses 2 "did you mean --lengthscale?" fit train.csv --lenghtscale 1
refuses 2 "did you mean --interval?" predict m d --intervall 1
refuses 2 "--no-target is not an option" fit --no-target
refuses 2 "--no-scale takes no value" fit --no-scale=1
refuses 2 "--alpha needs a value A" fit train.csv --alpha
refuses 2 "--target needs a value COL" fit train.csv --target --json
refuses 2 "there is no short option -x" fit -x
refuses 2 "there is no option" fit --this-is-a-name-that-is-longer-than-any-name-could-be 1
refuses 2 "--alpha is 1.5 but must be above 0 and at most 1" fit train.csv --alpha 1.5
refuses 2 "--jitter is 'x' but must be a number" fit train.csv --jitter=x
refuses 2 "--max-iter is '1.5' but must be a whole number" fit train.csv --max-iter 1.5
refuses 2 "--memory is '1Q' but must be a size" fit train.csv --memory 1Q
refuses 2 "--approx is 'vef' but must be one of full|dic" fit train.csv --approx vef
refuses 2 "--scale is 'maybe' but must be yes or no" fit train.csv --scale=maybe
refuses 2 "--json is 'maybe' but must be yes or no" fit train.csv --json=maybe
refuses 2 "--interval is '1' but must be a number above 0 and below 1" predict m d --interval 1
refuses 2 "--interval is '0.9x'" predict m d --interval 0.9x
refuses 2 "--interval is 'nan'" predict m d --interval nan
refuses 2 "--samples is '2.5' but must be a whole number" predict m d --samples 2.5
refuses 2 "--samples is '-1'" predict m d --samples=-1
refuses 2 "cannot both write to standard output" info m --knots - --json

# ---- config file ---------------------------------------------------------------------------------------------------

printf 'target = y\nalpha = 7\n' >bad1.conf
printf '\n# comment\nnonsense\n' >bad2.conf
printf 'targte = y\n' >bad3.conf
printf 'interval = 0.9\n' >bad4.conf
printf 'config = other\n' >bad5.conf
printf 'json = perhaps\n' >bad6.conf
refuses 2 "bad1.conf:2: alpha is 7 but must be above 0" fit train.csv --config bad1.conf -o m
refuses 2 "bad2.conf:3: 'nonsense' is not of the form name = value" fit train.csv --config bad2.conf -o m
refuses 2 "bad3.conf:1: targte is not an option of fit; did you mean target?" fit train.csv --config bad3.conf -o m
refuses 2 "bad4.conf:1: interval is not an option of fit, but of predict" fit train.csv --config bad4.conf -o m
refuses 2 "bad5.conf:1: config cannot be set in a config file" fit train.csv --config bad5.conf -o m
refuses 2 "bad6.conf:1: json is 'perhaps'" fit train.csv --config bad6.conf -o m
refuses 1 "cannot read 'none.conf': No such file" fit train.csv --config none.conf -o m
refuses 1 "cannot read '.': Is a directory" fit train.csv --config . -o m

# ---- files that cannot be written or read --------------------------------------------------------------------------

refuses 1 "cannot write 'none/m': No such file" fit train.csv --target y -o none/m
refuses 1 "cannot write '.': Is a directory" fit train.csv --target y -o .
refuses 1 "cannot write 'none/t': No such file" fit train.csv --target y -o m --trace none/t
refuses 1 "none.csv" fit none.csv --target y -o m
refuses 1 "none.csv" fit train.csv --target y --knots none.csv -o m
refuses 1 "nope" fit train.csv --target nope -o m
refuses 1 "none.oatgp" predict none.oatgp test.csv
refuses 1 "none.oatgp" info none.oatgp
refuses 1 "train.csv" info train.csv
check "no model was written" test ! -e m

# ---- fit -----------------------------------------------------------------------------------------------------------

fit_keys="approx alpha kernel n d inputs target knots objective sigma lengthscales tau mean jitter optimizer select
  iterations evaluations rejected seconds stop seed version model loo_mean_nlp loo_rmse loo_coverage95"
works "fit" fit train.csv --target y $quick -o m.oatgp
for label in model kernel data knots objective sigma tau lengthscales mean jitter evaluations seconds stopped file; do
  check "the summary has $label" grep -q "^$label " out
done
works "fit --json" fit train.csv --target y $quick --json -o m.oatgp
cp out fit.json
check "JSON of fit is valid" valid_json out
has_keys "JSON of fit has its keys" $fit_keys
check "n is 80" test "$(json n)" = 80
check "d is 2" test "$(json d)" = 2
check "knots is 8" test "$(json knots)" = 8
check "inputs are a and b" test "$(json inputs)" = '["a", "b"]'
check "target is y" test "$(json target)" = '"y"'
check "no shape without rq" test -z "$(json shape)"
check "no slopes without a linear mean" test -z "$(json slopes)"
works "the same fit again" fit train.csv --target=y $quick --json --output=again.oatgp
check "gives the same objective" test "$(json objective)" = "$(json objective fit.json)"
works "fit --quiet" fit train.csv --target y $quick --quiet -o q.oatgp
check "--quiet leaves standard error empty" test ! -s err

for approx in full dic dtc vfe fic fitc pep; do
  works "fit --approx $approx" fit train.csv --target y $quick --approx $approx --alpha 0.3 --jitter 1e-5 --json -o $approx.oatgp
  check "approx is $approx" test "$(json approx)" = "\"$approx\""
done
check "no neighbours without --neighbours" test "$(json neighbours)" = 0
works "fit with neighbours" fit train.csv --target y $quick --approx fitc --neighbours 6 --json -o near.oatgp
cp out near.json
check "6 neighbours" test "$(json neighbours)" = 6
check "twice as many for predictions" test "$(json predict_neighbours)" = 12
works "fit with neighbours in the order of the file" fit train.csv --target y $quick --approx fitc --neighbours 6 --order file \
  --predict-neighbours 11 --json -o x.oatgp
check "11 neighbours for predictions" test "$(json predict_neighbours)" = 11
check "another order is another model" test "$(json objective)" != "$(json objective near.json)"
works "info with neighbours" info near.oatgp
check "the summary has neighbours" grep -q "^neighbours  *6 of each row, 12 of each prediction" out
works "predict with neighbours" predict near.oatgp test.csv -o near.csv
works "the mean alone with neighbours" predict near.oatgp test.csv --mean-only -o near-mean.csv
check "is that of the prediction" sh -c 'cut -d, -f1 near.csv | cmp -s - near-mean.csv'
works "derivatives" predict near.oatgp test.csv --gradient -o slopes.csv
check "are behind the prediction" sh -c 'cut -d, -f1-5 slopes.csv | cmp -s - near.csv'
check "in each input" sh -c 'head -1 slopes.csv | grep -q "^mean,sd_latent,sd,lower,upper,d_mean_[^,]*\(,d_mean_[^,]*\)*,d_sd_[^,]*\(,d_sd_[^,]*\)*$"'
works "those of the mean alone" predict near.oatgp test.csv --gradient --mean-only -o slopes-mean.csv
check "have no others" sh -c 'test "$(head -1 slopes-mean.csv)" = "mean$(head -1 slopes.csv | tr , "\n" | grep ^d_mean_ | sed "s/^/,/" | tr -d "\n")"'
works "loo with neighbours" loo near.oatgp train.csv --json
near "$(json mean_nlp)" "$(json loo_mean_nlp near.json)" 1e-12 "loo is what the fit says"
refuses 1 "their number, inputs or targets differ" loo near.oatgp test.csv
works "update with neighbours" update near.oatgp test.csv --json -o x.oatgp
check "95 rows" test "$(json n)" = 95
refuses 2 "--neighbours is -1 but must be" fit train.csv --target y --neighbours -1
refuses 2 "order is 'sideways' but must be one of random|file" fit train.csv --target y --order sideways
works "neighbours with vfe" fit train.csv --target y $quick --neighbours 6 -o x.oatgp
says err "--neighbours has no effect here: only --approx fitc has neighbours" "says that they have no effect"
works "fit rq-ard with its shape" fit train.csv --target y $quick --kernel rq-ard --shape 2 --json -o rq.oatgp
has_keys "JSON of rq has its shape" shape
works "fit with a linear mean" fit train.csv --target y $quick --mean linear --json -o linear.oatgp
has_keys "JSON of a linear mean has slopes" slopes
works "fit with an estimated mean" fit train.csv --target y $quick --mean fit --json -o x.oatgp
works "fit with a given mean" fit train.csv --target y $quick --mean 2.5 --json -o x.oatgp
check "the mean is 2.5" test "$(json mean)" = 2.5
works "fit with a mean of 17 digits" fit train.csv --target y $quick --mean 0.30000000000000004 --json -o x.oatgp
check "numbers in JSON read back to the same value" test "$(json mean)" = 0.30000000000000004
works "fit --fix" fit train.csv --target y $quick --sigma 1.25 --tau 0.125 --lengthscale 0.5,2 --fix tau,sigma --json -o x.oatgp
near "$(json sigma)" 1.25 1e-12 "the fixed sigma is kept"
near "$(json tau)" 0.125 1e-12 "the fixed tau is kept"
works "fit --range" fit train.csv --target y $quick --range 'tau=7:8' --json -o x.oatgp
near "$(json tau)" 7 1e-9 "tau ends at the end of its range"
works "fit with weights" fit train.csv --target y $quick --weights w --json -o weighted.oatgp
# ---- a column without a name -------------------------------------------------------------------------------------------

awk -F, 'NR == 1 { print "," $0 } NR > 1 { print NR "," $0 }' train.csv >numbered.csv
works "fit with row numbers" fit numbered.csv --target y --knots 8 --max-iter 5 --json -o x.oatgp
says err "warning: 'numbered.csv': column 1 has no name, like the row numbers that pandas and R write, and is used as input 'V1'; if it is not an input" "and that they are an input"
works "fit with row numbers that are chosen" fit numbered.csv --target y --inputs V1,a --knots 8 --max-iter 5 --json -o x.oatgp
check "is no surprise" test "$(grep -c "has no name" err)" = 0

# ---- classes, trials, exposure -------------------------------------------------------------------------------------

awk 'BEGIN {
  print "x,answer,n,time"
  for (i = 0; i < 60; i++) { print i / 10 "," (i % 5 < 2 ? "yes" : "no") "," 1 + i % 4 "," 0.5 + i % 3 }
}' >answers.csv
refuses 1 "answers.csv, line 2, column 'answer': 'yes' is not a number; correct it, or use --likelihood bernoulli-logit" \
  fit answers.csv --target answer -o m
works "convert classes" convert answers.csv --target answer --trials n --exposure time --likelihood bernoulli-logit -o answers.npy
says err "the target 'answer' has two classes; 0 stands for 'no' and 1 for 'yes'" "it says which class is which"
for line in "V2    target          answer" "V3    trials          n" "V4    exposure        time" \
  "fit answers.npy --target 2 --trials 3 --exposure 4 --likelihood bernoulli-logit -o MODEL"; do
  says out "$line" "convert says '$line'"
done
works "classes as CSV" convert answers.csv --target answer --likelihood bernoulli-logit --quiet -o answers2.csv
says answers2.csv "0,1,0.5,yes" "with their texts"
refuses 2 "likelihood bernoulli-logit has no trials, only binomial-logit does; leave out --trials" \
  fit answers.csv --target answer --inputs x --likelihood bernoulli-logit --trials n -o m
refuses 2 "likelihood gaussian has no exposure, only poisson, negative-binomial and gamma do; leave out --exposure" \
  fit train.csv --target y --exposure w -o m
works "fit classes" fit answers.csv --target answer --inputs x --likelihood bernoulli-logit --knots 8 --max-iter 15 --json -o answers.oatgp
works "info of classes" info answers.oatgp --json
check "info has the classes" test "$(json classes)" = '["no", "yes"]'
works "info of classes for people" info answers.oatgp
says out "classes       no, yes" "which it lists"
awk 'BEGIN { print "x,hits,n"; for (i = 0; i < 30; i++) { print i / 10 "," i % 3 ",3" } }' >trials.csv
works "fit trials" fit trials.csv --target hits --trials n --likelihood binomial-logit --knots 4 --max-iter 5 --json -o trials.oatgp
works "info of trials" info trials.oatgp --json
check "info has the trials" test "$(json trials)" = '"n"'
sed '3s/yes/perhaps/' answers.csv >spoilt.csv
refuses 1 "spoilt.csv, line 3, column 'answer': 'perhaps' is not one of the target's classes, which are 'no', 'yes'" score answers.oatgp spoilt.csv
refuses 2 "--likelihood poisson works with the models vfe and full, not fitc" fit train.csv --target y --likelihood poisson --approx fitc -o m
works "objective of student-t" objective train.csv --target y --likelihood student-t --likelihood-scale 0.5 --degrees 5 --likelihood-shape 2 \
  --knots 4 --json
says err "--likelihood-shape has no effect here: only the likelihoods negative-binomial, gamma and beta" "that it has no shape"
check "and nothing else" test "$(grep -c "has no effect" err)" = 1
refuses 2 "likelihood is 'poison' but must be one of gaussian|bernoulli-logit" fit train.csv --target y --likelihood poison -o m

# ---- categories ------------------------------------------------------------------------------------------------------

awk 'BEGIN {
  srand(5); print "y,group,x,code"
  for (i = 0; i < 60; i++) {
    x = 4 * rand() - 2; g = i % 3
    printf "%.6f,%s,%.6f,%d\n", sin(2 * x) + 2 * (g == 1) - x * (g == 2) + 0.05 * rand(), substr("red  greenblue ", 5 * g + 1, 5), x, 10 * g
  }
}' >groups.csv
works "fit uses text columns" fit groups.csv --target y --inputs x,group -o groups.oatgp
says err "1 of 4 columns are categories: 'group' (3 levels)" "it says which columns are categories"
says err "kernel se-ard is se() * categorical(group)" "and what the kernel is"
says out "se() * categorical(group)" "as the model has it"
says out "levels        group: blue, green, red" "with its levels"
works "info of categories" info groups.oatgp --json
check "levels in JSON" awk '/"levels"/ { found = 1 } found && /"green"/ { seen = 1 } END { exit !seen }' out
printf 'x,group\n0.5,red\n0.5,green\n0.5,pink\n' >new.csv
works "predict with levels" predict groups.oatgp new.csv -o -
says err "warning: input 'group' has the level 'pink' in 1 row; the model has not seen this level and treats it as new" "new levels are told of"
check "each level has its own prediction" awk -F, 'NR > 1 { mean[NR] = $1 } END { exit !(mean[3] - mean[2] > 1.8 && mean[3] - mean[2] < 2.2) }' out
works "knots have the texts of levels" info groups.oatgp --knots -
check "red is one of them" grep -qE '^[-0-9.e]+,red,' out
works "score with levels" score groups.oatgp groups.csv --json
works "loo with levels" loo groups.oatgp groups.csv --json
works "fit a category alone" fit groups.csv --target y --inputs group --quiet -o alone.oatgp
works "plot its fit" plot knots alone.oatgp groups.csv -o -
for level in blue green red; do says out ">$level<" "the level $level is on the axis"; done
works "numbers as categories" fit groups.csv --target y --inputs x --factors code --json -o codes.oatgp
says err "1 of 4 columns are categories: 'code' (3 levels)" "those that --factors names"
works "objective --factors" objective groups.csv --target y --inputs x --factors code --knots 4 --json
works "cv --factors" cv groups.csv --target y --inputs x --factors code --knots 8 --max-iter 5 --folds 2 --json
says err "with categories, kernel se-ard is" "the folds say what the kernel is"
check "once" test -z "$(sort err | uniq -d)"
works "convert categories" convert groups.csv --target y --inputs x,group -o groups.npy
says out "V2    category        group" "which are numbers then"
says out "--target 3 --factors 2 -o MODEL" "and have to be named"
works "fit converted categories" fit groups.npy --target 3 --factors 2 --json -o x.oatgp
works "convert categories to CSV" convert groups.csv --target y --factors group --inputs x -o again.csv
check "levels are written as texts" grep -q ',green,' again.csv

# ---- fits with noise -----------------------------------------------------------------------------------------------------

works "fit with noise variances" fit train.csv --target y $quick --noise-variance v --json -o noisy.oatgp
works "fit random knots, fixed" fit train.csv --target y --inputs a,b --knots random:6 --select fixed --seed 5 --json -o x.oatgp
check "6 knots" test "$(json knots)" = 6
check "select is fixed" test "$(json select)" = '"fixed"'
check "seed is 5" test "$(json seed)" = 5
works "fit by ADADELTA" fit train.csv --target y $quick --optimizer adadelta --decay 0.9 --epsilon 1e-5 --eta 500 --json -o x.oatgp
check "optimizer is adadelta" test "$(json optimizer)" = '"adadelta"'
works "fit with every number of the optimiser" fit train.csv --target y --inputs 1,2 --knots kmeans:5 --max-iter 20 --max-eval 30 \
  --obj-tol 1e-3 --patience 3 --grad-tol 1e-4 --restarts 1 --knot-box logit --knot-margin 0.2 --lbfgs-history 5 --line-search 10 \
  --threads 1 --device cpu --memory 64M --block 16 --json -o x.oatgp
check "at most 30 evaluations for each start" test "$(json evaluations)" -le 60
refuses 2 "device is 'abacus' but must be one of auto|cpu" predict m.oatgp train.csv --device abacus
printf 'a,y\n1,2\n2,3\n4,1\n' >three.csv
works "fit three rows" fit three.csv --target y -o x.oatgp
says out "3 rows, 1 input, target y" "one input is no inputs"
check "nobody asked for five knots" sh -c '! grep -q "instead of" err'
refuses 1 "needs 4.77e-05 GiB for its matrix, but only 9.54e-07 GiB may be used" \
  fit train.csv --target y --inputs a,b --approx full --memory 1K -o x.oatgp
printf '"two\nlines","\303\251t\303\251",y\n1,2,2\n2,1,3\n4,4,1\n' >names.csv
works "fit names of two lines" fit names.csv --target y -o names.oatgp
check "they stay on one line" grep -qE '^lengthscales  two.lines  [0-9.]+$' out
check "and columns are even" grep -qE "^              $(printf '\303\251t\303\251')        [0-9.]+\$" out
works "fit --max-iter 0" fit train.csv --target y --inputs a,b --knots 5 --max-iter 0 --json -o x.oatgp
works "fit --no-scale" fit train.csv --target y $quick --no-scale --json -o x.oatgp
works "fit --time-limit" fit train.csv --target y --inputs a,b --knots 20 --optimizer adadelta --max-iter 1000000000 --obj-tol 0 \
  --grad-tol 0 --patience 1000000 --time-limit 0.3 --json -o x.oatgp
check "stop is time" test "$(json stop)" = '"time"'

cat >good.conf <<'CONF'
# settings of the test
target = y     # the column
inputs=a,b
max_iter = 3
knots = 5
kernel = matern32
json = yes
CONF
works "fit --config" fit train.csv --config good.conf --max-iter 4 --knots 6 -o x.oatgp
check "the config file counts" test "$(json kernel)" = '"matern32"'
check "the command line wins" test "$(json knots)" = 6

works "fit --trace" fit train.csv --target y $quick --trace t.jsonl -o x.oatgp
check "the trace starts with start" sh -c 'head -1 t.jsonl | grep -q "\"event\":\"start\""'
check "the trace has steps" grep -q '"event":"step"' t.jsonl
check "the trace ends with end and why" sh -c 'tail -1 t.jsonl | grep "\"event\":\"end\"" | grep -q "\"stop\":\"[a-z]"'
tail -1 t.jsonl >last.json
check "a line of the trace is valid JSON" valid_json last.json
cp last.json out
has_keys "a line of the trace has its keys" event restart iteration evaluations rejected objective best gradient seconds sigma tau \
  shape lengthscales knots stop
works "fit goes on without a trace on a full disk" fit train.csv --target y $quick --trace /dev/full -o x.oatgp
says err "warning: cannot write '/dev/full'" "and warns"
# Lines that are longer than what is written at once.
awk 'BEGIN { srand(1); for (i = 0; i < 30; i++) { for (j = 0; j < 400; j++) printf "%.3f,", rand(); print rand() } }' >wide.csv
works "the same with long lines" fit wide.csv --target last --kernel se-ard --knots 5 --max-iter 1 --trace /dev/full -o x.oatgp
says err "cannot write '/dev/full': No space left on device; the trace ends here" "and warns"

# ---- forms of data -------------------------------------------------------------------------------------------------

gzip -c train.csv >train.csv.gz
tr ',' '\t' <train.csv >train.tsv
sed 1d train.csv >bare.csv
for file in train.csv.gz train.tsv; do
  works "fit $file" fit $file --target y $quick --json -o x.oatgp
  check "$file gives the same objective" test "$(json objective)" = "$(json objective fit.json)"
done
"$OATGP" fit - --target y $quick --json -o x.oatgp <train.csv >out 2>err
code=$?
exits 0 "fit from standard input"
check "standard input gives the same objective" test "$(json objective)" = "$(json objective fit.json)"
works "fit a file without header" fit bare.csv --target 3 --inputs 1,2 --header no --knots 8 --max-iter 15 --json -o x.oatgp
near "$(json objective)" "$(json objective fit.json)" 1e-12 "no header, the same objective"

awk -F, 'BEGIN { OFS = "," } NR == 4 { $1 = "NA" } { print }' train.csv >holes.csv
refuses 1 "holes.csv" fit holes.csv --target y $quick -o hole.oatgp
check "no model of refused data" test ! -e hole.oatgp
works "fit --missing drop" fit holes.csv --target y $quick --missing drop --json -o x.oatgp
check "one row dropped" test "$(json n)" = 79
says err "oatgp: note: " "dropped rows are told"
works "quiet about dropped rows" fit holes.csv --target y $quick --missing drop --quiet --json -o x.oatgp
check "--quiet silences notes" test ! -s err

# ---- predict -------------------------------------------------------------------------------------------------------

works "predict" predict m.oatgp test.csv
check "the header of a prediction" test "$(head -1 out)" = "mean,sd_latent,sd,lower,upper"
check "a row for each row" test "$(lines out)" = 16
cp out p.csv
tau=$(json tau fit.json)
check "variances add up and the interval is the normal one" awk -F, -v tau="$tau" 'NR > 1 {
  d = $3 * $3 - $2 * $2 - tau * tau; if (d < 0) d = -d
  e = ($4 - ($1 - 1.959963984540054 * $3)); if (e < 0) e = -e
  f = ($5 - ($1 + 1.959963984540054 * $3)); if (f < 0) f = -f
  if (d > 1e-9 || e > 1e-9 || f > 1e-9) exit 1 }' p.csv
check "means are near the targets" sh -c "cut -d, -f3 test.csv | paste -d, - p.csv | awk -F, 'NR > 1 { d = \$1 - \$2; s += d * d }
  END { exit !(s / (NR - 1) < 0.5) }'"
works "predict -o" predict m.oatgp test.csv -o p2.csv
check "nothing on standard output" test ! -s out
check "the file holds the same" cmp -s p.csv p2.csv
"$OATGP" predict m.oatgp - <test.csv >out 2>err
code=$?
exits 0 "predict from standard input"
check "the same from standard input" cmp -s p.csv out
awk -F, -v OFS=, 'NR > 1 { $3 = "" } { print }' test.csv >blank.csv
works "predict rows whose target is blank" predict m.oatgp blank.csv
check "the same with a blank target" cmp -s p.csv out
(head -1 test.csv && sed 1d test.csv | sort -r) >turned.csv
works "predict rows in another order" predict m.oatgp turned.csv --threads 1
by_row() { paste -d, "$1" "$2" | sed 1d | awk -F, '{ printf "%s,%s,%.8f\n", $1, $2, $6 }' | sort; }
by_row test.csv p.csv >left
by_row turned.csv out >right
check "they come out in that order" cmp -s left right
works "predict --latent --interval" predict m.oatgp test.csv --latent --interval 0.5
check "the interval is for f" awk -F, 'NR > 1 { e = $4 - ($1 - 0.6744897501960817 * $2); if (e < 0) e = -e; if (e > 1e-9) exit 1 }' out
works "predict --samples" predict m.oatgp test.csv --samples 3 --seed 4
check "sample columns" test "$(head -1 out)" = "mean,sd_latent,sd,lower,upper,sample1,sample2,sample3"
cp out s1
run predict m.oatgp test.csv --samples 3 --seed 4
check "the same seed, the same draws" cmp -s out s1
run predict m.oatgp test.csv --samples 3 --seed 5
check "another seed, other draws" sh -c '! cmp -s out s1'
works "fit --average" fit train.csv --target y $quick --average 4 --seed 3 --quiet -o averaged.oatgp
says out "4 draws of the parameters" "the average is told"
works "info of an average" info averaged.oatgp --json
check "its four weights" test "$(grep -c '"weight":' out)" = 4
works "predict with it" predict averaged.oatgp test.csv --threads 1 --samples 2 --gradient
cp out a1
run fit train.csv --target y $quick --average 4 --seed 3 --threads 2 --quiet -o averaged.oatgp
run predict averaged.oatgp test.csv --threads 2 --samples 2 --gradient
check "the same seed, the same average, for any number of threads" cmp -s out a1
works "score with it" score averaged.oatgp test.csv --json
has_keys "JSON of that score" n rmse mean_nlp coverage95
works "loo with it" loo averaged.oatgp train.csv
works "update of it" update averaged.oatgp test.csv -o more.oatgp
says out "4 draws of the parameters" "it is still an average"
works "cv --average" cv train.csv --target y $quick --average 3 --folds 2 --json
works "report of it" report averaged.oatgp train.csv -o averaged.html
works "fit --average without time for it" fit train.csv --target y --inputs a,b --knots 20 --optimizer adadelta --max-iter 1000000000 \
  --obj-tol 0 --grad-tol 0 --patience 1000000 --time-limit 0.3 --average 4 -o late.oatgp
says err "not averaged over draws of the parameters, because the time limit was reached" "it says what is missing"
check "the model has no draws" sh -c '! grep -q "^average" out'
head -c 3000 averaged.oatgp >cut.oatgp
refuses 1 "cut.oatgp" predict cut.oatgp test.csv
refuses 2 "does not work with neighbours" fit train.csv --target y --approx fitc --neighbours 5 --average 4 -o x.oatgp
refuses 2 "needs Gaussian noise" fit train.csv --target y --likelihood student-t --average 4 -o x.oatgp
refuses 2 "no parameter is free" fit train.csv --target y --approx full --fix sigma,tau,lengthscale --average 4 -o x.oatgp
works "score of it against another" score averaged.oatgp test.csv --against m.oatgp
works "predict --cov" predict m.oatgp test.csv --cov cov.npy -o p2.csv
check "cov.npy is a .npy file" sh -c 'head -c 6 cov.npy | od -c | grep -q "N   U   M   P   Y"'
works "fit the .npy file" fit cov.npy --target last --inputs 1,2 --knots 4 --max-iter 3 --json -o npy.oatgp
check "its 15 rows" test "$(json n)" = 15
works "predict --json" predict m.oatgp test.csv --json --quiet
check "JSON of predict is valid" valid_json out
has_keys "JSON of predict has its columns" n mean sd_latent sd lower upper
works "predict --json -o" predict m.oatgp test.csv --json -o p2.csv
check "JSON of predict -o is valid" valid_json out
check "JSON of predict -o names the file" test "$(json output)" = '"p2.csv"'
check "the file is still CSV" cmp -s p.csv p2.csv
sed 1d test.csv >test_bare.csv
refuses 1 "" predict m.oatgp test_bare.csv --header yes
cut -d, -f2- test.csv >narrow.csv
refuses 1 "narrow.csv" predict m.oatgp narrow.csv
sed '3s/^[^,]*/NA/' test.csv >gap.csv
works "predict --missing drop" predict m.oatgp gap.csv --missing drop
check "the other rows" test "$(lines out)" = 15

works "predict --mean-only --interval" predict m.oatgp test.csv --mean-only --interval 0.5
says err "--interval has no effect here: --mean-only gives no interval" "the mean alone has no interval"
works "predict --mean-only" predict m.oatgp test.csv --mean-only
check "one column" test "$(head -1 out)" = "mean"
cut -d, -f1 p.csv | paste -d, - out >means
check "it is the mean" awk -F, 'NR > 1 { d = $1 - $2; if (d * d > 1e-20) exit 1 }' means
check "a row for each row" test "$(lines out)" = 16
works "predict --mean-only --json" predict m.oatgp test.csv --mean-only --json
has_keys "JSON of --mean-only has the mean" n mean
check "and no interval" sh -c '! grep -q lower out'

# Rows come some at a time: more of them than that, from every kind of file and pipe, give what few give.
awk 'NR == 1 { print } NR > 1 { row[NR] = $0 } END { for (k = 0; k < 10000; k++) for (i = 2; i <= 16; i++) print row[i] }' test.csv >many.csv
works "predict many rows" predict m.oatgp many.csv -o many.out
check "a row for each of many" test "$(lines many.out)" = 150001
check "the first rows are those of the short file" sh -c "head -16 many.out | paste -d, - p.csv |
  awk -F, 'NR > 1 { d = \$1 - \$6; e = \$3 - \$8; if (d * d > 1e-20 || e * e > 1e-20) exit 1 }'"
works "predict many rows on two threads" predict m.oatgp many.csv --threads 2 -o many2.out
check "the same bytes" cmp -s many.out many2.out
gzip -c many.csv >many.csv.gz
works "predict gzip" predict m.oatgp many.csv.gz
check "the same from gzip" cmp -s out many.out
"$OATGP" predict m.oatgp - <many.csv >out 2>err
code=$?
exits 0 "predict many rows from standard input"
check "the same from standard input" cmp -s out many.out
works "convert for predict" convert many.csv --inputs a,b -o many.npy
works "predict .npy" predict m.oatgp many.npy
check "the same from .npy" cmp -s out many.out
works "predict --json -o of many rows" predict m.oatgp many.csv --json -o many3.out
check "all of them are counted" test "$(json n)" = 150000
check "and written" cmp -s many.out many3.out
(cat many.csv && echo "1,x,1,1,1") >spoilt.csv
refuses 1 "spoilt.csv, line 150002, column 'b': 'x' is not a number" predict m.oatgp spoilt.csv -o spoilt.out
check "no file of spoilt data" sh -c '! ls | grep -q "^spoilt.out"'
sed '2s/^[^,]*/x/' test.csv >spoilt.csv
refuses 1 "spoilt.csv, line 2, column 'a'" predict m.oatgp spoilt.csv

# ---- convert -------------------------------------------------------------------------------------------------------

works "convert" convert train.csv --target y --inputs b,a --weights w --noise-variance v -o all.npy
for line in "V1    input           b" "V2    input           a" "V3    target          y" "V4    weights         w" \
  "V5    noise variance  v" "--target 3 --weights 4 --noise-variance 5"; do
  says out "$line" "convert says '$line'"
done
works "convert --json" convert train.csv --target y --inputs a,b --json --threads 2 -o xy.npy
check "JSON of convert is valid" valid_json out
has_keys "JSON of convert has its keys" output n columns V1 V2 V3 name role
check "rows are counted" test "$(json n)" = 80
works "fit what was converted" fit xy.npy --target last --knots 8 --max-iter 15 --json -o npy.oatgp
for key in objective sigma lengthscales tau mean; do
  check "its $key is that of the text, bit for bit" test "$(json $key)" = "$(json $key fit.json)"
done
works "predict with it" predict npy.oatgp xy.npy -o npy.out
works "predict with the model of the text" predict m.oatgp train.csv -o text.out
check "both predict the same, bit for bit" cmp -s npy.out text.out
works "fit converted weights" fit all.npy --target 3 --weights 4 --noise-variance 5 --inputs 2,1 --knots 8 --max-iter 15 --json -o x.oatgp
converted=$(json objective)
works "fit the same as text" fit train.csv --target y --inputs a,b --weights w --noise-variance v --knots 8 --max-iter 15 --json -o x.oatgp
check "the same objective" test "$(json objective)" = "$converted"
works "convert --missing drop" convert holes.csv --target y --missing drop --header yes --quiet -o dropped.npy
check "--quiet says nothing" test ! -s out
works "convert .npy again" convert xy.npy --json -o again.npy
check "the same file" cmp -s xy.npy again.npy
refuses 2 "convert needs -o FILE.npy" convert train.csv
refuses 2 "cannot go to standard output" convert train.csv -o -
refuses 1 "holes.csv, line 4, column 'a'" convert holes.csv -o holes.npy
check "no file of refused data" test ! -e holes.npy
refuses 1 "cannot write 'none/x.npy'" convert train.csv -o none/x.npy

# ---- score ---------------------------------------------------------------------------------------------------------

score_keys="n rmse srmse mnlp mean_nlp coverage50 coverage80 coverage90 coverage95 coverage99"
works "score" score m.oatgp test.csv
for label in n rmse srmse mnlp mean_nlp coverage95; do check "scores have $label" grep -q "^$label  *[-0-9.]" out; done
works "score --json" score m.oatgp test.csv --json --quiet --threads 1
check "JSON of score is valid" valid_json out
has_keys "JSON of score has its keys" $score_keys
check "no divergence without --against" test -z "$(json aukl_latent)"
near "$(json rmse)" "$(cut -d, -f3 test.csv | paste -d, - p.csv | awk -F, 'NR > 1 { d = $1 - $2; s += d * d }
  END { printf "%.17g", sqrt(s / (NR - 1)) }')" 1e-9 "rmse is that of the predictions"
works "score --against" score m.oatgp test.csv --against full.oatgp --json
has_keys "JSON of score --against has its keys" $score_keys aukl_latent aukl_observation
works "score against itself" score m.oatgp test.csv --against m.oatgp --json
near "$(json aukl_latent)" 0 1e-9 "no divergence from itself"
works "score --against for people" score m.oatgp test.csv --against full.oatgp
says out "aukl_observation" "shows the divergence"
sed '1s/y/z/' test.csv >renamed.csv
head -2 test.csv >alone.csv
works "score one row" score m.oatgp alone.csv
check "what means nothing for one row is left out" sh -c 'grep -q "^rmse" out && ! grep -q "srmse\|nan" out'
works "score --target" score m.oatgp renamed.csv --target z --header yes --missing error
refuses 1 "renamed.csv" score m.oatgp renamed.csv
refuses 1 "none.oatgp" score m.oatgp test.csv --against none.oatgp

# ---- leave-one-out, cross-validation, new rows ----------------------------------------------------------------------

works "sensitivity" sensitivity m.oatgp --draws 20
check "its table names the inputs" grep -q "^a  *[0-9]" out
works "sensitivity of rows" sensitivity m.oatgp train.csv --draws 20 --interval 0.9 --seed 2 --json
check "its JSON is one object" valid_json out
refuses 2 "--draws" sensitivity m.oatgp --draws 1
works "loo" loo m.oatgp train.csv
for label in n rmse srmse mnlp mean_nlp coverage95; do check "loo has $label" grep -q "^$label  *[-0-9.]" out; done
works "loo --json -o" loo m.oatgp train.csv --json --quiet --threads 2 --header auto --missing error -o loo.csv
check "JSON of loo is valid" valid_json out
has_keys "JSON of loo has its keys" $score_keys
near "$(json mean_nlp)" "$(json loo_mean_nlp fit.json)" 1e-14 "the fit said the same mean nlp"
near "$(json rmse)" "$(json loo_rmse fit.json)" 1e-14 "and rmse"
near "$(json coverage95)" "$(json loo_coverage95 fit.json)" 1e-14 "and coverage"
check "columns of loo" test "$(head -1 loo.csv)" = "mean,sd,nlp,residual"
check "a line for each row" test "$(lines loo.csv)" = 81
near "$(json rmse)" "$(cut -d, -f3 train.csv | paste -d, - loo.csv | awk -F, 'NR > 1 { d = $1 - $2; s += d * d }
  END { printf "%.17g", sqrt(s / (NR - 1)) }')" 1e-12 "rmse is that of the rows"
check "residuals are standardised errors" sh -c "cut -d, -f3 train.csv | paste -d, - loo.csv |
  awk -F, 'NR > 1 { d = (\$1 - \$2) / \$3 - \$5; if (d * d > 1e-18) exit 1 }'"
works "loo -o -" loo m.oatgp train.csv -o -
check "the rows alone on standard output" cmp -s out loo.csv
works "loo of the full GP" loo full.oatgp train.csv --json
works "loo with weights" loo weighted.oatgp train.csv --json
works "loo --target" loo m.oatgp train.csv --target y
refuses 1 "was fitted to 80 rows, but these data have 15" loo m.oatgp test.csv
make_data 80 3 >stranger.csv
refuses 1 "the model was not fitted to these rows" loo m.oatgp stranger.csv
refuses 2 "cannot both write to standard output" loo m.oatgp train.csv -o - --json

works "cv" cv train.csv --target y $quick --folds 4
check "a line for each fold and all" test "$(lines out)" = 6
check "the last line is of all rows" grep -q '^all  *80 ' out
works "cv --json -o" cv train.csv --target y $quick --folds 4 --json -o cv.csv
check "JSON of cv is valid" valid_json out
has_keys "JSON of cv has its keys" $score_keys folds fold fitted knots objective seconds stop
check "n of cv is 80" test "$(json n)" = 80
check "four folds" test "$(grep -c '"fold":' out)" = 4
check "a row for each row of cv" test "$(lines cv.csv)" = 81
near "$(json rmse)" "$(cut -d, -f3 train.csv | paste -d, - cv.csv | awk -F, 'NR > 1 { d = $1 - $2; s += d * d }
  END { printf "%.17g", sqrt(s / (NR - 1)) }')" 1e-12 "rmse of cv is that of the rows"
works "cv again" cv train.csv --target y $quick --folds 4 --quiet -o cv2.csv
check "the same folds" cmp -s cv.csv cv2.csv
works "cv with another seed" cv train.csv --target y $quick --folds 4 --seed 7 --quiet -o cv3.csv
check "other folds" sh -c '! cmp -s cv.csv cv3.csv'
works "cv -o -" cv train.csv --target y $quick --folds 4 -o -
check "the rows of cv alone on standard output" cmp -s out cv.csv
works "cv --config" cv train.csv --config good.conf --folds 2
refuses 2 "cv needs --target" cv train.csv
refuses 2 "folds is 81, but there are only 80 rows" cv train.csv --target y $quick --folds 81
refuses 2 "folds is 81, but there are only 80 rows" cv train.csv --target y $quick --folds 81 --json
refuses 2 "--folds is 1 but must be from 2" cv train.csv --target y --folds 1
refuses 2 "--checkpoint is not an option of cv, but of fit" cv train.csv --target y --checkpoint c
refuses 2 "cannot both write to standard output" cv train.csv --target y -o - --json

(head -1 train.csv && sed 1d train.csv | head -50) >old.csv
(head -1 train.csv && sed 1d train.csv | tail -30) >new.csv
works "fit the old rows" fit old.csv --target y $quick --json -o old.oatgp
works "update" update old.oatgp new.csv --threads 2 --json -o new.oatgp
check "JSON of update is valid" valid_json out
check "it has all rows" test "$(json n)" = 80
check "leave-one-out scores are not known" test "$(json loo_rmse)" = null
updated=$(json objective)
works "update --max-iter" update old.oatgp new.csv --max-iter 3 --time-limit 9 -o x2.oatgp
says err "--max-iter has no effect here: only --refit optimises" "without --refit there are no iterations"
says err "--time-limit has no effect here" "and no limit of their time"
works "info after update" info new.oatgp
check "says nothing of leave-one-out" sh -c '! grep -q "^leave-one-out" out'
check "the command of the fit" grep -q '^command  *oatgp fit old.csv' out
check "and that of the update" grep -q '^command  *oatgp update old.oatgp' out
works "loo after update, with all rows" loo new.oatgp train.csv
works "update --refit without iterations" update old.oatgp new.csv --refit --data old.csv --max-iter 0 --json -o refit.oatgp
near "$(json objective)" "$updated" 1e-10 "begins at the updated model"
works "predict with the updated model" predict new.oatgp test.csv -o new.out
works "predict with the other" predict refit.oatgp test.csv -o refit.out
check "both predict the same" sh -c "paste -d, new.out refit.out | awk -F, 'NR > 1 { d = \$1 - \$6; e = \$3 - \$8; if (d * d > 1e-20 || e * e > 1e-20) exit 1 }'"
works "update --refit" update old.oatgp new.csv --refit --data old.csv --optimizer lbfgs --max-iter 30 --max-eval 100 --obj-tol 1e-6 \
  --patience 3 --grad-tol 1e-6 --time-limit 60 --memory 64M --block 16 --quiet --json -o refit.oatgp
check "the objective rose" awk -v a="$(json objective)" -v b="$updated" 'BEGIN { exit !(a > b) }'
check "leave-one-out scores are known" test "$(json loo_rmse)" != null
works "fit the full GP to old rows" fit old.csv --target y $quick --approx full -o oldfull.oatgp
works "update of the full GP" update oldfull.oatgp new.csv --json -o grown.oatgp
check "all rows of the grown GP" test "$(json n)" = 80
grown=$(json objective)
works "a refit of it without iterations" update oldfull.oatgp new.csv --refit --data old.csv --max-iter 0 --json -o x2.oatgp
near "$grown" "$(json objective)" 1e-8 "the objective of the grown GP"
works "update --refit of the full GP" update oldfull.oatgp new.csv --refit --data old.csv --max-iter 5 --json -o x2.oatgp
check "all rows of the full GP" test "$(json n)" = 80
refuses 2 "update needs -o FILE" update old.oatgp new.csv
refuses 2 "--refit needs --data OLD" update old.oatgp new.csv --refit -o x2.oatgp
refuses 2 "--refit needs --data OLD" update old.oatgp new.csv --data old.csv -o x2.oatgp
refuses 1 "none.csv" update old.oatgp none.csv -o x2.oatgp
refuses 1 "cannot write 'none/m'" update old.oatgp new.csv -o none/m
cut -d, -f1,2 new.csv >untold.csv
refuses 1 "untold.csv" update old.oatgp untold.csv -o x2.oatgp

# ---- report and plot ---------------------------------------------------------------------------------------------------

works "fit for the figures" fit train.csv --target y $quick --certify --quiet -o pictures.oatgp
works "report" report pictures.oatgp train.csv --threads 2 --quiet -o report.html
check "nothing on standard output" test ! -s out
says report.html "leave-one-out" "the rows of the fit are left out in turn"
says report.html "oatgp fit train.csv --target y" "it has the command of the fit"
says report.html "the log evidence of the exact Gaussian process lies between" "it has the bounds"
works "report of other rows" report pictures.oatgp test.csv --header yes --missing error --target y -o other.html
says other.html "On the 15 rows of <code>test.csv" "it says which rows"
works "report to standard output" report pictures.oatgp train.csv -o -
check "the same page" cmp -s out report.html
works "report after update --refit" report refit.oatgp train.csv -o refit.html
says refit.html "oatgp fit old.csv" "it has the first command"
says refit.html "oatgp update old.oatgp" "and the second"
refuses 2 "report needs -o FILE.html" report pictures.oatgp train.csv
refuses 2 "report needs DATA" report pictures.oatgp -o x.html
refuses 1 "cannot write 'none/x.html'" report pictures.oatgp train.csv -o none/x.html
refuses 1 "untold.csv" report pictures.oatgp untold.csv -o x.html
check "no page of what failed" test ! -e x.html

for kind in observed residuals quantiles calibration partial objective knots relevance evidence; do
  works "plot $kind" plot $kind pictures.oatgp train.csv -o $kind.svg
  check "plot $kind is SVG" grep -q '^<svg ' $kind.svg
  says help.plot "$kind" "plot --help has $kind"
done
awk 'BEGIN { srand(3); print "a,b,class,count"
  for (i = 0; i < 80; i++) { a = 4 * rand() - 2; b = 4 * rand() - 2; print a "," b "," (a + sin(2 * b) + rand() - 0.5 > 0 ? "yes" : "no") "," int(3 * exp(a / 2) * rand() * 2) } }' >kinds.csv
works "fit classes for the figures" fit kinds.csv --target class --inputs a,b --likelihood bernoulli-logit --knots 6 --max-iter 8 --quiet -o class.oatgp
works "fit counts for the figures" fit kinds.csv --target count --inputs a,b --likelihood poisson --knots 6 --max-iter 8 --quiet -o count.oatgp
for kind in reliability roc classes residuals quantiles partial knots; do
  works "plot $kind of classes" plot $kind class.oatgp kinds.csv -o class.svg
  check "plot $kind of classes is SVG" grep -q '^<svg ' class.svg
  says help.plot "$kind" "plot --help has $kind"
done
for kind in rootogram observed calibration residuals quantiles partial knots; do
  works "plot $kind of counts" plot $kind count.oatgp kinds.csv -o count.svg
  check "plot $kind of counts is SVG" grep -q '^<svg ' count.svg
done
says help.plot rootogram "plot --help has rootogram"
works "map of classes without data" plot classes class.oatgp -o -
works "report of classes" report class.oatgp kinds.csv -o class.html
says class.html "has a larger probability of it than one of class no" "it has words of the classes"
works "report of counts" report count.oatgp kinds.csv -o count.html
says count.html "Rootogram: observed and expected" "it has the figure of counts"
refuses 1 "this model has no figure 'observed': that figure is for targets other than two classes" plot observed class.oatgp kinds.csv -o x.svg
refuses 1 "this model has no figure 'roc': that figure is for two classes, and the model's likelihood is poisson" \
  plot roc count.oatgp kinds.csv -o x.svg
refuses 2 "plot reliability needs DATA" plot reliability class.oatgp -o x.svg
works "plot without data" plot knots pictures.oatgp --quiet -o - --threads 1
check "SVG on standard output" grep -q '^<svg ' out
run plot objective pictures.oatgp
exits 0 "plot in letters"
LC_ALL=C "$OATGP" plot knots pictures.oatgp train.csv >out
check "in the C locale the letters are ASCII" sh -c '! LC_ALL=C grep -q "[^ -~]" out'
check "and there is something to see" test "$(grep -c o out)" -gt 5
if LC_ALL=C.UTF-8 locale charmap 2>/dev/null | grep -q UTF-8; then
  LC_ALL=C.UTF-8 "$OATGP" plot calibration pictures.oatgp train.csv >out
  check "else there is Braille" grep -q '⠤\|⠒\|⠉\|⣀' out
fi
refuses 2 "there is no figure 'pie'; the figures are observed, residuals" plot pie pictures.oatgp -o x.svg
refuses 2 "plot observed needs DATA" plot observed pictures.oatgp -o x.svg
refuses 2 "it must end with .svg, .png or .pdf" plot knots pictures.oatgp -o x.gif
refuses 2 "plot needs MODEL" plot knots
refuses 1 "this model has no figure 'evidence'" plot evidence m.oatgp -o x.svg
refuses 1 "cannot write 'none/x.svg'" plot knots pictures.oatgp -o none/x.svg
if command -v rsvg-convert >/dev/null; then
  works "plot to PNG" plot knots pictures.oatgp train.csv -o knots.png
  check "it is PNG" sh -c 'head -c 4 knots.png | grep -q PNG'
  works "plot to PDF" plot knots pictures.oatgp train.csv -o knots.pdf
  check "it is PDF" sh -c 'head -c 4 knots.pdf | grep -q "%PDF"'
  check "all may read it that may read others" test "$(ls -l knots.png | cut -c1-10)" = "$(ls -l knots.svg | cut -c1-10)"
  refuses 1 "cannot write 'none/x.png'" plot knots pictures.oatgp -o none/x.png
else
  echo "skipped: plot to PNG and PDF: rsvg-convert is not here"
fi
mkdir -p nothing broken
run_in() { PATH=$1 "$OATGP" plot knots pictures.oatgp train.csv -o x.png >out 2>err; code=$?; }
run_in "$PWD/nothing"
exits 1 "PNG without rsvg-convert"
says err "install it (Debian: librsvg2-bin) or write FILE.svg" "the sentence says what to do"
printf '#!/bin/sh\nexit 3\n' >broken/rsvg-convert
chmod +x broken/rsvg-convert
run_in "$PWD/broken:$PATH"
exits 1 "PNG with a broken rsvg-convert"
says err "rsvg-convert could not make 'x.png'" "it says so"
check "nothing is left of what failed" sh -c '! ls | grep -q "^x\.\(png\|svg\)"'
if env --ignore-signal=CHLD true 2>/dev/null; then
  PATH=$PWD/broken:$PATH env --ignore-signal=CHLD "$OATGP" plot knots pictures.oatgp train.csv -o x.png >out 2>err
  code=$?
  exits 1 "the same where the end of children is ignored"
else
  echo "skipped: pictures where the end of children is ignored: env has no --ignore-signal"
fi
printf '#!/bin/sh\nkill -s INT $PPID\nexit 3\n' >broken/rsvg-convert
run_in "$PWD/broken:$PATH"
exits 1 "SIGINT while a picture is made"
check "nothing is left of that" sh -c '! ls | grep -q "^x\.\(png\|svg\)"'

# ---- kernels that are expressions ----------------------------------------------------------------------------------

sum='se(a) + linear(b) * matern52(a)'
works "fit with an expression" fit train.csv --target y $quick --kernel "$sum" --parameters 'se(a).lengthscale=0.7,tau=0.3' \
  --fix 'se(a).lengthscale,tau' --trace sum.jsonl --json -o sum.oatgp
has_keys "its JSON names the parameters" parameters 'se(a).sigma' 'se(a).lengthscale' '(linear(b) .* matern52(a)).sigma' \
  'matern52(a).lengthscale' tau
check "and has no sigma of its own" sh -c '! grep -q "\"sigma\"" out'
check "the kernel in its own form" test "$(json kernel)" = "\"$sum\""
near "$(json 'se(a).lengthscale')" 0.7 1e-12 "a fixed parameter stays"
near "$(json tau)" 0.3 1e-12 "so does tau"
check "the trace names them" sh -c 'tail -1 sum.jsonl | grep -qF "\"parameters\":{\"se(a).sigma\":"'
works "info of it" info sum.oatgp
says out "              se(a).lengthscale                0.7" "lists them"
works "info --json of it" info sum.oatgp --json
near "$(json 'se(a).lengthscale')" 0.7 1e-12 "the file has them"
works "predict with it" predict sum.oatgp train.csv -o sum.csv
works "its parts" predict sum.oatgp train.csv --parts -o parts.csv
check "their columns" test "$(head -1 parts.csv)" = \
  "mean,sd_latent,sd,lower,upper,mean_se(a),mean_linear(b) * matern52(a),sd_se(a),sd_linear(b) * matern52(a)"
check "the rest is as without them" sh -c 'cut -d, -f1-5 parts.csv | cmp -s - sum.csv'
check "parts have mean 0, and with a level they are the mean" awk -F, 'NR == 2 { level = $1 - $6 - $7 }
  NR > 1 { a += $6; b += $7; d = $1 - $6 - $7 - level; if (d * d > 1e-18 || !($8 > 0) || !($9 > 0)) exit 1 }
  END { exit !(a * a < 1e-18 && b * b < 1e-18) }' parts.csv
works "parts over other rows" predict sum.oatgp test.csv --parts --over train.csv --mean-only
check "have means alone" test "$(head -1 out)" = "mean,mean_se(a),mean_linear(b) * matern52(a)"
head -4 train.csv >few.csv
works "parts of a few rows over all" predict sum.oatgp few.csv --parts --over train.csv
cp out few-parts.csv
check "are those of all" sh -c 'head -4 parts.csv | paste -d, - few-parts.csv | awk -F, "NR > 1 { d = \$6 - \$15; e = \$8 - \$17
  if (d * d + e * e > 1e-16) exit 1 }"'
works "parts as JSON" predict sum.oatgp train.csv --parts --json
check "JSON of parts is valid" valid_json out
has_keys "has each with its share" "mean_se(a)" parts "se(a)" centre share
works "plot effects" plot effects sum.oatgp train.csv -o effects.svg
says effects.svg ">se(a)<" "has the names of the parts"
says help.plot "effects" "plot --help has effects"
refuses 1 "this model has no figure 'effects': effects exist for a covariance" plot effects m.oatgp train.csv -o x.svg
refuses 1 "effects need a model without neighbours" predict near.oatgp test.csv --parts
refuses 2 "--over needs --parts" predict sum.oatgp test.csv --over train.csv
refuses 2 "would overwrite --over 'train.csv'" predict sum.oatgp test.csv --parts --over train.csv -o train.csv
works "its report" report sum.oatgp train.csv -o sum.html
says sum.html "Effect of se(a)" "shows the parts"
says sum.html "<tr><th scope=\"row\">(linear(b) * matern52(a)).sigma</th>" "names them, too"
works "objective of it" objective train.csv --target y --inputs a,b --kernel "$sum" --parameters 1,0.7,0.5,2 --tau 0.3 --knots 4 \
  --gradient --json
has_keys "its gradient is by place" log_parameters log_tau knots
works "the same for people" objective train.csv --target y --inputs a,b --kernel "$sum" --parameters 1,0.7,0.5,2 --knots 4 --gradient
says out "parameters          1                se(a).sigma" "lists the parameters"
says out "log parameters" "and the gradient"
works "cv of it" cv train.csv --target y $quick --folds 2 --kernel "$sum" --parameters 1,0.7,0.5,2
printf 'kernel = se(a) + se(a) # a comment\nfix = se(a)#2.lengthscale\nparameters = se(a)#2.lengthscale=3\n' >sum.conf
works "an expression in a config file" fit train.csv --target y $quick --config sum.conf --json -o sum.oatgp
near "$(json 'se(a)#2.lengthscale')" 3 1e-12 "a # within a word is no comment"
refuses 2 "kernel is 'spline' but must be one of auto|se|se-ard" fit train.csv --target y --kernel spline -o x.oatgp
refuses 2 "kernel: there is no input 'z'; expected one of 'a', 'b'" fit train.csv --target y --inputs a,b --kernel 'se(a) + se(z)' -o x.oatgp
check "a caret is under the place" sh -c 'tail -1 err | grep -qx "             ^"'
run fit train.csv --target y --inputs a,b --kernel 'se(a) + se(z)' --sigma 1 --json -o x.oatgp
check "JSON of such an error is valid" valid_json out
run fit train.csv --target y $quick --kernel "$sum" --sigma 2 --lengthscale 3 -o x.oatgp
says err "--sigma has no effect here: the parameters of an expression are given by --parameters" "a note on --sigma"
says err "--lengthscale has no effect here" "and one on --lengthscale"

run objective train.csv --target y --inputs a,b --kernel 'se(a) + linear(b)' --parameters 1,0.5,0.3 --tau 0.2 --approx full --json
written=$(json objective)
run objective train.csv --target y --inputs a,b --kernel 'se(a) + linear(b)' --parameters 1,0.5,0.3 --tau 0.2 --approx full --no-scale --json
check "objective takes an expression as it is written" test "$written" = "$(json objective)"

# ---- objective -----------------------------------------------------------------------------------------------------

printf 'b,a\n1,-1\n5,0\n9,1\n' >knots.csv
evaluate() { run objective train.csv --target y --inputs a,b --approx vfe --kernel se-ard --knots knots.csv --tau 0.2 --lengthscale 0.5,4 --no-scale "$@"; }
evaluate --sigma 1 --gradient --json
exits 0 "objective --gradient --json"
check "JSON of objective is valid" valid_json out
has_keys "JSON of objective has its keys" objective gradient log_sigma log_lengthscales log_tau knots n d sigma tau lengthscales mean jitter
check "3 knots" test "$(json knots)" = 3
check "no log_shape without rq" sh -c '! grep -q log_shape out'
slope=$(json log_sigma)
evaluate --sigma 1.0001 --json
up=$(json objective)
evaluate --sigma 0.9999 --json
near "$slope" "$(awk -v u="$up" -v d="$(json objective)" 'BEGIN { printf "%.17g", (u - d) / log(1.0001 / 0.9999) }')" 1e-5 \
  "log_sigma is the finite difference"
evaluate --sigma 1 --gradient
exits 0 "objective for people"
says out "log sigma" "shows the gradient"
evaluate --sigma 1 --quiet
check "no gradient unless asked" sh -c '! grep -q log out'
works "objective from the data's own start values" objective train.csv --target y --inputs a,b --knots random:4 --json
works "objective of rq" objective train.csv --target y --inputs a,b --kernel rq --shape 2 --knots 4 --gradient --json
has_keys "gradient of rq has log_shape" log_shape
works "objective of full ignores knots" objective train.csv --target y --inputs a,b --approx full --knots none.csv --jitter 0.1 --gradient --json
check "gradient of full has no knots" test "$(grep -c '"knots"' out)" = 1
works "objective --weights" objective train.csv --target y --inputs a,b --approx pep --alpha 0.5 --knots 4 --weights w --mean 0 --json
works "objective with scaled knots" objective train.csv --target y --inputs a,b --knots knots.csv --knots-scaled --json
refuses 2 "--trace is not an option of info, but of fit,predict" info m.oatgp --trace t

# ---- info ----------------------------------------------------------------------------------------------------------

works "info" info m.oatgp
for label in model command fingerprint seed version; do check "info has $label" grep -q "^$label " out; done
works "info --json" info m.oatgp --json --quiet
check "JSON of info is valid" valid_json out
has_keys "JSON of info has its keys" $fit_keys command fingerprint scaling centre scale history
for key in $fit_keys; do check "info repeats $key of fit" test "$(json $key)" = "$(json $key fit.json)"; done
check "info has the command" test "$(json command)" = '"oatgp fit train.csv --target y --inputs a,b --knots 8 --max-iter 15 --json -o m.oatgp"'
works "a command with blanks and quotes" fit train.csv --target y $quick -o "it's a model.oatgp"
run info "it's a model.oatgp" --json
says out "-o 'it'\\\\''s a model.oatgp'" "is quoted for a shell"
works "info --knots" info m.oatgp --knots k.csv
check "columns of the knots" test "$(head -1 k.csv)" = "a,b,mean,sd"
check "8 knots" test "$(lines k.csv)" = 9
works "info --knots -" info m.oatgp --knots -
check "the knots alone on standard output" cmp -s out k.csv
works "predict at the knots" predict m.oatgp k.csv
check "gives the mean and sd of info" sh -c "paste -d, k.csv out | awk -F, 'NR > 1 { d = \$3 - \$5; e = \$4 - \$6; if (d * d > 1e-16 || e * e > 1e-14) exit 1 }'"
works "objective at the fitted parameters" objective train.csv --target y --inputs a,b --knots k.csv --sigma "$(json sigma fit.json)" \
  --tau "$tau" --lengthscale "$(json lengthscales fit.json | tr -d '[] ')" --jitter "$(json jitter fit.json)" --json
evidence=$(awk -v o="$(json objective fit.json)" -v p="$(json log_prior fit.json)" 'BEGIN { printf "%.17g", o - p }')
near "$(json objective)" "$evidence" 1e-8 "is the log evidence of the fit"
works "with the priors of the fit" objective train.csv --target y --inputs a,b --knots k.csv --sigma "$(json sigma fit.json)" \
  --tau "$tau" --lengthscale "$(json lengthscales fit.json | tr -d '[] ')" --jitter "$(json jitter fit.json)" --prior "$(json prior fit.json | tr -d '"')" --json
near "$(json objective)" "$(json objective fit.json)" 1e-8 "is the objective of the fit"
works "fit from the knots of a model" fit train.csv --target y --inputs a,b --knots k.csv --max-iter 2 --json -o x.oatgp
check "8 knots again" test "$(json knots)" = 8
refuses 1 "has no knots" info full.oatgp --knots k.csv
works "info of rq with a linear mean's fellows" info linear.oatgp
says out "slopes" "a linear mean shows its slopes"
run info rq.oatgp
check "rq shows its shape" grep -q '^shape ' out

head -c 100 m.oatgp >cut.oatgp
refuses 1 "cut.oatgp" info cut.oatgp
refuses 1 "cut.oatgp" predict cut.oatgp test.csv
size=$(wc -c <m.oatgp)
half=$((size / 2))
(head -c $half m.oatgp && printf '\377\376\375' && tail -c +$((half + 4)) m.oatgp) >damaged.oatgp
refuses 1 "damaged.oatgp" info damaged.oatgp

# ---- certify -------------------------------------------------------------------------------------------------------

certify_keys="n elbo lower upper exact kl_at_most kl_per_row seconds seconds_per_iteration iterations stop"
# holds NAME: elbo <= lower <= exact <= upper in out, where exact is known
holds() {
  check "$1" awk -v e="$(json elbo)" -v l="$(json lower)" -v x="$(json exact)" -v u="$(json upper)" -v k="$(json kl_at_most)" \
    'BEGIN { d = k - (u - e); exit !(e <= l && l <= u && (x == "null" || (l <= x && x <= u)) && d * d < 1e-16) }'
}
works "certify" certify m.oatgp train.csv
says err "note: each iteration over the 80 rows takes about" "what it costs is said before"
for label in n elbo lower upper kl_at_most kl_per_row iterations seconds; do check "certify has $label" grep -q "^$label " out; done
check "no exact evidence unasked" sh -c '! grep -q "^exact" out'
works "certify --exact --json" certify m.oatgp train.csv --exact --json --quiet
check "--quiet: no note" test ! -s err
check "JSON of certify is valid" valid_json out
has_keys "JSON of certify has its keys" $certify_keys
holds "the exact evidence is in the bracket"
near "$(json elbo)" "$evidence" 1e-9 "elbo is the objective of the fit without its prior"
check "stop is tol" test "$(json stop)" = '"tol"'
upper=$(json upper)
works "certify --no-determinant --tol --max-iter --threads --memory" certify m.oatgp train.csv --no-determinant --tol 1e-6 --max-iter 2 \
  --threads 2 --memory 64M --exact --json
holds "two iterations and no traces: a bracket"
check "it is wider" awk -v a="$upper" -v b="$(json upper)" 'BEGIN { exit !(b > a) }'
check "two iterations at most" test "$(json iterations)" -le 2
works "certify --max-iter 0" certify m.oatgp train.csv --max-iter 0 --exact --json
holds "no iteration: a bracket"
for model in dtc dic fitc fic pep; do
  works "certify $model" certify $model.oatgp train.csv --exact --json
  holds "$model: a bracket"
  says err "the model is $model; the bounds and the KL divergence are those of the vfe posterior" "$model: whose they are is said"
done
works "certify the full GP" certify full.oatgp train.csv --json
says err "its objective is the exact log evidence" "full: is said to be exact"
check "full: no gap" test "$(json lower)$(json kl_at_most)" = "$(json upper)0"
works "certify the full GP for people" certify full.oatgp train.csv
says out "not needed" "full: no iterations"
for model in linear weighted noisy rq; do
  works "certify $model" certify $model.oatgp train.csv --exact --json
  holds "$model: a bracket"
  check "$model: these are its rows" sh -c '! grep -q warning err'
done
works "certify with other rows" certify m.oatgp test.csv --json
says err "warning: these 15 rows give the objective" "other rows are noticed"
works "certify --target by number, --header, --missing" certify m.oatgp train.csv --target 3 --header yes --missing drop --json
holds "the same by number"
refuses 2 "certify needs MODEL" certify
refuses 2 "certify needs DATA" certify m.oatgp
refuses 2 "--tol is -1 but must be from 0" certify m.oatgp train.csv --tol=-1
refuses 1 "raise --memory" certify m.oatgp train.csv --exact --memory 1000
works "fit --certify" fit train.csv --target y $quick --certify --json -o certified.oatgp
says err "note: each iteration over the 80 rows" "fit says what the bounds cost"
lower=$(json lower) upper=$(json upper)
check "fit has bounds around what certify says" awk -v o="$(json objective)" -v l="$lower" -v u="$upper" 'BEGIN { exit !(o <= l && l <= u) }'
works "info of a certified model" info certified.oatgp --json
check "the model keeps them" test "$(json lower) $(json upper)" = "$lower $upper"
works "info of it for people" info certified.oatgp
check "info shows them" grep -q "^log evidence  *from " out
works "certify it again" certify certified.oatgp train.csv --json
check "gives the same bounds" test "$(json lower) $(json upper)" = "$lower $upper"
run info m.oatgp --json
check "no bounds unasked" test "$(json lower)$(json upper)" = nullnull
works "fit --certify within the time limit" fit train.csv --target y --inputs a,b --knots 20 --optimizer adadelta --max-iter 1000000000 \
  --obj-tol 0 --grad-tol 0 --patience 1000000 --time-limit 0.3 --certify --json -o x.oatgp
check "even with no time left there are bounds" awk -v l="$(json lower)" -v u="$(json upper)" 'BEGIN { exit !(l < u && l != "null" && u != "null") }'
# The live line of its certificate has what the fit left of the time: with the time so far that is the limit and what came before the fit,
# which takes far less than the fit. The limit is one that no machine reaches, and a fast one needs more rows to be seen at work.
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  awk 'BEGIN { srand(1); for (i = 0; i < 32000; i++) { a = 4 * rand(); b = 4 * rand(); print a "," b "," sin(2 * a) * cos(3 * b) + 0.02 * rand() } }' >all.csv
  for rows in 8000 32000; do
    head -n $rows all.csv >waves.csv
    TERM=xterm OPENBLAS_NUM_THREADS=1 script -qec "stty cols 160 rows 24; '$OATGP' fit waves.csv --target last --select fixed --knots 30 \
      --optimizer adadelta --max-iter 1500 --obj-tol 0 --grad-tol 0 --time-limit 1000 --certify -o x.oatgp" /dev/null </dev/null | tr '\r' '\n' >screen
    if grep -q '^iteration .* left' screen; then break; fi
  done
  check "what is left to the certificate is what the fit left" awk -F ', ' '
    function seconds(what, i, part) {
      for (i = 1; i <= NF; i++) {
        if (index($i, what)) { split($i, part, " "); return index($i, " min ") ? 60 * part[1] + part[3] : part[1] }
      }
    }
    /^30 knots, iteration/ { fit = seconds(" so far") }
    /^iteration .* left/ { seen = 1; if (seconds(" left") + seconds(" so far") > 1001 + 0.5 * fit) { print; wrong = 1 } }
    END { exit !seen || wrong }' screen
else
  echo "skipped: what is left to the certificate: script(1) of util-linux is not here"
fi
works "certify --time-limit" certify m.oatgp many.csv --time-limit 0.2 --json
check "stop is time" test "$(json stop)" = '"time"'
holds "what there is then is a bracket"

# ---- standard output that cannot be written ------------------------------------------------------------------------

mkfifo unread # descriptor 4 is a pipe without a reader
exec 3<>unread 4>unread 3>&-
for arguments in "--help" "info m.oatgp" "info m.oatgp --json" "predict m.oatgp test.csv" "score m.oatgp test.csv --json"; do
  "$OATGP" $arguments >/dev/full 2>err
  code=$?
  exits 1 "a full disk: $arguments"
  says err "No space left on device" "and a sentence: $arguments"
  "$OATGP" $arguments >&- 2>err
  code=$?
  exits 1 "closed standard output: $arguments"
  says err "oatgp: " "and a sentence: $arguments"
  "$OATGP" $arguments >&4 2>err
  code=$?
  exits 1 "the reader is gone: $arguments"
  check "without a sentence: $arguments" test ! -s err
done
exec 4>&-

"$OATGP" fit holes.csv --target y $quick --missing drop --trace closed.jsonl -o x.oatgp >out 2>&-
code=$?
exits 0 "closed standard error"
check "what would go there gets into no file" sh -c '! grep -q "^oatgp" closed.jsonl'

# ---- selection of knots ----------------------------------------------------------------------------------------------

grow="fit train.csv --target y --inputs a,b --knots 3 --max-knots 9 --candidates 8 --first-candidates 3 --inner-iter 5 --max-iter 20"
for select in fixed simultaneous oat-bo oat-rs oat-gain variance; do
  works "fit --select $select" $grow --select $select --json -o x.oatgp
  check "$select: JSON says so" test "$(json select)" = "\"$select\""
  works "$select: the model can be used" score x.oatgp test.csv
done
works "fit --batch --gain-rows --refine" $grow --select oat-gain --batch 3 --gain-rows 50 --refine --trace t.jsonl --json -o x.oatgp
check "it grew to max-knots" test "$(json knots)" = 9
for event in start proposal kept refine end; do check "the trace has $event" grep -q "\"event\":\"$event\"" t.jsonl; done
grep '"event":"kept"' t.jsonl | head -1 >out
check "a kept knot in the trace is valid JSON" valid_json out
has_keys "it has its keys" candidates predicted gain positions knots objective evaluations seconds
works "info of a grown model" info x.oatgp --json
has_keys "info has the selection" selection history
works "fit --tol-knot" $grow --select oat-rs --tol-knot 1e9 --json -o x.oatgp
check "the first knot was dropped" test "$(json knots)$(json stop)" = '3"tol-knot"'
works "fit --condition and the surrogate's settings" $grow --select oat-bo --approx fic --condition --surrogate-sigma 2 \
  --surrogate-lengthscale 2 --surrogate-jitter 1e-4 --no-guard -o x.oatgp
works "fit --preset paper, options beside it win" $grow --refine --restart-parameters --preset paper --jitter-absolute 1e-4 --json -o x.oatgp
check "the preset chose oat-bo and ADADELTA" test "$(json select)$(json optimizer)" = '"oat-bo""adadelta"'
check "max-knots is still 9" test "$(json knots)" -le 9
printf "kernel = rq\npreset = paper\n" >late.config
refuses 2 "late.config:2: preset must come before" $grow --config late.config -o x.oatgp
printf "preset = paper\nkernel = rq\n" >early.config
works "a preset in a config file" $grow --config early.config --json -o x.oatgp
check "the line after it wins" test "$(json kernel)" = '"rq"'
refuses 2 "more than the limit of 9" $grow --knots 10 --select oat-rs -o x.oatgp
refuses 2 "not differentiable" $grow --select oat-rs --kernel exponential --refine -o x.oatgp

# A fit that is killed goes on from its checkpoint to the same model.
works "fit --subset-rows" fit train.csv --target y --inputs a,b --subset-rows 20 --json -o x.oatgp
works "fit --tol-row" fit train.csv --target y --inputs a,b --tol-row 0.5 --json -o x.oatgp
few=$(json knots)
works "fit with the selection's own tolerance" fit train.csv --target y --inputs a,b --json -o x.oatgp
check "a smaller tolerance takes more knots" test "$few" -lt "$(json knots)"
check "it says what stopped it" test "$(json stop)" = '"evidence"'
long="fit train.csv --target y --inputs a,b --knots 3 --max-knots 40 --select oat-bo --tol-knot 0 --quiet --json"
works "fit without a break" $long -o whole.oatgp
"$OATGP" $long --checkpoint check.point --checkpoint-seconds 0 -o part.oatgp >out 2>err &
pid=$!
wait_until $pid test -s check.point
kill -s KILL $pid 2>/dev/null
wait $pid 2>/dev/null
rm -f check.point.tmp.* # left if the kill came between the link and the rename of a checkpoint
works "fit --resume" $long --resume check.point -o resumed.oatgp
works "predict with the model of the whole fit" predict whole.oatgp test.csv -o whole.csv
works "predict with the model of the resumed fit" predict resumed.oatgp test.csv -o resumed.csv
check "both predict the same, bit for bit" cmp whole.csv resumed.csv
refuses 2 "resume with the same settings" $long --resume check.point --max-knots 39 -o x.oatgp
refuses 1 "cannot read 'none'" $long --resume none -o x.oatgp

# ---- signals -------------------------------------------------------------------------------------------------------

for signal in INT TERM HUP USR1; do
  rm -f live.jsonl live.oatgp
  "$OATGP" fit train.csv --target y --inputs a,b --knots 20 --optimizer adadelta --max-iter 1000000000 --obj-tol 0 --grad-tol 0 \
    --patience 1000000 --time-limit 60 --trace live.jsonl --json -o live.oatgp >out 2>err &
  pid=$!
  wait_until $pid grep -q iteration err # a progress line, which comes after two seconds
  [ ! -r /proc/$pid/comm ] || check "lists of processes have its name" test "$(cat /proc/$pid/comm)" = "$(basename "$OATGP" | cut -c1-15)"
  check "progress before SIG$signal" grep -q '^oatgp: 20 knots, iteration [0-9]*, objective ' err
  check "the trace can be followed live" grep -q '"event":"step"' live.jsonl
  kill -s $signal $pid
  wait $pid
  code=$?
  exits 3 "SIG$signal ends the fit with exit code 3"
  says err "oatgp: interrupted; the best model so far is in 'live.oatgp'" "SIG$signal has a sentence"
  check "stop is user" test "$(json stop)" = '"user"'
  check "the JSON is whole" valid_json out
  works "the model of SIG$signal can be used" predict live.oatgp test.csv
done
# Where SIGHUP is ignored, as by nohup, it stays so.
rm -f live.jsonl
(
  trap '' HUP
  exec "$OATGP" fit train.csv --target y --inputs a,b --knots 20 --optimizer adadelta --max-iter 1000000000 --obj-tol 0 --grad-tol 0 \
    --patience 1000000 --time-limit 60 --trace live.jsonl --json -o live.oatgp >out 2>err
) &
pid=$!
wait_until $pid grep -q '"event":"step"' live.jsonl
kill -s HUP $pid
told=$(lines live.jsonl)
goes_on() { [ "$(lines live.jsonl)" -gt $((told + 100)) ]; }
wait_until $pid goes_on
check "an ignored SIGHUP ends nothing" goes_on
kill -s TERM $pid
wait $pid
code=$?
exits 3 "and SIGTERM still does"
# A refit is saved like a fit.
rm -f live.jsonl
"$OATGP" update live.oatgp train.csv --refit --data train.csv --optimizer adadelta --max-iter 1000000000 --obj-tol 0 --grad-tol 0 \
  --patience 1000000 --time-limit 60 --trace live.jsonl --json -o refit.oatgp >out 2>err &
pid=$!
wait_until $pid grep -q '"event":"step"' live.jsonl
kill -s HUP $pid
wait $pid
code=$?
exits 3 "SIGHUP ends update --refit with exit code 3"
works "its model can be used" predict refit.oatgp test.csv
# A cross-validation that is interrupted shows the folds that are done.
rm -f out
: >out
"$OATGP" cv train.csv --target y --inputs a,b --knots 20 --folds 20 --optimizer adadelta --max-iter 1000000000 --obj-tol 0 --grad-tol 0 \
  --patience 1000000 --time-limit 0.5 >out 2>err &
pid=$!
wait_until $pid sh -c '[ "$(wc -l <out)" -ge 3 ]'
kill -s HUP $pid
wait $pid
code=$?
exits 3 "SIGHUP ends cv with exit code 3"
check "it says how many folds were done" grep -q '^oatgp: interrupted; the scores cover [0-9]* of 20 folds' err
check "and has their scores" grep -q '^all  *[0-9]' out
# A certificate that is interrupted prints the bounds so far.
"$OATGP" certify m.oatgp many.csv --json >out 2>err &
pid=$!
wait_until $pid grep -q "each iteration" err
kill -s INT $pid
wait $pid
code=$?
exits 3 "SIGINT ends certify with exit code 3"
says err "oatgp: interrupted; these are the bounds so far" "with a sentence"
check "stop is user" test "$(json stop)" = '"user"'
check "the JSON is whole" valid_json out
holds "the bounds so far are a bracket"
# If the model cannot be saved after that, it says so, too.
mkdir gone
: >err
"$OATGP" fit many.csv --target y --inputs a,b --knots 3 --select fixed --max-iter 0 --certify -o gone/m.oatgp >out 2>err &
pid=$!
wait_until $pid grep -q "each iteration" err
rmdir gone
kill -s INT $pid
wait $pid
code=$?
exits 1 "SIGINT during fit --certify, and the folder is gone"
says err "oatgp: interrupted; these are the bounds so far" "it says what ended it"
says err "oatgp: cannot write 'gone/m.oatgp'" "and what failed"
# is_writing PID: whether it has the output open, with or without a name
is_writing() { ls | grep -q '^broken\.out\.tmp' || ls -l /proc/$1/fd 2>/dev/null | grep -q ' (deleted)$'; }
# A prediction that is interrupted leaves nothing, whether it is at work or waits for its input, and whatever ends it.
nameless=no
for signal in INT TERM HUP USR1 KILL; do
  case $nameless$signal in
    noUSR1 | noKILL) continue ;; # without files that have no name, these leave one
  esac
  mkfifo pipe.$signal # one for each: what is left of the first feeder must not write into the second's
  (cat many.csv && exec sleep 30) >pipe.$signal &
  feeder=$!
  "$OATGP" predict m.oatgp - -o broken.out <pipe.$signal >out 2>err &
  pid=$!
  wait_until $pid is_writing $pid
  check "rows are written before the input ends" is_writing $pid
  ls | grep -q '^broken\.out\.tmp' || nameless=yes
  kill -s $signal $pid
  wait $pid
  code=$?
  check "SIG$signal ends predict as it ends other commands" test $code -gt 128
  check "and nothing is left" sh -c '! ls | grep -q "^broken.out"'
  kill $feeder 2>/dev/null
  wait $feeder 2>/dev/null
done
check "no temporary files are left" sh -c '! ls | grep -q "\.tmp\."'

echo
if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
