/* Writes tables as CSV and .npy. A file appears only when it is complete. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "text/number.h"
#include "util/file.h"
#include "util/lanes.h"
#include "util/memory.h"
#include "util/threads.h"

enum {
  NPY_ALIGNMENT = 64,
  NPY_PREFIX = 10,
  BATCH = 64, /* blocks */
  BLOCK_ROWS = 256,
  BLOCK_BYTES = 1 << 19,
  LONGEST_CELL = OAT_LONGEST_NUMBER + 1
};

#define CELL_FLOPS 1000.0 /* flops that writing a number as text counts as */

static oatgp_status check_result(oatgp_context *ctx, const char *path, int error) {
  const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
  return error == 0 ? OATGP_OK : oat_fail(ctx, OATGP_WRITE, "cannot write '%s': %s", name, strerror(error));
}

static oatgp_status check_path(oatgp_context *ctx, const char *path) {
  return path != NULL && path[0] != '\0'
             ? OATGP_OK
             : oat_fail(ctx, OATGP_ARGUMENT, "the path of the file to write is NULL or empty");
}

/* ---- blocks of rows -------------------------------------------------------------------------------------------- */

/* Writes rows to a file. Threads make the bytes of a batch of blocks in parallel, while one of them writes the batch
 * before. */
typedef struct block_writer {
  size_t block; /* rows that are made together: fewer of them where they are long */
  size_t room;  /* bytes of a block, at most */
  size_t batch; /* blocks; one where a single row is longer than a block should be */
  double flops; /* that a byte counts as, approximately; for few bytes one thread is used */
  char *bytes;  /* of two batches */
} block_writer;

/* Makes the bytes of rows first .. first + rows - 1; returns how many they are. */
typedef size_t (*make_bytes)(const void *self, size_t first, size_t rows, char *bytes);

/* For rows of at most `row_bytes` bytes. The flops of a byte are already set. */
static oatgp_status open_blocks(oatgp_context *ctx, size_t row_bytes, block_writer *w) {
  const size_t rows = BLOCK_BYTES / row_bytes;
  w->block = rows < 1 ? 1 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
  w->room = w->block * row_bytes;
  w->batch = rows < 1 ? 1 : BATCH;
  return oat_new(ctx, 2 * w->batch, w->room, &w->bytes);
}

/* A batch of blocks. */
typedef struct batch {
  size_t first, rows, blocks;
  char *bytes;
  size_t length[BATCH];
} batch;

/* The batch after `before`; empty if no rows are left. */
static batch next_batch(const block_writer *w, size_t rows, const batch *before) {
  const size_t first = before->first + before->rows, left = rows - first, most = w->batch * w->block,
               now = left < most ? left : most;
  char *const other = before->bytes == w->bytes ? w->bytes + w->batch * w->room : w->bytes;
  return (batch){.first = first, .rows = now, .blocks = (now + w->block - 1) / w->block, .bytes = other};
}

/* The number of the system's error; 0 if there was none. */
static int write_batch(const block_writer *w, const batch *made, FILE *stream) {
  errno = 0;
  for (size_t b = 0; b < made->blocks; b++) {
    if (fwrite(made->bytes + b * w->room, 1, made->length[b], stream) < made->length[b]) {
      return errno != 0 ? errno : EIO;
    }
  }
  return 0;
}

static void make_block(const block_writer *w, batch *now, size_t b, make_bytes make, const void *self) {
  const size_t left = now->rows - b * w->block;
  now->length[b] = make(self, now->first + b * w->block, left < w->block ? left : w->block, now->bytes + b * w->room);
}

/* Makes and writes so many rows, as long as that can be done; returns as write_batch does. */
static int write_blocks(const oatgp_context *ctx, const block_writer *w, size_t rows, make_bytes make, const void *self,
                        FILE *stream) {
  const locale_t plain = uselocale((locale_t)0);
  batch made = {0};
  int error = 0;
  while (error == 0 && (made.first + made.rows < rows || made.rows > 0)) {
    batch now = next_batch(w, rows, &made);
    const int threads = oat_threads_for(ctx->threads, w->flops * (double)w->room * (double)now.rows / (double)w->block);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (now.blocks > 1 && threads > 1)
    for (size_t b = 0; b < now.blocks + 1; b++) {
      const locale_t before = uselocale(plain);
      if (b == 0) {
        error = write_batch(w, &made, stream);
      } else {
        make_block(w, &now, b - 1, make, self);
      }
      uselocale(before);
    }
    made = now;
  }
  return error;
}

