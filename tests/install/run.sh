#!/bin/sh
# Installs a build into a fresh folder and uses it from there: by pkg-config, by CMake, from C++.
# usage: run.sh BUILD VERSION   (TMPDIR is scratch, CC the compiler)
set -u
build=$1
version=$2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
prefix=$TMPDIR/prefix
CC=${CC:-cc}
failures=0

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# quietly WHAT COMMAND...: its output is shown only when it fails.
quietly() {
  what=$1
  shift
  if ! "$@" >"$TMPDIR/log" 2>&1; then
    cat "$TMPDIR/log"
    fail "$what"
    return 1
  fi
}

# runs WHAT PROGRAM: the consumer works and prints the version.
runs() {
  said=$("$2" "$TMPDIR/$1.model" 2>&1) || fail "the program linked by $1 says: $said"
  [ "$said" = "$version" ] || fail "the program linked by $1 prints '$said', not '$version'"
}

quietly "cmake --install" cmake --install "$build" --prefix "$prefix" || exit 1
library=$(find "$prefix" -name liboatgp.so)
libdir=$(dirname "$library")
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH

for file in include/oatgp.h include/oatgp_kernels.def include/oatgp_settings.def include/oatgp_status.def bin/oatgp share/man/man1/oatgp.1 share/man/man1/oatgp-fit.1 \
  share/bash-completion/completions/oatgp share/zsh/site-functions/_oatgp share/fish/vendor_completions.d/oatgp.fish; do
  [ -f "$prefix/$file" ] || fail "$file is not installed"
done
[ "$(readlink "$library")" = "liboatgp.so.${version%.*}" ] || fail "liboatgp.so does not point to liboatgp.so.${version%.*}"
"$prefix/bin/oatgp" fit --help >"$TMPDIR/log" 2>&1 || fail "the installed command: $(cat "$TMPDIR/log")"

# The module for MPI is in a folder of its own, where the command finds it, also when it is found in $PATH itself.
if [ -f "$build/liboatgp_mpi.so" ] && command -v mpirun >/dev/null 2>&1; then
  [ -f "$libdir/oatgp/liboatgp_mpi.so" ] || fail "oatgp/liboatgp_mpi.so is not installed"
  PATH=$prefix/bin:$PATH quietly "the installed command as two ranks" mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 oatgp --version
fi

# Exported: everything that the header declares, and nothing else.
nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$TMPDIR/exported"
grep -v '^oatgp_' "$TMPDIR/exported" >"$TMPDIR/foreign" && fail "exported, but not oatgp_: $(tr '\n' ' ' <"$TMPDIR/foreign")"
tr '\n' ' ' <"$prefix/include/oatgp.h" | tr ';' '\n' | sed -n 's/.*OATGP_API [^(]*\(oatgp_[a-z0-9_]*\)(.*/\1/p' | sort >"$TMPDIR/declared"
[ -s "$TMPDIR/declared" ] || fail "no declaration found in oatgp.h"
difference=$(diff "$TMPDIR/declared" "$TMPDIR/exported") || fail "declared (<) and exported (>) differ: $difference"

# shellcheck disable=SC2046
if quietly "pkg-config, shared" $CC -std=c17 $(pkg-config --cflags oatgp) "$here/consumer.c" -o "$TMPDIR/by_pkg_config" \
  $(pkg-config --libs oatgp) -lm -Wl,-rpath,"$libdir"; then
  runs pkg-config "$TMPDIR/by_pkg_config"
fi
# shellcheck disable=SC2046
if quietly "pkg-config, static" $CC -std=c17 $(pkg-config --cflags oatgp) "$here/consumer.c" -o "$TMPDIR/by_static" \
  "$libdir/liboatgp.a" $(pkg-config --static --libs oatgp | sed 's/-loatgp//'); then
  runs pkg-config-static "$TMPDIR/by_static"
fi
[ "$(pkg-config --modversion oatgp)" = "$version" ] || fail "pkg-config gives version $(pkg-config --modversion oatgp)"

if quietly "find_package" cmake -S "$here" -B "$TMPDIR/consumer" -DOATGP_VERSION="${version%.*}" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" \
  -DCMAKE_C_STANDARD_LIBRARIES=-lm && quietly "build by CMake" cmake --build "$TMPDIR/consumer"; then
  runs cmake "$TMPDIR/consumer/consumer_oatgp"
  runs cmake-static "$TMPDIR/consumer/consumer_static"
fi

# The page on the C API, as its reader would follow it.
mkdir "$TMPDIR/c-api"
OATGP=$prefix/bin/oatgp TMPDIR=$TMPDIR/c-api LD_LIBRARY_PATH=$libdir sh "$here/../run_page.sh" "$here/../../docs/c-api.md" ||
  fail "the commands of docs/c-api.md"

if command -v c++ >/dev/null 2>&1; then
  quietly "C++" c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$prefix/include" "$here/consumer.cc"
else
  echo "no C++ compiler here: the header was not tried from C++"
fi

[ "$failures" -eq 0 ]
