#!/bin/sh
# The pages become a site without a warning, each is in it, and none asks for anything from elsewhere.
set -u
site=$TMPDIR/site
"$PROJECT_DIR/script/docs" --site "$site" || exit # 77: skipped, with a sentence
failures=0
for page in "$PROJECT_DIR"/docs/*.md; do
  name=$(basename "$page" .md)
  if [ ! -s "$site/$name.html" ]; then
    echo "FAILED  $name is not in the site"
    failures=1
  elif [ "$name" != index ] && ! grep -q "href=\"$name.html\"" "$site/index.html"; then
    echo "FAILED  the index does not lead to $name"
    failures=1
  fi
done
if grep -oE '<(script|link|img|iframe)[^>]*(src|href)="(https?:)?//[^>]*>' "$site"/*.html; then
  echo "FAILED  these ask for something from elsewhere"
  failures=1
fi
exit $failures
