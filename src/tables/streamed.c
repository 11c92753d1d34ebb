/* Data that stay in their files: one .npy file that is too large for memory, or several. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/scaling.h"
#include "data/stream.h"
#include "tables/reader.h"
#include "util/lanes.h"
#include "util/machine.h"
#include "util/memory.h"
#include "util/ranks.h"
#include "util/threads.h"

/* ---- which files ----------------------------------------------------------------------------------------------- */

void oat_paths_free(oat_paths *paths) {
  for (size_t i = 0; i < paths->count; i++) {
    free(paths->name[i]);
  }
  free(paths->name);
  *paths = (oat_paths){0};
}

static oatgp_status add_path(oatgp_context *ctx, oat_paths *paths, const char *name) {
  PASS_ON(oat_grow(ctx, paths->count + 1, sizeof *paths->name, &paths->capacity, &paths->name));
  PASS_ON(oat_copy_text(ctx, name, &paths->name[paths->count]));
  paths->count++;
  return OATGP_OK;
}

/* A line each, without empty ones. */
static oatgp_status read_list(oatgp_context *ctx, const char *list, oat_paths *paths) {
  FILE *file = fopen(list, "r");
  char *line = NULL;
  size_t room = 0;
  oatgp_status status = OATGP_OK;
  REFUSE_IF(file == NULL, ctx, OATGP_READ, "cannot read the list of files '%s': %s", list, strerror(errno));
  for (ssize_t length; (length = getline(&line, &room, file)) >= 0;) {
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) {
      line[--length] = '\0';
    }
    TRY(length > 0 ? add_path(ctx, paths, line) : OATGP_OK);
  }
  TRY(feof(file) ? OATGP_OK /* otherwise, a part of the list would be taken for all of it */
                 : oat_fail(ctx, OATGP_READ, "cannot read the list of files '%s': %s", list, strerror(errno)));
  TRY(paths->count > 0 ? OATGP_OK : oat_fail(ctx, OATGP_DATA, "the list of files '%s' is empty", list));
done:
  free(line);
  fclose(file);
  return status;
}

static oatgp_status find_matches(oatgp_context *ctx, const char *pattern, oat_paths *paths) {
  glob_t found = {0};
  oatgp_status status = OATGP_OK;
  const int failure = glob(pattern, 0, NULL, &found);
  if (failure == 0) {
    for (size_t i = 0; i < found.gl_pathc && status == OATGP_OK; i++) {
      status = add_path(ctx, paths, found.gl_pathv[i]);
    }
  } else {
    status =
        oat_fail(ctx, OATGP_READ,
                 failure == GLOB_NOMATCH ? "no file matches '%s'" : "cannot look for files that match '%s'", pattern);
  }
  globfree(&found);
  return status;
}

oatgp_status oat_paths_find(oatgp_context *ctx, const char *path, oat_paths *paths) {
  *paths = (oat_paths){0};
  if (path[0] == '@') {
    return read_list(ctx, path + 1, paths);
  }
  return strpbrk(path, "*?[") != NULL && access(path, F_OK) != 0 ? find_matches(ctx, path, paths)
                                                                 : add_path(ctx, paths, path);
}

/* ---- opening them ---------------------------------------------------------------------------------------------- */

/* Whether ranks can share the rows, so that nothing needs all of them in memory. */
static bool can_share(const oat_reader *reader, const oatgp_settings *settings) {
  bool all = settings->neighbours > 0;
  for (size_t k = 0; k < reader->table.count; k++) {
    all = all || reader->table.series[k].content == OAT_CONTENT_WORDS;
  }
  return !all && !reader->table.drop && reader->npy.kind == 'f' && !reader->npy.big_endian &&
         reader->npy.rows >= OAT_SPREAD_ROWS;
}

/* Rows that ranks share stay in their file, so that each rank reads its own. */
bool oat_reader_is_large(const oat_reader *reader, const oatgp_settings *settings) {
  const double bytes = 16.0 * (double)reader->npy.rows * (double)(reader->table.count + 1); /* as data, and as rows */
  const int64_t given = settings->memory, limit = given > 0 ? given : oat_machine_available() / 2;
  return reader->is_npy && reader->source.size > 0 &&
         (bytes > (double)limit || (oat_rank_count() > 1 && can_share(reader, settings)));
}

