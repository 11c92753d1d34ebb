/* The number of threads changes no bit: objective, gradient, selected knots, final model, predictions. A forked child
 * works on one thread instead of waiting for threads that it does not have. A thread leaves the processor on which its
 * team began. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "fits.h"
#include "util/lanes.h"
#include "util/threads.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>

static const int64_t counts[] = {1, 2, 3, 7, 16};

static size_t count_of_counts(void) { return amount(LENGTH(counts), 3, 2); }

enum { ROWS = 600, INPUTS = 2, BLOCK = 50 }; /* more blocks than threads */

static void expect_same_numbers(size_t n, const double *a, const double *b) {
  assert_memory_equal(a, b, n * sizeof *a);
}

static void evaluations_have_the_same_bits(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.2, 1);
  static const char *const models[] = {"vfe", "full", "fitc", "dtc", "pep", "tvfe"};
  for (size_t m = 0; m < LENGTH(models); m++) {
    oatgp_evaluation first = {0};
    for (size_t i = 0; i < count_of_counts(); i++) {
      oatgp_evaluation other = {0};
      s->settings.approx = models[m];
      s->settings.threads = counts[i];
      s->settings.block = BLOCK;
      s->settings.memory = m % 2 == 0 ? 1 : 0; /* with and without V kept */
      must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 1, i == 0 ? &first : &other));
      if (i > 0) {
        assert_true(first.objective == other.objective);
        assert_true(first.d_log_sigma == other.d_log_sigma && first.d_log_tau == other.d_log_tau);
        expect_same_numbers(first.lengthscale_count, first.d_log_lengthscales, other.d_log_lengthscales);
        expect_same_numbers(first.knots * first.inputs, first.d_knots, other.d_knots);
      }
      oatgp_evaluation_clear(&other);
    }
    oatgp_evaluation_clear(&first);
  }
  oatgp_data_free(data);
}

static void fits_have_the_same_bits(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.2, 2);
  static const char *const ways[] = {"simultaneous", "oat-gain", "oat-bo"};
  for (size_t w = 0; w < LENGTH(ways); w++) {
    double *first = NULL, knots[2][64];
    for (size_t i = 0; i < count_of_counts(); i++) {
      s->settings.select = ways[w];
      s->settings.knots = "6";
      s->settings.max_knots = 12;
      s->settings.max_iter = 8;
      s->settings.candidates = 10;
      s->settings.batch = 2;
      s->settings.threads = counts[i];
      s->settings.block = BLOCK;
      oatgp_context_set_threads(s->ctx, (int)counts[i]);
      oatgp_model *model = must_fit(s, data, NULL);
      double *all = must_predict(s, model, data);
      must(s, oatgp_model_knots(s->ctx, model, knots[i > 0], NULL, NULL));
      if (i == 0) {
        first = all;
      } else {
        expect_same_numbers(3 * ROWS, first, all);
        expect_same_numbers(info_of(model).knots * INPUTS, knots[0], knots[1]);
        free(all);
      }
      oatgp_model_free(model);
    }
    free(first);
  }
  oatgp_data_free(data);
}

/* The events of the exact GP of some rows, and where the fit is stopped. */
typedef struct listener {
  size_t calls, stop_at; /* 0: never */
  double told[2000];
} listener;

static int listen_to(void *user, const oatgp_event *event) {
  listener *l = user;
  const double numbers[] = {
      (double)event->kind, (double)event->evaluations, event->objective, event->best, event->gradient, event->tau};
  if (event->kind == OATGP_EVENT_SUBSET && (l->calls + 1) * LENGTH(numbers) <= LENGTH(l->told)) {
    memcpy(l->told + l->calls * LENGTH(numbers), numbers, sizeof numbers);
  }
  l->calls++;
  return l->stop_at > 0 && l->calls >= l->stop_at;
}

static void expect_same_fits(scratch *s, const oatgp_data *data, size_t stop_at) {
  listener *first = calloc(2, sizeof *first), *other = first + 1;
  oatgp_model *one = NULL;
  for (size_t i = 0; i < count_of_counts(); i++) {
    oatgp_model *model = NULL;
    listener *l = i == 0 ? first : other;
    *l = (listener){.stop_at = stop_at};
    s->settings.threads = counts[i];
    oatgp_context_set_threads(s->ctx, (int)counts[i]);
    must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, listen_to, l, &model));
    if (i == 0) {
      one = model;
      continue;
    }
    assert_int_equal(first->calls, other->calls);
    expect_same_numbers(LENGTH(first->told), first->told, other->told);
    expect_same_model(s, data, one, model);
    oatgp_model_free(model);
  }
  oatgp_model_free(one);
  free(first);
}

/* Starts run in parallel: their events, their results and their state after a stop are the same as if they ran one
 * after the other. With 60 rows the race has all; with 110 the settling has; with 400 neither. */
static void automatic_fits_have_the_same_bits(void **state) {
  scratch *s = *state;
  static const size_t rows[] = {60, 110, 400}, stops[] = {0, 1, 5, 17, 30, 43, 71};
  s->settings.subset_rows = 70;
  s->settings.max_knots = 20;
  s->settings.block = BLOCK;
  for (size_t i = 0; i < amount(LENGTH(rows), LENGTH(rows), 1); i++) {
    oatgp_data *data = wavy_data(s, rows[i], INPUTS, 0.2, 5 + i);
    for (size_t j = 0; j < LENGTH(stops); j += amount(1, 2, 4)) {
      expect_same_fits(s, data, stops[j]);
    }
    oatgp_data_free(data);
  }
}

