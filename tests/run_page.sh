#!/bin/sh
# Runs the commands of a page, in their order, in a folder with the data of the project, and compares what they print with what the page says
# that they print.
#
#   ```sh      commands; all must succeed. After a line <!-- not run --> they are passed over
#   ```text    right after them: their standard output. Words must be the same, numbers equal within 2 % or 0.02. A line "..." stands for
#              any lines. Of lines that begin with seconds or evaluations only the first word counts.
#
# usage: run_page.sh [--update] PAGE     $OATGP is the command, $TMPDIR a scratch folder; figures are left in $TMPDIR/page. With --update the
# outputs in the page are replaced by those of now; what stood behind a line "..." stays.
set -u
update=''
if [ "${1:-}" = --update ]; then
  update=yes
  shift
fi
page=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
work=$TMPDIR/page
blocks=$TMPDIR/blocks
mkdir -p "$work" "$blocks" "$TMPDIR/bin"
ln -sf "$OATGP" "$TMPDIR/bin/oatgp"
PATH=$TMPDIR/bin:$PATH LC_ALL=C OPENBLAS_NUM_THREADS=1
export PATH LC_ALL OPENBLAS_NUM_THREADS
# data and examples as in the project, and the names that short examples use
ln -sf "$here/../data" "$here/../examples" "$work"
cp "$here"/../data/*.csv "$work"
awk 'NR == 1 || NR % 5 != 0' "$work/boston.csv" >"$work/train.csv"
for name in test new monday; do
  awk 'NR == 1 || NR % 5 == 0' "$work/boston.csv" >"$work/$name.csv"
done

# The page's blocks as files 001.sh, 001.text, 002.sh ...
awk -v folder="$blocks" '
  /^```/ && !inside {
    inside = 1
    kind = passed_over ? "" : substr($0, 4)
    passed_over = 0
    after = (kind == "text" && before == "sh")
    if (kind == "sh") { number++ }
    file = kind == "sh" || after ? sprintf("%s/%03d.%s", folder, number, kind) : ""
    if (file != "") { printf "" > file }
    next
  }
  /^```/ { inside = 0; before = kind; if (file != "") { close(file) } ; next }
  inside && file != "" { print > file }
  !inside && NF > 0 { before = ""; passed_over = ($0 == "<!-- not run -->") }' "$page"

# compare EXPECTED PRINTED
compare() {
  awk '
    function is_number(word) { return word ~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/ }
    function size(a) { return a < 0 ? -a : a }
    function same_word(a, b) { return a == b || (is_number(a) && is_number(b) && size(a - b) <= 0.02 * (size(a) > 1 ? size(a) : 1)) }
    function same(want, got,    n, m, w, g, i) {
      gsub(/[,:]/, " & ", want); gsub(/[,:]/, " & ", got)
      n = split(want, w); m = split(got, g)
      if (w[1] == g[1] && (w[1] == "seconds" || w[1] == "evaluations")) { return 1 }
      if (n != m) { return 0 }
      for (i = 1; i <= n; i++) { if (!same_word(w[i], g[i])) { return 0 } }
      return 1
    }
    NR == FNR { want[++lines] = $0; next }
    { got[++printed] = $0 }
    END {
      j = 1
      for (i = 1; i <= lines; i++) {
        if (want[i] == "...") {
          while (j <= printed && !(i < lines && same(want[i + 1], got[j]))) { j++ }
        } else if (j > printed || !same(want[i], got[j])) {
          printf "expected: %s\n     got: %s\n", want[i], j <= printed ? got[j] : "nothing"
          exit 1
        } else {
          j++
        }
      }
      if (j <= printed) { printf "got more: %s\n", got[j]; exit 1 }
    }' "$1" "$2"
}

failures=0
for block in "$blocks"/*.sh; do
  [ -e "$block" ] || { echo "FAILED  $page has no commands"; exit 1; }
  name=${block%.sh}
  if ! (cd "$work" && sh -eu "$block" >"$name.printed" 2>"$name.said"); then
    echo "FAILED  $page: these commands"
    cat "$block" "$name.said"
    exit 1
  fi
  if [ -e "$name.text" ] && [ -z "$update" ] && ! compare "$name.text" "$name.printed"; then
    echo "FAILED  $page: the output of"
    cat "$block" "$name.said"
    failures=$((failures + 1))
  fi
done
echo "ok      $page: $(find "$blocks" -name '*.sh' | wc -l) blocks of commands, $(find "$blocks" -name '*.text' | wc -l) outputs"

if [ -n "$update" ]; then
  awk -v folder="$blocks" '
    /^```/ && !inside {
      inside = 1
      kind = passed_over ? "" : substr($0, 4)
      passed_over = 0
      if (kind == "sh") { number++ }
      print
      replaced = (kind == "text" && before == "sh")
      file = sprintf("%s/%03d.printed", folder, number)
      next
    }
    /^```/ {
      if (replaced) { while (!cut && (getline line < file) > 0) { print line } ; close(file) }
      inside = replaced = cut = 0; before = kind; print
      next
    }
    inside && replaced && !cut {
      if ($0 == "...") { cut = 1; print } else if ((getline line < file) > 0) { print line }
      next
    }
    !inside && NF > 0 { before = ""; passed_over = ($0 == "<!-- not run -->") }
    { print }' "$page" >"$blocks/new.md" && cp "$blocks/new.md" "$page"
fi
[ "$failures" -eq 0 ]
