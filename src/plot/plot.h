/* Figures as SVG: panels in a grid, marks in a panel, axes whose limits come from the data, one legend for all panels.
 *
 * A figure is made from a description of its grid, filled panel by panel, and written at the end; nothing is laid out
 * before. All arrays and texts are copied. Texts are UTF-8. A value that is not finite (on a logarithmic axis: not
 * positive), or beyond 1e300, is not drawn; a line or a band breaks there. The same calls give the same bytes. Sizes
 * are in points (1/72 inch) unless named _mm. A text that has too little room in the widest of the usual fonts is
 * shortened with an ellipsis in its middle, and its tooltip has the whole text.
 *
 *   TRY(oat_figure_create(ctx, &(oat_figure_spec){.title = "Fit", .description = "A line through 5 points."},
 * &figure)); oat_panel *panel = oat_figure_panel(figure, 0, 0); TRY(oat_panel_line(panel, &(oat_style){.colour =
 * OAT_BLUE, .label = "mean"}, n, x, y)); TRY(oat_figure_write(figure, "fit.svg")); */
#ifndef OAT_PLOT_H
#define OAT_PLOT_H

#include <stdbool.h>

#include "plot/svg.h"

typedef struct oat_figure oat_figure;
typedef struct oat_panel oat_panel;

/* ---- the figure ------------------------------------------------------------------------------------------------ */

enum { OAT_MAX_GRID = 16, OAT_MAX_NAMES = 60 };

typedef enum oat_direction { OAT_X, OAT_Y } oat_direction;

/* Which panels have the same limits. LINE: for x those of a column, for y those of a row. Shared axes have their
 * numbers at the lowest (leftmost) panel only. */
typedef enum oat_share { OAT_SHARE_NONE, OAT_SHARE_LINE, OAT_SHARE_ALL } oat_share;

typedef enum oat_corner { OAT_TOP_LEFT, OAT_TOP_RIGHT, OAT_BOTTOM_LEFT, OAT_BOTTOM_RIGHT } oat_corner;

typedef enum oat_legend_place { OAT_LEGEND_RIGHT, OAT_LEGEND_BELOW, OAT_LEGEND_INSIDE } oat_legend_place;

/* The legend has the labels of all marks, each once, in their order; without labels there is none. */
typedef struct oat_legend {
  oat_legend_place place;
  oat_corner corner; /* INSIDE: the corner of this panel */
  size_t row, column;
} oat_legend;

typedef struct oat_figure_spec {
  const char *title, *description; /* the description for a reader who does not see the figure; neither may be empty */
  const char *heading;             /* drawn above the panels, or NULL */
  double width_mm, height_mm;      /* 0: 160 and 100; else 20 to 2000 */
  size_t rows, columns;            /* of panels, 0: 1; at most OAT_MAX_GRID */
  oat_share share[2];              /* by direction */
  oat_legend legend;
  bool in_page; /* it is one of several in a page, which has their style once (oat_figure_style) and a script that reads
                   their values */
} oat_figure_spec;

oatgp_status oat_figure_create(oatgp_context *ctx, const oat_figure_spec *spec, oat_figure **out);
void oat_figure_free(oat_figure *figure);

/* Titles of the grid: columns above, rows at the right. */
oatgp_status oat_figure_column_title(oat_figure *figure, size_t column, const char *text);
oatgp_status oat_figure_row_title(oat_figure *figure, size_t row, const char *text);

/* Appends the svg element. The prefix (a letter, then letters, digits, - or _) begins every id and keeps the style
 * sheet to this figure, so that a page can hold several. Fails when nothing was drawn or the panels do not fit into the
 * size; the string may then end with a part of the figure. */
oatgp_status oat_figure_svg(oat_figure *figure, const char *prefix, oat_string *out);
/* Appends the style of all figures inside the element with this id, for those that are made with in_page. Such a figure
 * states its scales: a group for each panel has data-x and data-y ("kind low high from to", low and high of log10 on a
 * logarithmic axis, from and to in the units of the drawing) with the labels in data-x-name and data-y-name, and each
 * mark of points or lines has data-mark and data-label. */
void oat_figure_style(const char *id, oat_string *out);
/* Appends the panels, one below the other, as text for a terminal. */
typedef struct oat_letters {
  size_t width, height; /* of a panel with its axes, in letters; at least 24 and 8 */
  bool utf8;            /* may use Braille and other signs; otherwise ASCII alone */
} oat_letters;
oatgp_status oat_figure_letters(oat_figure *figure, oat_letters letters, oat_string *out);
/* Writes a file that appears only when it is complete. */
oatgp_status oat_figure_write(oat_figure *figure, const char *path);