/* Knots that are chosen among more rows than are looked at in one go: greedy residuals, k-means, the surrogate of
 * oat-bo. */
static void choices_among_many_rows_are_the_same(void **state) {
  scratch *s = *state;
  enum { MANY = 9000, MOST = 12 };
  oatgp_data *data = wavy_data(s, MANY, INPUTS, 0.2, 4);
  static const struct {
    const char *select, *knots;
  } ways[] = {{"variance", "4"}, {"simultaneous", "kmeans:10"}, {"oat-bo", "kmeans:3"}};
  for (size_t w = 0; w < LENGTH(ways); w++) {
    double knots[2][MOST * INPUTS] = {{0}};
    for (size_t i = 0; i < count_of_counts(); i++) {
      s->settings.select = ways[w].select;
      s->settings.knots = ways[w].knots;
      s->settings.max_knots = strcmp(ways[w].select, "oat-bo") == 0 ? 5 : MOST;
      s->settings.max_iter = 1;
      s->settings.candidates = 8;
      s->settings.first_candidates = 4;
      s->settings.threads = counts[i];
      oatgp_context_set_threads(s->ctx, (int)counts[i]);
      oatgp_model *model = must_fit(s, data, NULL);
      assert_true(info_of(model).knots <= MOST);
      must(s, oatgp_model_knots(s->ctx, model, knots[i > 0], NULL, NULL));
      expect_same_numbers(MOST * INPUTS, knots[0], knots[i > 0]);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

/* Everything that is O(rows^3): fit, joint covariance, draws, leave-one-out. */
static void take_results(scratch *s, const oatgp_data *data, size_t n, double *to) {
  oatgp_model *model = must_fit(s, data, NULL);
  double *draws = to + n * n, *mean = draws + n, *rows = mean + n;
  must(s, oatgp_predict_covariance(s->ctx, model, data, to));
  must(s, oatgp_predict_samples(s->ctx, model, data, 1, 1, draws));
  must(s, oatgp_predict_mean(s->ctx, model, data, mean));
  must(s, oatgp_loo(s->ctx, model, data, &(oatgp_held_out){.mean = rows, .variance = rows + n, .nlp = rows + 2 * n},
                    NULL));
  oatgp_model_free(model);
}

static void the_full_gp_has_the_same_bits(void **state) {
  scratch *s = *state;
  const size_t n = under_valgrind() ? 140 : 300, count = n * (n + 5);
  oatgp_data *data = wavy_data(s, n, INPUTS, 0.2, 6);
  double *first = calloc(count, sizeof *first), *other = calloc(count, sizeof *other);
  s->settings.approx = "full";
  s->settings.select = "fixed";
  s->settings.max_iter = 2;
  for (size_t i = 0; i < count_of_counts(); i++) {
    s->settings.threads = counts[i];
    oatgp_context_set_threads(s->ctx, (int)counts[i]);
    take_results(s, data, n, i == 0 ? first : other);
    expect_same_numbers(i == 0 ? 0 : count, first, other);
  }
  free(first);
  free(other);
  oatgp_data_free(data);
}

static void expect_child_works(scratch *s, const oatgp_data *data) {
  oatgp_evaluation before = {0}, after = {0};
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &before));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(20);
    const oatgp_status status = oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &after);
    _exit(status == OATGP_OK && after.objective == before.objective ? 0 : 1);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
  oatgp_evaluation_clear(&before);
}

static void a_forked_child_works(void **state) {
  scratch *s = *state;
  if (under_valgrind()) {
    skip();
  }
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.2, 3);
  s->settings.threads = 2;
  s->settings.block = BLOCK;
  expect_child_works(s, data);
  s->settings.approx = "full";
  expect_child_works(s, data);
  oatgp_data_free(data);
}

#if defined(__linux__)
typedef struct stay {
  bool known, may_stay;
} stay;

/* As if the team had begun where the worker is. */
static void leave_own_place(void *self, size_t lane, size_t item) {
  stay *found = self;
  cpu_set_t may;
  (void)lane;
  (void)item;
  const int place = oat_place();
  oat_leave_place(place);
  sched_getaffinity(0, sizeof may, &may);
  found[oat_worker()] = (stay){place >= 0, place >= 0 && CPU_ISSET((size_t)place, &may)};
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* so that the other worker takes its own lanes */
}

static void threads_leave_the_place_of_their_team(void **state) {
  scratch *s = *state;
  cpu_set_t may;
  sched_getaffinity(0, sizeof may, &may);
  if (CPU_COUNT(&may) == 1 || oat_place() < 0) {
    skip();
  }
  for (int round = 0; round < 20; round++) { /* the second thread may be late, or move while it is asked */
    stay found[2] = {{false, true}, {false, true}};
    const oat_loop loop = {.ctx = s->ctx, .items = 2, .lanes = 2, .threads = 2, .item = leave_own_place, .self = found};
    assert_true(oat_loop_run(&loop));
    assert_true(!found[0].known || found[0].may_stay); /* the thread to which the team belongs */
    if (found[1].known && !found[1].may_stay) {
      return;
    }
  }
  fail_msg("in twenty rounds the second thread did not leave its processor");
}
#endif

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
    WITH_SCRATCH(evaluations_have_the_same_bits),
    WITH_SCRATCH(fits_have_the_same_bits),
    WITH_SCRATCH(automatic_fits_have_the_same_bits),
    WITH_SCRATCH(choices_among_many_rows_are_the_same),
    WITH_SCRATCH(the_full_gp_has_the_same_bits),
    WITH_SCRATCH(a_forked_child_works),
#if defined(__linux__)
    WITH_SCRATCH(threads_leave_the_place_of_their_team),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
