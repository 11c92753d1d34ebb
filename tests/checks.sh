# For tests in sh, which source it: one line for each check, and how many failed, in $failures. $OATGP is the command, $TMPDIR an empty folder.
cd "$TMPDIR" || exit 1
failures=0

pass() { echo "ok      $1"; }
miss() {
  echo "FAILED  $1"
  failures=$((failures + 1))
}
# check NAME COMMAND...: the command must succeed
check() {
  name=$1
  shift
  if "$@" >log 2>&1; then pass "$name"; else miss "$name: $(head -n 3 log)"; fi
}
