#!/bin/sh
# More than 5000 rows of a smooth function of many inputs, for which knots and neighbours are not enough: the automatic
# fit goes on to their limits, and from there to the exact GP. Without the time for it, the model has neighbours.
set -eu
cd "$TMPDIR"

awk 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
     function normal() { return sqrt(-2 * log(u())) * cos(6.2831853 * u()) }
     BEGIN {
       s = 5; d = 16
       for (j = 1; j <= 12; j++) { for (i = 1; i <= d; i++) w[j, i] = normal() / sqrt(d) }
       for (row = 1; row <= 5100; row++) {
         y = 0.2 * normal()
         for (i = 1; i <= d; i++) { x[i] = normal(); printf "%.6f,", x[i] }
         for (j = 1; j <= 12; j++) { a = 0; for (i = 1; i <= d; i++) a += w[j, i] * x[i]; y += sin(1.3 * a) / 3 }
         printf "%.6f\n", y
       }
     }' >rows.csv

field() { sed -n "s/^.*\"$1\":[[:space:]]*\"\{0,1\}\([^\",]*\).*/\1/p" "$2"; }

started=$(date +%s)
"$OATGP" fit rows.csv --header no --target last --device cpu --json -o exact.oatgp >exact.json 2>exact.txt
[ "$(field approx exact.json)" = full ]
[ "$(field stop exact.json)" = evidence ]
grep -q 'the model is the exact GP' exact.txt

# The exact GP is what takes the time: an eighth of it is for knots and neighbours on any machine.
limit=$(awk -v a="$started" -v b="$(date +%s)" 'BEGIN { print (b - a + 1) / 8 }')
"$OATGP" fit rows.csv --header no --target last --device cpu --time-limit "$limit" --json -o short.oatgp >short.json 2>short.txt
[ "$(field approx short.json)" != full ]
[ "$(field loo_mean_nlp short.json)" != "" ]
awk -v a="$(field loo_mean_nlp exact.json)" -v b="$(field loo_mean_nlp short.json)" 'BEGIN { print a, b; exit !(a < b) }'
