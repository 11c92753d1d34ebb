/* Observed against predicted. */
#include <math.h>

#include "data/data.h"
#include "report/chart.h"

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  double ends[2] = {f->mean[0], f->mean[0]};
  (void)panel;
  for (size_t i = 0; i < f->data->n; i++) {
    ends[0] = fmin(ends[0], f->mean[i]);
    ends[1] = fmax(ends[1], f->mean[i]);
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->expected}));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->full_target}));
  PASS_ON(oat_draw_rows(f, OAT_BLUE, f->mean, f->data->y, out));
  return oat_panel_line(
      out, &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 1, .label = "observed = predicted"}, 2, ends,
      ends);
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  if (f->model->likelihood == NULL) {
    oat_string_print(
        out, "Each point is a row. On the dashed line the prediction is right; the typical distance from it is %s.",
        oat_number(f->scores.rmse, 3).text);
  } else {
    oat_string_print(out,
                     "Each point is a row. The dashed line is the expected value, and rows scatter around it; the "
                     "typical distance from it is %s.",
                     oat_number(f->scores.rmse, 3).text);
  }
  for (size_t i = 0; i < f->n_classes; i++) {
    oat_string_print(out, "%s%zu is %s%s", i > 0 ? ", " : " Of the levels, ", i, f->classes[i],
                     i + 1 == f->n_classes ? "." : "");
  }
  oat_tell_thinned(f, out);
}

const oat_chart oat_chart_observed = {
    .name = "observed",
    .help = "observed against predicted values",
    .needs_data = true,
    .suits = oat_suits_numbers,
    .wants = "targets other than two classes (those have 'reliability' and 'roc')",
    .panels = oat_one_panel,
    .title = "Observed against predicted",
    .draw = draw,
    .explain = explain,
};
