/* Threads of the CPU backend. */
#ifndef OAT_CPU_THREADS_H
#define OAT_CPU_THREADS_H

/* As many as asked for; 1 in a forked child, whose copy of the thread pool has no threads. */
int oat_lane_threads(int wanted);

#endif
