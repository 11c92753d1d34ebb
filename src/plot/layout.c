/* Where everything goes. Ticks depend on the size of the panels, and the labels of the ticks reduce that size, so both
 * are computed in turn. That settles after two or three rounds. If it does not, from some round on the room for labels
 * can only grow, so that it is enough. */
#include "plot/figure.h"

#include <math.h>

static const double edge = 4, gap = 7, line = 1.35 * OAT_LABEL_SIZE;

/* Room around the panels of each column (left, right) and row (top, bottom). */
typedef struct margins {
  double left[OAT_MAX_GRID], right[OAT_MAX_GRID], top[OAT_MAX_GRID], bottom[OAT_MAX_GRID];
} margins;

/* ---- which panels belong together ------------------------------------------------------------------------------ */

bool oat_panel_is_used(const oat_panel *panel) { return panel->n_marks > 0; }

bool oat_panel_shows_axis(const oat_panel *panel, oat_direction direction) {
  const oat_figure *const figure = panel->figure;
  if (figure->share[direction] == OAT_SHARE_NONE) {
    return true;
  }
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    const oat_panel *const other = &figure->panels[i];
    const bool beyond = direction == OAT_X ? other->column == panel->column && other->row > panel->row
                                           : other->row == panel->row && other->column < panel->column;
    if (beyond && oat_panel_is_used(other)) {
      return false;
    }
  }
  return true;
}

static bool share_axis(const oat_panel *a, const oat_panel *b, oat_direction direction) {
  switch (a->figure->share[direction]) {
    case OAT_SHARE_ALL:
      return true;
    case OAT_SHARE_LINE:
      return direction == OAT_X ? a->column == b->column : a->row == b->row;
    default:
      return a == b;
  }
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

static oatgp_status check_shared(const oat_panel *a, const oat_panel *b, oat_direction direction) {
  if (a->axis[direction].kind == b->axis[direction].kind && a->axis[direction].n_names == b->axis[direction].n_names) {
    return OATGP_OK;
  }
  return oat_fail(a->figure->ctx, OATGP_ARGUMENT,
                  "panels (%zu, %zu) and (%zu, %zu) share the %c axis, but use different kinds of it", a->row,
                  a->column, b->row, b->column, direction == OAT_X ? 'x' : 'y');
}

/* Sets the limits of the axis that begins with this panel in all panels that share it. The limits requested for the
 * first panel apply. */
static oatgp_status set_limits(oat_panel *first, oat_direction direction) {
  oat_figure *const figure = first->figure;
  const size_t n_panels = figure->rows * figure->columns;
  const oat_axis *const axis = &first->axis[direction];
  oat_range range = {INFINITY, -INFINITY, false};
  for (size_t i = 0; i < n_panels; i++) {
    const oat_panel *const panel = &figure->panels[i];
    if (!oat_panel_is_used(panel) || !share_axis(first, panel, direction)) {
      continue;
    }
    PASS_ON(check_shared(first, panel, direction));
    for (size_t k = 0; k < panel->n_marks; k++) {
      oat_mark_extend(&panel->marks[k], direction, axis->kind, &range);
    }
  }
  const oat_range limits = oat_axis_limits(axis, direction, range);
  for (size_t i = 0; i < n_panels; i++) {
    if (share_axis(first, &figure->panels[i], direction)) {
      figure->panels[i].scale[direction] = (oat_scale){.kind = axis->kind, .low = limits.low, .high = limits.high};
    }
  }
  return OATGP_OK;
}

static bool is_first(const oat_panel *panel, oat_direction direction) {
  for (const oat_panel *before = panel->figure->panels; before < panel; before++) {
    if (oat_panel_is_used(before) && share_axis(before, panel, direction)) {
      return false;
    }
  }
  return true;
}

static oatgp_status set_all_limits(oat_figure *figure) {
  size_t used = 0;
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    oat_panel *const panel = &figure->panels[i];
    used += oat_panel_is_used(panel);
    for (int d = OAT_X; d <= OAT_Y; d++) {
      if (oat_panel_is_used(panel) && is_first(panel, (oat_direction)d)) {
        PASS_ON(set_limits(panel, (oat_direction)d));
      }
    }
  }
  REFUSE_IF(used == 0, figure->ctx, OATGP_ARGUMENT, "the figure '%s' has no marks in any panel", figure->title);
  return OATGP_OK;
}

/* ---- room for labels ------------------------------------------------------------------------------------------- */

static double widest_label(const oat_ticks *ticks) {
  double widest = 0;
  for (size_t i = 0; i < ticks->n; i++) {
    widest = fmax(widest, oat_tick_width(&ticks->tick[i]));
  }
  return widest;
}

