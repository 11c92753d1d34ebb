/* Threads of parallel loops. */
#ifndef OAT_THREADS_H
#define OAT_THREADS_H

#include <stdbool.h>

/* The number of threads: as many as requested (0: as there are cores), but no more than the limit of oat_limit_threads;
 * 1 in a forked child, whose copy of the thread pool has no threads. */
int oat_lane_threads(int wanted);
/* All of these threads, or one if this many flops are not worth more; 0 flops: always all. Never only some of them,
 * because OpenMP would end the others and start them again for the next loop. */
int oat_threads_for(int threads, double flops);
/* From now on all threads are used for any number of flops: for tests, whose problems are small. */
void oat_threads_always(void);
/* Limits the threads of this process from now on, if its address space has no room for more (api/threads.c). Returns
 * whether the limit is new. */
bool oat_limit_threads(int most);

/* The processor on which this thread runs, -1 if that is not known: for oat_leave_place. */
int oat_place(void);
/* For each thread of a team before it works, with the place where the team began. A thread other than the first that
 * runs there goes elsewhere, and stays away from there until it meets a team on its own processor again. Linux may wake
 * threads on the processor of the thread that wakes them although others are idle, above all in virtual machines; then
 * they wait for each other. */
void oat_leave_place(int of_team);

/* The library that provides them, in words. */
const char *oat_threads_name(void);

#endif
