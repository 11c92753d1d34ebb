#!/bin/sh
# What the command reads and writes: files that must not be one, names and encodings, files without header, config files, failures as
# JSON. $OATGP is the command, $TMPDIR an empty folder.
#
# awk programs have their own dollars.
# shellcheck disable=SC2016
set -u
LC_ALL=C
export LC_ALL
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/command.sh"

awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 60; i++) { a = rand(); b = rand(); printf "%.6f,%.6f,%.6f\n", a, b, sin(5 * a) + b } }' >d.csv
cp d.csv kept.csv
fit() {
  data=$1 model=$2
  shift 2
  works "fit $data $*" fit "$data" --target y --knots 5 --max-iter 3 --quiet -o "$model" "$@"
}
fit d.csv m.oatgp
unharmed() { check "the data are as they were after: $1" cmp -s d.csv kept.csv; }

# ---- no output is an input or another output ------------------------------------------------------------------------------------------

ln -s d.csv link.csv
ln d.csv hard.csv
mkdir sub
ln -s ../d.csv sub/link.csv
for output in d.csv ./d.csv sub/../d.csv link.csv hard.csv sub/link.csv; do
  refuses 2 "-o '$output' would overwrite DATA 'd.csv', which is the same file" fit d.csv --target y -o "$output"
  unharmed "fit -o $output"
  refuses 2 "--trace '$output' would overwrite DATA 'd.csv'" fit d.csv --target y -o x --trace "$output"
  unharmed "fit --trace $output"
done
refuses 2 "--checkpoint 'd.csv' would overwrite DATA 'd.csv'" fit d.csv --target y -o x --checkpoint d.csv
refuses 2 "-o 'd.csv' would overwrite DATA 'link.csv'" convert link.csv -o d.csv
refuses 2 "-o 'd.csv' would overwrite DATA 'd.csv'" predict m.oatgp d.csv -o d.csv
refuses 2 "-o 'm.oatgp' would overwrite MODEL 'm.oatgp'" predict m.oatgp d.csv -o m.oatgp
refuses 2 "--trace 'd.csv' would overwrite DATA 'd.csv'" predict m.oatgp d.csv --trace d.csv
refuses 2 "-o 'p' would overwrite --cov './p'" predict m.oatgp d.csv -o p --cov ./p
refuses 2 "-o 'p' would overwrite --trace 'sub/../p'" predict m.oatgp d.csv -o p --trace sub/../p
ln -s q dangling
refuses 2 "-o 'q' would overwrite --trace 'dangling'" predict m.oatgp d.csv -o q --trace dangling
refuses 2 "-o 'm.oatgp' would overwrite MODEL 'm.oatgp'" report m.oatgp d.csv -o m.oatgp
refuses 2 "-o 'd.svg' would overwrite DATA 'd.svg'" plot observed m.oatgp d.svg -o d.svg
refuses 2 "--knots 'm.oatgp' would overwrite MODEL" info m.oatgp --knots m.oatgp
cp m.oatgp full.oatgp
refuses 2 "--trace 'full.oatgp' would overwrite --against 'full.oatgp'" score m.oatgp d.csv --against full.oatgp --trace full.oatgp
run info m.oatgp --knots knots.csv
refuses 2 "-o 'knots.csv' would overwrite --knots 'knots.csv'" fit d.csv --target y --knots knots.csv -o knots.csv
echo 'max-iter = 3' >c.conf
refuses 2 "-o 'c.conf' would overwrite --config 'c.conf'" fit d.csv --target y --config c.conf -o c.conf
refuses 2 "-o 'd.csv' would overwrite --data 'd.csv'" update m.oatgp kept.csv --refit --data d.csv -o d.csv
refuses 2 "-o 'x' would overwrite --checkpoint 'x'" fit d.csv --target y -o x --checkpoint x
"$OATGP" fit - --target y -o d.csv <d.csv >/dev/null 2>err
check "standard input is a file, too" grep -q -e "-o 'd.csv' would overwrite DATA '-', which is the same file" err
"$OATGP" predict m.oatgp d.csv 2>err >>d.csv
check "and standard output" grep -q "standard output '-' would overwrite DATA 'd.csv'" err
works "convert for a list" convert d.csv --target y --quiet -o part-1.npy
cp part-1.npy part-2.npy
cp part-1.npy part.kept
printf 'part-1.npy\r\n\npart-2.npy\n' >parts.list
cp parts.list parts.kept
for output in parts.list ./part-2.npy; do
  refuses 2 "-o '$output' would overwrite DATA '${output#./}'" fit --data-list parts.list --target last -o "$output"
  refuses 2 "--trace '$output' would overwrite DATA '${output#./}'" fit --data-list parts.list --target last -o x --trace "$output"
