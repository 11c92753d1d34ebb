/* The bounds of the exact log evidence, if they are known. */
#include <math.h>

#include "report/chart.h"

static size_t panels(const oat_facts *f) { return isfinite(f->info.lower) && isfinite(f->info.upper); }

static bool suits(const oat_facts *f) { return f->model->likelihood == NULL; }

/* The objective without the log density of the priors. */
static double evidence_of(const oat_facts *f) { return f->info.objective - f->info.log_prior; }

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  static const char *const names[] = {"model", "exact evidence"};
  const double ends[] = {f->info.lower, f->info.upper}, second[] = {2, 2}, first = 1, own = evidence_of(f);
  (void)panel;
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.kind = OAT_NAMES, .n_names = 2, .names = names}));
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "nats"}));
  PASS_ON(oat_panel_rule(out, &(oat_style){.colour = OAT_GREY, .dash = OAT_DOTTED}, OAT_X, f->info.lower));
  PASS_ON(oat_panel_rule(out, &(oat_style){.colour = OAT_GREY, .dash = OAT_DOTTED}, OAT_X, f->info.upper));
  PASS_ON(oat_panel_line(
      out, &(oat_style){.colour = OAT_BLUE, .width = 5, .opacity = 0.6, .label = "between lower and upper bound"}, 2,
      ends, second));
  return oat_panel_points(
      out, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_DIAMOND, .size = 7, .label = "evidence of the model"}, 1,
      &own, &first);
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  oat_string_print(
      out, "At the parameters of the model, the log evidence of the exact Gaussian process lies between %s and %s.",
      oat_number(f->info.lower, 7).text, oat_number(f->info.upper, 7).text);
  if (oat_approx_bound(f->model->approx)) {
    const double gain = fmax(f->info.upper - evidence_of(f), 0);
    oat_string_print(out, " More knots could raise the bound by at most %s nats, which is %s per row.",
                     oat_number(gain, 3).text, oat_number(gain / (double)f->info.n, 2).text);
  }
}

const oat_chart oat_chart_evidence = {
    .name = "evidence",
    .help = "bounds of the exact log evidence, compared with that of the model",
    .suits = suits,
    .wants = "Gaussian targets",
    .why =
        "the model holds no bounds of the exact log evidence (certify finds them, and a fit with certify keeps them)",
    .panels = panels,
    .title = "How close to the exact Gaussian process",
    .draw = draw,
    .explain = explain,
};
