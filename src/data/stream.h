/* Rows that stay in their files: one or several .npy files with the same columns, one after the other. Rows are read
 * and converted to doubles on request, by any number of threads. Nothing is mapped, so a file that shrinks causes an
 * error and not a signal. */
#ifndef OAT_STREAM_H
#define OAT_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "util/context.h"
#include "util/lanes.h"

/* A file, open. */
typedef struct oat_stream_file {
  char *name;
  int descriptor;
  uint64_t values; /* the byte at which its values begin */
  size_t first;    /* its first row among those of all files */
  size_t rows;
  bool fortran;    /* column after column */
  bool narrow;     /* float32, else float64 */
  struct stat was; /* when it was opened */
} oat_stream_file;

typedef struct oat_stream {
  size_t files, capacity;
  oat_stream_file *file;
  size_t columns;      /* of each file */
  size_t n, used;      /* rows of all files; columns that are used */
  size_t *column;      /* used: their numbers in the files, from 0 */
  atomic_size_t wrong; /* 0, or 1 + the number of a file that could not be read completely */
  atomic_int error;    /* its errno; 0 if it ended too early */
} oat_stream;

/* Takes ownership of the file, even on failure. `was` and `first` are filled in here. */
oatgp_status oat_stream_add(oatgp_context *ctx, oat_stream *stream, oat_stream_file file);
/* out <- these rows, rows.count x used, the columns ld apart. What cannot be read becomes 0, and oat_stream_check
 * reports it. */
void oat_stream_read(oat_stream *stream, oat_span rows, double *out, size_t ld);
/* After a pass: checks that everything was read and that no file has changed. */
oatgp_status oat_stream_check(oatgp_context *ctx, const oat_stream *stream);
/* Of the values in all files. */
size_t oat_stream_bytes(const oat_stream *stream);
/* The file that a row is in, and its number there, from 1. */
const oat_stream_file *oat_stream_place(const oat_stream *stream, size_t row, size_t *number);
void oat_stream_free(oat_stream *stream); /* NULL is allowed */

#endif
