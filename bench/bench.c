/* Shared by the benchmarks. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/memory.h"

void bench_check(const oatgp_context *ctx, oatgp_status status) {
  if (status != OATGP_OK) {
    fprintf(stderr, "bench: %s\n", status == OATGP_MEMORY ? "out of memory" : oatgp_last_error(ctx));
    exit(1);
  }
}

double *bench_numbers(oatgp_context *ctx, size_t count) {
  double *out = NULL;
  bench_check(ctx, oat_new_matrix(ctx, count, 1, &out));
  return out;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}
