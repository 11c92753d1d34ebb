/* Knots and neighbours: the objective, predictions and leave-one-out against the covariance that the regressions on
 * nearest earlier rows imply, written out densely (dense.h), and against what it must become without neighbours and
 * with all of them. */
#include "dense.h"
#include "fixed_fits.h"
#include "model/model.h"
#include "util/threads.h"

enum { ROWS = 37, INPUTS = 2, KNOTS = 5, POINTS = 19, ALL = ROWS - 1 };

static const size_t bases[] = {0, 1, 1 + INPUTS};

static variant fitc(void) { return (variant){oat_approx_find("fitc"), 1}; }

static oat_objective_config neighbour_config(const oat_rows *rows, const oat_kernel *kernel, size_t neighbours) {
  oat_objective_config config = config_of(rows, kernel, fitc(), KNOTS);
  config.neighbours = neighbours;
  return config;
}

/* Points within the range of the rows, and the first row itself. */
static void choose_points(const problem *p, double *points) {
  oat_rng rng;
  oat_rng_seed(&rng, 112);
  for (size_t i = 0; i < POINTS * INPUTS; i++) {
    points[i] = i % POINTS == 0 ? p->x[i / POINTS * p->n] : 4 * oat_rng_uniform(&rng) - 2;
  }
}

/* ---- through the public functions ------------------------------------------------------------------------------ */

/* All predictions of a model: of points (mean, latent variance, variance; covariance) and of its rows left out (mean,
 * variance). */
typedef struct answers {
  double objective, point[3 * POINTS], joint[POINTS * POINTS], left_out[2 * ROWS];
} answers;

static answers ask(scratch *s, const oatgp_model *model, const oatgp_data *data, const oatgp_data *points) {
  answers a = {.objective = info_of(model).objective};
  double unused[2 * ROWS];
  oatgp_scores scores;
  double *all = must_predict(s, model, points);
  memcpy(a.point, all, sizeof a.point);
  free(all);
  must(s, oatgp_predict_covariance(s->ctx, model, points, a.joint));
  const oatgp_held_out rows = {a.left_out, a.left_out + ROWS, unused, unused + ROWS};
  must(s, oatgp_loo(s->ctx, model, data, &rows, &scores));
  assert_nats(scores.mean_nlp, info_of(model).loo_mean_nlp, 1e-12);
  return a;
}

static void fix_neighbours(scratch *s, const oat_kernel *kernel, const problem *p, size_t neighbours, char text[256]) {
  fix_everything(s, kernel, fitc(), p, text);
  s->settings.neighbours = (int64_t)neighbours;
  s->settings.order = "file";
}

/* The answers of a model by the settings of the scratch. */
static answers answers_of(scratch *s, const problem *p, row_noise noise, const double *at) {
  oatgp_data *data = problem_data(s, p, noise), *points = data_of(s, POINTS, INPUTS, at, NULL);
  oatgp_model *model = fixed_model(s, p, noise);
  const answers a = ask(s, model, data, points);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(points);
  return a;
}

static double difference_of(const answers *a, const answers *b) {
  const double points = largest_error(LENGTH(a->point), a->point, b->point),
               rows = largest_error(2 * ROWS, a->left_out, b->left_out);
  const double joint = largest_error(LENGTH(a->joint), a->joint, b->joint);
  return worse_of(worse_of(relative_error(a->objective, b->objective), joint), worse_of(points, rows));
}

/* ---- the dense formula ----------------------------------------------------------------------------------------- */

static answers dense_answers(const problem *p, const oat_rows *rows, const oat_kernel *kernel, size_t neighbours,
                             size_t near, const double *at) {
  double theta[MAX_THETA];
  real mean[ROWS], variance[ROWS];
  answers a;
  memcpy(theta, p->theta, sizeof theta);
  const oat_objective_config config = neighbour_config(rows, kernel, neighbours);
  dense m = dense_make(&config, &(oat_point){theta, p->z});
  a.objective = (double)m.value;
  for (size_t i = 0; i < POINTS; i++) {
    dense_predict_near(&m, at + i, POINTS, near, mean, variance);
    for (size_t j = 0; j < m.p; j++) {
      *mean += m.beta[j] * (j == 0 ? 1 : at[i + (j - 1) * POINTS]);
    }
    a.point[i] = (double)*mean;
    a.point[POINTS + i] = (double)*variance;
    a.point[2 * POINTS + i] = (double)(*variance + (real)theta[OAT_TAU] * theta[OAT_TAU]);
  }
  real joint[POINTS * POINTS];
  dense_joint_near(&m, (oat_points){at, POINTS, POINTS}, near, joint);
  for (size_t i = 0; i < LENGTH(joint); i++) {
    a.joint[i] = (double)joint[i];
  }
  dense_leave_out(&m, rows, mean, variance);
  for (size_t i = 0; i < ROWS; i++) {
    a.left_out[i] = (double)(rows->r[i] - mean[i]);
    a.left_out[ROWS + i] = (double)variance[i];
  }
  dense_free(&m);
  return a;
}