done
refuses 2 "-o 'part-2.npy' would overwrite DATA 'part-2.npy'" fit 'part-*.npy' --target last -o part-2.npy
refuses 2 "--cov 'part-1.npy' would overwrite DATA 'part-1.npy'" predict m.oatgp --data-list parts.list --cov part-1.npy
refuses 1 "cannot read the list of files 'nowhere'" fit --data-list nowhere --target last -o x
check "the files of the list are as they were" sh -c \
  'cmp -s part-1.npy part.kept && cmp -s part-2.npy part.kept && cmp -s parts.list parts.kept'
refuses 2 "--trace cannot go to standard output; name a file" fit d.csv --target y -o x --trace -
refuses 2 "--checkpoint cannot go to standard output" fit d.csv --target y -o x --checkpoint -
refuses 2 "--cov cannot go to standard output" predict m.oatgp d.csv --cov -
unharmed "all of these"
check "nothing was written" test ! -e x -a ! -e p -a ! -e q

# what goes on being one file
cp m.oatgp m2.oatgp
works "an updated model takes the place of the old one" update m2.oatgp d.csv --quiet -o m2.oatgp
check "it was updated" sh -c '! cmp -s m.oatgp m2.oatgp'
fit d.csv x.oatgp --select oat-bo --max-knots 7 --checkpoint ck --checkpoint-seconds 0
fit d.csv x.oatgp --select oat-bo --max-knots 7 --checkpoint ck --resume ck
refuses 2 "-o 'ck' would overwrite --resume 'ck'" fit d.csv --target y -o ck --resume ck
works "predict to /dev/null twice" predict m.oatgp d.csv -o /dev/null --trace /dev/null
"$OATGP" predict m.oatgp - -o - <d.csv >p1.csv
"$OATGP" predict m.oatgp d.csv -o /dev/stdout >p2.csv
"$OATGP" predict m.oatgp d.csv -o /dev/stdout | cat >p3.csv
check "/dev/stdout as a file" cmp -s p1.csv p2.csv
check "/dev/stdout as a pipe" cmp -s p1.csv p3.csv
check "/dev/stdout is still there" test -L /dev/stdout

# ---- links stay -----------------------------------------------------------------------------------------------------------------------

mkdir there
echo old >there/p.csv
ln -s there/p.csv p.csv
works "predict to a link" predict m.oatgp d.csv -o p.csv
check "the link stays" test -L p.csv
check "its target is new" cmp -s p1.csv there/p.csv
ln -s there/new.csv n.csv
works "predict to a link to nothing" predict m.oatgp d.csv -o n.csv
check "the link stays, too" test -L n.csv
check "its target is there" cmp -s p1.csv there/new.csv
ln -s m4.oatgp there/second
ln -s there/second first
fit d.csv first
check "along two links" test -L first -a -L there/second -a -f there/m4.oatgp
ln -s there/c.npy c.npy
works "convert to a link" convert d.csv --quiet -o c.npy
check "of convert" test -L c.npy -a -f there/c.npy
ln -s there/r.html r.html
works "report to a link" report m.oatgp d.csv --quiet -o r.html
check "of report" test -L r.html -a -f there/r.html
check "nothing is left beside them" sh -c 'test -z "$(find . -name "*.tmp.*")"'
ln -s loop loop
refuses 1 "cannot write 'loop/x'" predict m.oatgp d.csv -o loop/x

# ---- what cannot be written is found at the start -------------------------------------------------------------------------------------

for option in -o --trace --checkpoint; do
  extra="-o x"
  [ $option = -o ] && extra=
  # shellcheck disable=SC2086
  refuses 1 "cannot write 'nodir/x': No such file or directory ($option)" fit none.csv --target y $extra $option nodir/x
