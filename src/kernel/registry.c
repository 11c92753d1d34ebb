/* All kernels of the list, with their tables. */
#include <string.h>

#include "kernel/kernel.h"

#define OATGP_KERNEL(name) extern const oat_profile oat_profile_##name;
#include "oatgp_kernels.def"

static const oat_kernel kernels[] = {
#define OATGP_KERNEL(name) {OAT_KERNEL_##name, #name, false, &oat_profile_##name},
#define OATGP_KERNEL_ARD(name) {OAT_KERNEL_##name##_ard, #name "-ard", true, &oat_profile_##name},
#include "oatgp_kernels.def"
};

const oat_kernel *oat_kernel_at(size_t index) { return index < OAT_KERNELS ? &kernels[index] : NULL; }

const oat_kernel *oat_kernel_find(const char *name) {
  for (size_t i = 0; i < OAT_KERNELS; i++) {
    if (strcmp(kernels[i].name, name) == 0) {
      return &kernels[i];
    }
  }
  return NULL;
}
