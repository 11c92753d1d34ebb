/* Observed against predicted. */
#include <stdlib.h>

#include "data/data.h"
#include "report/chart.h"
#include "util/memory.h"

static void title(const oat_facts *f, size_t panel, oat_string *out) {
  (void)f;
  (void)panel;
  oat_string_add(out, "Observed against predicted");
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  double *mean = NULL, *y = NULL, *number = NULL;
  oatgp_status status;
  (void)panel;
  TRY(oat_facts_shown(f, f->mean, &mean));
  TRY(oat_facts_shown(f, f->data->y, &y));
  TRY(oat_new_matrix(f->ctx, f->n_shown, 1, &number));
  double ends[2] = {mean[0], mean[0]};
  for (size_t i = 0; i < f->n_shown; i++) {
    number[i] = (double)f->shown[i] + 1;
    ends[0] = mean[i] < ends[0] ? mean[i] : ends[0];
    ends[1] = mean[i] > ends[1] ? mean[i] : ends[1];
  }
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "predicted"}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->target}));
  TRY(oat_panel_numbered(out, &(oat_style){.colour = OAT_BLUE, .size = 3, .opacity = oat_point_opacity(f), .label = "rows"}, f->n_shown,
                         (const double *const[]){mean, y}, number));
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 1, .label = "observed = predicted"}, 2, ends, ends));
done:
  free(mean);
  free(y);
  free(number);
  return status;
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  oat_string_add(out, "Each point is a row. Near the dashed line the prediction was right; the typical distance from it is ");
  oat_string_number(out, f->scores.rmse, 3);
  oat_string_add(out, ".");
  oat_tell_thinned(f, out);
}

const oat_chart oat_chart_observed = {
    .name = "observed",
    .help = "observed against predicted values",
    .needs_data = true,
    .panels = oat_one_panel,
    .title = title,
    .draw = draw,
    .explain = explain,
};
