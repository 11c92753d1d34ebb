/* The objective against the number of knots, with every knot that was kept or dropped; against the evaluations if their
 * number did not change. */
#include <math.h>

#include "report/chart.h"

enum { HISTORY_WIDTH = 3 };

/* Points (knots, objective) of the proposals that were kept, in their order, and of those that were dropped. */
typedef struct record {
  oat_scratch memory;
  size_t n_kept, n_dropped;
  double *kept[2], *dropped[2];
} record;

static double history_at(const oat_facts *f, size_t i) { return f->info.history[i * HISTORY_WIDTH + 1]; }

static double highest_of_history(const oat_facts *f) {
  double highest = -INFINITY;
  for (size_t i = 0; i < f->info.history_count; i++) {
    highest = fmax(highest, history_at(f, i));
  }
  return highest;
}

/* The history ends with the fit: the objective of a model that has had rows added since is not in it. */
static bool is_of_the_fit(const oat_facts *f) {
  bool found = false;
  for (size_t i = 0; i < f->info.history_count && !found; i++) {
    found = fabs(history_at(f, i) - f->info.objective) <= 1e-6 * fmax(fabs(f->info.objective), 1);
  }
  return found;
}

static const double *step_of(const oat_facts *f, size_t i) {
  return f->info.selection + i * (OAT_SELECTION_WIDTH + f->d);
}

/* The end of the proposal that begins at this row. Knots that were proposed together have the same evaluations and
 * objective and consecutive numbers. */
static size_t end_of_proposal(const oat_facts *f, size_t first) {
  const double *const begin = step_of(f, first);
  size_t end = first + 1;
  while (end < f->info.selection_count &&
         step_of(f, end)[OAT_SELECTION_EVALUATIONS] == begin[OAT_SELECTION_EVALUATIONS] &&
         step_of(f, end)[OAT_SELECTION_OBJECTIVE] == begin[OAT_SELECTION_OBJECTIVE] &&
         step_of(f, end)[OAT_SELECTION_KNOTS] == begin[OAT_SELECTION_KNOTS] + (double)(end - first)) {
    end++;
  }
  return end;
}

static void add(double *const to[2], size_t *n, double knots, double objective) {
  to[0][*n] = knots;
  to[1][*n] = objective;
  (*n)++;
}

/* The model before the first proposal. A start without knots explains everything as noise. Its objective is so low that
 * the other points could not be told apart, so it is shown only if there are no others. */
static void add_start(const oat_facts *f, record *r) {
  const double *const first = step_of(f, 0);
  const double before = first[OAT_SELECTION_OBJECTIVE] - first[OAT_SELECTION_GAIN],
               knots = first[OAT_SELECTION_KNOTS] - 1;
  if (isfinite(before) && (knots > 0 || end_of_proposal(f, 0) == f->info.selection_count)) {
    add(r->kept, &r->n_kept, knots, before);
  }
}

static oatgp_status make_record(const oat_facts *f, record *r) {
  for (int i = 0; i < 2; i++) {
    r->kept[i] = oat_take_doubles(&r->memory, f->info.selection_count + 1, 1);
    r->dropped[i] = oat_take_doubles(&r->memory, f->info.selection_count + 1, 1);
  }
  PASS_ON(r->memory.status);
  add_start(f, r);
  for (size_t i = 0; i < f->info.selection_count;) {
    i = end_of_proposal(f, i);
    const double *const step = step_of(f, i - 1);
    const bool kept = step[OAT_SELECTION_KEPT] > 0;
    add(kept ? r->kept : r->dropped, kept ? &r->n_kept : &r->n_dropped, step[OAT_SELECTION_KNOTS],
        step[OAT_SELECTION_OBJECTIVE]);
  }
  return OATGP_OK;
}

static size_t panels(const oat_facts *f) { return f->info.selection_count > 0 || f->info.history_count > 0; }

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  oat_string_add(out, f->info.selection_count > 0 ? "Objective and number of knots" : "Objective during the fit");
}

static oatgp_status draw_selection(const oat_facts *f, oat_panel *out) {
  const double knots = (double)f->info.knots;
  record r = {.memory = {.ctx = f->ctx}};
  oatgp_status status;
  TRY(make_record(f, &r));
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "knots", .whole = true}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "objective"}));
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .shape = OAT_CIRCLE, .size = 3.2, .label = "kept"}, r.n_kept,
                     r.kept[0], r.kept[1]));
  if (r.n_dropped > 0) {
    TRY(oat_panel_points(out, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_CROSS, .size = 5, .label = "dropped"},
                         r.n_dropped, r.dropped[0], r.dropped[1]));
  }
  if (is_of_the_fit(f)) {
    TRY(oat_panel_points(out, &(oat_style){.colour = OAT_GREEN, .shape = OAT_RING, .size = 8, .label = "the model"}, 1,
                         &knots, &f->info.objective));
  }
