/* Marks: what each kind covers and how it is drawn. A kind is a row of the table at the end. */
#include "plot/figure.h"

#include <math.h>

/* ---- their extent ---------------------------------------------------------------------------------------------- */

typedef struct reach {
  oat_direction direction;
  oat_scale_kind kind;
  oat_range *range;
} reach;

static void take(const reach *r, size_t n, const double *values) { oat_range_take(r->range, r->kind, n, values); }

static void extend_points(const oat_mark *mark, const reach *r) {
  take(r, mark->n, r->direction == OAT_X ? mark->x : mark->y);
}

static void extend_band(const oat_mark *mark, const reach *r) {
  extend_points(mark, r);
  if (r->direction == OAT_Y) {
    take(r, mark->n, mark->z);
  }
}

static void extend_tiles(const oat_mark *mark, const reach *r) {
  if (r->direction == OAT_X) {
    take(r, 2 * mark->n, mark->x);
  } else {
    take(r, mark->n, mark->y);
    take(r, mark->n, mark->z);
  }
}

/* Bars start at 0, which a logarithmic axis does not have. */
static void take_lengths(const reach *r, size_t n, const double *lengths) {
  const double zero = 0;
  take(r, n, lengths);
  take(r, 1, &zero);
  r->range->base = true;
}

double oat_mark_bar_width(const oat_mark *mark) { return mark->style.width > 0 ? mark->style.width : 0.7; }

static void extend_bars(const oat_mark *mark, const reach *r) {
  const oat_direction along = mark->kind == OAT_MARK_COLUMNS ? OAT_Y : OAT_X;
  if (r->direction == along) {
    take_lengths(r, mark->n, along == OAT_Y ? mark->y : mark->x);
    return;
  }
  const double *const at = along == OAT_Y ? mark->x : mark->y;
  for (size_t i = 0; i < mark->n; i++) {
    const double ends[] = {at[i] - oat_mark_bar_width(mark) / 2, at[i] + oat_mark_bar_width(mark) / 2};
    take(r, 2, ends);
  }
}

static void extend_rule(const oat_mark *mark, const reach *r) {
  if (mark->place == (int)r->direction) {
    take(r, 1, mark->x);
  }
}

static bool is_level(const oat_mark *rug) { return rug->place == OAT_BOTTOM || rug->place == OAT_TOP; }

static void extend_rug(const oat_mark *mark, const reach *r) {
  if (is_level(mark) == (r->direction == OAT_X)) {
    take(r, mark->n, mark->x);
  }
}

/* ---- drawing: what all use ------------------------------------------------------------------------------------- */

/* If limits are set, paths leave the page. They are cut before the numbers lose their digits. */
static double place(const oat_canvas *canvas, oat_direction direction, double value) {
  const double at = oat_scale_place(&canvas->panel->scale[direction], value);
  return isnan(at) ? at : fmin(fmax(at, -1e5), 1e5);
}

static void colour_class(oat_string *svg, const char *also, char use, oat_colour colour) {
  oat_string_print(svg, " class=\"%s%c%d\"", also, use, (int)colour);
}

static double opacity(const oat_mark *mark) {
  return mark->style.opacity > 0 ? mark->style.opacity : mark->kind == OAT_MARK_BAND ? 0.22 : 1;
}

static void begin_stroke(oat_string *svg, const oat_mark *mark) {
  static const char *const dashes[OAT_DASHES] = {NULL, "4.5 3", "0.1 2.6", "6 2.6 0.1 2.6"};
  oat_svg_begin(svg, "path");
  colour_class(svg, "line ", 's', mark->style.colour);
  oat_svg_value(svg, "stroke-width", mark->style.width > 0 ? mark->style.width : 1.2);
  if (dashes[mark->style.dash] != NULL) {
    oat_svg_word(svg, "stroke-dasharray", dashes[mark->style.dash]);
  }
  if (opacity(mark) < 1) {
    oat_svg_value(svg, "stroke-opacity", opacity(mark));
  }
}