/* Real numbers as this machine has them, and not packed. */
static oatgp_status check_kind(oatgp_context *ctx, const oat_npy *npy, size_t values) {
  const oat_source *source = npy->source;
  REFUSE_IF(npy->kind != 'f' || npy->big_endian, ctx, OATGP_DATA,
            "'%s' is too large for memory, and only real numbers ('<f4', '<f8') can stay in a file; convert it",
            source->name);
  REFUSE_IF(
      source->size < values || source->size - values != npy->rows * npy->columns * npy->size, ctx, OATGP_READ,
      "'%s' is packed, truncated or damaged: its header announces %zu x %zu values of %zu bytes, but %zu bytes follow; "
      "write the .npy file again, or unpack it",
      source->name, npy->rows, npy->columns, npy->size, source->size > values ? source->size - values : 0);
  return OATGP_OK;
}

static oatgp_status add_file(oatgp_context *ctx, const char *path, const oat_npy *npy, oat_stream *stream) {
  const size_t values = (size_t)npy->source->offset + npy->source->begin;
  oat_stream_file file = {
      .values = values, .rows = npy->rows, .fortran = npy->fortran, .narrow = npy->size == sizeof(float)};
  PASS_ON(check_kind(ctx, npy, values));
  REFUSE_IF(npy->columns != stream->columns, ctx, OATGP_DATA,
            "'%s' has %zu columns, but '%s' has %zu; all parts of a table need the same columns", npy->source->name,
            npy->columns, stream->file[0].name, stream->columns);
  PASS_ON(oat_copy_text(ctx, path, &file.name));
  file.descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (file.descriptor < 0) {
    free(file.name);
    return oat_fail(ctx, OATGP_READ, "cannot read '%s' again", path);
  }
  return oat_stream_add(ctx, stream, file);
}

/* Opens the files after the first, which has determined the columns. */
static oatgp_status add_others(oatgp_context *ctx, const oat_paths *paths, oat_stream *stream) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 1; i < paths->count && status == OATGP_OK; i++) {
    oat_source source = {0};
    oat_npy npy = {0};
    oat_layout layout = {0};
    PASS_ON(oat_source_open(ctx, paths->name[i], &source));
    status = oat_npy_is(&source)
                 ? oat_npy_open(ctx, &source, &npy, &layout)
                 : oat_fail(ctx, OATGP_DATA, "'%s' is not an .npy file; a table of several files needs .npy files only",
                            source.name);
    status = status == OATGP_OK ? add_file(ctx, paths->name[i], &npy, stream) : status;
    oat_layout_free(&layout);
    oat_npy_free(&npy);
    oat_source_close(&source);
  }
  return status;
}

/* ---- what is in them ------------------------------------------------------------------------------------------- */

/* The first invalid value of a lane. */
typedef struct finding {
  size_t row, series; /* SIZE_MAX: none */
  double value;
} finding;

typedef struct checking {
  oat_stream *stream;
  const oat_table *table;
  size_t begin; /* the first chunk of this rank */
  double *room; /* a chunk for each worker */
  finding first[OAT_MOST_LANES];
} checking;

static void check_chunk(void *self, size_t lane, size_t item) {
  checking *c = self;
  const oat_span rows = oat_chunk(c->stream->n, c->begin + item);
  double *room = c->room + oat_worker() * OAT_CHUNK * c->stream->used;
  finding *first = &c->first[lane];
  oat_stream_read(c->stream, rows, room, OAT_CHUNK);
  for (size_t k = 0; k < c->stream->used; k++) {
    const oat_series *series = &c->table->series[k];
    for (size_t i = 0; i < rows.count && rows.first + i < first->row; i++) {
      if (!oat_series_takes(series, room[i + k * OAT_CHUNK])) {
        *first = (finding){rows.first + i, k, room[i + k * OAT_CHUNK]};
      }
    }
  }
}

