/* A figure as text, for a terminal. Limits and ticks are those of the drawing. Marks are drawn dot by dot, eight dots
 * to a letter if Braille may be used. A letter shows one mark: of those in its cell, the one that a reader looks for
 * first (see the order of `sign`). */
#include "plot/figure.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

enum {
  ROOM = 10,
  LEAST_WIDTH = 24,
  LEAST_HEIGHT = 8,
  NUMBER = 64
}; /* ROOM: letters for the labels of the y axis, at least */

/* The contents of a cell, in rising priority. */
typedef enum sign { NOTHING, SHADE, DARK_SHADE, BAR, POINT, RULE, STROKE, CROSS, RING, KNOB } sign;

static const struct {
  const char *ascii, *utf8;
} signs[] = {
    [NOTHING] = {" ", " "},         [SHADE] = {".", "\xe2\x96\x91"}, [DARK_SHADE] = {":", "\xe2\x96\x92"},
    [BAR] = {"#", "\xe2\x96\x88"},  [POINT] = {"o", "\xe2\x80\xa2"}, [RULE] = {"-", NULL},
    [STROKE] = {"*", NULL},         [CROSS] = {"x", "\xc3\x97"},     [RING] = {"O", "\xe2\x97\x8b"},
    [KNOB] = {"^", "\xe2\x96\xb2"},
};

typedef struct grid {
  size_t width, height; /* in letters, inside the axes */
  size_t room;          /* letters for the labels of the y axis */
  int across, down;     /* dots of a letter */
  double dots_of[2];    /* of the whole, by direction */
  bool utf8;
  unsigned char *cell, *dots; /* width x height */
  const oat_panel *panel;
} grid;

/* ---- dots ------------------------------------------------------------------------------------------------------ */

/* The bit of a dot in a Braille letter. */
static unsigned char braille_bit(int column, int row) {
  static const unsigned char bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
  return bits[column][row];
}

static void put(const grid *g, double x, double y, sign what) {
  if (!(x >= 0 && x < g->dots_of[OAT_X] && y >= 0 && y < g->dots_of[OAT_Y])) {
    return;
  }
  const size_t dot_x = (size_t)x, dot_y = (size_t)y;
  const size_t at = dot_y / (size_t)g->down * g->width + dot_x / (size_t)g->across;
  const bool lined = what == STROKE || what == RULE;
  if (g->cell[at] < what) {
    g->cell[at] = (unsigned char)what;
  }
  if (lined && g->utf8) {
    g->dots[at] |= braille_bit((int)(dot_x % 2), (int)(dot_y % 4));
  }
}

/* The dot of a value; NaN where nothing can be drawn. */
static double dot(const grid *g, oat_direction direction, double value) {
  const oat_scale *const scale = &g->panel->scale[direction];
  const double share = (oat_scale_place(scale, value) - scale->from) / (scale->to - scale->from);
  const double at = direction == OAT_X ? share : 1 - share;
  return isnan(at) ? at : floor(fmin(fmax(at, -1), 2) * (g->dots_of[direction] - 1) + 0.5);
}

static void stroke(const grid *g, const double from[2], const double to[2], sign what) {
  const double steps = fmax(1, fmax(fabs(to[0] - from[0]), fabs(to[1] - from[1])));
  for (double i = 0; i <= steps; i++) {
    put(g, floor(from[0] + (to[0] - from[0]) * i / steps + 0.5), floor(from[1] + (to[1] - from[1]) * i / steps + 0.5),
        what);
  }
}

/* A rectangle of values, if all can be drawn. */
static void fill(const grid *g, const double x[2], const double y[2], sign what) {
  const double left = dot(g, OAT_X, x[0]), right = dot(g, OAT_X, x[1]), low = dot(g, OAT_Y, y[0]),
               high = dot(g, OAT_Y, y[1]);
  if (isnan(left + right + low + high)) {
    return;
  }
  for (double column = fmin(left, right); column <= fmax(left, right); column++) {
    for (double row = fmin(low, high); row <= fmax(low, high); row++) {
      put(g, column, row, what);
    }
  }
}

