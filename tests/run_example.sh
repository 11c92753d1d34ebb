#!/bin/sh
# Runs an example and compares what it prints with what it should: words exactly, numbers to three digits.
# usage: run_example.sh EXPECTED PROGRAM ARGUMENTS...   (the text MODEL in the arguments becomes a scratch file)
set -u
expected=$1
shift
for argument; do
  shift
  [ "$argument" = MODEL ] && argument=$TMPDIR/example.model
  set -- "$@" "$argument"
done
"$@" >"$TMPDIR/printed" || exit 1
cat "$TMPDIR/printed"
awk '
  function is_number(word) { return word ~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/ }
  function distance(a, b) { return a > b ? a - b : b - a }
  function size(a) { return distance(a, 0) }
  function same(a, b) {
    if (a == b) { return 1 }
    return is_number(a) && is_number(b) && distance(a, b) <= 1e-3 * (size(a) > 1 ? size(a) : 1)
  }
  function differs(line, want, got) {
    printf "line %d: expected \"%s\", got \"%s\"\n", line, want, got
    differences++
  }
  NR == FNR { want[FNR] = $0; lines = FNR; next }
  {
    count = split(want[FNR], words)
    equal = FNR <= lines && count == NF
    for (i = 1; i <= NF && equal; i++) { equal = same(words[i], $i) }
    if (!equal) { differs(FNR, want[FNR], $0) }
    seen = FNR
  }
  END {
    for (i = seen + 1; i <= lines; i++) { differs(i, want[i], "nothing") }
    exit differences > 0
  }' "$expected" "$TMPDIR/printed"