/* ---- CSV ------------------------------------------------------------------------------------------------------- */

/* The texts of the codes of a column, with their quotes. */
typedef struct cell_texts {
  size_t count, longest;
  char **text;
} cell_texts;

struct oatgp_csv {
  oat_file file;
  char *path;
  size_t columns;
  cell_texts *texts; /* for each column; empty for numbers */
  block_writer writer;
};

/* A text as a cell, in quotes where it must be: delimiters of any table that is read, quotes, line ends, blanks at an
 * end. */
static oatgp_status make_cell(oatgp_context *ctx, const char *name, char **out) {
  const size_t length = strlen(name);
  const bool quote = length == 0 || strpbrk(name, ",;\t\"\r\n") != NULL || name[0] == ' ' || name[length - 1] == ' ';
  PASS_ON(oat_new(ctx, 2 * length + 3, 1, out));
  char *to = *out;
  if (!quote) {
    memcpy(to, name, length);
    return OATGP_OK;
  }
  *to++ = '"';
  for (const char *at = name; *at != '\0'; at++) {
    if (*at == '"') {
      *to++ = '"';
    }
    *to++ = *at;
  }
  *to = '"';
  return OATGP_OK;
}

static oatgp_status write_name(oatgp_context *ctx, FILE *stream, const char *name) {
  char *cell = NULL;
  PASS_ON(make_cell(ctx, name, &cell));
  fputs(cell, stream);
  free(cell);
  return OATGP_OK;
}

static oatgp_status check_names(oatgp_context *ctx, size_t columns, const char *const *names) {
  REFUSE_IF(columns == 0 || names == NULL, ctx, OATGP_ARGUMENT,
            "the table to write needs at least one column, names and values");
  for (size_t k = 0; k < columns; k++) {
    REFUSE_IF(names[k] == NULL, ctx, OATGP_ARGUMENT, "column %zu of the table to write has no name", k + 1);
  }
  return OATGP_OK;
}

static void free_texts(cell_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) {
    free(texts->text[i]);
  }
  free(texts->text);
  *texts = (cell_texts){0};
}

static void free_csv(oatgp_csv *csv) {
  for (size_t k = 0; csv->texts != NULL && k < csv->columns; k++) {
    free_texts(&csv->texts[k]);
  }
  free(csv->texts);
  free(csv->path);
  free(csv->writer.bytes);
  free(csv);
}

oatgp_status oatgp_csv_open(oatgp_context *ctx, const char *path, size_t columns, const char *const *names,
                            oatgp_csv **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_status status = OATGP_OK;
  oatgp_csv *csv = NULL;
  TRY(out != NULL ? OATGP_OK
                  : oat_fail(ctx, OATGP_ARGUMENT, "the output pointer of the table to write must not be NULL"));
  TRY(check_path(ctx, path));
  TRY(check_names(ctx, columns, names));
  TRY(oat_new(ctx, 1, sizeof *csv, &csv));
  TRY(oat_copy_text(ctx, path, &csv->path));
  csv->columns = columns;
  TRY(oat_new(ctx, columns, sizeof *csv->texts, &csv->texts));
  csv->writer.flops = CELL_FLOPS / LONGEST_CELL;
  TRY(open_blocks(ctx, columns * LONGEST_CELL, &csv->writer));
  TRY(oat_file_open(ctx, path, &csv->file));
  for (size_t k = 0; k < columns; k++) {
    fputs(k > 0 ? "," : "", csv->file.stream);
    const oatgp_status named = write_name(ctx, csv->file.stream, names[k]);
    if (named != OATGP_OK) {
      oatgp_csv_close(ctx, csv, 0);
      return named;
    }
  }
  fputc('\n', csv->file.stream);
  *out = csv;
  csv = NULL;
done:
  if (csv != NULL) {
    free_csv(csv);
  }
  return status;
}

