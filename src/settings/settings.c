/* The settings: the table as data, defaults, one field from text, and the check of all fields. All rows come from
 * oatgp_settings.def. Only `preset`, which sets others, is named here. */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/settings.h"
#include "text/number.h"
#include "util/machine.h"
#include "util/memory.h"
#include "util/utf8.h"

#define OATGP_POSITIVE DBL_MIN
#define MOST_BYTES 0x1p62
#define AUTOMATIC "auto" /* the default and the text of a number that the fit chooses; in the struct NaN or -1 */
#define LONGEST_NAME 32  /* longer names are cut when they are compared for a suggestion */

/* A row of the table and where its value lives in the struct. */
typedef struct row {
  oatgp_setting setting;
  size_t offset;
} row;

/* Every row, except flags and options that only the command has. */
#define ROW(name, kind, value, lowest, highest, choices, verbs, argument, help) \
  {{#name, kind, 0, value, lowest, highest, choices, verbs, argument, help}, offsetof(oatgp_settings, name)},
#define COMMAND_ROW(name, kind, value, verbs, argument, help) \
  {{#name, kind, 1, value, 0, 0, NULL, verbs, argument, help}, 0},

/* "auto|se|se-ard|.." */
static const char kernel_names[] = "auto"
#define OATGP_KERNEL(name) "|" #name
#define OATGP_KERNEL_ARD(name) "|" #name "-ard"
#include "oatgp_kernels.def"
    ;
#define OATGP_KERNEL_NAMES kernel_names

static const row rows[] = {
#define OATGP_REAL(name, value, lowest, highest, verbs, argument, help) \
  ROW(name, OATGP_TYPE_REAL, #value, lowest, highest, NULL, verbs, argument, help)
#define OATGP_AUTO_REAL(name, lowest, highest, verbs, argument, help) \
  ROW(name, OATGP_TYPE_REAL, AUTOMATIC, lowest, highest, NULL, verbs, argument, help)
#define OATGP_INT(name, value, lowest, highest, verbs, argument, help) \
  ROW(name, OATGP_TYPE_INT, #value, lowest, highest, NULL, verbs, argument, help)
#define OATGP_AUTO_INT(name, highest, verbs, argument, help) \
  ROW(name, OATGP_TYPE_INT, AUTOMATIC, 0, highest, NULL, verbs, argument, help)
#define OATGP_BYTES(name, value, verbs, argument, help) \
  ROW(name, OATGP_TYPE_BYTES, #value, 0, MOST_BYTES, NULL, verbs, argument, help)
#define OATGP_FLAG(name, value, verbs, help) \
  ROW(name, OATGP_TYPE_FLAG, (value) ? "yes" : "no", 0, 1, NULL, verbs, NULL, help)
#define OATGP_CHOICE(name, value, choices, verbs, help) \
  ROW(name, OATGP_TYPE_CHOICE, value, 0, 0, choices, verbs, "WORD", help)
#define OATGP_TEXT(name, value, verbs, argument, help) \
  ROW(name, OATGP_TYPE_TEXT, value, 0, 0, NULL, verbs, argument, help)
#define OATGP_EXPRESSION(name, value, choices, verbs, argument, help) \
  ROW(name, OATGP_TYPE_TEXT, value, 0, 0, choices, verbs, argument, help)
#define OATGP_COMMAND_FLAG(name, verbs, help) COMMAND_ROW(name, OATGP_TYPE_FLAG, "no", verbs, NULL, help)
#define OATGP_COMMAND_TEXT(name, value, verbs, argument, help) \
  COMMAND_ROW(name, OATGP_TYPE_TEXT, value, verbs, argument, help)
#include "oatgp_settings.def"
};

static const size_t row_count = sizeof rows / sizeof rows[0];

/* ---- the table ------------------------------------------------------------------------------------------------- */

size_t oatgp_setting_count(void) { return row_count; }

const oatgp_setting *oatgp_setting_at(size_t index) { return index < row_count ? &rows[index].setting : NULL; }

void oatgp_settings_default(oatgp_settings *settings) {
  if (settings == NULL) {
    return;
  }
  *settings = (oatgp_settings){
#define OATGP_REAL(name, value, lowest, highest, verbs, argument, help) .name = value,
#define OATGP_INT(name, value, lowest, highest, verbs, argument, help) .name = value,
#define OATGP_BYTES(name, value, verbs, argument, help) .name = value,
#define OATGP_FLAG(name, value, verbs, help) .name = value,
#define OATGP_CHOICE(name, value, choices, verbs, help) .name = value,
#define OATGP_TEXT(name, value, verbs, argument, help) .name = value,
#include "oatgp_settings.def"
  };
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static char plain(char letter) { return letter == '-' ? '_' : letter; }

static bool same_name(const char *a, const char *b) {
  while (*a != '\0' && plain(*a) == plain(*b)) {
    a++;
    b++;
  }
  return plain(*a) == plain(*b);
}

/* Letters to insert, delete or replace to make b of a; O(length^2) time. */
static size_t edit_distance(const char *a, const char *b) {
  size_t cost[LONGEST_NAME + 1];
  const size_t length = strnlen(b, LONGEST_NAME);
  for (size_t j = 0; j <= length; j++) {
    cost[j] = j;
  }
  for (size_t i = 0; i < LONGEST_NAME && a[i] != '\0'; i++) {
    size_t diagonal = cost[0];
    cost[0] = i + 1;
    for (size_t j = 0; j < length; j++) {
      const size_t replaced = diagonal + (plain(a[i]) != plain(b[j]));
      const size_t shifted = 1 + (cost[j] < cost[j + 1] ? cost[j] : cost[j + 1]);
      diagonal = cost[j + 1];
      cost[j + 1] = replaced < shifted ? replaced : shifted;
    }
  }
  return cost[length];
}

int oatgp_setting_has_verb(const oatgp_setting *setting, const char *verb) {
  const size_t length = strlen(verb);
  for (const char *word = setting->verbs; word != NULL; word = strchr(word, ',')) {
    word += *word == ',';
    if (strncmp(word, verb, length) == 0 && (word[length] == ',' || word[length] == '\0')) {
      return 1;
    }
  }
  return 0;
}

const oatgp_setting *oatgp_setting_nearest(const char *name, const char *verb) {
  const oatgp_setting *nearest = NULL;
  size_t least = SIZE_MAX;
  for (const row *r = rows; r < rows + row_count; r++) {
    const bool among = verb == NULL ? !r->setting.in_command_only : oatgp_setting_has_verb(&r->setting, verb) != 0;
    const size_t distance = among ? edit_distance(name, r->setting.name) : SIZE_MAX;
    if (distance < least) {
      least = distance;
      nearest = &r->setting;
    }
  }
  return nearest;
}

static oatgp_status find_row(oatgp_context *ctx, const char *name, const row **out) {
  bool in_command = false;
  for (const row *r = rows; r < rows + row_count; r++) {
    if (same_name(name, r->setting.name)) {
      if (!r->setting.in_command_only) {
        *out = r;
        return OATGP_OK;
      }
      in_command = true;
    }
  }
  REFUSE_IF(in_command, ctx, OATGP_ARGUMENT, "'%s' is an option of the command, not a setting", name);
  return oat_fail(ctx, OATGP_ARGUMENT, "there is no setting '%s'; the nearest name is '%s'", name,
                  oatgp_setting_nearest(name, NULL)->name);
}

/* ---- values from text ------------------------------------------------------------------------------------------ */

/* The factor of a suffix: none, K, M, G or T, each also as KB or KiB in any case; 0 for any other suffix. */
static double byte_unit(const char *suffix) {
  static const char letters[] = "KMGT";
  double unit = 1;
  if (*suffix != '\0') {
    const char *letter = strchr(letters, toupper((unsigned char)*suffix));
    if (letter != NULL) {
      unit = ldexp(1, 10 * (int)(letter - letters + 1));
      suffix++;
      suffix += (*suffix == 'i' || *suffix == 'I') && suffix[1] != '\0';
    }
    suffix += *suffix == 'b' || *suffix == 'B';
  }
  return *suffix == '\0' ? unit : 0;
}

/* A number that is too large becomes infinite and is refused by its range. */
static bool parse_part(const char *text, size_t length, double *out) {
  *out = HUGE_VAL;
  const oat_kind kind = oat_read_number(text, length, out);
  return kind == OAT_NUMBER || kind == OAT_INFINITE;
}

static bool parse_real(const char *text, double *out) { return parse_part(text, strlen(text), out); }

/* Any notation of a number is allowed: 1e3 and 1000.0 are 1000. */
static bool parse_integer(const char *text, double *out) {
  return parse_real(text, out) && (isinf(*out) || floor(*out) == *out);
}

static bool parse_bytes(const char *text, double *out) {
  const size_t length = strspn(text, "0123456789.+-eE");
  const double unit = byte_unit(text + length);
  if (unit == 0 || !parse_part(text, length, out)) {
    return false;
  }
  *out *= unit;
  return unit > 1 || floor(*out) == *out;
}

static bool parse_flag(const char *text, double *out) {
  static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *out = (double)(i % 2);
      return true;
    }
  }
  return false;
}

static bool parse_choice(const char *text, const char *choices) {
  const size_t length = strlen(text);
  for (const char *choice = choices; choice != NULL; choice = strchr(choice, '|')) {
    choice += *choice == '|';
    if (length > 0 && strcspn(choice, "|") == length && strncmp(choice, text, length) == 0) {
      return true;
    }
  }
  return false;
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static bool may_be_automatic(const oatgp_setting *s) {
  return (s->type == OATGP_TYPE_REAL || s->type == OATGP_TYPE_INT) && strcmp(s->value, AUTOMATIC) == 0;
}

/* A name and a value as the caller wrote them, and the row that they are for. */
typedef struct given {
  const row *row;
  const char *name, *value;
} given;

static oatgp_status refuse_kind(oatgp_context *ctx, const given *g) {
  static const char *const kinds[] = {
      [OATGP_TYPE_REAL] = "a number such as 0.5 or 1e-3",
      [OATGP_TYPE_INT] = "a whole number",
      [OATGP_TYPE_BYTES] = "a size such as 1000, 512M or 4G",
      [OATGP_TYPE_FLAG] = "yes or no",
  };
  const char *or_automatic = may_be_automatic(&g->row->setting) ? ", or '" AUTOMATIC "'" : "";
  return oat_fail(ctx, OATGP_ARGUMENT, "%s is '%s' but must be %s%s", g->name, g->value, kinds[g->row->setting.type],
                  or_automatic);
}

static oatgp_status refuse_range(oatgp_context *ctx, const given *g) {
  const oatgp_setting *s = &g->row->setting;
  REFUSE_IF(s->lowest == OATGP_POSITIVE, ctx, OATGP_ARGUMENT, "%s is %s but must be above 0 and at most %.16g", g->name,
            g->value, s->highest);
  return oat_fail(ctx, OATGP_ARGUMENT, "%s is %s but must be from %.16g to %.16g", g->name, g->value, s->lowest,
                  s->highest);
}

/* A setting without choices takes any text. With choices, a text of more than one word is an expression, which is read
 * once the inputs are known. */
static oatgp_status check_choice(oatgp_context *ctx, const given *g) {
  const char *const choices = g->row->setting.choices;
  const bool expression = g->row->setting.type == OATGP_TYPE_TEXT;
  if (choices == NULL || parse_choice(g->value, choices) || (expression && strpbrk(g->value, "(+*^") != NULL)) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_ARGUMENT, "%s is '%s' but must be one of %s%s", g->name, g->value, choices,
                  expression ? ", or an expression such as 'se(x1) + linear(x2)'" : "");
}

static bool in_range(const oatgp_setting *s, double value) {
  return (value >= s->lowest && value <= s->highest) || (isnan(value) && may_be_automatic(s));
}

/* ---- one field ------------------------------------------------------------------------------------------------- */

static bool is_text(const row *r) { return r->setting.type == OATGP_TYPE_TEXT || r->setting.type == OATGP_TYPE_CHOICE; }

static void *field_of(oatgp_settings *settings, const row *r) { return (char *)settings + r->offset; }

static void store_number(oatgp_settings *settings, const row *r, double value) {
  void *field = field_of(settings, r);
  if (r->setting.type == OATGP_TYPE_REAL) {
    memcpy(field, &value, sizeof value);
  } else if (r->setting.type == OATGP_TYPE_FLAG) {
    const int flag = value != 0;
    memcpy(field, &flag, sizeof flag);
  } else {
    const int64_t whole = isnan(value) ? -1 : (int64_t)value;
    memcpy(field, &whole, sizeof whole);
  }
}

static oatgp_status set_plain_number(oatgp_context *ctx, oatgp_settings *settings, const given *g) {
  static bool (*const parsers[])(const char *, double *) = {[OATGP_TYPE_REAL] = parse_real,
                                                            [OATGP_TYPE_INT] = parse_integer,
                                                            [OATGP_TYPE_BYTES] = parse_bytes,
                                                            [OATGP_TYPE_FLAG] = parse_flag};
  double value = NAN;
  const bool automatic = may_be_automatic(&g->row->setting) && strcmp(g->value, AUTOMATIC) == 0;
  if (!automatic && !parsers[g->row->setting.type](g->value, &value)) {
    return refuse_kind(ctx, g);
  }
  if (!in_range(&g->row->setting, value)) {
    return refuse_range(ctx, g);
  }
  store_number(settings, g->row, value);
  return OATGP_OK;
}

int oatgp_is_number(const char *text, double *out) {
  oatgp_context own = {{0}};
  oat_plain plain_locale;
  double value = 0;
  if (text == NULL || oat_plain_begin(&own, &plain_locale) != OATGP_OK) {
    return 0;
  }
  const oat_kind kind = oat_read_number(text, strlen(text), &value);
  oat_plain_end(&plain_locale);
  if (kind == OAT_NUMBER && out != NULL) {
    *out = value;
  }
  return kind == OAT_NUMBER;
}

static oatgp_status set_number(oatgp_context *ctx, oatgp_settings *settings, const given *g) {
  oat_plain plain_locale;
  PASS_ON(oat_plain_begin(ctx, &plain_locale));
  const oatgp_status status = set_plain_number(ctx, settings, g);
  oat_plain_end(&plain_locale);
  return status;
}

typedef struct preset_row {
  const char *preset, *name, *value;
} preset_row;

static const preset_row presets[] = {
#define OATGP_PRESET(preset, name, value) {#preset, #name, value},
#include "oatgp_settings.def"
};

/* The one setting that sets others. */
static oatgp_status apply_preset(oatgp_context *ctx, oatgp_settings *settings, const char *preset) {
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    if (strcmp(presets[i].preset, preset) == 0) {
      PASS_ON(oatgp_settings_set(ctx, settings, presets[i].name, presets[i].value));
    }
  }
  return OATGP_OK;
}

oatgp_status oatgp_settings_set(oatgp_context *ctx, oatgp_settings *settings, const char *name, const char *value) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(settings == NULL || name == NULL || value == NULL, ctx, OATGP_ARGUMENT,
            "settings, the name and the value of a setting must not be NULL");
  given g = {NULL, name, value};
  PASS_ON(find_row(ctx, name, &g.row));
  if (!is_text(g.row)) {
    return set_number(ctx, settings, &g);
  }
  PASS_ON(check_choice(ctx, &g));
  memcpy(field_of(settings, g.row), &value, sizeof value);
  return strcmp(g.row->setting.name, "preset") == 0 ? apply_preset(ctx, settings, value) : OATGP_OK;
}

/* ---- all fields ------------------------------------------------------------------------------------------------ */

static double load_number(const oatgp_settings *settings, const row *r) {
  const char *field = (const char *)settings + r->offset;
  double value = 0;
  int64_t whole = 0;
  int flag = 0;
  if (r->setting.type == OATGP_TYPE_REAL) {
    memcpy(&value, field, sizeof value);
    return value;
  }
  if (r->setting.type == OATGP_TYPE_FLAG) {
    memcpy(&flag, field, sizeof flag);
    return flag;
  }
  memcpy(&whole, field, sizeof whole);
  return whole == -1 && may_be_automatic(&r->setting) ? NAN : (double)whole;
}

double oat_setting_real(const oatgp_settings *settings, const char *name) {
  for (const row *r = rows; r < rows + row_count; r++) {
    if (r->setting.type == OATGP_TYPE_REAL && !r->setting.in_command_only && strcmp(r->setting.name, name) == 0) {
      return load_number(settings, r);
    }
  }
  return 0;
}

static oatgp_status check_text(oatgp_context *ctx, const oatgp_settings *settings, const row *r) {
  given g = {r, r->setting.name, NULL};
  memcpy(&g.value, (const char *)settings + r->offset, sizeof g.value);
  REFUSE_IF(g.value == NULL, ctx, OATGP_ARGUMENT, "%s is NULL but must be a string (an empty string means none)",
            g.name);
  return check_choice(ctx, &g);
}

static oatgp_status check_number(oatgp_context *ctx, const oatgp_settings *settings, const row *r) {
  const double value = load_number(settings, r);
  char shown[32];
  snprintf(shown, sizeof shown, "%.16g", value);
  const given g = {r, r->setting.name, shown};
  return in_range(&r->setting, value) ? OATGP_OK : refuse_range(ctx, &g);
}

oatgp_status oatgp_settings_check(oatgp_context *ctx, const oatgp_settings *settings) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(settings == NULL, ctx, OATGP_ARGUMENT, "the settings are NULL");
  for (const row *r = rows; r < rows + row_count; r++) {
    if (!r->setting.in_command_only) {
      PASS_ON(is_text(r) ? check_text(ctx, settings, r) : check_number(ctx, settings, r));
    }
  }
  return OATGP_OK;
}

/* ---- all fields as text ---------------------------------------------------------------------------------------- */

/* With the digits that it takes to read the same value again, in the locale of the process. */
static void show_real(double value, char *buffer, size_t size) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buffer, size, "%.*g", digits, value);
    if (strtod(buffer, NULL) == value) {
      break;
    }
  }
}

