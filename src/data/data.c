/* Data from memory, and the accessors of every data object. */
#include "data/data.h"
#include "data/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/shown.h"
#include "util/memory.h"
#include "util/utf8.h"

static void free_names(char **names, size_t count) {
  for (size_t j = 0; names != NULL && j < count; j++) {
    free(names[j]);
  }
  free(names);
}

void oatgp_data_free(oatgp_data *data) {
  if (data == NULL) {
    return;
  }
  free(data->own_x);
  free(data->own_y);
#define FREE_EXTRA(column) \
  free(data->column);      \
  free(data->column##_name);
  OAT_EXTRA_COLUMNS(FREE_EXTRA)
#undef FREE_EXTRA
  oat_levels_clear(&data->target_levels);
  oat_levels_free_list(data->levels, data->d);
  free_names(data->names, data->d);
  free(data->target);
  free(data->positions);
  oat_stream_free(data->in_files.stream);
  free(data->in_files.about);
  free(data);
}

size_t oatgp_data_rows(const oatgp_data *data) { return data != NULL ? data->n : 0; }

size_t oatgp_data_inputs(const oatgp_data *data) { return data != NULL ? data->d : 0; }

const char *oatgp_data_input_name(const oatgp_data *data, size_t input) {
  return data != NULL && input < data->d ? data->names[input] : NULL;
}

size_t oatgp_data_dropped_rows(const oatgp_data *data) { return data != NULL ? data->dropped : 0; }

/* The columns after the inputs, as far as there are any. */
typedef struct other_column {
  const char *name, *role;
  oat_other which;
} other_column;

static const double *values_of(const oatgp_data *data, oat_other other) {
  const double *const values[OAT_OTHERS] = {data->y, data->weight, data->noise, data->trials, data->exposure};
  return values[other];
}

bool oat_data_has(const oatgp_data *data, oat_other other) {
  return values_of(data, other) != NULL || data->in_files.place[other] > 0;
}

/* The column of that number, counted from 0 behind the inputs; its role is NULL past the end. */
static other_column find_other(const oatgp_data *data, size_t number) {
  const other_column others[] = {{data->target, "target", OAT_OTHER_TARGET},
                                 {data->weight_name, "weights", OAT_OTHER_WEIGHT},
                                 {data->noise_name, "noise variance", OAT_OTHER_NOISE},
                                 {data->trials_name, "trials", OAT_OTHER_TRIALS},
                                 {data->exposure_name, "exposure", OAT_OTHER_EXPOSURE},
                                 {NULL, NULL, OAT_OTHERS}};
  const other_column *at = others;
  while (at->role != NULL && (!oat_data_has(data, at->which) || number-- > 0)) {
    at++;
  }
  return *at;
}

size_t oat_data_number_of(const oatgp_data *data, oat_other other) {
  size_t number = data->d;
  for (int before = 0; before < (int)other; before++) {
    number += oat_data_has(data, (oat_other)before);
  }
  return number;
}

size_t oatgp_data_columns(const oatgp_data *data) {
  size_t others = 0;
  while (data != NULL && find_other(data, others).role != NULL) {
    others++;
  }
  return oatgp_data_inputs(data) + others;
}

const char *oatgp_data_column_name(const oatgp_data *data, size_t column) {
  return data == NULL || column < data->d ? oatgp_data_input_name(data, column)
                                          : find_other(data, column - data->d).name;
}

const char *oatgp_data_column_role(const oatgp_data *data, size_t column) {
  return data == NULL ? NULL : column < data->d ? "input" : find_other(data, column - data->d).role;
}

oat_column oat_data_column(const oatgp_data *data, size_t column) {
  return column < data->d ? oat_data_input(data, column)
                          : (oat_column){values_of(data, find_other(data, column - data->d).which), 1};
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

size_t oat_data_width(const oatgp_data *data) { return oat_data_is_streamed(data) ? data->in_files.stream->used : 0; }

oat_data_part oat_data_part_of(const oatgp_data *data, oat_span rows, double *room) {
  if (!oat_data_is_streamed(data)) {
    oat_data_part part = {rows.count, data->x + rows.first * data->row_step, data->row_step, data->input_step, {0}};
    for (int i = 0; i < OAT_OTHERS; i++) {
      const double *values = values_of(data, (oat_other)i);
      part.other[i] = values != NULL ? values + rows.first : NULL;
    }
    return part;
  }
  oat_data_part part = {rows.count, room, 1, rows.count, {0}};
  oat_stream_read(data->in_files.stream, rows, room, rows.count);
  for (int i = 0; i < OAT_OTHERS; i++) {
    part.other[i] = data->in_files.place[i] > 0 ? room + (data->in_files.place[i] - 1) * rows.count : NULL;
  }
  return part;
}

oat_column oat_part_column(const oatgp_data *data, const oat_data_part *part, size_t column) {
  return column < data->d ? (oat_column){part->x + column * part->input_step, part->row_step}
                          : (oat_column){part->other[find_other(data, column - data->d).which], 1};
}

oatgp_status oat_data_check(oatgp_context *ctx, const oatgp_data *data) {
  return oat_data_is_streamed(data) ? oat_stream_check(ctx, data->in_files.stream) : OATGP_OK;
}

oatgp_status oat_data_need_memory(oatgp_context *ctx, const oatgp_data *data, const char *what) {
  REFUSE_IF(oat_data_is_streamed(data), ctx, OATGP_ARGUMENT,
            "%s needs all rows in memory, and these %zu rows stay in their file; raise --memory or use one file with "
            "fewer rows",
            what, data->n);
  return OATGP_OK;
}

oatgp_status oatgp_data_copy_column(oatgp_context *ctx, const oatgp_data *data, size_t column, double *out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL || out == NULL, ctx, OATGP_ARGUMENT, "the data and the output pointer must not be NULL");
  REFUSE_IF(column >= oatgp_data_columns(data), ctx, OATGP_ARGUMENT,
            "column %zu does not exist; the data have %zu columns, numbered from 0", column, oatgp_data_columns(data));
  PASS_ON(oat_data_need_memory(ctx, data, "a copy of a column"));
  const oat_column from = oat_data_column(data, column);
  for (size_t i = 0; i < data->n; i++) {
    out[i] = from.a[i * from.step];
  }
  return OATGP_OK;
}

oatgp_status oat_data_own_inputs(oatgp_context *ctx, oatgp_data *data) {
  const oatgp_status status = oat_new_matrix(ctx, data->n, data->d, &data->own_x);
  data->x = data->own_x;
  data->row_step = 1;
  data->input_step = data->n;
  return status;
}

/* ---- from memory ----------------------------------------------------------------------------------------------- */

/* Checks them in the order in which they lie in memory. The error names the first one by rows. */
static oatgp_status check_inputs(oatgp_context *ctx, const oatgp_view *view) {
  const bool by_rows = view->row_step >= view->input_step;
  const size_t outer = by_rows ? view->n : view->d, inner = by_rows ? view->d : view->n;
  const size_t far = by_rows ? view->row_step : view->input_step, near = by_rows ? view->input_step : view->row_step;
  for (size_t i = 0; i < outer; i++) {
    for (size_t j = 0; j < inner; j++) {
      const double value = view->x[i * far + j * near];
      REFUSE_IF(!isfinite(value), ctx, OATGP_DATA, "input %zu of row %zu is %g; every input must be finite",
                (by_rows ? j : i) + 1, (by_rows ? i : j) + 1, value);
    }
  }
  return OATGP_OK;
}

static void copy_inputs(const oatgp_view *view, oatgp_data *data) {
  for (size_t i = 0; i < data->n; i++) {
    for (size_t j = 0; j < data->d; j++) {
      data->own_x[i + j * data->n] = view->x[i * view->row_step + j * view->input_step];
    }
  }
}

static oatgp_status default_names(oatgp_context *ctx, oatgp_data *data) {
  for (size_t j = 0; j < data->d; j++) {
    char name[32];
    snprintf(name, sizeof name, "x%zu", j + 1);
    PASS_ON(oat_copy_text(ctx, name, &data->names[j]));
  }
  return OATGP_OK;
}

/* The rule for the values of a column: finite, at least `lowest` or above it, and perhaps whole. */
typedef struct value_rule {
  const char *what, *demand;
  double lowest;
  bool above; /* above the lowest, not equal to it */
  bool whole;
} value_rule;

static const value_rule target_rule = {"the target", "finite", -INFINITY, false, false};
static const value_rule weight_rule = {"the weight", "finite and above 0", 0, true, false};
static const value_rule noise_rule = {"the noise variance", "finite and not below 0", 0, false, false};
static const value_rule trials_rule = {"the number of trials", "a whole number, 1 or more", 1, false, true};
static const value_rule exposure_rule = {"the exposure", "finite and above 0", 0, true, false};

/* Checks the values of a column. NULL is a column that is absent. */
static oatgp_status check_values(oatgp_context *ctx, size_t n, const double *values, const value_rule *rule) {
  for (size_t i = 0; values != NULL && i < n; i++) {
    const bool in_range = rule->above ? values[i] > rule->lowest : values[i] >= rule->lowest;
    const bool right = in_range && (!rule->whole || values[i] == floor(values[i]));
    REFUSE_IF(!isfinite(values[i]) || !right, ctx, OATGP_DATA, "%s of row %zu is %g; it must be %s", rule->what, i + 1,
              values[i], rule->demand);
  }
  return OATGP_OK;
}

/* Copies n values; NULL gives NULL. */
static oatgp_status copy_column(oatgp_context *ctx, size_t n, const double *values, double **out) {
  *out = NULL;
  const oatgp_status status = values != NULL ? oat_new(ctx, n, sizeof **out, out) : OATGP_OK;
  if (*out != NULL) {
    memcpy(*out, values, n * sizeof *values);
  }
  return status;
}

static oatgp_status copy_view(oatgp_context *ctx, const oatgp_view *view, oatgp_data *data) {
  PASS_ON(oat_data_own_inputs(ctx, data));
  copy_inputs(view, data);
  PASS_ON(copy_column(ctx, data->n, view->y, &data->own_y));
  data->y = data->own_y;
  return OATGP_OK;
}

/* Data that point to the caller's values or, with `copy`, hold their own. */
static oatgp_status build(oatgp_context *ctx, const oatgp_view *view, bool copy, oatgp_data **out) {
  oatgp_data *data = NULL;
  oatgp_status status = OATGP_OK;
  REFUSE_IF(view->n == 0 || view->d == 0, ctx, OATGP_ARGUMENT,
            "the data have %zu rows and %zu inputs, but need at least one of each", view->n, view->d);
  TRY(oat_new(ctx, 1, sizeof *data, &data));
  *data = (oatgp_data){
      .n = view->n, .x = view->x, .row_step = view->row_step, .input_step = view->input_step, .y = view->y};
  TRY(oat_new(ctx, view->d, sizeof *data->names, &data->names));
  data->d = view->d;
  TRY(default_names(ctx, data));
  TRY(copy ? copy_view(ctx, view, data) : OATGP_OK);
  TRY(check_inputs(ctx, view));
  TRY(check_values(ctx, view->n, view->y, &target_rule));
  *out = data;
  data = NULL;
done:
  oatgp_data_free(data);
  return status;
}

oatgp_status oatgp_data_create(oatgp_context *ctx, size_t n, size_t d, const double *x, const double *y,
                               oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(x == NULL || out == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_create needs x and out, which must not be NULL");
  const oatgp_view rows = {n, d, x, y, d, 1};
  return build(ctx, &rows, true, out);
}

oatgp_status oatgp_data_borrow(oatgp_context *ctx, const oatgp_view *view, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(view == NULL || view->x == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "oatgp_data_borrow needs a view with x and out, which must not be NULL");
  return build(ctx, view, false, out);
}

/* ---- names, weights, noise variances, trials, exposure --------------------------------------------------------- */

static int compare_names(const void *left, const void *right) {
  const char *const *a = left, *const *b = right;
  return strcmp(*a, *b);
}

static oatgp_status check_name(oatgp_context *ctx, const char *name, const char *what, size_t number) {
  REFUSE_IF(name == NULL || name[0] == '\0', ctx, OATGP_ARGUMENT, "the name of %s %zu is NULL or empty", what, number);
  REFUSE_IF(!oat_is_utf8(name, strlen(name)), ctx, OATGP_ARGUMENT,
            "the name '%s' of %s %zu is not UTF-8; convert it, for example by oatgp_to_utf8", oat_show_text(name).text,
            what, number);
  return OATGP_OK;
}

/* Names must not be empty and must differ, because columns of files are matched by them. */
static oatgp_status check_names(oatgp_context *ctx, size_t d, const char *const *inputs, const char *target) {
  const char **sorted = NULL;
  const size_t count = target != NULL ? d + 1 : d;
  oatgp_status status;
  TRY(oat_new(ctx, d + 1, sizeof *sorted, &sorted));
  for (size_t j = 0; j < count; j++) {
    sorted[j] = j < d ? inputs[j] : target;
    TRY(check_name(ctx, sorted[j], j < d ? "input" : "target", j < d ? j + 1 : 1));
  }
  qsort(sorted, count, sizeof *sorted, compare_names);
  for (size_t j = 1; j < count; j++) {
    if (strcmp(sorted[j - 1], sorted[j]) == 0) {
      TRY(oat_fail(ctx, OATGP_ARGUMENT, "the name '%s' is given twice; names must differ",
                   oat_show_text(sorted[j]).text));
    }
  }
done:
  free(sorted);
  return status;
}

oatgp_status oatgp_data_set_names(oatgp_context *ctx, oatgp_data *data, const char *const *inputs, const char *target) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL || inputs == NULL, ctx, OATGP_ARGUMENT,
            "oatgp_data_set_names needs data and inputs, which must not be NULL");
  oatgp_status status = OATGP_OK;
  char **names = NULL, *own_target = NULL;
  TRY(check_names(ctx, data->d, inputs, target));
  TRY(oat_new(ctx, data->d, sizeof *names, &names));
  for (size_t j = 0; j < data->d; j++) {
    TRY(oat_copy_text(ctx, inputs[j], &names[j]));
  }
  TRY(oat_copy_text(ctx, target, &own_target));
  free_names(data->names, data->d);
  free(data->target);
  data->names = names;
  data->target = own_target;
  data->header = true;
  names = NULL;
done:
  free_names(names, data->d);
  return status;
}