static void begin_fill(oat_string *svg, const oat_mark *mark) {
  oat_svg_begin(svg, "path");
  colour_class(svg, "", 'f', mark->style.colour);
  if (opacity(mark) < 1) {
    oat_svg_value(svg, "fill-opacity", opacity(mark));
  }
}

static void clip(const oat_canvas *canvas) {
  oat_string_print(canvas->svg, " clip-path=\"url(#%s-%zu-%zu)\"", canvas->prefix, canvas->panel->row,
                   canvas->panel->column);
}

/* ---- drawing: points ------------------------------------------------------------------------------------------- */

/* A shape is a walk, in units of half its size: (m)ove, (l)ine, (a)rc of radius 1, (z) close. */
typedef struct walk {
  char command;
  double x, y;
} walk;

static const struct {
  bool filled;
  walk steps[6];
} shapes[OAT_SHAPES] = {
    [OAT_CIRCLE] = {true, {{'m', -1, 0}, {'a', 2, 0}, {'a', -2, 0}, {'z', 0, 0}}},
    [OAT_RING] = {false, {{'m', -1, 0}, {'a', 2, 0}, {'a', -2, 0}, {'z', 0, 0}}},
    [OAT_SQUARE] = {true, {{'m', -.9, -.9}, {'l', 1.8, 0}, {'l', 0, 1.8}, {'l', -1.8, 0}, {'z', 0, 0}}},
    [OAT_TRIANGLE] = {true, {{'m', 0, -1.2}, {'l', 1.2, 2.1}, {'l', -2.4, 0}, {'z', 0, 0}}},
    [OAT_TRIANGLE_DOWN] = {true, {{'m', 0, 1.2}, {'l', 1.2, -2.1}, {'l', -2.4, 0}, {'z', 0, 0}}},
    [OAT_DIAMOND] = {true, {{'m', 0, -1.3}, {'l', 1.3, 1.3}, {'l', -1.3, 1.3}, {'l', -1.3, -1.3}, {'z', 0, 0}}},
    [OAT_PLUS] = {false, {{'m', -1.15, 0}, {'l', 2.3, 0}, {'m', -1.15, -1.15}, {'l', 0, 2.3}}},
    [OAT_CROSS] = {false, {{'m', -.95, -.95}, {'l', 1.9, 1.9}, {'m', 0, -1.9}, {'l', -1.9, 1.9}}},
};

static oat_shape shape_of(const oat_mark *mark) {
  return mark->style.shape != OAT_NO_SHAPE ? mark->style.shape : OAT_CIRCLE;
}

static double point_size(const oat_mark *mark) { return mark->style.size > 0 ? mark->style.size : 4.5; }

static void add_point(oat_string *svg, const oat_mark *mark, double x, double y) {
  const double half = point_size(mark) / 2;
  oat_string_add(svg, "M");
  oat_svg_pair(svg, x, y);
  for (const walk *step = shapes[shape_of(mark)].steps; step->command != '\0'; step++) {
    oat_string_print(svg, "%c", step->command);
    if (step->command == 'a') {
      oat_svg_pair(svg, half, half);
      oat_string_add(svg, " 0 1 0 ");
    }
    if (step->command == 'z') {
      break;
    }
    oat_svg_pair(svg, half * step->x, half * step->y);
  }
}

static void begin_points(oat_string *svg, const oat_mark *mark) {
  if (shapes[shape_of(mark)].filled) {
    begin_fill(svg, mark);
  } else {
    oat_svg_begin(svg, "path");
    colour_class(svg, "line ", 's', mark->style.colour);
    oat_svg_value(svg, "stroke-width", fmax(0.8, 0.28 * point_size(mark)));
  }
}

/* Points are drawn whole or not at all, so they are not clipped. */
static bool is_inside(const oat_canvas *canvas, double x, double y) {
  const oat_box box = canvas->panel->box;
  return x >= box.left - 0.01 && x <= box.right + 0.01 && y >= box.top - 0.01 && y <= box.bottom + 0.01;
}

