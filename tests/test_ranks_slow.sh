#!/bin/sh
# Every model with every number of ranks and threads: see test_ranks.sh.
ALL=yes exec sh "$(dirname "$0")/test_ranks.sh"
