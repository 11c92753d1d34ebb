/* Kernels by their text: those of the list are there, those that are expressions are made, and live in the expression's memory. */
#include <string.h>

#include "kernel/kernel.h"

static oatgp_status kernel_of(oat_expression *expression, const oat_kernel **out) {
  oat_kernel *kernel = oat_take(&expression->memory, 1, sizeof *kernel);
  const oatgp_status status = expression->memory.status;
  if (kernel == NULL) {
    oat_expression_free(expression);
    return status;
  }
  *kernel = oat_kernel_of_expression(expression);
  *out = kernel;
  return OATGP_OK;
}

oatgp_status oat_kernel_read(oatgp_context *ctx, const char *text, const oat_names *inputs, const oat_kernel **out) {
  oat_expression *expression = NULL;
  *out = oat_kernel_find(text);
  if (*out != NULL) {
    return OATGP_OK;
  }
  PASS_ON(oat_expression_read(ctx, text, inputs, &expression));
  return kernel_of(expression, out);
}

oatgp_status oat_kernel_copy(oatgp_context *ctx, const oat_kernel *kernel, const oat_names *inputs, const oat_kernel **out) {
  oat_expression *expression = NULL;
  *out = kernel;
  if (kernel->expression == NULL) {
    return OATGP_OK;
  }
  *out = NULL;
  PASS_ON(oat_expression_copy(ctx, kernel->expression, inputs, &expression));
  return kernel_of(expression, out);
}

void oat_kernel_release(const oat_kernel *kernel) {
  if (kernel != NULL && kernel->expression != NULL) {
    oat_expression *expression = NULL;
    memcpy(&expression, &kernel->expression, sizeof expression); /* it was made here, and is ours to free */
    oat_expression_free(expression);
  }
}
