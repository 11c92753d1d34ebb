/* A set of named arrays and named strings, and its file: the safetensors layout with arrays of F64 only.
 *
 * The file is 8 bytes with the length of the header (little-endian), the header (JSON, padded with spaces to a multiple
 * of 8) and the raw little-endian doubles, without gaps, in the order of the header. The strings are the header's
 * "__metadata__"; its first entry is a checksum of the whole file, which is computed and checked here. */
#ifndef OAT_TENSORS_H
#define OAT_TENSORS_H

#include <stdbool.h>

#include "util/context.h"

#define OAT_TENSOR_RANK 3

typedef struct oat_tensor {
  char *name;
  size_t rank, shape[OAT_TENSOR_RANK];
  size_t size;    /* number of values */
  double *values; /* row-major */
} oat_tensor;

typedef struct oat_tensors_entry {
  char *key, *value;
} oat_tensors_entry;

/* Starts as {0}. Owns all its memory. */
typedef struct oat_tensors {
  char *path; /* of the file it was read from, or NULL */
  oat_tensor *tensor;
  size_t count, capacity;
  oat_tensors_entry *text;
  size_t text_count, text_capacity;
} oat_tensors;

/* Sets the size from the shape; false if it is too large for a file (2^53 values or more). */
bool oat_tensor_measure(oat_tensor *tensor);

/* Adds a tensor of zeros with the rank and the shape of `like`; *values is where to fill it in. */
oatgp_status oat_tensors_reserve(oatgp_context *ctx, oat_tensors *tensors, const char *name, const oat_tensor *like,
                                 double **values);
/* Adds a copy of a rows x columns matrix, or of a vector when columns is 0. */
oatgp_status oat_tensors_add(oatgp_context *ctx, oat_tensors *tensors, const char *name, size_t rows, size_t columns,
                             const double *values);
/* Adds a text, as UTF-8, which JSON must be; NULL adds nothing. Names and keys must differ, which is checked when they
 * are written. */
oatgp_status oat_tensors_set(oatgp_context *ctx, oat_tensors *tensors, const char *key, const char *value);

const char *oat_tensors_text(const oat_tensors *tensors, const char *key);        /* NULL if absent */
const oat_tensor *oat_tensors_find(const oat_tensors *tensors, const char *name); /* NULL if absent */
/* The values of a tensor, which must exist with exactly this shape (columns 0: a vector). They belong to the set. */
oatgp_status oat_tensors_get(oatgp_context *ctx, const oat_tensors *tensors, const char *name, size_t rows,
                             size_t columns, const double **values);

/* The file appears only when it is complete. */
oatgp_status oat_tensors_write(oatgp_context *ctx, const oat_tensors *tensors, const char *path);
/* Everything in the file is checked before *out is set; on failure *out is empty. */
oatgp_status oat_tensors_read(oatgp_context *ctx, const char *path, oat_tensors *out);

/* The bytes of the file, in memory. */
typedef struct oat_bytes {
  size_t size;
  unsigned char *bytes;
} oat_bytes;

/* The bytes that oat_tensors_write would write; free(out->bytes). */
oatgp_status oat_tensors_pack(oatgp_context *ctx, const oat_tensors *tensors, oat_bytes *out);
/* As oat_tensors_read, with the same checks. */
oatgp_status oat_tensors_unpack(oatgp_context *ctx, size_t size, const unsigned char *bytes, oat_tensors *out);

/* Frees the contents; the struct is {0} again. */
void oat_tensors_clear(oat_tensors *tensors);

#endif
