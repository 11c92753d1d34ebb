/* The figure as SVG: surroundings, axes and grids; marks draw themselves (marks.c). */
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ----------------------------------------------------------------------------------------------------- */

/* A line in the middle of something, but moved or shortened where it would leave low to high, from left to right or,
 * turned, from top to bottom. Nothing where there is no text. */
static void draw_centred(oat_string *svg, oat_label label, double low, double high) {
  if (label.text == NULL) {
    return;
  }
  double *const middle = label.turn != 0 ? &label.y : &label.x;
  label.room = fmax(1, high - low);
  const double half = fmin(oat_svg_width(label.text, label.font), label.room) / 2;
  *middle = fmin(fmax(*middle, low + half), high - half);
  label.anchor = OAT_MIDDLE;
  oat_svg_label(svg, &label);
}

/* ---- one panel ------------------------------------------------------------------------------------------------- */

static void draw_rectangle(oat_string *svg, const char *class, oat_box box) {
  oat_svg_begin(svg, "rect");
  if (class != NULL) {
    oat_svg_word(svg, "class", class);
  }
  oat_svg_value(svg, "x", box.left);
  oat_svg_value(svg, "y", box.top);
  oat_svg_value(svg, "width", box.right - box.left);
  oat_svg_value(svg, "height", box.bottom - box.top);
  oat_svg_end(svg);
}

static void add_stroke(oat_string *svg, double x, double y, char command, double length) {
  oat_string_add(svg, "M");
  oat_svg_pair(svg, x, y);
  oat_string_print(svg, "%c", command);
  oat_svg_number(svg, length);
}

/* Lines across the panel at the ticks that have a label or a name. */
static void draw_grid(oat_string *svg, const oat_panel *panel) {
  const oat_box box = panel->box;
  oat_string_add(svg, "<path class=\"grid\" d=\"");
  for (size_t i = 0; i < panel->ticks[OAT_X].n; i++) {
    if (!panel->ticks[OAT_X].tick[i].minor) {
      add_stroke(svg, panel->ticks[OAT_X].tick[i].at, box.bottom, 'V', box.top);
    }
  }
  for (size_t i = 0; i < panel->ticks[OAT_Y].n; i++) {
    if (!panel->ticks[OAT_Y].tick[i].minor) {
      add_stroke(svg, box.left, panel->ticks[OAT_Y].tick[i].at, 'H', box.right);
    }
  }
  oat_string_add(svg, "\"/>\n");
}

static void draw_tick_label(oat_string *svg, const oat_panel *panel, oat_direction direction, const oat_tick *tick) {
  const bool tilted = panel->ticks[direction].tilted;
  oat_label l = {.text = tick->name != NULL ? tick->name : tick->digits,
                 .power = tick->power,
                 .font = OAT_TICK_FONT,
                 .room = tick->room};
  if (direction == OAT_Y) {
    l.x = panel->box.left - OAT_TICK_GAP_Y;
    l.y = tick->at + 0.35 * OAT_TICK_SIZE;
    l.anchor = OAT_END;
  } else {
    l.x = tick->at + (tilted ? 2 : 0);
    l.y = panel->box.bottom + OAT_TICK_GAP_X + (tilted ? 0.6 : 0.8) * OAT_TICK_SIZE;
    l.anchor = tilted ? OAT_END : OAT_MIDDLE;
    l.turn = tilted ? OAT_TILT : 0;
  }
  if (l.text[0] != '\0') {
    oat_svg_label(svg, &l);
  }
}

static void draw_axis(oat_string *svg, const oat_panel *panel, oat_direction direction) {
  const oat_ticks *const ticks = &panel->ticks[direction];
  oat_string_add(svg, "<path class=\"frame\" d=\"");
  for (size_t i = 0; i < ticks->n; i++) {
    const double length = ticks->tick[i].minor ? OAT_TICK_LENGTH / 2.0 : OAT_TICK_LENGTH;
    if (direction == OAT_X) {
      add_stroke(svg, ticks->tick[i].at, panel->box.bottom, 'v', length);
    } else {
      add_stroke(svg, panel->box.left, ticks->tick[i].at, 'h', -length);
    }
  }
  oat_string_add(svg, "\"/>\n");
  for (size_t i = 0; i < ticks->n; i++) {
    draw_tick_label(svg, panel, direction, &ticks->tick[i]);
  }
}

/* The panel's own labels stand outside its ticks, at the outer side of the margin of their column or row. That of y
 * ends where a title or the labels of x begin. */
