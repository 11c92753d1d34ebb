#!/bin/sh
# Many changes: see test_changes.sh.
CHANGES=${CHANGES:-300} SEED=2 exec sh ./test_changes.sh
