#!/bin/sh
# The golden files are what their generator makes. Skipped without Python and numpy.
set -u
if ! python3 -c 'import numpy' 2>/dev/null; then
  echo "skipped: there is no Python with numpy"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$PROJECT_DIR/tests/data/golden/make.py" --check
