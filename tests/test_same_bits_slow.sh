#!/bin/sh
# All of it: see test_same_bits.sh.
exec sh ./test_same_bits.sh --all
