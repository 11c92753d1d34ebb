/* Writes tables: CSV and .npy, whole or not at all. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "text/number.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/threads.h"

enum {
  NPY_ALIGNMENT = 64,
  NPY_PREFIX = 10,
  NPY_BLOCK = 1024,
  CSV_ROWS = 256,
  CSV_BLOCKS = 64,
  CSV_BYTES = 1 << 20,
  LONGEST_CELL = OAT_LONGEST_NUMBER + 1
};

static oatgp_status check_result(oatgp_context *ctx, const char *path, const oat_file *file) {
  return !ferror(file->stream) ? OATGP_OK : oat_fail(ctx, OATGP_WRITE, "cannot write '%s': %s", path, strerror(errno));
}

static oatgp_status check_path(oatgp_context *ctx, const char *path) {
  return path != NULL && path[0] != '\0' ? OATGP_OK : oat_fail(ctx, OATGP_ARGUMENT, "the path of the file to write is NULL or empty");
}

/* ---- CSV ---------------------------------------------------------------------------------------------------------- */

struct oatgp_csv {
  oat_file file;
  char *path;
  size_t columns;
  size_t block; /* rows that are formatted together: fewer of them where they are long */
  char *text;   /* of the rows that are being written, a block for each thread's turn */
};

/* In quotes where it must be: delimiters of any table that is read, quotes, line ends, blanks at an end. */
static void write_name(FILE *stream, const char *name) {
  const size_t length = strlen(name);
  const bool quote = length == 0 || strpbrk(name, ",;\t\"\r\n") != NULL || name[0] == ' ' || name[length - 1] == ' ';
  if (!quote) {
    fputs(name, stream);
    return;
  }
  fputc('"', stream);
  for (const char *at = name; *at != '\0'; at++) {
    if (*at == '"') {
      fputc('"', stream);
    }
    fputc(*at, stream);
  }
  fputc('"', stream);
}

static oatgp_status check_names(oatgp_context *ctx, size_t columns, const char *const *names) {
  REFUSE_IF(columns == 0 || names == NULL, ctx, OATGP_ARGUMENT, "a table to write needs at least one column, names and values");
  for (size_t k = 0; k < columns; k++) {
    REFUSE_IF(names[k] == NULL, ctx, OATGP_ARGUMENT, "column %zu of the table to write has no name", k + 1);
  }
  return OATGP_OK;
}

/* Blocks side by side; one where a single row is longer than a block should be. */
static size_t blocks_of(const oatgp_csv *csv) { return csv->columns * LONGEST_CELL > CSV_BYTES ? 1 : CSV_BLOCKS; }

static void free_csv(oatgp_csv *csv) {
  free(csv->path);
  free(csv->text);
  free(csv);
}

