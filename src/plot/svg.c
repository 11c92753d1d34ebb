/* The writer: a growing string, and functions that add the elements, numbers and texts of SVG to it. Nothing here
 * depends on the locale. */
#include "plot/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/memory.h"
#include "util/utf8.h"

/* ---- the string ------------------------------------------------------------------------------------------------ */

void oat_string_free(oat_string *string) {
  free(string->text);
  *string = (oat_string){.ctx = string->ctx};
}

/* Room for so many more bytes and the 0 behind them. */
static bool has_room(oat_string *string, size_t count) {
  if (string->status == OATGP_OK) {
    string->status = oat_grow(string->ctx, string->length + count + 1, 1, &string->capacity, &string->text);
  }
  return string->status == OATGP_OK;
}

static void add_bytes(oat_string *string, const char *bytes, size_t count) {
  if (has_room(string, count)) {
    memcpy(string->text + string->length, bytes, count);
    string->length += count;
    string->text[string->length] = '\0';
  }
}

oatgp_status oat_string_write(const oat_string *string, const char *path) {
  oat_file file = {0};
  PASS_ON(string->status);
  PASS_ON(oat_file_open(string->ctx, path, &file));
  fwrite(string->text, 1, string->length, file.stream); /* closing reports a failure */
  return oat_file_close(string->ctx, &file, OATGP_OK);
}

void oat_string_add(oat_string *string, const char *text) { add_bytes(string, text, strlen(text)); }

void oat_string_print(oat_string *string, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length > 0 && has_room(string, (size_t)length)) {
    vsnprintf(string->text + string->length, (size_t)length + 1, format, again);
    string->length += (size_t)length;
  }
  va_end(again);
}

/* printf's decimal point is that of the locale, the one thing in its output that is neither a digit nor a letter or
 * sign. */
static void make_plain(char *printed) {
  static const char plain[] = "0123456789+-e";
  char *const point = printed + strspn(printed, plain), *const behind = point + strcspn(point, plain);
  if (behind > point) {
    *point = '.';
    memmove(point + 1, behind, strlen(behind) + 1);
  }
}

oat_digits oat_value(double value, int digits) {
  oat_digits out = {"NaN"};
  if (isfinite(value)) {
    snprintf(out.text, sizeof out.text, "%.*g", digits, value);
    make_plain(out.text);
  }
  return out;
}

