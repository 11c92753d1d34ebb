/* Writes tables: CSV and .npy, whole or not at all. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "data/number.h"
#include "util/file.h"

enum { NPY_ALIGNMENT = 64, NPY_PREFIX = 10, NPY_BLOCK = 1024 };

static oatgp_status check_result(oatgp_context *ctx, const char *path, const oat_file *file) {
  return !ferror(file->stream) ? OATGP_OK : oat_fail(ctx, OATGP_WRITE, "cannot write '%s': %s", path, strerror(errno));
}

static oatgp_status check_path(oatgp_context *ctx, const char *path) {
  return path != NULL && path[0] != '\0' ? OATGP_OK : oat_fail(ctx, OATGP_ARGUMENT, "the path of the file to write is NULL or empty");
}

/* ---- CSV ---------------------------------------------------------------------------------------------------------- */

typedef struct csv_table {
  size_t rows, columns;
  const char *const *names;
  const double *const *values;
} csv_table;

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

static oatgp_status write_rows(oatgp_context *ctx, const char *path, const csv_table *table, const oat_file *file) {
  oatgp_status status = OATGP_OK;
  for (size_t k = 0; k < table->columns; k++) {
    fputs(k > 0 ? "," : "", file->stream);
    write_name(file->stream, table->names[k]);
  }
  fputc('\n', file->stream);
  for (size_t i = 0; i < table->rows && status == OATGP_OK; i++) {
    for (size_t k = 0; k < table->columns; k++) {
      fprintf(file->stream, k > 0 ? ",%.17g" : "%.17g", table->values[k][i]);
    }
    fputc('\n', file->stream);
    status = check_result(ctx, path, file);
  }
  return status;
}

static oatgp_status check_table(oatgp_context *ctx, const csv_table *table) {
  if (table->columns == 0 || table->names == NULL || table->values == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "a table to write needs at least one column, names and values");
  }
  for (size_t k = 0; k < table->columns; k++) {
    if (table->names[k] == NULL || (table->values[k] == NULL && table->rows > 0)) {
      return oat_fail(ctx, OATGP_ARGUMENT, "column %zu of the table to write has no name or no values", k + 1);
    }
  }
  return OATGP_OK;
}

oatgp_status oatgp_write_csv(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const char *const *names,
                             const double *const *values) {
  OAT_NEED_CONTEXT(ctx);
  const csv_table table = {rows, columns, names, values};
  oatgp_status status = OATGP_OK;
  oat_plain plain = {0};
  oat_file file = {0};
  TRY(check_path(ctx, path));
  TRY(check_table(ctx, &table));
  TRY(oat_plain_begin(ctx, &plain));
  TRY(oat_file_open(ctx, path, &file));
  status = oat_file_close(ctx, &file, write_rows(ctx, path, &table, &file));
done:
  oat_plain_end(&plain);
  return status;
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
  oatgp_status status = OATGP_OK;
  for (size_t done = 0; done < count && status == OATGP_OK;) {
    const size_t now = count - done < NPY_BLOCK ? count - done : NPY_BLOCK;
    for (size_t i = 0; i < now; i++) {
      encode(values[done + i], block + i * sizeof(double));
    }
    fwrite(block, sizeof(double), now, file->stream);
    status = check_result(ctx, path, file);
    done += now;
  }
  return status;
}

oatgp_status oatgp_write_npy(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const double *values) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_status status = OATGP_OK;
  oat_file file = {0};
  TRY(check_path(ctx, path));
  if (columns == 0 || rows > SIZE_MAX / columns || (values == NULL && rows > 0)) {
    return oat_fail(ctx, OATGP_ARGUMENT, "a matrix of %zu x %zu values at %s cannot be written", rows, columns,
                    values == NULL ? "NULL" : "the address given");
  }
  TRY(oat_file_open(ctx, path, &file));
  write_npy_header(file.stream, rows, columns);
  status = oat_file_close(ctx, &file, write_values(ctx, path, rows * columns, values, &file));
done:
  return status;
}
