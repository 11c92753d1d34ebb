/* Helpers of the tests of figures: small figures, one with every mark, and what is asked of their texts. */
#ifndef TEST_FIGURES_H
#define TEST_FIGURES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/figure.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MINUS "\xe2\x88\x92"
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static inline int set_up(void **state) {
  *state = oatgp_context_create();
  return *state == NULL;
}

static inline int tear_down(void **state) {
  oatgp_context_free(*state);
  return 0;
}

static inline void must(oatgp_context *ctx, oatgp_status status, int line) {
  if (status != OATGP_OK) {
    fail_msg("line %d: status %d: %s", line, (int)status, oatgp_last_error(ctx));
  }
}
#define MUST(call) must(ctx, call, __LINE__)

static inline void refused(oatgp_context *ctx, oatgp_status expected, oatgp_status status, const char *piece) {
  if (status != expected || strstr(oatgp_last_error(ctx), piece) == NULL) {
    fail_msg("expected status %d with '%s', got %d: %s", (int)expected, piece, (int)status, oatgp_last_error(ctx));
  }
}

static inline oat_figure *new_figure(oatgp_context *ctx, size_t rows, size_t columns) {
  oat_figure *figure = NULL;
  const oat_figure_spec spec = {.title = "Title", .description = "Description", .rows = rows, .columns = columns};
  MUST(oat_figure_create(ctx, &spec, &figure));
  return figure;
}

/* The figure's text; the caller frees it. */
static inline char *svg_of(oatgp_context *ctx, oat_figure *figure, const char *prefix) {
  oat_string svg = {.ctx = ctx};
  MUST(oat_figure_svg(figure, prefix, &svg));
  assert_int_equal(strlen(svg.text), svg.length);
  return svg.text;
}

/* No value that is none: as such, or where one that is none would stand on the page. */
static inline void expect_numbers(const char *svg) {
  assert_null(strstr(svg, "NaN"));
  assert_null(strstr(svg, "-1000000000"));
}

static inline size_t count(const char *text, const char *piece) {
  size_t n = 0;
  for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + strlen(piece), piece)) {
    n++;
  }
  return n;
}

static const double xs[] = {1, 2, 3, 4, 5}, ys[] = {2, 4, 1, 8, 3}, zs[] = {3, 5, 2, 9, 4};

static inline void add_every_mark(oatgp_context *ctx, oat_panel *panel) {
  for (size_t i = 0; i < OAT_SHAPES; i++) {
    oat_style style = oat_series_style(i, "points & more");
    style.shape = (oat_shape)i;
    MUST(oat_panel_points(panel, &style, 5, xs, ys));
  }
  for (size_t i = 0; i < OAT_DASHES; i++) {
    MUST(oat_panel_line(
        panel, &(oat_style){.dash = (oat_dash)i, .opacity = 0.5, .label = "line", .tooltip = "a <line>"}, 5, xs, ys));
  }
  MUST(oat_panel_band(panel, &(oat_style){.colour = OAT_SKY, .label = "band"}, 5, xs, (oat_limits){ys, zs}));
  MUST(oat_panel_columns(panel, &(oat_style){.label = "columns"}, 5, xs, ys));
  MUST(oat_panel_bars(panel, &(oat_style){.width = 0.2, .label = "bars"}, 5, xs, ys));
  MUST(oat_panel_rule(panel, &(oat_style){.label = "rule"}, OAT_X, 3));
  MUST(oat_panel_rule(panel, &(oat_style){0}, OAT_Y, 3));
  for (int i = OAT_BOTTOM; i <= OAT_RIGHT; i++) {
    MUST(oat_panel_rug(panel, &(oat_style){.shape = OAT_PLUS, .label = "rug"}, (oat_edge)i, 5, xs));
  }
}

/* Several rows and columns with all that a figure can have. */
static inline oat_figure *full_figure(oatgp_context *ctx, oat_share share, oat_legend legend, oat_scale_kind kind) {
  oat_figure *figure = NULL;
  const oat_figure_spec spec = {.title = "All <marks>",
                                .description = "Every mark & \"option\"",
                                .heading = "A heading",
                                .height_mm = 180,
                                .rows = 2,
                                .columns = 2,
                                .share = {share, share},
                                .legend = legend};
  MUST(oat_figure_create(ctx, &spec, &figure));
  MUST(oat_figure_axis(figure, OAT_X, &(oat_axis){.label = "x of all", .kind = kind}));
  MUST(oat_figure_axis(figure, OAT_Y, &(oat_axis){.label = "y of all", .kind = kind}));
  for (size_t i = 0; i < 2; i++) {
    MUST(oat_figure_column_title(figure, i, "column"));
    MUST(oat_figure_row_title(figure, i, "row"));
  }
  for (size_t i = 0; i < 3; i++) { /* the last panel stays empty */
    oat_panel *const panel = oat_figure_panel(figure, i / 2, i % 2);
    MUST(oat_panel_title(panel, "panel"));
    MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.label = "y of one", .kind = kind}));
    add_every_mark(ctx, panel);
  }
  return figure;
}

#endif
