/* Leave-one-out against fits without each row, and cross-validation, which is the same with as many folds as rows and
 * everything fixed. */
#include "fixed_fits.h"

#include "model/model.h"
#include "util/threads.h"

enum { ROWS = 24, KNOTS = 7 };

/* Arrays of held-out rows. */
typedef struct held {
  size_t n;
  oatgp_held_out out;
} held;

static held new_held(size_t n) {
  double *all = new_doubles(4 * n);
  return (held){n, {all, all + n, all + 2 * n, all + 3 * n}};
}

static void free_held(held *h) { free(h->out.mean); }

static oatgp_data *pick(scratch *s, const oatgp_data *data, size_t count, const size_t *rows) {
  oatgp_data *out = NULL;
  must(s, oatgp_data_select(s->ctx, data, count, rows, &out));
  return out;
}

/* The data without row i, or that row alone. */
static oatgp_data *without(scratch *s, const oatgp_data *data, size_t i) {
  size_t rows[ROWS * 4], count = 0;
  for (size_t j = 0; j < oatgp_data_rows(data); j++) {
    if (j != i) {
      rows[count++] = j;
    }
  }
  return pick(s, data, count, rows);
}

/* Every row predicted by a fit to the others at the same parameters and knots. */
static held really_left_out(scratch *s, const oatgp_data *data, const oatgp_data *knots, const double *y) {
  const size_t n = oatgp_data_rows(data);
  held h = new_held(n);
  for (size_t i = 0; i < n; i++) {
    oatgp_data *others = without(s, data, i), *row = pick(s, data, 1, &i);
    oatgp_model *model = must_fit(s, others, knots);
    double *all = must_predict(s, model, row);
    h.out.mean[i] = all[0];
    h.out.variance[i] = all[2];
    h.out.residual[i] = (y[i] - all[0]) / sqrt(all[2]);
    h.out.nlp[i] = 0.5 * (log(OAT_TWO_PI * all[2]) + h.out.residual[i] * h.out.residual[i]);
    free(all);
    oatgp_model_free(model);
    oatgp_data_free(row);
    oatgp_data_free(others);
  }
  return h;
}

static void expect_near_rows(const held *a, const held *b, double tolerance) {
  assert_int_equal(a->n, b->n);
  assert_near(largest_error(a->n, a->out.mean, b->out.mean), 0, tolerance);
  assert_near(largest_error(a->n, a->out.variance, b->out.variance), 0, tolerance);
  for (size_t i = 0; i < a->n; i++) {
    assert_nats(a->out.nlp[i], b->out.nlp[i], tolerance);
  }
  assert_near(largest_error(a->n, a->out.residual, b->out.residual), 0, tolerance);
}

/* Density and residual are those of mean and variance, which is positive. */
static void expect_own_density(const held *h, const double *y) {
  for (size_t i = 0; i < h->n; i++) {
    const double residual = (y[i] - h->out.mean[i]) / sqrt(h->out.variance[i]);
    const double nlp = 0.5 * (log(OAT_TWO_PI * h->out.variance[i]) + residual * residual);
    assert_true(h->out.variance[i] > 0 && isfinite(nlp));
    assert_near(h->out.residual[i], residual, 1e-9);
    assert_near(h->out.nlp[i], nlp, 1e-9);
  }
}

static void equals_leaving_rows_out(scratch *s, const oat_kernel *kernel, problem p) {
  oatgp_data *knots = data_of(s, p.k, p.d, p.z, NULL);
  char text[256];
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    for (size_t noise = 0; noise < ROW_NOISES; noise += amount(1, 2, 3)) {
      for (size_t basis = 0; basis <= 1 + p.d; basis += basis == 0 ? 1 : p.d) {
        fix_everything(s, kernel, v, &p, text);
        s->settings.mean = mean_for(basis);
        s->settings.jitter =
            v.approx->sparse ? 1e-6 : 1e-13; /* of the mean of k(x, x), which the row may be a part of */
        oatgp_data *data = problem_data(s, &p, (row_noise)noise);
        oatgp_model *model = must_fit(s, data, knots);
        held mine = new_held(p.n), truth = really_left_out(s, data, knots, p.r);
        oatgp_scores scores;
        must(s, oatgp_loo(s->ctx, model, data, &mine.out, &scores));
        expect_near_rows(&mine, &truth, 1e-9);
        assert_int_equal(scores.n, p.n);
        assert_nats(info_of(model).loo_mean_nlp, scores.mean_nlp, 1e-12);
        assert_near(info_of(model).loo_rmse, scores.rmse, 1e-12);
        assert_near(info_of(model).loo_coverage95, scores.coverage95, 0);
        free_held(&mine);
        free_held(&truth);
        oatgp_model_free(model);
        oatgp_data_free(data);
      }
    }
  }
  oatgp_data_free(knots);
  free_problem(&p);
}

