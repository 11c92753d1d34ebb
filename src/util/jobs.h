/* A few long jobs side by side, each in a thread of its own. (What is done to rows goes through util/lanes.h, within a job, too: a job's
 * thread has its own pool of threads for that, which nested parallel regions would have to start each time.)
 *
 * A job says things, and the thread of the caller hears them in the order of the jobs: all of the first job, then all of the second. So what
 * is heard is the same for any number of threads, and callbacks of the user are called where they should be. */
#ifndef OAT_JOBS_H
#define OAT_JOBS_H

#include <stdbool.h>
#include <stddef.h>

enum { OAT_MOST_JOBS = 8 };

typedef struct oat_job oat_job;

/* What a job says begins with this, and is allocated with oat_new. */
typedef struct oat_said oat_said;
struct oat_said {
  oat_said *next;
};

typedef struct oat_jobs {
  size_t count;
  size_t at_once; /* 1: one after the other, in the thread of the caller */
  void (*run)(void *self, size_t which, oat_job *job);
  /* In the thread of the caller: what a job said, to be freed there; NULL when it has ended. False: jobs that have not begun do not, those
   * under way are asked to end, and nothing more is heard. */
  bool (*hear)(void *self, size_t which, oat_said *said);
  void *self;
} oat_jobs;

/* How many of these jobs are worth running at once with so many threads in all. */
size_t oat_jobs_at_once(size_t count, int threads);
void oat_jobs_run(const oat_jobs *jobs);

/* In a job. Returns whether it is asked to end. */
bool oat_job_say(oat_job *job, oat_said *said);

#endif
