#!/bin/sh
# script/package: the source tarball, the Debian packages that are made from it, and the recipes. script/python --all tries the wheel, and
# script/test-r the R package.
. ./checks.sh
package=$PROJECT_DIR/script/package
out=$PROJECT_DIR/build/packages
version=$(sed -n 's/^project(oatgp VERSION \([0-9.]*\).*/\1/p' "$PROJECT_DIR/CMakeLists.txt")

if ! "$package" source 2>why; then
  cat why
  [ -e "$PROJECT_DIR/.git" ] && exit 1
  exit 77
fi

# ---- what is refused -------------------------------------------------------------------------------------------

"$package" tarball >said 2>&1
check "an unknown kind is refused" test $? -eq 2
mkdir few
for tool in sh dirname pwd nproc sed cat; do
  ln -s "$(command -v "$tool")" few
done
PATH=$PWD/few "$package" source r >said 2>&1
check "missing tools fail" test $? -eq 1
check "git is named" grep -q '^script/package: source needs git (Debian: apt-get install git)$' said
check "R is named" grep -q '^script/package: r needs R (Debian: apt-get install r-base-dev)$' said

# ---- source ----------------------------------------------------------------------------------------------------

cp "$out/oatgp-$version.tar.gz" first.tar.gz
"$package" source >table 2>said
check "the table names the tarball" grep -q "^ *[1-9][0-9]*  oatgp-$version.tar.gz$" table
if grep -q 'not committed' said; then
  echo "with changes that are not committed, the bytes differ from one second to the next: not compared"
else
  check "the same commit gives the same bytes" cmp first.tar.gz "$out/oatgp-$version.tar.gz"
fi
sum=$(sha256sum "$out/oatgp-$version.tar.gz" | cut -d ' ' -f 1)
for recipe in oatgp.rb meta.yaml; do
  check "$recipe has the checksum" grep -q "$sum" "$out/$recipe"
  check "$recipe has the version" grep -q "oatgp-$version.tar.gz" "$out/$recipe"
  check "$recipe has no blanks left" sh -c '! grep -q "@[A-Z0-9]*@" "$1"' sh "$out/$recipe"
done
! command -v ruby >/dev/null || check "the formula is Ruby" ruby -c "$out/oatgp.rb"

# ---- Debian ----------------------------------------------------------------------------------------------------

if ! command -v dh >/dev/null || ! command -v lintian >/dev/null; then
  echo "skipped: debhelper or lintian is not here (Debian: debhelper lintian)"
  [ "$failures" -eq 0 ] && exit 77
  exit 1
fi
check "script/package deb, without a word of lintian" "$package" deb
mkdir root
for name in oatgp "liboatgp${version%.*}" liboatgp-dev oatgp-mpi; do
  check "$name" dpkg-deb -x "$(echo "$out/${name}_${version}"_*.deb)" root
done
check "the command runs" root/usr/bin/oatgp fit root/usr/share/doc/oatgp/examples/mcycle.csv --target accel --knots 8 -o model.oatgp
root/usr/bin/oatgp --version >said
check "the commit is in the tarball" grep -Eq "^oatgp $version \(commit [0-9a-f]{12}" said
check "manual page" gzip -t root/usr/share/man/man1/oatgp-fit.1.gz
library=$(dirname "$(find root -name liboatgp.so)")
check "a program is built with the header and the library" "${CC:-cc}" -Iroot/usr/include "$PROJECT_DIR/tests/install/consumer.c" -o consumer -L"$library" -loatgp -lm
check "and runs" env LD_LIBRARY_PATH="$library" ./consumer model
[ "$failures" -eq 0 ]
