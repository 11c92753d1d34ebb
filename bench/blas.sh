#!/bin/sh
# Measures several BLAS libraries by bench/blas, in turn, and prints a table: GF/s on one thread, the best of all passes.
# usage: blas.sh PROGRAM PASSES NAME=FOLDER[:FOLDER][,CORE] ...
#   A folder has a libblas.so.3 or a liblapack.so.3 (links will do). CORE becomes OPENBLAS_CORETYPE.
# The last column is the geometric mean of what value+gradient takes, as a multiple of that of the first library.
set -eu
program=$1 passes=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 MKL_NUM_THREADS=1 OMP_NUM_THREADS=1

# with LIBRARY ARGUMENT...: the program with that library
with() {
  what=${1#*=} core=
  shift
  case $what in *,*) core=${what##*,} what=${what%,*} ;; esac
  if [ -n "$core" ]; then
    LD_LIBRARY_PATH=$what OPENBLAS_CORETYPE=$core "$program" "$@"
  else
    (unset OPENBLAS_CORETYPE && LD_LIBRARY_PATH=$what "$program" "$@")
  fi
}

for library; do
  echo "${library%%=*}: $(with "$library" --name)"
done
pass=0
while [ "$pass" -lt "$passes" ]; do
  for library; do
    with "$library" 1 | sed "s/^/${library%%=*} /" >>"$scratch/all"
  done
  pass=$((pass + 1))
done

awk '
  !($1 in place) { place[$1] = ++libraries; name[libraries] = $1 }
  {
    column = $2 " " $3
    if (!(column in seen)) { seen[column] = 1; columns[++count] = column }
    if ($4 > best[$1, column]) { best[$1, column] = $4 }
  }
  END {
    for (i = 1; i <= libraries; i++) {
      product[i] = 1
      for (c = 1; c <= count; c++) {
        if (columns[c] ~ /value/) { product[i] *= best[name[1], columns[c]] / best[name[i], columns[c]]; used[i]++ }
      }
    }
    printf "\n%-22s", "K   work"
    for (i = 1; i <= libraries; i++) { printf " %14s", name[i] }
    for (c = 1; c <= count; c++) {
      printf "\n%-22s", columns[c]
      for (i = 1; i <= libraries; i++) { printf " %14.1f", best[name[i], columns[c]] }
    }
    printf "\n%-22s", "time, value+gradient"
    for (i = 1; i <= libraries; i++) { printf " %14.2f", exp(log(product[i]) / used[i]) }
    print ""
  }' "$scratch/all"