/* The value as text, in `buffer` unless it is a text already (which may be long: a list of many columns). */
static const char *show_value(const oatgp_settings *settings, const row *r, char *buffer, size_t size) {
  if (is_text(r)) {
    const char *text;
    memcpy(&text, (const char *)settings + r->offset, sizeof text);
    return text;
  }
  const double value = load_number(settings, r);
  if (r->setting.type == OATGP_TYPE_FLAG) {
    return value != 0 ? "yes" : "no";
  }
  if (r->setting.type == OATGP_TYPE_REAL) {
    show_real(value, buffer, size);
  } else {
    snprintf(buffer, size, "%.0f", value);
  }
  return isnan(value) ? AUTOMATIC : buffer;
}

bool oat_setting_differs(const oatgp_settings *settings, const oatgp_settings *base, const char *name,
                         const char *verb) {
  char own[64], other[64];
  for (const row *r = rows; r < rows + row_count; r++) {
    if (!r->setting.in_command_only && strcmp(r->setting.name, name) == 0) {
      return oatgp_setting_has_verb(&r->setting, verb) &&
             strcmp(show_value(settings, r, own, sizeof own), show_value(base, r, other, sizeof other)) != 0;
    }
  }
  return false;
}

oatgp_status oat_settings_text(oatgp_context *ctx, const oatgp_settings *settings, char **out) {
  char *lines = NULL, buffer[64];
  size_t capacity = 0, used = 0;
  oat_plain plain_locale = {0};
  oatgp_status status = OATGP_OK;
  TRY(oat_plain_begin(ctx, &plain_locale));
  for (const row *r = rows; r < rows + row_count; r++) {
    if (r->setting.in_command_only) {
      continue;
    }
    const char *shown = show_value(settings, r, buffer, sizeof buffer);
    const size_t length = strlen(r->setting.name) + strlen(shown) + 4;
    TRY(oat_grow(ctx, used + length + 1, 1, &capacity, &lines));
    used += (size_t)snprintf(lines + used, length + 1, "%s = %s\n", r->setting.name, shown);
  }
  TRY(oat_copy_text_utf8(ctx, lines, out));
done:
  oat_plain_end(&plain_locale);
  free(lines);
  return status;
}

int64_t oat_memory_for(const oatgp_settings *settings, bool sparse) {
  const int64_t most = oat_machine_memory() / 2;
  return settings->memory > 0 ? settings->memory : sparse && most > OAT_CACHE ? OAT_CACHE : most;
}
