#!/bin/sh
# Many kills: see test_kills.sh.
KILLS=200 exec sh ./test_kills.sh
