/* Looks for the shared object of the CUDA device when a GPU is requested. The library itself contains no CUDA. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "device/cuda/opening.h"
#include "rows/layout.h"
#include "util/beside.h"
#include "util/ranks.h"

#define OBJECT "liboatgp_cuda.so"

typedef const oat_device_table *(*find_table)(const char *version, size_t size);
typedef const char *(*find_gpu)(const char **why);
typedef double (*find_memory)(void);

/* The object, or why it could not be opened. */
typedef struct found {
  const oat_device_table *table;
  find_gpu gpu;
  const char *why;
} found;

/* It is never closed. */
static void *open_object(void) { return oat_open_beside(OBJECT, RTLD_NOW | RTLD_LOCAL); }

/* A function of the object: ISO C has no conversion from a data pointer, POSIX has this one. */
static void find_symbol(void *object, const char *name, void *function) {
  void *symbol = dlsym(object, name);
  memcpy(function, &symbol, sizeof symbol);
}

static found find_object(void) {
  static char why[512];
  found f = {0};
  find_table table = NULL;
  void *object = open_object();
  if (object == NULL) {
    const char *reason = dlerror();
    snprintf(why, sizeof why, "this program has no " OBJECT " (%s): build it with OATGP_CUDA=ON",
             reason != NULL ? reason : "it was not found");
    return (found){.why = why};
  }
  find_symbol(object, "oat_cuda_device", &table);
  find_symbol(object, "oat_cuda_gpu", &f.gpu);
  f.table = table != NULL && f.gpu != NULL
                ? table(oatgp_version(), sizeof(oat_device_table) + sizeof(oat_device_config))
                : NULL;
  f.why = f.table == NULL ? OBJECT " belongs to another version of this program: install both from one build" : NULL;
  return f;
}

const oat_device_table *oat_cuda_table_of(const char **why) {
  const found f = find_object();
  *why = f.why;
  return f.table != NULL && f.gpu(why) != NULL ? f.table : NULL;
}

const char *oat_cuda_gpu_name(const char **why) {
  const found f = find_object();
  *why = f.why;
  return f.table != NULL ? f.gpu(why) : NULL;
}

static const char *refuses_neighbours(const oat_device_config *config, const oat_rows *rows) {
  return config->neighbours > OAT_CUDA_MOST_NEIGHBOURS                   ? "more than 96 neighbours"
         : config->neighbours > 0 && rows->d > OAT_CUDA_MOST_NEAR_INPUTS ? "neighbours with more than 256 inputs"
         : config->neighbours > 0 && !config->fits                       ? "predictions from neighbours"
                                                                         : NULL;
}

double oat_cuda_memory(void) {
  void *object = open_object();
  find_memory memory = NULL;
  if (object != NULL) {
    find_symbol(object, "oat_cuda_free", &memory);
  }
  return memory != NULL ? memory() : 0;
}

const char *oat_cuda_refuses(const oat_device_config *config, const oat_rows *rows) {
  return config->kernel.work > 0 ? "kernels that are expressions"
         : rows->feed != NULL    ? "rows that stay in a file"
         : oat_rank_count() > 1  ? "rows that several processes share"
                                 : refuses_neighbours(config, rows);
}