/* The reader's error message, with the file and the row. */
static oatgp_status refuse(oatgp_context *ctx, oat_reader *reader, const oat_stream *stream, const finding *found) {
  double slot;
  oat_entry entry = {.slot = &slot, .value = found->value};
  entry.kind = isnan(found->value) ? OAT_MISSING : isinf(found->value) ? OAT_INFINITE : OAT_NUMBER;
  reader->layout.file = oat_stream_place(stream, found->row, &entry.place)->name;
  reader->table.drop = false;
  return oat_table_put(ctx, &reader->table, &reader->table.series[found->series], &entry);
}

/* The first invalid value of all lanes. */
static finding earliest(const finding *found, size_t count) {
  size_t first = 0;
  for (size_t i = 1; i < count; i++) {
    first = found[i].row < found[first].row ? i : first;
  }
  return found[first];
}

/* Each rank checks its own rows, and all ranks get the result. */
static oatgp_status check_values(oatgp_context *ctx, oat_reader *reader, oat_stream *stream) {
  const int threads = oat_lane_threads(ctx->threads);
  const size_t ranks = (size_t)oat_rank_count();
  oat_loop loop = oat_chunks(stream->n, OAT_FLOPS_OF_MEMORY * (double)stream->used, threads);
  checking c = {.stream = stream, .table = &reader->table, .begin = oat_rank_first(loop.items, oat_rank())};
  finding *of_rank = NULL;
  oatgp_status status = OATGP_OK;
  loop.items = oat_rank_first(loop.items, oat_rank() + 1) - c.begin;
  loop.workers = oat_workers_for(loop.lanes, threads);
  loop.ctx = ctx;
  loop.what = "reading";
  loop.rows = oat_stream_bytes(stream);
  loop.item = check_chunk;
  loop.self = &c;
  TRY(oat_new_matrix(ctx, OAT_CHUNK * stream->used, loop.workers, &c.room));
  TRY(oat_new(ctx, ranks, sizeof *of_rank, &of_rank));
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    c.first[lane] = (finding){SIZE_MAX, 0, 0};
  }
  oat_loop_run(&loop);
  TRY(oat_stream_check(ctx, stream));
  of_rank[oat_rank()] = earliest(c.first, OAT_MOST_LANES);
  oat_ranks_complete_items(of_rank, ranks, sizeof *of_rank);
  const finding first = earliest(of_rank, ranks);
  TRY(first.row < SIZE_MAX ? refuse(ctx, reader, stream, &first) : OATGP_OK);
done:
  free(of_rank);
  free(c.room);
  return status;
}

/* ---- data ------------------------------------------------------------------------------------------------------ */

static oatgp_status check_columns(oatgp_context *ctx, oat_reader *reader) {
  oat_table *table = &reader->table;
  REFUSE_IF(table->drop, ctx, OATGP_ARGUMENT,
            "--missing=drop needs a file that fits into memory; use oatgp convert, which drops rows in any file");
  for (size_t k = 0; k < table->count; k++) {
    REFUSE_IF(table->series[k].content == OAT_CONTENT_WORDS, ctx, OATGP_ARGUMENT,
              "'%s' does not fit into memory, and column '%s' is a category or a target of classes, which needs all "
              "rows in memory; raise --memory",
              reader->layout.file, table->layout->names[table->series[k].column]);
    table->series[k].content = OAT_CONTENT_NUMBERS; /* an .npy file has no text */
  }
  table->looking = false;
  return OATGP_OK;
}

/* Inputs first, then the others in their order, as data count their columns. */
static oatgp_status choose_columns(oatgp_context *ctx, const oat_table *table, oatgp_data *data, oat_stream *stream) {
  static const oat_other other_of[OAT_ROLES] = {[OAT_TARGET] = OAT_OTHER_TARGET,
                                                [OAT_WEIGHT] = OAT_OTHER_WEIGHT,
                                                [OAT_NOISE] = OAT_OTHER_NOISE,
                                                [OAT_TRIALS] = OAT_OTHER_TRIALS,
                                                [OAT_EXPOSURE] = OAT_OTHER_EXPOSURE};
  PASS_ON(oat_new(ctx, table->count, sizeof *stream->column, &stream->column));
  for (int role = OAT_INPUT; role < OAT_ROLES; role++) {
    for (size_t k = 0; k < table->count; k++) {
      if (table->series[k].role == (oat_role)role) {
        stream->column[stream->used++] = table->series[k].column;
        if (role != OAT_INPUT) {
          data->in_files.place[other_of[role]] = stream->used;
        }
      }
    }
  }
  return OATGP_OK;
}

