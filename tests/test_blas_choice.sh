#!/bin/sh
# The BLAS as the command meets it: a choice of kernels that is too low is put right before main, that of OPENBLAS_CORETYPE stays, and the
# reference implementation is told about. $OATGP is the command, $CC a compiler, $TMPDIR an empty folder.
set -u
LC_ALL=C
export LC_ALL
. "$(dirname "$0")/checks.sh"
. "$(dirname "$0")/command.sh"
fit="fit $PROJECT_DIR/data/mcycle.csv --target accel --knots 8 --select fixed --max-iter 5 --threads 1 -o model.oatgp"

# ---- what the user has chosen ---------------------------------------------------------------------------------------------

OPENBLAS_CORETYPE=Nehalem
export OPENBLAS_CORETYPE
works "version with kernels of the user's choice" --version
if ! grep -q '^BLAS *OpenBLAS' out || ! grep -qE '^processor *AVX(2|-512)$' out; then
  echo "skipped: the BLAS is not OpenBLAS, or the processor has no AVX2"
  exit 77
fi
check "they stay, and it says so" grep -qE \
  '^BLAS +OpenBLAS [0-9.]+, kernels for Nehalem \(as OPENBLAS_CORETYPE says; the processor has AVX(2|-512)\)$' out
# shellcheck disable=SC2086
works "a fit with them" $fit
check "a fit says nothing about them" sh -c '! grep -qi "kernels\|blas" err'
unset OPENBLAS_CORETYPE

# ---- what OpenBLAS has chosen ---------------------------------------------------------------------------------------------

# A sanitizer wants to be loaded first.
if ldd "$OATGP" 2>/dev/null | grep -q 'lib.san'; then
  echo "skipped: nothing can be loaded before a sanitizer"
  exit $((failures > 0))
fi
check "something that makes OpenBLAS choose too low" "${CC:-cc}" -shared -fPIC "$PROJECT_DIR/tests/low_kernels.c" -o low.so
low() { LD_PRELOAD=$TMPDIR/low.so "$OATGP" "$@" >out 2>err; }
low --version
check "too low a choice is put right" grep -qE '^BLAS +OpenBLAS [0-9.]+, kernels for [A-Za-z]+ \(it had chosen Prescott\)$' out
core=$(sed -n 's/.*kernels for \([A-Za-z]*\) .*/\1/p' out)
check "by better kernels" test "$core" = Zen -o "$core" = Haswell -o "$core" = SkylakeX
# shellcheck disable=SC2086
low $fit
check "nothing is said then" sh -c '! grep -qi "kernels\|blas" err'
value="objective $PROJECT_DIR/data/boston.csv --target medv --knots random:100 --gradient --threads 1 --json"
# shellcheck disable=SC2086
low $value
mv out right
# shellcheck disable=SC2086
OPENBLAS_CORETYPE=$core "$OATGP" $value >chosen 2>err
check "the numbers have the bits of a start with these kernels" cmp chosen right
# shellcheck disable=SC2086
OPENBLAS_CORETYPE=Prescott "$OATGP" $value >other 2>err
check "which are others with Prescott's" sh -c '! cmp -s other right'

# ---- another BLAS ---------------------------------------------------------------------------------------------------------

for reference in /usr/lib/*/blas/libblas.so.3 ''; do [ ! -f "$reference" ] || break; done
if [ -n "$reference" ]; then
  LD_PRELOAD=$reference "$OATGP" --version >out 2>err
  check "the reference implementation is recognised" grep -qE '^BLAS +the reference implementation \(libblas\.so\.3\)$' out
  # shellcheck disable=SC2086
  LD_PRELOAD=$reference "$OATGP" $fit --certify >out 2>err
  check "a fit with a certificate, which are two calls, says it once" test "$(grep -c 'warning: the BLAS is the reference implementation' err)" = 1
fi
for blis in /usr/lib/*/blis-*/libblas.so.3 ''; do [ ! -f "$blis" ] || break; done
if [ -n "$blis" ]; then
  LD_PRELOAD=$blis "$OATGP" --version >out 2>err
  check "BLIS is recognised" grep -qE '^BLAS +BLIS' out
fi
exit $((failures > 0))