static void need(double *room, double wanted) { *room = fmax(*room, wanted); }

/* Labels below the panel: their height, and how far the outermost stick out at the sides. */
static double x_labels_height(const oat_panel *panel) {
  const oat_ticks *const ticks = &panel->ticks[OAT_X];
  const double height = ticks->tilted ? OAT_TILT_SINE * widest_label(ticks) + OAT_TICK_SIZE : 1.1 * OAT_TICK_SIZE;
  return OAT_TICK_GAP_X + height + (panel->axis[OAT_X].label != NULL ? line : 0);
}

static void measure_x(const oat_panel *panel, margins *m) {
  const oat_ticks *const ticks = &panel->ticks[OAT_X];
  need(&m->bottom[panel->row], x_labels_height(panel));
  for (size_t i = 0; i < ticks->n; i++) {
    const double width = oat_tick_width(&ticks->tick[i]), at = ticks->tick[i].at;
    need(&m->left[panel->column], panel->box.left - (at - (ticks->tilted ? OAT_TILT_COSINE * width : width / 2)));
    need(&m->right[panel->column], ticks->tilted ? 0 : at + width / 2 - panel->box.right);
  }
}

static void measure_y(const oat_panel *panel, margins *m) {
  const double label = panel->axis[OAT_Y].label != NULL ? line + 2 : 0;
  need(&m->left[panel->column], OAT_TICK_GAP_Y + widest_label(&panel->ticks[OAT_Y]) + label);
}

static void measure(const oat_figure *figure, margins *m) {
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    const oat_panel *const panel = &figure->panels[i];
    if (!oat_panel_is_used(panel)) {
      continue;
    }
    need(&m->top[panel->row], panel->title != NULL ? line + 1 : OAT_TICK_SIZE / 2.0);
    need(&m->bottom[panel->row], OAT_TICK_SIZE / 2.0);
    if (oat_panel_shows_axis(panel, OAT_X)) {
      measure_x(panel, m);
    }
    if (oat_panel_shows_axis(panel, OAT_Y)) {
      measure_y(panel, m);
    }
  }
}

static bool any_title(char *const *titles) {
  for (size_t i = 0; i < OAT_MAX_GRID; i++) {
    if (titles[i] != NULL) {
      return true;
    }
  }
  return false;
}

/* ---- boxes ----------------------------------------------------------------------------------------------------- */

/* Places the parts of the whole figure, from the page inwards. */
static void place_surroundings(const oat_figure *figure, const oat_key *key, oat_layout *layout) {
  oat_box area = {edge, edge, figure->width - edge, figure->height - edge};
  const bool outside = key->n > 0 && figure->legend.place != OAT_LEGEND_INSIDE;
  if (outside && figure->legend.place == OAT_LEGEND_RIGHT) {
    layout->key_left = area.right - key->width;
    area.right = layout->key_left - 10;
  }
  if (outside && figure->legend.place == OAT_LEGEND_BELOW) {
    layout->key_top = area.bottom - (double)key->lines * key->line_height;
    area.bottom = layout->key_top - 4;
  }
  area.top += figure->heading != NULL ? line + 3 : 0;
  layout->heading_y = area.top - 6;
  area.top += any_title(figure->column_title) ? line + 1 : 0;
  layout->column_title_y = area.top - 3.5;
  area.bottom -= figure->axis_label[OAT_X] != NULL ? line + 1 : 0;
  layout->label_y = area.bottom + line - 2;
  layout->label_x = area.left + OAT_LABEL_SIZE;
  area.left += figure->axis_label[OAT_Y] != NULL ? line + 2 : 0;
  area.right -= any_title(figure->row_title) ? line + 2 : 0;
  layout->area = area;
}

/* The largest share of a panel's part of the area for names. */
static const double most_for_names = 0.4;

static void place_scales(oat_panel *panel) {
  const oat_figure *const figure = panel->figure;
  const oat_box box = panel->box, area = figure->layout.area;
  panel->scale[OAT_X].name_room = most_for_names * (area.bottom - area.top) / (double)figure->rows / OAT_TILT_SINE;
  panel->scale[OAT_Y].name_room = most_for_names * (area.right - area.left) / (double)figure->columns;
  panel->scale[OAT_X].from = box.left;
  panel->scale[OAT_X].to = box.right;
  panel->scale[OAT_Y].from = box.bottom;
  panel->scale[OAT_Y].to = box.top;
  for (int d = OAT_X; d <= OAT_Y; d++) {
    oat_axis_ticks(&panel->axis[d], &panel->scale[d], (oat_direction)d, &panel->ticks[d]);
  }
}