static void every_model_equals_leaving_rows_out(void **state) {
  equals_leaving_rows_out(*state, oat_kernel_find("se-ard"), make_problem(ROWS, 2, KNOTS, 11));
}

static void expressions_equal_leaving_rows_out(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, 2, KNOTS, 11);
  oat_expression *e = read_expression("se(x1) * linear(x2) + constant + matern32(x2)", 2);
  const oat_kernel kernel = oat_kernel_of_expression(e);
  random_theta(&(oat_rng){{1, 2, 3, 4}}, e, p.theta[OAT_TAU], p.theta);
  equals_leaving_rows_out(s, &kernel, p);
  s->settings.parameters = "";
  oat_expression_free(e);
}

/* A raised jitter is no noise: the full GP's prediction has it in its matrix alone. */
static void the_jitter_of_the_full_gp_is_not_noise(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, 2, KNOTS, 12);
  char text[256];
  fix_everything(s, oat_kernel_find("se-ard"), (variant){oat_approx_find("full"), 0}, &p, text);
  oatgp_data *data = problem_data(s, &p, NOISE_PLAIN);
  oatgp_model *model = must_fit(s, data, NULL);
  held before = new_held(p.n), after = new_held(p.n);
  must(s, oatgp_loo(s->ctx, model, data, &before.out, NULL));
  const double tau = model->theta[OAT_TAU], sigma = model->theta[OAT_SIGMA], jitter = 0.3 * tau * tau;
  model->number[OAT_NUMBER_JITTER] = jitter / (sigma * sigma);
  model->theta[OAT_TAU] = sqrt(tau * tau - jitter);
  for (size_t i = 0; i < p.n; i++) {
    model->noise[i] -= jitter;
  }
  must(s, oatgp_loo(s->ctx, model, data, &after.out, NULL));
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  for (size_t i = 0; i < p.n; i++) {
    assert_near(after.out.mean[i], before.out.mean[i], 1e-12);
    assert_near(after.out.variance[i], before.out.variance[i] - unit * unit * jitter, 1e-12);
  }
  free_held(&before);
  free_held(&after);
  oatgp_model_free(model);
  oatgp_data_free(data);
  free_problem(&p);
}

/* Inputs that vary in only one row: without it their slopes are undetermined, but every result must be finite. */
static void a_row_that_alone_holds_a_slope(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"full", "vfe", "fitc"};
  problem p = make_problem(ROWS, 3, KNOTS, 13);
  for (size_t i = 0; i < p.n; i++) {
    p.x[i + p.n] = i == 5 ? 1 : 0;
    p.x[i + 2 * p.n] = p.x[i];
  }
  oatgp_data *data = problem_data(s, &p, NOISE_PLAIN);
  s->settings.mean = "linear";
  s->settings.knots = "5";
  s->settings.average = 0;
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    s->settings.max_iter = 10;
    oatgp_model *model = must_fit(s, data, NULL);
    held mine = new_held(p.n);
    must(s, oatgp_loo(s->ctx, model, data, &mine.out, NULL));
    for (size_t i = 0; i < p.n; i++) {
      assert_true(fabs(mine.out.mean[i]) < 1e3);
    }
    expect_own_density(&mine, p.r);
    free_held(&mine);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  free_problem(&p);
}

/* A knot on every row and hardly any noise: a row's own weight is all but 1. Without noise of the row's own in its
 * covariance (alpha = 0) nothing is left of 1 less that weight but rounding, and the numbers only go together. */