done
refuses 1 "cannot write 'nodir/x': No such file or directory (--cov)" predict m.oatgp none.csv --cov nodir/x
refuses 1 "cannot write 'nodir/x': No such file or directory (-o)" predict none d.csv -o nodir/x
refuses 1 "cannot write 'nodir/x': No such file or directory (-o)" report none d.csv -o nodir/x
refuses 1 "cannot write 'nodir/x': No such file or directory (-o)" loo none d.csv -o nodir/x
refuses 1 "cannot write 'nodir/x': No such file or directory (-o)" cv none.csv --target y -o nodir/x
refuses 1 "cannot write 'nodir/x': No such file or directory (-o)" convert none.csv -o nodir/x
refuses 1 "cannot write 'nodir/x': No such file or directory (--knots)" info none --knots nodir/x
refuses 1 "cannot write 'nodir/x.svg': No such file or directory (-o)" plot relevance none -o nodir/x.svg
refuses 1 "cannot write 'sub': Is a directory (--checkpoint)" fit none.csv --target y -o x --checkpoint sub
refuses 1 "cannot write 'd.csv/x': Not a directory (-o)" fit none.csv --target y -o d.csv/x
if [ "$(id -u)" != 0 ]; then
  chmod a-w sub
  refuses 1 "cannot write 'sub/x': Permission denied (--checkpoint)" fit none.csv --target y -o x --checkpoint sub/x
fi

# ---- names that promise another format ------------------------------------------------------------------------------------------------

refuses 2 "-o 'p.npy' ends with .npy, but predict writes CSV there; give a name that ends with .csv" predict m.oatgp d.csv -o p.npy
refuses 2 "-o 'p.csv.GZ' ends with .gz, but loo writes CSV there" loo m.oatgp d.csv -o p.csv.GZ
refuses 2 "--cov 'c.csv' ends with .csv, but predict writes .npy there" predict m.oatgp d.csv --cov c.csv
refuses 2 "--knots 'k.npy' ends with .npy, but info writes CSV there" info m.oatgp --knots k.npy
refuses 2 "-o 'c.tsv' ends with .tsv, but convert writes CSV or .npy there" convert d.csv -o c.tsv
works "convert to CSV" convert d.csv --target y -o c.csv
says out "c.csv: 60 rows" "what convert wrote"
says out "3    target          y" "the columns of the CSV"
check "the CSV has the same values" sh -c 'awk -F, "NR > 1 { printf \"%.6f,%.6f,%.6f\n\", \$1, \$2, \$3 }" c.csv | cmp -s - "$1"' sh \
  "$(tail -n +2 kept.csv >values && echo values)"
check "and the names" sh -c 'head -1 c.csv | grep -qx a,b,y'
works "convert from .npy to CSV" convert c.npy --quiet -o back.csv
check "its columns have numbers" sh -c 'head -1 back.csv | grep -qx V1,V2,V3'
works "convert a number to .npy" convert c.csv --target y --quiet -o again.npy
works "convert to a name without ending" convert d.csv --quiet -o plain
check "is .npy" sh -c 'head -c 6 plain | tail -c 5 | grep -q NUMPY'

# ---- names that are not UTF-8 -----------------------------------------------------------------------------------------------------------

