/* A kind of figure: one file each, which ends with its table; charts.c lists them. The report shows every panel as a figure of its own, which
 * fits a narrow page; `oatgp plot` puts them side by side. */
#ifndef OAT_CHART_H
#define OAT_CHART_H

#include "plot/plot.h"
#include "report/facts.h"

typedef struct oat_chart {
  const char *name; /* on the command line */
  const char *help; /* what it shows, a sentence without a full stop */
  bool needs_data;  /* rows with a target */
  bool tall;        /* a picture that needs more room than others */
  /* How many names stand on its y axis, one below the other; NULL: it has numbers there. */
  size_t (*names)(const oat_facts *f);
  bool (*suits)(const oat_facts *f); /* whether it means something for the model's answers; NULL: for all */
  const char *wants;                 /* "it is of ...": answers that it suits, and what to look at for others; NULL like suits */
  const char *why;                   /* there can be no panels: why, and what to do; or NULL */
  size_t (*panels)(const oat_facts *f);
  const char *title; /* of every panel; NULL: they have their own */
  void (*name_panel)(const oat_facts *f, size_t panel, oat_string *out);
  oatgp_status (*draw)(const oat_facts *f, size_t panel, oat_panel *out);
  /* A sentence or more with its numbers: what is to be seen. */
  void (*explain)(const oat_facts *f, size_t panel, oat_string *out);
} oat_chart;

extern const oat_chart oat_chart_objective, oat_chart_knots, oat_chart_relevance, oat_chart_observed, oat_chart_residuals,
    oat_chart_quantiles, oat_chart_calibration, oat_chart_reliability, oat_chart_roc, oat_chart_rootogram, oat_chart_classes,
    oat_chart_partial, oat_chart_effects, oat_chart_evidence;

const oat_chart *oat_chart_at(size_t index); /* NULL past the end */

/* How many there are of this model; 0 where it does not suit its answers. */
size_t oat_chart_panels(const oat_chart *chart, const oat_facts *f);
void oat_chart_title(const oat_chart *chart, const oat_facts *f, size_t panel, oat_string *out);

/* What makes a word one for so many. */
const char *oat_plural(size_t n);
/* For charts of one panel. */
size_t oat_one_panel(const oat_facts *f);
/* The rows that are drawn, as points with their numbers: x and y have a value for each row of the data. The more points, the more of each shines
 * through. */
oatgp_status oat_draw_rows(const oat_facts *f, oat_colour colour, const double *x, const double *y, oat_panel *out);
/* ", for an exposure of 1", ", of one trial" or nothing: what an expected answer is of where its rows have other sizes. */
const char *oat_tell_size(const oat_facts *f);
/* What a residual is, in a sentence. */
void oat_tell_residual(const oat_facts *f, oat_string *out);
/* Answers that are no classes of two; for `suits`. */
bool oat_suits_numbers(const oat_facts *f);
/* "Drawn are 1500 of 10000 rows, the 20 worst predicted among them." where that is so. */
void oat_tell_thinned(const oat_facts *f, oat_string *out);

/* One panel as a figure for a page, or, with panel SIZE_MAX, all of them as one. To be freed. */
oatgp_status oat_chart_figure(const oat_chart *chart, const oat_facts *f, size_t panel, oat_figure **out);

/* What the public functions call after they have checked their arguments: draws one figure to a file, */
oatgp_status oat_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_drawing *drawing);
/* and writes the page; `from` says where the data come from. They have a target. */
oatgp_status oat_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const char *from, const char *path);

#endif