static void draw_panel_labels(oat_string *svg, const oat_panel *panel) {
  const oat_box box = panel->box, cell = panel->cell;
  const double middle_x = (box.left + box.right) / 2, middle_y = (box.top + box.bottom) / 2;
  const oat_label title = {.text = panel->title, .font = OAT_TITLE_FONT, .x = middle_x, .y = box.top - 4.5};
  draw_centred(svg, title, cell.left, cell.right);
  if (oat_panel_shows_axis(panel, OAT_X)) {
    draw_centred(svg, (oat_label){.text = panel->axis[OAT_X].label, .x = middle_x, .y = panel->label_y}, cell.left,
                 cell.right);
  }
  if (oat_panel_shows_axis(panel, OAT_Y)) {
    const oat_label label = {.text = panel->axis[OAT_Y].label, .x = panel->label_x, .y = middle_y, .turn = -90};
    draw_centred(svg, label, panel->title != NULL ? box.top : cell.top, box.bottom + OAT_TICK_GAP_X);
  }
}

/* Writes the scale for the script of a page. With twelve digits, a point's position gives its value more exactly than
 * the eye can see. */
static void tell_scale(oat_string *svg, const oat_panel *panel, oat_direction direction) {
  static const char *const kinds[] = {"linear", "log", "names"};
  const char letter = direction == OAT_X ? 'x' : 'y';
  const oat_scale *const scale = &panel->scale[direction];
  const char *const label =
      panel->axis[direction].label != NULL ? panel->axis[direction].label : panel->figure->axis_label[direction];
  oat_string_print(svg, " data-%c=\"%s%s", letter, panel->axis[direction].whole ? "whole-" : "", kinds[scale->kind]);
  const double numbers[] = {scale->low, scale->high, scale->from, scale->to};
  for (int i = 0; i < 4; i++) {
    oat_string_print(svg, " %s", oat_value(numbers[i], 12).text);
  }
  oat_string_print(svg, "\" data-%c-name=\"", letter);
  oat_svg_text(svg, label != NULL ? label : "");
  oat_string_add(svg, "\"");
}

static void begin_panel(oat_string *svg, const oat_panel *panel) {
  if (panel->figure->in_page) {
    oat_string_add(svg, "<g");
    tell_scale(svg, panel, OAT_X);
    tell_scale(svg, panel, OAT_Y);
    oat_string_add(svg, ">\n");
  }
}

