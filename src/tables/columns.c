/* The columns of a file and how a column is found. The search is by bisection, because files may have many columns. */
#include "tables/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/shown.h"
#include "util/memory.h"
#include "util/utf8.h"

enum { LONGEST_TYPED = 1024 }; /* bytes of a typed name that is not UTF-8 */

static int compare_named(const void *left, const void *right) {
  const oat_named *a = left, *b = right;
  const int order = strcmp(a->name, b->name);
  return order != 0 ? order : (a->column > b->column) - (a->column < b->column);
}

void oat_named_sort(oat_named *named, size_t count) { qsort(named, count, sizeof *named, compare_named); }

size_t oat_named_find(const oat_named *named, size_t count, const char *name, size_t *column) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(named[middle].name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  size_t found = 0;
  while (low + found < count && strcmp(named[low + found].name, name) == 0) {
    found++;
  }
  if (found > 0) {
    *column = named[low].column;
  }
  return found;
}

static oatgp_status set_name(oatgp_context *ctx, oat_layout *layout, size_t column, const oat_piece *cell) {
  char numbered[32];
  const int length = snprintf(numbered, sizeof numbered, "V%zu", column + 1);
  const oat_piece own = {numbered, (size_t)length};
  layout->unnamed[column] = cell != NULL && cell->length == 0;
  const oat_piece *name = cell != NULL && cell->length > 0 ? cell : &own;
  return oat_copy_utf8(ctx, name->text, name->length, &layout->names[column]);
}

/* A message about the names of the header that are not UTF-8, and how they were read. */
static void tell_encoding(oatgp_context *ctx, const oat_layout *layout, const oat_piece *header) {
  oat_list list = {{0}, 0, 0, 0};
  size_t count = 0;
  for (size_t k = 0; header != NULL && k < layout->columns; k++) {
    if (!oat_is_utf8(header[k].text, header[k].length)) {
      oat_list_add_column(&list, layout->names[k], k + 1);
      count++;
    }
  }
  if (count > 0) {
    oat_say(ctx, OATGP_NOTE, "'%s': %zu column name%s not UTF-8 and read as Windows-1252: %s", layout->file, count,
            count == 1 ? " is" : "s are", oat_list_end(&list));
  }
}

oatgp_status oat_layout_set(oatgp_context *ctx, oat_layout *layout, size_t columns, const oat_piece *header) {
  REFUSE_IF(columns > OAT_MOST_COLUMNS, ctx, OATGP_DATA, "'%s' has %zu columns; the most that can be read is %zu",
            layout->file, columns, OAT_MOST_COLUMNS);
  PASS_ON(oat_new(ctx, columns, sizeof *layout->names, &layout->names));
  layout->columns = columns;
  layout->header = header != NULL;
  PASS_ON(oat_new(ctx, columns, sizeof *layout->sorted, &layout->sorted));
  PASS_ON(oat_new(ctx, columns, sizeof *layout->unnamed, &layout->unnamed));
  for (size_t k = 0; k < columns; k++) {
    PASS_ON(set_name(ctx, layout, k, header != NULL ? &header[k] : NULL));
    layout->sorted[k] = (oat_named){layout->names[k], k};
  }
  oat_named_sort(layout->sorted, columns);
  tell_encoding(ctx, layout, header);
  return OATGP_OK;
}

void oat_layout_free(oat_layout *layout) {
  for (size_t k = 0; k < layout->columns; k++) {
    free(layout->names[k]);
  }
  free(layout->names);
  free(layout->sorted);
  free(layout->unnamed);
  *layout = (oat_layout){0};
}

size_t oat_layout_find(const oat_layout *layout, const char *name, size_t *column) {
  return oat_named_find(layout->sorted, layout->columns, name, column);
}

/* The number from 1 that the text is, 0 if it is none or larger than any column. Short numbers do not need the
 * locale. */
static size_t column_number(const char *typed) {
  double number = 0;
  const bool whole = oat_read_number(typed, strlen(typed), &number) == OAT_NUMBER && number >= 1 &&
                     number <= (double)OAT_MOST_COLUMNS && (double)(size_t)number == number;
  return whole ? (size_t)number : 0;
}

size_t oat_layout_look_up(const oat_layout *layout, const char *typed, size_t *column) {
  char name[LONGEST_TYPED];
  const bool plain = oat_is_utf8(typed, strlen(typed)) || oatgp_to_utf8(typed, name, sizeof name) >= sizeof name;
  const size_t found = oat_layout_find(layout, plain ? typed : name, column);
  if (found > 0) {
    return found;
  }
  const size_t number = strcmp(typed, "last") == 0 ? layout->columns : column_number(typed);
  if (number == 0 || number > layout->columns) {
    return 0;
  }
  *column = number - 1;
  return 1;
}

oatgp_status oat_layout_not_one(oatgp_context *ctx, const oat_layout *layout, const char *what, const char *typed,
                                size_t found) {
  const oat_shown shown = oat_show_text(typed);
  REFUSE_IF(found > 1, ctx, OATGP_DATA,
            "'%s': %zu columns have the name '%s' (%s); rename them, or give the column's number", layout->file, found,
            shown.text, what);
  oat_list list = {{0}, 0, 0, 0};
  for (size_t k = 0; k < layout->columns; k++) {
    oat_list_add(&list, layout->names[k]);
  }
  return oat_fail(ctx, OATGP_DATA, "'%s' has no column '%s' (%s); it has %s%s", layout->file, shown.text, what,
                  oat_list_end(&list), layout->header ? "" : " and no header");
}

oatgp_status oat_layout_require(oatgp_context *ctx, const oat_layout *layout, const char *what, const char *typed,
                                size_t *column) {
  const size_t found = oat_layout_look_up(layout, typed, column);
  return found == 1 ? OATGP_OK : oat_layout_not_one(ctx, layout, what, typed, found);
}
