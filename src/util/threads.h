/* Threads of parallel loops. */
#ifndef OAT_THREADS_H
#define OAT_THREADS_H

#include <stdbool.h>

/* As many as asked for; 1 in a forked child, whose copy of the thread pool has no threads. */
int oat_lane_threads(int wanted);
/* In a parallel loop: whether this is the thread that began it. */
bool oat_in_first_thread(void);

/* What makes them, for people. */
const char *oat_threads_name(void);

#endif