static oatgp_status make_texts(oatgp_context *ctx, size_t count, const char *const *levels, cell_texts *texts) {
  PASS_ON(oat_new(ctx, count, sizeof *texts->text, &texts->text));
  for (; texts->count < count; texts->count++) {
    char **text = &texts->text[texts->count];
    PASS_ON(make_cell(ctx, levels[texts->count], text));
    texts->longest = strlen(*text) > texts->longest ? strlen(*text) : texts->longest;
  }
  return OATGP_OK;
}

oatgp_status oatgp_csv_set_levels(oatgp_context *ctx, oatgp_csv *csv, size_t column, size_t count,
                                  const char *const *levels) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(csv == NULL || levels == NULL || column >= csv->columns, ctx, OATGP_ARGUMENT,
            "writing levels needs a table, one of its columns and texts, which must not be NULL");
  cell_texts texts = {0};
  const oatgp_status status = make_texts(ctx, count, levels, &texts);
  if (status != OATGP_OK) {
    free_texts(&texts);
    return status;
  }
  free_texts(&csv->texts[column]);
  csv->texts[column] = texts;
  size_t row_bytes = csv->columns * LONGEST_CELL;
  for (size_t k = 0; k < csv->columns; k++) {
    row_bytes += csv->texts[k].longest;
  }
  free(csv->writer.bytes);
  csv->writer.bytes = NULL;
  return open_blocks(ctx, row_bytes, &csv->writer);
}

/* The columns of rows that are being written. */
typedef struct csv_rows {
  size_t columns;
  const cell_texts *texts;
  const double *const *values;
} csv_rows;

/* A code that has no text is written as a number. */
static size_t format_cell(const cell_texts *texts, double value, char *at) {
  if (texts->count == 0 || !(value >= 0 && value < (double)texts->count)) {
    return oat_write_number(value, at);
  }
  const char *text = texts->text[(size_t)value];
  const size_t length = strlen(text);
  memcpy(at, text, length);
  return length;
}

static size_t format_rows(const void *self, size_t first, size_t rows, char *text) {
  const csv_rows *r = self;
  char *at = text;
  for (size_t i = first; i < first + rows; i++) {
    for (size_t k = 0; k < r->columns; k++) {
      at += format_cell(&r->texts[k], r->values[k][i], at);
      *at++ = k + 1 < r->columns ? ',' : '\n';
    }
  }
  return (size_t)(at - text);
}

oatgp_status oatgp_csv_append(oatgp_context *ctx, oatgp_csv *csv, size_t rows, const double *const *values) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_status status = OATGP_OK;
  oat_plain plain = {0};
  REFUSE_IF(csv == NULL || values == NULL, ctx, OATGP_ARGUMENT,
            "writing rows needs a table and values, which must not be NULL");
  for (size_t k = 0; k < csv->columns; k++) {
    REFUSE_IF(values[k] == NULL && rows > 0, ctx, OATGP_ARGUMENT, "column %zu of the table to write has no values",
              k + 1);
  }
  TRY(oat_plain_begin(ctx, &plain));
  const csv_rows r = {csv->columns, csv->texts, values};
  TRY(check_result(ctx, csv->path, write_blocks(ctx, &csv->writer, rows, format_rows, &r, csv->file.stream)));
done:
  oat_plain_end(&plain);
  return status;
}

oatgp_status oatgp_csv_close(oatgp_context *ctx, oatgp_csv *csv, int keep) {
  OAT_NEED_CONTEXT(ctx);
  if (csv == NULL) {
    return OATGP_OK;
  }
  const oatgp_status status = oat_file_close(ctx, &csv->file, keep ? OATGP_OK : OATGP_STOPPED);
  free_csv(csv);
  return keep ? status : OATGP_OK;
}

