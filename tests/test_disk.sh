#!/bin/sh
# Disks that are full, files that are cut short, folders that are locked: every verb says so, and no file is lost or left.
set -u
. ./checks.sh

# A small disk needs the rights of root, or a space of its own where anyone is root.
if [ "${OATGP_TEST_DISK:-}" = "" ]; then
  OATGP_TEST_DISK=none
  mkdir -p disk
  if mount -t tmpfs -o size=100k tmpfs disk 2>/dev/null; then
    OATGP_TEST_DISK=mounted
    trap 'umount "$TMPDIR/disk"' EXIT
  elif unshare --user --map-root-user --mount true 2>/dev/null; then
    OATGP_TEST_DISK=apart
    export OATGP_TEST_DISK
    cd "$OLDPWD" && exec unshare --user --map-root-user --mount /bin/sh ./test_disk.sh
  fi
elif ! mount -t tmpfs -o size=100k tmpfs disk 2>/dev/null; then
  OATGP_TEST_DISK=none
fi

# run ARGUMENTS...: output in out and err, exit code in $code
run() {
  "$OATGP" "$@" >out 2>err
  code=$?
}
# refuses PIECE ARGUMENTS...: exit code 1 and one sentence with the piece
refuses() {
  piece=$1
  shift
  run "$@"
  if [ $code -eq 1 ] && grep -qF -- "$piece" err; then pass "$1: $piece"; else miss "$*: exit code $code, '$(cat err)', not '$piece'"; fi
}

awk 'BEGIN {
  srand(3); print "a,b,y"
  for (i = 0; i < 2000; i++) { a = rand(); b = rand(); printf "%.9f,%.9f,%.9f\n", a, b, sin(7 * a) + b + 0.1 * rand() }
}' >train.csv
head -n 300 train.csv >some.csv
"$OATGP" fit some.csv --target y --knots 10 --max-iter 3 --quiet -o model.oatgp >/dev/null || miss "a model to begin with"
"$OATGP" fit some.csv --target y --knots 250 --max-iter 0 --quiet -o large.oatgp >/dev/null || miss "a model that needs a disk"
fit="fit some.csv --target y --knots 100 --max-iter 0 --quiet"

# ---- a full disk -----------------------------------------------------------------------------------------------------------

# keeps NAME ARGUMENTS...: NAME is on the disk before, and what the arguments write there does not fit
keeps() {
  output=$1
  shift
  cp model.oatgp "disk/$output"
  refuses "cannot write 'disk/$output': No space left on device" "$@"
  check "the old file is kept: $output" cmp model.oatgp "disk/$output"
  rm "disk/$output"
  refuses "cannot write 'disk/$output': No space left on device" "$@"
  check "and nothing is left: $output" test "$(ls -A disk | grep -vc '^fill$')" -eq 0
}
if [ $OATGP_TEST_DISK = none ]; then
  echo "skipped: a full disk: none can be mounted here"
else
  head -c 84000 /dev/zero >disk/fill
  keeps m.oatgp $fit -o disk/m.oatgp
  keeps u.oatgp update large.oatgp some.csv -o disk/u.oatgp
  keeps p.csv predict model.oatgp train.csv -o disk/p.csv
  keeps v.npy predict model.oatgp some.csv --cov disk/v.npy -o p.csv
  keeps c.npy convert train.csv -o disk/c.npy
  keeps c.csv convert train.csv -o disk/c.csv
  keeps l.csv loo model.oatgp some.csv -o disk/l.csv
  keeps cv.csv cv train.csv --target y --knots 3 --max-iter 0 --folds 2 -o disk/cv.csv
  keeps r.html report model.oatgp some.csv -o disk/r.html
  keeps k.csv info large.oatgp --knots disk/k.csv
  keeps f.svg plot observed model.oatgp train.csv -o disk/f.svg
  if command -v rsvg-convert >/dev/null; then
    keeps f.png plot observed model.oatgp train.csv -o disk/f.png
  fi
  # A checkpoint and a trace that do not fit cost a warning.
  head -c 90000 /dev/zero >disk/fill
  run fit some.csv --target y --knots 60 --select simultaneous --max-iter 4 --checkpoint disk/check --checkpoint-seconds 0 -o x.oatgp
  check "a fit without room for its checkpoint" test $code -eq 0
  check "it warns" grep -q "warning: no checkpoint: cannot write 'disk/check': No space left on device" err
  check "and leaves nothing" test "$(ls -A disk)" = fill
  run fit some.csv --target y --knots 60 --select simultaneous --max-iter 40 --trace disk/trace -o x.oatgp
  check "a fit without room for its trace" test $code -eq 0
  check "it warns, too" grep -q "warning: cannot write 'disk/trace': No space left on device; the trace ends here" err
  rm disk/trace
  umount disk && [ $OATGP_TEST_DISK != mounted ] || trap - EXIT
fi

# ---- a file that may not grow ----------------------------------------------------------------------------------------------

# limited OUTPUT ARGUMENTS...: at several lengths a file may have, the verb says so, ends with 1, keeps the old file and leaves no other.
# The sentence goes through a pipe, since a file for it would have the same limit.
mkdir limited
own_shm=0
if ldd "$OATGP" 2>/dev/null | grep -q libomp; then
  echo "skipped: LLVM's OpenMP needs a file in shared memory, and does not bear a limit"
  own_shm=1
