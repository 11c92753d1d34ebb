/* The MPI functions of the library (util/ranks.h). Only this file uses MPI; it becomes liboatgp_mpi.so. */
#include <mpi.h>

#include "util/ranks.h"

extern const oat_mpi oatgp_mpi;

enum { LARGEST = 1 << 30 }; /* bytes of a message */

static int begin(int *rank, int *count) {
  int given, there = 0;
  MPI_Initialized(&there);
  if (!there && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) {
    return 1;
  }
  return MPI_Comm_rank(MPI_COMM_WORLD, rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, count) != MPI_SUCCESS;
}

static size_t at_most(size_t count) { return count < LARGEST ? count : LARGEST; }

static void send_to(const void *bytes, size_t count, int to) {
  for (size_t done = 0; done < count; done += LARGEST) {
    MPI_Send((const char *)bytes + done, (int)at_most(count - done), MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }
}

static void receive_from(void *bytes, size_t count, int from) {
  for (size_t done = 0; done < count; done += LARGEST) {
    MPI_Recv((char *)bytes + done, (int)at_most(count - done), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void broadcast(void *bytes, size_t count, int from) {
  for (size_t done = 0; done < count; done += LARGEST) {
    MPI_Bcast((char *)bytes + done, (int)at_most(count - done), MPI_BYTE, from, MPI_COMM_WORLD);
  }
}

static int largest(int mine) {
  int all = mine;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void end_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static void end(void) { MPI_Finalize(); }

__attribute__((visibility("default")))
const oat_mpi oatgp_mpi = {OAT_MPI_VERSION, begin, send_to, receive_from, broadcast, largest, end_all, end};
