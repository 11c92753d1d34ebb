#!/bin/sh
# The golden files are what their generators make. Skipped without Python and numpy.
set -u
if ! python3 -c 'import numpy' 2>/dev/null; then
  echo "skipped: there is no Python with numpy"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
export PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS
failures=0
for script in make.py make_beyond.py; do
  python3 "$PROJECT_DIR/tests/data/golden/$script" --check || failures=1
done
exit $failures
