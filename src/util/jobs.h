/* A few long jobs side by side, each in a thread of its own. (Loops over rows use util/lanes.h, also within a job: the
 * thread of a job has its own pool of threads for that. Nested parallel regions would have to start one each time.)
 *
 * Jobs send messages, and the caller's thread receives them in the order of the jobs: all of the first job, then all of
 * the second. So the messages are the same for any number of threads, and the user's callbacks run in the caller's
 * thread. */
#ifndef OAT_JOBS_H
#define OAT_JOBS_H

#include <stdbool.h>
#include <stddef.h>

enum { OAT_MOST_JOBS = 8 };

typedef struct oat_job oat_job;

/* A message of a job begins with this, and is allocated with oat_new. */
typedef struct oat_said oat_said;
struct oat_said {
  oat_said *next;
};

typedef struct oat_jobs {
  size_t count;
  size_t at_once; /* 1: one after the other, in the thread of the caller */
  void (*run)(void *self, size_t which, oat_job *job);
  /* Called in the caller's thread with a message of a job, which it frees, or with NULL when the job has ended. If it
   * returns false, no further jobs start, running jobs are asked to end, and no more messages are received. */
  bool (*hear)(void *self, size_t which, oat_said *said);
  void *self;
} oat_jobs;

/* How many of these jobs are worth running at once with this many threads in all. */
size_t oat_jobs_at_once(size_t count, int threads);
void oat_jobs_run(const oat_jobs *jobs);

/* Called in a job: sends a message. Returns whether the job is asked to end. */
bool oat_job_say(oat_job *job, oat_said *said);

#endif
