/* Which columns of a file are used: those that the settings name, or those of earlier data. */
#include "tables/table.h"

#include <stdlib.h>
#include <string.h>

#include "text/shown.h"
#include "util/memory.h"

static bool is_given(const char *text) { return text != NULL && text[0] != '\0'; }

/* ---- by settings ----------------------------------------------------------------------------------------------- */

/* Uses a column that the user or a model names and that must hold numbers. */
static oatgp_status use_numbers(oatgp_context *ctx, oat_table *table, size_t column, oat_role role) {
  const oat_series as = {.role = role, .content = OAT_CONTENT_NUMBERS, .asked = true};
  return oat_table_use(ctx, table, column, &as);
}

static oatgp_status use_typed(oatgp_context *ctx, oat_table *table, oat_role role, const char *what,
                              const char *typed) {
  size_t column = 0;
  PASS_ON(oat_layout_require(ctx, table->layout, what, typed, &column));
  return use_numbers(ctx, table, column, role);
}

/* Takes the next item from a list with commas, without the blanks around it. */
static char *next_piece(char **rest) {
  char *piece = *rest;
  char *comma = strchr(piece, ',');
  *rest = comma != NULL ? comma + 1 : NULL;
  char *end = comma != NULL ? comma : piece + strlen(piece);
  while (piece < end && *piece == ' ') {
    piece++;
  }
  while (piece < end && end[-1] == ' ') {
    end--;
  }
  *end = '\0';
  return piece;
}

/* Calls `use` for each column of a list; `what` is the name of the setting. */
static oatgp_status each_listed(oatgp_context *ctx, oat_table *table, const char *what, const char *list,
                                oatgp_status (*use)(oatgp_context *ctx, oat_table *table, size_t column)) {
  char *copy = NULL;
  oatgp_status status = is_given(list) ? oat_copy_text(ctx, list, &copy) : OATGP_OK;
  for (char *rest = copy; status == OATGP_OK && rest != NULL;) {
    const char *piece = next_piece(&rest);
    size_t column = 0;
    status = piece[0] != '\0' ? oat_layout_require(ctx, table->layout, what, piece, &column)
                              : oat_fail(ctx, OATGP_ARGUMENT, "%s '%s' has an empty name between its commas", what,
                                         oat_show_text(list).text);
    status = status == OATGP_OK ? use(ctx, table, column) : status;
  }
  free(copy);
  return status;
}

static oatgp_status use_input(oatgp_context *ctx, oat_table *table, size_t column) {
  const oat_series as = {.role = OAT_INPUT, .content = OAT_CONTENT_OPEN, .asked = true};
  return oat_table_use(ctx, table, column, &as);
}

/* A column that is an input already becomes a category. */
static oatgp_status use_factor(oatgp_context *ctx, oat_table *table, size_t column) {
  const oat_series as = {.role = OAT_INPUT, .content = OAT_CONTENT_WORDS, .asked = true};
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    if (series->column == column && series->role == OAT_INPUT) {
      series->content = OAT_CONTENT_WORDS;
      series->asked = true;
      return OATGP_OK;
    }
  }
  return oat_table_use(ctx, table, column, &as);
}

static oatgp_status use_others(oatgp_context *ctx, oat_table *table) {
  const oat_series as = {.role = OAT_INPUT, .content = OAT_CONTENT_OPEN};
  for (size_t k = 0; k < table->layout->columns; k++) {
    PASS_ON(table->used[k] ? OATGP_OK : oat_table_use(ctx, table, k, &as));
  }
  return OATGP_OK;
}

/* The classes of a yes-or-no target are texts or 0 and 1; ordered ones may be any texts or whole numbers. */
static oatgp_status use_target_typed(oatgp_context *ctx, oat_table *table, const oatgp_settings *settings) {
  const bool ordinal = strcmp(settings->likelihood, "ordinal") == 0,
             binary = strncmp(settings->likelihood, "bernoulli-", 10) == 0;
  const oat_series as = {.role = OAT_TARGET,
                         .content = ordinal ? OAT_CONTENT_WORDS : OAT_CONTENT_OPEN,
                         .asked = true,
                         .classes = ordinal  ? OAT_MOST_CLASSES
                                    : binary ? 2
                                             : 0};
  size_t column = 0;
  PASS_ON(oat_layout_require(ctx, table->layout, "target", settings->target, &column));
  return oat_table_use(ctx, table, column, &as);
}

oatgp_status oat_select_by_settings(oatgp_context *ctx, const oatgp_settings *settings, oat_table *table) {
  const struct {
    oat_role role;
    const char *what, *typed;
  } single[] = {{OAT_WEIGHT, "weights", settings->weights},
                {OAT_NOISE, "noise variance", settings->noise_variance},
                {OAT_TRIALS, "trials", settings->trials},
                {OAT_EXPOSURE, "exposure", settings->exposure}};
  table->free_inputs = true;
  PASS_ON(is_given(settings->target) ? use_target_typed(ctx, table, settings) : OATGP_OK);
  for (size_t k = 0; k < sizeof single / sizeof *single; k++) {
    if (is_given(single[k].typed)) {
      PASS_ON(use_typed(ctx, table, single[k].role, single[k].what, single[k].typed));
    }
  }
  PASS_ON(is_given(settings->inputs) ? each_listed(ctx, table, "inputs", settings->inputs, use_input)
                                     : use_others(ctx, table));
  return each_listed(ctx, table, "factors", settings->factors, use_factor);
}

