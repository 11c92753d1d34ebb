/* Runs of all sets, several at a time: a worker takes the next trial until there is none. Every trial has a context of
 * its own and fits on one thread, so the results do not depend on the number of workers; only the seconds do. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "util/clock.h"
#include "util/memory.h"

typedef struct queue {
  const options *o;
  results *r;
  numbers table[SETS]; /* without rows: not here */
  pthread_mutex_t lock;
  size_t next, runs;
  oatgp_status status;
} queue;

static oatgp_status read_tables(queue *q) {
  for (size_t i = 0; i < SETS; i++) {
    char path[4096];
    if (!set_find(q->o, &sets[i], path, sizeof path)) {
      fprintf(stderr,
              "script/paper: %s.csv was not found: skipped. It is available from %s (%s). Put it in a folder and give "
              "--data FOLDER.\n",
              sets[i].name, sets[i].page, sets[i].convert);
      continue;
    }
    const oatgp_status status = numbers_read(q->r->ctx, path, &q->table[i]);
    if (status != OATGP_OK) {
      return status;
    }
  }
  return OATGP_OK;
}

/* Adds the results of a trial; the lock is held. */
static oatgp_status collect(queue *q, const trial *t) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < t->found.count && status == OATGP_OK; i++) {
    status = results_add(q->r, &t->found.row[i]);
  }
  for (size_t i = 0; i < t->found.grown_count && status == OATGP_OK; i++) {
    status = results_add_growth(q->r, &t->found.grown[i]);
  }
  return status;
}

static oatgp_status run_trial(queue *q, size_t set, int run) {
  oatgp_context *ctx = oatgp_context_create();
  if (ctx == NULL) {
    return OATGP_MEMORY;
  }
  trial t = {.ctx = ctx, .set = &sets[set], .run = run, .quick = q->o->quick, .found = {.ctx = ctx}};
  oatgp_status status = OATGP_OK;
  TRY(split_make(ctx, &q->table[set], t.set, run, t.quick, &t.data));
  TRY(trial_run(&t));
done:
  pthread_mutex_lock(&q->lock);
  if (status != OATGP_OK && q->status == OATGP_OK) {
    status = oat_fail(q->r->ctx, status, "%s, run %d: %s", sets[set].name, run, oatgp_last_error(ctx));
  } else if (status == OATGP_OK) {
    status = collect(q, &t);
  }
  pthread_mutex_unlock(&q->lock);
  results_free(&t.found);
  split_free(&t.data);
  oatgp_context_free(ctx);
  return status;
}

/* The next trial, the largest set first, so that the workers end together; false when there is none. */
static bool next_trial(queue *q, size_t *set, int *run) {
  bool found = false;
  pthread_mutex_lock(&q->lock);
  while (!found && q->status == OATGP_OK && q->next < SETS * q->runs) {
    *set = SETS - 1 - q->next / q->runs;
    *run = (int)(q->next % q->runs) + 1;
    found = q->table[*set].rows > 0;
    q->next++;
  }
  pthread_mutex_unlock(&q->lock);
  return found;
}

static void *work(void *user) {
  queue *q = user;
  size_t set = 0;
  int run = 0;
  while (next_trial(q, &set, &run)) {
    const oatgp_status status = run_trial(q, set, run);
    if (status != OATGP_OK) {
      pthread_mutex_lock(&q->lock);
      q->status = status;
      pthread_mutex_unlock(&q->lock);
    }
  }
  return NULL;
}

static int place(const char *name, bool is_set) {
  const size_t count = is_set ? SETS : model_count();
  for (size_t i = 0; i < count; i++) {
    if (strcmp(name, is_set ? sets[i].name : model_name(i)) == 0) {
      return (int)i;
    }
  }
  return (int)count;
}

/* By set, run, preset (the paper's first) and model. */
static int compare_keys(const key *x, const key *y) {
  const int differences[] = {place(x->set, true) - place(y->set, true), x->run - y->run, strcmp(y->preset, x->preset),
                             place(x->model, false) - place(y->model, false)};
  for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
    if (differences[i] != 0) {
      return differences[i];
    }
  }
  return 0;
}

static int compare_rows(const void *a, const void *b) {
  return compare_keys(&((const result *)a)->key, &((const result *)b)->key);
}

static int compare_steps(const void *a, const void *b) {
  const growth *x = a, *y = b;
  const int difference = compare_keys(&x->key, &y->key);
  return difference != 0 ? difference : x->knots - y->knots;
}

static oatgp_status run_workers(queue *q) {
  const size_t count = (size_t)q->o->workers;
  pthread_t *thread = NULL;
  oatgp_status status = oat_new(q->r->ctx, count, sizeof *thread, &thread);
  size_t started = 0;
  while (status == OATGP_OK && started < count) {
    if (pthread_create(&thread[started], NULL, work, q) != 0) {
      status = oat_fail(q->r->ctx, OATGP_MEMORY, "worker %zu could not be started", started + 1);
      break;
    }
    started++;
  }
  for (size_t i = 0; i < started; i++) {
    pthread_join(thread[i], NULL);
  }
  free(thread);
  return status == OATGP_OK ? q->status : status;
}

oatgp_status run_sets(const options *o, results *r) {
  queue q = {.o = o, .r = r, .runs = o->quick ? QUICK_RUNS : RUNS};
  pthread_mutex_init(&q.lock, NULL);
  const double begin = oat_seconds();
  oatgp_status status = OATGP_OK;
  TRY(read_tables(&q));
  TRY(run_workers(&q));
  qsort(r->row, r->count, sizeof *r->row, compare_rows);
  qsort(r->grown, r->grown_count, sizeof *r->grown, compare_steps);
  TRY(results_set_fact(r, "sets_seconds", oat_seconds() - begin));
  TRY(results_set_fact(r, "workers", o->workers));
  TRY(results_set_fact(r, "quick", o->quick));
done:
  for (size_t i = 0; i < SETS; i++) {
    free(q.table[i].value);
  }
  pthread_mutex_destroy(&q.lock);
  return status;
}
