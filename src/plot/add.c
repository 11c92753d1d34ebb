/* Adds marks to a panel: checks and copies them. */
#include <string.h>

#include "plot/figure.h"

/* The arrays of a mark before they are copied: n values each, but `x_more` more of x. */
typedef struct arrays {
  const double *x, *y, *z;
  size_t x_more;
} arrays;

static const double *copy_values(oat_scratch *memory, size_t n, const double *values) {
  double *const copy = values != NULL ? oat_take_doubles(memory, n, 1) : NULL;
  return copy != NULL && n > 0 ? memcpy(copy, values, n * sizeof *copy) : copy;
}

static oatgp_status check_style(oatgp_context *ctx, const oat_style *style) {
  const struct {
    const char *name;
    double value, most;
  } fields[] = {{"colour", style->colour, OAT_COLOURS - 1},
                {"dash", style->dash, OAT_DASHES - 1},
                {"shape", style->shape, OAT_SHAPES - 1},
                {"width", style->width, 100},
                {"size", style->size, 100},
                {"opacity", style->opacity, 1}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    REFUSE_IF(!(fields[i].value >= 0 && fields[i].value <= fields[i].most), ctx, OATGP_ARGUMENT,
              "the %s of a mark must be from 0 to %g, not %g", fields[i].name, fields[i].most, fields[i].value);
  }
  return OATGP_OK;
}

/* `mark` has kind, place and n; the other arguments have the rest. */
static oatgp_status add_mark(oat_panel *panel, const oat_style *style, oat_mark mark, arrays a) {
  if (panel == NULL) {
    return OATGP_ARGUMENT;
  }
  oatgp_context *const ctx = panel->figure->ctx;
  oat_scratch *const memory = &panel->figure->memory;
  PASS_ON(check_style(ctx, style));
  PASS_ON(oat_grow(ctx, panel->n_marks + 1, sizeof *panel->marks, &panel->mark_capacity, &panel->marks));
  mark.style = *style;
  mark.style.label = oat_take_text(memory, style->label);
  mark.style.tooltip = oat_take_text(memory, style->tooltip);
  mark.x = copy_values(memory, mark.n + a.x_more, a.x);
  mark.y = copy_values(memory, mark.n, a.y);
  mark.z = copy_values(memory, mark.n, a.z);
  PASS_ON(memory->status);
  panel->marks[panel->n_marks++] = mark;
  return OATGP_OK;
}

oatgp_status oat_panel_line(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_LINE, .n = n}, (arrays){.x = x, .y = y});
}

oatgp_status oat_panel_points(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_POINTS, .n = n}, (arrays){.x = x, .y = y});
}

oatgp_status oat_panel_numbered(oat_panel *panel, const oat_style *style, size_t n, const double *const xy[2],
                                const double *numbers) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_POINTS, .n = n},
                  (arrays){.x = xy[0], .y = xy[1], .z = numbers});
}

oatgp_status oat_panel_tiles(oat_panel *panel, const oat_style *style, size_t n, const double *sides, oat_limits y) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_TILES, .n = n},
                  (arrays){.x = sides, .y = y.low, .z = y.high, .x_more = n});
}

oatgp_status oat_panel_band(oat_panel *panel, const oat_style *style, size_t n, const double *x, oat_limits y) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_BAND, .n = n}, (arrays){.x = x, .y = y.low, .z = y.high});
}

oatgp_status oat_panel_columns(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_COLUMNS, .n = n}, (arrays){.x = x, .y = y});
}

oatgp_status oat_panel_bars(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_BARS, .n = n}, (arrays){.x = x, .y = y});
}

oatgp_status oat_panel_rule(oat_panel *panel, const oat_style *style, oat_direction direction, double at) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_RULE, .place = (int)direction, .n = 1}, (arrays){.x = &at});
}

oatgp_status oat_panel_rug(oat_panel *panel, const oat_style *style, oat_edge edge, size_t n, const double *at) {
  return add_mark(panel, style, (oat_mark){.kind = OAT_MARK_RUG, .place = (int)edge, .n = n}, (arrays){.x = at});
}
