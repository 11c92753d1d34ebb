/* The CUDA device, as the registry uses it. */
#ifndef OAT_CUDA_OPENING_H
#define OAT_CUDA_OPENING_H

#include "device/device.h"

/* Limits that follow from the shared memory of the GPU. */
enum { OAT_CUDA_MOST_NEIGHBOURS = 96, OAT_CUDA_MOST_NEAR_INPUTS = 256 };

/* The device's table, or NULL and the reason: no shared object, no driver, no GPU or one that is too old. */
const oat_device_table *oat_cuda_table_of(const char **why);
/* The name of the GPU, or NULL and the reason. */
const char *oat_cuda_gpu_name(const char **why);
/* Bytes of its memory that are free; 0 without one. */
double oat_cuda_memory(void);
/* What the GPU cannot do with these rows, in words; NULL if it can do everything. */
const char *oat_cuda_refuses(const oat_device_config *config, const oat_rows *rows);

#endif
