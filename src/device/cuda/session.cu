/* The GPU, the libraries on it and its memory. A failed call leaves one sentence. */
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"

#define GIB (1.0 / (1 << 30))

/* ---- sessions: opening one takes a good part of a second, so a device leaves its own to the next --------------- */

static std::mutex guard;
static oat_cuda_session *idle;

__global__ void do_nothing() {}

void oat_cuda_close_session(oat_cuda_session *session) {
  if (session != nullptr) {
    std::lock_guard<std::mutex> hold(guard);
    session->next = idle;
    idle = session;
  }
}

static oat_cuda_session *take_idle() {
  std::lock_guard<std::mutex> hold(guard);
  oat_cuda_session *session = idle;
  idle = session != nullptr ? session->next : nullptr;
  return session;
}

/* The GPU of this process: the first one, or that of its place among the processes of a machine, where a launcher says
 * so. */
static int choose_gpu(int count) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
  for (const char *name : names) {
    const char *value = getenv(name);
    if (value != nullptr && atoi(value) > 0) {
      return atoi(value) % count;
    }
  }
  return 0;
}

static const char *find_gpu(oat_cuda_session *s) {
  static thread_local char sentence[256];
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return "there is no NVIDIA driver, or it is too old for the CUDA version of this program: install a newer one";
  }
  if (error != cudaSuccess || count == 0) {
    snprintf(sentence, sizeof sentence, "there is no GPU that CUDA can use (%s)", cudaGetErrorString(error));
    return sentence;
  }
  s->gpu = choose_gpu(count);
  if (cudaSetDevice(s->gpu) != cudaSuccess || cudaGetDeviceProperties(&s->facts, s->gpu) != cudaSuccess) {
    snprintf(sentence, sizeof sentence, "the GPU cannot be opened (%s)", cudaGetErrorString(cudaGetLastError()));
    return sentence;
  }
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, do_nothing) != cudaSuccess) {
    cudaGetLastError();
    snprintf(sentence, sizeof sentence,
             "%s has compute capability %d.%d, for which this program was not built: build it for that one",
             s->facts.name, s->facts.major, s->facts.minor);
    return sentence;
  }
  return nullptr;
}

/* Work aside has priority if there is room for both. */
static bool open_streams(oat_cuda_session *s) {
  int lowest = 0, highest = 0;
  bool fine = cudaDeviceGetStreamPriorityRange(&lowest, &highest) == cudaSuccess &&
              cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking) == cudaSuccess &&
              cudaStreamCreateWithPriority(&s->aside, cudaStreamNonBlocking, highest) == cudaSuccess;
  for (int i = 0; fine && i < 2; i++) {
    fine = cudaEventCreateWithFlags(&s->made[i], cudaEventDisableTiming) == cudaSuccess &&
           cudaEventCreateWithFlags(&s->used[i], cudaEventDisableTiming) == cudaSuccess;
  }
  return fine;
}

const char *oat_cuda_open_session(oat_cuda_session **out) {
  *out = take_idle();
  if (*out != nullptr) {
    return cudaSetDevice((*out)->gpu) == cudaSuccess ? nullptr : "the GPU is gone";
  }
  oat_cuda_session *s = (oat_cuda_session *)calloc(1, sizeof *s);
  if (s == nullptr) {
    return "no memory is left";
  }
  const char *why = find_gpu(s);
  if (why == nullptr && (!open_streams(s) || cublasCreate(&s->blas) != CUBLAS_STATUS_SUCCESS ||
                         cusolverDnCreate(&s->solver) != CUSOLVER_STATUS_SUCCESS ||
                         cublasSetStream(s->blas, s->stream) != CUBLAS_STATUS_SUCCESS ||
                         cusolverDnSetStream(s->solver, s->stream) != CUSOLVER_STATUS_SUCCESS)) {
    why = "the GPU has no memory left for cuBLAS: other programs may be using it";
  }
  if (why != nullptr) {
    free(s);
    return why;
  }
  *out = s;
  return nullptr;
}

/* ---- failures -------------------------------------------------------------------------------------------------- */

bool oat_cuda_fine(const oat_cuda *cuda) { return cuda->status == OATGP_OK; }

static void remember(oat_cuda *cuda, oatgp_status status, const char *what, const char *why) {
  if (oat_cuda_fine(cuda)) {
    cuda->status = status;
    snprintf(cuda->trouble, sizeof cuda->trouble, "%s failed on the GPU %s: %s", what, cuda->session->facts.name, why);
  }
}

void oat_cuda_check(oat_cuda *cuda, cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    remember(cuda, error == cudaErrorMemoryAllocation ? OATGP_MEMORY : OATGP_NUMERIC, what, cudaGetErrorString(error));
  }
}