/* ---- marks ----------------------------------------------------------------------------------------------------- */

static sign sign_of_shape(oat_shape shape) {
  static const sign others[OAT_SHAPES] = {
      [OAT_NO_SHAPE] = POINT, [OAT_CIRCLE] = POINT, [OAT_CROSS] = CROSS, [OAT_RING] = RING};
  return others[shape] != NOTHING ? others[shape] : KNOB;
}

static sign sign_of(const oat_mark *mark) {
  static const sign others[OAT_MARK_KINDS] = {[OAT_MARK_COLUMNS] = BAR,
                                              [OAT_MARK_BARS] = BAR,
                                              [OAT_MARK_RULE] = RULE,
                                              [OAT_MARK_LINE] = STROKE,
                                              [OAT_MARK_RUG] = KNOB};
  switch (mark->kind) {
    case OAT_MARK_TILES:
    case OAT_MARK_BAND:
      return mark->style.opacity > (mark->kind == OAT_MARK_TILES ? 0.7 : 0.28) ? DARK_SHADE : SHADE;
    case OAT_MARK_POINTS:
      return sign_of_shape(mark->style.shape);
    default:
      return others[mark->kind];
  }
}

/* A point alone between gaps is a dot. */
static void draw_line(const grid *g, const oat_mark *mark) {
  double from[] = {NAN, NAN};
  for (size_t i = 0; i < mark->n; i++) {
    const double to[] = {dot(g, OAT_X, mark->x[i]), dot(g, OAT_Y, mark->y[i])};
    if (!isnan(to[0] + to[1])) {
      stroke(g, isnan(from[0] + from[1]) ? to : from, to, STROKE);
    }
    from[0] = to[0];
    from[1] = to[1];
  }
}

static void draw_points(const grid *g, const oat_mark *mark) {
  for (size_t i = 0; i < mark->n; i++) {
    put(g, dot(g, OAT_X, mark->x[i]), dot(g, OAT_Y, mark->y[i]), sign_of(mark));
  }
}

static void draw_band(const grid *g, const oat_mark *mark) {
  for (size_t i = 1; i < mark->n; i++) {
    const double x[] = {mark->x[i - 1], mark->x[i]}, y[] = {mark->y[i], mark->z[i]};
    if (!isnan(dot(g, OAT_Y, mark->y[i - 1]) + dot(g, OAT_Y, mark->z[i - 1]))) {
      fill(g, x, y, sign_of(mark));
    }
  }
}

static void draw_rule(const grid *g, const oat_mark *mark) {
  const double at = dot(g, (oat_direction)mark->place, mark->x[0]);
  const double right = g->dots_of[OAT_X] - 1, bottom = g->dots_of[OAT_Y] - 1;
  const bool upright = mark->place == OAT_X;
  const double from[] = {upright ? at : 0, upright ? 0 : at}, to[] = {upright ? at : right, upright ? bottom : at};
  if (!isnan(at)) {
    stroke(g, from, to, RULE);
  }
}

static void draw_rug(const grid *g, const oat_mark *mark) {
  const bool level = mark->place == OAT_BOTTOM || mark->place == OAT_TOP;
  const double right = g->dots_of[OAT_X] - 1, bottom = g->dots_of[OAT_Y] - 1;
  for (size_t i = 0; i < mark->n; i++) {
    const double at = dot(g, level ? OAT_X : OAT_Y, mark->x[i]);
    put(g, level ? at : mark->place == OAT_LEFT ? 0 : right, level ? (mark->place == OAT_TOP ? 0 : bottom) : at, KNOB);
  }
}

