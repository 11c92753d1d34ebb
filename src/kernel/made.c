/* Kernels by their text: named kernels exist already; kernel expressions are created, and live in the memory of the
 * expression. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "util/memory.h"

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

/* Any name can be in quotes. */
size_t oat_quote_name(const char *name, char *out) {
  char *at = out;
  *at++ = '"';
  for (; *name != '\0'; name++) {
    *at++ = *name;
    if (*name == '"') {
      *at++ = '"';
    }
  }
  *at++ = '"';
  *at = '\0';
  return (size_t)(at - out);
}

static size_t count_categories(const oat_names *inputs) {
  size_t categories = 0;
  for (size_t j = 0; inputs->category != NULL && j < inputs->count; j++) {
    categories += inputs->category[j] ? 1 : 0;
  }
  return categories;
}

/* The leaf of a named kernel over all numeric inputs, times a leaf for each category. A named kernel begins with the
 * name of its leaf, except `exponential`. */
static oatgp_status with_categories(oatgp_context *ctx, const char *name, const oat_names *inputs, char **out) {
  const size_t length = strcmp(name, "exponential") == 0 ? 0 : strcspn(name, "-"),
               numbers = inputs->count - count_categories(inputs);
  size_t room = sizeof "matern12()" + length, at = 0;
  for (size_t j = 0; j < inputs->count; j++) {
    room += sizeof " * categorical(\"\")" + 2 * strlen(inputs->name[j]);
  }
  PASS_ON(oat_new(ctx, room, 1, out));
  if (numbers > 0) {
    at = (size_t)snprintf(*out, room, length > 0 ? "%.*s()" : "matern12()", (int)length, name);
  }
  for (size_t j = 0; j < inputs->count; j++) {
    if (inputs->category[j]) {
      at += (size_t)snprintf(*out + at, room - at, "%scategorical(", at > 0 ? " * " : "");
      at += oat_quote_name(inputs->name[j], *out + at);
      at += (size_t)snprintf(*out + at, room - at, ")");
    }
  }
  return OATGP_OK;
}

oatgp_status oat_kernel_read(oatgp_context *ctx, const char *text, const oat_names *inputs, const oat_kernel **out) {
  oat_expression *expression = NULL;
  char *own = NULL;
  oatgp_status status = OATGP_OK;
  *out = oat_kernel_find(text);
  if (*out != NULL && count_categories(inputs) == 0) {
    return OATGP_OK;
  }
  TRY(*out != NULL ? with_categories(ctx, text, inputs, &own) : OATGP_OK);
  *out = NULL;
  TRY(oat_expression_read(ctx, own != NULL ? own : text, inputs, &expression));
  TRY(kernel_of(expression, out));
done:
  free(own);
  return status;
}

/* The covariance alone. */
static oatgp_status copy_covariance(oatgp_context *ctx, const oat_kernel *kernel, const oat_names *inputs,
                                    const oat_kernel **out) {
  oat_expression *expression = NULL;
  if (kernel->expression == NULL) {
    *out = oat_kernel_at(kernel->id);
    return OATGP_OK;
  }
  PASS_ON(oat_expression_copy(ctx, kernel->expression, inputs, &expression));
  return kernel_of(expression, out);
}

oatgp_status oat_kernel_copy(oatgp_context *ctx, const oat_kernel *kernel, const oat_names *inputs,
                             const oat_kernel **out) {
  const oat_kernel *covariance = NULL;
  *out = NULL;
  PASS_ON(copy_covariance(ctx, kernel, inputs, &covariance));
  if (!kernel->made) {
    *out = covariance;
    return OATGP_OK;
  }
  const oatgp_status status = oat_kernel_with(ctx, covariance, &kernel->further, out);
  if (status != OATGP_OK) {
    oat_kernel_release(covariance);
  }
  return status;
}

oatgp_status oat_kernel_with(oatgp_context *ctx, const oat_kernel *kernel, const oat_further *further,
                             const oat_kernel **out) {
  const size_t count = further->count, bytes = count * sizeof *further->is;
  char *room = NULL;
  PASS_ON(oat_new(ctx, 1, sizeof(oat_kernel) + bytes + count * sizeof *further->start, &room));
  oat_kernel *made = (oat_kernel *)room;
  oat_parameter *is = (oat_parameter *)(made + 1);
  double *start = (double *)(is + count);
  *made = *kernel;
  for (size_t i = 0; i < count; i++) {
    is[i] = further->is[i];
    start[i] = further->start[i];
  }
  made->further = (oat_further){further->answers, further->first, count, is, start};
  made->made = true;
  *out = made;
  return OATGP_OK;
}

bool oat_kernel_is_automatic(const char *text) { return strcmp(text, "auto") == 0; }

void oat_kernel_release(const oat_kernel *kernel) {
  if (kernel == NULL) {
    return;
  }
  oat_expression *expression = NULL;
  oat_kernel *made = NULL;
  memcpy(&expression, &kernel->expression, sizeof expression); /* both were made here, so they may be freed */
  memcpy(&made, &kernel, sizeof made);
  if (!kernel->made) {
    made = NULL; /* it is in the expression's memory, or in the list */
  }
  if (expression != NULL) {
    oat_expression_free(expression);
  }
  free(made);
}
