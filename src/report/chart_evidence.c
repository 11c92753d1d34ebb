/* The bracket of the exact log evidence, when it is known. */
#include <math.h>

#include "report/chart.h"

static size_t panels(const oat_facts *f) { return isfinite(f->info.lower) && isfinite(f->info.upper); }

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  static const char *const names[] = {"objective", "exact evidence"};
  const double ends[] = {f->info.lower, f->info.upper}, second[] = {2, 2}, first = 1;
  (void)panel;
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.kind = OAT_NAMES, .n_names = 2, .names = names}));
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "nats"}));
  PASS_ON(oat_panel_rule(out, &(oat_style){.colour = OAT_GREY, .dash = OAT_DOTTED}, OAT_X, f->info.lower));
  PASS_ON(oat_panel_rule(out, &(oat_style){.colour = OAT_GREY, .dash = OAT_DOTTED}, OAT_X, f->info.upper));
  PASS_ON(oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .width = 5, .opacity = 0.6, .label = "between lower and upper bound"}, 2,
                         ends, second));
  return oat_panel_points(out, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_DIAMOND, .size = 7, .label = "objective of the model"}, 1,
                          &f->info.objective, &first);
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  oat_string_print(out, "At the parameters of the model, the log evidence of the exact Gaussian process lies between %s and %s.",
                   oat_number(f->info.lower, 7).text, oat_number(f->info.upper, 7).text);
  if (oat_approx_bound(f->model->approx)) {
    const double gain = fmax(f->info.upper - f->info.objective, 0);
    oat_string_print(out, " More knots could raise the objective by at most %s nats, which is %s for each row.", oat_number(gain, 3).text,
                     oat_number(gain / (double)f->info.n, 2).text);
  }
}

const oat_chart oat_chart_evidence = {
    .name = "evidence",
    .help = "bounds of the exact log evidence beside the objective",
    .why = "the bounds of the exact log evidence are not known: they are found, and kept with the model, by oatgp fit --certify",
    .panels = panels,
    .title = "How near the exact Gaussian process",
    .draw = draw,
    .explain = explain,
};
