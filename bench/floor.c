/* Time of one value + gradient of the VFE objective against the floor that BLAS sets: gemm + syrk + gemm of the same shapes
 * (2 + 1 + 2 times N K^2 flops), measured in the same process, interleaved, one thread; medians.
 *
 * Usage: floor [ROUNDS]. One JSON object a line. */
#include <stdio.h>
#include <stdlib.h>

#include "linalg/linalg.h"
#include "objective/objective.h"
#include "util/clock.h"
#include "util/rng.h"

typedef struct shape {
  size_t n, k, d;
} shape;

static const shape shapes[] = {{392, 40, 3}, {4784, 80, 4}, {20000, 200, 8}, {20000, 512, 8}};

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, ascending);
  return values[count / 2];
}

static double *normals(oat_rng *rng, size_t count) {
  double *values = malloc(count * sizeof *values);
  for (size_t i = 0; values != NULL && i < count; i++) {
    values[i] = oat_rng_normal(rng);
  }
  return values;
}

static double floor_seconds(shape s, double *v, double *t, double *square) {
  const oat_view a = {v, s.n, s.k, s.n}, b = {t, s.n, s.k, s.n};
  const double began = oat_seconds();
  oat_gemm(1, oat_as_const(a), OAT_PLAIN, oat_const_square(square, s.k), OAT_PLAIN, 0, b);
  oat_syrk(1, oat_as_const(a), 0, oat_square(square + s.k * s.k, s.k));
  oat_gemm(1, oat_as_const(a), OAT_PLAIN, oat_const_square(square, s.k), OAT_PLAIN, 0, b);
  return oat_seconds() - began;
}

static double evaluation_seconds(oat_objective *objective, const oat_point *point, oat_gradient *gradient) {
  double value;
  const double began = oat_seconds();
  if (oat_objective_evaluate(objective, point, &value, gradient) != OATGP_OK) {
    fprintf(stderr, "the evaluation failed\n");
    exit(1);
  }
  return oat_seconds() - began;
}

static void measure(oatgp_context *ctx, shape s, const char *kernel, size_t rounds) {
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  double *x = normals(&rng, s.n * s.d), *r = normals(&rng, s.n), *z = normals(&rng, s.k * s.d);
  double *v = normals(&rng, s.n * s.k), *t = calloc(s.n * s.k, sizeof *t), *square = normals(&rng, 2 * s.k * s.k);
  double theta[OAT_LENGTHSCALE + 16] = {1, 0.3, 1}, d_theta[OAT_LENGTHSCALE + 16], *d_z = calloc(s.k * s.d, sizeof *d_z);
  double *ours = calloc(rounds, sizeof *ours), *floor = calloc(rounds, sizeof *floor);
  for (size_t j = 0; j < s.d; j++) {
    theta[OAT_LENGTHSCALE + j] = 2;
  }
  const oat_rows rows = {s.n, s.d, 0, x, r, NULL, NULL};
  const oat_objective_config config = {oat_approx_find("vfe"), oat_kernel_find(kernel), &rows, 0, 1e-6, s.k, 0, (int64_t)1 << 32};
  const oat_point point = {theta, z};
  oat_gradient gradient = {d_theta, d_z};
  oat_objective *objective = NULL;
  if (oat_objective_create(ctx, &config, &objective) != OATGP_OK) {
    fprintf(stderr, "%s\n", oatgp_last_error(ctx));
    exit(1);
  }
  for (size_t i = 0; i < rounds; i++) {
    floor[i] = floor_seconds(s, v, t, square);
    ours[i] = evaluation_seconds(objective, &point, &gradient);
  }
  const double seconds = median(ours, rounds), least = median(floor, rounds);
  printf(
      "{\"n\": %zu, \"k\": %zu, \"d\": %zu, \"approx\": \"vfe\", \"kernel\": \"%s\", \"what\": \"value+gradient\", \"threads\": 1, "
      "\"seconds\": %.6g, \"floor_seconds\": %.6g, \"ratio\": %.3f}\n",
      s.n, s.k, s.d, kernel, seconds, least, seconds / least);
  fflush(stdout);
  oat_objective_free(objective);
  double *const blocks[] = {x, r, z, v, t, square, d_z, ours, floor};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    free(blocks[i]);
  }
}

int main(int argc, char **argv) {
  const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 15;
  oatgp_context *ctx = oatgp_context_create();
  if (ctx == NULL || rounds < 1) {
    fprintf(stderr, "usage: floor [ROUNDS]\n");
    return 2;
  }
  oat_set_blas_threads(1);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    measure(ctx, shapes[i], "se-ard", (size_t)rounds);
  }
  oatgp_context_free(ctx);
  return 0;
}
