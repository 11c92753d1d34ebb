/* Several processes that work on one problem, the ranks of an MPI run. Each runs the whole program with the same
 * numbers. Only the sums over rows are divided among them (device/cpu), by lanes, and added in the order of the lanes.
 * So results have the same bits for any number of ranks. The functions below are for the main thread of a process, and
 * every rank makes the same calls. With one rank they do nothing. */
#ifndef OAT_RANKS_H
#define OAT_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/context.h"

/* What liboatgp_mpi.so provides through its one symbol, oatgp_mpi. */
typedef struct oat_mpi {
  int version;
  int (*begin)(int *rank, int *count); /* 0: success */
  void (*send)(const void *bytes, size_t count, int to);
  void (*receive)(void *bytes, size_t count, int from);
  void (*broadcast)(void *bytes, size_t count, int from);
  int (*largest)(int mine); /* of all ranks */
  void (*abort)(int code);
  void (*end)(void);
} oat_mpi;

enum { OAT_MPI_VERSION = 1 };

int oat_rank(void);
int oat_rank_count(void);
/* Returns whether `mine` is true on any rank. */
bool oat_ranks_any(bool mine);
/* The value of the first rank, for decisions by the clock, because clocks differ. */
bool oat_ranks_first(bool mine);
/* Refuses data of which the ranks do not have the same hash. */
oatgp_status oat_ranks_check(oatgp_context *ctx, uint64_t mine);
/* The first of `count` items that belongs to the rank. */
static inline size_t oat_rank_first(size_t count, int rank) { return count * (size_t)rank / (size_t)oat_rank_count(); }

/* The sums of this rank's lanes, `count` doubles each and `stride` apart. total <- those of all ranks' lanes, added in
 * their order. */
typedef struct oat_rank_sums {
  size_t lanes, count, stride;
  const double *sums;
  double *total;
} oat_rank_sums;

void oat_ranks_add(const oat_rank_sums *sums);
/* Every rank sends its own part to all others: the bytes from first[rank] to first[rank + 1], counted from `all`. */
void oat_ranks_complete(void *all, const size_t *first);
/* The same of `count` items of so many bytes, of which each rank has those that belong to it. */
void oat_ranks_complete_items(void *all, size_t count, size_t bytes);

#endif