oatgp_status oatgp_write_csv(oatgp_context *ctx, const char *path, size_t rows, size_t columns,
                             const char *const *names, const double *const *values) {
  oatgp_csv *csv = NULL;
  PASS_ON(oatgp_csv_open(ctx, path, columns, names, &csv));
  const oatgp_status appended = oatgp_csv_append(ctx, csv, rows, values);
  const oatgp_status closed = oatgp_csv_close(ctx, csv, appended == OATGP_OK);
  return appended == OATGP_OK ? closed : appended;
}

/* ---- .npy ------------------------------------------------------------------------------------------------------ */

static size_t digits_of(size_t number) {
  size_t digits = 1;
  for (; number > 9; number /= 10) {
    digits++;
  }
  return digits;
}

/* Version 1, padded so that the values begin at a multiple of 64 bytes. */
static void write_npy_header(FILE *stream, size_t rows, size_t columns) {
  char text[160];
  const int length =
      snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
  const size_t digits = 20, used = NPY_PREFIX + (size_t)length + 1 +
                                   (digits - digits_of(rows)); /* the same for any number of rows */
  const size_t padding = (NPY_ALIGNMENT - used % NPY_ALIGNMENT) % NPY_ALIGNMENT;
  const size_t blanks = padding + digits - digits_of(rows), header = (size_t)length + blanks + 1;
  fwrite("\x93NUMPY\x01\x00", 1, 8, stream);
  fputc((int)(header & 0xFF), stream);
  fputc((int)(header >> 8), stream);
  fprintf(stream, "%s%*s\n", text, (int)blanks, "");
}

/* Stores the bytes of a number, the lowest first. On little-endian machines the compiler turns this into one store. */
static void encode(double value, char *bytes) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  for (size_t i = 0; i < sizeof bits; i++) {
    bytes[i] = (char)(unsigned char)(bits >> (8 * i));
  }
}

/* A matrix as it lies in memory, in rows of so many columns. */
typedef struct npy_matrix {
  size_t columns;
  const double *values;
} npy_matrix;

static size_t encode_matrix(const void *self, size_t first, size_t rows, char *bytes) {
  const npy_matrix *m = self;
  const double *values = m->values + first * m->columns;
  for (size_t i = 0; i < rows * m->columns; i++) {
    encode(values[i], bytes + i * sizeof(double));
  }
  return rows * m->columns * sizeof(double);
}

/* Data, whose columns become rows. */
static size_t encode_data(const void *self, size_t first, size_t rows, char *bytes) {
  const oatgp_data *data = self;
  const size_t columns = oatgp_data_columns(data);
  for (size_t k = 0; k < columns; k++) {
    const oat_column values = oat_data_column(data, k);
    for (size_t i = 0; i < rows; i++) {
      encode(values.a[(first + i) * values.step], bytes + (i * columns + k) * sizeof(double));
    }
  }
  return rows * columns * sizeof(double);
}

/* The content of a file: its shape, and the function that makes its bytes. */
typedef struct npy_content {
  size_t rows, columns;
  make_bytes make;
  const void *self;
} npy_content;

/* Warns because a model matches the columns of a file without names by their positions in its training file, if the
 * number of columns is the same. */
static void warn_of_other_places(oatgp_context *ctx, const oatgp_data *data, const char *path) {
  bool same = true;
  for (size_t j = 0; data->positions != NULL && j < data->d; j++) {
    same = same && data->positions[j] == j + 1;
  }
  if (!same && data->columns == oatgp_data_columns(data)) {
    oat_say(ctx, OATGP_WARNING,
            "'%s' has its columns in a different order from the original file, so a model fitted to that file would "
            "read the wrong columns; use it with models fitted to this file",
            path);
  }
}

struct oatgp_npy {
  oat_file file;
  char *path;
  size_t rows, columns;
  block_writer writer;
};

static void free_npy(oatgp_npy *npy) {
  if (npy != NULL) {
    free(npy->writer.bytes);
    free(npy->path);
    free(npy);
  }
}