static void add_if_inside(const oat_canvas *canvas, const oat_mark *mark, double x, double y) {
  if (is_inside(canvas, x, y)) {
    add_point(canvas->svg, mark, x, y);
  }
}

/* The numbers of those points that are drawn. */
static void tell_numbers(const oat_canvas *canvas, const oat_mark *mark) {
  const char *before = " data-numbers=\"";
  for (size_t i = 0; i < mark->n; i++) {
    if (is_inside(canvas, place(canvas, OAT_X, mark->x[i]), place(canvas, OAT_Y, mark->y[i]))) {
      oat_string_add(canvas->svg, before);
      oat_svg_number(canvas->svg, mark->z[i]);
      before = " ";
    }
  }
  oat_string_add(canvas->svg, before[1] == '\0' ? "\"" : "");
}

/* Writes the data of a mark whose values the script of a page can show. */
static void tell(const oat_canvas *canvas, const oat_mark *mark, oat_mark_kind kind) {
  const char *const names[OAT_MARK_KINDS] = {
      [OAT_MARK_LINE] = "line", [OAT_MARK_POINTS] = "points", [OAT_MARK_RUG] = is_level(mark) ? "x-rug" : "y-rug"};
  if (!canvas->panel->figure->in_page || names[kind] == NULL) {
    return;
  }
  oat_svg_word(canvas->svg, "data-mark", names[kind]);
  if (mark->style.label != NULL) {
    oat_svg_word(canvas->svg, "data-label", mark->style.label);
  }
  if (mark->kind == OAT_MARK_POINTS && mark->z != NULL) {
    tell_numbers(canvas, mark);
  }
}

static void trace_points(const oat_canvas *canvas, const oat_mark *mark) {
  for (size_t i = 0; i < mark->n; i++) {
    add_if_inside(canvas, mark, place(canvas, OAT_X, mark->x[i]), place(canvas, OAT_Y, mark->y[i]));
  }
}

static void trace_rug(const oat_canvas *canvas, const oat_mark *mark) {
  const oat_box box = canvas->panel->box;
  const double inset = point_size(mark) / 2 + 2.5;
  const bool level = is_level(mark);
  for (size_t i = 0; i < mark->n; i++) {
    const double at = place(canvas, level ? OAT_X : OAT_Y, mark->x[i]);
    const double x = level ? at : mark->place == OAT_LEFT ? box.left + inset : box.right - inset;
    const double y = !level ? at : mark->place == OAT_TOP ? box.top + inset : box.bottom - inset;
    add_if_inside(canvas, mark, x, y);
  }
}

/* ---- drawing: lines and bands ---------------------------------------------------------------------------------- */

/* A path in progress. Points that would be written with the same digits are written once. */
typedef struct pen {
  oat_string *svg;
  size_t run; /* points since the last break */
  double x, y;
} pen;

static void pen_to(pen *p, double x, double y) {
  const double hundredth_x = round(100 * x), hundredth_y = round(100 * y);
  if (p->run > 0 && hundredth_x == p->x && hundredth_y == p->y) {
    return;
  }
  oat_string_add(p->svg, p->run == 0 ? "M" : p->run == 1 ? "L" : " ");
  oat_svg_pair(p->svg, x, y);
  p->x = hundredth_x;
  p->y = hundredth_y;
  p->run++;
}

/* A point alone is a line of no length, which the round ends of the stroke make a dot. */
static void pen_up(pen *p) {
  if (p->run == 1) {
    oat_string_add(p->svg, "h0");
  }
  p->run = 0;
}

static void trace_line(const oat_canvas *canvas, const oat_mark *mark) {
  pen p = {.svg = canvas->svg};
  for (size_t i = 0; i < mark->n; i++) {
    const double x = place(canvas, OAT_X, mark->x[i]), y = place(canvas, OAT_Y, mark->y[i]);
    if (isnan(x) || isnan(y)) {
      pen_up(&p);
    } else {
      pen_to(&p, x, y);
    }
  }
  pen_up(&p);
}

