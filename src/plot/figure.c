/* The figure and its panels: created, described, freed. add.c adds marks, marks.c draws them, layout.c places
 * everything, and draw.c draws the rest. */
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double points_per_mm = 72 / 25.4;

/* ---- a figure -------------------------------------------------------------------------------------------------- */

static oatgp_status check_spec(oatgp_context *ctx, const oat_figure_spec *spec) {
  REFUSE_IF(spec->title == NULL || spec->title[0] == '\0' || spec->description == NULL || spec->description[0] == '\0',
            ctx, OATGP_ARGUMENT, "a figure needs a title and a description, for those who cannot see it");
  REFUSE_IF(spec->rows > OAT_MAX_GRID || spec->columns > OAT_MAX_GRID, ctx, OATGP_ARGUMENT,
            "a figure has at most %d rows and %d columns of panels, not %zu and %zu", OAT_MAX_GRID, OAT_MAX_GRID,
            spec->rows, spec->columns);
  const double sizes[] = {spec->width_mm, spec->height_mm};
  for (int i = 0; i < 2; i++) {
    REFUSE_IF(sizes[i] != 0 && !(sizes[i] >= 20 && sizes[i] <= 2000), ctx, OATGP_ARGUMENT,
              "the %s of a figure must be from 20 to 2000 mm, not %g", i == 0 ? "width" : "height", sizes[i]);
  }
  return OATGP_OK;
}

static oatgp_status fill_figure(oat_figure *figure, const oat_figure_spec *spec) {
  oat_scratch *const memory = &figure->memory;
  figure->rows = spec->rows > 0 ? spec->rows : 1;
  figure->columns = spec->columns > 0 ? spec->columns : 1;
  figure->width = points_per_mm * (spec->width_mm > 0 ? spec->width_mm : 160);
  figure->height = points_per_mm * (spec->height_mm > 0 ? spec->height_mm : 100);
  figure->legend = spec->legend;
  figure->in_page = spec->in_page;
  memcpy(figure->share, spec->share, sizeof figure->share);
  figure->title = oat_take_text(memory, spec->title);
  figure->description = oat_take_text(memory, spec->description);
  figure->heading = oat_take_text(memory, spec->heading);
  figure->panels = oat_take(memory, figure->rows * figure->columns, sizeof *figure->panels);
  PASS_ON(memory->status);
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    figure->panels[i].figure = figure;
    figure->panels[i].row = i / figure->columns;
    figure->panels[i].column = i % figure->columns;
  }
  return OATGP_OK;
}

oatgp_status oat_figure_create(oatgp_context *ctx, const oat_figure_spec *spec, oat_figure **out) {
  oat_figure *figure = NULL;
  oatgp_status status;
  TRY(check_spec(ctx, spec));
  TRY(oat_new(ctx, 1, sizeof *figure, &figure));
  figure->ctx = figure->memory.ctx = ctx;
  TRY(fill_figure(figure, spec));
  if (figure->legend.row >= figure->rows || figure->legend.column >= figure->columns) {
    TRY(oat_fail(ctx, OATGP_ARGUMENT, "the legend's panel (%zu, %zu) is outside the %zu x %zu panels of the figure",
                 figure->legend.row, figure->legend.column, figure->rows, figure->columns));
  }
  *out = figure;
  figure = NULL;
done:
  oat_figure_free(figure);
  return status;
}

void oat_figure_free(oat_figure *figure) {
  if (figure == NULL) {
    return;
  }
  for (size_t i = 0; figure->panels != NULL && i < figure->rows * figure->columns; i++) {
    free(figure->panels[i].marks);
  }
  oat_scratch_free(&figure->memory);
  free(figure);
}

/* ---- panels and titles ----------------------------------------------------------------------------------------- */

oat_panel *oat_figure_panel(oat_figure *figure, size_t row, size_t column) {
  if (row >= figure->rows || column >= figure->columns) {
    oat_fail(figure->ctx, OATGP_ARGUMENT, "there is no panel (%zu, %zu) in a figure of %zu x %zu", row, column,
             figure->rows, figure->columns);
    return NULL;
  }
  return &figure->panels[row * figure->columns + column];
}