static oatgp_status set_column(oatgp_context *ctx, const oatgp_data *data, const double *values, const value_rule *rule,
                               double **column) {
  double *copy = NULL;
  PASS_ON(check_values(ctx, data->n, values, rule));
  PASS_ON(copy_column(ctx, data->n, values, &copy));
  free(*column);
  *column = copy;
  return OATGP_OK;
}

oatgp_status oatgp_data_set_weights(oatgp_context *ctx, oatgp_data *data, const double *weights) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_set_weights needs data, which must not be NULL");
  return set_column(ctx, data, weights, &weight_rule, &data->weight);
}

oatgp_status oatgp_data_set_noise_variance(oatgp_context *ctx, oatgp_data *data, const double *variance) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_set_noise_variance needs data, which must not be NULL");
  return set_column(ctx, data, variance, &noise_rule, &data->noise);
}

oatgp_status oatgp_data_set_trials(oatgp_context *ctx, oatgp_data *data, const double *trials) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_set_trials needs data, which must not be NULL");
  return set_column(ctx, data, trials, &trials_rule, &data->trials);
}

oatgp_status oatgp_data_set_exposure(oatgp_context *ctx, oatgp_data *data, const double *exposure) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(data == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_set_exposure needs data, which must not be NULL");
  return set_column(ctx, data, exposure, &exposure_rule, &data->exposure);
}