static void draw_panel(const oat_canvas *canvas) {
  oat_string *const svg = canvas->svg;
  const oat_panel *const panel = canvas->panel;
  begin_panel(svg, panel);
  oat_string_print(svg, "<clipPath id=\"%s-%zu-%zu\">", canvas->prefix, panel->row, panel->column);
  draw_rectangle(svg, NULL, panel->box);
  oat_string_add(svg, "</clipPath>\n");
  draw_grid(svg, panel);
  for (size_t i = 0; i < panel->n_marks; i++) {
    oat_mark_draw(canvas, &panel->marks[i]);
  }
  draw_rectangle(svg, "frame", panel->box);
  for (int d = OAT_X; d <= OAT_Y; d++) {
    if (oat_panel_shows_axis(panel, (oat_direction)d)) {
      draw_axis(svg, panel, (oat_direction)d);
    }
  }
  draw_panel_labels(svg, panel);
  if (panel->figure->in_page) {
    oat_string_add(svg, "</g>\n");
  }
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static void draw_head(const oat_figure *figure, const char *prefix, oat_string *svg) {
  oat_string_print(
      svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s\" role=\"img\" aria-labelledby=\"%s-title %s-desc\"",
      prefix, prefix, prefix);
  oat_string_add(svg, " viewBox=\"0 0 ");
  oat_svg_pair(svg, figure->width, figure->height);
  oat_string_add(svg, "\" width=\"");
  oat_svg_number(svg, figure->width);
  oat_string_add(svg, "pt\" height=\"");
  oat_svg_number(svg, figure->height);
  oat_string_print(svg, "pt\" style=\"max-width:100%%;height:auto\">\n<title id=\"%s-title\">", prefix);
  oat_svg_text(svg, figure->title);
  oat_string_print(svg, "</title>\n<desc id=\"%s-desc\">", prefix);
  oat_svg_text(svg, figure->description);
  oat_string_add(svg, "</desc>\n");
  if (!figure->in_page) {
    oat_style_sheet(svg, prefix);
  }
  draw_rectangle(svg, "bg", (oat_box){0, 0, figure->width, figure->height});
}

static void draw_grid_titles(const oat_figure *figure, const oat_layout *layout, oat_string *svg) {
  for (size_t i = 0; i < figure->columns; i++) {
    const oat_box box = figure->panels[i].box, cell = figure->panels[i].cell;
    const oat_label title = {.text = figure->column_title[i],
                             .font = OAT_TITLE_FONT,
                             .x = (box.left + box.right) / 2,
                             .y = layout->column_title_y};
    draw_centred(svg, title, cell.left, cell.right);
  }
  for (size_t i = 0; i < figure->rows; i++) {
    const oat_box box = figure->panels[i * figure->columns].box, cell = figure->panels[i * figure->columns].cell;
    const oat_label title = {.text = figure->row_title[i],
                             .font = OAT_TITLE_FONT,
                             .x = layout->row_title_x,
                             .y = (box.top + box.bottom) / 2,
                             .turn = 90};
    draw_centred(svg, title, cell.top, cell.bottom);
  }
}

static void draw_figure_labels(const oat_figure *figure, const oat_layout *layout, oat_string *svg) {
  const oat_box area = layout->area, cells = layout->cells;
  const double middle_x = (area.left + area.right) / 2, middle_y = (area.top + area.bottom) / 2;
  if (figure->heading != NULL) {
    oat_svg_label(svg, &(oat_label){.text = figure->heading,
                                    .font = OAT_TITLE_FONT,
                                    .x = area.left,
                                    .y = layout->heading_y,
                                    .room = cells.right - area.left});
  }
  draw_centred(svg, (oat_label){.text = figure->axis_label[OAT_X], .x = middle_x, .y = layout->label_y}, cells.left,
               cells.right);
  const oat_label label = {.text = figure->axis_label[OAT_Y], .x = layout->label_x, .y = middle_y, .turn = -90};
  draw_centred(svg, label, cells.top, cells.bottom);
}

/* Inside a panel, the legend covers the drawing with an almost opaque background. */
static void draw_legend(const oat_figure *figure, const oat_key *key, const oat_layout *layout, oat_string *svg) {
  if (key->n > 0 && figure->legend.place == OAT_LEGEND_INSIDE) {
    const oat_box ground = {layout->key_left - 4, layout->key_top - 1, layout->key_left + key->width + 4,
                            layout->key_top + (double)key->lines * key->line_height + 1};
    oat_string_add(svg, "<g opacity=\".85\">\n");
    draw_rectangle(svg, "bg", ground);
    oat_string_add(svg, "</g>\n");
  }
  oat_key_draw(svg, key, layout->key_left, layout->key_top);
}

static void draw_figure(const oat_figure *figure, const char *prefix, const oat_key *key, oat_string *svg) {
  draw_head(figure, prefix, svg);
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    if (oat_panel_is_used(&figure->panels[i])) {
      draw_panel(&(oat_canvas){svg, &figure->panels[i], prefix});
    }
  }
  draw_grid_titles(figure, &figure->layout, svg);
  draw_figure_labels(figure, &figure->layout, svg);
  draw_legend(figure, key, &figure->layout, svg);
  oat_string_add(svg, "</svg>\n");
}

static oatgp_status check_prefix(oatgp_context *ctx, const char *prefix) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t first = strspn(prefix, letters);
  const char *rest = prefix + first;
  while (*rest != '\0' && strchr("0123456789-_", *rest) != NULL) {
    rest++;
    rest += strspn(rest, letters);
  }
  REFUSE_IF(first == 0 || *rest != '\0', ctx, OATGP_ARGUMENT,
            "'%s' cannot begin the ids of a figure: it must be a letter, then letters, digits, - or _", prefix);
  return OATGP_OK;
}

oatgp_status oat_figure_svg(oat_figure *figure, const char *prefix, oat_string *out) {
  oat_key key = {0};
  oatgp_status status;
  TRY(out->status);
  TRY(check_prefix(figure->ctx, prefix));
  TRY(oat_key_make(figure, &key));
  TRY(oat_figure_lay_out(figure, &key));
  draw_figure(figure, prefix, &key, out);
  status = out->status;
done:
  free(key.entries);
  return status;
}

oatgp_status oat_figure_write(oat_figure *figure, const char *path) {
  oat_string svg = {.ctx = figure->ctx};
  oatgp_status status;
  TRY(oat_figure_svg(figure, "figure", &svg));
  TRY(oat_string_write(&svg, path));
done:
  oat_string_free(&svg);
  return status;
}