static void rows_that_stand_alone(void **state) {
  scratch *s = *state;
  problem p = make_grid(14);
  oatgp_data *data = problem_data(s, &p, NOISE_PLAIN), *knots = data_of(s, p.k, p.d, p.z, NULL);
  char text[256];
  variant v;
  p.theta[OAT_TAU] = 1e-9;
  for (size_t m = 0; variant_at(m, &v); m++) {
    fix_everything(s, oat_kernel_find("se-ard"), v, &p, text);
    oatgp_model *model = must_fit(s, data, knots);
    held mine = new_held(p.n);
    must(s, oatgp_loo(s->ctx, model, data, &mine.out, NULL));
    expect_own_density(&mine, p.r);
    if (!v.approx->sparse || v.alpha > 0) {
      held truth = really_left_out(s, data, knots, p.r);
      expect_near_rows(&mine, &truth, v.alpha < 0.1 ? 1e-3 : 1e-6);
      free_held(&truth);
    }
    free_held(&mine);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  oatgp_data_free(knots);
  free_problem(&p);
}

static void threads_change_no_bit(void **state) {
  scratch *s = *state;
  enum { MANY = 3000 };
  oatgp_data *data = wavy_data(s, MANY, 2, 0.2, 15);
  s->settings.knots = "70";
  s->settings.max_iter = 2;
  s->settings.mean = "linear";
  oatgp_model *model = must_fit(s, data, NULL);
  held first = new_held(MANY), other = new_held(MANY);
  oatgp_context_set_threads(s->ctx, 1);
  must(s, oatgp_loo(s->ctx, model, data, &first.out, NULL));
  for (int threads = 2; threads < 20; threads += 5) {
    oatgp_context_set_threads(s->ctx, threads);
    must(s, oatgp_loo(s->ctx, model, data, &other.out, NULL));
    assert_memory_equal(first.out.mean, other.out.mean, 4 * MANY * sizeof(double));
  }
  free_held(&first);
  free_held(&other);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void count_progress(void *user, const char *what, size_t done, size_t total) {
  if (strcmp(what, "leave-one-out") == 0) {
    assert_true(done <= total);
    ++*(int *)user;
  }
}

static void progress_is_told(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "full"};
  oatgp_data *data = wavy_data(s, 600, 1, 0.2, 16);
  for (size_t m = 0; m < LENGTH(models); m++) {
    int told = 0;
    s->settings.approx = models[m];
    s->settings.knots = "5";
    s->settings.max_iter = 0;
    oatgp_model *model = must_fit(s, data, NULL);
    oatgp_context_set_progress(s->ctx, count_progress, &told);
    s->ctx->told = 0; /* long ago */
    must(s, oatgp_loo(s->ctx, model, data, NULL, NULL));
    oatgp_context_set_progress(s->ctx, NULL, NULL);
    assert_true(told > 0);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void files_keep_the_scores(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 1, 0.2, 17);
  s->settings.knots = "6";
  oatgp_model *model = must_fit(s, data, NULL), *loaded = NULL, *old = NULL;
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &loaded));
  oatgp_scores scores;
  must(s, oatgp_loo(s->ctx, model, data, NULL, &scores));
  assert_true(info_of(loaded).loo_mean_nlp == info_of(model).loo_mean_nlp);
  assert_near(info_of(model).loo_mean_nlp, scores.mean_nlp, 1e-12);
  assert_true(info_of(loaded).loo_rmse == info_of(model).loo_rmse &&
              info_of(loaded).loo_coverage95 == info_of(model).loo_coverage95);
  for (size_t i = OAT_NUMBER_OPTIONAL; i < OAT_NUMBERS; i++) { /* as a file of an earlier version */
    model->number[i] = NAN;
  }
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &old));
  assert_true(isnan(info_of(old).loo_mean_nlp) && isnan(info_of(old).loo_rmse) && isnan(info_of(old).loo_coverage95));
  oatgp_model_free(old);
  oatgp_model_free(loaded);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void other_rows_are_refused(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "fitc", "full"};
  problem p = make_problem(ROWS, 2, KNOTS, 18);
  s->settings.knots = "6";
  s->settings.max_iter = 5;
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    oatgp_data *data = problem_data(s, &p, NOISE_PLAIN), *fewer = without(s, data, 3),
               *bare = data_of(s, p.n, p.d, p.x, NULL);
    oatgp_model *model = must_fit(s, data, NULL);
    const bool full = m == 2;
    expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, fewer, NULL, NULL),
                    "was fitted to 24 rows, but these data have 23");
    expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, bare, NULL, NULL), "have no target");
    data->own_y[4] += 0.5;
    expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, data, NULL, NULL),
                    full ? "their values or their order" : "their targets or weights");
    data->own_y[4] -= 0.5;
    data->own_x[4] += 0.5;
    expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, data, NULL, NULL),
                    full ? "their values or their order" : "not fitted to these rows");
    oatgp_model_free(model);
    oatgp_data_free(data);
    oatgp_data_free(fewer);
    oatgp_data_free(bare);
  }
  expect_sentence(s, OATGP_ARGUMENT, oatgp_loo(s->ctx, NULL, NULL, NULL, NULL), "must not be NULL");
  assert_int_equal(oatgp_loo(NULL, NULL, NULL, NULL, NULL), OATGP_ARGUMENT);
  free_problem(&p);
}