static double check_dense(scratch *s, const problem *p, const oat_kernel *kernel, size_t neighbours) {
  char text[256];
  double at[POINTS * INPUTS], worst = 0;
  choose_points(p, at);
  for (row_noise noise = NOISE_PLAIN; noise < ROW_NOISES; noise++) {
    for (size_t b = 0; b < LENGTH(bases); b++) {
      const oat_rows rows = rows_of(p, noise, bases[b]);
      fix_neighbours(s, kernel, p, neighbours, text);
      s->settings.mean = mean_for(bases[b]);
      s->settings.predict_neighbours = (int64_t)(3 * neighbours);
      const answers got = answers_of(s, p, noise, at),
                    wanted = dense_answers(p, &rows, kernel, neighbours, 3 * neighbours, at);
      worst = worse_of(worst, difference_of(&got, &wanted));
    }
  }
  return worst;
}

static void dense_formulas(void **state) {
  scratch *s = *state;
  static const size_t counts[] = {1, 5, 12, ALL};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 201);
  for (size_t i = 0; oat_kernel_at(i) != NULL; i += amount(1, 2, 4)) {
    double worst = 0;
    for (size_t m = 0; m < LENGTH(counts); m++) {
      worst = worse_of(worst, check_dense(s, &p, oat_kernel_at(i), counts[m]));
    }
    print_message("%-14s: objective, predictions and leave-one-out within %.1e of the dense formula\n",
                  oat_kernel_at(i)->name, worst);
    assert_true(worst <= 1e-9);
  }
  free_problem(&p);
}

/* ---- the two ends ---------------------------------------------------------------------------------------------- */

/* Without neighbours the settings about them change nothing, and the device has nothing of them. */
static void none_is_fitc(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 202);
  double at[POINTS * INPUTS];
  char text[256];
  choose_points(&p, at);
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    const row_noise noise = (row_noise)(i % ROW_NOISES);
    fix_neighbours(s, oat_kernel_at(i), &p, 0, text);
    s->settings.predict_neighbours = 7;
    const answers none = answers_of(s, &p, noise, at);
    fix_everything(s, oat_kernel_at(i), fitc(), &p, text);
    s->settings.order = "random";
    const answers plain = answers_of(s, &p, noise, at);
    assert_memory_equal(&none, &plain, sizeof none);
  }
  free_problem(&p);
}

/* With all earlier rows the knots do not matter; with a lengthscale for each input, the nearest of all are all, too. */
static void all_are_the_full_gp(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 203);
  double at[POINTS * INPUTS], worst = 0;
  char text[256];
  choose_points(&p, at);
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    for (size_t b = 0; b < LENGTH(bases); b++) {
      const row_noise noise = (row_noise)((i + b) % ROW_NOISES);
      oat_rng rng;
      oat_rng_seed(&rng, i + b);
      for (size_t c = 0; c < KNOTS * INPUTS; c++) {
        p.z[c] = oat_rng_normal(&rng);
      }
      fix_neighbours(s, oat_kernel_at(i), &p, ALL, text);
      s->settings.mean = mean_for(bases[b]);
      s->settings.predict_neighbours = ROWS;
      const answers near = answers_of(s, &p, noise, at);
      fix_everything(s, oat_kernel_at(i), (variant){oat_approx_find("full"), 0}, &p, text);
      s->settings.mean = mean_for(bases[b]);
      s->settings.order = "random";
      const answers full = answers_of(s, &p, noise, at);
      worst = worse_of(worst, difference_of(&near, &full));
    }
  }
  print_message("all earlier rows: within %.1e of the full GP\n", worst);
  assert_true(worst <= 1e-9);
  free_problem(&p);
}

/* More than there are is all of them. */
static void too_many_are_all(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 204);
  double at[POINTS * INPUTS];
  char text[256];
  choose_points(&p, at);
  fix_neighbours(s, oat_kernel_find("rq-ard"), &p, ALL, text);
  s->settings.predict_neighbours = ROWS;
  const answers all = answers_of(s, &p, NOISE_BOTH, at);
  s->settings.neighbours = s->settings.predict_neighbours = 5000;
  const answers more = answers_of(s, &p, NOISE_BOTH, at);
  assert_memory_equal(&all, &more, sizeof all);
  free_problem(&p);
}

/* ---- threads, blocks, memory ----------------------------------------------------------------------------------- */

static void expect_same_outcome(const outcome *a, const outcome *b) {
  assert_true(a->value == b->value);
  assert_memory_equal(a->gradient, b->gradient, a->count * sizeof *a->gradient);
  assert_memory_equal(a->coefficient, b->coefficient, sizeof a->coefficient);
}

static void threads_change_no_bit(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 5};
  problem p = make_problem(1500, INPUTS, KNOTS, 205);
  const oat_rows rows = rows_of(&p, NOISE_BOTH, 1);
  oat_objective_config config = neighbour_config(&rows, oat_kernel_find("matern52-ard"), 8);
  outcome first = {0};
  config.block = 100;
  for (size_t t = 0; t < LENGTH(threads); t++) {
    config.where.threads = threads[t];
    const outcome o = evaluate_once(&config, &(oat_point){p.theta, p.z});
    first = t == 0 ? o : first;
    expect_same_outcome(&first, &o);
  }
  free_problem(&p);
}

