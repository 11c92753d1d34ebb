/* The report: one self-contained HTML page. Its contents come from the model file and the given rows. The figures are
 * those of chart.h, each panel in a frame of its own, so that they stand one below the other on a phone and side by
 * side on a desktop. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/data.h"
#include "oat_page.h"
#include "report/page.h"

enum { DIGITS = 4, MOST_TABLE_INPUTS = 6 };

typedef oat_page page;

/* ---- elements -------------------------------------------------------------------------------------------------- */

static void add(page *p, const char *html) { oat_string_add(&p->html, html); }

static void add_text(page *p, const char *text) { oat_svg_text(&p->html, text); }

static void add_heading(page *p, const char *id, const char *text) {
  oat_string_print(&p->html, "<h2 id=\"%s\">%s</h2>\n", id, text);
}

/* ---- figures --------------------------------------------------------------------------------------------------- */

static oatgp_status add_figure(page *p, const oat_chart *chart, size_t panel) {
  oat_string title = {.ctx = p->f->ctx}, text = {.ctx = p->f->ctx};
  oat_figure *figure = NULL;
  char prefix[24];
  oatgp_status status;
  snprintf(prefix, sizeof prefix, "figure%zu", ++p->figures);
  oat_chart_title(chart, p->f, panel, &title);
  chart->explain(p->f, panel, &text);
  TRY(title.status);
  TRY(text.status);
  TRY(oat_chart_figure(chart, p->f, panel, &figure));
  add(p, "<figure>\n<h3>");
  add_text(p, title.text);
  add(p, "</h3>\n");
  TRY(oat_figure_svg(figure, prefix, &p->html));
  add(p, "<figcaption>");
  add_text(p, text.text);
  add(p, "</figcaption>\n</figure>\n");
done:
  oat_figure_free(figure);
  oat_string_free(&title);
  oat_string_free(&text);
  return status;
}

/* All panels of the charts that suit the target; if a chart has no panels, the reason. */
static oatgp_status add_figures(page *p, size_t count, const oat_chart *const *charts) {
  size_t frames = 0;
  for (size_t i = 0; i < count; i++) {
    frames += oat_chart_panels(charts[i], p->f);
  }
  oat_string_print(&p->html, "<div class=\"cards%s\">\n", frames == 2 || frames == 4 ? " pairs" : "");
  for (size_t i = 0; i < count; i++) {
    for (size_t panel = 0; panel < oat_chart_panels(charts[i], p->f); panel++) {
      PASS_ON(add_figure(p, charts[i], panel));
    }
  }
  add(p, "</div>\n");
  for (size_t i = 0; i < count; i++) {
    if (oat_chart_panels(charts[i], p->f) == 0 && (charts[i]->suits == NULL || charts[i]->suits(p->f))) {
      oat_string_print(&p->html, "<p>%c%s.</p>\n", toupper((unsigned char)*charts[i]->why), charts[i]->why + 1);
    }
  }
  return OATGP_OK;
}

/* ---- what it is ------------------------------------------------------------------------------------------------ */

static const char *describe_approx(const char *name) {
  static const char *const sentences[][2] = {
      {"full", "the exact Gaussian process"},
      {"vfe", "a sparse Gaussian process whose objective is a lower bound of the exact log evidence"},
      {"tvfe", "a sparse Gaussian process whose objective is a tighter lower bound of the exact log evidence"},
      {"dtc", "a sparse Gaussian process: deterministic training conditional"},
      {"dic", "a sparse Gaussian process: deterministic inducing conditional"},
      {"fitc", "a sparse Gaussian process: fully independent training conditional"},
      {"fic", "a sparse Gaussian process: fully independent conditional"},
      {"pep", "a sparse Gaussian process by power expectation propagation"},
  };
  for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
    if (strcmp(sentences[i][0], name) == 0) {
      return sentences[i][1];
    }
  }
  return "";
}

static void begin_row(page *p, const char *name) {
  oat_string_print(&p->html, "<tr><th scope=\"row\">%s</th><td>", name);
}

static void end_row(page *p) { add(p, "</td></tr>\n"); }

static void add_text_row(page *p, const char *name, const char *text, const char *more) {
  begin_row(p, name);
  add_text(p, text);
  if (*more != '\0') {
    add(p, *text != '\0' ? ": " : "");
    add_text(p, more);
  }
  end_row(p);
}

static void add_number_row(page *p, const char *name, double value, const char *meaning) {
  begin_row(p, name);
  oat_string_print(&p->html, "%s <span>(%s)</span>", oat_number(value, 7).text, meaning);
  end_row(p);
}