/* ---- like earlier data ----------------------------------------------------------------------------------------- */

static bool all_named(const oat_layout *layout, const oat_columns *wanted) {
  size_t column;
  bool all = true;
  for (size_t j = 0; j < wanted->d && all; j++) {
    all = oat_layout_find(layout, wanted->names[j], &column) > 0;
  }
  return all;
}

/* Input j of those wanted. */
static oatgp_status use_wanted(oatgp_context *ctx, const oat_columns *wanted, size_t j, size_t column,
                               oat_table *table) {
  const bool category = wanted->levels != NULL && wanted->levels[j].count > 0;
  const oat_series as = {
      .role = OAT_INPUT, .content = category ? OAT_CONTENT_WORDS : OAT_CONTENT_NUMBERS, .asked = true};
  PASS_ON(category ? oat_levels_copy(ctx, &wanted->levels[j], &table->levels[table->count]) : OATGP_OK);
  return oat_table_use(ctx, table, column, &as);
}

/* Of the `found` columns with a name, the first of which is *column: if there are several, the one whose position the
 * earlier data had in a file of as many columns. Returns how many are left. */
static size_t settle_by_place(const oat_layout *layout, const oat_columns *wanted, size_t position, size_t found,
                              size_t *column) {
  const bool placed = wanted->columns == layout->columns && position >= 1 && position <= layout->columns;
  if (found > 1 && placed && strcmp(layout->names[position - 1], layout->names[*column]) == 0) {
    *column = position - 1;
    return 1;
  }
  return found;
}

static oatgp_status use_by_name(oatgp_context *ctx, const oat_columns *wanted, oat_table *table) {
  for (size_t j = 0; j < wanted->d; j++) {
    size_t column = 0;
    const size_t position = wanted->positions != NULL ? wanted->positions[j] : 0;
    size_t found = oat_layout_find(table->layout, wanted->names[j], &column);
    found = settle_by_place(table->layout, wanted, position, found, &column);
    PASS_ON(found == 1 ? OATGP_OK : oat_layout_not_one(ctx, table->layout, "inputs", wanted->names[j], found));
    PASS_ON(use_wanted(ctx, wanted, j, column, table));
  }
  return OATGP_OK;
}

/* Input j is the column positions[j], from 1, or column j + 1 when positions is NULL. */
static oatgp_status use_by_place(oatgp_context *ctx, const oat_columns *wanted, const size_t *positions,
                                 oat_table *table) {
  for (size_t j = 0; j < wanted->d; j++) {
    PASS_ON(use_wanted(ctx, wanted, j, positions != NULL ? positions[j] - 1 : j, table));
  }
  return OATGP_OK;
}

static bool same_places(const oat_layout *layout, const oat_columns *wanted) {
  bool same = wanted->positions != NULL && wanted->columns == layout->columns;
  for (size_t j = 0; same && j < wanted->d; j++) {
    same = wanted->positions[j] >= 1 && wanted->positions[j] <= layout->columns;
  }
  return same;
}

static oatgp_status names_not_found(oatgp_context *ctx, const oat_layout *layout, const oat_columns *wanted) {
  oat_list missing = {{0}, 0, 0, 0}, present = {{0}, 0, 0, 0};
  size_t column, count = 0;
  for (size_t j = 0; j < wanted->d; j++) {
    if (oat_layout_find(layout, wanted->names[j], &column) == 0) {
      oat_list_add(&missing, wanted->names[j]);
      count++;
    }
  }
  for (size_t k = 0; k < layout->columns; k++) {
    oat_list_add(&present, layout->names[k]);
  }
  return oat_fail(ctx, OATGP_DATA,
                  "'%s' has no column for %zu of the %zu inputs: %s; it has %s; name its columns like the inputs%s",
                  layout->file, count, wanted->d, oat_list_end(&missing), oat_list_end(&present),
                  wanted->header ? "" : ", or remove the header");
}

static oatgp_status places_not_found(oatgp_context *ctx, const oat_layout *layout, const oat_columns *wanted) {
  REFUSE_IF(wanted->columns > wanted->d, ctx, OATGP_DATA,
            "'%s' has no header and %zu columns; it needs the %zu inputs in order, or all %zu columns of the file that "
            "the inputs came from",
            layout->file, layout->columns, wanted->d, wanted->columns);
  return oat_fail(ctx, OATGP_DATA, "'%s' has no header and %zu columns; it needs exactly the %zu inputs in order",
                  layout->file, layout->columns, wanted->d);
}

