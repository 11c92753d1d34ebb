#!/bin/sh
# Compares the ways to choose knots on one split: K, objective, MNLP, SRMSE, seconds and evaluations, medians over interleaved rounds, one
# thread, isotropic se, at most 80 knots. Prints a Markdown table.
#   bench/selection.sh OATGP TRAIN.csv TEST.csv START_KNOTS.csv JITTER [ROUNDS]
# The target is the last column; START_KNOTS are the knots to grow from, in scaled units; JITTER is the absolute one of the paper.
set -eu
oatgp=$1 train=$2 test=$3 start=$4 jitter=$5 rounds=${6:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

options() { # NAME: what it adds to the fit
  grow="--knots $start --knots-scaled --max-knots 80"
  case $1 in
    oat-bo | oat-rs | oat-gain) echo "--select $1 $grow" ;;
    oat-gain-20) echo "--select oat-gain --batch 20 --inner-iter 10 $grow" ;;
    oat-gain-refined) echo "--select oat-gain $grow --refine" ;;
    oat-gain-20-refined) echo "--select oat-gain --batch 20 --inner-iter 10 $grow --refine" ;;
    oat-gain-20-quick) echo "--select oat-gain --batch 20 --inner-iter 10 $grow --refine --obj-tol 0.1" ;;
    variance | simultaneous) echo "--select $1 --knots 80" ;;
    paper) echo "--preset paper --jitter-absolute $jitter $grow" ;;
    paper-rs) echo "--preset paper --select oat-rs --jitter-absolute $jitter $grow" ;;
  esac
}
names="oat-bo oat-rs oat-gain oat-gain-20 variance simultaneous oat-gain-refined oat-gain-20-refined oat-gain-20-quick paper paper-rs"

field() { { tr -d '\n' <"$1"; echo; } | sed -n "s/.*\"$2\":[[:space:]]*\\([-+0-9.eE]*\\).*/\\1/p"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

round=1
while [ "$round" -le "$rounds" ]; do
  for name in $names; do
    # shellcheck disable=SC2046
    "$oatgp" fit "$train" --target last --kernel se $(options "$name") --quiet --json -o "$work/$name.model" >"$work/$name.json"
    field "$work/$name.json" seconds >>"$work/$name.seconds"
  done
  round=$((round + 1))
done
echo "| selection | K | objective | MNLP | SRMSE | seconds | evaluations |"
echo "|---|---|---|---|---|---|---|"
for name in $names; do
  "$oatgp" score "$work/$name.model" "$test" --target last --json >"$work/score.json"
  printf '| %s | %s | %.3f | %.4f | %.4f | %.3f | %s |\n' "$name" "$(field "$work/$name.json" knots)" "$(field "$work/$name.json" objective)" \
    "$(field "$work/score.json" mnlp)" "$(field "$work/score.json" srmse)" "$(median <"$work/$name.seconds")" \
    "$(field "$work/$name.json" evaluations)"
done
