/* Data made from rows of other data: some of them, or those of two together. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "text/shown.h"
#include "util/lanes.h"
#include "util/memory.h"

enum { /* by the names of the fields */
       OTHER_weight = OAT_OTHER_WEIGHT,
       OTHER_noise = OAT_OTHER_NOISE,
       OTHER_trials = OAT_OTHER_TRIALS,
       OTHER_exposure = OAT_OTHER_EXPOSURE
};

/* Data with room for n rows and everything else as in `like`. */
static oatgp_status make_like(oatgp_context *ctx, const oatgp_data *like, size_t n, oatgp_data **out) {
  oatgp_data *data = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *data, &data));
  data->n = n;
  data->d = like->d;
  data->header = like->header;
  data->columns = like->columns;
  data->target_position = like->target_position;
  TRY(oat_new(ctx, like->d, sizeof *data->names, &data->names));
  for (size_t j = 0; j < like->d; j++) {
    TRY(oat_copy_text(ctx, like->names[j], &data->names[j]));
  }
  TRY(oat_levels_copy_list(ctx, like->levels, like->d, &data->levels));
  TRY(oat_copy_text(ctx, like->target, &data->target));
  TRY(oat_levels_copy(ctx, &like->target_levels, &data->target_levels));
  if (like->positions != NULL) {
    TRY(oat_new(ctx, like->d, sizeof *data->positions, &data->positions));
    memcpy(data->positions, like->positions, like->d * sizeof *data->positions);
  }
  TRY(oat_data_own_inputs(ctx, data));
  TRY(oat_data_has_target(like) ? oat_new_matrix(ctx, n, 1, &data->own_y) : OATGP_OK);
  data->y = data->own_y;
#define MAKE_EXTRA(column)                                            \
  data->column##_position = like->column##_position;                  \
  TRY(oat_copy_text(ctx, like->column##_name, &data->column##_name)); \
  TRY(oat_data_has(like, (oat_other)OTHER_##column) ? oat_new_matrix(ctx, n, 1, &data->column) : OATGP_OK);
  OAT_EXTRA_COLUMNS(MAKE_EXTRA)
#undef MAKE_EXTRA
  *out = data;
  data = NULL;
done:
  oatgp_data_free(data);
  return status;
}

/* A copy of rows from one data object to another. */
typedef struct moving {
  const oatgp_data *from;
  size_t count;
  const size_t *rows; /* the numbers of the rows; NULL: the first ones */
  size_t place;       /* the first row that they go to */
  oatgp_data *to;
} moving;

/* A NULL column is skipped. */
static void copy_rows(const moving *m, oat_span part, oat_column from, double *to) {
  for (size_t i = part.first; from.a != NULL && i < part.first + part.count; i++) {
    to[m->place + i] = from.a[(m->rows != NULL ? m->rows[i] : i) * from.step];
  }
}

static void copy_chunk(void *self, size_t lane, size_t item) {
  const moving *m = self;
  const oat_span part = oat_chunk(m->count, item);
#define EXTRA_FROM(column) , m->from->column
#define EXTRA_TO(column) , m->to->column
  const double *const columns[] = {m->from->y OAT_EXTRA_COLUMNS(EXTRA_FROM)};
  double *const targets[] = {m->to->own_y OAT_EXTRA_COLUMNS(EXTRA_TO)};
#undef EXTRA_FROM
#undef EXTRA_TO
  (void)lane;
  for (size_t j = 0; j < m->from->d; j++) {
    copy_rows(m, part, oat_data_input(m->from, j), m->to->own_x + j * m->to->n);
  }
  for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
    if (targets[c] != NULL) {
      copy_rows(m, part, (oat_column){columns[c], 1}, targets[c]);
    }
  }
}

static void copy_all(const oatgp_context *ctx, moving m) {
  oat_loop loop = oat_chunks(m.count, OAT_FLOPS_OF_MEMORY * (double)m.from->d, ctx->threads);
  loop.item = copy_chunk;
  loop.self = &m;
  oat_loop_run(&loop);
}

/* Reads rows from the files to row `place` and those after it. */
static oatgp_status read_rows(oatgp_context *ctx, const oatgp_data *data, oat_span rows, size_t place,
                              oatgp_data *copy) {
  double *const others[OAT_OTHERS] = {copy->own_y, copy->weight, copy->noise, copy->trials, copy->exposure};
  double *room = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, rows.count < OAT_CHUNK ? rows.count : OAT_CHUNK, oat_data_width(data), &room));
  for (size_t first = 0, count; first < rows.count; first += count) {
    count = rows.count - first < OAT_CHUNK ? rows.count - first : OAT_CHUNK;
    const oat_data_part part = oat_data_part_of(data, (oat_span){rows.first + first, count}, room);
    for (size_t j = 0; j < data->d; j++) {
      memcpy(copy->own_x + place + first + j * copy->n, part.x + j * part.input_step, count * sizeof *room);
    }
    for (int i = 0; i < OAT_OTHERS; i++) {
      if (others[i] != NULL) {
        memcpy(others[i] + place + first, part.other[i], count * sizeof *room);
      }
    }
  }
  TRY(oat_data_check(ctx, data));
done:
  free(room);
  return status;
}