/* Where bars begin: at 0, or at the end of an axis that has no 0. */
static double base(const grid *g, oat_direction along) {
  const oat_scale *const scale = &g->panel->scale[along];
  return scale->kind == OAT_LOG10 ? pow(10, scale->low) : 0;
}

static void draw_bars(const grid *g, const oat_mark *mark) {
  const bool upright = mark->kind == OAT_MARK_COLUMNS;
  const double half = oat_mark_bar_width(mark) / 2;
  for (size_t i = 0; i < mark->n; i++) {
    const double at = upright ? mark->x[i] : mark->y[i], across[] = {at - half, at + half};
    const double along[] = {base(g, upright ? OAT_Y : OAT_X), upright ? mark->y[i] : mark->x[i]};
    fill(g, upright ? across : along, upright ? along : across, BAR);
  }
}

/* Draws the tiles that are dark enough to be distinguished. */
static void draw_tiles(const grid *g, const oat_mark *mark) {
  for (size_t i = 0; mark->style.opacity > 0.5 && i < mark->n; i++) {
    const double x[] = {mark->x[i], mark->x[i + mark->n]}, y[] = {mark->y[i], mark->z[i]};
    fill(g, x, y, sign_of(mark));
  }
}

static void (*const draw[OAT_MARK_KINDS])(const grid *g, const oat_mark *mark) = {
    [OAT_MARK_TILES] = draw_tiles,   [OAT_MARK_BAND] = draw_band, [OAT_MARK_COLUMNS] = draw_bars,
    [OAT_MARK_BARS] = draw_bars,     [OAT_MARK_RULE] = draw_rule, [OAT_MARK_LINE] = draw_line,
    [OAT_MARK_POINTS] = draw_points, [OAT_MARK_RUG] = draw_rug,
};

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* The ASCII replacement of a character. */
static const char *ascii_of(uint32_t c) {
  const bool dash = c == 0x2212 || c == 0x2013, ellipsis = c == 0x2026; /* minus or en dash */
  return dash ? "-" : ellipsis ? "~" : "?";
}

/* The first letters of a text. Control characters become blanks, because a terminal would obey them. */
static void add_letters(oat_string *out, const char *text, size_t most, bool utf8) {
  const unsigned char *cursor = (const unsigned char *)text;
  for (size_t i = 0; i < most && *cursor != '\0'; i++) {
    const char *const start = (const char *)cursor;
    const uint32_t c = oat_next_character(&cursor);
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
      oat_string_add(out, " ");
    } else if (c < 0x80 || (utf8 && c != 0xfffd)) {
      oat_string_print(out, "%.*s", (int)((const char *)cursor - start), start);
    } else {
      oat_string_add(out, ascii_of(c));
    }
  }
}

static void add_text(oat_string *out, const char *text, bool utf8) { add_letters(out, text, SIZE_MAX, utf8); }

static size_t letters_of(const char *text) {
  const unsigned char *cursor = (const unsigned char *)text;
  size_t count = 0;
  for (; *cursor != '\0'; count++) {
    oat_next_character(&cursor);
  }
  return count;
}

static void add_blanks(oat_string *out, size_t count) { oat_string_print(out, "%*s", (int)count, ""); }

/* The label of a tick. A power of ten, which has no line to stand above, is written as in 5e7, in the space given. */
static const char *tick_text(const oat_tick *tick, char number[NUMBER]) {
  if (tick->power[0] == '\0') {
    return tick->name != NULL ? tick->name : tick->digits;
  }
  const char *const times = strstr(tick->digits, "\xc3\x97"); /* without a mantissa the digits are "10" */
  snprintf(number, NUMBER, "%.*se%s", times != NULL ? (int)(times - tick->digits) : 1, tick->digits, tick->power);
  return number;
}

static const char *frame(const grid *g, const char *ascii, const char *utf8) { return g->utf8 ? utf8 : ascii; }

