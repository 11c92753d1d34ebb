#!/bin/sh
# Runs a test script with TMPDIR set to a fresh folder that is removed afterwards.
set -u
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM
cd "$(dirname -- "$0")" && /bin/sh "$@"