static oatgp_status set_text(oat_figure *figure, char **place, const char *text) {
  *place = oat_take_text(&figure->memory, text);
  return figure->memory.status;
}

oatgp_status oat_figure_column_title(oat_figure *figure, size_t column, const char *text) {
  const bool inside = oat_figure_panel(figure, 0, column) != NULL;
  return inside ? set_text(figure, &figure->column_title[column], text) : OATGP_ARGUMENT;
}

oatgp_status oat_figure_row_title(oat_figure *figure, size_t row, const char *text) {
  const bool inside = oat_figure_panel(figure, row, 0) != NULL;
  return inside ? set_text(figure, &figure->row_title[row], text) : OATGP_ARGUMENT;
}

oatgp_status oat_panel_title(oat_panel *panel, const char *text) {
  return panel != NULL ? set_text(panel->figure, &panel->title, text) : OATGP_ARGUMENT;
}

/* ---- axes ------------------------------------------------------------------------------------------------------ */

static oatgp_status check_axis(oatgp_context *ctx, oat_direction direction, const oat_axis *axis) {
  const char name = direction == OAT_X ? 'x' : 'y';
  if (axis->kind == OAT_NAMES) {
    const bool good = axis->names != NULL && axis->n_names > 0 && axis->n_names <= OAT_MAX_NAMES;
    return good ? OATGP_OK
                : oat_fail(ctx, OATGP_ARGUMENT, "the %c axis must have 1 to %d names, not %zu", name, OAT_MAX_NAMES,
                           axis->n_names);
  }
  if (axis->low == axis->high) {
    return OATGP_OK;
  }
  const double ends[] = {axis->low, axis->high};
  for (int i = 0; i < 2; i++) {
    REFUSE_IF(!isnan(ends[i]) && isnan(oat_scale_transform(axis->kind, ends[i])), ctx, OATGP_ARGUMENT,
              "the %c axis cannot end at %g: %s", name, ends[i],
              axis->kind == OAT_LOG10 ? "a logarithmic axis has positive numbers only" : "the limit is 1e300");
  }
  REFUSE_IF(axis->low > axis->high, ctx, OATGP_ARGUMENT,
            "the %c axis cannot go from %g to %g: the lower end comes first", name, axis->low, axis->high);
  REFUSE_IF(axis->high - axis->low < 1e-9 * fmax(fabs(axis->low), fabs(axis->high)), ctx, OATGP_ARGUMENT,
            "the ends of the %c axis, %.17g and %.17g, are too close for ticks", name, axis->low, axis->high);
  return OATGP_OK;
}

static oatgp_status set_axis(oat_panel *panel, oat_direction direction, const oat_axis *axis) {
  oat_scratch *const memory = &panel->figure->memory;
  const size_t n_names = axis->kind == OAT_NAMES ? axis->n_names : 0;
  const char **const names = n_names > 0 ? oat_take(memory, n_names, sizeof *names) : NULL;
  for (size_t i = 0; names != NULL && i < n_names; i++) {
    names[i] = oat_take_text(memory, axis->names[i] != NULL ? axis->names[i] : "");
  }
  oat_axis copy = *axis;
  copy.label = oat_take_text(memory, axis->label);
  copy.names = names;
  copy.n_names = n_names;
  PASS_ON(memory->status);
  panel->axis[direction] = copy;
  return OATGP_OK;
}

oatgp_status oat_panel_axis(oat_panel *panel, oat_direction direction, const oat_axis *axis) {
  if (panel == NULL) {
    return OATGP_ARGUMENT;
  }
  PASS_ON(check_axis(panel->figure->ctx, direction, axis));
  return set_axis(panel, direction, axis);
}

oatgp_status oat_figure_axis(oat_figure *figure, oat_direction direction, const oat_axis *axis) {
  oat_axis unlabelled = *axis;
  unlabelled.label = NULL;
  PASS_ON(check_axis(figure->ctx, direction, axis));
  for (size_t i = 0; i < figure->rows * figure->columns; i++) {
    PASS_ON(set_axis(&figure->panels[i], direction, &unlabelled));
  }
  return set_text(figure, &figure->axis_label[direction], axis->label);
}
