/* The writer: a growing string, and the elements, numbers and texts of SVG in it. */
#ifndef OAT_SVG_H
#define OAT_SVG_H

#include <stddef.h>
#include <stdint.h>

#include "util/context.h"

/* Begin with (oat_string){.ctx = ctx}. The first failure is kept and later additions do nothing, so that it is enough
 * to look at `status` once, at the end. */
typedef struct oat_string {
  oatgp_context *ctx;
  oatgp_status status;
  char *text; /* NULL as long as nothing was added */
  size_t length, capacity;
} oat_string;

void oat_string_free(oat_string *string);
void oat_string_add(oat_string *string, const char *text);
/* Writes it to a file that appears only when it is complete; "-" is standard output. */
oatgp_status oat_string_write(const oat_string *string, const char *path);
/* For letters and whole numbers only: how printf writes others depends on the locale. Those are texts, by
 * oat_number(...).text. */
void oat_string_print(oat_string *string, const char *format, ...) OAT_PRINTF(2, 3);

typedef struct oat_digits {
  char text[64];
} oat_digits;

/* A number for a program, with so many significant digits at most; in any locale with a point. NaN and infinities are
 * "NaN". */
oat_digits oat_value(double value, int digits);
/* A number for readers, with exactly this many significant digits, an exponent only if it is very large or small, and a
 * true minus. A number that is not finite is an en dash. */
oat_digits oat_number(double value, int digits);

/* Text with the characters that mean something in XML replaced, and characters that XML does not allow as U+FFFD. */
void oat_svg_text(oat_string *svg, const char *text);
/* A number with at most two decimals, and none that are not needed. */
void oat_svg_number(oat_string *svg, double value);
/* Two numbers, for a path. */
void oat_svg_pair(oat_string *svg, double x, double y);

/* <name, then attributes, then oat_svg_end for one that is empty, or oat_svg_leaf for one with a tooltip or NULL. */
void oat_svg_begin(oat_string *svg, const char *name);
void oat_svg_word(oat_string *svg, const char *attribute, const char *value);
void oat_svg_value(oat_string *svg, const char *attribute, double value);
void oat_svg_end(oat_string *svg);
void oat_svg_leaf(oat_string *svg, const char *name, const char *tooltip);

/* The fonts of a figure, which differ in size and weight; the style sheet (palette.c) has them as classes. */
typedef enum oat_font { OAT_LABEL_FONT, OAT_TICK_FONT, OAT_TITLE_FONT } oat_font;

/* Their sizes in the units of the drawing; a title is a label in bold. */
enum { OAT_LABEL_SIZE = 9, OAT_TICK_SIZE = 8 };

/* The side of a text that is at its position. */
typedef enum oat_anchor { OAT_START, OAT_MIDDLE, OAT_END } oat_anchor;

/* A line of text as an element. One that is wider than its room is shortened: an ellipsis takes the place of its
 * middle, and its tooltip has all of it. */
typedef struct oat_label {
  const char *text, *power; /* power: a superscript after the text, NULL for none */
  double x, y, turn;        /* of the base line; turned about (x, y), in degrees clockwise */
  double room;              /* without the superscript; 0: as wide as it is */
  oat_font font;
  oat_anchor anchor;
} oat_label;
void oat_svg_label(oat_string *svg, const oat_label *label);

/* The largest width of a text in the usual fonts without serifs (advances.py has the list), because the reader's font
 * is unknown. */
double oat_svg_width(const char *text, oat_font font);
/* Adds a text without replacing characters, shortened like a label with this much room. */
void oat_string_shortened(oat_string *string, const char *text, double room, oat_font font);

#endif
