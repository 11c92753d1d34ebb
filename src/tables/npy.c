/* Reads .npy, format versions 1 to 3: magic bytes, version, length of the header, the header (a Python dictionary as
 * text), then the values. */
#include "tables/npy.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/shown.h"
#include "util/lanes.h"
#include "util/memory.h"
#include "util/threads.h"

#define MAGIC "\x93NUMPY"

enum {
  MAGIC_SIZE = 6,
  LONGEST_HEADER = 1 << 16,
  MOST_DIMENSIONS = 32,
  LONGEST_TYPE = 16,
  STEP_BYTES = 1 << 24, /* of a step with several threads, */
  FEW_BYTES = 1 << 20,  /* or with one */
  PIECE_BYTES = 1 << 17
};

bool oat_npy_is(const oat_source *source) {
  return source->end - source->begin >= MAGIC_SIZE && memcmp(source->window + source->begin, MAGIC, MAGIC_SIZE) == 0;
}

/* ---- the header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), } ---------------------------------- */

typedef struct npy_header {
  const char *at, *end;
  char type[LONGEST_TYPE];
  bool fortran;
  bool has_type, has_order, has_shape;
  bool structured; /* the type is a list of fields */
  size_t dimensions, shape[MOST_DIMENSIONS];
} npy_header;

static void skip_blanks(npy_header *header) {
  while (header->at < header->end && (*header->at == ' ' || *header->at == '\n' || *header->at == '\t')) {
    header->at++;
  }
}

/* Steps over the text if it comes next. */
static bool accept(npy_header *header, const char *text) {
  const size_t length = strlen(text);
  skip_blanks(header);
  if ((size_t)(header->end - header->at) < length || memcmp(header->at, text, length) != 0) {
    return false;
  }
  header->at += length;
  return true;
}

static bool parse_type(npy_header *header) {
  if (!accept(header, "'")) {
    header->structured = accept(header, "[");
    return false;
  }
  const char *close = memchr(header->at, '\'', (size_t)(header->end - header->at));
  const size_t length = close != NULL ? (size_t)(close - header->at) : LONGEST_TYPE;
  if (length >= LONGEST_TYPE) {
    return false;
  }
  memcpy(header->type, header->at, length);
  header->type[length] = '\0';
  header->at = close + 1;
  return header->has_type = true;
}

static bool parse_order(npy_header *header) {
  header->fortran = accept(header, "True");
  return header->has_order = header->fortran || accept(header, "False");
}

static bool parse_size(npy_header *header, size_t *size) {
  skip_blanks(header);
  const char *start = header->at;
  *size = 0;
  for (; header->at < header->end && *header->at >= '0' && *header->at <= '9'; header->at++) {
    if (*size > SIZE_MAX / 10 - 1) {
      return false;
    }
    *size = *size * 10 + (size_t)(*header->at - '0');
  }
  return header->at > start;
}

static bool parse_shape(npy_header *header) {
  if (!accept(header, "(")) {
    return false;
  }
  while (!accept(header, ")")) {
    if (header->dimensions == MOST_DIMENSIONS || !parse_size(header, &header->shape[header->dimensions])) {
      return false;
    }
    header->dimensions++;
    accept(header, "L"); /* written by Python 2 */
    if (!accept(header, ",")) {
      return accept(header, ")") && (header->has_shape = true);
    }
  }
  return header->has_shape = true;
}

/* One key with its value. */
static bool parse_entry(npy_header *header) {
  static const struct {
    const char *key;
    bool (*parse)(npy_header *);
  } entries[] = {{"'descr'", parse_type}, {"'fortran_order'", parse_order}, {"'shape'", parse_shape}};
  for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
    if (accept(header, entries[k].key)) {
      return accept(header, ":") && entries[k].parse(header);
    }
  }
  return false;
}

