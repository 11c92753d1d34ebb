/* All named kernels, with their tables. */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/tree.h"

#define OATGP_KERNEL(name) extern const oat_profile oat_profile_##name;
#include "oatgp_kernels.def"

static const oat_kernel kernels[] = {
#define OATGP_KERNEL(name) {OAT_KERNEL_##name, #name, false, &oat_profile_##name, NULL},
#define OATGP_KERNEL_ARD(name) {OAT_KERNEL_##name##_ard, #name "-ard", true, &oat_profile_##name, NULL},
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

oat_kernel oat_kernel_of_expression(const oat_expression *expression) {
  return (oat_kernel){.id = OAT_KERNEL_EXPRESSION, .name = expression->text, .ard = true, .expression = expression};
}

/* The named kernel that equals this leaf over all inputs. */
static oat_kernel_id id_of(const oat_leaf *leaf, size_t d) {
  static const oat_kernel_id ids[OAT_LEAVES] = {[OAT_LEAF_se] = OAT_KERNEL_se_ard,
                                                [OAT_LEAF_matern32] = OAT_KERNEL_matern32_ard,
                                                [OAT_LEAF_matern52] = OAT_KERNEL_matern52_ard,
                                                [OAT_LEAF_rq] = OAT_KERNEL_rq_ard};
  bool all = ids[leaf->kind] != 0 && leaf->inputs == d;
  for (size_t j = 0; all && j < d; j++) {
    all = leaf->input[j] == j;
  }
  return all ? ids[leaf->kind] : OAT_KERNEL_EXPRESSION;
}

oat_covariance oat_covariance_at(const oat_kernel *kernel, size_t d, const double *theta) {
  const oat_expression *e = kernel->expression;
  oat_covariance cov = {kernel->id, d, theta, OAT_SIGMA, OAT_SHAPE, OAT_LENGTHSCALE, false, e};
  if (e != NULL && e->nodes == 1 && e->node->sigma != OAT_NO_PLACE) {
    cov.id = id_of(e->leaf, d);
  }
  if (e != NULL && !oat_covariance_is_tree(&cov)) {
    cov.sigma = OAT_LENGTHSCALE + e->node->sigma;
    cov.lengthscale = OAT_LENGTHSCALE + e->leaf->parameter;
    cov.shape = kernels[cov.id].profile->has_shape ? cov.lengthscale++ : OAT_SHAPE;
  }
  return cov;
}

oat_kernel oat_covariance_kernel(const oat_covariance *cov) {
  return cov->expression != NULL ? oat_kernel_of_expression(cov->expression) : kernels[cov->id];
}

bool oat_kernel_is_smooth(const oat_kernel *kernel) {
  return kernel->expression != NULL ? oat_tree_smooth(kernel->expression) : kernel->profile->smooth;
}

bool oat_kernel_has_shape(const oat_kernel *kernel) { return kernel->expression == NULL && kernel->profile->has_shape; }

oat_kernel_size oat_kernel_size_of(const oat_kernel *kernel) {
  const oat_expression *e = kernel->expression;
  const size_t further = kernel->further.count;
  return e != NULL ? (oat_kernel_size){oat_tree_work(e), e->parameters, further}
                   : (oat_kernel_size){.further = further};
}

double oat_kernel_amplitude(const oat_kernel *kernel, const double *theta) {
  const size_t count = kernel->expression != NULL ? OAT_LENGTHSCALE + kernel->expression->parameters : OAT_LENGTHSCALE;
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum = oat_parameter_is_sigma(kernel, i) ? sum == 0 ? theta[i] : hypot(sum, theta[i]) : sum;
  }
  return sum;
}