/* As a damaged file could have them. */
static void broken_sums_are_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 50, 1, 0.2, 20);
  s->settings.knots = "6";
  s->settings.mean = "linear";
  oatgp_model *model = must_fit(s, data, NULL);
  oat_sums_over(model->sums, model->k, model->p).rwr[5] = NAN; /* the slope's column with the constant's */
  expect_sentence(s, OATGP_NUMERIC, oatgp_loo(s->ctx, model, data, NULL, NULL), "normal equations of the mean");
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* The order of the rows does not matter for a sparse model. */
static void rows_may_come_in_another_order(void **state) {
  scratch *s = *state;
  size_t order[50];
  oatgp_data *data = wavy_data(s, 50, 1, 0.2, 19);
  for (size_t i = 0; i < 50; i++) {
    order[i] = (7 * i + 3) % 50;
  }
  oatgp_data *shuffled = pick(s, data, 50, order);
  s->settings.knots = "6";
  oatgp_model *model = must_fit(s, data, NULL);
  held mine = new_held(50), other = new_held(50);
  must(s, oatgp_loo(s->ctx, model, data, &mine.out, NULL));
  must(s, oatgp_loo(s->ctx, model, shuffled, &other.out, NULL));
  for (size_t i = 0; i < 50; i++) {
    assert_near(other.out.mean[i], mine.out.mean[order[i]], 1e-12);
  }
  free_held(&mine);
  free_held(&other);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(shuffled);
}

/* ---- cross-validation ------------------------------------------------------------------------------------------ */

static void as_many_folds_as_rows_leave_one_out(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, 2, KNOTS, 20);
  oatgp_data *data = problem_data(s, &p, NOISE_BOTH), *knots = data_of(s, p.k, p.d, p.z, NULL);
  char text[256];
  fix_everything(s, oat_kernel_find("se-ard"), (variant){oat_approx_find("fitc"), 1}, &p, text);
  s->settings.folds = ROWS;
  oatgp_model *model = must_fit(s, data, knots);
  held mine = new_held(p.n), cv = new_held(p.n);
  oatgp_scores scores, totals;
  must(s, oatgp_loo(s->ctx, model, data, &mine.out, &scores));
  must(s, oatgp_cv(s->ctx, data, &s->settings, knots, NULL, &cv.out, &totals));
  expect_near_rows(&mine, &cv, 1e-9);
  assert_nats(scores.mean_nlp, totals.mean_nlp, 1e-9);
  assert_near(scores.srmse, totals.srmse, 1e-9);
  free_held(&mine);
  free_held(&cv);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(knots);
  free_problem(&p);
}

/* What the callbacks of a cross-validation saw. */
typedef struct witness {
  size_t folds, rows, events;
  size_t stop_after; /* so many folds, 0 for never */
  bool stop_fit;
  double nlp; /* sum over rows */
} witness;

static int see_event(void *user, const oatgp_event *event) {
  witness *w = user;
  (void)event;
  w->events++;
  return w->stop_fit;
}

static int see_fold(void *user, const oatgp_fold *fold) {
  witness *w = user;
  w->folds++;
  w->rows += fold->scores.n;
  w->nlp += fold->scores.mean_nlp * (double)fold->scores.n;
  assert_int_equal(fold->number, w->folds);
  assert_int_equal(fold->count, 4);
  assert_int_equal(fold->fitted + fold->scores.n, 50);
  assert_true(fold->scores.n == 12 || fold->scores.n == 13);
  assert_int_equal(info_of(fold->model).n, fold->fitted);
  return w->folds == w->stop_after;
}