static void add_inputs_row(page *p) {
  const oat_facts *const f = p->f;
  begin_row(p, "inputs");
  for (size_t j = 0; j < f->d; j++) {
    add(p, j > 0 ? ", " : "");
    add_text(p, f->model->names[j]);
  }
  end_row(p);
}

static void add_work_row(page *p) {
  const oatgp_model_info *const info = &p->f->info;
  begin_row(p, "fit");
  add_text(p, info->optimizer);
  oat_string_print(&p->html, ", %lld iteration%s, %lld evaluation%s, %s seconds; it ended because ",
                   (long long)info->iterations, oat_plural((size_t)info->iterations), (long long)info->evaluations,
                   oat_plural((size_t)info->evaluations), oat_number(info->seconds, 3).text);
  add_text(p, oatgp_stop_sentence(info->stop));
  end_row(p);
}

static void add_parameters(page *p) {
  const oatgp_model_info *const info = &p->f->info;
  if (info->parameter_count == 0) {
    add_number_row(p, "sigma", info->sigma,
                   p->f->link == NULL ? "standard deviation of the function" : "standard deviation of f");
  }
  for (size_t i = 0; i < info->parameter_count; i++) {
    add(p, "<tr><th scope=\"row\">");
    add_text(p, info->parameters[i].name);
    oat_string_print(&p->html, "</th><td>%s</td></tr>\n", oat_number(info->parameters[i].value, 7).text);
  }
  if (p->f->link == NULL) {
    add_number_row(p, "tau", info->tau, "standard deviation of the noise");
  } else {
    oat_page_answers_likelihood(p);
  }
}

static void add_objective(page *p) {
  const oatgp_model_info *const info = &p->f->info;
  const bool bound = oat_approx_bound(p->f->model->approx) || p->f->link != NULL, prior = info->log_prior != 0;
  add_number_row(p, "objective", info->objective,
                 bound   ? prior ? "lower bound of the log evidence, and log prior" : "lower bound of the log evidence"
                 : prior ? "log evidence of the model, and log prior"
                         : "log evidence of the model");
  if (prior) {
    add_number_row(p, "log prior", info->log_prior, "part of the objective");
    add_text_row(p, "prior", info->prior, "");
  }
}

static void add_facts(page *p) {
  const oatgp_model_info *const info = &p->f->info;
  add(p, "<div class=\"wide\"><table class=\"facts\"><tbody>\n");
  add_text_row(p, "model", info->approx, describe_approx(info->approx));
  add_text_row(p, "covariance", info->kernel, "");
  add_text_row(p, "prior mean", info->mean_kind, "");
  begin_row(p, "rows");
  oat_string_print(&p->html, "%zu, fingerprint ", info->n);
  add_text(p, info->fingerprint);
  end_row(p);
  add_inputs_row(p);
  begin_row(p, "knots");
  oat_string_print(&p->html, info->knots > 0 ? "%zu, found by " : "none", info->knots);
  add_text(p, info->knots > 0 ? info->select : "");
  if (info->neighbours > 0) {
    oat_string_print(&p->html, "; besides them, %zu neighbours of each row and %zu of each prediction",
                     info->neighbours, info->predict_neighbours);
  }
  end_row(p);
  add_objective(p);
  add_parameters(p);
  add_work_row(p);
  oat_string_print(&p->html, "<tr><th scope=\"row\">seed</th><td>%lld</td></tr>\n", (long long)info->seed);
  add_text_row(p, "oatgp", info->version, "");
  add(p, "</tbody></table></div>\n");
}

static void add_fitted(page *p) {
  const oatgp_model_info *const info = &p->f->info;
  add_heading(p, "fitted", "What was fitted");
  if (*info->command != '\0') {
    add(p, "<pre>");
    add_text(p, info->command);
    add(p, "</pre>\n");
  } else {
    add(p, "<p>The model was not made by the command, so there is no command line to show.</p>\n");
  }
  add_facts(p);
  if (*info->settings != '\0') {
    add(p, "<details><summary>All settings of the fit</summary>\n<pre>");
    add_text(p, info->settings);
    add(p, "</pre></details>\n");
  }
}

/* ---- scores ---------------------------------------------------------------------------------------------------- */

void oat_page_score(page *p, const char *name, double value, const char *sentence) {
  oat_string_print(&p->html, "<tr><th scope=\"row\">%s</th><td class=\"number\">%s</td><td>%s", name,
                   oat_number(value, DIGITS).text, sentence);
}

