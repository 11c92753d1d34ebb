/* Buffers of OpenBLAS. */
#include "linalg/linalg.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/machine.h"

enum { MOST_BUFFERS = 128 };
#define MARGIN ((size_t)16 << 20) /* for the stack of a thread and its other memory */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int reserved = 0; /* buffers that the BLAS has for certain */

/* Whether a new buffer could be mapped now. Nothing is written to it, so it takes no physical memory. */
static bool has_room(size_t bytes) {
  void *volatile probe = malloc(bytes);
  const bool found = probe != NULL;
  free(probe);
  return found;
}

int oat_reserve_buffers(int threads, void *(*take)(int which), void (*give_back)(void *buffer)) {
  void *held[MOST_BUFFERS];
  const int wanted = threads < MOST_BUFFERS ? threads : MOST_BUFFERS;
  int count = 0;
  const bool limited = oat_machine_address_limit() >= 0;
  pthread_mutex_lock(&one_at_a_time);
  if (!limited && reserved < 1) { /* the buffer of the calling thread, because a limit may be set later */
    held[count++] = take(0);
  }
  while (limited && reserved < wanted && count < wanted && (count < reserved || has_room(OAT_BLAS_BUFFER + MARGIN))) {
    held[count++] = take(0);
  }
  reserved = count > reserved ? count : reserved;
  const int enough = !limited ? threads : reserved < wanted ? reserved : wanted;
  pthread_mutex_unlock(&one_at_a_time);
  while (count > 0) {
    give_back(held[--count]);
  }
  return enough;
}
