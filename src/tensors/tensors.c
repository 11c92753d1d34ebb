/* A set of named arrays and named strings in memory. */
#include "tensors/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/utf8.h"

#define TOO_LARGE ((size_t)1 << 53) /* JSON readers hold whole numbers exactly only below this */

bool oat_tensor_measure(oat_tensor *tensor) {
  tensor->size = 1;
  for (size_t i = 0; i < tensor->rank; i++) {
    const size_t extent = tensor->shape[i];
    if (extent > 0 && tensor->size > (TOO_LARGE - 1) / extent) {
      return false;
    }
    tensor->size *= extent;
  }
  return true;
}

oatgp_status oat_tensors_reserve(oatgp_context *ctx, oat_tensors *tensors, const char *name, const oat_tensor *like,
                                 double **values) {
  oat_tensor tensor = *like;
  tensor.name = NULL;
  REFUSE_IF(!oat_tensor_measure(&tensor), ctx, OATGP_ARGUMENT,
            "tensor '%s' is too large: a file holds fewer than 2^53 values", name);
  oatgp_status status = OATGP_OK;
  TRY(oat_grow(ctx, tensors->count + 1, sizeof *tensors->tensor, &tensors->capacity, &tensors->tensor));
  TRY(oat_copy_text(ctx, name, &tensor.name));
  TRY(oat_new(ctx, tensor.size, sizeof(double), &tensor.values));
  *values = tensor.values;
  tensors->tensor[tensors->count++] = tensor;
  tensor.name = NULL;
done:
  free(tensor.name);
  return status;
}

/* The shape of a vector (columns 0) or a matrix. */
static oat_tensor make_shape(size_t rows, size_t columns) {
  return (oat_tensor){.rank = columns > 0 ? 2 : 1, .shape = {rows, columns}};
}

oatgp_status oat_tensors_add(oatgp_context *ctx, oat_tensors *tensors, const char *name, size_t rows, size_t columns,
                             const double *values) {
  const oat_tensor like = make_shape(rows, columns);
  double *place = NULL;
  PASS_ON(oat_tensors_reserve(ctx, tensors, name, &like, &place));
  if (rows > 0) {
    memcpy(place, values, rows * (columns > 0 ? columns : 1) * sizeof(double));
  }
  return OATGP_OK;
}

oatgp_status oat_tensors_set(oatgp_context *ctx, oat_tensors *tensors, const char *key, const char *value) {
  if (value == NULL) {
    return OATGP_OK;
  }
  oat_tensors_entry entry = {0};
  oatgp_status status = OATGP_OK;
  TRY(oat_grow(ctx, tensors->text_count + 1, sizeof *tensors->text, &tensors->text_capacity, &tensors->text));
  TRY(oat_copy_text(ctx, key, &entry.key));
  TRY(oat_copy_text_utf8(ctx, value, &entry.value));
  tensors->text[tensors->text_count++] = entry;
  entry.key = NULL;
done:
  free(entry.key);
  return status;
}

const char *oat_tensors_text(const oat_tensors *tensors, const char *key) {
  for (size_t i = 0; i < tensors->text_count; i++) {
    if (strcmp(tensors->text[i].key, key) == 0) {
      return tensors->text[i].value;
    }
  }
  return NULL;
}

const oat_tensor *oat_tensors_find(const oat_tensors *tensors, const char *name) {
  for (size_t i = 0; i < tensors->count; i++) {
    if (strcmp(tensors->tensor[i].name, name) == 0) {
      return &tensors->tensor[i];
    }
  }
  return NULL;
}

#define SHAPE_TEXT 72 /* room for three numbers of 20 digits */

/* "[3, 4]" */
static void write_shape(const oat_tensor *tensor, char text[SHAPE_TEXT]) {
  size_t used = (size_t)snprintf(text, SHAPE_TEXT, "[");
  for (size_t i = 0; i < tensor->rank; i++) {
    used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%zu", i > 0 ? ", " : "", tensor->shape[i]);
  }
  snprintf(text + used, SHAPE_TEXT - used, "]");
}

oatgp_status oat_tensors_get(oatgp_context *ctx, const oat_tensors *tensors, const char *name, size_t rows,
                             size_t columns, const double **values) {
  const char *path = tensors->path != NULL ? tensors->path : "(in memory)";
  const oat_tensor *tensor = oat_tensors_find(tensors, name);
  REFUSE_IF(tensor == NULL, ctx, OATGP_FORMAT, "'%s' has no tensor '%s'", path, name);
  const oat_tensor like = make_shape(rows, columns);
  if (tensor->rank != like.rank || memcmp(tensor->shape, like.shape, like.rank * sizeof *like.shape) != 0) {
    char is[SHAPE_TEXT], wanted[SHAPE_TEXT];
    write_shape(tensor, is);
    write_shape(&like, wanted);
    return oat_fail(ctx, OATGP_FORMAT, "'%s' has tensor '%s' with shape %s where %s is expected", path, name, is,
                    wanted);
  }
  *values = tensor->values;
  return OATGP_OK;
}

void oat_tensors_clear(oat_tensors *tensors) {
  for (size_t i = 0; i < tensors->count; i++) {
    free(tensors->tensor[i].name);
    free(tensors->tensor[i].values);
  }
  for (size_t i = 0; i < tensors->text_count; i++) {
    free(tensors->text[i].key);
    free(tensors->text[i].value);
  }
  free(tensors->path);
  free(tensors->tensor);
  free(tensors->text);
  *tensors = (oat_tensors){0};
}
