/* Ranks. The library knows MPI only through a table of functions. The shared object with that table is opened if the
 * process belongs to an MPI run. */
#include "util/ranks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "util/beside.h"

enum { CHUNK = 1 << 15 }; /* doubles that are sent at a time */

/* Facts of the process. */
static const oat_mpi *mpi = NULL;
static int own_rank = 0, all_ranks = 1;

int oat_rank(void) { return own_rank; }

int oat_rank_count(void) { return all_ranks; }

int oatgp_rank(void) { return own_rank; }

int oatgp_rank_count(void) { return all_ranks; }

/* ---- beginning and end ----------------------------------------------------------------------------------------- */

/* Whether a launcher has announced several ranks. */
static bool is_launched(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (getenv(names[i]) != NULL) {
      return true;
    }
  }
  return false;
}

oatgp_status oatgp_ranks_begin(oatgp_context *ctx) {
  OAT_NEED_CONTEXT(ctx);
  if (mpi != NULL || !is_launched()) {
    return OATGP_OK;
  }
  void *library = oat_open_beside("liboatgp_mpi.so", RTLD_NOW | RTLD_GLOBAL);
  const oat_mpi *found = library != NULL ? dlsym(library, "oatgp_mpi") : NULL;
  REFUSE_IF(found == NULL, ctx, OATGP_ARGUMENT,
            "this is one of several ranks of an MPI run, but liboatgp_mpi.so cannot be opened (%s): build oatgp on a "
            "machine with MPI, or run it without mpirun",
            library == NULL ? dlerror() : "it lacks its table");
  REFUSE_IF(found->version != OAT_MPI_VERSION || found->begin(&own_rank, &all_ranks) != 0, ctx, OATGP_ARGUMENT,
            "MPI could not be started, or liboatgp_mpi.so belongs to another version of oatgp");
  mpi = found;
  return OATGP_OK;
}

void oatgp_ranks_end(int code) {
  if (mpi != NULL && code != 0 && all_ranks > 1) {
    mpi->abort(code);
  } else if (mpi != NULL) {
    mpi->end();
  }
  mpi = NULL;
}

/* ---- together -------------------------------------------------------------------------------------------------- */

bool oat_ranks_any(bool mine) { return all_ranks > 1 ? mpi->largest(mine) != 0 : mine; }

bool oat_ranks_first(bool mine) { return oat_ranks_any(own_rank == 0 && mine); }

oatgp_status oat_ranks_check(oatgp_context *ctx, uint64_t mine) {
  uint64_t of_first = mine;
  if (all_ranks > 1) {
    mpi->broadcast(&of_first, sizeof of_first, 0);
  }
  REFUSE_IF(oat_ranks_any(of_first != mine), ctx, OATGP_DATA,
            "the ranks have read different data; give every rank the same files under the same path");
  return OATGP_OK;
}

/* Passes the sums from rank to rank, and each adds its lanes to those before. It works in chunks, so that all ranks are
 * busy. */
void oat_ranks_add(const oat_rank_sums *s) {
  for (size_t first = 0; first < s->count; first += CHUNK) {
    const size_t count = s->count - first < CHUNK ? s->count - first : CHUNK;
    double *total = s->total + first;
    if (own_rank > 0) {
      mpi->receive(total, count * sizeof *total, own_rank - 1);
    } else {
      memcpy(total, s->sums + first, count * sizeof *total);
    }
    for (size_t lane = own_rank > 0 ? 0 : 1; lane < s->lanes; lane++) {
      const double *own = s->sums + lane * s->stride + first;
      for (size_t i = 0; i < count; i++) {
        total[i] += own[i];
      }
    }
    if (own_rank + 1 < all_ranks) {
      mpi->send(total, count * sizeof *total, own_rank + 1);
    }
  }
  mpi->broadcast(s->total, s->count * sizeof *s->total, all_ranks - 1);
}

void oat_ranks_complete(void *all, const size_t *first) {
  for (int rank = 0; all_ranks > 1 && rank < all_ranks; rank++) {
    mpi->broadcast((char *)all + first[rank], first[rank + 1] - first[rank], rank);
  }
}

void oat_ranks_complete_items(void *all, size_t count, size_t bytes) {
  for (int rank = 0; all_ranks > 1 && rank < all_ranks; rank++) {
    const size_t first = oat_rank_first(count, rank), end = oat_rank_first(count, rank + 1);
    mpi->broadcast((char *)all + first * bytes, (end - first) * bytes, rank);
  }
}
