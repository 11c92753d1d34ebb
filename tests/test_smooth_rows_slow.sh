#!/bin/sh
# A smooth function of five inputs with little noise: few neighbours take its noise for function, and more of them predict worse. So the
# automatic fit ends with the exact GP, which it says. $OATGP is the command, $TMPDIR an empty folder.
set -u
. "$(dirname "$0")/checks.sh"
awk '
  function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
  function normal() { return sqrt(-2 * log(u())) * cos(6.283185307 * u()) }
  BEGIN {
    s = 3
    for (j = 1; j <= 300; j++) { for (c = 1; c <= 5; c++) { w[j, c] = normal() / 2.8 }; p[j] = 6.283185307 * u() }
    print "a,b,c,d,e,y"
    for (i = 1; i <= 1500; i++) {
      y = 0
      for (c = 1; c <= 5; c++) { x[c] = 10 * u(); printf "%.6f,", x[c] }
      for (j = 1; j <= 300; j++) { t = p[j]; for (c = 1; c <= 5; c++) { t += w[j, c] * x[c] }; y += cos(t) }
      printf "%.6f\n", y * sqrt(2 / 300) + 0.05 * normal()
    }
  }' >smooth.csv
"$OATGP" fit smooth.csv --target y --subset-rows 350 -o smooth.oatgp >out 2>said || miss "fit"
check "the result is the exact GP" grep -qE '^model +full' out
check "which a note says" grep -q 'the model is the exact GP' said
[ "$failures" -eq 0 ]