done:
  oat_scratch_free(&r.memory);
  return status;
}

static oatgp_status draw_history(const oat_facts *f, oat_panel *out) {
  const size_t n = f->info.history_count;
  oat_scratch memory = {.ctx = f->ctx};
  double *const evaluations = oat_take_doubles(&memory, n, 1), *const objective = oat_take_doubles(&memory, n, 1);
  oatgp_status status;
  TRY(memory.status);
  for (size_t i = 0; i < n; i++) {
    evaluations[i] = f->info.history[i * HISTORY_WIDTH];
    objective[i] = history_at(f, i);
  }
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "evaluations", .whole = true}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "objective"}));
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_BLUE}, n, evaluations, objective));
done:
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  (void)panel;
  return f->info.selection_count > 0 ? draw_selection(f, out) : draw_history(f, out);
}

static void tell_count(const char *what, size_t proposals, size_t knots, oat_string *out) {
  oat_string_print(out, "%zu %s", proposals, what);
  if (knots > proposals) {
    oat_string_print(out, " (%zu knots)", knots);
  }
}

/* Does every proposal begin again at the first knot? Then each is a whole set, as in an automatic fit. */
static bool are_sets(const oat_facts *f) {
  for (size_t i = 0; i < f->info.selection_count; i = end_of_proposal(f, i)) {
    if (step_of(f, i)[OAT_SELECTION_KNOTS] > 1) {
      return false;
    }
  }
  return true;
}

static void tell_sets(const oat_facts *f, oat_string *out) {
  const size_t count = f->info.selection_count;
  oat_string_add(out, end_of_proposal(f, 0) < count ? "The fit tried sets of " : "The fit tried one set of ");
  for (size_t i = 0, end; i < count; i = end) {
    end = end_of_proposal(f, i);
    oat_string_print(out, "%s%.0f",
                     i == 0        ? ""
                     : end < count ? ", "
                                   : " and ",
                     step_of(f, end - 1)[OAT_SELECTION_KNOTS]);
  }
  oat_string_print(out, " knot%s", oat_plural(f->info.selection_count));
}

static void tell_proposals(const oat_facts *f, oat_string *out) {
  size_t proposals[2] = {0, 0}, knots[2] = {0, 0}; /* dropped, kept */
  for (size_t i = 0, end; i < f->info.selection_count; i = end) {
    const bool kept = step_of(f, i)[OAT_SELECTION_KEPT] > 0;
    end = end_of_proposal(f, i);
    proposals[kept]++;
    knots[kept] += end - i;
  }
  oat_string_add(out,
                 proposals[0] + proposals[1] < f->info.selection_count ? "Every proposal: " : "Every proposed knot: ");
  tell_count("kept", proposals[1], knots[1], out);
  oat_string_add(out, " and ");
  tell_count("dropped", proposals[0], knots[0], out);
}

static void explain_selection(const oat_facts *f, oat_string *out) {
  if (are_sets(f)) {
    tell_sets(f, out);
  } else {
    tell_proposals(f, out);
  }
  oat_string_print(out, ". The model has %zu knot%s", f->info.knots, oat_plural(f->info.knots));
  if (is_of_the_fit(f)) {
    oat_string_print(out, " and the objective %s", oat_number(f->info.objective, 6).text);
  }
  oat_string_add(out, ". Where the curve is flat, more knots would gain little.");
}

static void explain_history(const oat_facts *f, oat_string *out) {
  const double highest = highest_of_history(f);
  const bool rose = highest > history_at(f, 0);
  if (f->info.knots > 0) {
    oat_string_print(out, "The number of knots (%zu) did not change during the fit. ", f->info.knots);
  }
  oat_string_print(out, rose ? "The objective rose to %s" : "No step of the fit raised the objective, which was %s",
                   oat_number(highest, 6).text);
  if (rose) {
    oat_string_print(out, " in %lld evaluations; a flat end means that nothing was left to gain",
                     (long long)f->info.history[(f->info.history_count - 1) * HISTORY_WIDTH]);
  }
  oat_string_add(out, ".");
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  if (f->info.selection_count > 0) {
    explain_selection(f, out);
  } else {
    explain_history(f, out);
  }
  if (!is_of_the_fit(f)) {
    oat_string_print(out, " With the %zu rows that it has now, the objective of the model is %s.", f->info.n,
                     oat_number(f->info.objective, 6).text);
  }
}

const oat_chart oat_chart_objective = {
    .name = "objective",
    .help = "objective against the number of knots, with every kept and dropped one (or against the evaluations)",
    .why =
        "the model holds no history of its objective, because nothing was optimised after the starting values were "
        "found",
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