/* Factors that are made again, and other blocks, are the same numbers but for rounding. */
static void memory_and_blocks_hardly_matter(void **state) {
  (void)state;
  static const size_t blocks[] = {0, 1, 7, 64, 5000};
  problem p = make_problem(300, INPUTS, KNOTS, 206);
  for (size_t b = 0; b < LENGTH(bases); b++) {
    const oat_rows rows = rows_of(&p, NOISE_SCALED, bases[b]);
    oat_objective_config config = neighbour_config(&rows, oat_kernel_find("se-ard"), 9);
    const outcome kept = evaluate_once(&config, &(oat_point){p.theta, p.z});
    for (size_t i = 0; i < LENGTH(blocks); i++) {
      config.block = blocks[i];
      config.memory = 0;
      const outcome again = evaluate_once(&config, &(oat_point){p.theta, p.z});
      assert_near(again.value, kept.value, 1e-12);
      assert_true(gradient_error(&again, &kept) <= 1e-9);
    }
  }
  free_problem(&p);
}

/* ---- hard numbers ---------------------------------------------------------------------------------------------- */

/* Next to no noise, equal rows, knots on rows: C is a difference that has lost its digits. Value and slopes stay
 * numbers. */
static void next_to_no_noise(void **state) {
  (void)state;
  static const double tau[] = {1e-2, 1e-4, 1e-6, 1e-8};
  problem p = make_problem(200, INPUTS, 20, 207), repeated = repeat_rows(&p);
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    for (size_t t = 0; t < LENGTH(tau) && i % amount(1, 2, 4) == 0; t++) {
      const oat_rows rows = rows_of(i % 2 == 0 ? &p : &repeated, NOISE_PLAIN, i % 2);
      oat_objective_config config = neighbour_config(&rows, oat_kernel_at(i), 15);
      config.k = 20;
      p.theta[OAT_TAU] = tau[t];
      const outcome o = evaluate_once(&config, &(oat_point){p.theta, p.z});
      assert_true(isfinite(o.value));
      for (size_t g = 0; g < o.count; g++) {
        assert_true(isfinite(o.gradient[g]));
      }
    }
  }
  free_problem(&p);
  free_problem(&repeated);
}

/* If the noise is small but the digits suffice, the error is no larger than the condition number explains. */
static void little_noise_is_right(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 208);
  double at[POINTS * INPUTS];
  char text[256];
  const oat_kernel *kernel = oat_kernel_find("matern32-ard");
  const oat_rows rows = rows_of(&p, NOISE_PLAIN, 0);
  choose_points(&p, at);
  p.theta[OAT_TAU] = 1e-5;
  fix_neighbours(s, kernel, &p, 6, text);
  s->settings.predict_neighbours = 18;
  const answers got = answers_of(s, &p, NOISE_PLAIN, at), wanted = dense_answers(&p, &rows, kernel, 6, 18, at);
  assert_true(difference_of(&got, &wanted) <= 1e-9);
  free_problem(&p);
}

/* Equal rows without noise: the fit and the predictions warn that rounding matters, the latter once. */
static void rounding_is_told(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 209);
  double at[POINTS * INPUTS];
  char text[256];
  choose_points(&p, at);
  for (size_t i = 0; i < ROWS * INPUTS; i++) {
    p.x[i] = p.x[i % ROWS % 2 == 1 ? i - 1 : i];
  }
  p.theta[OAT_TAU] = 1e-12;
  fix_neighbours(s, oat_kernel_find("se-ard"), &p, 6, text);
  s->said[0] = '\0';
  oatgp_model *model = fixed_model(s, &p, NOISE_PLAIN);
  char *sentence = strstr(s->said, "note the noise is so small that rounding matters");
  assert_non_null(sentence);
  assert_non_null(strstr(sentence, "rows\n"));
  s->said[0] = '\0';
  oatgp_data *points = data_of(s, POINTS, INPUTS, at, NULL);
  double mean[POINTS], variance[POINTS];
  for (int again = 0; again < 2; again++) {
    assert_int_equal(oatgp_predict(s->ctx, model, points, &(oatgp_prediction){.mean = mean, .variance = variance}),
                     OATGP_OK);
  }
  sentence = strstr(s->said, "rounding matters");
  assert_non_null(sentence);
  assert_non_null(strstr(sentence, "predictions\n"));
  assert_null(strstr(sentence + 1, "rounding matters"));
  oatgp_data_free(points);
  oatgp_model_free(model);
  free_problem(&p);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(dense_formulas),
      WITH_SCRATCH(none_is_fitc),
      WITH_SCRATCH(all_are_the_full_gp),
      WITH_SCRATCH(too_many_are_all),
      cmocka_unit_test(threads_change_no_bit),
      cmocka_unit_test(memory_and_blocks_hardly_matter),
      cmocka_unit_test(next_to_no_noise),
      WITH_SCRATCH(little_noise_is_right),
      WITH_SCRATCH(rounding_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