static bool band_is_there(const oat_canvas *canvas, const oat_mark *mark, size_t i) {
  return !isnan(place(canvas, OAT_X, mark->x[i])) && !isnan(place(canvas, OAT_Y, mark->y[i])) &&
         !isnan(place(canvas, OAT_Y, mark->z[i]));
}

/* Each run of finite values: to the right along the upper limit and back along the lower. */
static void trace_band(const oat_canvas *canvas, const oat_mark *mark) {
  for (size_t i = 0, end; i < mark->n; i = end + 1) {
    pen p = {.svg = canvas->svg};
    for (end = i; end < mark->n && band_is_there(canvas, mark, end); end++) {
      pen_to(&p, place(canvas, OAT_X, mark->x[end]), place(canvas, OAT_Y, mark->z[end]));
    }
    for (size_t k = end; k > i; k--) {
      pen_to(&p, place(canvas, OAT_X, mark->x[k - 1]), place(canvas, OAT_Y, mark->y[k - 1]));
    }
    if (end > i) {
      oat_string_add(canvas->svg, "z");
    }
  }
}

static double place_rule(const oat_canvas *canvas, const oat_mark *mark) {
  return place(canvas, (oat_direction)mark->place, mark->x[0]);
}

static void trace_rule(const oat_canvas *canvas, const oat_mark *mark) {
  const oat_box box = canvas->panel->box;
  const double at = place_rule(canvas, mark);
  const bool upright = mark->place == OAT_X;
  pen p = {.svg = canvas->svg};
  pen_to(&p, upright ? at : box.left, upright ? box.bottom : at);
  pen_to(&p, upright ? at : box.right, upright ? box.top : at);
}

/* ---- drawing: bars --------------------------------------------------------------------------------------------- */

/* Where bars begin: at 0, or at the end of an axis that has no 0. */
static double base(const oat_canvas *canvas, oat_direction along) {
  const oat_scale *const scale = &canvas->panel->scale[along];
  return scale->kind == OAT_LOG10 ? scale->from : place(canvas, along, 0);
}

static void add_bar(oat_string *svg, const double x[2], const double y[2]) {
  pen p = {.svg = svg};
  for (int corner = 0; corner < 4; corner++) {
    pen_to(&p, x[corner == 1 || corner == 2], y[corner >= 2]);
  }
  oat_string_add(svg, "z");
}

static void trace_tiles(const oat_canvas *canvas, const oat_mark *mark) {
  for (size_t i = 0; i < mark->n; i++) {
    const double x[] = {place(canvas, OAT_X, mark->x[i]), place(canvas, OAT_X, mark->x[i + mark->n])};
    const double y[] = {place(canvas, OAT_Y, mark->y[i]), place(canvas, OAT_Y, mark->z[i])};
    if (!isnan(x[0] + x[1] + y[0] + y[1])) {
      add_bar(canvas->svg, x, y);
    }
  }
}

static void trace_bars(const oat_canvas *canvas, const oat_mark *mark) {
  const oat_direction along = mark->kind == OAT_MARK_COLUMNS ? OAT_Y : OAT_X, across = along == OAT_Y ? OAT_X : OAT_Y;
  const double *const at = along == OAT_Y ? mark->x : mark->y, *const length = along == OAT_Y ? mark->y : mark->x;
  const double half = oat_mark_bar_width(mark) / 2;
  for (size_t i = 0; i < mark->n; i++) {
    const double sides[] = {place(canvas, across, at[i] - half), place(canvas, across, at[i] + half)};
    const double ends[] = {base(canvas, along), place(canvas, along, length[i])};
    if (!isnan(sides[0] + sides[1] + ends[0] + ends[1])) {
      add_bar(canvas->svg, along == OAT_Y ? sides : ends, along == OAT_Y ? ends : sides);
    }
  }
}

/* ---- samples in the legend ------------------------------------------------------------------------------------- */

static void key_point(oat_string *svg, const oat_mark *mark, double x, double y) {
  add_point(svg, mark, x + OAT_KEY_WIDTH / 2.0, y);
}

