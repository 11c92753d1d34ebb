/* Threads of parallel loops. */
#ifndef OAT_THREADS_H
#define OAT_THREADS_H

#include <stdbool.h>

/* As many as asked for (0: as there are cores), but no more than oat_limit_threads said; 1 in a forked child, whose copy of
 * the thread pool has no threads. */
int oat_lane_threads(int wanted);
/* All of these, or one where so many flops do not pay for more; 0: they do. Never some of them: OpenMP would end the
 * others and make them anew for the next loop. */
int oat_threads_for(int threads, double flops);
/* They pay from now on, however few they are: for tests, whose problems are small. */
void oat_threads_always(void);
/* The most threads of this process from now on, where its address space has no room for more (api/threads.c); whether that is news. */
bool oat_limit_threads(int most);

/* What makes them, for people. */
const char *oat_threads_name(void);

#endif
