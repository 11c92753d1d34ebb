#!/bin/sh
# Many kills, for at most four minutes: see test_kills.sh. OATGP_KILLS=1000 is for as many as that, however long it takes.
if [ -n "${OATGP_KILLS:-}" ]; then
  KILLS=$OATGP_KILLS WRITES=$((OATGP_KILLS / 10)) SIGNALS=${SIGNALS:-KILL} exec sh ./test_kills.sh
fi
KILLS=200 WRITES=50 SECONDS_AT_MOST=240 exec sh ./test_kills.sh
