/* Figure 1, the spike: a VFE model of five knots, and its ELBO when a sixth knot is put somewhere with all else
 * unchanged. On a knot, the sixth adds nothing. Next to it, however near, it adds the information of the slope of f
 * there. Jitter gives that jump a width. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "one_d.h"
#include "util/memory.h"

enum { KNOTS = 5, JITTERS = 3, NEAR = 61, STEPS = 1001 };
static const double five[KNOTS] = {1, 3, 5, 7, 9};
static const double jitters[JITTERS] = {0, 1e-6, 1e-3};
static const char *const jitter_names[JITTERS] = {"no jitter", "jitter 1e-6", "jitter 1e-3"};

typedef struct spike {
  oatgp_context *ctx;
  one_d set;
  oatgp_settings settings; /* with the parameters that were found */
  char lengthscale[40];
  double base[JITTERS]; /* the ELBO of five knots */
  curve fit;
} spike;

static oatgp_status elbo(spike *s, size_t count, double sixth, double jitter, double *out) {
  double at[KNOTS + 1] = {0};
  oatgp_data *knots = NULL;
  oatgp_evaluation e = {0};
  for (size_t i = 0; i < KNOTS; i++) {
    at[i] = five[i];
  }
  at[KNOTS] = sixth;
  s->settings.jitter = 0;
  s->settings.jitter_absolute = jitter;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(s->ctx, count, 1, at, NULL, &knots));
  status = oatgp_evaluate(s->ctx, s->set.data, &s->settings, knots, 0, &e);
  /* without jitter, two equal knots cannot be factorised; results with a raised jitter are not used */
  *out = status == OATGP_OK && (jitter > 0 || e.jitter <= 0) ? e.objective : NAN;
  status = status == OATGP_NUMERIC ? OATGP_OK : status;
done:
  oatgp_evaluation_clear(&e);
  oatgp_data_free(knots);
  return status;
}

static oatgp_status fit_five(spike *s) {
  oatgp_data *knots = NULL;
  oatgp_model *model = NULL;
  oatgp_model_info info;
  oatgp_status status = OATGP_OK;
  oatgp_settings_default(&s->settings);
  s->settings.prior = "none"; /* the evidence alone */
  one_d_settings(&s->settings);
  s->settings.select = "fixed";
  TRY(oatgp_data_create(s->ctx, KNOTS, 1, five, NULL, &knots));
  TRY(oatgp_fit(s->ctx, s->set.data, &s->settings, knots, NULL, NULL, &model));
  TRY(one_d_predict(s->ctx, model, &s->fit));
  oatgp_model_get_info(model, &info);
  snprintf(s->lengthscale, sizeof s->lengthscale, "%.17g", info.lengthscales[0]);
  s->settings.sigma = info.sigma;
  s->settings.tau = info.tau;
  s->settings.lengthscale = s->lengthscale;
  for (size_t j = 0; j < JITTERS; j++) {
    TRY(elbo(s, KNOTS, 0, jitters[j], &s->base[j]));
  }
done:
  oatgp_data_free(knots);
  oatgp_model_free(model);
  return status;
}

static oatgp_status draw_fit(const spike *s, oat_panel *panel) {
  oatgp_status status = OATGP_OK;
  TRY(oat_panel_axis(panel, OAT_X, &(oat_axis){.label = "x"}));
  TRY(oat_panel_axis(panel, OAT_Y, &(oat_axis){.label = "y"}));
  TRY(oat_panel_band(panel, &(oat_style){.colour = OAT_BLUE, .label = "95 % band"}, GRID, s->fit.x,
                     (oat_limits){s->fit.low, s->fit.high}));
  TRY(oat_panel_points(panel, &(oat_style){.colour = OAT_GREY, .shape = OAT_CIRCLE, .size = 2, .label = "data"},
                       s->set.n, s->set.x, s->set.y));
  TRY(oat_panel_line(panel, &(oat_style){.colour = OAT_BLUE, .label = "mean"}, GRID, s->fit.x, s->fit.mean));
  TRY(oat_panel_rug(panel, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_PLUS, .label = "the five knots"},
                    OAT_BOTTOM, KNOTS, five));
done:
  return status;
}

