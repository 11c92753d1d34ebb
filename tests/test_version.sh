#!/bin/sh
# CMakeLists.txt has the version. The command, the wheel, the packages and the recipes take it from there; these files have it by hand.
. ./checks.sh
version=$(sed -n 's/^project(oatgp VERSION \([0-9.]*\).*/\1/p' "$PROJECT_DIR/CMakeLists.txt")
date=$(sed -n "s/^## $version (\([0-9-]*\))$/\1/p" "$PROJECT_DIR/CHANGELOG.md")

# has FILE LINE: the line is in the file
has() { check "$1: $2" grep -qxF -- "$2" "$PROJECT_DIR/$1"; }

"$OATGP" --version >said
check "oatgp --version" grep -q "^oatgp $version " said
has CHANGELOG.md "## $version ($date)"
has bindings/R/NEWS.md "# oatgp $version"
has CITATION.cff "version: $version"
has CITATION.cff "date-released: \"$date\""
has packaging/debian/control "Package: liboatgp${version%.*}"
check "files of liboatgp${version%.*}" test -f "$PROJECT_DIR/packaging/debian/liboatgp${version%.*}.install"
[ "$failures" -eq 0 ]