oatgp_status oatgp_npy_open(oatgp_context *ctx, const char *path, size_t columns, oatgp_npy **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_npy *npy = NULL;
  oatgp_status status = OATGP_OK;
  PASS_ON(check_path(ctx, path));
  REFUSE_IF(columns == 0 || out == NULL, ctx, OATGP_ARGUMENT,
            "writing an .npy file needs columns and an output pointer, which must not be NULL");
  TRY(oat_new(ctx, 1, sizeof *npy, &npy));
  npy->columns = columns;
  npy->writer.flops = (double)OAT_FLOPS_OF_MEMORY / sizeof(double);
  TRY(oat_copy_text(ctx, path, &npy->path));
  TRY(open_blocks(ctx, columns * sizeof(double), &npy->writer));
  TRY(oat_file_open(ctx, path, &npy->file));
  write_npy_header(npy->file.stream, 0, columns);
  *out = npy;
  npy = NULL;
done:
  free_npy(npy);
  return status;
}

oatgp_status oatgp_npy_append(oatgp_context *ctx, oatgp_npy *npy, const oatgp_data *data) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(npy == NULL || data == NULL || oatgp_data_columns(data) != npy->columns, ctx, OATGP_ARGUMENT,
            "writing rows needs a file, and data with the same number of columns, which must not be NULL");
  PASS_ON(oat_data_need_memory(ctx, data, "writing data"));
  if (npy->rows == 0) {
    warn_of_other_places(ctx, data, npy->path);
  }
  npy->rows += data->n;
  return check_result(ctx, npy->path, write_blocks(ctx, &npy->writer, data->n, encode_data, data, npy->file.stream));
}

/* The header has the same length for any number of rows. */
oatgp_status oatgp_npy_close(oatgp_context *ctx, oatgp_npy *npy, int keep) {
  OAT_NEED_CONTEXT(ctx);
  if (npy == NULL) {
    return OATGP_OK;
  }
  oatgp_status status = keep ? OATGP_OK : OATGP_STOPPED;
  if (keep) {
    const bool back = fflush(npy->file.stream) == 0 && fseeko(npy->file.stream, 0, SEEK_SET) == 0;
    if (back) {
      write_npy_header(npy->file.stream, npy->rows, npy->columns);
    } else {
      status =
          oat_fail(ctx, OATGP_WRITE,
                   "cannot write '%s': the number of rows, known only at the end, must go to the beginning of the file",
                   npy->path);
    }
  }
  status = oat_file_close(ctx, &npy->file, status);
  free_npy(npy);
  return keep ? status : OATGP_OK;
}

/* Writes all rows, whose number is known. */
static oatgp_status write_npy(oatgp_context *ctx, const char *path, const npy_content *c) {
  oat_file file = {0};
  block_writer w = {.flops = (double)OAT_FLOPS_OF_MEMORY / sizeof(double)};
  oatgp_status status = OATGP_OK;
  TRY(open_blocks(ctx, c->columns * sizeof(double), &w));
  TRY(oat_file_open(ctx, path, &file));
  write_npy_header(file.stream, c->rows, c->columns);
  const int error = write_blocks(ctx, &w, c->rows, c->make, c->self, file.stream);
  status = oat_file_close(ctx, &file, check_result(ctx, path, error));
done:
  free(w.bytes);
  return status;
}

oatgp_status oatgp_write_npy(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const double *values) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_path(ctx, path));
  REFUSE_IF(columns == 0 || rows > SIZE_MAX / columns || (values == NULL && rows > 0), ctx, OATGP_ARGUMENT,
            "a matrix of %zu x %zu values at %s cannot be written", rows, columns,
            values == NULL ? "NULL" : "the address given");
  return write_npy(ctx, path, &(npy_content){rows, columns, encode_matrix, &(npy_matrix){columns, values}});
}

oatgp_status oatgp_data_write_npy(oatgp_context *ctx, const oatgp_data *data, const char *path) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL, ctx, OATGP_ARGUMENT, "the data to write are NULL");
  PASS_ON(check_path(ctx, path));
  PASS_ON(oat_data_need_memory(ctx, data, "writing data"));
  warn_of_other_places(ctx, data, path);
  return write_npy(ctx, path, &(npy_content){data->n, oatgp_data_columns(data), encode_data, data});
}
