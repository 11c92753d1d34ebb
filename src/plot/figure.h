/* Shared by the files of this folder: the parts of a figure, its scales and its layout. Other folders use plot.h. */
#ifndef OAT_FIGURE_H
#define OAT_FIGURE_H

#include "plot/plot.h"
#include "util/memory.h"

enum { OAT_TICK_LENGTH = 3, OAT_MAX_TICKS = 96 };

/* From the box of a panel to its tick labels: at the left to their end, below to their top. Numbers at the corner do
 * not touch. */
#define OAT_TICK_GAP_Y (OAT_TICK_LENGTH + 2)
#define OAT_TICK_GAP_X (OAT_TICK_LENGTH + 4)

/* Names that do not fit side by side are turned by so many degrees. */
#define OAT_TILT (-40)
#define OAT_TILT_SINE 0.643
#define OAT_TILT_COSINE 0.766

typedef struct oat_box {
  double left, top, right, bottom;
} oat_box;

/* ---- scales (scale.c) ------------------------------------------------------------------------------------------ */

/* A range of transformed values (log10 on a logarithmic axis); empty as long as low > high. */
typedef struct oat_range {
  double low, high;
  bool base; /* bars stand on 0, so no room beyond 0 is needed */
} oat_range;

typedef struct oat_scale {
  oat_scale_kind kind;
  double low, high; /* transformed */
  double from, to;  /* where these are on the page */
  double name_room; /* of each of the names, along their lines; 0: as wide as they are */
} oat_scale;

typedef struct oat_tick {
  double at;        /* on the page */
  bool minor;       /* a short stroke without label */
  char digits[48];  /* empty: no label */
  char power[8];    /* superscript after the digits */
  const char *name; /* of a NAMES axis, else NULL */
  double room;      /* of the name, 0: as wide as it is */
} oat_tick;

typedef struct oat_ticks {
  size_t n;
  bool tilted; /* the names are too long to stand side by side */
  oat_tick tick[OAT_MAX_TICKS];
} oat_ticks;

/* NaN where nothing can be drawn. */
double oat_scale_transform(oat_scale_kind kind, double value);
double oat_scale_place(const oat_scale *scale, double value);
/* Widens the range to the values. */
void oat_range_take(oat_range *range, oat_scale_kind kind, size_t n, const double *values);
/* The limits of an axis for the data in this range, transformed, low < high but for names on a y axis. */
oat_range oat_axis_limits(const oat_axis *axis, oat_direction direction, oat_range data);
/* Ticks at 1, 2 or 5 times a power of ten, as many as the length has room for, with labels that do not touch. */
void oat_axis_ticks(const oat_axis *axis, const oat_scale *scale, oat_direction direction, oat_ticks *ticks);
double oat_tick_width(const oat_tick *tick);

/* ---- the figure (figure.c) ------------------------------------------------------------------------------------- */

typedef enum oat_mark_kind {
  OAT_MARK_TILES,
  OAT_MARK_BAND,
  OAT_MARK_COLUMNS,
  OAT_MARK_BARS,
  OAT_MARK_RULE,
  OAT_MARK_LINE,
  OAT_MARK_POINTS,
  OAT_MARK_RUG,
  OAT_MARK_KINDS
} oat_mark_kind;

typedef struct oat_mark {
  oat_mark_kind kind;
  oat_style style; /* with copies of its texts */
  int place;       /* a direction or an edge */
  size_t n;
  const double *x, *y, *z; /* copies or NULL; z: the upper limit of a band or tile, the numbers of points */
} oat_mark;

struct oat_panel {
  oat_figure *figure;
  size_t row, column;
  char *title;
  oat_axis axis[2]; /* with copies of its texts */
  oat_mark *marks;
  size_t n_marks, mark_capacity;
  /* made by the layout */
  oat_box box, cell;       /* the frame; what the panel has with its margins */
  double label_x, label_y; /* base lines of its y and x labels */
  oat_scale scale[2];
  oat_ticks ticks[2];
};

/* Where the things are that belong to the whole figure: base lines of its texts, the legend. */
typedef struct oat_layout {
  oat_box area, cells; /* the frames of all panels together; with their margins */
  double key_left, key_top;
  double heading_y, column_title_y, row_title_x, label_x, label_y; /* label_x: of the y label */
} oat_layout;

struct oat_figure {
  oatgp_context *ctx;
  oat_scratch memory; /* of all copies of texts and arrays, and of the panels */
  char *title, *description, *heading;
  double width, height; /* in points */
  size_t rows, columns;
  oat_share share[2];
  oat_legend legend;
  bool in_page;
  char *axis_label[2];
  char *row_title[OAT_MAX_GRID], *column_title[OAT_MAX_GRID];
  oat_panel *panels; /* row by row */
  oat_layout layout;
};

/* Whether the panel has marks, so that it is drawn. */
bool oat_panel_is_used(const oat_panel *panel);
/* Whether the panel has the labels of this axis, for itself or for the panels that share it. */
bool oat_panel_shows_axis(const oat_panel *panel, oat_direction direction);

/* ---- marks (add.c, marks.c) ------------------------------------------------------------------------------------ */

typedef struct oat_canvas {
  oat_string *svg;
  const oat_panel *panel;
  const char *prefix;
} oat_canvas;

/* Widens the range to the part that the mark covers in this direction. */
void oat_mark_extend(const oat_mark *mark, oat_direction direction, oat_scale_kind kind, oat_range *range);
/* In units of its axis. */
double oat_mark_bar_width(const oat_mark *mark);
void oat_mark_draw(const oat_canvas *canvas, const oat_mark *mark);
/* The sample in the legend, OAT_KEY_WIDTH wide, its left middle at (x, y). */
void oat_mark_key(oat_string *svg, const oat_mark *mark, double x, double y);

enum { OAT_KEY_WIDTH = 18 };

/* ---- legend (legend.c) ----------------------------------------------------------------------------------------- */

typedef struct oat_entry {
  const char *label;
  const oat_mark *keys[OAT_MARK_KINDS]; /* the first mark of each kind with this label */
  double left;                          /* where it begins in its line */
  size_t line;
} oat_entry;

typedef struct oat_key {
  oat_entry *entries;
  size_t n, lines; /* below the panels as many entries in a line as there is room for, elsewhere one */
  double width, line_height;
} oat_key;

/* Collects the entries of a figure and lays them out in the width that the legend may have; entries are to be freed. */
oatgp_status oat_key_make(const oat_figure *figure, oat_key *key);
/* A label that does not fit into the width of the legend is shortened. */
void oat_key_draw(oat_string *svg, const oat_key *key, double left, double top);

/* ---- layout (layout.c) and style sheet (palette.c) ------------------------------------------------------------- */

/* Gives every used panel its box, scales and ticks, and the figure its layout. A legend inside a panel gets no wider
 * than that. */
oatgp_status oat_figure_lay_out(oat_figure *figure, oat_key *key);
/* The style element of a figure, whose id is the prefix. */
void oat_style_sheet(oat_string *svg, const char *prefix);

#endif