/* ---- categories ------------------------------------------------------------------------------------------------ */

size_t oatgp_data_level_count(const oatgp_data *data, size_t input) {
  const oat_levels *levels = data != NULL && input < data->d ? oat_data_levels(data, input) : NULL;
  return levels != NULL ? levels->count : 0;
}

const char *oatgp_data_level(const oatgp_data *data, size_t input, size_t level) {
  return level < oatgp_data_level_count(data, input) ? data->levels[input].name[level] : NULL;
}

/* Checks that n values are codes of `levels` levels; `what` names the column. */
static oatgp_status check_codes(oatgp_context *ctx, const char *what, size_t n, oat_column x, size_t count) {
  for (size_t i = 0; i < n; i++) {
    const double code = x.a[i * x.step];
    REFUSE_IF(!(code >= 0 && code < (double)count && code == floor(code)), ctx, OATGP_DATA,
              "%s of row %zu is %g, which is not one of the codes 0 to %zu of its levels", what, i + 1, code,
              count - 1);
  }
  return OATGP_OK;
}

static oatgp_status take_levels(oatgp_context *ctx, size_t count, const char *const *names, oat_levels *levels) {
  for (size_t i = 0; i < count; i++) {
    size_t code = 0;
    PASS_ON(check_name(ctx, names[i], "level", i + 1));
    PASS_ON(oat_levels_take(ctx, levels, names[i], strlen(names[i]), &code));
    REFUSE_IF(code != i, ctx, OATGP_ARGUMENT, "the level '%s' is given twice; levels must differ",
              oat_show_text(names[i]).text);
  }
  return OATGP_OK;
}

