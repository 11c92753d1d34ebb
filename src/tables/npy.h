/* NumPy's .npy files: a matrix of real numbers or integers, or a vector, which is one column. */
#ifndef OAT_NPY_H
#define OAT_NPY_H

#include "tables/bytes.h"
#include "tables/table.h"

typedef struct oat_npy {
  oat_source *source;
  char kind;   /* 'f', 'i', 'u' or 'b' as in NumPy */
  size_t size; /* bytes of a value */
  bool big_endian, fortran;
  size_t rows, columns;
  size_t done;            /* values read */
  oat_series **series_of; /* for each column, NULL if it is not used */
} oat_npy;

/* Whether the source begins with the magic bytes of .npy. */
bool oat_npy_is(const oat_source *source);
/* Reads the header and sets the layout; columns are numbered, V1, V2, ... */
oatgp_status oat_npy_open(oatgp_context *ctx, oat_source *source, oat_npy *npy, oat_layout *layout);
/* Adds more rows to the table, all of them if the file is in Fortran order; *more says whether there are others. */
oatgp_status oat_npy_more(oatgp_context *ctx, oat_npy *npy, oat_table *table, bool *more);
void oat_npy_free(oat_npy *npy); /* takes {0} too */

#endif
