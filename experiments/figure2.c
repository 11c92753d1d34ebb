/* Figure 2: the one-dimensional set from three random starts of five knots; OAT-BO above, all knots moved together from
 * there below. */
#include <math.h>
#include <stdlib.h>
#include <stdio.h>

#include "one_d.h"
#include "util/memory.h"

enum { STARTS = 3, FIRST_KNOTS = 5, MOST = 64 };

typedef struct fitted {
  oatgp_model *model;
  curve fit;
  size_t before, after; /* numbers of knots */
  double first[MOST], last[MOST], objective, tau;
} fitted;

static oatgp_status fit(oatgp_context *ctx, const one_d *set, oatgp_settings *settings, fitted *f) {
  oatgp_data *knots = NULL;
  oatgp_model_info info;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(ctx, f->before, 1, f->first, NULL, &knots));
  TRY(oatgp_fit(ctx, set->data, settings, knots, NULL, NULL, &f->model));
  oatgp_model_get_info(f->model, &info);
  f->after = info.knots;
  f->objective = info.objective;
  f->tau = info.tau;
  TRY(oatgp_model_knots(ctx, f->model, f->last, NULL, NULL));
  TRY(one_d_predict(ctx, f->model, &f->fit));
done:
  oatgp_data_free(knots);
  return status;
}

static oatgp_status paper_settings(oatgp_context *ctx, bool quick, oatgp_settings *s) {
  oatgp_settings_default(s);
  s->prior = "none"; /* the evidence alone */
  const oatgp_status status = oatgp_settings_set(ctx, s, "preset", "paper");
  one_d_settings(s);
  s->max_knots = quick ? 12 : 30;
  s->candidates = quick ? 15 : 30;
  s->first_candidates = 10;
  return status;
}

static oatgp_status fit_start(oatgp_context *ctx, const one_d *set, bool quick, size_t start, fitted f[2]) {
  oatgp_settings s;
  oatgp_model_info info;
  draw d;
  char lengthscale[40];
  oatgp_status status = OATGP_OK;
  draw_seed(&d, (uint32_t)(ONE_D_SEED + start));
  for (size_t i = 0; i < FIRST_KNOTS; i++) {
    f[0].first[i] = 10 * draw_uniform(&d);
  }
  f[0].before = FIRST_KNOTS;
  TRY(paper_settings(ctx, quick, &s));
  TRY(fit(ctx, set, &s, &f[0]));
  oatgp_model_get_info(f[0].model, &info);
  snprintf(lengthscale, sizeof lengthscale, "%.17g", info.lengthscales[0]);
  s.select = "simultaneous";
  s.sigma = info.sigma;
  s.tau = info.tau;
  s.lengthscale = lengthscale;
  f[1].before = f[0].after;
  for (size_t i = 0; i < f[1].before; i++) {
    f[1].first[i] = f[0].last[i];
  }
  TRY(fit(ctx, set, &s, &f[1]));
done:
  return status;
}

static oatgp_status draw_panel(oat_panel *panel, const one_d *set, const fitted *f) {
  char title[64];
  oatgp_status status = OATGP_OK;
  TRY(oat_panel_band(panel, &(oat_style){.colour = OAT_BLUE, .label = "95 % band"}, GRID, f->fit.x,
                     (oat_limits){f->fit.low, f->fit.high}));
  TRY(oat_panel_points(panel, &(oat_style){.colour = OAT_GREY, .shape = OAT_CIRCLE, .size = 1.5, .label = "data"},
                       set->n, set->x, set->y));
  TRY(oat_panel_line(panel, &(oat_style){.colour = OAT_BLUE, .label = "mean"}, GRID, f->fit.x, f->fit.mean));
  TRY(oat_panel_rug(panel,
                    &(oat_style){.colour = OAT_VERMILION, .shape = OAT_PLUS, .label = "knots at the start (top)"},
                    OAT_TOP, f->before, f->first));
  TRY(oat_panel_rug(panel, &(oat_style){.colour = OAT_BLUE, .shape = OAT_PLUS, .label = "knots at the end (bottom)"},
                    OAT_BOTTOM, f->after, f->last));
  snprintf(title, sizeof title, "K = %zu, ELBO %s%.2f", f->after, f->objective < 0 ? "\xe2\x88\x92" : "",
           fabs(f->objective));
  TRY(oat_panel_title(panel, title));
done:
  return status;
}