/* Frees the columns. */
static void forget_values(oatgp_data *data) {
  double **const columns[] = {&data->own_x, &data->own_y, &data->weight, &data->noise, &data->trials, &data->exposure};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    free(*columns[i]);
    *columns[i] = NULL;
  }
  data->x = data->y = NULL;
}

static int by_role(const void *a, const void *b) {
  const oat_series *const left = a, *const right = b;
  return (left->role > right->role) - (left->role < right->role);
}

/* What a chunk has besides its inputs: room for OAT_CHUNK values of each column. */
static void copy_others(const void *self, const oatgp_data *data, const oat_data_part *part, void *result) {
  double *to = result;
  (void)self;
  for (int i = 0; i < OAT_OTHERS; i++) {
    if (data->in_files.place[i] > 0) {
      memcpy(to, part->other[i], part->n * sizeof *to);
      to += OAT_CHUNK;
    }
  }
}

/* Reads the other columns into memory for a non-Gaussian target. Its rows need so much more memory that this does not
 * matter. */
static oatgp_status hold_others(oatgp_context *ctx, oatgp_data *data) {
  double **const columns[OAT_OTHERS] = {&data->own_y, &data->weight, &data->noise, &data->trials, &data->exposure};
  const size_t chunks = oat_data_chunks(data), others = oat_data_width(data) - data->d;
  double *of_chunk = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, chunks * OAT_CHUNK, others, &of_chunk));
  TRY(oat_data_pass(ctx, data,
                    &(oat_pass){.look = copy_others,
                                .flops = OAT_FLOPS_OF_MEMORY * (double)others,
                                .threads = oat_lane_threads(ctx->threads),
                                .bytes = others * OAT_CHUNK * sizeof *of_chunk,
                                .results = of_chunk}));
  for (size_t i = 0, place = 0; i < OAT_OTHERS; i++) {
    if (data->in_files.place[i] > 0) {
      TRY(oat_new_matrix(ctx, data->n, 1, columns[i]));
      for (size_t chunk = 0; chunk < chunks; chunk++) {
        const oat_span rows = oat_chunk(data->n, chunk);
        memcpy(*columns[i] + rows.first, of_chunk + (chunk * others + place) * OAT_CHUNK,
               rows.count * sizeof *of_chunk);
      }
      place++;
    }
  }
  data->y = data->own_y;
done:
  free(of_chunk);
  return status;
}

oatgp_status oat_reader_leave_in_files(oatgp_context *ctx, oat_reader *reader, const oat_paths *paths, bool describe,
                                       bool answers) {
  oat_table *table = &reader->table;
  oat_stream *stream = NULL;
  oatgp_data *data = NULL;
  oatgp_status status = OATGP_OK;
  REFUSE_IF(!reader->is_npy, ctx, OATGP_DATA,
            "'%s' is not an .npy file; a table of several files needs .npy files only, so convert them first",
            reader->source.name);
  TRY(check_columns(ctx, reader));
  TRY(oat_new(ctx, 1, sizeof *stream, &stream));
  stream->columns = reader->npy.columns;
  TRY(add_file(ctx, paths->name[0], &reader->npy, stream));
  TRY(add_others(ctx, paths, stream));
  TRY(oat_table_check(ctx, table, stream->n));
  TRY(oat_table_to_data(ctx, table, 0, &data));
  forget_values(data);
  data->n = stream->n;
  data->row_step = data->input_step = 0;
  qsort(table->series, table->count, sizeof *table->series, by_role);
  TRY(choose_columns(ctx, table, data, stream));
  TRY(check_values(ctx, reader, stream));
  data->in_files.stream = stream;
  stream = NULL;
  TRY(oat_data_check_ranks(ctx, data));
  TRY(describe ? oat_describe_streamed(ctx, data, oat_lane_threads(ctx->threads)) : OATGP_OK);
  TRY(answers ? hold_others(ctx, data) : OATGP_OK);
  reader->streamed = data;
  data = NULL;
done:
  oatgp_data_free(data);
  oat_stream_free(stream);
  return status;
}
