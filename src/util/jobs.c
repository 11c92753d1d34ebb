/* Jobs that run side by side. */
#include "util/jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "util/machine.h"
#include "util/threads.h"

typedef struct room room;

struct oat_job {
  room *in;
  size_t which;
  oat_said *first, **end; /* not received yet */
  bool ended;
};

/* Shared by the threads. */
struct room {
  const oat_jobs *jobs;
  bool apart; /* jobs have threads of their own */
  pthread_mutex_t lock;
  pthread_cond_t news;
  size_t begun;
  bool stopped;
  oat_job job[OAT_MOST_JOBS];
};

/* LLVM's OpenMP (seen with 14) ends the process, or hangs, when tasks that wait for each other run in the teams of
 * several threads at the same time. */
#if defined(__clang__)
#define ONE_BY_ONE true
#else
#define ONE_BY_ONE false
#endif

/* If OpenMP cannot create a thread, it ends the process. So if the address space is limited, only the reserved threads
 * are used (api/threads.c). */
size_t oat_jobs_at_once(size_t count, int threads) {
  const size_t most = ONE_BY_ONE || oat_machine_address_limit() >= 0 ? 1 : (size_t)oat_lane_threads(threads);
  return count < most ? count : most;
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* Runs in the caller's thread. Only that thread changes `stopped`. */
static void hear(room *r, size_t which, oat_said *said) {
  if (r->stopped) {
    free(said);
  } else if (!r->jobs->hear(r->jobs->self, which, said)) {
    pthread_mutex_lock(&r->lock);
    r->stopped = true;
    pthread_mutex_unlock(&r->lock);
  }
}

bool oat_job_say(oat_job *job, oat_said *said) {
  room *r = job->in;
  said->next = NULL;
  if (!r->apart) {
    hear(r, job->which, said);
    return r->stopped;
  }
  pthread_mutex_lock(&r->lock);
  *job->end = said;
  job->end = &said->next;
  const bool stopped = r->stopped;
  pthread_cond_signal(&r->news);
  pthread_mutex_unlock(&r->lock);
  return stopped;
}

/* Waits for a message of the job; NULL: the job has ended. Returns false if it has not begun and will not. */
static bool wait_for(room *r, oat_job *job, oat_said **said) {
  pthread_mutex_lock(&r->lock);
  while (job->first == NULL && !job->ended && !(r->stopped && job->which >= r->begun)) {
    pthread_cond_wait(&r->news, &r->lock);
  }
  const bool found = job->first != NULL || job->ended;
  *said = job->first;
  if (job->first != NULL) {
    job->first = job->first->next;
    job->end = job->first != NULL ? job->end : &job->first;
  }
  pthread_mutex_unlock(&r->lock);
  return found;
}

static void listen_to_all(room *r) {
  for (size_t i = 0; i < r->jobs->count; i++) {
    oat_said *said;
    while (wait_for(r, &r->job[i], &said)) {
      hear(r, i, said);
      if (said == NULL) {
        break;
      }
    }
  }
}

/* ---- working --------------------------------------------------------------------------------------------------- */

static oat_job *next_job(room *r) {
  pthread_mutex_lock(&r->lock);
  oat_job *job = r->begun < r->jobs->count && !r->stopped ? &r->job[r->begun++] : NULL;
  pthread_mutex_unlock(&r->lock);
  return job;
}

static void *work(void *self) {
  room *r = self;
  for (oat_job *job = next_job(r); job != NULL; job = next_job(r)) {
    r->jobs->run(r->jobs->self, job->which, job);
    pthread_mutex_lock(&r->lock);
    job->ended = true;
    pthread_cond_signal(&r->news);
    pthread_mutex_unlock(&r->lock);
  }
  return NULL;
}

/* The new threads block all signals. Returns how many could be started. */
static size_t start_threads(room *r, pthread_t thread[OAT_MOST_JOBS]) {
  sigset_t all, before;
  size_t count = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  while (count < r->jobs->at_once && pthread_create(&thread[count], NULL, work, r) == 0) {
    count++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return count;
}

static void run_here(room *r) {
  for (size_t i = 0; i < r->jobs->count && !r->stopped; i++) {
    r->jobs->run(r->jobs->self, i, &r->job[i]);
    hear(r, i, NULL);
  }
}

void oat_jobs_run(const oat_jobs *jobs) {
  pthread_t thread[OAT_MOST_JOBS];
  room r = {
      .jobs = jobs, .apart = jobs->at_once > 1, .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};
  for (size_t i = 0; i < jobs->count; i++) {
    r.job[i] = (oat_job){.in = &r, .which = i, .end = &r.job[i].first};
  }
  const size_t started = r.apart ? start_threads(&r, thread) : 0;
  if (started > 0) {
    listen_to_all(&r);
  } else {
    r.apart = false;
    run_here(&r);
  }
  for (size_t i = 0; i < started; i++) {
    pthread_join(thread[i], NULL);
  }
  pthread_cond_destroy(&r.news);
  pthread_mutex_destroy(&r.lock);
}
