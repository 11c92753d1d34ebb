/* A kind of figure. Each is one file that ends with its table; charts.c lists them. The report shows every panel as a
 * separate figure, which fits a narrow page; `oatgp plot` puts them side by side. */
#ifndef OAT_CHART_H
#define OAT_CHART_H

#include "plot/plot.h"
#include "report/facts.h"

typedef struct oat_chart {
  const char *name; /* on the command line */
  const char *help; /* what it shows, a sentence without a full stop */
  bool needs_data;  /* it needs rows with a target */
  bool tall;        /* it needs more room than others */
  bool indices;     /* it needs Sobol' indices (oat_facts_indices) */
  /* How many names stand on its y axis, one below the other; NULL: it has numbers there. */
  size_t (*names)(const oat_facts *f);
  bool (*suits)(const oat_facts *f); /* whether it suits the model's likelihood; NULL: it suits all */
  const char *wants; /* ends the sentence "it is of ...": which targets it suits, and which chart to use for others;
                        NULL if suits is NULL */
  const char *why;   /* why there may be no panels, and what to do then; NULL if there always are */
  size_t (*panels)(const oat_facts *f);
  const char *title; /* of every panel; NULL: they have their own */
  void (*name_panel)(const oat_facts *f, size_t panel, oat_string *out);
  oatgp_status (*draw)(const oat_facts *f, size_t panel, oat_panel *out);
  /* Describes the panel with its numbers, in a sentence or more. */
  void (*explain)(const oat_facts *f, size_t panel, oat_string *out);
} oat_chart;

extern const oat_chart oat_chart_objective, oat_chart_knots, oat_chart_relevance, oat_chart_sensitivity,
    oat_chart_observed, oat_chart_residuals, oat_chart_quantiles, oat_chart_calibration, oat_chart_reliability,
    oat_chart_roc, oat_chart_rootogram, oat_chart_classes, oat_chart_partial, oat_chart_effects, oat_chart_evidence;

const oat_chart *oat_chart_at(size_t index); /* NULL past the end */

/* The number of panels for this model; 0 if the chart does not suit its target. */
size_t oat_chart_panels(const oat_chart *chart, const oat_facts *f);
void oat_chart_title(const oat_chart *chart, const oat_facts *f, size_t panel, oat_string *out);

/* The ending of a noun after this number: "" or "s". */
const char *oat_plural(size_t n);
/* For charts of one panel. */
size_t oat_one_panel(const oat_facts *f);
/* Draws the chosen rows as points with their numbers: x and y have a value for each row of the data. The more points
 * there are, the more transparent they are. */
oatgp_status oat_draw_rows(const oat_facts *f, oat_colour colour, const double *x, const double *y, oat_panel *out);
/* ", for an exposure of 1", ", of one trial" or "": the size that an expected target refers to if rows have an exposure
 * or trials. */
const char *oat_tell_size(const oat_facts *f);
/* Whether the target is not one of two classes; for `suits`. */
bool oat_suits_numbers(const oat_facts *f);
/* A sentence about which rows are drawn, if not all are. */
void oat_tell_thinned(const oat_facts *f, oat_string *out);

/* One panel as a figure for a page, or, with panel SIZE_MAX, all of them as one. To be freed. */
oatgp_status oat_chart_figure(const oat_chart *chart, const oat_facts *f, size_t panel, oat_figure **out);

/* What the public functions call after they have checked their arguments: draws one figure to a file, */
oatgp_status oat_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                      const oatgp_drawing *drawing);
/* and writes the page; `from` says where the data come from. They have a target. */
oatgp_status oat_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const char *from,
                        const char *path);

#endif