umlaut=$(printf 'gr\366\337e')          # Latin-1
utf8=$(printf 'gr\303\266\303\237e')
sed "1s/^a,/$umlaut,/" d.csv >latin.csv
works "fit a Latin-1 header" fit latin.csv --target y --knots 5 --max-iter 3 --json -o latin.oatgp
says err "note: 'latin.csv': 1 column name is not UTF-8 and read as Windows-1252: '$utf8' (column 1)" "the note says what it became"
check "valid JSON" valid_json out
check "in UTF-8" sh -c 'iconv -f UTF-8 -t UTF-8 out >/dev/null'
says out "\"$utf8\"" "with the name in UTF-8"
check "the model's header is UTF-8" sh -c 'head -c 3000 latin.oatgp | tail -c +9 | grep -aqF "$1"' sh "$utf8"
works "predict from the same encoding" predict latin.oatgp latin.csv -o latin.p
sed "1s/^a,/$utf8,/" d.csv >utf8.csv
works "predict from UTF-8" predict latin.oatgp utf8.csv -o utf8.p
check "the same predictions" cmp -s latin.p utf8.p
works "a column named in Latin-1" fit latin.csv --target "$umlaut" --knots 5 --max-iter 3 --json -o t.oatgp
says out "\"target\":	\"$utf8\"" "is found"
check "its JSON is UTF-8" sh -c 'iconv -f UTF-8 -t UTF-8 out >/dev/null'
works "a column named in UTF-8" fit latin.csv --target "$utf8" --knots 5 --max-iter 3 --quiet -o t.oatgp
works "inputs named in Latin-1" fit latin.csv --target y --inputs "$umlaut,b" --knots 5 --max-iter 3 --quiet -o t.oatgp
works "info" info t.oatgp --json
check "settings and command are UTF-8" sh -c 'iconv -f UTF-8 -t UTF-8 out >/dev/null'
cp d.csv "$umlaut.csv"
works "a file named in Latin-1" fit "$umlaut.csv" --target y --knots 5 --max-iter 3 --json -o "$umlaut.oatgp"
check "its name in JSON is UTF-8" sh -c 'iconv -f UTF-8 -t UTF-8 out >/dev/null'
{ head -3 d.csv; printf '1,\344,2\n'; } >cell.csv
refuses 1 "line 4, column 'b': '$(printf '\303\244')' is not a number" fit cell.csv --target y -o x --json
check "a cell in an error is UTF-8" sh -c 'iconv -f UTF-8 -t UTF-8 out >/dev/null'

# ---- files without header in the layout of the training file -------------------------------------------------------------------------------

awk -F, 'BEGIN { srand(5) } NR == 1 { print "id,y,a,w,b,v,t"; next } { printf "%d,%s,%s,%.3f,%s,%.4f,r%d\n", NR, $3, $1, 0.5 + rand(), $2, rand() / 100, NR }' d.csv >full.csv
tail -n +2 full.csv >bare.csv
works "fit with weights" fit full.csv --target y --inputs a,b --weights w --noise-variance v --knots 5 --max-iter 3 --quiet -o full.oatgp
for verb in score loo certify; do
  works "$verb with a header" $verb full.oatgp full.csv --json
  grep -v seconds out >with
  works "$verb without one" $verb full.oatgp bare.csv --header no --json
  grep -v seconds out >without
  check "$verb finds all columns by their places" cmp -s with without
  check "$verb says nothing of missing columns" sh -c '! grep -q "no column" err'
done
works "update with a header" update full.oatgp full.csv --json -o u1.oatgp
objective=$(json objective)
works "update without one" update full.oatgp bare.csv --header no --json -o u2.oatgp
check "the same objective" test "$(json objective)" = "$objective"
works "report without a header" report full.oatgp bare.csv --header no --quiet -o bare.html
check "the page shows leave-one-out" grep -q "leave-one-out" bare.html
works "the updated model knows the places, too" score u2.oatgp bare.csv --header no
works "another target by its number" score full.oatgp bare.csv --header no --target 1
tail -n +2 d.csv >bare3.csv
works "score three columns without header" score m.oatgp bare3.csv --json
grep -v seconds out >without
works "score them with it" score m.oatgp d.csv --json
check "the same scores" sh -c 'grep -v seconds out | cmp -s - without'

# ---- columns with the same name, one of which is used: its position in the file tells it apart ----------------------------------------------

awk -F, '{ print (NR == 1 ? "a,y,a,y" : 2 * $1 + NR % 5 "," NR % 3 "," $1 "," $3) }' d.csv >same.csv
works "fit with two names twice" fit same.csv --inputs 3 --target 4 --knots 3 --max-iter 5 --json -o same.oatgp
works "predict from this column" predict same.oatgp same.csv -o same.txt
cut -d, -f3 same.csv >alone.csv
works "predict from it alone" predict same.oatgp alone.csv -o alone.txt
check "the same predictions" cmp -s same.txt alone.txt
works "score with this target" score same.oatgp same.csv
works "convert these columns" convert same.csv --inputs 3 --target 4 -o same.npy
cut -d, -f1-3 same.csv >three.csv
refuses 1 "'three.csv': 2 columns have the name 'a' (inputs)" predict same.oatgp three.csv