oatgp_status oatgp_data_select(oatgp_context *ctx, const oatgp_data *data, size_t count, const size_t *rows,
                               oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_data *copy = NULL;
  REFUSE_IF(data == NULL || rows == NULL || out == NULL || count == 0, ctx, OATGP_ARGUMENT,
            "data, the rows and the output pointer must not be NULL, and at least one row is needed");
  for (size_t i = 0; i < count; i++) {
    REFUSE_IF(rows[i] >= data->n, ctx, OATGP_ARGUMENT,
              "row %zu does not exist; the data have %zu rows, numbered from 0", rows[i], data->n);
  }
  PASS_ON(make_like(ctx, data, count, &copy));
  if (!oat_data_is_streamed(data)) {
    copy_all(ctx, (moving){data, count, rows, 0, copy});
  }
  for (size_t i = 0; oat_data_is_streamed(data) && i < count; i++) {
    const oatgp_status status = read_rows(ctx, data, (oat_span){rows[i], 1}, i, copy);
    if (status != OATGP_OK) {
      oatgp_data_free(copy);
      return status;
    }
  }
  *out = copy;
  return OATGP_OK;
}

oatgp_status oat_data_copy_rows(oatgp_context *ctx, const oatgp_data *data, oat_span rows, oatgp_data **out) {
  oatgp_data *copy = NULL;
  PASS_ON(make_like(ctx, data, rows.count, &copy));
  copy->before = data->before + rows.first;
  const oatgp_status status = read_rows(ctx, data, rows, 0, copy);
  if (status != OATGP_OK) {
    oatgp_data_free(copy);
    return status;
  }
  *out = copy;
  return OATGP_OK;
}

/* Whether both have the column or neither has it. */
static bool same_columns(const oatgp_data *first, const oatgp_data *second) {
#define SAME_EXTRA(column) &&(first->column == NULL) == (second->column == NULL)
  return (first->y == NULL) == (second->y == NULL) OAT_EXTRA_COLUMNS(SAME_EXTRA);
#undef SAME_EXTRA
}

/* The last rows of `both` have the codes of `second`. Replaces them by those of the joint levels. */
static oatgp_status join_input(oatgp_context *ctx, const oatgp_data *second, size_t input, oatgp_data *both) {
  const oat_levels *from = &second->levels[input];
  oatgp_status status = OATGP_OK;
  size_t *to = NULL;
  TRY(oat_new(ctx, from->count, sizeof *to, &to));
  for (size_t i = 0; i < from->count; i++) {
    TRY(oat_levels_take(ctx, &both->levels[input], from->name[i], strlen(from->name[i]), &to[i]));
  }
  double *x = both->own_x + (input + 1) * both->n - second->n;
  for (size_t i = 0; i < second->n; i++) {
    x[i] = (double)to[(size_t)x[i]];
  }
done:
  free(to);
  return status;
}

static oatgp_status join_levels(oatgp_context *ctx, const oatgp_data *second, oatgp_data *both) {
  for (size_t j = 0; j < both->d; j++) {
    const bool category = oat_data_levels(both, j) != NULL;
    REFUSE_IF(category != (oat_data_levels(second, j) != NULL), ctx, OATGP_DATA,
              "data cannot be joined: input '%s' is a category in one and holds numbers in the other", both->names[j]);
    PASS_ON(category ? join_input(ctx, second, j, both) : OATGP_OK);
  }
  return OATGP_OK;
}

/* The last rows of `both` have the codes of the second. Replaces them by those of the first, which has all levels. */
static oatgp_status join_target(oatgp_context *ctx, const oatgp_data *second, oatgp_data *both) {
  const oat_levels *from = &second->target_levels, *to = &both->target_levels;
  REFUSE_IF((from->count == 0) != (to->count == 0), ctx, OATGP_DATA,
            "data cannot be joined: the target has levels in one and holds numbers in the other");
  for (size_t i = 0; i < from->count; i++) {
    REFUSE_IF(oat_levels_find(to, from->name[i], strlen(from->name[i])) == OAT_NO_LEVEL, ctx, OATGP_DATA,
              "data cannot be joined: the target has the level '%s' only in the second",
              oat_show_text(from->name[i]).text);
  }
  for (size_t i = both->n - second->n; from->count > 0 && i < both->n; i++) {
    const char *name = from->name[(size_t)both->own_y[i]];
    both->own_y[i] = (double)oat_levels_find(to, name, strlen(name));
  }
  return OATGP_OK;
}

oatgp_status oatgp_data_join(oatgp_context *ctx, const oatgp_data *first, const oatgp_data *second, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_data *both = NULL;
  REFUSE_IF(first == NULL || second == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "both data and the output pointer must not be NULL");
  REFUSE_IF(first->d != second->d, ctx, OATGP_DATA, "data of %zu inputs cannot be joined with data of %zu", first->d,
            second->d);
  for (size_t j = 0; j < first->d; j++) {
    REFUSE_IF(first->header && second->header && strcmp(first->names[j], second->names[j]) != 0, ctx, OATGP_DATA,
              "data cannot be joined: input %zu is '%s' in one and '%s' in the other", j + 1, first->names[j],
              second->names[j]);
  }
  PASS_ON(oat_data_need_memory(ctx, first, "joining data"));
  PASS_ON(oat_data_need_memory(ctx, second, "joining data"));
  REFUSE_IF(
      !same_columns(first, second), ctx, OATGP_DATA,
      "data cannot be joined: one has a target, weights, noise variances, trials or an exposure that the other lacks");
  PASS_ON(make_like(ctx, first, first->n + second->n, &both));
  copy_all(ctx, (moving){first, first->n, NULL, 0, both});
  copy_all(ctx, (moving){second, second->n, NULL, first->n, both});
  oatgp_status status = join_levels(ctx, second, both);
  status = status == OATGP_OK ? join_target(ctx, second, both) : status;
  if (status != OATGP_OK) {
    oatgp_data_free(both);
    return status;
  }
  *out = both;
  return OATGP_OK;
}