static void add_cell(oat_string *out, const grid *g, size_t at) {
  const sign what = (sign)g->cell[at];
  if (g->utf8 && (what == STROKE || what == RULE)) {
    const unsigned char dots = g->dots[at];
    oat_string_print(out, "%c%c%c", 0xe2, 0xa0 | dots >> 6, 0x80 | (dots & 0x3f));
  } else {
    oat_string_add(out, g->utf8 ? signs[what].utf8 : signs[what].ascii);
  }
}

/* The label of the y axis that belongs to this line of letters, or NULL; a number may be written into the space
 * given. */
static const char *label_of_line(const grid *g, size_t line, char number[NUMBER]) {
  const oat_ticks *const ticks = &g->panel->ticks[OAT_Y];
  const oat_box box = g->panel->box;
  for (size_t i = 0; i < ticks->n; i++) {
    const double share = (ticks->tick[i].at - box.top) / (box.bottom - box.top);
    const char *const text = tick_text(&ticks->tick[i], number);
    if (*text != '\0' && (size_t)floor(share * ((double)g->height - 1) + 0.5) == line) {
      return text;
    }
  }
  return NULL;
}

static void add_lines(oat_string *out, const grid *g) {
  char number[NUMBER];
  for (size_t line = 0; line < g->height; line++) {
    const char *const label = label_of_line(g, line, number), *const text = label != NULL ? label : "";
    const size_t count = letters_of(text);
    add_blanks(out, count < g->room ? g->room - count : 0);
    add_letters(out, text, count <= g->room ? count : g->room - 1, g->utf8);
    oat_string_add(out, count <= g->room ? "" : frame(g, "~", "\xe2\x80\xa6"));
    oat_string_add(out, label != NULL ? frame(g, " +", " \xe2\x94\xa4") : frame(g, " |", " \xe2\x94\x82"));
    for (size_t column = 0; column < g->width; column++) {
      add_cell(out, g, line * g->width + column);
    }
    oat_string_add(out, "\n");
  }
}

/* Numbers below the axis, as far as they do not touch; the last may be moved to the left so as to end with the axis. */
static void add_x_labels(oat_string *out, const grid *g) {
  const oat_ticks *const ticks = &g->panel->ticks[OAT_X];
  const oat_box box = g->panel->box;
  size_t used = 0;
  char number[NUMBER];
  for (size_t i = 0; i < ticks->n; i++) {
    const char *const text = tick_text(&ticks->tick[i], number);
    const size_t count = letters_of(text);
    const double middle =
        (double)g->room + 2 + (ticks->tick[i].at - box.left) / (box.right - box.left) * ((double)g->width - 1);
    const double start =
        fmin(floor(middle - (double)count / 2 + 0.5), (double)(g->room + 2 + g->width) - (double)count);
    if (count > 0 && start >= (double)used + (used > 0 ? 1 : 0)) {
      add_blanks(out, (size_t)start - used);
      add_text(out, text, g->utf8);
      used = (size_t)start + count;
    }
  }
  oat_string_add(out, "\n");
}

static void add_axis(oat_string *out, const grid *g) {
  add_blanks(out, g->room + 1);
  oat_string_add(out, frame(g, "+", "\xe2\x94\x94"));
  for (size_t i = 0; i < g->width; i++) {
    oat_string_add(out, frame(g, "-", "\xe2\x94\x80"));
  }
  oat_string_add(out, "\n");
  add_x_labels(out, g);
}

static const char *label_of(const oat_panel *panel, oat_direction direction) {
  const char *const own = panel->axis[direction].label, *const common = panel->figure->axis_label[direction];
  return own != NULL ? own : common != NULL ? common : "";
}

static bool is_in_key(const oat_mark *mark) {
  return mark->style.label != NULL && !(mark->kind == OAT_MARK_TILES && mark->style.opacity <= 0.5);
}