oatgp_status oatgp_data_set_levels(oatgp_context *ctx, oatgp_data *data, size_t input, size_t count,
                                   const char *const *levels) {
  OAT_NEED_CONTEXT(ctx);
  oat_levels own = {0};
  char what[OAT_SHOWN_SIZE + 16];
  oatgp_status status = OATGP_OK;
  REFUSE_IF(data == NULL || levels == NULL || count == 0 || count > OAT_MOST_LEVELS, ctx, OATGP_ARGUMENT,
            "oatgp_data_set_levels needs data and 1 to %d levels, which must not be NULL", OAT_MOST_LEVELS);
  REFUSE_IF(input >= data->d, ctx, OATGP_ARGUMENT,
            "input %zu does not exist; the data have %zu inputs, numbered from 0", input, data->d);
  snprintf(what, sizeof what, "input '%s'", oat_show_text(data->names[input]).text);
  TRY(check_codes(ctx, what, data->n, oat_data_input(data, input), count));
  TRY(take_levels(ctx, count, levels, &own));
  TRY(data->levels == NULL ? oat_new(ctx, data->d, sizeof *data->levels, &data->levels) : OATGP_OK);
  oat_levels_clear(&data->levels[input]);
  data->levels[input] = own;
  return OATGP_OK;
done:
  oat_levels_clear(&own);
  return status;
}