/* The length of each of `count` panels, without the margins and gaps. */
static double panel_size(double length, size_t count, const double *before, const double *after) {
  length -= gap * (double)(count - 1);
  for (size_t i = 0; i < count; i++) {
    length -= before[i] + after[i];
  }
  return length / (double)count;
}

static oatgp_status place_panels(oat_figure *figure, const oat_layout *layout, const margins *m) {
  const oat_box area = layout->area;
  const double width = panel_size(area.right - area.left, figure->columns, m->left, m->right);
  const double height = panel_size(area.bottom - area.top, figure->rows, m->top, m->bottom);
  REFUSE_IF(!(width >= 20 && height >= 20), figure->ctx, OATGP_ARGUMENT,
            "the figure '%s' is too small: its panels would be %.0f x %.0f points, and need 20 x 20; make it larger or "
            "its labels shorter",
            figure->title, width, height);
  double top = area.top;
  for (size_t row = 0; row < figure->rows; row++) {
    top += m->top[row];
    double left = area.left;
    for (size_t column = 0; column < figure->columns; column++) {
      oat_panel *const panel = &figure->panels[row * figure->columns + column];
      left += m->left[column];
      panel->box = (oat_box){left, top, left + width, top + height};
      panel->cell = (oat_box){left - m->left[column], top - m->top[row], left + width + m->right[column],
                              top + height + m->bottom[row]};
      panel->label_x = left - m->left[column] + OAT_LABEL_SIZE;
      left += width + m->right[column] + gap;
      if (oat_panel_is_used(panel)) {
        place_scales(panel);
        panel->label_y = panel->box.bottom + x_labels_height(panel) - 2;
      }
    }
    top += height + m->bottom[row] + gap;
  }
  return OATGP_OK;
}

/* The legend inside a panel, in a corner of it; outside, beside or below the boxes. */
static void place_key(const oat_figure *figure, oat_key *key, oat_layout *layout) {
  const oat_legend legend = figure->legend;
  const oat_box box = figure->panels[legend.row * figure->columns + legend.column].box;
  if (legend.place == OAT_LEGEND_INSIDE) {
    key->width = fmin(key->width, box.right - box.left - 14);
  }
  const double width = key->width, height = (double)key->lines * key->line_height;
  const bool right = legend.corner == OAT_TOP_RIGHT || legend.corner == OAT_BOTTOM_RIGHT;
  const bool top = legend.corner == OAT_TOP_LEFT || legend.corner == OAT_TOP_RIGHT;
  switch (legend.place) {
    case OAT_LEGEND_INSIDE:
      layout->key_left = right ? box.right - width - 7 : box.left + 7;
      layout->key_top = top ? box.top + 4 : box.bottom - height - 4;
      break;
    case OAT_LEGEND_BELOW:
      layout->key_left =
          fmax(edge, fmin((layout->area.left + layout->area.right - width) / 2, figure->width - edge - width));
      break;
    default:
      layout->key_top = fmax(edge, (layout->area.top + layout->area.bottom - height) / 2);
  }
}

static oatgp_status check_key(const oat_figure *figure, const oat_key *key) {
  const oat_box box = figure->panels[figure->legend.row * figure->columns + figure->legend.column].box;
  const double height = (double)key->lines * key->line_height;
  const double room = figure->legend.place == OAT_LEGEND_INSIDE ? box.bottom - box.top : figure->height - 2 * edge;
  if (height <= room) {
    return OATGP_OK;
  }
  return oat_fail(figure->ctx, OATGP_ARGUMENT,
                  "the %zu entries in the legend of the figure '%s' need a height of %.0f points and have %.0f; make "
                  "it higher or put the legend below",
                  key->n, figure->title, height, room);
}

static oat_box around(oat_box first, oat_box last) { return (oat_box){first.left, first.top, last.right, last.bottom}; }

oatgp_status oat_figure_lay_out(oat_figure *figure, oat_key *key) {
  oat_layout *const layout = &figure->layout;
  margins m = {0};
  PASS_ON(set_all_limits(figure));
  place_surroundings(figure, key, layout);
  for (int turn = 0; turn < 8; turn++) {
    PASS_ON(place_panels(figure, layout, &m));
    if (turn < 4) {
      m = (margins){0};
    }
    measure(figure, &m);
  }
  PASS_ON(place_panels(figure, layout, &m));
  layout->row_title_x = layout->area.right + 4;
  const oat_panel *const last = &figure->panels[figure->rows * figure->columns - 1];
  layout->area = around(figure->panels[0].box, last->box);
  layout->cells = around(figure->panels[0].cell, last->cell);
  PASS_ON(check_key(figure, key));
  place_key(figure, key, layout);
  return OATGP_OK;
}
