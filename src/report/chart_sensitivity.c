/* Sobol' indices of the inputs: shares of the variance of the function, alone and together with others. */
#include "report/chart.h"

static size_t shown(const oat_facts *f) { return f->d < OAT_MAX_NAMES / 2 ? f->d : OAT_MAX_NAMES / 2; }

static size_t panels(const oat_facts *f) { return f->by_total != NULL; }

static oatgp_status draw_bands(const oat_facts *f, oat_panel *out) {
  for (size_t i = 0; i < shown(f); i++) {
    const size_t j = f->by_total[i];
    const double ends[] = {f->indices.total_lower[j], f->indices.total_upper[j]},
                 height[] = {(double)i + 1, (double)i + 1};
    PASS_ON(oat_panel_line(out, &(oat_style){.colour = OAT_INK, .width = 1, .label = "95 % band of the total"}, 2, ends,
                           height));
  }
  return OATGP_OK;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  const size_t n = shown(f);
  oat_scratch memory = {.ctx = f->ctx};
  const char **const names = oat_take(&memory, n, sizeof *names);
  double *const first = oat_take_doubles(&memory, n, 1), *const total = oat_take_doubles(&memory, n, 1);
  double *const place = oat_take_doubles(&memory, n, 1);
  oatgp_status status;
  (void)panel;
  TRY(memory.status);
  for (size_t i = 0; i < n; i++) {
    const size_t j = f->by_total[i];
    names[i] = f->full_name[j];
    first[i] = f->indices.first[j] > 0 ? f->indices.first[j] : 0;
    total[i] = f->indices.total[j];
    place[i] = (double)i + 1;
  }
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.kind = OAT_NAMES, .n_names = n, .names = names}));
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "share of the variance"}));
  TRY(oat_panel_bars(out, &(oat_style){.colour = OAT_SKY, .width = 0.62, .label = "total"}, n, total, place));
  TRY(oat_panel_bars(out, &(oat_style){.colour = OAT_BLUE, .width = 0.34, .label = "alone"}, n, first, place));
  TRY(draw_bands(f, out));
done:
  oat_scratch_free(&memory);
  return status;
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  const size_t most = f->by_total[0];
  (void)panel;
  oat_string_print(out,
                   "When the inputs vary independently and uniformly over their ranges, %s takes part in %s %% of the "
                   "variance of %s, and accounts for %s %% alone (Sobol' indices). Where a total is longer than the "
                   "bar inside it, the input interacts with others; an input whose total is 0 has no effect.",
                   f->name[most], oat_number(100 * f->indices.total[most], 2).text,
                   f->link != NULL ? f->link : "the prediction", oat_number(100 * f->indices.first[most], 2).text);
  if (shown(f) < f->d) {
    oat_string_print(out, " Shown are the %zu largest of %zu inputs.", shown(f), f->d);
  }
}

const oat_chart oat_chart_sensitivity = {
    .name = "sensitivity",
    .help = "Sobol' indices of the inputs: shares of the variance of the function, alone and together",
    .why =
        "Sobol' indices are drawn for several inputs and a model without neighbours (for a model with neighbours, "
        "oatgp "
        "sensitivity gives the indices of the mean)",
    .indices = true,
    .names = shown,
    .panels = panels,
    .title = "Sensitivity to the inputs",
    .draw = draw,
    .explain = explain,
};
