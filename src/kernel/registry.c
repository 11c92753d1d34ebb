/* All kernels, one line each. */
#include <string.h>

#include "kernel/kernel.h"

extern const oat_kernel oat_kernel_se, oat_kernel_se_ard;
extern const oat_kernel oat_kernel_matern32, oat_kernel_matern32_ard;
extern const oat_kernel oat_kernel_matern52, oat_kernel_matern52_ard;
extern const oat_kernel oat_kernel_rq, oat_kernel_rq_ard;
extern const oat_kernel oat_kernel_exponential;

static const oat_kernel *const kernels[] = {
    &oat_kernel_se,          &oat_kernel_se_ard,       /* squared exponential */
    &oat_kernel_matern32,    &oat_kernel_matern32_ard, /* once differentiable */
    &oat_kernel_matern52,    &oat_kernel_matern52_ard, /* twice differentiable */
    &oat_kernel_rq,          &oat_kernel_rq_ard,       /* rational quadratic */
    &oat_kernel_exponential,                           /* not differentiable */
};

const oat_kernel *oat_kernel_at(size_t index) { return index < sizeof kernels / sizeof *kernels ? kernels[index] : NULL; }

const oat_kernel *oat_kernel_find(const char *name) {
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    if (strcmp(kernels[i]->name, name) == 0) {
      return kernels[i];
    }
  }
  return NULL;
}
