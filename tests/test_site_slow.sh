#!/bin/sh
# The pages become a site without a warning, each is in it, none asks for anything from elsewhere, and all look right in chromium
# (browser/site.py). The page of benchmarks, its figures and the tables of the first pages follow from docs/benchmarks.json.
# OATGP_SHOTS=FOLDER gets screenshots of all pages at three widths, in light and dark.
set -u
site=$TMPDIR/site
"$PROJECT_DIR/script/docs" --site "$site" || exit # 77: skipped, with a sentence
failures=0
for page in "$PROJECT_DIR"/docs/*.md "$PROJECT_DIR"/docs/notes/*.md; do
  name=${page#"$PROJECT_DIR"/docs/}
  name=${name%.md}
  if [ ! -s "$site/$name.html" ]; then
    echo "FAILED  $name is not in the site"
    failures=1
  elif [ "$name" != index ] && ! grep -q "href=\"$name.html\"" "$site/index.html"; then
    echo "FAILED  the index does not lead to $name"
    failures=1
  fi
done
if grep -oE '<(script|link|img|iframe)[^>]*(src|href)="(https?:)?//[^>]*>' "$site"/*.html "$site"/notes/*.html; then
  echo "FAILED  these ask for something from elsewhere"
  failures=1
fi
if [ ! -s "$site/report.html" ] || ! grep -q 'href="report.html"' "$site/gallery.html"; then
  echo "FAILED  the gallery does not lead to a report"
  failures=1
fi

again=$TMPDIR/again
mkdir "$again"
cp -R "$PROJECT_DIR/docs" "$PROJECT_DIR/README.md" "$again"
rm "$again"/docs/benchmarks*
if ! PYTHONDONTWRITEBYTECODE=1 python3 "$PROJECT_DIR/bench/peers/report.py" "$again/docs" ||
  ! diff -rq "$PROJECT_DIR/docs" "$again/docs" || ! diff "$PROJECT_DIR/README.md" "$again/README.md"; then
  echo "FAILED  these are not what bench/peers/report.py makes of docs/benchmarks.json"
  failures=1
fi
[ "$failures" -eq 0 ] || exit 1

. "$PROJECT_DIR/tests/browser/find.sh"
exec "$python" "$PROJECT_DIR/tests/browser/site.py" "$site" ${OATGP_SHOTS:+"$OATGP_SHOTS"}