oat_digits oat_number(double value, int digits) {
  oat_digits out = {"\xe2\x80\x93"};
  if (!isfinite(value)) {
    return out;
  }
  const double size = fabs(value);
  const int before =
      size > 0 ? (int)floor(log10(size)) + 1 : 1; /* digits before the point, or minus the zeros behind it */
  char *const start = out.text + snprintf(out.text, sizeof out.text, "%s", value < 0 ? "\xe2\x88\x92" : "");
  const size_t room = sizeof out.text - (size_t)(start - out.text);
  if (before < -3 || before > 9) {
    snprintf(start, room, "%.*e", digits - 1, size);
  } else {
    snprintf(start, room, "%.*f", digits > before ? digits - before : 0, size);
  }
  make_plain(start);
  return out;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static bool is_allowed(uint32_t c) {
  return c >= 0x20 ? c != 0x7f && c != 0xfffd && c != 0xfffe && c != 0xffff : c == '\t' || c == '\n';
}

static const char *escape_of(uint32_t c) {
  static const char *const escapes[] = {
      ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
  const bool escaped = c < sizeof escapes / sizeof *escapes && escapes[c] != NULL;
  return escaped ? escapes[c] : is_allowed(c) ? NULL : "\xef\xbf\xbd";
}

static void add_escaped(oat_string *svg, const char *text, const char *end) {
  const unsigned char *cursor = (const unsigned char *)text;
  while ((const char *)cursor < end) {
    const char *const start = (const char *)cursor;
    const char *const escape = escape_of(oat_next_character(&cursor));
    if (escape != NULL) {
      oat_string_add(svg, escape);
    } else {
      add_bytes(svg, start, (size_t)((const char *)cursor - start));
    }
  }
}

void oat_svg_text(oat_string *svg, const char *text) { add_escaped(svg, text, text + strlen(text)); }

/* ---- widths ---------------------------------------------------------------------------------------------------- */

static const struct {
  const char *class;
  double size;
  bool bold;
} fonts[] = {[OAT_LABEL_FONT] = {NULL, OAT_LABEL_SIZE, false},
             [OAT_TICK_FONT] = {"tick", OAT_TICK_SIZE, false},
             [OAT_TITLE_FONT] = {"title", OAT_LABEL_SIZE, true}};

/* Characters from the one after the last of the row before up to this last. */
typedef struct advance {
  uint32_t last;
  unsigned short width[2]; /* plain, bold; in thousandths of the size */
} advance;

#define OAT_ADVANCE(first, last, plain, bold) {last, {plain, bold}},
static const advance advances[] = {
#include "plot/advances.def"
};
#undef OAT_ADVANCE

/* A control character is drawn as a blank or as U+FFFD; both are in the table. */
static double character_width(uint32_t c, oat_font font) {
  const uint32_t drawn = c >= 0x20 ? c : is_allowed(c) ? ' ' : 0xfffd;
  size_t low = 0, high = sizeof advances / sizeof *advances - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (drawn > advances[middle].last) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return advances[low].width[fonts[font].bold] * fonts[font].size / 1000;
}

/* Of the bytes from text to end; NULL: to its own end. */
static double width_between(const char *text, const char *end, oat_font font) {
  const unsigned char *cursor = (const unsigned char *)text;
  double width = 0;
  while (end != NULL ? (const char *)cursor < end : *cursor != '\0') {
    width += character_width(oat_next_character(&cursor), font);
  }
  return width;
}

double oat_svg_width(const char *text, oat_font font) { return width_between(text, NULL, font); }

#define ELLIPSIS "\xe2\x80\xa6"

/* The end of the longest beginning that is no wider than the room. Accents have no width, so they stay with their
 * letter. */
static const char *fitting_end(const char *text, double room, oat_font font) {
  const unsigned char *cursor = (const unsigned char *)text;
  const char *end = text;
  double width = 0;
  while (*cursor != '\0') {
    const double next = character_width(oat_next_character(&cursor), font);
    if (width + next > room) {
      break;
    }
    width += next;
    end = (const char *)cursor;
  }
  return end;
}

/* The start of the longest end that is no wider than the room and does not begin with the accent of a letter that is
 * left out. */
static const char *fitting_start(const char *text, double room, oat_font font) {
  const unsigned char *cursor = (const unsigned char *)text;
  double rest = oat_svg_width(text, font);
  for (;;) {
    const char *const start = (const char *)cursor;
    const double width = *cursor != '\0' ? character_width(oat_next_character(&cursor), font) : 0;
    if (*start == '\0' || (rest <= room && width > 0)) {
      return start;
    }
    rest -= width;
  }
}

/* The parts of a text that remain: from its beginning to `end`, and from `start` on; end NULL: all of it. */
typedef struct cut {
  const char *end, *start;
} cut;

/* Names often differ at their end, so an ellipsis takes the place of the middle. A room that was computed from the
 * width of this text must not shorten it by a rounding error. */
static cut cut_to(const char *text, double room, oat_font font) {
  if (room <= 0 || oat_svg_width(text, font) <= room + 1e-6) {
    return (cut){NULL, text};
  }
  const double rest = room - oat_svg_width(ELLIPSIS, font);
  cut c = {.end = fitting_end(text, 0.6 * rest, font)};
  while (c.end > text && c.end[-1] == ' ') {
    c.end--;
  }
  c.start = fitting_start(c.end, rest - width_between(text, c.end, font), font);
  c.start += strspn(c.start, " ");
  return c;
}

void oat_string_shortened(oat_string *string, const char *text, double room, oat_font font) {
  const cut c = cut_to(text, room, font);
  if (c.end != NULL) {
    add_bytes(string, text, (size_t)(c.end - text));
    oat_string_add(string, ELLIPSIS);
  }
  oat_string_add(string, c.start);
}

/* ---- numbers and elements -------------------------------------------------------------------------------------- */

void oat_svg_number(oat_string *svg, double value) {
  const long long hundredths = llround(fmin(fmax(value, -1e9), 1e9) * 100), size = llabs(hundredths);
  const char *const sign = hundredths < 0 ? "-" : "";
  if (size % 100 == 0) {
    oat_string_print(svg, "%s%lld", sign, size / 100);
  } else if (size % 10 == 0) {
    oat_string_print(svg, "%s%lld.%lld", sign, size / 100, size % 100 / 10);
  } else {
    oat_string_print(svg, "%s%lld.%02lld", sign, size / 100, size % 100);
  }
}

void oat_svg_pair(oat_string *svg, double x, double y) {
  oat_svg_number(svg, x);
  oat_string_add(svg, " ");
  oat_svg_number(svg, y);
}

void oat_svg_begin(oat_string *svg, const char *name) { oat_string_print(svg, "<%s", name); }

void oat_svg_word(oat_string *svg, const char *attribute, const char *value) {
  oat_string_print(svg, " %s=\"", attribute);
  oat_svg_text(svg, value);
  oat_string_add(svg, "\"");
}

void oat_svg_value(oat_string *svg, const char *attribute, double value) {
  oat_string_print(svg, " %s=\"", attribute);
  oat_svg_number(svg, value);
  oat_string_add(svg, "\"");
}

void oat_svg_end(oat_string *svg) { oat_string_add(svg, "/>\n"); }

void oat_svg_leaf(oat_string *svg, const char *name, const char *tooltip) {
  if (tooltip == NULL) {
    oat_svg_end(svg);
    return;
  }
  oat_string_add(svg, "><title>");
  oat_svg_text(svg, tooltip);
  oat_string_print(svg, "</title></%s>\n", name);
}

void oat_svg_label(oat_string *svg, const oat_label *label) {
  static const char *const anchors[] = {NULL, "middle", "end"};
  oat_svg_begin(svg, "text");
  if (fonts[label->font].class != NULL) {
    oat_svg_word(svg, "class", fonts[label->font].class);
  }
  oat_svg_value(svg, "x", label->x);
  oat_svg_value(svg, "y", label->y);
  if (anchors[label->anchor] != NULL) {
    oat_svg_word(svg, "text-anchor", anchors[label->anchor]);
  }
  if (label->turn != 0) {
    oat_string_add(svg, " transform=\"rotate(");
    oat_svg_number(svg, label->turn);
    oat_string_add(svg, " ");
    oat_svg_pair(svg, label->x, label->y);
    oat_string_add(svg, ")\"");
  }
  oat_string_add(svg, ">");
  const cut c = cut_to(label->text, label->room, label->font);
  if (c.end != NULL) {
    add_escaped(svg, label->text, c.end);
    oat_string_add(svg, ELLIPSIS);
  }
  oat_svg_text(svg, c.start);
  if (label->power != NULL && label->power[0] != '\0') {
    oat_string_print(svg, "<tspan dy=\"-3\" font-size=\"70%%\">%s</tspan>", label->power);
  }
  if (c.end != NULL) {
    oat_string_add(svg, "<title>");
    oat_svg_text(svg, label->text);
    oat_string_add(svg, "</title>");
  }
  oat_string_add(svg, "</text>\n");
}
