#!/bin/sh
# Files that are cut, emptied, lengthened, written over, removed or replaced while a command reads them, at random moments, for every verb
# that reads some rows at a time. Each time there is a sentence with the file's name and the exit code 1, and no output is left; or the
# result is that of the file before the change or after it. CHANGES: how many (test_changes_slow.sh has many); SEED: other moments.
set -u
LC_ALL=C
export LC_ALL
. ./checks.sh
command -v python3 >/dev/null 2>&1 || {
  echo "skipped: there is no python3"
  exit 77
}
changes=${CHANGES:-${OATGP_TEST_QUICK:+20}}
changes=${changes:-40}
seed=${SEED:-1}
python3 "$PROJECT_DIR/tests/large_rows.py" 20000 .
mv a.npy whole.npy
"$OATGP" convert whole.npy --target 5 -o whole.csv >/dev/null || miss "a table to begin with"
"$OATGP" fit whole.npy --target 5 --knots 20 --max-iter 2 --quiet -o npy.oatgp >/dev/null || miss "a model to begin with"
"$OATGP" fit whole.csv --target V5 --knots 20 --max-iter 2 --quiet -o csv.oatgp >/dev/null || miss "a model of text"
printf 'part-0.npy\nnow.npy\n' >list

# arguments_of WAY: what is read is now.npy or now.csv, what is written is result
small="--memory 100K"
arguments_of() {
  case $1 in
    fit) echo "fit now.npy --target 5 --select simultaneous --knots 20 --max-iter 8 $small -o result.oatgp" ;;
    fit-auto) echo "fit now.npy --target 5 --subset-rows 100 --max-knots 30 --max-iter 5 $small -o result.oatgp" ;;
    fit-list) echo "fit --data-list list --target 5 --select fixed --knots 20 --max-iter 5 -o result.oatgp" ;;
    fit-classes) echo "fit now.npy --target 5 --likelihood student-t --select fixed --knots 5 --max-iter 1 $small -o result.oatgp" ;;
    fit-text) echo "fit now.csv --target V5 --select fixed --knots 10 --max-iter 2 -o result.oatgp" ;;
    objective) echo "objective now.npy --target 5 --knots 40 --gradient --json $small" ;;
    update) echo "update npy.oatgp now.npy $small -o result.oatgp" ;;
    update-text) echo "update csv.oatgp now.csv -o result.oatgp" ;;
    loo) echo "loo npy.oatgp now.npy $small -o result.csv" ;;
    score) echo "score npy.oatgp now.npy $small" ;;
    predict) echo "predict npy.oatgp now.npy $small -o result.csv" ;;
    predict-text) echo "predict csv.oatgp now.csv -o result.csv" ;;
    certify) echo "certify npy.oatgp now.npy $small" ;;
    convert) echo "convert now.npy --target 5 -o result.csv" ;;
    convert-text) echo "convert now.csv --target V5 -o result.npy" ;;
  esac
}
ways="fit fit-auto fit-list fit-classes fit-text objective update update-text loo score predict predict-text certify convert convert-text"

# The file that the way reads, as it was.
restore() {
  rm -f now.npy now.csv result.* # a new file: a command may still have the old one open
  cp whole.npy now.npy
  cp whole.csv now.csv
}
# what_is OUT: the result of the last command, without what differs each time
what_is() {
  {
    if [ -e result.oatgp ]; then
      "$OATGP" predict result.oatgp "$([ "${way%text}" != "$way" ] && echo probe.csv || echo probe.npy)" 2>&1
    else
      cat result.* 2>/dev/null
      grep -v seconds out
    fi
  } >"$1"
}
# change HOW FILE SHARE: the share is that of the file's length where it happens
change() {
  place=$(awk -v s="$3" -v n="$(wc -c <"$2")" 'BEGIN { printf "%d", s * n }')
  case $1 in
    cut) head -c "$place" "${2%.*}.copy" >"$2" ;; # by the shell: emptied, and then written
    shorten) truncate -s "$place" "$2" ;;
    empty) : >"$2" ;;
    lengthen) head -c 5000 "${2%.*}.copy" >>"$2" ;;
    # at once: a command that reads between two parts of it, all of which were written within a moment, cannot know of the second
    write) head -c 3000 "${2%.*}.copy" | dd of="$2" bs=3000 iflag=fullblock oflag=seek_bytes seek="$place" conv=notrunc 2>/dev/null ;;
    remove) rm "$2" ;;
    replace) head -c "$place" "${2%.*}.copy" >other && mv other "$2" ;;
  esac
}

