#!/bin/sh
# The project's includes point downwards only, and check_includes.sh notices when they do not.
set -u
check=$PROJECT_DIR/tests/check_includes.sh
. "$(dirname "$0")/checks.sh"

"$check" "$PROJECT_DIR" || miss "the project itself"

# expect CODE FILE INCLUDE: the code for a tree in which FILE has that one include, or that line if it begins with #.
expect() {
  tree=$TMPDIR/tree
  rm -rf "$tree"
  mkdir -p "$tree/src" "$tree/cli" "$tree/$(dirname "$2")"
  touch "$tree/cli/own.h"
  case $3 in
    '#'*) printf '/* test */\n%s\n' "$3" >"$tree/$2" ;;
    *) printf '/* test */\n#include "%s"\n' "$3" >"$tree/$2" ;;
  esac
  code=0
  said=$("$check" "$tree") || code=$?
  if [ "$1" -eq 0 ]; then
    [ "$code" -eq 0 ] || miss "$2 may include $3, but: $said"
  else
    [ "$code" -ne 0 ] || miss "$2 must not include $3"
    case $said in
      "$2:2: includes \"$3\""* | "$2:2: has a parallel region"*) ;;
      *) miss "the sentence about $2 including $3 is: $said" ;;
    esac
  fi
}

expect 0 src/fit/fit.c util/memory.h
expect 0 src/fit/fit.c model/fit.h
expect 0 src/optim/lbfgs.c linalg/blas.h
expect 0 src/device/cpu/cpu.c device/device.h
expect 0 src/util/rng.h oatgp.h
expect 0 src/kernel/se.c oat_config.h
expect 0 cli/main.c oatgp.h
expect 0 cli/main.c own.h
expect 0 cli/main.c oatgp_settings.def
expect 0 src/report/page.c plot/plot.h
expect 1 src/fit/fit.c plot/plot.h
expect 1 src/fit/fit.c report/chart.h
expect 0 src/plot/svg.c util/memory.h
expect 1 cli/main.c plot/plot.h
expect 1 src/plot/svg.c data/data.h
expect 1 src/kernel/se.c plot/plot.h
expect 1 cli/main.c plot/figure.h
expect 1 src/util/memory.c data/data.h
expect 1 src/device/cpu/cpu.c model/fit.h
expect 1 src/kernel/se.h device/device.h
expect 0 src/device/cpu/cpu.h rows/layout.h
expect 0 src/rows/rows.c rows/layout.h
expect 1 src/objective/full.c rows/layout.h
expect 1 src/knots/greedy.c rows/layout.h
expect 1 src/fit/advice.c rows/layout.h
expect 0 src/fit/advice.c rows/rows.h
expect 0 src/util/lanes.c util/threads.h
expect 0 src/device/registry.c util/threads.h
expect 1 src/device/cpu/cpu.c util/threads.h
expect 0 src/util/lanes.c '#pragma omp parallel for num_threads(threads)'
expect 1 src/rows/rows.c '#pragma omp parallel for'
expect 1 src/device/cpu/cpu.c '#pragma omp parallel for'
expect 0 src/kernel/vector.c '#pragma omp simd reduction(+ : sum)'
expect 1 src/optim/lbfgs.c objective/params.h
expect 1 src/optim/lbfgs.c data/data.h
expect 1 src/fit/fit.c ../api/settings.h
expect 1 src/fit/fit.c fit.h
expect 1 src/elsewhere/a.c util/memory.h
expect 1 src/fit/fit.c elsewhere/a.h
expect 1 cli/main.c util/memory.h
expect 1 cli/main.c ../src/util/memory.h
expect 1 cli/main.c oat_config.h

[ "$failures" -eq 0 ]
