/* A model on random rows, see subject.h. */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "linalg/linalg.h"
#include "fit/fit.h"
#include "util/lanes.h"
#include "util/memory.h"

static double *normals(oatgp_context *ctx, oat_rng *rng, size_t count) {
  double *values = bench_numbers(ctx, count);
  for (size_t i = 0; i < count; i++) {
    values[i] = oat_rng_normal(rng);
  }
  return values;
}

static void choose_settings(subject *s) {
  const subject_choice *choice = &s->choice;
  snprintf(s->knots, sizeof s->knots, "random:%zu", choice->shape.k > 0 ? choice->shape.k : 1);
  oatgp_settings_default(&s->settings);
  s->settings.prior = "none"; /* the evidence alone */
  s->settings.approx = choice->approx;
  s->settings.kernel = choice->kernel;
  s->settings.knots = s->knots;
  s->settings.neighbours = (int64_t)choice->shape.m;
  s->settings.threads = choice->threads;
  s->settings.device = choice->device != NULL ? choice->device : "cpu";
  s->settings.memory = choice->memory > 0 ? choice->memory : s->settings.memory;
  oatgp_context_set_threads(s->ctx, choice->threads);
}

static void make_data(subject *s, oat_rng *rng) {
  const shape size = s->choice.shape;
  double *x = normals(s->ctx, rng, size.n * size.d), *y = normals(s->ctx, rng, size.n);
  bench_check(s->ctx, oatgp_data_create(s->ctx, size.n, size.d, x, y, &s->data));
  free(x);
  free(y);
  if (s->choice.noise != SUBJECT_PLAIN) {
    double *variance = normals(s->ctx, rng, size.n);
    for (size_t i = 0; i < size.n; i++) {
      variance[i] *= variance[i];
    }
    bench_check(s->ctx, oatgp_data_set_noise_variance(s->ctx, s->data, variance));
    free(variance);
  }
}

/* The objective at the start of a fit. */
static void make_objective(subject *s) {
  const size_t d = s->choice.shape.d, k = s->choice.shape.k;
  bench_check(s->ctx, oat_setup_make(s->ctx, s->data, &s->settings, NULL, &s->setup));
  const oat_objective_config config = oat_setup_objective(&s->setup);
  bench_check(s->ctx, oat_objective_create(s->ctx, &config, &s->objective));
  double value;
  bench_check(s->ctx, oat_objective_settle(s->ctx, s->objective, &s->setup.start, &value, NULL));
  s->gradient.theta = bench_numbers(s->ctx, oat_theta_count(s->setup.kernel, d));
  s->gradient.z = k > 0 ? bench_numbers(s->ctx, k * d) : NULL;
  s->gradient.without_tau = s->choice.noise == SUBJECT_KNOWN_ALONE;
}

static void choose_candidates(subject *s, oat_rng *rng) {
  const size_t n = s->choice.shape.n, d = s->choice.shape.d, most = (size_t)s->settings.gain_rows,
               m = n < most ? n : most;
  size_t *row = NULL;
  s->points = bench_numbers(s->ctx, m * d);
  bench_check(s->ctx, oat_new(s->ctx, n, sizeof *row, &row));
  oat_rng_sample(rng, n, m, row);
  oat_rows_inputs_of(s->setup.rows, m, row, s->points);
  free(row);
  s->candidates = (oat_points){s->points, m, m};
  s->gain = bench_numbers(s->ctx, m);
  s->gain_work = bench_numbers(s->ctx, oat_gain_work(s->objective, m));
}

void subject_open(subject *s, const subject_choice *choice) {
  *s = (subject){.ctx = oatgp_context_create(), .choice = *choice};
  if (s->ctx == NULL) {
    fprintf(stderr, "bench: out of memory\n");
    exit(1);
  }
  oat_set_blas_threads(1);
  oat_rng_seed(&s->rng, 1);
  choose_settings(s);
  make_data(s, &s->rng);
  make_objective(s);
}

void subject_equip(subject *s) {
  const size_t n = s->choice.shape.n, k = s->choice.shape.k;
  bench_check(s->ctx, oat_model_build(s->ctx, &s->setup, s->objective, &s->setup.start, &s->model));
  choose_candidates(s, &s->rng);
  s->prediction = (oatgp_prediction){.mean = bench_numbers(s->ctx, n), .variance = bench_numbers(s->ctx, n)};
  s->tall = normals(s->ctx, &s->rng, n * k);
  s->product = bench_numbers(s->ctx, n * k);
  s->square = normals(s->ctx, &s->rng, k * k);
  s->gram = bench_numbers(s->ctx, k * k * (size_t)s->choice.threads);
}

void subject_close(subject *s) {
  double *const arrays[] = {
      s->gradient.theta,      s->gradient.z, s->points,  s->gain,   s->gain_work, s->prediction.mean,
      s->prediction.variance, s->tall,       s->product, s->square, s->gram};
  for (size_t i = 0; i < LENGTH(arrays); i++) {
    free(arrays[i]);
  }
  oatgp_model_free(s->model);
  oat_objective_free(s->objective);
  oat_setup_clear(&s->setup);
  oatgp_data_free(s->data);
  oatgp_context_free(s->ctx);
}

static void evaluate(subject *s, oat_gradient *gradient) {
  if (oat_objective_evaluate(s->objective, &s->setup.start, &s->value, gradient) != OATGP_OK) {
    fprintf(stderr, "bench: the objective or its gradient is not finite\n");
    exit(1);
  }
}

void subject_value(subject *s) { evaluate(s, NULL); }

void subject_gradient(subject *s) { evaluate(s, &s->gradient); }

void subject_gains(subject *s) {
  bench_check(s->ctx, oat_objective_gains(s->objective, &s->setup.start, s->candidates, s->gain_work, s->gain));
}

void subject_predict(subject *s) { bench_check(s->ctx, oatgp_predict(s->ctx, s->model, s->data, &s->prediction)); }

static void multiply_neighbours(void *self, size_t lane, size_t item) {
  const subject *s = self;
  const shape z = s->choice.shape;
  const size_t threads = (size_t)s->choice.threads, first = item * z.n / threads, end = (item + 1) * z.n / threads;
  (void)lane;
  for (size_t i = first; i < end; i++) {
    const size_t from = i < z.n - z.m ? i : z.n - z.m;
    oat_syrk(1, (oat_const_view){s->tall + from * z.k, z.k, z.m, z.k}, 0, oat_square(s->gram + item * z.m * z.m, z.m));
  }
}

static void multiply_share(void *self, size_t lane, size_t item) {
  const subject *s = self;
  const size_t n = s->choice.shape.n, k = s->choice.shape.k, threads = (size_t)s->choice.threads;
  const size_t first = item * n / threads, rows = (item + 1) * n / threads - first;
  const oat_const_view tall = {s->tall + first, rows, k, n}, square = oat_const_square(s->square, k);
  const oat_view product = {s->product + first, rows, k, n};
  (void)lane;
  oat_gemm(1, tall, OAT_PLAIN, square, OAT_PLAIN, 0, product);
  oat_syrk(1, tall, 0, oat_square(s->gram + item * k * k, k));
  oat_gemm(1, tall, OAT_PLAIN, square, OAT_PLAIN, 0, product);
}

void subject_floor(subject *s) {
  const size_t threads = (size_t)s->choice.threads;
  oat_loop_run(&(oat_loop){.items = threads,
                           .lanes = threads,
                           .threads = s->choice.threads,
                           .item = s->choice.shape.m > 0 ? multiply_neighbours : multiply_share,
                           .self = s});
}