# ---- a bad cell in the first row, as the command tells it -----------------------------------------------------------------------------------

{ head -1 d.csv; echo '?,2,3'; tail -n +2 d.csv; } >bad.csv
gzip -c bad.csv >bad.csv.gz
for threads in 1 3; do
  for data in bad.csv bad.csv.gz; do
    sentence="$data, line 2, column 'a': '?' is not a number; correct it"
    refuses 1 "$sentence, make the column a category with --factors, or leave it out with --inputs" fit $data --target y --threads $threads -o x
    refuses 1 "$sentence" predict m.oatgp $data --threads $threads
    refuses 1 "$sentence" score m.oatgp $data --threads $threads
    "$OATGP" convert - --threads $threads -o x.npy <$data >out 2>err
    check "from standard input" grep -q "standard input, line 2, column 'a': '?' is not a number" err
  done
done
works "leaving the column out" fit bad.csv --target y --inputs b --knots 5 --max-iter 3 --quiet -o x.oatgp

# ---- config files --------------------------------------------------------------------------------------------------------------------------

refuses 1 "'/dev/zero' is longer than 1048576 bytes, too long for a config file" fit d.csv --target y --config /dev/zero -o x
printf 'max-iter = 3\n\nknots = 5\000\n' >nul.conf
refuses 2 "nul.conf:3: this line has a zero byte; a config file is UTF-8 text" fit d.csv --target y --config nul.conf -o x
printf '\357\273\277max-iter = 3\n' >bom.conf
fit d.csv bom.oatgp --config bom.conf
refuses 2 "--config is given twice, as 'c.conf' and as 'bom.conf'; put all settings into one file" \
  fit d.csv --target y --config c.conf --config=bom.conf -o x

# ---- numbers, the same in all options --------------------------------------------------------------------------------------------------------

for three in 3 +3 3.0 3. .3e1 30e-1 3E0; do
  fit d.csv x.oatgp --max-iter $three --knots $three --sigma $three --lengthscale $three,$three --memory $three --time-limit $three
  works "--samples $three" predict m.oatgp d.csv --samples $three
  check "three samples of $three" sh -c 'head -1 out | grep -q "sample3$"'
  works "--target $three" objective d.csv --target $three --mean $three
done
for wrong in 0x3 1_000 3,5 '3 ' inf nan; do
  refuses 2 "must be a whole number" predict m.oatgp d.csv --samples "$wrong"
done

# ---- failures as JSON ----------------------------------------------------------------------------------------------------------------------

# failure CODE STATUS MESSAGE ARGUMENTS
failure() {
  want=$1 status=$2 message=$3
  shift 3
  run "$@"
  if [ "$code" = "$want" ] && valid_json out && [ "$(json status)" = "\"$status\"" ] && [ "$(json message)" = "\"$message\"" ]; then
    pass "as JSON: $*"
  else
    miss "as JSON: $*: exit code $code"
    sed 's/^/        /' out
  fi
}
failure 1 read "cannot read 'none.csv': No such file or directory" fit none.csv --target y --json -o x
failure 1 read "cannot read 'none.csv': No such file or directory" objective none.csv --target y --json
failure 1 read "cannot read 'none.csv': No such file or directory" cv none.csv --target y --json
failure 1 read "cannot read 'none.csv': No such file or directory" convert none.csv --json -o x.npy
for verb in predict score certify loo; do
  failure 1 read "cannot read 'none': No such file or directory" $verb none d.csv --json
done
failure 1 read "cannot read 'none': No such file or directory" info none --json
failure 1 read "cannot read 'none': No such file or directory" update none d.csv --json -o x
failure 2 argument "fit needs --target COL" fit d.csv --json -o x
failure 2 argument "--no-such is not an option of fit; did you mean --knots?" fit d.csv --no-such --json
failure 2 argument "--tau is 'x' but must be a number such as 0.5 or 1e-3" fit d.csv --target y --tau x -o x --json
failure 1 write "cannot write 'nodir/x': No such file or directory (-o)" fit d.csv --target y --json -o nodir/x
failure 1 format "'d.csv' is not an oatgp model file" info d.csv --json
run fit none.csv --target y -o x
check "without --json standard output stays empty" test ! -s out

if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
