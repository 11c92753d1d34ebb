#!/bin/sh
# The library's calls point downwards only, and check_symbols.sh notices when they do not.
set -u
check=$PROJECT_DIR/tests/check_symbols.sh
. "$(dirname "$0")/checks.sh"

code=0
"$check" "$OATGP_OBJECTS" || code=$?
if [ "$code" -eq 77 ]; then
  exit 77
fi
[ "$code" -eq 0 ] || miss "the project itself"

# expect CODE USER HOME [SENTENCE]: the code for two objects, one in USER that calls a function which is defined in HOME.
expect() {
  tree=$TMPDIR/a\ tree/src
  rm -rf "$tree"
  mkdir -p "$tree/$2" "$tree/$3"
  echo 'void oatgp_called(void); void oat_user(void); void oat_user(void) { oatgp_called(); }' >"$tree/$2/user.c"
  echo 'void oatgp_called(void); void oatgp_called(void) {}' >"$tree/$3/home.c"
  for file in "$tree/$2/user.c" "$tree/$3/home.c"; do
    "$CC" -c "$file" -o "$file.o" || miss "compiling $file"
    echo "$file.o"
  done >"$TMPDIR/list"
  code=0
  said=$("$check" "$TMPDIR/list") || code=$?
  [ "$code" -eq "$1" ] || miss "src/$2 that uses src/$3 gives $code and: $said"
  case $said in
    "${4-}"*) ;;
    *) miss "the sentence about src/$2 that uses src/$3 is: $said" ;;
  esac
}

expect 0 fit util
expect 0 fit fit
expect 0 device/cpu device
expect 0 device device/cpu
expect 0 optim linalg
expect 0 report plot
expect 1 util api "src/util/user.c: uses "
expect 1 certify api "src/certify/user.c: uses oatgp_called of src/api: src/api is above src/certify"
expect 1 model predict "src/model/user.c: uses oatgp_called of src/predict"
expect 1 kernel device/cpu "src/kernel/user.c: uses oatgp_called of src/device"
expect 1 optim data "src/optim/user.c: uses oatgp_called of src/data: src/optim knows of src/util and src/linalg only"
expect 1 fit plot "src/fit/user.c: uses oatgp_called of src/plot: src/plot is for src/report"
expect 1 elsewhere util "src/elsewhere/user.c: uses oatgp_called of src/util: the folder src/elsewhere has no place"

: >"$TMPDIR/list"
"$check" "$TMPDIR/list" && miss "an empty list is no offence"

# Where it cannot look, it says so.
skips() {
  code=0
  said=$(NM=$2 "$check" "$3" 2>/dev/null) || code=$?
  [ "$code" -eq 77 ] || miss "$1: $code and: $said"
}
skips "without nm" no-such-nm "$OATGP_OBJECTS"
echo "$PROJECT_DIR/tests/test_symbols.sh" >"$TMPDIR/list"
skips "with files that are no objects" "${NM:-nm}" "$TMPDIR/list"

[ "$failures" -eq 0 ]