static bool parse_header(npy_header *header) {
  bool more = accept(header, "{");
  while (more && !accept(header, "}")) {
    if (!parse_entry(header)) {
      return false;
    }
    more = accept(header, ",");
    if (!more && !accept(header, "}")) {
      return false;
    }
  }
  return header->has_type && header->has_order && header->has_shape;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static oatgp_status damaged(oatgp_context *ctx, const oat_source *source, const char *how) {
  return oat_fail(ctx, OATGP_READ, "'%s' is damaged: %s; write the .npy file again", source->name, how);
}

/* Makes so many bytes visible. */
static oatgp_status need(oatgp_context *ctx, oat_source *source, size_t bytes) {
  PASS_ON(oat_source_need(ctx, source, bytes));
  return source->end - source->begin >= bytes ? OATGP_OK : damaged(ctx, source, "it ends within its header");
}

static uint64_t read_bytes(const char *bytes, size_t size, bool big_endian) {
  const unsigned char *byte = (const unsigned char *)bytes;
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++) {
    value = value << 8 | byte[big_endian ? i : size - 1 - i];
  }
  return value;
}

/* Steps over magic bytes, version and length; then the header is visible. */
static oatgp_status find_header(oatgp_context *ctx, oat_source *source, size_t *length) {
  PASS_ON(need(ctx, source, MAGIC_SIZE + 2));
  const unsigned version = (unsigned char)source->window[source->begin + MAGIC_SIZE];
  const size_t length_size = version == 1 ? 2 : 4;
  REFUSE_IF(version < 1 || version > 3, ctx, OATGP_DATA,
            "'%s' has version %u of the .npy format; versions 1 to 3 can be read", source->name, version);
  source->begin += MAGIC_SIZE + 2;
  PASS_ON(need(ctx, source, length_size));
  *length = (size_t)read_bytes(source->window + source->begin, length_size, false);
  source->begin += length_size;
  if (*length > LONGEST_HEADER) {
    return damaged(ctx, source, "its header is longer than 65536 bytes");
  }
  return need(ctx, source, *length);
}

static oatgp_status set_type(oatgp_context *ctx, const char *type, oat_npy *npy) {
  static const char *const known[] = {"b1", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    const bool one_byte = known[k][1] == '1';
    if (type[0] != '\0' && strcmp(type + 1, known[k]) == 0 &&
        (type[0] == '<' || type[0] == '>' || (type[0] == '|' && one_byte))) {
      npy->kind = known[k][0];
      npy->size = (size_t)(known[k][1] - '0');
      npy->big_endian = type[0] == '>';
      return OATGP_OK;
    }
  }
  return oat_fail(ctx, OATGP_DATA,
                  "'%s' holds values of the type '%s'; real numbers (f4, f8), integers and bool can be read",
                  npy->source->name, oat_show_text(type).text);
}

static oatgp_status set_shape(oatgp_context *ctx, const npy_header *header, oat_npy *npy) {
  const char *file = npy->source->name;
  REFUSE_IF(header->dimensions < 1 || header->dimensions > 2, ctx, OATGP_DATA,
            "'%s' holds an array of %zu dimensions; one (a column) or two (a matrix) are needed", file,
            header->dimensions);
  npy->rows = header->shape[0];
  npy->columns = header->dimensions == 2 ? header->shape[1] : 1;
  REFUSE_IF(npy->rows == 0 || npy->columns == 0, ctx, OATGP_DATA, "'%s' is empty: its array is %zu x %zu", file,
            npy->rows, npy->columns);
  if (npy->rows > SIZE_MAX / npy->columns / npy->size) {
    return damaged(ctx, npy->source, "its header describes an array too large for any memory");
  }
  return OATGP_OK;
}