static void add_errors(page *p) {
  const oatgp_scores *const s = &p->f->scores;
  oat_page_score(p, "RMSE", s->rmse, "The typical size of an error (root mean square), in units of ");
  oat_string_print(&p->html, "%s.</td></tr>\n", p->target.text);
  oat_page_score(p, "SRMSE", s->srmse, "The same, divided by the standard deviation of ");
  oat_string_print(&p->html, "%s here. At 1 the model is no better than the mean.", p->target.text);
  if (isfinite(s->srmse) && s->srmse < 1) {
    oat_string_print(&p->html, " It explains %s&nbsp;%% of the variance.",
                     oat_number(100 * (1 - s->srmse * s->srmse), 3).text);
  } else if (!isfinite(s->srmse)) {
    oat_string_print(&p->html, " There is none here, because %s is the same in all rows.", p->target.text);
  }
  add(p, "</td></tr>\n");
  oat_page_score(p, "mean NLP", s->mean_nlp,
                 "Mean of &minus;log p(observed). It penalises both errors and wrong error bars. Smaller is better. "
                 "Compare it between models of the same rows only.</td></tr>\n");
  oat_page_score(p, "MNLP", s->mnlp, "The median of the same, which a few odd rows do not affect.</td></tr>\n");
}

bool oat_page_too_few(size_t n, double share, double p) {
  return share * (double)n + 0.5 < (double)oat_binomial_quantile(n, p, 0.025);
}

static bool too_many(size_t n, double share, double p) {
  return share * (double)n - 0.5 > (double)oat_binomial_quantile(n, p, 0.975);
}

/* A verdict: whether the number of rows inside their interval agrees with its probability, up to chance. */
const char *oat_page_judge(size_t n, double share, double p) {
  return oat_page_too_few(n, share, p) ? "too few, so the model is overconfident"
         : too_many(n, share, p)       ? "too many, so the model is too cautious"
                                       : "as it should be";
}

void oat_page_coverages(page *p, const char *(*judge)(size_t n, double share, double p)) {
  const oatgp_scores *const s = &p->f->scores;
  const struct {
    int percent;
    double share;
  } levels[] = {
      {50, s->coverage50}, {80, s->coverage80}, {90, s->coverage90}, {95, s->coverage95}, {99, s->coverage99}};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    oat_string_print(&p->html,
                     "<tr><th scope=\"row\">coverage %d&nbsp;%%</th><td class=\"number\">%s&nbsp;%%</td><td>Share of "
                     "rows inside their central %d&nbsp;%% interval: %s.</td></tr>\n",
                     levels[i].percent, oat_number(100 * levels[i].share, 3).text, levels[i].percent,
                     judge(s->n, levels[i].share, levels[i].percent / 100.0));
  }
}

static void add_which_rows(page *p) {
  const oat_facts *const f = p->f;
  oat_string_print(&p->html, "<p>On the %zu row%s of <code>", f->data->n, oat_plural(f->data->n));
  add_text(p, p->from);
  add(p, f->left_out
             ? "</code>. These are the rows that the model was fitted to, so each is predicted without itself "
               "(leave-one-out, in closed form), as if it were new. The parameters and knots were chosen with all rows."
             : "</code>, as the model predicts them.");
  if (f->data->dropped > 0) {
    oat_string_print(&p->html, " Left out for missing values, and not counted in row numbers: %zu row%s.",
                     f->data->dropped, oat_plural(f->data->dropped));
  }
  add(p, "</p>\n");
}

static oatgp_status add_predictions(page *p) {
  static const oat_chart *const charts[] = {&oat_chart_observed,   &oat_chart_reliability, &oat_chart_roc,
                                            &oat_chart_rootogram,  &oat_chart_residuals,   &oat_chart_quantiles,
                                            &oat_chart_calibration};
  add_heading(p, "scores", "How well it predicts");
  add_which_rows(p);
  add(p, "<div class=\"wide\"><table class=\"facts\"><tbody>\n");
  if (p->f->link == NULL) {
    add_errors(p);
    oat_page_coverages(p, oat_page_judge);
  } else {
    oat_page_answers_scores(p);
  }
  add(p, "</tbody></table></div>\n");
  return add_figures(p, sizeof charts / sizeof *charts, charts);
}

/* ---- rows predicted worst -------------------------------------------------------------------------------------- */

