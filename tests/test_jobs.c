/* Parallel jobs: their messages arrive in their order, in the caller's thread, for any number of threads; a stop
 * reaches all of them; they do run at the same time. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "util/jobs.h"

enum { JOBS = 5, WORDS = 4 };

typedef struct word {
  oat_said said;
  size_t which, number;
} word;

typedef struct meeting {
  pthread_t caller;
  size_t heard[JOBS * (WORDS + 1)], count; /* 10 job + word; 10 job + 9: its end */
  size_t stop_at;                          /* so many were heard; 0: never */
  atomic_size_t begun, asked_to_end;
  bool wait_for_all; /* each job begins to speak when all have begun, or gives up after some seconds */
  atomic_bool gave_up;
} meeting;

static void nap(long milliseconds) { nanosleep(&(struct timespec){0, 1000000 * milliseconds}, NULL); }

static void wait_for_others(meeting *m) {
  for (int i = 0; i < 30000 && m->begun < JOBS; i++) {
    nap(1);
  }
  if (m->begun < JOBS) {
    m->gave_up = true;
  }
}

/* The later a job, the sooner it is done. */
static void speak(void *self, size_t which, oat_job *job) {
  meeting *m = self;
  m->begun++;
  if (m->wait_for_all) {
    wait_for_others(m);
  }
  for (size_t i = 0; i < WORDS; i++) {
    word *next = calloc(1, sizeof *next);
    assert_non_null(next);
    next->which = which;
    next->number = i;
    nap((long)(JOBS - which));
    if (oat_job_say(job, &next->said)) {
      m->asked_to_end++;
      return;
    }
  }
}

static bool listen_in(void *self, size_t which, oat_said *said) {
  meeting *m = self;
  assert_true(pthread_equal(pthread_self(), m->caller));
  assert_true(m->count < LENGTH(m->heard));
  assert_true(said == NULL || ((word *)said)->which == which);
  m->heard[m->count++] = 10 * which + (said == NULL ? 9 : ((word *)said)->number);
  free(said);
  return m->count != m->stop_at;
}

static void hold(meeting *m, size_t at_once) {
  const oat_jobs jobs = {JOBS, at_once, speak, listen_in, m};
  m->caller = pthread_self();
  oat_jobs_run(&jobs);
}

static void all_is_heard_in_order(void **state) {
  (void)state;
  static const size_t at_once[] = {1, 2, 3, JOBS};
  for (size_t i = 0; i < LENGTH(at_once); i++) {
    meeting m = {.count = 0};
    hold(&m, at_once[i]);
    assert_int_equal(m.count, JOBS * (WORDS + 1));
    for (size_t j = 0; j < m.count; j++) {
      assert_int_equal(m.heard[j], 10 * (j / (WORDS + 1)) + (j % (WORDS + 1) == WORDS ? 9 : j % (WORDS + 1)));
    }
  }
}

static void jobs_run_at_the_same_time(void **state) {
  (void)state;
  meeting m = {.wait_for_all = true};
  hold(&m, JOBS);
  assert_false(m.gave_up);
}

/* A stop in the middle of the second job: no message arrives after that, and if jobs run one after the other, the third
 * does not begin. */
static void a_stop_ends_all(void **state) {
  (void)state;
  for (size_t at_once = 1; at_once <= JOBS; at_once++) {
    meeting m = {.stop_at = WORDS + 1 + 2};
    hold(&m, at_once);
    assert_int_equal(m.count, m.stop_at);
    if (at_once == 1) {
      assert_int_equal(m.begun, 2);
      assert_int_equal(m.asked_to_end, 1);
    }
  }
}

static void no_more_at_once_than_threads_or_jobs(void **state) {
  (void)state;
  assert_int_equal(oat_jobs_at_once(5, 1), 1);
#if defined(__clang__) /* its OpenMP fails when they run at the same time */
  assert_int_equal(oat_jobs_at_once(5, 3), 1);
#else
  assert_int_equal(oat_jobs_at_once(5, 3), 3);
  assert_int_equal(oat_jobs_at_once(5, 16), 5);
#endif
  assert_int_equal(oat_jobs_at_once(1, 16), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_is_heard_in_order),
                                     cmocka_unit_test(jobs_run_at_the_same_time), cmocka_unit_test(a_stop_ends_all),
                                     cmocka_unit_test(no_more_at_once_than_threads_or_jobs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
