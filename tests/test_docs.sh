#!/bin/sh
# The documents say what is so: docs/options.md is what the table of settings says now, every file that is linked to is there, every command
# runs and prints what the page says (run_page.sh), every figure is made by a command of a page, every piece of C is from an example.
set -u
failures=0
miss() {
  echo "FAILED  $1"
  failures=1
}
if ! "$PROJECT_DIR/script/docs" --print >"$TMPDIR/options.md" || ! cmp -s "$TMPDIR/options.md" "$PROJECT_DIR/docs/options.md"; then
  miss "docs/options.md is not up to date: run script/docs"
fi
cd "$PROJECT_DIR" || exit 1
for page in README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/notes/*.md; do
  for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^[a-z]*://' || true); do
    [ -e "$(dirname "$page")/$link" ] || miss "$page links to $link, which is not there"
  done
done

# The tables of speed on the first pages hold numbers of docs/benchmarks.md alone.
for page in README.md docs/index.md; do
  awk '/^<!-- from docs.benchmarks.md -->/ { inside = 1; next } inside && !/^\|/ { inside = 0 } inside' "$page" >"$TMPDIR/table"
  grep -q oatgp "$TMPDIR/table" || miss "$page has no table of speed"
  for number in $(grep -oE '[0-9]+\.[0-9]+' "$TMPDIR/table"); do
    grep -qE "(^|[^0-9.])$number([^0-9]|\$)" docs/benchmarks.md || miss "$page: $number is not in docs/benchmarks.md"
  done
done

# docs/c-api.md needs an installed library: tests/install/run.sh runs it.
scratch=$TMPDIR
: >"$scratch/figures"
for page in README.md $(grep -l '^```sh$' docs/*.md | grep -v c-api); do
  TMPDIR=$scratch/$(basename "$page" .md)
  export TMPDIR
  mkdir "$TMPDIR"
  tests/run_page.sh "$page" || failures=1
  find "$TMPDIR/page" \( -name '*.svg' -o -name report.html \) -exec basename {} \; >>"$scratch/figures"
done
for figure in docs/figures/*.svg docs/report.html; do
  grep -qx "$(basename "$figure")" "$scratch/figures" || miss "no command of a page makes $figure"
done

# Every block of C, and every output that does not follow a command, is a piece of an example or of what it prints.
awk '
  /^```/ && !inside { inside = 1; kind = substr($0, 4); text = ""; after = (kind == "text" && before == "sh"); next }
  /^```/ {
    inside = 0
    before = kind
    if (kind == "c" || (kind == "text" && !after)) { wanted[++count] = text; from[count] = NR }
    next
  }
  inside { text = text $0 "\n" }
  !inside && FNR > 1 && /[^ ]/ { before = "" }
  FNR == 1 && NR > 1 { inside = 0 }
  FILENAME ~ /^examples/ { all = all $0 "\n" }
  END {
    for (i = 1; i <= count; i++) {
      if (index(all, wanted[i]) == 0) { print "FAILED  docs/c-api.md: the block that ends in line " from[i] " is in no example"; bad = 1 }
    }
    if (count < 5) { print "FAILED  docs/c-api.md has no pieces of code"; bad = 1 }
    exit bad
  }' docs/c-api.md examples/*.c examples/*.expected || failures=1
exit $failures