/* The largest distance of a knot of one fit from the nearest knot of the other. */
static double knot_distance(const fitted *a, const fitted *b) {
  double most = 0;
  for (size_t i = 0; i < a->after; i++) {
    double nearest = INFINITY;
    for (size_t j = 0; j < b->after; j++) {
      nearest = fmin(nearest, fabs(a->last[i] - b->last[j]));
    }
    most = fmax(most, nearest);
  }
  return most;
}

/* How far the fits of the three starts are apart: their means, ELBOs and knots. */
static oatgp_status note_facts(results *r, fitted f[STARTS][2]) {
  oatgp_status status = OATGP_OK;
  double mean = 0, elbo = 0, knot = 0, gain = 0, mean_refined = 0;
  for (size_t a = 0; a < STARTS; a++) {
    for (size_t b = 0; b < STARTS; b++) {
      for (size_t i = 0; i < GRID; i++) {
        mean = fmax(mean, fabs(f[a][0].fit.mean[i] - f[b][0].fit.mean[i]));
        mean_refined = fmax(mean_refined, fabs(f[a][1].fit.mean[i] - f[b][1].fit.mean[i]));
      }
      elbo = fmax(elbo, f[a][0].objective - f[b][0].objective);
      knot = fmax(knot, knot_distance(&f[a][0], &f[b][0]));
    }
    gain = fmax(gain, f[a][1].objective - f[a][0].objective);
  }
  TRY(results_set_fact(r, "figure2_mean_difference", mean));
  TRY(results_set_fact(r, "figure2_mean_difference_refined", mean_refined));
  TRY(results_set_fact(r, "figure2_tau", f[0][0].tau));
  TRY(results_set_fact(r, "figure2_elbo_difference", elbo));
  TRY(results_set_fact(r, "figure2_knot_distance", knot));
  TRY(results_set_fact(r, "figure2_refinement_gain", gain));
done:
  return status;
}

static oatgp_status draw_all(oatgp_context *ctx, const one_d *set, fitted f[STARTS][2], oat_figure **out) {
  static const char *const rows[2] = {"one at a time", "all knots moved"};
  oat_figure *figure = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_figure_create(
      ctx,
      &(oat_figure_spec){
          .title = "Figure 2: three starts",
          .description = "Six fits of a one-dimensional set: the columns are three random starts of five knots; the "
                         "top row has knots chosen one at a time, the bottom row the same knots moved together.",
          .rows = 2,
          .columns = STARTS,
          .height_mm = 115,
          .share = {OAT_SHARE_ALL, OAT_SHARE_ALL},
          .legend = {.place = OAT_LEGEND_BELOW}},
      &figure));
  TRY(oat_figure_axis(figure, OAT_X, &(oat_axis){.label = "x"}));
  TRY(oat_figure_axis(figure, OAT_Y, &(oat_axis){.label = "y"}));
  for (size_t c = 0; c < STARTS; c++) {
    char start[32];
    snprintf(start, sizeof start, "start %zu", c + 1);
    TRY(oat_figure_column_title(figure, c, start));
    for (size_t row = 0; row < 2; row++) {
      TRY(oat_figure_row_title(figure, row, rows[row]));
      TRY(draw_panel(oat_figure_panel(figure, row, c), set, &f[c][row]));
    }
  }
  *out = figure;
  figure = NULL;
done:
  oat_figure_free(figure);
  return status;
}

oatgp_status make_figure2(const options *o, results *r, oat_figure **out) {
  one_d set = {0};
  fitted(*f)[2] = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(r->ctx, STARTS, sizeof *f, &f));
  TRY(one_d_make(r->ctx, o->quick, &set));
  for (size_t i = 0; i < STARTS; i++) {
    TRY(fit_start(r->ctx, &set, o->quick, i, f[i]));
  }
  TRY(note_facts(r, f));
  TRY(draw_all(r->ctx, &set, f, out));
done:
  for (size_t i = 0; f != NULL && i < STARTS; i++) {
    oatgp_model_free(f[i][0].model);
    oatgp_model_free(f[i][1].model);
  }
  free(f);
  one_d_free(&set);
  return status;
}