fi
limited() {
  [ $own_shm -eq 0 ] || return 0
  output=$1
  shift
  for blocks in 0 1 5; do
    cp model.oatgp "limited/$output"
    (
      ulimit -f $blocks
      "$OATGP" "$@" 2>&1 >/dev/null
      echo "code $?"
    ) | cat >err
    if grep -q '^code 1$' err && grep -qF "cannot write 'limited/$output': File too large" err; then
      pass "$1 into at most $blocks blocks: $output"
    else
      miss "$*, $blocks blocks: $(cat err)"
    fi
    check "the old file stays: $output" cmp model.oatgp "limited/$output"
    rm "limited/$output"
    check "and there is no other: $output" test "$(ls -A limited)" = ""
  done
}
limited m.oatgp $fit -o limited/m.oatgp
limited o.oatgp fit some.csv --target y --select oat-gain --knots 3 --max-knots 20 --max-iter 2 --quiet -o limited/o.oatgp
limited u.oatgp update large.oatgp some.csv -o limited/u.oatgp
limited p.csv predict model.oatgp train.csv -o limited/p.csv
limited s.csv predict model.oatgp some.csv --samples 3 -o limited/s.csv
limited v.npy predict model.oatgp some.csv --cov limited/v.npy -o -
limited c.npy convert train.csv -o limited/c.npy
limited c.csv convert train.csv -o limited/c.csv
limited l.csv loo model.oatgp some.csv -o limited/l.csv
limited cv.csv cv train.csv --target y --knots 3 --max-iter 0 --folds 2 -o limited/cv.csv
limited r.html report model.oatgp some.csv -o limited/r.html
limited k.csv info large.oatgp --knots limited/k.csv
limited f.svg plot observed model.oatgp train.csv -o limited/f.svg

# ---- standard output on a full disk ------------------------------------------------------------------------------------------

for arguments in "predict model.oatgp some.csv" "predict model.oatgp some.csv -o -" "score model.oatgp some.csv" "sensitivity model.oatgp" \
  "sensitivity model.oatgp --json" "loo model.oatgp some.csv" "info model.oatgp" "certify model.oatgp some.csv" \
  "plot observed model.oatgp some.csv" "objective some.csv --target y --knots 5 --gradient --json" "convert some.csv -o x.npy"; do
  # shellcheck disable=SC2086
  "$OATGP" $arguments >/dev/full 2>err
  code=$?
  if [ $code -eq 1 ] && grep -q "cannot write .*: No space left on device" err; then
    pass "to a full disk: $arguments"
  else
    miss "to a full disk: $arguments: exit code $code, '$(cat err)'"
  fi
done

# ---- cut short -------------------------------------------------------------------------------------------------------------

size=$(wc -c <model.oatgp)
for length in 0 5 100 $((size / 2)) $((size - 1)); do
  head -c "$length" model.oatgp >cut.oatgp
  for arguments in "predict cut.oatgp some.csv" "info cut.oatgp" "update cut.oatgp some.csv -o x2.oatgp" "score cut.oatgp some.csv" \
    "report cut.oatgp some.csv -o x.html"; do
    # shellcheck disable=SC2086
    refuses "'cut.oatgp' is cut short" $arguments
  done
  check "nothing is written from $length bytes" test ! -e x2.oatgp -a ! -e x.html
done
cat model.oatgp some.csv >long.oatgp
refuses "'long.oatgp' is too long" info long.oatgp
"$OATGP" $fit --max-iter 3 --checkpoint point --checkpoint-seconds 0 -o x3.oatgp >out 2>err
head -c $(($(wc -c <point) - 8)) point >cut.point
refuses "'cut.point' is cut short" $fit --max-iter 3 --resume cut.point -o x4.oatgp

# ---- locked ----------------------------------------------------------------------------------------------------------------

mkdir locked
cp model.oatgp some.csv locked
locked() {
  refuses "cannot read 'locked/model.oatgp': Permission denied" info locked/model.oatgp
  refuses "cannot read 'locked/some.csv': Permission denied" predict model.oatgp locked/some.csv
  refuses "cannot write 'locked/m.oatgp': Permission denied" fit some.csv --target y --knots 3 -o locked/m.oatgp
  refuses "cannot write 'locked/p.csv': Permission denied" predict model.oatgp some.csv -o locked/p.csv
  refuses "cannot write 'locked/t.jsonl': Permission denied" predict model.oatgp some.csv --trace locked/t.jsonl
  refuses "cannot read 'locked/c': Permission denied" $fit --resume locked/c -o x5.oatgp
}
# As root, for whom nothing is locked: as nobody, with copies that nobody may use.
if [ "$(id -u)" -ne 0 ]; then
  chmod 000 locked
  locked
  chmod 700 locked
elif [ $OATGP_TEST_DISK != apart ] && command -v setpriv >/dev/null && cp "$OATGP" ./oatgp.copy && chmod 777 . &&
  setpriv --reuid 65534 --regid 65534 --clear-groups ./oatgp.copy --version >/dev/null 2>&1; then
  chmod 644 ./*.csv ./*.oatgp
  chmod 000 locked
  printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "%s/oatgp.copy" "$@"\n' "$PWD" >as_nobody
  chmod 755 as_nobody
  OATGP=./as_nobody
  locked
else
  echo "skipped: locked folders: nobody cannot be tried here"
fi

echo
if [ $failures -gt 0 ]; then
  echo "$failures checks failed"
  exit 1
fi
echo "all checks passed"