static oatgp_status use_inputs(oatgp_context *ctx, const oat_columns *wanted, oat_table *table) {
  const oat_layout *layout = table->layout;
  const bool in_order = layout->columns == wanted->d;
  if (layout->header && all_named(layout, wanted)) {
    return use_by_name(ctx, wanted, table);
  }
  if (layout->header) {
    return in_order && !wanted->header ? use_by_place(ctx, wanted, NULL, table) : names_not_found(ctx, layout, wanted);
  }
  if (same_places(layout, wanted)) {
    return use_by_place(ctx, wanted, wanted->positions, table);
  }
  return in_order ? use_by_place(ctx, wanted, NULL, table) : places_not_found(ctx, layout, wanted);
}

/* Whether columns of the file are matched to those of earlier data by position, and this position is known. */
static bool is_placed(const oat_layout *layout, const oat_columns *wanted, size_t position) {
  return !layout->header && same_places(layout, wanted) && position >= 1 && position <= layout->columns;
}

/* Uses the target as the model does: as numbers, or as classes, all of which it knows. */
static oatgp_status use_target_at(oatgp_context *ctx, const oat_columns *wanted, size_t column, oat_table *table) {
  const bool classes = wanted->target_levels != NULL && wanted->target_levels->count > 0;
  const oat_series as = {.role = OAT_TARGET, .content = OAT_CONTENT_WORDS, .asked = true, .classes = OAT_MOST_CLASSES};
  if (!classes) {
    return use_numbers(ctx, table, column, OAT_TARGET);
  }
  table->target_known = wanted->target_levels;
  PASS_ON(oat_levels_copy(ctx, wanted->target_levels, &table->levels[table->count]));
  return oat_table_use(ctx, table, column, &as);
}

static oatgp_status use_target(oatgp_context *ctx, const oat_columns *wanted, oat_table *table) {
  const oat_layout *layout = table->layout;
  const bool needed = wanted->need_target > 0;
  size_t column = 0;
  if (wanted->need_target < 0) {
    return OATGP_OK;
  }
  if (!is_given(wanted->target)) {
    return needed ? oat_fail(ctx, OATGP_ARGUMENT, "the target is missing; name its column with --target") : OATGP_OK;
  }
  if (layout->columns == wanted->d) {
    return needed ? oat_fail(ctx, OATGP_DATA, "every column of '%s' is an input, so there is no target '%s'",
                             layout->file, oat_show_text(wanted->target).text)
                  : OATGP_OK;
  }
  if (is_placed(layout, wanted, wanted->target_position)) {
    return use_target_at(ctx, wanted, wanted->target_position - 1, table);
  }
  size_t found = oat_layout_look_up(layout, wanted->target, &column);
  found = settle_by_place(layout, wanted, wanted->target_position, found, &column);
  if (found == 0 && !needed) {
    return OATGP_OK;
  }
  return found == 1 ? use_target_at(ctx, wanted, column, table)
                    : oat_layout_not_one(ctx, layout, "target", wanted->target, found);
}

/* An optional column of predictions. */
typedef struct dispensable {
  oat_role role;
  const char *what, *without; /* the value of rows without it */
  const char *name;           /* NULL or "": not wanted */
  size_t position;            /* in the file that the positions are from, or 0 */
} dispensable;

static oatgp_status use_if_there(oatgp_context *ctx, const oat_columns *wanted, const dispensable *extra,
                                 oat_table *table) {
  const char *what = extra->what, *name = extra->name;
  size_t column = 0;
  if (is_given(name) && is_placed(table->layout, wanted, extra->position)) {
    return use_numbers(ctx, table, extra->position - 1, extra->role);
  }
  const bool has_room = table->layout->columns >
                        table->count; /* otherwise, names such as V2 would mean different columns than in training */
  size_t found = is_given(name) && has_room ? oat_layout_find(table->layout, name, &column) : 0;
  found = settle_by_place(table->layout, wanted, extra->position, found, &column);
  if (is_given(name) && found == 0) {
    oat_say(ctx, OATGP_NOTE, "'%s' has no column '%s' (%s); its rows are treated as rows %s", table->layout->file,
            oat_show_text(name).text, what, extra->without);
  }
  return found == 0   ? OATGP_OK
         : found == 1 ? use_numbers(ctx, table, column, extra->role)
                      : oat_layout_not_one(ctx, table->layout, what, name, found);
}

oatgp_status oat_select_like(oatgp_context *ctx, const oat_columns *wanted, oat_table *table) {
  table->names = wanted->names;
  table->like = true;
  table->known = wanted->levels;
  PASS_ON(use_inputs(ctx, wanted, table));
  PASS_ON(use_target(ctx, wanted, table));
  const dispensable extras[] = {
      {OAT_WEIGHT, "weights", "without", wanted->weight_name, wanted->weight_position},
      {OAT_NOISE, "noise variance", "without", wanted->noise_name, wanted->noise_position},
      {OAT_TRIALS, "trials", "of one trial", wanted->trials_name, wanted->trials_position},
      {OAT_EXPOSURE, "exposure", "of exposure 1", wanted->exposure_name, wanted->exposure_position}};
  for (size_t k = 0; k < sizeof extras / sizeof *extras; k++) {
    PASS_ON(use_if_there(ctx, wanted, &extras[k], table));
  }
  return OATGP_OK;
}