/* Values of the data keep their digits, at most ten. */
static void add_cell(page *p, double value, bool as_given) {
  const oat_digits shown = as_given ? oat_value(fabs(value), 10) : oat_number(value, DIGITS);
  oat_string_print(&p->html, "<td class=\"number\" data-value=\"%s\">%s%s</td>", oat_value(value, 17).text,
                   as_given && value < 0 ? "&minus;" : "", shown.text);
}

static size_t table_inputs(const oat_facts *f) { return f->d < MOST_TABLE_INPUTS ? f->d : MOST_TABLE_INPUTS; }

/* Of a row, before its inputs. */
static size_t count_columns(const oat_facts *f) { return oat_facts_two_classes(f) ? 3 : 5; }

static void add_worst_head(page *p) {
  static const char *const gaussian[] = {"observed", "predicted", "sd", "residual / sd", "NLP"};
  static const char *const answers[] = {"observed", "expected", "sd", "quantile residual", "NLP"};
  static const char *const classes[] = {"observed", "probability of ", "NLP"};
  const char *const *const columns = p->f->link == NULL ? gaussian : oat_facts_two_classes(p->f) ? classes : answers;
  add(p,
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"worst\"><table "
      "class=\"sortable\"><thead><tr><th scope=\"col\" class=\"number\">row</th>");
  for (size_t i = 0; i < count_columns(p->f); i++) {
    oat_string_print(&p->html, "<th scope=\"col\" class=\"number\">%s", columns[i]);
    add_text(p, i == 1 && oat_facts_two_classes(p->f) ? p->f->classes[1] : "");
    add(p, "</th>");
  }
  for (size_t j = 0; j < table_inputs(p->f); j++) {
    const size_t input = p->f->order[j];
    add(p, "<th scope=\"col\" class=\"number\"");
    if (strcmp(p->f->name[input], p->f->full_name[input]) != 0) {
      oat_svg_word(&p->html, "title", p->f->full_name[input]);
    }
    add(p, ">");
    add_text(p, p->f->name[input]);
    add(p, "</th>");
  }
  add(p, "</tr></thead>\n<tbody>\n");
}

/* A number, or the name of a class. */
static void add_observed(page *p, double y) {
  if (p->f->n_classes == 0) {
    add_cell(p, y, true);
    return;
  }
  oat_string_print(&p->html, "<td class=\"number\" data-value=\"%s\">", oat_value(y, 17).text);
  add_text(p, p->f->classes[(size_t)y]);
  add(p, "</td>");
}

