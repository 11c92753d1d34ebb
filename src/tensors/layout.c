/* Shared by the writing and reading of tensor files. */
#include "tensors/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

void oat_layout_put(uint64_t number, unsigned char *byte) {
  for (int i = 0; i < 8; i++) {
    byte[i] = (unsigned char)(number >> (8 * i));
  }
}

uint64_t oat_layout_take(const unsigned char *byte) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) {
    number |= (uint64_t)byte[i] << (8 * i);
  }
  return number;
}

void oat_layout_write_digits(uint64_t hash, char digits[OAT_LAYOUT_DIGITS + 1]) {
  snprintf(digits, OAT_LAYOUT_DIGITS + 1, "%016" PRIx64, hash);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

oatgp_status oat_layout_find_twice(oatgp_context *ctx, const cJSON *object, const char **twice) {
  const size_t count = (size_t)cJSON_GetArraySize(object);
  const char **name = NULL;
  *twice = NULL;
  PASS_ON(oat_new(ctx, count, sizeof *name, &name));
  const cJSON *item = object->child;
  for (size_t i = 0; i < count; i++, item = item->next) {
    name[i] = item->string;
  }
  qsort(name, count, sizeof *name, compare_names);
  for (size_t i = 1; i < count; i++) {
    if (strcmp(name[i - 1], name[i]) == 0) {
      *twice = name[i];
    }
  }
  free(name);
  return OATGP_OK;
}