static void key_line(oat_string *svg, const oat_mark *mark, double x, double y) {
  pen p = {.svg = svg};
  (void)mark;
  pen_to(&p, x, y);
  pen_to(&p, x + OAT_KEY_WIDTH, y);
}

static void key_area(oat_string *svg, const oat_mark *mark, double x, double y) {
  const double indent = mark->kind == OAT_MARK_BAND ? 0 : 4.5, xs[] = {x + indent, x + OAT_KEY_WIDTH - indent},
               ys[] = {y - 4, y + 4};
  add_bar(svg, xs, ys);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* A mark is one path: its extent, its beginning, and its course in a panel and in the legend. */
static const struct {
  void (*extend)(const oat_mark *mark, const reach *r);
  void (*begin)(oat_string *svg, const oat_mark *mark);
  void (*trace)(const oat_canvas *canvas, const oat_mark *mark);
  void (*key)(oat_string *svg, const oat_mark *mark, double x, double y);
} kinds[OAT_MARK_KINDS] = {
    [OAT_MARK_TILES] = {extend_tiles, begin_fill, trace_tiles, key_area},
    [OAT_MARK_BAND] = {extend_band, begin_fill, trace_band, key_area},
    [OAT_MARK_COLUMNS] = {extend_bars, begin_fill, trace_bars, key_area},
    [OAT_MARK_BARS] = {extend_bars, begin_fill, trace_bars, key_area},
    [OAT_MARK_RULE] = {extend_rule, begin_stroke, trace_rule, key_line},
    [OAT_MARK_LINE] = {extend_points, begin_stroke, trace_line, key_line},
    [OAT_MARK_POINTS] = {extend_points, begin_points, trace_points, key_point},
    [OAT_MARK_RUG] = {extend_rug, begin_points, trace_rug, key_point},
};

void oat_mark_extend(const oat_mark *mark, oat_direction direction, oat_scale_kind kind, oat_range *range) {
  kinds[mark->kind].extend(mark, &(reach){direction, kind, range});
}

static bool has_points(const oat_mark *mark) {
  return mark->kind == OAT_MARK_LINE && mark->style.shape != OAT_NO_SHAPE;
}

static void begin_data(oat_string *svg) { oat_string_add(svg, " d=\""); }

static void end_path(oat_string *svg, const oat_mark *mark) {
  oat_string_add(svg, "\"");
  oat_svg_leaf(svg, "path", mark->style.tooltip);
}

/* Draws the mark as this kind, because a line may have points, too. */
static void draw_as(const oat_canvas *canvas, const oat_mark *mark, oat_mark_kind kind) {
  kinds[kind].begin(canvas->svg, mark);
  if (kind != OAT_MARK_POINTS && kind != OAT_MARK_RUG) {
    clip(canvas);
  }
  if (kind == OAT_MARK_TILES) { /* smoothed edges would leave a fine line between two of them */
    oat_svg_word(canvas->svg, "shape-rendering", "crispEdges");
  }
  tell(canvas, mark, kind);
  begin_data(canvas->svg);
  kinds[kind].trace(canvas, mark);
  end_path(canvas->svg, mark);
}

void oat_mark_draw(const oat_canvas *canvas, const oat_mark *mark) {
  if (mark->kind == OAT_MARK_RULE && isnan(place_rule(canvas, mark))) {
    return;
  }
  draw_as(canvas, mark, mark->kind);
  if (has_points(mark)) {
    draw_as(canvas, mark, OAT_MARK_POINTS);
  }
}

static void key_as(oat_string *svg, const oat_mark *mark, oat_mark_kind kind, const double at[2]) {
  kinds[kind].begin(svg, mark);
  begin_data(svg);
  kinds[kind].key(svg, mark, at[0], at[1]);
  end_path(svg, mark);
}

void oat_mark_key(oat_string *svg, const oat_mark *mark, double x, double y) {
  const double at[] = {x, y};
  key_as(svg, mark, mark->kind, at);
  if (has_points(mark)) {
    key_as(svg, mark, OAT_MARK_POINTS, at);
  }
}