/* The places of the sixth knot: a grid that meets the knots, as the paper's does. Keeps the least gain of all. */
static oatgp_status draw_elbo(spike *s, oat_panel *panel, double *least) {
  const oat_style styles[] = {{.colour = OAT_BLUE, .label = "no jitter", .width = 2.2, .opacity = 0.45},
                              {.colour = OAT_INK, .label = "jitter 1e-6", .width = 0.9}};
  static const size_t shown[] = {0, 1};
  double *x = NULL, *y = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, STEPS, 1, &x));
  TRY(oat_new_matrix(s->ctx, STEPS, 1, &y));
  TRY(oat_panel_axis(panel, OAT_X, &(oat_axis){.label = "position of the sixth knot"}));
  TRY(oat_panel_axis(panel, OAT_Y, &(oat_axis){.label = "ELBO"}));
  for (size_t line = 0; line < 2; line++) {
    for (size_t i = 0; i < STEPS; i++) {
      x[i] = (double)i / 100;
      TRY(elbo(s, KNOTS + 1, x[i], jitters[shown[line]], &y[i]));
      *least = fmin(*least, y[i] - s->base[shown[line]]);
    }
    TRY(oat_panel_line(panel, &styles[line], STEPS, x, y));
  }
  TRY(oat_panel_rule(panel, &(oat_style){.colour = OAT_VERMILION, .dash = OAT_DASHED, .label = "ELBO of five knots"},
                     OAT_Y, s->base[1]));
  TRY(oat_panel_rug(panel, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_PLUS}, OAT_BOTTOM, KNOTS, five));
done:
  free(x);
  free(y);
  return status;
}

/* The gain beside the knot in the middle, by the distance from it, for each jitter. */
static oatgp_status draw_near(spike *s, oat_panel *panel) {
  static const oat_style styles[JITTERS] = {{.colour = OAT_BLUE, .width = 2.2, .opacity = 0.45},
                                            {.colour = OAT_INK, .width = 0.9},
                                            {.colour = OAT_GREEN, .dash = OAT_DASHDOT, .label = "jitter 1e-3"}};
  double distance[NEAR], gain[NEAR];
  oatgp_status status = OATGP_OK;
  TRY(oat_panel_axis(panel, OAT_X,
                     &(oat_axis){.label = "distance of the sixth knot from the knot at 5", .kind = OAT_LOG10}));
  TRY(oat_panel_axis(panel, OAT_Y, &(oat_axis){.label = "gain"}));
  for (size_t j = 0; j < JITTERS; j++) {
    for (size_t i = 0; i < NEAR; i++) {
      distance[i] = pow(10, -6 + 6.0 * (double)i / (NEAR - 1));
      TRY(elbo(s, KNOTS + 1, five[2] + distance[i], jitters[j], &gain[i]));
      gain[i] -= s->base[j];
    }
    oat_style style = styles[j];
    style.tooltip = jitter_names[j];
    TRY(oat_panel_line(panel, &style, NEAR, distance, gain));
  }
done:
  return status;
}

/* On the knot, and 1/100 beside it. */
static oatgp_status note_facts(spike *s, results *r, double least) {
  double on = NAN, beside = NAN;
  oatgp_status status = OATGP_OK;
  TRY(elbo(s, KNOTS + 1, five[2], jitters[1], &on));
  TRY(elbo(s, KNOTS + 1, five[2] + 0.01, jitters[1], &beside));
  TRY(results_set_fact(r, "figure1_elbo_five_knots", s->base[1]));
  TRY(results_set_fact(r, "figure1_gain_on_knot", on - s->base[1]));
  TRY(results_set_fact(r, "figure1_gain_beside_knot", beside - s->base[1]));
  TRY(results_set_fact(r, "figure1_least_gain", least));
done:
  return status;
}

oatgp_status make_figure1(const options *o, results *r, oat_figure **out) {
  spike s = {.ctx = r->ctx};
  oat_figure *figure = NULL;
  double least = INFINITY;
  oatgp_status status = OATGP_OK;
  TRY(one_d_make(s.ctx, o->quick, &s.set));
  TRY(fit_five(&s));
  TRY(oat_figure_create(
      s.ctx,
      &(oat_figure_spec){.title = "Figure 1: the spike",
                         .description = "Top: a fit with five knots. Middle: the ELBO as a function of the position of "
                                        "a sixth knot; it falls to the ELBO of five knots at each of them. Bottom: the "
                                        "gain against the distance from a knot, for three sizes of the jitter.",
                         .rows = 3,
                         .height_mm = 150,
                         .legend = {.place = OAT_LEGEND_BELOW}},
      &figure));
  TRY(draw_fit(&s, oat_figure_panel(figure, 0, 0)));
  TRY(draw_elbo(&s, oat_figure_panel(figure, 1, 0), &least));
  TRY(draw_near(&s, oat_figure_panel(figure, 2, 0)));
  TRY(note_facts(&s, r, least));
  *out = figure;
  figure = NULL;
done:
  oat_figure_free(figure);
  one_d_free(&s.set);
  return status;
}