oatgp_status oatgp_csv_open(oatgp_context *ctx, const char *path, size_t columns, const char *const *names, oatgp_csv **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_status status = OATGP_OK;
  oatgp_csv *csv = NULL;
  TRY(out != NULL ? OATGP_OK : oat_fail(ctx, OATGP_ARGUMENT, "the place of the table to write must not be NULL"));
  TRY(check_path(ctx, path));
  TRY(check_names(ctx, columns, names));
  TRY(oat_new(ctx, 1, sizeof *csv, &csv));
  TRY(oat_copy_text(ctx, path, &csv->path));
  csv->columns = columns;
  csv->block = CSV_BYTES / (columns * LONGEST_CELL);
  csv->block = csv->block < 1 ? 1 : csv->block > CSV_ROWS ? CSV_ROWS : csv->block;
  TRY(oat_new(ctx, blocks_of(csv) * csv->block, columns * LONGEST_CELL, &csv->text));
  TRY(oat_file_open(ctx, path, &csv->file));
  for (size_t k = 0; k < columns; k++) {
    fputs(k > 0 ? "," : "", csv->file.stream);
    write_name(csv->file.stream, names[k]);
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

/* Rows first .. first + rows - 1 as text; returns its length. */
static size_t format_rows(const oatgp_csv *csv, const double *const *values, size_t first, size_t rows, char *text) {
  char *at = text;
  for (size_t i = first; i < first + rows; i++) {
    for (size_t k = 0; k < csv->columns; k++) {
      at += oat_write_number(values[k][i], at);
      *at++ = k + 1 < csv->columns ? ',' : '\n';
    }
  }
  return (size_t)(at - text);
}

/* As many rows as there is room for, in blocks that threads make side by side; their order is that of the rows. */
static oatgp_status write_rows(oatgp_context *ctx, const oatgp_csv *csv, const double *const *values, size_t first, size_t rows) {
  size_t length[CSV_BLOCKS];
  const locale_t plain = uselocale((locale_t)0);
  const size_t block = csv->block, blocks = (rows + block - 1) / block, room = block * csv->columns * LONGEST_CELL;
#pragma omp parallel for num_threads(oat_lane_threads(ctx->threads)) schedule(dynamic, 1) if (blocks > 1)
  for (size_t b = 0; b < blocks; b++) {
    const locale_t before = uselocale(plain);
    const size_t left = rows - b * block;
    length[b] = format_rows(csv, values, first + b * block, left < block ? left : block, csv->text + b * room);
    uselocale(before);
  }
  for (size_t b = 0; b < blocks; b++) {
    fwrite(csv->text + b * room, 1, length[b], csv->file.stream);
  }
  return check_result(ctx, csv->path, &csv->file);
}

oatgp_status oatgp_csv_append(oatgp_context *ctx, oatgp_csv *csv, size_t rows, const double *const *values) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_status status = OATGP_OK;
  oat_plain plain = {0};
  REFUSE_IF(csv == NULL || values == NULL, ctx, OATGP_ARGUMENT, "rows to write need a table and values, which are not NULL");
  for (size_t k = 0; k < csv->columns; k++) {
    REFUSE_IF(values[k] == NULL && rows > 0, ctx, OATGP_ARGUMENT, "column %zu of the table to write has no values", k + 1);
  }
  TRY(oat_plain_begin(ctx, &plain));
  const size_t most = blocks_of(csv) * csv->block;
  for (size_t done = 0; done < rows;) {
    const size_t now = rows - done < most ? rows - done : most;
    TRY(write_rows(ctx, csv, values, done, now));
    done += now;
  }
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

oatgp_status oatgp_write_csv(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const char *const *names,
                             const double *const *values) {
  oatgp_csv *csv = NULL;
  PASS_ON(oatgp_csv_open(ctx, path, columns, names, &csv));
  const oatgp_status appended = oatgp_csv_append(ctx, csv, rows, values);
  const oatgp_status closed = oatgp_csv_close(ctx, csv, appended == OATGP_OK);
  return appended == OATGP_OK ? closed : appended;
}

/* ---- .npy --------------------------------------------------------------------------------------------------------- */

/* Version 1, padded so that the values begin at a multiple of 64 bytes. */
static void write_npy_header(FILE *stream, size_t rows, size_t columns) {
  char text[160];
  const int length = snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
  const size_t used = NPY_PREFIX + (size_t)length + 1;
  const size_t padding = (NPY_ALIGNMENT - used % NPY_ALIGNMENT) % NPY_ALIGNMENT;
  const size_t header = (size_t)length + padding + 1;
  fwrite("\x93NUMPY\x01\x00", 1, 8, stream);
  fputc((int)(header & 0xFF), stream);
  fputc((int)(header >> 8), stream);
  fprintf(stream, "%s%*s\n", text, (int)padding, "");
}

static void encode(double value, unsigned char *bytes) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  for (size_t i = 0; i < sizeof bits; i++) {
    bytes[i] = (unsigned char)(bits >> (8 * i));
  }
}

static oatgp_status write_values(oatgp_context *ctx, const char *path, size_t count, const double *values, const oat_file *file) {
  unsigned char block[NPY_BLOCK * sizeof(double)];
  for (size_t done = 0; done < count;) {
    const size_t now = count - done < NPY_BLOCK ? count - done : NPY_BLOCK;
    for (size_t i = 0; i < now; i++) {
      encode(values[done + i], block + i * sizeof(double));
    }
    fwrite(block, sizeof(double), now, file->stream);
    PASS_ON(check_result(ctx, path, file));
    done += now;
  }
  return OATGP_OK;
}

oatgp_status oatgp_write_npy(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const double *values) {
  OAT_NEED_CONTEXT(ctx);
  oat_file file = {0};
  PASS_ON(check_path(ctx, path));
  REFUSE_IF(columns == 0 || rows > SIZE_MAX / columns || (values == NULL && rows > 0), ctx, OATGP_ARGUMENT,
            "a matrix of %zu x %zu values at %s cannot be written", rows, columns, values == NULL ? "NULL" : "the address given");
  PASS_ON(oat_file_open(ctx, path, &file));
  write_npy_header(file.stream, rows, columns);
  return oat_file_close(ctx, &file, write_values(ctx, path, rows * columns, values, &file));
}

/* Rows one after the other, NPY_BLOCK of them at a time. */
static oatgp_status write_data(oatgp_context *ctx, const char *path, const oatgp_data *data, const oat_file *file) {
  const size_t columns = oatgp_data_columns(data);
  double *block = NULL;
  oatgp_status status = oat_new_matrix(ctx, NPY_BLOCK, columns, &block);
  for (size_t first = 0; first < data->n && status == OATGP_OK; first += NPY_BLOCK) {
    const size_t rows = data->n - first < NPY_BLOCK ? data->n - first : NPY_BLOCK;
    for (size_t k = 0; k < columns; k++) {
      const oat_column values = oat_data_column(data, k);
      for (size_t i = 0; i < rows; i++) {
        block[i * columns + k] = values.a[(first + i) * values.step];
      }
    }
    status = write_values(ctx, path, rows * columns, block, file);
  }
  free(block);
  return status;
}

/* A model takes the columns of a file without names by their places in the file that it was fitted to, if their number is the same. */
static void warn_of_other_places(oatgp_context *ctx, const oatgp_data *data, const char *path) {
  bool same = true;
  for (size_t j = 0; data->positions != NULL && j < data->d; j++) {
    same = same && data->positions[j] == j + 1;
  }
  if (!same && data->columns == oatgp_data_columns(data)) {
    oat_say(
        ctx, OATGP_WARNING,
        "'%s' has its columns in another order than the file that they are from: a model fitted to that file would take the wrong ones, "
        "use it for models of its own",
        path);
  }
}

oatgp_status oatgp_data_write_npy(oatgp_context *ctx, const oatgp_data *data, const char *path) {
  OAT_NEED_CONTEXT(ctx);
  oat_file file = {0};
  REFUSE_IF(data == NULL, ctx, OATGP_ARGUMENT, "the data to write are NULL");
  PASS_ON(check_path(ctx, path));
  warn_of_other_places(ctx, data, path);
  PASS_ON(oat_file_open(ctx, path, &file));
  write_npy_header(file.stream, data->n, oatgp_data_columns(data));
  return oat_file_close(ctx, &file, write_data(ctx, path, data, &file));
}