/* Whether an earlier mark has the same label. */
static bool is_told(const oat_panel *panel, size_t number) {
  for (size_t i = 0; i < number; i++) {
    if (is_in_key(&panel->marks[i]) && strcmp(panel->marks[i].style.label, panel->marks[number].style.label) == 0) {
      return true;
    }
  }
  return false;
}

static void add_key(oat_string *out, const grid *g) {
  add_blanks(out, g->room + 2);
  add_text(out, label_of(g->panel, OAT_X), g->utf8);
  for (size_t i = 0; i < g->panel->n_marks; i++) {
    const oat_mark *const mark = &g->panel->marks[i];
    const sign what = sign_of(mark);
    if (!is_in_key(mark) || is_told(g->panel, i)) {
      continue;
    }
    const char *const key =
        g->utf8 ? (signs[what].utf8 != NULL ? signs[what].utf8 : "\xe2\xa0\x92") : signs[what].ascii;
    oat_string_print(out, "   %s ", key);
    add_text(out, mark->style.label, g->utf8);
  }
  oat_string_add(out, "\n");
}

static void add_head(oat_string *out, const grid *g) {
  const oat_panel *const panel = g->panel;
  if (panel->title != NULL) {
    add_blanks(out, g->room + 2);
    add_text(out, panel->title, g->utf8);
    oat_string_add(out, "\n");
  }
  const char *const label = label_of(panel, OAT_Y);
  const size_t count = letters_of(label);
  add_blanks(out, count < g->room ? g->room - count : 0);
  add_text(out, label, g->utf8);
  oat_string_add(out, "\n");
}

/* As much room as the labels of the y axis need, but at most a third of the width. */
static size_t room_for(const oat_panel *panel, size_t width) {
  size_t room = ROOM;
  char number[NUMBER];
  for (size_t i = 0; i < panel->ticks[OAT_Y].n; i++) {
    const size_t count = letters_of(tick_text(&panel->ticks[OAT_Y].tick[i], number)),
                 most = count < width / 3 ? count : width / 3;
    room = room > most ? room : most;
  }
  return room;
}

static oatgp_status add_panel(const oat_panel *panel, oat_letters letters, oat_string *out) {
  const size_t room = room_for(panel, letters.width);
  grid g = {.width = letters.width - room - 2,
            .height = letters.height - 4,
            .room = room,
            .utf8 = letters.utf8,
            .panel = panel};
  oat_scratch memory = {.ctx = panel->figure->ctx};
  oatgp_status status;
  g.across = letters.utf8 ? 2 : 1;
  g.down = letters.utf8 ? 4 : 1;
  g.dots_of[OAT_X] = (double)(g.width * (size_t)g.across);
  g.dots_of[OAT_Y] = (double)(g.height * (size_t)g.down);
  g.cell = oat_take(&memory, g.width * g.height, 1);
  g.dots = oat_take(&memory, g.width * g.height, 1);
  TRY(memory.status);
  for (size_t i = 0; i < panel->n_marks; i++) {
    draw[panel->marks[i].kind](&g, &panel->marks[i]);
  }
  add_head(out, &g);
  add_lines(out, &g);
  add_axis(out, &g);
  add_key(out, &g);
  status = out->status;
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_figure_letters(oat_figure *figure, oat_letters letters, oat_string *out) {
  oat_key key = {0};
  oatgp_status status;
  REFUSE_IF(letters.width < LEAST_WIDTH || letters.height < LEAST_HEIGHT, figure->ctx, OATGP_ARGUMENT,
            "a figure in letters must be at least %d wide and %d high, not %zu and %zu", LEAST_WIDTH, LEAST_HEIGHT,
            letters.width, letters.height);
  TRY(oat_key_make(figure, &key));
  TRY(oat_figure_lay_out(figure, &key));
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    if (oat_panel_is_used(&figure->panels[i])) {
      TRY(add_panel(&figure->panels[i], letters, out));
    }
  }
done:
  free(key.entries);
  return status;
}
