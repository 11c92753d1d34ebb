/* Text tables: header or not, and rows into the table.
 *
 * A step reads several parts of the window side by side. It assumes that every part begins where a record begins, and
 * that the parts before it contain nothing new about the columns. Then it goes through the parts in order and keeps
 * them up to the first for which an assumption was wrong; the next step begins with that part. The first part of a step
 * relies on no assumption and knows its line numbers, so if it fails, this is the first error of the file. The result
 * is therefore the same as that of one thread that reads record by record. */
#include "tables/csv.h"

#include <stdlib.h>
#include <string.h>

#include "util/lanes.h"
#include "util/memory.h"
#include "util/threads.h"

#define BYTE_FLOPS 40.0 /* flops that reading a byte of text counts as */

enum { PART_BYTES = 1 << 18, PARTS_PER_THREAD = 32, MOST_PARTS = 128 };

/* ---- the first record ------------------------------------------------------------------------------------------ */

static oat_kind kind_of(const oat_cell *cell) {
  double value;
  return cell->escaped ? OAT_TEXT : oat_read_number(cell->text, cell->length, &value);
}

/* Whether the current record looks like a header. If it has both text and numbers, there is a warning. */
static bool looks_like_header(oatgp_context *ctx, const oat_records *records) {
  size_t texts = 0, numbers = 0;
  for (size_t k = 0; k < records->count; k++) {
    const oat_kind kind = kind_of(&records->cells[k]);
    texts += kind == OAT_TEXT;
    numbers += kind == OAT_NUMBER || kind == OAT_INFINITE;
  }
  if (texts > 0 && numbers > 0) {
    oat_say(ctx, OATGP_WARNING,
            "%s, line %zu: read as a header, although %zu of its %zu cells are numbers; say which it is with "
            "--header=yes or --header=no",
            records->source->name, records->number, numbers, records->count);
  }
  return texts > 0;
}

static oatgp_status set_layout(oatgp_context *ctx, const oat_records *records, bool header, oat_layout *layout) {
  oat_piece *names = NULL;
  oatgp_status status = OATGP_OK;
  if (header) {
    TRY(oat_new(ctx, records->count, sizeof *names, &names));
    for (size_t k = 0; k < records->count; k++) {
      const oat_cell *cell = &records->cells[k];
      names[k] =
          (oat_piece){cell->text, cell->escaped ? oat_cell_unescape(cell, cell->length, cell->text) : cell->length};
    }
  }
  TRY(oat_layout_set(ctx, layout, records->count, names));
done:
  free(names);
  return status;
}

/* Goes to the first record, reading on where it does not end within the window. */
static oatgp_status find_first(oatgp_context *ctx, oat_csv *csv) {
  oat_source *source = csv->source;
  oat_found found = OAT_BLANK_LINE;
  oat_records_begin(&csv->records, 1);
  while (found != OAT_RECORD) {
    REFUSE_IF(csv->records.at == source->window + source->end && source->at_end, ctx, OATGP_DATA, "'%s' is empty",
              source->name);
    PASS_ON(oat_records_next(ctx, &csv->records, &found));
    source->begin = (size_t)((found == OAT_RECORD ? csv->records.start : csv->records.at) - source->window);
    if (found == OAT_CUT_OFF) {
      size_t bytes = 0;
      PASS_ON(oat_records_longer(ctx, &csv->records, &bytes));
      PASS_ON(oat_source_need(ctx, source, bytes));
      oat_records_begin(&csv->records, csv->records.line);
    }
  }
  return OATGP_OK;
}

oatgp_status oat_csv_open(oatgp_context *ctx, oat_source *source, const char *header, oat_csv *csv,
                          oat_layout *layout) {
  *csv = (oat_csv){.source = source, .part_bytes = PART_BYTES, .width = 1};
  csv->records = (oat_records){.source = source, .form = &csv->form};
  *layout = (oat_layout){.file = source->name, .unit = "line"};
  PASS_ON(oat_form_find(ctx, source, &csv->form));
  PASS_ON(find_first(ctx, csv));
  const bool has_header =
      strcmp(header, "auto") == 0 ? looks_like_header(ctx, &csv->records) : strcmp(header, "yes") == 0;
  PASS_ON(set_layout(ctx, &csv->records, has_header, layout));
  if (has_header) {
    source->begin = (size_t)(csv->records.at - source->window);
  } else {
    csv->records.line = csv->records.number;
  }
  return OATGP_OK;
}

