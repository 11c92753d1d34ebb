/* The levels of a category. */
#include "data/levels.h"

#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/shown.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/utf8.h"

enum { FIRST_PLACES = 16 };

void oat_levels_clear(oat_levels *levels) {
  for (size_t i = 0; i < levels->count; i++) {
    free(levels->name[i]);
  }
  free(levels->name);
  free(levels->place);
  *levels = (oat_levels){0};
}

/* ---- from a text to its code ----------------------------------------------------------------------------------- */

static bool is_level(const oat_levels *levels, size_t code, const char *text, size_t length) {
  return strncmp(levels->name[code], text, length) == 0 && levels->name[code][length] == '\0';
}

/* The place of the text, or the free place where it would go. */
static size_t place_of(const oat_levels *levels, const char *text, size_t length) {
  size_t at = (size_t)oat_hash(OAT_HASH_START, text, length) & (levels->places - 1);
  while (levels->place[at] > 0 && !is_level(levels, levels->place[at] - 1, text, length)) {
    at = (at + 1) & (levels->places - 1);
  }
  return at;
}

size_t oat_levels_find(const oat_levels *levels, const char *text, size_t length) {
  if (levels->count == 0) {
    return OAT_NO_LEVEL;
  }
  const uint32_t found = levels->place[place_of(levels, text, length)];
  return found > 0 ? found - 1 : OAT_NO_LEVEL;
}

/* Puts all levels into the table. */
static void fill_places(oat_levels *levels) {
  memset(levels->place, 0, levels->places * sizeof *levels->place);
  for (size_t i = 0; i < levels->count; i++) {
    levels->place[place_of(levels, levels->name[i], strlen(levels->name[i]))] = (uint32_t)(i + 1);
  }
}

/* Makes sure that at least half of the places stay free with one more level. */
static oatgp_status make_places(oatgp_context *ctx, oat_levels *levels) {
  uint32_t *place = NULL;
  const size_t places = levels->places > 0 ? 2 * levels->places : FIRST_PLACES;
  if (2 * (levels->count + 1) <= levels->places) {
    return OATGP_OK;
  }
  PASS_ON(oat_new(ctx, places, sizeof *place, &place));
  free(levels->place);
  levels->place = place;
  levels->places = places;
  fill_places(levels);
  return OATGP_OK;
}

/* Adds a name that is UTF-8, of which it takes ownership. */
static oatgp_status add(oatgp_context *ctx, oat_levels *levels, char *name, size_t *code) {
  PASS_ON(make_places(ctx, levels));
  PASS_ON(oat_grow(ctx, levels->count + 1, sizeof *levels->name, &levels->capacity, &levels->name));
  levels->place[place_of(levels, name, strlen(name))] = (uint32_t)(levels->count + 1);
  levels->name[levels->count] = name;
  *code = levels->count++;
  return OATGP_OK;
}

oatgp_status oat_levels_take(oatgp_context *ctx, oat_levels *levels, const char *text, size_t length, size_t *code) {
  char *name = NULL;
  oatgp_status status = OATGP_OK;
  *code = oat_levels_find(levels, text, length);
  if (*code != OAT_NO_LEVEL) {
    return OATGP_OK;
  }
  TRY(oat_copy_utf8(ctx, text, length, &name));
  *code = oat_levels_find(levels, name, strlen(name)); /* before its conversion it may have differed */
  if (*code == OAT_NO_LEVEL && levels->count < OAT_MOST_LEVELS) {
    TRY(add(ctx, levels, name, code));
    name = NULL;
  }
done:
  free(name);
  return status;
}

/* ---- in order -------------------------------------------------------------------------------------------------- */

typedef struct ranked {
  char *name;
  double value;
  bool number;
  size_t code;
} ranked;

static int compare(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  if (a->number != b->number) {
    return a->number ? -1 : 1;
  }
  if (a->number && a->value != b->value) {
    return a->value < b->value ? -1 : 1;
  }
  return strcmp(a->name, b->name);
}

static oatgp_status rank(oatgp_context *ctx, const oat_levels *levels, ranked *order) {
  oat_plain plain;
  PASS_ON(oat_plain_begin(ctx, &plain));
  for (size_t i = 0; i < levels->count; i++) {
    order[i] = (ranked){.name = levels->name[i], .code = i};
    order[i].number = oat_read_number(order[i].name, strlen(order[i].name), &order[i].value) == OAT_NUMBER;
  }
  oat_plain_end(&plain);
  return OATGP_OK;
}

oatgp_status oat_levels_sort(oatgp_context *ctx, oat_levels *levels, size_t *to) {
  ranked *order = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, levels->count, sizeof *order, &order));
  TRY(rank(ctx, levels, order));
  qsort(order, levels->count, sizeof *order, compare);
  for (size_t i = 0; i < levels->count; i++) {
    levels->name[i] = order[i].name;
    to[order[i].code] = i;
  }
  if (levels->count > 0) {
    fill_places(levels);
  }
done:
  free(order);
  return status;
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

oatgp_status oat_levels_copy(oatgp_context *ctx, const oat_levels *levels, oat_levels *out) {
  oat_levels copy = {0};
  oatgp_status status = OATGP_OK;
  size_t code;
  for (size_t i = 0; i < levels->count; i++) {
    TRY(oat_levels_take(ctx, &copy, levels->name[i], strlen(levels->name[i]), &code));
  }
  *out = copy;
  return OATGP_OK;
done:
  oat_levels_clear(&copy);
  return status;
}

void oat_levels_free_list(oat_levels *list, size_t d) {
  for (size_t j = 0; list != NULL && j < d; j++) {
    oat_levels_clear(&list[j]);
  }
  free(list);
}

oatgp_status oat_levels_copy_list(oatgp_context *ctx, const oat_levels *list, size_t d, oat_levels **out) {
  oat_levels *copy = NULL;
  oatgp_status status = OATGP_OK;
  *out = NULL;
  if (list == NULL) {
    return OATGP_OK;
  }
  TRY(oat_new(ctx, d, sizeof *copy, &copy));
  for (size_t j = 0; j < d; j++) {
    TRY(oat_levels_copy(ctx, &list[j], &copy[j]));
  }
  *out = copy;
  copy = NULL;
done:
  oat_levels_free_list(copy, d);
  return status;
}

/* ---- what a model has not seen --------------------------------------------------------------------------------- */

void oat_levels_tell(oatgp_context *ctx, const oat_unseen *unseen) {
  const size_t levels = unseen->levels->count - unseen->known;
  const oat_shown input = oat_show_text(unseen->input), first = oat_show_text(unseen->levels->name[unseen->known]);
  if (levels == 1) {
    oat_say(ctx, OATGP_WARNING,
            "input '%s' has the level '%s' in %zu row%s; the model has not seen this level and treats it as new",
            input.text, first.text, unseen->rows, unseen->rows == 1 ? "" : "s");
  } else {
    oat_say(ctx, OATGP_WARNING,
            "input '%s' has %zu levels in %zu rows, such as '%s', that the model has not seen and treats as new",
            input.text, levels, unseen->rows, first.text);
  }
}