python3 - <<'END'
data = open("whole.npy", "rb").read()
begin = 10 + int.from_bytes(data[8:10], "little")
text = data[10:begin].replace(b"(20000, 5)", b"(50, 5)   ")
open("probe.npy", "wb").write(data[:10] + text + data[begin : begin + 50 * 40])
END
head -n 51 whole.csv >probe.csv

for way in $ways; do
  restore
  started=$(date +%s.%N)
  # shellcheck disable=SC2046
  "$OATGP" $(arguments_of "$way") --threads 1 --quiet >out 2>err || miss "$way without a change: $(tail -n 1 err)"
  awk -v a="$started" -v b="$(date +%s.%N)" 'BEGIN { print b - a }' >"$way.seconds"
  what_is "$way.whole"
done

awk -v n="$changes" -v seed="$seed" -v ways="$ways" 'BEGIN {
  srand(seed); count = split(ways, way, " "); kinds = split("cut shorten empty lengthen write remove replace", kind, " ")
  for (i = 0; i < n; i++) { print way[1 + i % count], kind[1 + int(kinds * rand())], rand(), rand() }
}' >plan
: >counts
while read -r way kind moment place; do
  restore
  case $(arguments_of "$way") in
    *now.csv*) file=now.csv ;;
    *) file=now.npy ;;
  esac
  cp "$file" now.copy
  # shellcheck disable=SC2046
  "$OATGP" $(arguments_of "$way") --threads 1 --quiet >out 2>err &
  pid=$!
  sleep "$(awk -v s="$moment" -v t="$(cat "$way.seconds")" 'BEGIN { printf "%.3f", s * t }')"
  change "$kind" $file "$place"
  wait $pid
  code=$?
  if [ $code -eq 1 ] && grep -qE "^oatgp: .*(now\.(npy|csv)|list)" err && [ "$(echo result.*)" = "result.*" ]; then
    echo "$kind refused" >>counts
    continue
  fi
  what_is got
  if [ $code -eq 0 ] && cmp -s got "$way.whole"; then
    echo "$kind before" >>counts
    continue
  fi
  # Perhaps the change came before the file was opened: then the command ends in the same way with the file as it is now.
  left=$(echo result.*)
  rm -f result.*
  # shellcheck disable=SC2046
  "$OATGP" $(arguments_of "$way") --threads 1 --quiet >out 2>again
  if [ $? -eq $code ] && { [ $code -eq 0 ] || { cmp -s err again && [ "$left" = "result.*" ]; }; }; then
    what_is other
    if [ $code -ne 0 ] || cmp -s got other; then
      echo "$kind after" >>counts
      continue
    fi
  fi
  miss "$way, $kind at $moment: exit code $code, $(tail -n 2 err), left: $left"
done <plan

awk '
  { n[$1, $2]++; all[$2]++; if (!($1 in seen)) { seen[$1] = 1; kind[++kinds] = $1 } }
  END {
    line = "%-10s %8s %16s %15s\n"
    printf line, "change", "refused", "the file before", "the file after"
    for (i = 1; i <= kinds; i++) { printf line, kind[i], n[kind[i], "refused"] + 0, n[kind[i], "before"] + 0, n[kind[i], "after"] + 0 }
    printf line, "all", all["refused"] + 0, all["before"] + 0, all["after"] + 0
  }' counts
exit $((failures > 0))