size_t oatgp_data_target_level_count(const oatgp_data *data) { return data != NULL ? data->target_levels.count : 0; }

const char *oatgp_data_target_level(const oatgp_data *data, size_t level) {
  return level < oatgp_data_target_level_count(data) ? data->target_levels.name[level] : NULL;
}

oatgp_status oatgp_data_set_target_levels(oatgp_context *ctx, oatgp_data *data, size_t count,
                                          const char *const *levels) {
  OAT_NEED_CONTEXT(ctx);
  oat_levels own = {0};
  oatgp_status status = OATGP_OK;
  REFUSE_IF(data == NULL || levels == NULL || count < 2 || count > OAT_MOST_CLASSES, ctx, OATGP_ARGUMENT,
            "oatgp_data_set_target_levels needs data and 2 to %d levels, which must not be NULL", OAT_MOST_CLASSES);
  REFUSE_IF(data->y == NULL, ctx, OATGP_ARGUMENT, "the data have no target, so it cannot have levels");
  TRY(check_codes(ctx, "the target", data->n, (oat_column){data->y, 1}, count));
  TRY(take_levels(ctx, count, levels, &own));
  oat_levels_clear(&data->target_levels);
  data->target_levels = own;
  return OATGP_OK;
done:
  oat_levels_clear(&own);
  return status;
}