oatgp_status oat_npy_open(oatgp_context *ctx, oat_source *source, oat_npy *npy, oat_layout *layout) {
  size_t length = 0;
  *npy = (oat_npy){.source = source};
  *layout = (oat_layout){.file = source->name, .unit = "row"};
  PASS_ON(find_header(ctx, source, &length));
  npy_header header = {.at = source->window + source->begin, .end = source->window + source->begin + length};
  const bool plain = parse_header(&header);
  REFUSE_IF(header.structured, ctx, OATGP_DATA,
            "'%s' holds a structured array, whose columns have names and types; write a plain matrix of numbers",
            source->name);
  if (!plain) {
    return damaged(ctx, source, "its header is not that of a plain array");
  }
  source->begin += length;
  npy->fortran = header.fortran;
  PASS_ON(set_type(ctx, header.type, npy));
  PASS_ON(set_shape(ctx, &header, npy));
  return oat_layout_set(ctx, layout, npy->columns, NULL);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static double decode_real(uint64_t bits, size_t size) {
  double wide;
  if (size == sizeof wide) {
    memcpy(&wide, &bits, sizeof wide);
    return wide;
  }
  float narrow;
  const uint32_t low = (uint32_t)bits;
  memcpy(&narrow, &low, sizeof narrow);
  return (double)narrow;
}

/* Two's complement without leaving what C defines. */
static double decode_signed(uint64_t bits, size_t size) {
  const uint64_t sign = UINT64_C(1) << (8 * size - 1);
  const uint64_t magnitude = (bits & sign) != 0 ? (~bits & (sign - 1)) + 1 : bits;
  return (bits & sign) != 0 ? -(double)magnitude : (double)magnitude;
}

static double decode(const oat_npy *npy, const char *bytes) {
  if (npy->kind == 'f' && npy->size == sizeof(double) && !npy->big_endian) {
    return decode_real(read_bytes(bytes, sizeof(double), false),
                       sizeof(double)); /* with constant sizes, the compiler turns this into one load */
  }
  const uint64_t bits = read_bytes(bytes, npy->size, npy->big_endian);
  switch (npy->kind) {
    case 'f':
      return decode_real(bits, npy->size);
    case 'i':
      return decode_signed(bits, npy->size);
    case 'b':
      return bits != 0 ? 1 : 0;
    default:
      return (double)bits;
  }
}

static oatgp_status put_value(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *at) {
  if (oat_series_takes(series, at->value)) {
    *at->slot = at->value;
    return OATGP_OK;
  }
  oat_entry entry = *at;
  entry.kind = isnan(at->value) ? OAT_MISSING : isinf(at->value) ? OAT_INFINITE : OAT_NUMBER;
  return oat_table_put(ctx, table, series, &entry);
}

static oatgp_status truncated(oatgp_context *ctx, const oat_npy *npy) {
  const size_t visible = (npy->source->end - npy->source->begin) / npy->size;
  return oat_fail(ctx, OATGP_READ,
                  "'%s' is truncated: its header announces %zu x %zu values, but the file ends after %zu; write the "
                  ".npy file again",
                  npy->source->name, npy->rows, npy->columns, npy->done + visible);
}

static void step_over(oat_npy *npy, size_t count) {
  npy->source->begin += count * npy->size;
  npy->done += count;
}

/* ---- values side by side --------------------------------------------------------------------------------------- */

/* Values of a column, `step` bytes apart, that are copied to `to`. */
typedef struct npy_run {
  const char *bytes;
  size_t step, count;
  double *to;
} npy_run;

/* Whether every value can be stored directly. If not, they must be put one by one. */
static bool take_run(const oat_npy *npy, const oat_series *series, npy_run run) {
  bool plain = true;
  if (npy->kind == 'f' && npy->size == sizeof(double) && !npy->big_endian) {
    for (size_t i = 0; i < run.count; i++) {
      run.to[i] = decode_real(read_bytes(run.bytes + i * run.step, sizeof(double), false), sizeof(double));
    }
  } else {
    for (size_t i = 0; i < run.count; i++) {
      run.to[i] = decode(npy, run.bytes + i * run.step);
    }
  }
  for (size_t i = 0; i < run.count; i++) {
    plain = plain && oat_series_takes(series, run.to[i]);
  }
  return plain;
}

/* A step: the visible values in pieces, which threads take side by side while one of them reads the bytes of the next
 * step. */
typedef struct npy_step {
  oatgp_context *ctx;
  const oat_npy *npy;
  oat_table *table;
  size_t count, piece;                    /* rows, or values of one column; and of a piece */
  bool odd[STEP_BYTES / PIECE_BYTES + 2]; /* pieces with a value that needs a check */
} npy_step;

static size_t step_bytes(const oatgp_context *ctx) {
  return oat_lane_threads(ctx->threads) > 1 ? STEP_BYTES : FEW_BYTES;
}

static void take_pieces(npy_step *s, bool (*take)(const npy_step *s, size_t first, size_t count)) {
  const size_t pieces = (s->count + s->piece - 1) / s->piece;
  const int threads =
      oat_threads_for(s->ctx->threads, (double)OAT_FLOPS_OF_MEMORY / sizeof(double) * PIECE_BYTES * (double)pieces);
  const size_t ahead = pieces > 1 && threads > 1 ? STEP_BYTES : 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (pieces > 1 && threads > 1)
  for (size_t i = 0; i < pieces + 1; i++) {
    if (i == 0) {
      oat_source_ahead(s->npy->source, ahead);
    } else {
      const size_t first = (i - 1) * s->piece, left = s->count - first;
      s->odd[i - 1] = !take(s, first, left < s->piece ? left : s->piece);
    }
  }
}

/* In their order, so that the error names the first wrong value. */
static oatgp_status put_odd_pieces(const npy_step *s,
                                   oatgp_status (*put)(const npy_step *s, size_t first, size_t count)) {
  for (size_t first = 0, i = 0; first < s->count; first += s->piece, i++) {
    const size_t left = s->count - first;
    PASS_ON(s->odd[i] ? put(s, first, left < s->piece ? left : s->piece) : OATGP_OK);
  }
  return OATGP_OK;
}

/* Row after row. */
static bool take_rows(const npy_step *s, size_t first, size_t count) {
  const oat_npy *npy = s->npy;
  const size_t row_bytes = npy->columns * npy->size;
  const char *bytes = npy->source->window + npy->source->begin + first * row_bytes;
  bool plain = true;
  for (size_t c = 0; c < npy->columns; c++, bytes += npy->size) {
    const oat_series *series = npy->series_of[c];
    if (series != NULL) {
      plain =
          take_run(npy, series, (npy_run){bytes, row_bytes, count, series->values + s->table->rows + first}) && plain;
    }
  }
  return plain;
}

static oatgp_status put_rows(const npy_step *s, size_t first, size_t count) {
  const oat_npy *npy = s->npy;
  const char *bytes = npy->source->window + npy->source->begin + first * npy->columns * npy->size;
  for (size_t i = first; i < first + count; i++) {
    for (size_t c = 0; c < npy->columns; c++, bytes += npy->size) {
      oat_series *series = npy->series_of[c];
      if (series != NULL) {
        const oat_entry entry = {.slot = &series->values[s->table->rows + i],
                                 .place = npy->done / npy->columns + i + 1,
                                 .value = decode(npy, bytes)};
        PASS_ON(put_value(s->ctx, s->table, series, &entry));
      }
    }
  }
  return OATGP_OK;
}

/* As many whole rows as are visible. The very first row is read alone, because it decides what a column holds. */
static oatgp_status read_rows(oatgp_context *ctx, oat_npy *npy, oat_table *table) {
  const size_t row_bytes = npy->columns * npy->size, left = npy->rows - npy->done / npy->columns,
               bytes = step_bytes(ctx);
  oat_source *source = npy->source;
  PASS_ON(oat_source_need(ctx, source, row_bytes > bytes ? row_bytes : npy->done == 0 ? row_bytes : bytes));
  const size_t visible = (source->end - source->begin) / row_bytes, fit = bytes / row_bytes + 1;
  const size_t some = visible < fit ? visible : fit, rows = npy->done == 0 ? visible > 0 : some < left ? some : left;
  PASS_ON(rows > 0 ? oat_table_reserve(ctx, table, rows) : truncated(ctx, npy));
  npy_step s = {.ctx = ctx, .npy = npy, .table = table, .count = rows, .piece = PIECE_BYTES / row_bytes + 1};
  take_pieces(&s, take_rows);
  PASS_ON(put_odd_pieces(&s, put_rows));
  table->rows += rows;
  step_over(npy, rows * npy->columns);
  return OATGP_OK;
}

/* Values of the present column. */
static bool take_values(const npy_step *s, size_t first, size_t count) {
  const oat_npy *npy = s->npy;
  const oat_series *series = npy->series_of[npy->done / npy->rows];
  const char *bytes = npy->source->window + npy->source->begin + first * npy->size;
  return take_run(npy, series, (npy_run){bytes, npy->size, count, series->values + npy->done % npy->rows + first});
}

static oatgp_status put_values(const npy_step *s, size_t first, size_t count) {
  const oat_npy *npy = s->npy;
  const size_t row = npy->done % npy->rows;
  oat_series *series = npy->series_of[npy->done / npy->rows];
  const char *bytes = npy->source->window + npy->source->begin + first * npy->size;
  for (size_t i = row + first; i < row + first + count; i++, bytes += npy->size) {
    const oat_entry entry = {.slot = &series->values[i], .place = i + 1, .value = decode(npy, bytes)};
    PASS_ON(put_value(s->ctx, s->table, series, &entry));
  }
  return OATGP_OK;
}

/* Column after column, all of them; there are rows only when all columns are in. */
static oatgp_status read_columns(oatgp_context *ctx, oat_npy *npy, oat_table *table) {
  oat_source *source = npy->source;
  while (npy->done < npy->rows * npy->columns) {
    const size_t row = npy->done % npy->rows, left = npy->rows - row, fit = step_bytes(ctx) / npy->size;
    PASS_ON(oat_source_need(ctx, source, step_bytes(ctx)));
    const size_t visible = (source->end - source->begin) / npy->size, some = visible < fit ? visible : fit;
    const size_t count = row == 0 ? visible > 0 : some < left ? some : left;
    oat_series *series = npy->series_of[npy->done / npy->rows];
    PASS_ON(count > 0 ? OATGP_OK : truncated(ctx, npy));
    if (series != NULL) {
      npy_step s = {.ctx = ctx, .npy = npy, .table = table, .count = count, .piece = PIECE_BYTES / npy->size};
      PASS_ON(oat_grow(ctx, row + count, sizeof *series->values, &series->capacity, &series->values));
      take_pieces(&s, take_values);
      PASS_ON(put_odd_pieces(&s, put_values));
    }
    step_over(npy, count);
  }
  table->rows = npy->rows;
  return OATGP_OK;
}

static oatgp_status check_end(oatgp_context *ctx, oat_source *source) {
  PASS_ON(oat_source_need(ctx, source, 1));
  return source->end == source->begin ? OATGP_OK : damaged(ctx, source, "it has more bytes than its header announces");
}

oatgp_status oat_npy_more(oatgp_context *ctx, oat_npy *npy, oat_table *table, bool *more) {
  if (npy->series_of == NULL) {
    PASS_ON(oat_new(ctx, npy->columns, sizeof(oat_series *), &npy->series_of));
    for (size_t k = 0; k < table->count; k++) {
      oat_series *series = &table->series[k];
      const oat_content open = oat_series_may_hold_text(series) ? OAT_CONTENT_UNSEEN : OAT_CONTENT_NUMBERS;
      series->content = series->content == OAT_CONTENT_OPEN ? open : series->content; /* an .npy file has no text */
      npy->series_of[series->column] = series;
    }
    table->looking = false;
  }
  PASS_ON(npy->fortran ? read_columns(ctx, npy, table) : read_rows(ctx, npy, table));
  *more = npy->done < npy->rows * npy->columns;
  return *more ? OATGP_OK : check_end(ctx, npy->source);
}

void oat_npy_free(oat_npy *npy) {
  free(npy->series_of);
  *npy = (oat_npy){0};
}
