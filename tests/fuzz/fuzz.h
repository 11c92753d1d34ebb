/* Shared by the fuzz targets: a file for an input, and files of tensors (models, checkpoints) that are altered in
 * relevant places. Every input gets a correct checksum, so that the checksum does not hide errors. */
#ifndef FUZZ_H
#define FUZZ_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensors/tensors.h"
#include "tensors/layout.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* The library failed correctly: with an error message. */
static inline void fuzz_check(const oatgp_context *ctx, oatgp_status status) {
  if (status != OATGP_OK && strlen(oatgp_last_error(ctx)) < 10) {
    fprintf(stderr, "status %d has no sentence\n", (int)status);
    abort();
  }
}

/* The name of a file in memory, of this process and number; it is removed when the process ends. */
static inline const char *fuzz_name(unsigned number);

enum { FUZZ_FILES = 3 };

static inline void fuzz_remove_files(void) {
  for (unsigned number = 0; number < FUZZ_FILES; number++) {
    unlink(fuzz_name(number));
  }
}

static inline const char *fuzz_name(unsigned number) {
  static char names[FUZZ_FILES][64];
  if (*names[0] == '\0') {
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    for (unsigned i = 0; i < FUZZ_FILES; i++) {
      snprintf(names[i], sizeof names[i], "%s/oatgp_fuzz.%ld.%u", folder, (long)getpid(), i);
    }
    atexit(fuzz_remove_files);
  }
  return names[number];
}

static inline void fuzz_write(const char *path, const uint8_t *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
    abort();
  }
}

/* A file in memory with these bytes. */
static inline const char *fuzz_file(const uint8_t *data, size_t size) {
  fuzz_write(fuzz_name(0), data, size);
  return fuzz_name(0);
}

/* ---- files of tensors ------------------------------------------------------------------------------------------ */

enum { FUZZ_DIGITS_AT = OAT_LAYOUT_LENGTH_BYTES + OAT_LAYOUT_BEGINNING_BYTES };

/* Writes the right checksum into the bytes of a file, if they are long enough to have one. */
static inline void fuzz_seal(uint8_t *bytes, size_t size) {
  char digits[OAT_LAYOUT_DIGITS + 1];
  if (size < FUZZ_DIGITS_AT + OAT_LAYOUT_DIGITS) {
    return;
  }
  memcpy(bytes + FUZZ_DIGITS_AT, OAT_LAYOUT_ZERO_DIGITS, OAT_LAYOUT_DIGITS);
  oat_layout_write_digits(oat_hash(OAT_HASH_START, bytes, size), digits);
  memcpy(bytes + FUZZ_DIGITS_AT, digits, OAT_LAYOUT_DIGITS);
}

static inline double fuzz_number(oat_rng *rng) {
  static const double numbers[] = {0,   -0.0,         1,      -1,     2,     3,      4,      5,        6,        7,
                                   8,   0.5,          1e300,  -1e300, 1e154, 1e-154, 1e-300, 5e-324,   DBL_MAX,  1e9,
                                   2e9, 4294967296.0, 0x1p53, 1e19,   40,    1000,   NAN,    INFINITY, -INFINITY};
  uint64_t bits = oat_rng_next(rng);
  double number;
  memcpy(&number, &bits, sizeof number);
  return oat_rng_below(rng, 4) == 0 ? number : numbers[oat_rng_below(rng, sizeof numbers / sizeof *numbers)];
}

static inline void fuzz_values(oat_rng *rng, const oat_tensors *file) {
  for (size_t left = 1 + oat_rng_below(rng, 3); left > 0 && file->count > 0; left--) {
    const oat_tensor *tensor = &file->tensor[oat_rng_below(rng, file->count)];
    if (tensor->size > 0) {
      double *value = &tensor->values[oat_rng_below(rng, tensor->size)];
      *value = oat_rng_below(rng, 3) == 0 ? *value * (1 + oat_rng_normal(rng)) : fuzz_number(rng);
    }
  }
}

/* Another shape of the same tensor, with no more values than it has. */
static inline void fuzz_shape(oat_rng *rng, const oat_tensors *file) {
  oat_tensor *tensor = file->count > 0 ? &file->tensor[oat_rng_below(rng, file->count)] : NULL;
  if (tensor == NULL || tensor->size == 0) {
    return;
  }
  const size_t first = oat_rng_below(rng, tensor->size + 1);
  tensor->rank = 1 + oat_rng_below(rng, 2);
  tensor->shape[0] = first;
  tensor->shape[1] = first > 0 ? oat_rng_below(rng, tensor->size / first + 1) : 0;
  tensor->size = tensor->rank == 1 ? first : first * tensor->shape[1];
}

static inline void fuzz_remove(oat_rng *rng, oat_tensors *file) {
  if (file->count > 0) {
    const size_t at = oat_rng_below(rng, file->count);
    free(file->tensor[at].name);
    free(file->tensor[at].values);
    file->tensor[at] = file->tensor[--file->count];
  }
}

static inline void fuzz_text(oat_rng *rng, const oat_tensors *file) {
  enum { MOST = 4096 };
  if (file->text_count == 0) {
    return;
  }
  char **value = &file->text[oat_rng_below(rng, file->text_count)].value, *text = calloc(MOST + 1, 1);
  const size_t length = strlen(*value) < MOST ? strlen(*value) : MOST;
  memcpy(text, *value, length);
  text[LLVMFuzzerMutate((uint8_t *)text, length, MOST)] = '\0';
  free(*value);
  *value = text;
}

/* The first `before` bytes are the target's own. */
static inline size_t fuzz_mutate_tensors(uint8_t *data, size_t size, size_t most, size_t before, unsigned seed) {
  oatgp_context *ctx = oatgp_context_create();
  oat_tensors file = {0};
  oat_bytes bytes = {0};
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  if (size > before) {
    fuzz_seal(data + before, size - before);
  }
  if (oat_rng_below(&rng, 8) == 0 || size <= before ||
      oat_tensors_unpack(ctx, size - before, data + before, &file) != OATGP_OK) {
    oatgp_context_free(ctx);
    return LLVMFuzzerMutate(data, size, most);
  }
  const size_t what = oat_rng_below(&rng, 12);
  if (what == 0) {
    fuzz_shape(&rng, &file);
  } else if (what == 1) {
    fuzz_remove(&rng, &file);
  } else if (what == 2) {
    fuzz_text(&rng, &file);
  } else {
    fuzz_values(&rng, &file);
  }
  if (oat_tensors_pack(ctx, &file, &bytes) == OATGP_OK && before + bytes.size <= most) {
    memcpy(data + before, bytes.bytes, bytes.size);
    size = before + bytes.size;
  }
  free(bytes.bytes);
  oat_tensors_clear(&file);
  oatgp_context_free(ctx);
  return size;
}

#endif