/* ---- axes ------------------------------------------------------------------------------------------------------ */

/* NAMES: the names stand at 1, 2, ...; on a y axis the first is at the top. */
typedef enum oat_scale_kind { OAT_LINEAR, OAT_LOG10, OAT_NAMES } oat_scale_kind;

typedef struct oat_axis {
  const char *label;
  oat_scale_kind kind;
  double low, high; /* equal: from the data; NaN: that end from the data. Not for NAMES */
  bool whole;       /* no ticks between whole numbers */
  size_t n_names;
  const char *const *names;
} oat_axis;

/* The axis of all panels; its label is drawn once, for the whole figure. */
oatgp_status oat_figure_axis(oat_figure *figure, oat_direction direction, const oat_axis *axis);
/* The axis of one panel, with a label of its own. */
oatgp_status oat_panel_axis(oat_panel *panel, oat_direction direction, const oat_axis *axis);

/* ---- style ----------------------------------------------------------------------------------------------------- */

/* The colours of Okabe and Ito, which colour-blind readers can distinguish, too, without the yellow, which is invisible
 * as a line on white paper. */
typedef enum oat_colour {
  OAT_INK,
  OAT_BLUE,
  OAT_VERMILION,
  OAT_GREEN,
  OAT_PURPLE,
  OAT_ORANGE,
  OAT_SKY,
  OAT_GREY,
  OAT_COLOURS
} oat_colour;

typedef enum oat_dash { OAT_SOLID, OAT_DASHED, OAT_DOTTED, OAT_DASHDOT, OAT_DASHES } oat_dash;

typedef enum oat_shape {
  OAT_NO_SHAPE,
  OAT_CIRCLE,
  OAT_SQUARE,
  OAT_TRIANGLE,
  OAT_DIAMOND,
  OAT_PLUS,
  OAT_CROSS,
  OAT_RING,
  OAT_TRIANGLE_DOWN,
  OAT_SHAPES
} oat_shape;

typedef struct oat_style {
  oat_colour colour;
  oat_dash dash;
  oat_shape shape;     /* of points, and of those on a line (none unless set) */
  double width;        /* of a line, 0: 1.2; of bars in units of their axis, 0: 0.7 */
  double size;         /* of points, 0: 4.5 */
  double opacity;      /* 0: 0.22 for a band, else 1 */
  const char *label;   /* in the legend, or NULL. Marks with one label share one entry */
  const char *tooltip; /* shown when the pointer is on the mark, or NULL */
} oat_style;

/* A colour and a shape for the i-th of several series: no two of the first 48 have the same pair, the first 6 differ in
 * both. */
oat_style oat_series_style(size_t i, const char *label);

/* ---- panels and marks ------------------------------------------------------------------------------------------ */

/* NULL, with a sentence, outside the grid; the functions below then do nothing but return OATGP_ARGUMENT. */
oat_panel *oat_figure_panel(oat_figure *figure, size_t row, size_t column);
oatgp_status oat_panel_title(oat_panel *panel, const char *text);

/* Marks lie one on another in the order in which they are added. A panel without marks stays empty. */
oatgp_status oat_panel_line(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y);
oatgp_status oat_panel_points(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y);
/* Points with numbers of their own (of rows, say), which a page can show. */
oatgp_status oat_panel_numbered(oat_panel *panel, const oat_style *style, size_t n, const double *const xy[2],
                                const double *numbers);

typedef struct oat_limits {
  const double *low, *high;
} oat_limits;
oatgp_status oat_panel_band(oat_panel *panel, const oat_style *style, size_t n, const double *x, oat_limits y);

/* n rectangles without gaps between them: sides has n left and then n right ones, y their lower and upper sides. */
oatgp_status oat_panel_tiles(oat_panel *panel, const oat_style *style, size_t n, const double *sides, oat_limits y);

/* Upright bars of height y at x; bars of length x at the heights y. */
oatgp_status oat_panel_columns(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y);
oatgp_status oat_panel_bars(oat_panel *panel, const oat_style *style, size_t n, const double *x, const double *y);

/* A straight line across the panel at one value of x (upright) or of y (level). */
oatgp_status oat_panel_rule(oat_panel *panel, const oat_style *style, oat_direction direction, double at);

/* Points along an edge of the panel, whatever the limits of the other axis. */
typedef enum oat_edge { OAT_BOTTOM, OAT_TOP, OAT_LEFT, OAT_RIGHT } oat_edge;
oatgp_status oat_panel_rug(oat_panel *panel, const oat_style *style, oat_edge edge, size_t n, const double *at);

#endif
