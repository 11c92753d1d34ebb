/* What the library was built with and what it found on this machine. */
#include <string.h>
#include <zlib.h>

#include "device/device.h"
#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "linalg/blas.h"
#include "oat_config.h"
#include "oatgp.h"
#include "util/machine.h"
#include "util/threads.h"

static const char *zlib_name(void) { return zlibVersion(); }

static const char *compiler_name(void) { return OAT_COMPILER; }

typedef struct feature {
  const char *name;
  const char *(*value)(void);
} feature;

static const feature features[] = {
    {"BLAS", oat_blas_name},     {"processor", oat_processor_name}, {"threads", oat_threads_name},
    {"SIMD", oat_simd_name},     {"devices", oat_device_names},     {"zlib", zlib_name},
    {"compiler", compiler_name},
};

const char *oatgp_feature(size_t index, const char **value) {
  if (index >= sizeof features / sizeof features[0]) {
    return NULL;
  }
  if (value != NULL) {
    *value = features[index].value();
  }
  return features[index].name;
}

int oatgp_cores(void) { return oat_machine_cores(); }

void oatgp_set_cores(int most) { oat_machine_set_cores(most); }

int oatgp_kernel_has(const char *kernel, const char *parameter) {
  const oat_kernel *found = kernel != NULL && parameter != NULL ? oat_kernel_find(kernel) : NULL;
  int has = 0;
  for (size_t i = 0; found != NULL && i < oat_theta_count(found, 1); i++) {
    const oat_parameter at = oat_parameter_at(found, i);
    has = has || (at.used && strcmp(at.name, parameter) == 0);
  }
  return has;
}