static void quick_folds(scratch *s) {
  s->settings.knots = "6";
  s->settings.max_iter = 8;
  s->settings.folds = 4;
}

static void every_row_is_in_one_fold(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 50, 1, 0.2, 21);
  witness w = {0};
  const oatgp_cv_watch watch = {see_event, see_fold, &w};
  held first = new_held(50), again = new_held(50), other = new_held(50);
  oatgp_scores scores;
  quick_folds(s);
  must(s, oatgp_cv(s->ctx, data, &s->settings, NULL, &watch, &first.out, &scores));
  assert_int_equal(w.folds, 4);
  assert_int_equal(w.rows, 50);
  assert_true(w.events > 8);
  assert_int_equal(scores.n, 50);
  assert_nats(scores.mean_nlp, w.nlp / 50, 1e-12);
  assert_true(scores.rmse < 0.6 && scores.srmse < 0.8);
  must(s, oatgp_cv(s->ctx, data, &s->settings, NULL, NULL, &again.out, NULL));
  assert_memory_equal(first.out.mean, again.out.mean, 200 * sizeof(double));
  s->settings.seed = 5;
  must(s, oatgp_cv(s->ctx, data, &s->settings, NULL, NULL, &other.out, NULL));
  assert_true(memcmp(first.out.mean, other.out.mean, 200 * sizeof(double)) != 0);
  free_held(&first);
  free_held(&again);
  free_held(&other);
  oatgp_data_free(data);
}

static void it_can_be_stopped(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 50, 1, 0.2, 22);
  witness w = {.stop_after = 2};
  const oatgp_cv_watch watch = {see_event, see_fold, &w};
  held h = new_held(50);
  oatgp_scores scores;
  size_t known = 0;
  quick_folds(s);
  must(s, oatgp_cv(s->ctx, data, &s->settings, NULL, &watch, &h.out, &scores));
  for (size_t i = 0; i < 50; i++) {
    known += !isnan(h.out.mean[i]) && !isnan(h.out.nlp[i]);
  }
  assert_int_equal(w.folds, 2);
  assert_int_equal(scores.n, w.rows);
  assert_int_equal(known, w.rows);
  assert_nats(scores.mean_nlp, w.nlp / (double)w.rows, 1e-12);
  w = (witness){.stop_fit = true};
  expect_sentence(s, OATGP_STOPPED, oatgp_cv(s->ctx, data, &s->settings, NULL, &watch, &h.out, &scores),
                  "before the first fold");
  free_held(&h);
  oatgp_data_free(data);
}

static void senseless_validations_are_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 5, 1, 0.2, 23);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_cv(s->ctx, data, &s->settings, NULL, NULL, NULL, NULL),
                  "folds is 10, but there are only 5 rows");
  s->settings.folds = 1;
  expect_sentence(s, OATGP_ARGUMENT, oatgp_cv(s->ctx, data, &s->settings, NULL, NULL, NULL, NULL),
                  "folds is 1 but must be from 2");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_cv(s->ctx, NULL, &s->settings, NULL, NULL, NULL, NULL), "must not be NULL");
  assert_int_equal(oatgp_cv(NULL, NULL, NULL, NULL, NULL, NULL, NULL), OATGP_ARGUMENT);
  oatgp_data_free(data);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(every_model_equals_leaving_rows_out),
      WITH_SCRATCH(expressions_equal_leaving_rows_out),
      WITH_SCRATCH(the_jitter_of_the_full_gp_is_not_noise),
      WITH_SCRATCH(a_row_that_alone_holds_a_slope),
      WITH_SCRATCH(rows_that_stand_alone),
      WITH_SCRATCH(threads_change_no_bit),
      WITH_SCRATCH(progress_is_told),
      WITH_SCRATCH(files_keep_the_scores),
      WITH_SCRATCH(other_rows_are_refused),
      WITH_SCRATCH(broken_sums_are_refused),
      WITH_SCRATCH(rows_may_come_in_another_order),
      WITH_SCRATCH(as_many_folds_as_rows_leave_one_out),
      WITH_SCRATCH(every_row_is_in_one_fold),
      WITH_SCRATCH(it_can_be_stopped),
      WITH_SCRATCH(senseless_validations_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
