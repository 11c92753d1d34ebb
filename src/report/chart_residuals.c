/* Residuals, in standard deviations of their prediction or as normal quantiles, against the prediction. */
#include <math.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "report/chart.h"

enum { FAR = 4 }; /* standard deviations from which on a row is called far */

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  static const oat_style middle = {.colour = OAT_INK, .width = 0.8};
  static const oat_style ends = {
      .colour = OAT_INK, .dash = OAT_DASHED, .width = 0.8, .label = "95 % should lie between"};
  const double width = oat_normal_quantile(0.975);
  (void)panel;
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->expected}));
  PASS_ON(oat_panel_axis(
      out, OAT_Y, &(oat_axis){.label = f->model->likelihood == NULL ? "residual / its sd" : "quantile residual"}));
  PASS_ON(oat_draw_rows(f, OAT_BLUE, f->mean, f->quantile, out));
  PASS_ON(oat_panel_rule(out, &middle, OAT_Y, 0));
  PASS_ON(oat_panel_rule(out, &ends, OAT_Y, width));
  return oat_panel_rule(out, &ends, OAT_Y, -width);
}

/* Describes a residual in a sentence. */
static void tell_residual(const oat_facts *f, oat_string *out) {
  if (f->model->likelihood == NULL) {
    oat_string_add(out, "Observed minus predicted, in standard deviations.");
    return;
  }
  oat_string_print(
      out, "Where the observed %s lies in its predictive distribution, as a quantile of the standard normal one.",
      f->target);
  oat_string_print(
      out,
      oat_facts_two_classes(f)
          ? " Each of the two classes has a range of it; the place within that range is random, but the same each time."
      : oat_facts_discrete(f)
          ? " Each whole number has a range of it; the place within that range is random, but the same each time."
          : "");
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  size_t far = 0;
  (void)panel;
  for (size_t i = 0; i < f->data->n; i++) {
    far += fabs(f->quantile[i]) > FAR;
  }
  tell_residual(f, out);
  oat_string_add(out, " There should be no pattern, and 95 % of the rows between the dashed lines. ");
  if (far == 0) {
    oat_string_print(out, "No row is further away than %d.", FAR);
  } else {
    oat_string_print(out,
                     far == 1 ? "%zu row is further away than %d and worth a look."
                              : "%zu rows are further away than %d and worth a look.",
                     far, FAR);
  }
  oat_tell_thinned(f, out);
}

const oat_chart oat_chart_residuals = {
    .name = "residuals",
    .help = "residuals over their standard deviations (or as normal quantiles), against the predictions",
    .needs_data = true,
    .panels = oat_one_panel,
    .title = "Residuals",
    .draw = draw,
    .explain = explain,
};
