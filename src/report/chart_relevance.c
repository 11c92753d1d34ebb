/* The relevance of the inputs: 1 / lengthscale of each, for inputs that are standardised. */
#include "report/chart.h"

static size_t shown(const oat_facts *f) { return f->d < OAT_MAX_NAMES / 2 ? f->d : OAT_MAX_NAMES / 2; }

static size_t panels(const oat_facts *f) { return f->info.lengthscale_count == f->d && f->d > 1; }

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  const size_t n = shown(f);
  oat_scratch memory = {.ctx = f->ctx};
  const char **const names = oat_take(&memory, n, sizeof *names);
  double *const length = oat_take_doubles(&memory, n, 1), *const place = oat_take_doubles(&memory, n, 1);
  oatgp_status status;
  (void)panel;
  TRY(memory.status);
  for (size_t i = 0; i < n; i++) {
    names[i] = f->full_name[f->order[i]];
    length[i] = 1 / f->info.lengthscales[f->order[i]];
    place[i] = (double)i + 1;
  }
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.kind = OAT_NAMES, .n_names = n, .names = names}));
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "1 / lengthscale (inputs standardised)"}));
  TRY(oat_panel_bars(out, &(oat_style){.colour = OAT_BLUE, .opacity = 0.8, .width = 0.62}, n, length, place));
done:
  oat_scratch_free(&memory);
  return status;
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  const size_t first = f->order[0], last = f->order[f->d - 1];
  (void)panel;
  oat_string_print(out,
                   "The longer the bar, the faster the prediction changes with that input. It changes fastest with %s, "
                   "whose lengthscale is %s in its own units, and slowest with %s (%s).",
                   f->name[first], oat_number(f->info.lengthscales[first] * f->info.input_scale[first], 3).text,
                   f->name[last], oat_number(f->info.lengthscales[last] * f->info.input_scale[last], 3).text);
  if (shown(f) < f->d) {
    oat_string_print(out, " Shown are the %zu most relevant of %zu inputs.", shown(f), f->d);
  }
}

const oat_chart oat_chart_relevance = {
    .name = "relevance",
    .help = "relevance of the inputs: 1 / lengthscale of each",
    .why =
        "relevances are those of a kernel with a lengthscale for each of several inputs, such as one whose name ends "
        "with -ard",
    .names = shown,
    .panels = panels,
    .title = "Relevance of the inputs",
    .draw = draw,
    .explain = explain,
};
