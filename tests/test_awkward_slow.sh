#!/bin/sh
# The random problems that test_awkward leaves out.
OATGP_AWKWARD=91,200 exec "$(dirname "$OATGP")/tests/test_awkward"