static void add_worst(page *p) {
  const oat_facts *const f = p->f;
  add_heading(p, "worst", "Rows predicted worst");
  oat_string_print(&p->html,
                   "<p>The %zu row%s with the largest &minus;log p(observed), worst first: look here for errors in the "
                   "data or for what the model misses%s.</p>\n",
                   f->n_worst, oat_plural(f->n_worst),
                   table_inputs(f) < f->d ? ". Only the most relevant inputs are shown" : "");
  add_worst_head(p);
  for (size_t i = 0; i < f->n_worst; i++) {
    const size_t row = f->worst[i];
    oat_string_print(&p->html, "<tr><td class=\"number\" data-value=\"%zu\">%zu</td>", row + 1, row + 1);
    add_observed(p, f->data->y[row]);
    const double values[] = {f->mean[row], f->sd[row], f->residual[row]};
    for (size_t c = 0; c + 2 < count_columns(f); c++) {
      add_cell(p, values[c], false);
    }
    add_cell(p, f->nlp[row], false);
    for (size_t j = 0; j < table_inputs(f); j++) {
      add_cell(p, f->input[f->order[j]][row], true);
    }
    add(p, "</tr>\n");
  }
  add(p, "</tbody></table></div>\n");
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static void add_tile(page *p, size_t count, const char *what, const char *more) {
  oat_string_print(&p->html, "<li><b>%zu</b><span>%s%s%s</span></li>\n", count, what, oat_plural(count), more);
}

static void add_head(page *p) {
  add(p,
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>");
  oat_string_print(&p->html, "%s: report of a Gaussian process</title>\n<style>\n", p->target.text);
  oat_figure_style("report", &p->html);
  add(p, oat_page_style);
  add(p, "</style>\n</head>\n<body>\n");
}

static bool has_summands(const oat_facts *f) { return oat_chart_panels(&oat_chart_effects, f) > 0; }

static void summarise(page *p) {
  const oat_facts *const f = p->f;
  const double sd = f->scores.rmse / f->scores.srmse; /* none for one row or a target that is the same in all */
  oat_string_print(&p->html, "<p>Predictions are typically off by <b>%s</b>", oat_number(f->scores.rmse, 3).text);
  if (isfinite(sd)) {
    oat_string_print(&p->html, ", where the standard deviation of %s is %s", p->target.text, oat_number(sd, 3).text);
  }
  oat_string_print(&p->html, "; <b>%s&nbsp;%%</b> of the rows lie inside their 95&nbsp;%% interval.</p>\n",
                   oat_number(100 * f->scores.coverage95, 3).text);
}

static void add_summary(page *p) {
  const oat_facts *const f = p->f;
  oat_string_print(&p->html, "<header>\n<h1>Predicting %s</h1>\n", p->target.text);
  (f->link == NULL ? summarise : oat_page_answers_summary)(p);
  add(p, "<ul class=\"key\">\n");
  add_tile(p, f->info.n, "row", " fitted");
  add_tile(p, f->d, "input", "");
  add_tile(p, f->info.knots, "knot", "");
  add_tile(p, f->data->n, "row", f->left_out ? " left out in turn" : " predicted");
  add(p, "</ul>\n<nav aria-label=\"Parts\">");
  add(p, f->d == 1 ? "<a href=\"#knots\">The fit</a><a href=\"#scores\">How well it predicts</a>"
                   : "<a href=\"#scores\">How well it predicts</a><a href=\"#effects\">What the inputs do</a><a "
                     "href=\"#knots\">Knots</a>");
  add(p, f->d == 1 && has_summands(f) ? "<a href=\"#effects\">What it is made of</a>" : "");
  add(p,
      "<a href=\"#worst\">Rows predicted worst</a><a href=\"#fitted\">What was fitted</a></nav>\n</header>\n"
      "<main id=\"report\">\n");
}

static void add_end(page *p) {
  add(p, "</main>\n<footer>Made by oatgp ");
  add_text(p, oatgp_version());
  add(p, ". This page is self-contained and loads nothing.</footer>\n<script>\n");
  add(p, oat_page_script);
  add(p, "</script>\n</body>\n</html>\n");
}

/* Adds the effects if the kernel is a sum, and the map of classes if there is one. With one input, the fit already
 * shows the rest. */
static oatgp_status add_effects(page *p) {
  static const oat_chart *const of_some[] = {&oat_chart_effects, &oat_chart_classes};
  const oat_chart *charts[5];
  size_t count = 0;
  for (size_t i = 0; i < sizeof of_some / sizeof *of_some; i++) {
    if (oat_chart_panels(of_some[i], p->f) > 0) {
      charts[count++] = of_some[i];
    }
  }
  if (p->f->d > 1) {
    charts[count++] = &oat_chart_sensitivity;
    charts[count++] = &oat_chart_relevance;
    charts[count++] = &oat_chart_partial;
  }
  if (count == 0) {
    return OATGP_OK;
  }
  add_heading(p, "effects", p->f->d == 1 ? "What it is made of" : "What the inputs do");
  return add_figures(p, count, charts);
}

/* With one input, the knots are drawn on the fit. */
static oatgp_status add_knots(page *p) {
  static const oat_chart *const charts[] = {&oat_chart_knots, &oat_chart_objective, &oat_chart_evidence};
  add_heading(p, "knots", p->f->d == 1 ? "The fit" : "Knots");
  return add_figures(p, sizeof charts / sizeof *charts, charts);
}

static oatgp_status fill(page *p) {
  add_head(p);
  add_summary(p);
  PASS_ON(p->f->d == 1 ? add_knots(p) : OATGP_OK);
  PASS_ON(add_predictions(p));
  PASS_ON(add_effects(p));
  PASS_ON(p->f->d == 1 ? OATGP_OK : add_knots(p));
  add_worst(p);
  add_fitted(p);
  add_end(p);
  return OATGP_OK;
}

oatgp_status oat_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const char *from,
                        const char *path) {
  oat_facts facts = {0};
  page p = {.f = &facts, .html = {.ctx = ctx}, .target = {.ctx = ctx}, .from = from};
  oatgp_status status;
  TRY(oat_facts_make(ctx, model, data, &facts));
  TRY(oat_facts_indices(&facts));
  oat_svg_text(&p.target, facts.target);
  TRY(p.target.status);
  TRY(fill(&p));
  TRY(oat_string_write(&p.html, path));
done:
  oat_string_free(&p.html);
  oat_string_free(&p.target);
  oat_scratch_free(&facts.memory);
  return status;
}
