/* Times value + gradient of the VFE objective (se-ard, all parameters and all knots) on the data that the other
 * packages get.
 *
 * Usage: oatgp_eval TRAIN.npy KNOTS.npy THREADS MEMORY SIGMA TAU LENGTHSCALE...
 * TRAIN has the target, of mean zero, in its last column; MEMORY is the budget for kept matrices in bytes, 0 for half
 * of the machine's. For every number S read from standard input it evaluates for at least S seconds and at least once,
 * and answers with one JSON object a line: value, norm of the derivative in the knots, number of evaluations, seconds
 * of each, peak memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "rows/layout.h"
#include "bench.h"
#include "data/data.h"
#include "linalg/linalg.h"
#include "fit/setup.h"
#include "objective/objective.h"
#include "util/clock.h"

enum {
  ARGUMENT_TRAIN = 1,
  ARGUMENT_KNOTS,
  ARGUMENT_THREADS,
  ARGUMENT_MEMORY,
  ARGUMENT_SIGMA,
  ARGUMENT_TAU,
  ARGUMENT_LENGTHSCALE
};

static const double jitter = 1e-6; /* absolute, as GPflow adds it */

typedef struct problem {
  oatgp_data *train, *knots;
  oat_rows rows;
  oat_objective *objective;
  oat_point point;
  oat_gradient gradient;
} problem;

static void stop(const char *sentence) {
  fprintf(stderr, "oatgp_eval: %s\n", sentence);
  exit(1);
}

static oatgp_data *read_matrix(oatgp_context *ctx, const char *path, const char *target) {
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.prior = "none"; /* the evidence alone */
  settings.target = target;
  oatgp_data *data = NULL;
  bench_check(ctx, oatgp_data_read(ctx, path, &settings, &data));
  return data;
}

/* sigma, tau, the unused shape, then a lengthscale for each input. */
static double *read_theta(oatgp_context *ctx, char **argv, size_t d) {
  double *theta = bench_numbers(ctx, OAT_LENGTHSCALE + d);
  theta[OAT_SIGMA] = strtod(argv[ARGUMENT_SIGMA], NULL);
  theta[OAT_TAU] = strtod(argv[ARGUMENT_TAU], NULL);
  theta[OAT_SHAPE] = 1;
  for (size_t j = 0; j < d; j++) {
    theta[OAT_LENGTHSCALE + j] = strtod(argv[(size_t)ARGUMENT_LENGTHSCALE + j], NULL);
  }
  return theta;
}

static void load(oatgp_context *ctx, int argc, char **argv, problem *p) {
  p->train = read_matrix(ctx, argv[ARGUMENT_TRAIN], "last");
  p->knots = read_matrix(ctx, argv[ARGUMENT_KNOTS], "");
  const size_t d = p->train->d, k = p->knots->n;
  if (p->knots->d != d || (size_t)argc != ARGUMENT_LENGTHSCALE + d) {
    stop("the knots or the lengthscales do not have as many inputs as the data");
  }
  const int64_t memory = strtoll(argv[ARGUMENT_MEMORY], NULL, 10);
  p->rows = (oat_rows){p->train->n, d, 0, p->train->x, p->train->y, NULL, NULL};
  p->point = (oat_point){read_theta(ctx, argv, d), bench_numbers(ctx, k * d)};
  memcpy(p->point.z, p->knots->x, k * d * sizeof *p->point.z);
  p->gradient = (oat_gradient){bench_numbers(ctx, OAT_LENGTHSCALE + d), bench_numbers(ctx, k * d)};
  oatgp_context_set_threads(ctx, (int)strtol(argv[ARGUMENT_THREADS], NULL, 10));
  const oat_objective_config config = {.approx = oat_approx_find("vfe"),
                                       .kernel = oat_kernel_find("se-ard"),
                                       .rows = &p->rows,
                                       .jitter_absolute = jitter,
                                       .k = k,
                                       .memory = memory > 0 ? memory : OAT_CACHE};
  bench_check(ctx, oat_objective_create(ctx, &config, &p->objective));
}

static double knot_derivative_norm(const problem *p) {
  double sum = 0;
  for (size_t i = 0; i < p->knots->n * p->knots->d; i++) {
    sum += p->gradient.z[i] * p->gradient.z[i];
  }
  return sqrt(sum);
}

static void answer(problem *p, double least_seconds) {
  double value = 0, seconds = 0;
  size_t count = 0;
  const double began = oat_seconds();
  while (count == 0 || seconds < least_seconds) {
    if (oat_objective_evaluate(p->objective, &p->point, &value, &p->gradient) != OATGP_OK) {
      stop("the evaluation failed");
    }
    count++;
    seconds = oat_seconds() - began;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("{\"elbo\": %.17g, \"knot_gradient_norm\": %.17g, \"count\": %zu, \"seconds\": %.9g, \"peak_kib\": %ld}\n",
         value, knot_derivative_norm(p), count, seconds / (double)count, usage.ru_maxrss);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc <= ARGUMENT_LENGTHSCALE) {
    stop("usage: oatgp_eval TRAIN.npy KNOTS.npy THREADS MEMORY SIGMA TAU LENGTHSCALE...");
  }
  oatgp_context *ctx = oatgp_context_create();
  if (ctx == NULL) {
    stop("out of memory");
  }
  oat_set_blas_threads(1);
  problem p = {0};
  load(ctx, argc, argv, &p);
  double least_seconds;
  while (scanf("%lf", &least_seconds) == 1) {
    answer(&p, least_seconds);
  }
  oat_objective_free(p.objective);
  oatgp_data_free(p.train);
  oatgp_data_free(p.knots);
  double *const blocks[] = {p.point.theta, p.point.z, p.gradient.theta, p.gradient.z};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  oatgp_context_free(ctx);
  return 0;
}
