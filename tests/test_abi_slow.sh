#!/bin/sh
# The binary interface of the shared library against those of earlier versions, which are kept in data/abi/VERSION.abi. A program that was
# linked with one of them is given this library if both have the same soname. So with the same soname nothing may change but for functions
# that are added; any other change needs a new soname.
#   run_with_scratch.sh test_abi_slow.sh --write   writes data/abi/VERSION.abi from the library as it is: a part of every release
set -u
PROJECT_DIR=${PROJECT_DIR:-..}
kept=$PROJECT_DIR/tests/data/abi
new=$TMPDIR/new.abi

if ! command -v abidiff >/dev/null || ! command -v abidw >/dev/null; then
  echo "skipped: abidiff and abidw are not here (Debian: abigail-tools)"
  exit 77
fi

# abidw needs debug information, which the release build has not; the public header says which types are seen from outside.
write_interface() {
  cmake -S "$PROJECT_DIR" -B "$TMPDIR/build" -DCMAKE_BUILD_TYPE=Debug -DOATGP_BUILD_TESTS=OFF -DOATGP_BUILD_EXPERIMENTS=OFF -DOATGP_CUDA=OFF \
    >"$TMPDIR/log" 2>&1 &&
    cmake --build "$TMPDIR/build" --target oatgp_shared --parallel 2 >>"$TMPDIR/log" 2>&1 &&
    abidw --headers-dir "$PROJECT_DIR/include" --drop-private-types --exported-interfaces-only --drop-undefined-syms --no-elf-needed \
      --no-show-locs --no-comp-dir-path --no-corpus-path --out-file "$1" "$TMPDIR/build/liboatgp.so" 2>>"$TMPDIR/log" && return
  cat "$TMPDIR/log"
  exit 1
}

soname() { sed -n "1s/.* soname='\([^']*\)'.*/\1/p" "$1"; }

# compatible OLD: what a program linked with OLD uses is all there and unchanged
compatible() { abidiff --no-added-syms "$1" "$new" >"$TMPDIR/difference" 2>&1; }

# check OLD: prints one line and fails if a change needs a new soname
check() {
  if compatible "$1"; then
    echo "compatible"
  elif [ "$(soname "$1")" != "$(soname "$new")" ]; then
    echo "incompatible, with a new soname: $(soname "$1") became $(soname "$new")"
  else
    echo "FAILED: incompatible, and the soname is still $(soname "$new")"
    return 1
  fi
}

version=$(sed -n 's/^project(oatgp VERSION \([0-9.]*\).*/\1/p' "$PROJECT_DIR/CMakeLists.txt")
if [ "${1:-}" = --write ]; then
  write_interface "$kept/$version.abi"
  echo "written: tests/data/abi/$version.abi"
  exit
fi
write_interface "$new"
failures=0
count=0
for old in "$kept"/*.abi; do
  count=$((count + 1))
  echo "$version against $(basename "$old" .abi): $(check "$old")" | tee "$TMPDIR/line"
  if grep -q FAILED "$TMPDIR/line"; then
    cat "$TMPDIR/difference"
    failures=$((failures + 1))
  fi
done
[ -f "$kept/0.1.0.abi" ] || { echo "FAILED: there is no interface of 0.1.0 to compare with"; exit 1; }

# Does the check see what it looks for? 0.1.0 had smaller structs and fewer functions: as a library of today's soname it must be refused.
sed "1s/ soname='[^']*'/ soname='$(soname "$new")'/" "$kept/0.1.0.abi" >"$TMPDIR/claimed.abi"
check "$TMPDIR/claimed.abi" >/dev/null && { echo "FAILED: changed structs with the same soname are not seen"; failures=$((failures + 1)); }
# And the library is compatible with itself.
compatible "$new" || { echo "FAILED: the library differs from itself: $(cat "$TMPDIR/difference")"; failures=$((failures + 1)); }
echo "$count versions compared, $failures failures"
[ "$failures" -eq 0 ]
