#!/bin/sh
# docs/options.md is what the table of settings says now, and every file that the documents link to is there.
set -u
failures=0
if ! "$PROJECT_DIR/script/docs" --print >"$TMPDIR/options.md" || ! cmp -s "$TMPDIR/options.md" "$PROJECT_DIR/docs/options.md"; then
  echo "FAILED  docs/options.md is not up to date: run script/docs"
  failures=1
fi
cd "$PROJECT_DIR" || exit 1
for page in README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
  for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^[a-z]*://' || true); do
    if [ ! -e "$(dirname "$page")/$link" ]; then
      echo "FAILED  $page links to $link, which is not there"
      failures=1
    fi
  done
done
exit $failures