void oat_csv_free(oat_csv *csv) {
  for (size_t i = 0; i < csv->part_count; i++) {
    oat_part_free(&csv->part[i]);
  }
  free(csv->part);
  free(csv->series_of);
  oat_records_free(&csv->records);
  *csv = (oat_csv){0};
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static oatgp_status find_series(oatgp_context *ctx, oat_csv *csv, const oat_table *table) {
  const size_t columns = table->layout->columns;
  PASS_ON(oat_new(ctx, columns, sizeof *csv->series_of, &csv->series_of));
  for (size_t c = 0; c < columns; c++) {
    csv->series_of[c] = OAT_NOT_USED;
  }
  for (size_t k = 0; k < table->count; k++) {
    csv->series_of[table->series[k].column] = k;
  }
  return OATGP_OK;
}

/* One thread reads one part at a time. For several threads, steps are long, so that they seldom wait for each other. */
static size_t most_parts(const oatgp_context *ctx) {
  const size_t threads = (size_t)oat_lane_threads(ctx->threads), parts = PARTS_PER_THREAD * threads;
  return threads == 1 ? 1 : parts < MOST_PARTS ? parts : MOST_PARTS;
}

static oatgp_status make_parts(oatgp_context *ctx, oat_csv *csv, const oat_table *table) {
  PASS_ON(find_series(ctx, csv, table));
  PASS_ON(oat_new(ctx, most_parts(ctx), sizeof *csv->part, &csv->part));
  csv->part_count = most_parts(ctx);
  return OATGP_OK;
}

/* The beginning of the line after so many bytes; the end of the window if there is none. */
static char *next_line(const oat_source *source, size_t bytes) {
  const size_t visible = source->end - source->begin;
  char *from = source->window + source->begin + (bytes < visible ? bytes : visible),
       *end = source->window + source->end;
  char *line_end = memchr(from, '\n', (size_t)(end - from));
  return line_end != NULL ? line_end + 1 : end;
}

/* The next step has twice as many parts. */
static size_t wider(const oat_csv *csv) { return 2 * csv->width < csv->part_count ? 2 * csv->width : csv->part_count; }

/* Lays out the parts of a step and returns their number. */
static oatgp_status split(oatgp_context *ctx, oat_csv *csv, const oat_table *table, size_t *count) {
  const oat_source *source = csv->source;
  char *from = source->window + source->begin;
  for (*count = 0; *count < csv->width && (*count == 0 || from < source->window + source->end); ++*count) {
    oat_part *part = &csv->part[*count];
    PASS_ON(oat_part_begin(ctx, part, table));
    part->series_of = csv->series_of;
    part->records.source = source;
    part->records.form = &csv->form;
    part->records.at = from;
    part->records.line = csv->records.line;
    part->stop = from = next_line(source, (*count + 1) * csv->part_bytes);
  }
  return OATGP_OK;
}

/* The parts of this step, while one thread reads the text of the next one. */
static void read_parts(const oatgp_context *ctx, const oat_csv *csv, size_t count) {
  const locale_t plain = uselocale((locale_t)0);
  const int threads =
      count > 1 ? oat_threads_for(ctx->threads, BYTE_FLOPS * (double)csv->part_bytes * (double)count) : 1;
  const size_t ahead = threads > 1 ? wider(csv) * csv->part_bytes : 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
  for (size_t i = 0; i < count + 1; i++) {
    const locale_t before = uselocale(plain);
    if (i == 0) {
      oat_source_ahead(csv->source, ahead);
    } else {
      oat_part_read(&csv->part[i - 1]);
    }
    uselocale(before);
  }
}

/* Keeps the parts, from the first on, whose assumptions were right, and returns their number. */
static size_t accept(oat_csv *csv, oat_table *table, size_t count) {
  const size_t base = csv->records.line;
  size_t accepted = 0;
  bool right = true;
  while (right && accepted < count && csv->part[accepted].status == OATGP_OK) {
    const oat_part *part = &csv->part[accepted++];
    right = part->records.at == part->stop && !oat_part_has_learnt(part, table);
    oat_part_tell(part, csv->records.line - base, table);
    csv->records.line += part->records.line - base;
    csv->source->begin = (size_t)(part->records.at - csv->source->window);
  }
  return accepted;
}

static oatgp_status append(oatgp_context *ctx, const oat_csv *csv, oat_table *table, size_t count) {
  size_t rows = 0;
  for (size_t i = 0; i < count; i++) {
    csv->part[i].first = table->rows + rows;
    rows += csv->part[i].rows;
  }
  for (size_t i = 0; i < count; i++) {
    PASS_ON(oat_part_recode(ctx, &csv->part[i], table));
  }
  PASS_ON(oat_table_reserve(ctx, table, rows));
  const int threads =
      count > 1 ? oat_threads_for(ctx->threads, OAT_FLOPS_OF_MEMORY * (double)rows * (double)table->count) : 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (size_t i = 0; i < count; i++) {
    oat_part_copy(&csv->part[i], table);
  }
  table->rows += rows;
  return OATGP_OK;
}

/* The bytes that the next step needs: those of its parts, or more than the window has if not even one record ends
 * within it. */
static oatgp_status plan(oatgp_context *ctx, oat_csv *csv, bool moved) {
  csv->needed = csv->width * csv->part_bytes;
  return moved ? OATGP_OK : oat_records_longer(ctx, &csv->records, &csv->needed);
}

oatgp_status oat_csv_more(oatgp_context *ctx, oat_csv *csv, oat_table *table, bool *more) {
  oat_source *source = csv->source;
  size_t count = 0;
  if (csv->part == NULL) {
    PASS_ON(make_parts(ctx, csv, table));
  }
  PASS_ON(oat_source_need(ctx, source, csv->needed));
  PASS_ON(split(ctx, csv, table, &count));
  read_parts(ctx, csv, count);
  REFUSE_IF(csv->part[0].status != OATGP_OK, ctx, csv->part[0].status, "%s", csv->part[0].ctx.error);
  const bool looking = table->looking;
  const size_t before = source->begin, accepted = accept(csv, table, count);
  PASS_ON(append(ctx, csv, table, accepted));
  PASS_ON(looking && !table->looking ? oat_table_recall(ctx, table) : OATGP_OK);
  /* The first rows decide what a column holds, so one thread reads them in order. */
  csv->width = table->looking || accepted < count ? 1 : wider(csv);
  *more = source->begin < source->end || !source->at_end;
  return *more ? plan(ctx, csv, source->begin > before) : OATGP_OK;
}