void oat_cuda_check_blas(oat_cuda *cuda, cublasStatus_t status, const char *what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    remember(cuda, status == CUBLAS_STATUS_ALLOC_FAILED ? OATGP_MEMORY : OATGP_NUMERIC, what,
             cublasGetStatusString(status));
  }
}

void oat_cuda_check_solver(oat_cuda *cuda, cusolverStatus_t status, const char *what) {
  if (status != CUSOLVER_STATUS_SUCCESS) {
    remember(cuda, status == CUSOLVER_STATUS_ALLOC_FAILED ? OATGP_MEMORY : OATGP_NUMERIC, what, "cuSOLVER says no");
  }
}

oatgp_status oat_cuda_end(oat_cuda *cuda) {
  oat_cuda_check(cuda, cudaGetLastError(), "a launch");
  oat_cuda_check(cuda, cudaStreamSynchronize(cuda->session->stream), "a computation");
  const oatgp_status status = cuda->status;
  if (status != OATGP_OK) {
    oat_fail(cuda->ctx, status, "%s", cuda->trouble);
    cuda->status = OATGP_OK;
    cuda->cached = 0;
  }
  return status;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* A block of memory and the one that was taken before it. */
struct taken {
  void *memory;
  taken *before;
};

size_t oat_cuda_free_bytes(oat_cuda *cuda) {
  size_t free_bytes = 0, all = 0;
  oat_cuda_check(cuda, cudaMemGetInfo(&free_bytes, &all), "asking for the free memory");
  return free_bytes;
}

static void no_memory(oat_cuda *cuda, double bytes) {
  cudaGetLastError();
  const double left = (double)oat_cuda_free_bytes(cuda);
  if (oat_cuda_fine(cuda)) {
    cuda->status = OATGP_MEMORY;
    snprintf(cuda->trouble, sizeof cuda->trouble,
             "the GPU %s has %.3g GiB of memory left of %.3g GiB, and %.3g GiB more are needed: other programs may be "
             "using it; take fewer knots, or the processor (device cpu)",
             cuda->session->facts.name, left * GIB, (double)cuda->session->facts.totalGlobalMem * GIB, bytes * GIB);
  }
}

void *oat_cuda_take(oat_cuda *cuda, size_t count, size_t size) {
  taken *t = oat_cuda_fine(cuda) ? (taken *)malloc(sizeof *t) : nullptr;
  if (t == nullptr) {
    return nullptr;
  }
  const double bytes = (double)count * (double)size;
  if (bytes > 1e18 || cudaMalloc(&t->memory, count * size + 256) != cudaSuccess) {
    free(t);
    no_memory(cuda, bytes);
    return nullptr;
  }
  t->before = (taken *)cuda->taken;
  cuda->taken = t;
  return t->memory;
}

double *oat_cuda_take_doubles(oat_cuda *cuda, size_t rows, size_t columns) {
  return (double *)oat_cuda_take(cuda, rows, columns * sizeof(double));
}

void oat_cuda_give(oat_cuda *cuda, void *memory) {
  for (taken **at = (taken **)&cuda->taken; *at != nullptr; at = &(*at)->before) {
    if ((*at)->memory == memory) {
      taken *t = *at;
      *at = t->before;
      cudaFree(t->memory);
      free(t);
      return;
    }
  }
}

void oat_cuda_give_all(oat_cuda *cuda) {
  while (cuda->taken != nullptr) {
    oat_cuda_give(cuda, ((taken *)cuda->taken)->memory);
  }
}

void oat_cuda_upload(oat_cuda *cuda, size_t count, const double *from, double *to) {
  if (oat_cuda_fine(cuda) && count > 0) {
    oat_cuda_check(cuda, cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyHostToDevice, cuda->session->stream),
                   "a copy to it");
  }
}

void oat_cuda_download(oat_cuda *cuda, size_t count, const double *from, double *to) {
  if (oat_cuda_fine(cuda) && count > 0) {
    oat_cuda_check(cuda, cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToHost, cuda->session->stream),
                   "a copy from it");
    oat_cuda_check(cuda, cudaStreamSynchronize(cuda->session->stream), "a computation");
  }
}

void oat_cuda_clear(oat_cuda *cuda, size_t count, double *at) {
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMemsetAsync(at, 0, count * sizeof *at, cuda->session->stream), "clearing memory");
  }
}

void oat_cuda_pack(oat_cuda *cuda, size_t parts, const oat_cuda_part *part, double *to) {
  double *at = cuda->stage;
  for (size_t i = 0; oat_cuda_fine(cuda) && i < parts; i++) {
    for (size_t j = 0; j < part[i].columns; j++) {
      memcpy(at, part[i].from + j * part[i].ld, part[i].count * sizeof *at);
      at += part[i].count;
    }
  }
  if (oat_cuda_fine(cuda)) {
    oat_cuda_upload(cuda, (size_t)(at - cuda->stage), cuda->stage, to);
  }
}
