/* Figures: ticks are nice, cover the axis and have labels that do not touch; the file is well-formed XML with every text in it; what
 * is not finite is not drawn; the same calls give the same bytes; every refusal has its sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plot/figure.h"
#include "util/rng.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MINUS "\xe2\x88\x92"

static int set_up(void **state) {
  *state = oatgp_context_create();
  return *state == NULL;
}

static int tear_down(void **state) {
  oatgp_context_free(*state);
  return 0;
}

static void must(oatgp_context *ctx, oatgp_status status, int line) {
  if (status != OATGP_OK) {
    fail_msg("line %d: status %d: %s", line, (int)status, oatgp_last_error(ctx));
  }
}
#define MUST(call) must(ctx, call, __LINE__)

static void refused(oatgp_context *ctx, oatgp_status expected, oatgp_status status, const char *piece) {
  if (status != expected || strstr(oatgp_last_error(ctx), piece) == NULL) {
    fail_msg("expected status %d with '%s', got %d: %s", (int)expected, piece, (int)status, oatgp_last_error(ctx));
  }
}

static oat_figure *new_figure(oatgp_context *ctx, size_t rows, size_t columns) {
  oat_figure *figure = NULL;
  const oat_figure_spec spec = {.title = "Title", .description = "Description", .rows = rows, .columns = columns};
  MUST(oat_figure_create(ctx, &spec, &figure));
  return figure;
}

/* The figure's text; the caller frees it. */
static char *svg_of(oatgp_context *ctx, oat_figure *figure, const char *prefix) {
  oat_string svg = {.ctx = ctx};
  MUST(oat_figure_svg(figure, prefix, &svg));
  assert_int_equal(strlen(svg.text), svg.length);
  return svg.text;
}

/* No value that is none: as such, or where one that is none would stand on the page. */
static void expect_numbers(const char *svg) {
  assert_null(strstr(svg, "NaN"));
  assert_null(strstr(svg, "-1000000000"));
}

static size_t count(const char *text, const char *piece) {
  size_t n = 0;
  for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + strlen(piece), piece)) {
    n++;
  }
  return n;
}

/* ---- a reader of XML, as strict as a figure needs ------------------------------------------------------------------ */

typedef struct xml {
  const char *at, *start;
  size_t depth, n_ids;
  char open[32][32], ids[64][32];
} xml;

static void expect_xml(const xml *x, int condition, const char *what) {
  if (!condition) {
    fail_msg("not well-formed, %s, near: %.60s", what, x->at);
  }
}

static size_t read_name(xml *x, char name[32]) {
  size_t n = 0;
  while (isalnum((unsigned char)*x->at) || *x->at == '-') {
    expect_xml(x, n < 31, "name too long");
    name[n++] = *x->at++;
  }
  name[n] = '\0';
  expect_xml(x, n > 0, "name expected");
  return n;
}

/* One character of text or of a value. */
static void read_character(xml *x) {
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  if (*x->at != '&') {
    expect_xml(x, (unsigned char)*x->at >= 0x20 || *x->at == '\n' || *x->at == '\t', "control character");
    x->at++;
    return;
  }
  for (size_t i = 0; i < LENGTH(entities); i++) {
    if (strncmp(x->at, entities[i], strlen(entities[i])) == 0) {
      x->at += strlen(entities[i]);
      return;
    }
  }
  expect_xml(x, 0, "bare &");
}

static void keep_id(xml *x, const char *value, size_t length) {
  expect_xml(x, x->n_ids < LENGTH(x->ids) && length < sizeof x->ids[0], "too many or too long ids for this test");
  snprintf(x->ids[x->n_ids], sizeof x->ids[0], "%.*s", (int)length, value);
  for (size_t i = 0; i < x->n_ids; i++) {
    expect_xml(x, strcmp(x->ids[i], x->ids[x->n_ids]) != 0, "id used twice");
  }
  x->n_ids++;
}

static void read_attributes(xml *x) {
  char name[32];
  while (*x->at == ' ') {
    x->at++;
    read_name(x, name);
    expect_xml(x, strncmp(x->at, "=\"", 2) == 0, "=\" expected");
    x->at += 2;
    const char *const value = x->at;
    while (*x->at != '"') {
      expect_xml(x, *x->at != '\0' && *x->at != '<', "value not closed");
      read_character(x);
    }
    if (strcmp(name, "id") == 0) {
      keep_id(x, value, (size_t)(x->at - value));
    }
    x->at++;
  }
}

static void read_tag(xml *x) {
  char name[32];
  x->at++;
  if (*x->at == '/') {
    x->at++;
    read_name(x, name);
    expect_xml(x, x->depth > 0 && strcmp(name, x->open[x->depth - 1]) == 0, "another element is open");
    x->depth--;
  } else {
    expect_xml(x, x->depth < LENGTH(x->open), "too deep");
    expect_xml(x, x->depth > 0 || x->at == x->start + 1, "two roots");
    read_name(x, x->open[x->depth]);
    read_attributes(x);
    if (*x->at == '/') {
      x->at++;
    } else {
      x->depth++;
    }
  }
  expect_xml(x, *x->at == '>', "> expected");
  x->at++;
}

static void check_xml(const char *text) {
  xml x = {.at = text, .start = text};
  while (*x.at != '\0') {
    if (*x.at == '<') {
      read_tag(&x);
    } else {
      expect_xml(&x, *x.at != '>' && (x.depth > 0 || *x.at == '\n'), "text outside");
      read_character(&x);
    }
  }
  expect_xml(&x, x.depth == 0, "an element is not closed");
}

/* ---- ticks --------------------------------------------------------------------------------------------------------- */

static oat_scale scale_of(oat_scale_kind kind, double low, double high, double length) {
  return (oat_scale){.kind = kind, .low = low, .high = high, .from = 0, .to = length};
}

static double value_at(const oat_scale *scale, const oat_tick *tick) {
  return scale->low + (tick->at - scale->from) / (scale->to - scale->from) * (scale->high - scale->low);
}

static int is_nice(double step) {
  const double mantissa = step / pow(10, floor(log10(step) + 1e-6));
  return fabs(mantissa - 1) < 1e-5 || fabs(mantissa - 2) < 1e-5 || fabs(mantissa - 5) < 1e-5;
}

static void check_no_touch(const oat_ticks *ticks, oat_direction direction) {
  const oat_tick *last = NULL;
  for (size_t i = 0; i < ticks->n; i++) {
    const oat_tick *const tick = &ticks->tick[i];
    if (tick->name == NULL && tick->digits[0] == '\0') {
      continue;
    }
    if (last != NULL) {
      const double room = direction == OAT_X ? (oat_tick_width(tick) + oat_tick_width(last)) / 2 : OAT_TICK_SIZE;
      assert_true(fabs(tick->at - last->at) > room);
    }
    last = tick;
  }
}

/* A label read back: digits, with the minus sign and the power. */
static double label_value(const oat_tick *tick) {
  const int negative = strncmp(tick->digits, MINUS, strlen(MINUS)) == 0;
  char *end = NULL;
  const double size = strtod(tick->digits + (negative ? strlen(MINUS) : 0), &end);
  double power = 0;
  if (tick->power[0] != '\0') {
    const int small = strncmp(tick->power, MINUS, strlen(MINUS)) == 0;
    power = (small ? -1 : 1) * atof(tick->power + (small ? strlen(MINUS) : 0));
    return strcmp(tick->digits, "10") == 0 ? pow(10, power) : (negative ? -size : size) * pow(10, power);
  }
  assert_int_equal(*end, '\0');
  return negative ? -size : size;
}

static void test_linear_ticks(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 7);
  for (int round = 0; round < 20000; round++) {
    const double middle = oat_rng_normal(&rng) * pow(10, 8 * oat_rng_uniform(&rng) - 4);
    const double span = pow(10, 12 * oat_rng_uniform(&rng) - 6) + 1e-8 * fabs(middle);
    const double length = 30 + 500 * oat_rng_uniform(&rng);
    const oat_direction direction = round % 2 == 0 ? OAT_X : OAT_Y;
    const oat_scale scale = scale_of(OAT_LINEAR, middle - span / 2, middle + span / 2, length);
    oat_ticks ticks;
    oat_axis_ticks(&(oat_axis){0}, &scale, direction, &ticks);
    assert_in_range(ticks.n, 1, 9);
    check_no_touch(&ticks, direction);
    const double step = ticks.n > 1 ? value_at(&scale, &ticks.tick[1]) - value_at(&scale, &ticks.tick[0]) : span;
    if (ticks.n > 1) {
      assert_true(is_nice(step));
    }
    assert_true(value_at(&scale, &ticks.tick[0]) - scale.low <= step * (1 + 1e-6));
    assert_true(scale.high - value_at(&scale, &ticks.tick[ticks.n - 1]) <= step * (1 + 1e-6));
    for (size_t i = 0; i < ticks.n; i++) {
      assert_true(ticks.tick[i].at >= -1e-3 && ticks.tick[i].at <= length + 1e-3);
      if (ticks.tick[i].digits[0] != '\0') {
        assert_true(fabs(label_value(&ticks.tick[i]) - value_at(&scale, &ticks.tick[i])) <= 1e-6 * span);
      }
    }
  }
}

static void test_log_ticks(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 8);
  for (int round = 0; round < 20000; round++) {
    const double low = 40 * oat_rng_uniform(&rng) - 20, high = low + pow(10, 3.5 * oat_rng_uniform(&rng) - 2);
    const oat_direction direction = round % 2 == 0 ? OAT_X : OAT_Y;
    const oat_scale scale = scale_of(OAT_LOG10, low, high, 40 + 500 * oat_rng_uniform(&rng));
    oat_ticks ticks;
    oat_axis_ticks(&(oat_axis){.kind = OAT_LOG10}, &scale, direction, &ticks);
    check_no_touch(&ticks, direction);
    size_t labelled = 0;
    for (size_t i = 0; i < ticks.n; i++) {
      assert_true(ticks.tick[i].at >= -1e-3 && ticks.tick[i].at <= scale.to + 1e-3);
      if (ticks.tick[i].digits[0] != '\0') {
        assert_true(fabs(log10(label_value(&ticks.tick[i])) - value_at(&scale, &ticks.tick[i])) <= 1e-6);
        labelled++;
      }
    }
    assert_true(labelled >= 1);
  }
}

/* The labels, with ^ before a power and a blank after each. */
static const char *labels_of(const oat_axis *axis, oat_scale scale, oat_direction direction) {
  static char text[512];
  oat_ticks ticks;
  oat_axis_ticks(axis, &scale, direction, &ticks);
  text[0] = '\0';
  for (size_t i = 0; i < ticks.n; i++) {
    const oat_tick *const t = &ticks.tick[i];
    if (!t->minor) {
      const size_t used = strlen(text);
      snprintf(text + used, sizeof text - used, "%s%s%s ", t->name != NULL ? t->name : t->digits, t->power[0] != '\0' ? "^" : "", t->power);
    }
  }
  return text;
}

static void test_labels_by_hand(void **state) {
  (void)state;
  const struct {
    oat_axis axis;
    double low, high, length;
    const char *labels;
  } cases[] = {
      {{0}, -1, 1, 150, MINUS "1.0 " MINUS "0.5 0.0 0.5 1.0 "},
      {{0}, 0.9, 5.1, 200, "1 2 3 4 5 "},
      {{0},
       0,
       5e6,
       200,
       "0 1\xc3\x97"
       "10^6 2\xc3\x97"
       "10^6 3\xc3\x97"
       "10^6 4\xc3\x97"
       "10^6 5\xc3\x97"
       "10^6 "},
      {{0},
       0,
       4e-6,
       300,
       "0 1\xc3\x97"
       "10^" MINUS "6 2\xc3\x97"
       "10^" MINUS "6 3\xc3\x97"
       "10^" MINUS "6 4\xc3\x97"
       "10^" MINUS "6 "},
      {{0}, 123456, 123460, 400, "123456 123457 123458 123459 123460 "},
      {{0}, 0, 20000, 200, "0 5000 10000 15000 20000 "},
      {{.whole = true}, 0.5, 2.5, 400, "1 2 "},
      {{.kind = OAT_LOG10}, 0, 2, 300, "1 2 5 10 20 50 100 "},
      {{.kind = OAT_LOG10}, -2, 4, 300, "0.01 0.1 1 10 100 1000 10000 "},
      {{.kind = OAT_LOG10}, -6, -2, 300, "10^" MINUS "6 10^" MINUS "5 10^" MINUS "4 10^" MINUS "3 10^" MINUS "2 "},
      {{.kind = OAT_LOG10}, -20, 20, 250, "10^" MINUS "20 10^" MINUS "15 10^" MINUS "10 10^" MINUS "5 10^0 10^5 10^10 10^15 10^20 "},
      {{.kind = OAT_LOG10}, log10(31), log10(39), 250, "32 34 36 38 "},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    const oat_scale scale = scale_of(cases[i].axis.kind, cases[i].low, cases[i].high, cases[i].length);
    assert_string_equal(labels_of(&cases[i].axis, scale, OAT_X), cases[i].labels);
  }
}

static void test_names(void **state) {
  (void)state;
  const char *const names[] = {"one", "two", "a very long name", "four"};
  const oat_axis axis = {.kind = OAT_NAMES, .n_names = 4, .names = names};
  const oat_range x = oat_axis_limits(&axis, OAT_X, (oat_range){0, 9, false}), y = oat_axis_limits(&axis, OAT_Y, (oat_range){0, 9, false});
  assert_true(x.low == 0.5 && x.high == 4.5 && y.low == 4.5 && y.high == 0.5); /* the first is at the top */
  oat_ticks ticks;
  const oat_scale wide = scale_of(OAT_NAMES, x.low, x.high, 400), narrow = scale_of(OAT_NAMES, x.low, x.high, 60);
  oat_axis_ticks(&axis, &wide, OAT_X, &ticks);
  assert_false(ticks.tilted);
  assert_true(fabs(ticks.tick[2].at - 250) < 1e-9);
  oat_axis_ticks(&axis, &narrow, OAT_X, &ticks);
  assert_true(ticks.tilted);
  assert_string_equal(labels_of(&axis, narrow, OAT_X), "one two a very long name four ");
  assert_string_equal(labels_of(&axis, scale_of(OAT_NAMES, x.low, x.high, 30), OAT_X), "one  a very long name  "); /* every other */
}

static void test_limits(void **state) {
  (void)state;
  const oat_range none = {INFINITY, -INFINITY, false};
  const struct {
    oat_axis axis;
    oat_range data;
    double low, high;
  } cases[] = {
      {{0}, {0, 100, false}, -4, 104},
      {{0}, {0, 100, true}, 0, 104}, /* bars stand on 0 */
      {{0}, {-100, 0, true}, -104, 0},
      {{0}, none, -0.04, 1.04},
      {{0}, {5, 5, false}, 4.46, 5.54}, /* one value: a fifth of it, and 4 % of that */
      {{0}, {0, 0, false}, -0.54, 0.54},
      {{.low = 1, .high = 2}, {0, 100, false}, 1, 2},
      {{.low = NAN, .high = 50}, {0, 100, false}, -2, 50},
      {{.low = 0, .high = NAN}, {40, 50, false}, 0, 52},
      {{.low = 60, .high = NAN}, {40, 50, false}, 60, 66.48}, /* nothing is left to see, but an axis */
      {{.kind = OAT_LOG10, .low = 10, .high = 1000}, {-3, 5, false}, 1, 3},
      {{.kind = OAT_LOG10}, {2, 2, false}, 1.46, 2.54},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    const oat_range limits = oat_axis_limits(&cases[i].axis, OAT_X, cases[i].data);
    if (!(fabs(limits.low - cases[i].low) < 1e-9 && fabs(limits.high - cases[i].high) < 1e-9)) {
      fail_msg("case %zu: %.12g to %.12g", i, limits.low, limits.high);
    }
  }
}

/* ---- the writer ---------------------------------------------------------------------------------------------------- */

static void test_numbers(void **state) {
  const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0"},       {-0.001, "0"}, {1.5, "1.5"},      {-1.25, "-1.25"},      {0.05, "0.05"},
               {-0.5, "-0.5"}, {100, "100"},  {3.14159, "3.14"}, {1e300, "1000000000"}, {2.999, "3"}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_string s = {.ctx = *state};
    oat_svg_number(&s, cases[i].value);
    assert_string_equal(s.text, cases[i].text);
    oat_string_free(&s);
  }
}

static void test_escaping(void **state) {
  const struct {
    const char *text, *escaped;
  } cases[] = {
      {"a < b && c > \"d\" 'e'", "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;"},
      {"\xcf\x83\xc2\xb2 \xe2\x89\xa4 \xf0\x9d\x91\xa5", "\xcf\x83\xc2\xb2 \xe2\x89\xa4 \xf0\x9d\x91\xa5"},
      {"bell\x07"
       "del\x7f",
       "bell\xef\xbf\xbd"
       "del\xef\xbf\xbd"},
      {"cut \xe2\x89", "cut \xef\xbf\xbd\xef\xbf\xbd"},
      {"\xff<", "\xef\xbf\xbd&lt;"},
      {"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* an overlong < */
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half of a pair of UTF-16 */
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_string s = {.ctx = *state};
    oat_svg_text(&s, cases[i].text);
    assert_string_equal(s.text, cases[i].escaped);
    oat_string_free(&s);
  }
}

/* A string keeps its first failure. */
static void test_string_failure(void **state) {
  oat_string s = {.ctx = *state, .status = OATGP_MEMORY};
  oat_string_add(&s, "text");
  oat_string_print(&s, "%d", 1);
  assert_null(s.text);
  assert_int_equal(s.status, OATGP_MEMORY);
  oat_figure *const figure = new_figure(*state, 1, 1);
  assert_int_equal(oat_figure_svg(figure, "a", &s), OATGP_MEMORY);
  oat_figure_free(figure);
}

/* ---- figures ------------------------------------------------------------------------------------------------------- */

static const double xs[] = {1, 2, 3, 4, 5}, ys[] = {2, 4, 1, 8, 3}, zs[] = {3, 5, 2, 9, 4};

static void add_every_mark(oatgp_context *ctx, oat_panel *panel) {
  for (size_t i = 0; i < OAT_SHAPES; i++) {
    oat_style style = oat_series_style(i, "points & more");
    style.shape = (oat_shape)i;
    MUST(oat_panel_points(panel, &style, 5, xs, ys));
  }
  for (size_t i = 0; i < OAT_DASHES; i++) {
    MUST(oat_panel_line(panel, &(oat_style){.dash = (oat_dash)i, .opacity = 0.5, .label = "line", .tooltip = "a <line>"}, 5, xs, ys));
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
static oat_figure *full_figure(oatgp_context *ctx, oat_share share, oat_legend legend, oat_scale_kind kind) {
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

static void test_well_formed(void **state) {
  oatgp_context *const ctx = *state;
  for (int share = OAT_SHARE_NONE; share <= OAT_SHARE_ALL; share++) {
    for (int place = OAT_LEGEND_RIGHT; place <= OAT_LEGEND_INSIDE; place++) {
      for (int kind = OAT_LINEAR; kind <= OAT_LOG10; kind++) {
        const oat_legend legend = {(oat_legend_place)place, OAT_BOTTOM_RIGHT, 0, 1};
        oat_figure *const figure = full_figure(ctx, (oat_share)share, legend, (oat_scale_kind)kind);
        char *const text = svg_of(ctx, figure, "p1");
        check_xml(text);
        expect_numbers(text);
        assert_non_null(strstr(text, "<title id=\"p1-title\">All &lt;marks&gt;</title>"));
        assert_non_null(strstr(text, "<desc id=\"p1-desc\">Every mark &amp; &quot;option&quot;</desc>"));
        assert_int_equal(count(text, "points &amp; more</text>"), 1); /* once in the legend, from many marks */
        assert_int_equal(count(text, ">x of all</text>"), 1);
        assert_int_equal(count(text, ">y of one</text>"), share == OAT_SHARE_NONE ? 3 : 2);
        assert_int_equal(count(text, ">panel</text>"), 3);
        assert_true(count(text, "<title>a &lt;line&gt;</title>") >= 3 * OAT_DASHES);
        free(text);
        oat_figure_free(figure);
      }
    }
  }
}

/* Two figures in one page: nothing in the second has an id of the first, and a second call gives the same bytes. */
static void test_prefix_and_bytes(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const one = full_figure(ctx, OAT_SHARE_ALL, (oat_legend){0}, OAT_LINEAR);
  oat_figure *const two = full_figure(ctx, OAT_SHARE_ALL, (oat_legend){0}, OAT_LINEAR);
  oat_string page = {.ctx = ctx};
  oat_string_add(&page, "<div>");
  MUST(oat_figure_svg(one, "a", &page));
  MUST(oat_figure_svg(two, "b-2", &page));
  oat_string_add(&page, "</div>");
  check_xml(page.text);
  char *const first = svg_of(ctx, one, "same"), *const second = svg_of(ctx, two, "same"), *const again = svg_of(ctx, one, "same");
  assert_string_equal(first, second);
  assert_string_equal(first, again);
  free(first);
  free(second);
  free(again);
  oat_string_free(&page);
  oat_figure_free(one);
  oat_figure_free(two);
}

/* The d attribute of the one path with this class. */
static char *path_of(const char *svg, const char *class) {
  char start[64];
  snprintf(start, sizeof start, "<path class=\"%s\"", class);
  assert_int_equal(count(svg, start), 1);
  const char *const d = strstr(strstr(svg, start), " d=\"") + 4;
  return strndup(d, strcspn(d, "\""));
}

static void test_gaps(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const figure = new_figure(ctx, 1, 1);
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  const double x[] = {1, 2, NAN, 4, 5, 6, 7, 8}, y[] = {1, 2, 3, 4, INFINITY, 6, 1e301, 8};
  MUST(oat_panel_line(panel, &(oat_style){.colour = OAT_BLUE}, 8, x, y));
  MUST(oat_panel_points(panel, &(oat_style){.colour = OAT_GREEN}, 8, x, y));
  MUST(oat_panel_band(panel, &(oat_style){.colour = OAT_SKY}, 8, x, (oat_limits){x, y}));
  MUST(oat_panel_columns(panel, &(oat_style){.colour = OAT_ORANGE}, 8, x, y));
  MUST(oat_panel_rule(panel, &(oat_style){.colour = OAT_PURPLE}, OAT_X, NAN));
  char *const text = svg_of(ctx, figure, "p");
  char *const line = path_of(text, "line s1"), *const points = path_of(text, "f3"), *const band = path_of(text, "f6"),
              *const columns = path_of(text, "f5");
  assert_int_equal(count(line, "M"), 4); /* 1-2, 4, 6, 8 */
  assert_int_equal(count(line, "L"), 1);
  assert_int_equal(count(line, "h0"), 3);
  assert_int_equal(count(points, "M"), 5);
  assert_int_equal(count(band, "z"), 4);
  assert_int_equal(count(columns, "z"), 5);
  assert_null(strstr(text, "s4\""));
  assert_true(figure->panels[0].scale[OAT_Y].high < 10);
  char *const all[] = {text, line, points, band, columns};
  for (size_t i = 0; i < LENGTH(all); i++) {
    free(all[i]);
  }
  oat_figure_free(figure);
}

/* On a logarithmic axis what is not positive is a gap; nothing but gaps still makes a figure. */
static void test_log_gaps(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const figure = new_figure(ctx, 1, 2);
  const double y[] = {1, 0, 100, -5, 1000}, none[] = {-1, -2, NAN, 0, -INFINITY};
  for (size_t i = 0; i < 2; i++) {
    oat_panel *const panel = oat_figure_panel(figure, 0, i);
    MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.kind = OAT_LOG10}));
    MUST(oat_panel_points(panel, &(oat_style){.colour = i == 0 ? OAT_BLUE : OAT_GREEN}, 5, xs, i == 0 ? y : none));
  }
  char *const text = svg_of(ctx, figure, "p"), *const some = path_of(text, "f1"), *const no = path_of(text, "f3");
  check_xml(text);
  assert_int_equal(count(some, "M"), 3);
  assert_string_equal(no, "");
  free(text);
  free(some);
  free(no);
  oat_figure_free(figure);
}

/* Limits that are set: points beyond are left out, lines are clipped and stay where numbers have digits. */
static void test_beyond_limits(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const figure = new_figure(ctx, 1, 1);
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  const double y[] = {0, 1, 1e250, 0.5, -3};
  MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.low = 0, .high = 1}));
  MUST(oat_panel_line(panel, &(oat_style){.colour = OAT_BLUE}, 5, xs, y));
  MUST(oat_panel_points(panel, &(oat_style){.colour = OAT_GREEN}, 5, xs, y));
  char *const text = svg_of(ctx, figure, "p"), *const points = path_of(text, "f3");
  assert_int_equal(count(points, "M"), 3);
  assert_non_null(strstr(text, "clip-path=\"url(#p-0-0)\""));
  assert_non_null(strstr(text, "-100000"));
  free(text);
  free(points);
  oat_figure_free(figure);
}

static void test_extreme_data(void **state) {
  oatgp_context *const ctx = *state;
  const double sets[][5] = {
      {1e300, -1e300, 0, 1, 2},           {1e-300, 2e-300, 3e-300, 0, 0},      {5e-324, 5e-324, 5e-324, 5e-324, 5e-324},
      {1e16, 1e16 + 2, 1e16, 1e16, 1e16}, {1e300, 1e300, 1e300, 1e300, 1e300}, {-7, -7, -7, -7, -7},
      {1e-300, 1, 1e300, 5e-324, 1}};
  for (size_t i = 0; i < LENGTH(sets); i++) {
    for (int kind = OAT_LINEAR; kind <= OAT_LOG10; kind++) {
      oat_figure *const figure = new_figure(ctx, 1, 1);
      oat_panel *const panel = oat_figure_panel(figure, 0, 0);
      MUST(oat_figure_axis(figure, OAT_X, &(oat_axis){.kind = (oat_scale_kind)kind}));
      MUST(oat_figure_axis(figure, OAT_Y, &(oat_axis){.kind = (oat_scale_kind)kind}));
      MUST(oat_panel_line(panel, &(oat_style){.shape = OAT_CROSS}, 5, sets[i], sets[i]));
      MUST(oat_panel_columns(panel, &(oat_style){0}, 5, sets[i], sets[i]));
      char *const text = svg_of(ctx, figure, "p");
      check_xml(text);
      expect_numbers(text);
      free(text);
      oat_figure_free(figure);
    }
  }
}

/* ---- in letters ---------------------------------------------------------------------------------------------------- */

static char *letters(oatgp_context *ctx, oat_figure *figure, oat_letters size) {
  oat_string text = {.ctx = ctx};
  MUST(oat_figure_letters(figure, size, &text));
  return text.text;
}

/* In ASCII every line of the panel has the axis in the same place, and is as wide as the figure; the labels below are no wider. */
static void expect_straight(const char *text, oat_letters size) {
  const char *const floor_line = strstr(text, " +--");
  assert_non_null(floor_line);
  const char *line = floor_line, *const below = strchr(floor_line, '\n') + 1;
  assert_true(strcspn(below, "\n") <= size.width);
  while (line[-1] != '\n') {
    line--;
  }
  const size_t axis = (size_t)(floor_line - line) + 1;
  for (size_t i = 0; i < size.height - 4; i++) {
    const char *const end = line - 1;
    for (line = end; line[-1] != '\n';) {
      line--;
    }
    assert_int_equal(end - line, size.width);
    assert_true(line[axis - 1] == ' ' && (line[axis] == '|' || line[axis] == '+'));
  }
}

static void test_letters_powers(void **state) {
  oatgp_context *const ctx = *state;
  const oat_letters size = {60, 20, false};
  oat_figure *const figure = new_figure(ctx, 1, 1);
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  const double x[] = {1e-8, 1e-4, 1, 1e4, 1e8}, y[] = {-5e7, -2e7, 0, 2e7, 5e7};
  MUST(oat_panel_axis(panel, OAT_X, &(oat_axis){.kind = OAT_LOG10}));
  MUST(oat_panel_line(panel, &(oat_style){0}, 5, x, y));
  char *const text = letters(ctx, figure, size);
  expect_straight(text, size);
  static const char *const labels[] = {"  4e7 +", "  2e7 +", "    0 +", " -4e7 +", " 1e-4 ", " 1e4 "};
  for (size_t i = 0; i < LENGTH(labels); i++) {
    if (strstr(text, labels[i]) == NULL) {
      fail_msg("no '%s' in\n%s", labels[i], text);
    }
  }
  free(text);
  oat_figure_free(figure);
}

/* Names get the room that they need, or are cut; what a terminal would obey is a blank. */
static void test_letters_names(void **state) {
  oatgp_context *const ctx = *state;
  static const char *const names[] = {"a name of many letters", "b\x1b[31m\n\x7f\xc2\x9b\xff", "\xc3\xa4"};
  oat_figure *const figure = new_figure(ctx, 1, 1);
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.kind = OAT_NAMES, .n_names = 3, .names = names}));
  MUST(oat_panel_axis(panel, OAT_X, &(oat_axis){.label = names[1]}));
  MUST(oat_panel_bars(panel, &(oat_style){0}, 3, xs, xs));
  for (size_t width = 24; width <= 78; width += 54) {
    for (int utf8 = 0; utf8 < 2; utf8++) {
      const oat_letters size = {width, 16, utf8 != 0};
      char *const text = letters(ctx, figure, size);
      assert_int_equal(count(text, "\n"), 16);
      assert_null(strpbrk(text, "\x1b\x7f\xff"));
      assert_null(strstr(text, "\xc2\x9b"));
      assert_int_equal(count(text, "b [31m   ?"), 2);
      assert_int_equal(count(text, "a name of many letters "), width == 78);
      assert_int_equal(count(text, utf8 ? "\na name of\xe2\x80\xa6 " : "\na name of~ "), width == 24);
      assert_int_equal(count(text, utf8 ? "     \xc3\xa4 " : "     ? "), 1);
      if (!utf8) {
        expect_straight(text, size);
      }
      free(text);
    }
  }
  oat_figure_free(figure);
}

/* The letters at a share of the width of every line of the panel, in a figure of 52 x 14. */
static size_t count_in_column(const char *text, double share, const char *signs) {
  size_t found = 0;
  for (size_t line = 0; line < 11; line++, text = strchr(text, '\n') + 1) {
    found += line > 0 && strchr(signs, text[12 + (size_t)lround(share * 39)]) != NULL;
  }
  return found;
}

static void test_letters_gaps(void **state) {
  oatgp_context *const ctx = *state;
  const oat_letters size = {52, 14, false};
  const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {1, 2, INFINITY, 4, NAN, 6, 7, 8}, low[] = {0, 0, 0, 0, 0, NAN, 0, 0};
  oat_figure *const figure = new_figure(ctx, 1, 3);
  for (size_t i = 0; i < 3; i++) {
    MUST(oat_panel_axis(oat_figure_panel(figure, 0, i), OAT_X, &(oat_axis){.low = 0, .high = 7}));
  }
  MUST(oat_panel_line(oat_figure_panel(figure, 0, 0), &(oat_style){0}, 8, x, y));
  MUST(oat_panel_rule(oat_figure_panel(figure, 0, 0), &(oat_style){0}, OAT_Y, NAN));
  MUST(oat_panel_band(oat_figure_panel(figure, 0, 1), &(oat_style){.colour = OAT_SKY}, 8, x, (oat_limits){low, y}));
  MUST(oat_panel_axis(oat_figure_panel(figure, 0, 2), OAT_Y, &(oat_axis){.kind = OAT_LOG10}));
  MUST(oat_panel_columns(oat_figure_panel(figure, 0, 2), &(oat_style){.width = 0.4}, 8, x, y));
  char *const text = letters(ctx, figure, size), *panel = text;
  assert_int_equal(count_in_column(text, 0.5 / 7, "-"), 0);
  for (size_t i = 0; i < 3; i++) {
    const char signs[] = {"*.#"[i], '\0'};
    expect_straight(panel, size);
    assert_true(count_in_column(panel, 0.5 / 7, signs) > 0 || i == 2);
    assert_int_equal(count_in_column(panel, 1.5 / 7, signs), 0);
    assert_int_equal(count_in_column(panel, 2.5 / 7, signs), 0);
    assert_int_equal(count_in_column(panel, 3.0 / 7, signs) > 0, i != 1);
    assert_int_equal(count_in_column(panel, 3.5 / 7, signs), 0);
    assert_int_equal(count_in_column(panel, 5.5 / 7, signs) > 0, i == 0);
    assert_true(count_in_column(panel, 6.9 / 7, signs) > 0);
    assert_true(count_in_column(panel, 0, signs) <= 3); /* the lowest value; bars stand on the floor */
    for (size_t line = 0; line < size.height; line++) {
      panel = strchr(panel, '\n') + 1;
    }
  }
  assert_int_equal(*panel, '\0');
  free(text);
  oat_figure_free(figure);
}

/* Every mark on either scale, and each label once. */
static void test_letters_of_all(void **state) {
  oatgp_context *const ctx = *state;
  for (int kind = OAT_LINEAR; kind <= OAT_LOG10; kind++) {
    for (int utf8 = 0; utf8 < 2; utf8++) {
      oat_figure *const figure = full_figure(ctx, OAT_SHARE_NONE, (oat_legend){0}, (oat_scale_kind)kind);
      char *const text = letters(ctx, figure, (oat_letters){70, 20, utf8 != 0});
      assert_int_equal(count(text, " points & more"), 3); /* panels */
      assert_int_equal(count(text, " band"), 3);
      assert_int_equal(count(text, "\n"), 3 * 21);
      free(text);
      oat_figure_free(figure);
    }
  }
}

/* ---- layout -------------------------------------------------------------------------------------------------------- */

static void test_shared_axes(void **state) {
  oatgp_context *const ctx = *state;
  const double far[] = {10, 20, 30, 40, 50};
  for (int share = OAT_SHARE_NONE; share <= OAT_SHARE_ALL; share++) {
    oat_figure *figure = NULL;
    const oat_figure_spec spec = {.title = "t", .description = "d", .rows = 2, .columns = 2, .share = {(oat_share)share, (oat_share)share}};
    MUST(oat_figure_create(ctx, &spec, &figure));
    for (size_t i = 0; i < 4; i++) {
      MUST(oat_panel_line(oat_figure_panel(figure, i / 2, i % 2), &(oat_style){0}, 5, i == 3 ? far : xs, i == 3 ? far : ys));
    }
    free(svg_of(ctx, figure, "p"));
    const oat_panel *const p = figure->panels;
    /* x of panel (1, 1) reaches 50: in a shared column so does (0, 1), and with all shared (0, 0). */
    assert_int_equal(p[1].scale[OAT_X].high > 40, share != OAT_SHARE_NONE);
    assert_int_equal(p[0].scale[OAT_X].high > 40, share == OAT_SHARE_ALL);
    assert_int_equal(p[2].scale[OAT_Y].high > 40, share != OAT_SHARE_NONE);
    assert_int_equal(p[1].scale[OAT_Y].high > 40, share == OAT_SHARE_ALL);
    assert_int_equal(oat_panel_shows_axis(&p[0], OAT_X), share == OAT_SHARE_NONE);
    assert_int_equal(oat_panel_shows_axis(&p[1], OAT_Y), share == OAT_SHARE_NONE);
    assert_true(oat_panel_shows_axis(&p[2], OAT_X) && oat_panel_shows_axis(&p[2], OAT_Y));
    oat_figure_free(figure);
  }
}

/* Below an empty panel nobody shows the axis, so the one above it does. */
static void test_empty_panel(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const figure = full_figure(ctx, OAT_SHARE_ALL, (oat_legend){0}, OAT_LINEAR);
  char *const text = svg_of(ctx, figure, "p");
  assert_true(oat_panel_shows_axis(&figure->panels[1], OAT_X));
  assert_false(oat_panel_shows_axis(&figure->panels[0], OAT_X));
  assert_null(strstr(text, "\"p-1-1\""));
  free(text);
  oat_figure_free(figure);
}

static double attribute(const char *element, const char *name) {
  char start[32];
  snprintf(start, sizeof start, " %s=\"", name);
  const char *const at = strstr(element, start);
  return at != NULL && at < strchr(element, '>') ? strtod(at + strlen(start), NULL) : 0;
}

/* The box of a text element that is not turned. */
static oat_box text_box(const char *element) {
  const char *const content = strchr(element, '>') + 1;
  char text[128];
  snprintf(text, sizeof text, "%.*s", (int)strcspn(content, "<"), content);
  const char *const end = content;
  const double size = strstr(element, "class=\"tick\"") != NULL && strstr(element, "class=\"tick\"") < end ? OAT_TICK_SIZE : OAT_LABEL_SIZE;
  const double x = attribute(element, "x"), y = attribute(element, "y"), width = oat_svg_width(text, size);
  const char *const anchor = strstr(element, "text-anchor=\"");
  const double share = anchor == NULL || anchor > end ? 0 : anchor[13] == 'm' ? 0.5 : 1;
  return (oat_box){x - share * width, y - 0.7 * size, x + (1 - share) * width, y + 0.05 * size};
}

static int overlap(oat_box a, oat_box b) { return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; }

/* No two texts of a figure (but those turned) lie on each other, and none leaves the page. */
static void check_texts(const oat_figure *figure, const char *svg) {
  oat_box boxes[256];
  size_t n = 0;
  for (const char *at = strstr(svg, "<text"); at != NULL; at = strstr(at + 1, "<text")) {
    const char *const turned = strstr(at, "rotate");
    if (turned != NULL && turned < strchr(at, '>')) {
      continue;
    }
    assert_true(n < LENGTH(boxes));
    boxes[n] = text_box(at);
    if (boxes[n].left < 0 || boxes[n].top < 0 || boxes[n].right > figure->width || boxes[n].bottom > figure->height) {
      fail_msg("beyond the page: %.90s", at);
    }
    for (size_t i = 0; i < n; i++) {
      if (overlap(boxes[i], boxes[n])) {
        fail_msg("on another text: %.90s", at);
      }
    }
    n++;
  }
  assert_true(n > 0);
}

static void test_texts_do_not_touch(void **state) {
  oatgp_context *const ctx = *state;
  static const double scales[] = {1, 1e-5, 12345.678, 1e7};
  for (size_t i = 0; i < 2 * 3 * LENGTH(scales); i++) {
    oat_figure *figure = NULL;
    const oat_figure_spec spec = {.title = "t",
                                  .description = "d",
                                  .heading = "Heading",
                                  .rows = 2,
                                  .columns = 1 + i % 3,
                                  .share = {OAT_SHARE_NONE, i % 2 == 0 ? OAT_SHARE_NONE : OAT_SHARE_ALL},
                                  .legend = {i % 2 == 0 ? OAT_LEGEND_RIGHT : OAT_LEGEND_BELOW}};
    MUST(oat_figure_create(ctx, &spec, &figure));
    MUST(oat_figure_axis(figure, OAT_X, &(oat_axis){.label = "all"}));
    for (size_t k = 0; k < 2 * spec.columns; k++) {
      oat_panel *const panel = oat_figure_panel(figure, k / spec.columns, k % spec.columns);
      double x[5], y[5];
      for (size_t j = 0; j < 5; j++) {
        x[j] = scales[i / 6] * xs[j] * (k % 2 == 0 ? 1 : -3);
        y[j] = scales[i / 6] * ys[j];
      }
      const oat_style style = oat_series_style(k, k % 2 == 0 ? "even" : "odd, and longer");
      MUST(oat_panel_line(panel, &style, 5, x, y));
      MUST(oat_panel_title(panel, "Title"));
    }
    char *const text = svg_of(ctx, figure, "p");
    check_texts(figure, text);
    free(text);
    oat_figure_free(figure);
  }
}

/* A label at the very end of an axis has room there. */
static void test_label_at_the_end(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const figure = new_figure(ctx, 1, 1);
  MUST(oat_figure_axis(figure, OAT_X, &(oat_axis){.low = 0, .high = 800000}));
  MUST(oat_panel_line(oat_figure_panel(figure, 0, 0), &(oat_style){0}, 5, xs, ys));
  char *const text = svg_of(ctx, figure, "p");
  assert_non_null(strstr(text, ">800000</text>"));
  check_texts(figure, text);
  free(text);
  oat_figure_free(figure);
}

/* The margin is what the labels at the end need, not those of an earlier turn of the layout. */
static void test_margins_are_tight(void **state) {
  oatgp_context *const ctx = *state;
  const double y[] = {0.4, 1, 2, 3, 3.2}; /* ticks at halves where there is room, else at whole numbers, which are shorter */
  for (int height = 40; height < 120; height++) {
    oat_figure *figure = NULL;
    const oat_figure_spec spec = {.title = "t", .description = "d", .rows = 2, .height_mm = height};
    MUST(oat_figure_create(ctx, &spec, &figure));
    for (size_t i = 0; i < 2; i++) {
      MUST(oat_panel_line(oat_figure_panel(figure, i, 0), &(oat_style){0}, 5, xs, y));
    }
    free(svg_of(ctx, figure, "p"));
    double widest = 0;
    for (size_t i = 0; i < figure->panels[0].ticks[OAT_Y].n; i++) {
      widest = fmax(widest, oat_tick_width(&figure->panels[0].ticks[OAT_Y].tick[i]));
    }
    assert_true(fabs(figure->panels[0].box.left - (4 + OAT_TICK_LENGTH + 2 + widest)) < 1e-9); /* 4: the edge of the page */
    oat_figure_free(figure);
  }
}

static void test_series_styles(void **state) {
  (void)state;
  for (size_t i = 0; i < 48; i++) {
    const oat_style a = oat_series_style(i, NULL);
    assert_true(a.colour != OAT_INK && a.shape != OAT_NO_SHAPE && a.shape < OAT_SHAPES);
    for (size_t k = 0; k < i; k++) {
      const oat_style b = oat_series_style(k, NULL);
      assert_true(a.colour != b.colour || a.shape != b.shape);
      assert_true(i >= 6 || (a.colour != b.colour && a.shape != b.shape));
    }
  }
}

/* ---- files, locale, refusals --------------------------------------------------------------------------------------- */

static void test_write(void **state) {
  oatgp_context *const ctx = *state;
  char folder[] = "/tmp/test_plot.XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/figure.svg", folder);
  oat_figure *const figure = full_figure(ctx, OAT_SHARE_ALL, (oat_legend){0}, OAT_LINEAR);
  MUST(oat_figure_write(figure, path));
  char *const text = svg_of(ctx, figure, "figure"), *const back = calloc(strlen(text) + 2, 1);
  FILE *const file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(back, 1, strlen(text) + 1, file), strlen(text));
  assert_string_equal(text, back);
  fclose(file);
  unlink(path);
  snprintf(path, sizeof path, "%s/none/figure.svg", folder);
  refused(ctx, OATGP_WRITE, oat_figure_write(figure, path), "/none/figure.svg");
  assert_int_equal(rmdir(folder), 0); /* nothing else is in it */
  free(text);
  free(back);
  oat_figure_free(figure);
}

/* A number for people and one for programs. */
static void test_numbers_in_text(void **state) {
  const struct {
    double value;
    int digits;
    const char *number, *plain;
  } cases[] = {
      {0, 3, "0.00", "0"},
      {-12.345, 3,
       "\xe2\x88\x92"
       "12.3",
       "-12.3"},
      {123456, 4, "123456", "1.235e+05"},
      {0.00123456, 3, "0.00123", "0.00123"},
      {1.5e-9, 2, "1.5e-09", "1.5e-09"},
      {2e15, 2, "2.0e+15", "2e+15"},
      {NAN, 3, "\xe2\x80\x93", "NaN"},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_string number = {.ctx = *state}, plain = {.ctx = *state};
    oat_string_number(&number, cases[i].value, cases[i].digits);
    oat_string_value(&plain, cases[i].value, cases[i].digits);
    assert_string_equal(number.text, cases[i].number);
    assert_string_equal(plain.text, cases[i].plain);
    oat_string_free(&number);
    oat_string_free(&plain);
  }
}

/* A figure of a page tells its scales and the numbers of the points that are drawn, and has no style of its own. */
static void test_figure_in_a_page(void **state) {
  oatgp_context *const ctx = *state;
  const oat_figure_spec spec = {.title = "t", .description = "d", .in_page = true};
  const double x[] = {1, 10, 1000, 100}, y[] = {1, 2, 3, 4}, numbers[] = {11, 12, 13, 14};
  oat_figure *figure = NULL;
  MUST(oat_figure_create(ctx, &spec, &figure));
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  MUST(oat_panel_axis(panel, OAT_X, &(oat_axis){.label = "a \"x\"", .kind = OAT_LOG10, .low = 1, .high = 100}));
  MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.label = "y", .whole = true}));
  MUST(oat_panel_numbered(panel, &(oat_style){.label = "rows & more"}, 4, (const double *const[]){x, y}, numbers));
  char *const text = svg_of(ctx, figure, "p");
  assert_null(strstr(text, "<style>"));
  assert_non_null(strstr(text, "<g data-x=\"log 0 2 "));
  assert_non_null(strstr(text, "data-x-name=\"a &quot;x&quot;\" data-y=\"whole-linear "));
  assert_non_null(strstr(text, "data-mark=\"points\" data-label=\"rows &amp; more\" data-numbers=\"11 12 14\"")); /* 1000 is outside */
  free(text);
  oat_figure_free(figure);
  oat_string style = {.ctx = ctx};
  oat_figure_style("page", &style);
  assert_non_null(strstr(style.text, "#page .f1{fill:"));
  assert_non_null(strstr(style.text, "prefers-color-scheme:dark"));
  oat_string_free(&style);
}

/* Tiles are where they should be, and an axis has room for them. */
static void test_tiles(void **state) {
  oatgp_context *const ctx = *state;
  const double sides[] = {0, 2, 2, 4}, low[] = {0, 1}, high[] = {1, 2};
  oat_figure *const figure = new_figure(ctx, 1, 1);
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  MUST(oat_panel_axis(panel, OAT_X, &(oat_axis){.low = 0, .high = 4}));
  MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.low = 0, .high = 2}));
  MUST(oat_panel_tiles(panel, &(oat_style){.colour = OAT_GREEN}, 2, sides, (oat_limits){low, high}));
  char *const text = svg_of(ctx, figure, "p"), *const path = path_of(text, "f3");
  double v[2][8];
  const char *at = path;
  for (int tile = 0; tile < 2; tile++) {
    for (int i = 0; i < 8; i++) {
      at += strcspn(at, "-0123456789.");
      char *end = NULL;
      v[tile][i] = strtod(at, &end);
      at = end;
    }
  }
  assert_true(fabs(v[0][2] - v[1][0]) < 0.02); /* the first ends where the second begins, */
  assert_true(fabs(v[0][5] - v[1][1]) < 0.02); /* and below it */
  assert_true(fabs(v[0][2] - v[0][0] - (v[1][2] - v[1][0])) < 0.02);
  free(path);
  free(text);
  oat_figure_free(figure);
}

static void test_locale(void **state) {
  oatgp_context *const ctx = *state;
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
    skip();
  }
  oat_figure *const figure = full_figure(ctx, OAT_SHARE_NONE, (oat_legend){0}, OAT_LINEAR);
  char *const comma = svg_of(ctx, figure, "p");
  setlocale(LC_ALL, "C");
  char *const point = svg_of(ctx, figure, "p");
  assert_string_equal(comma, point);
  free(comma);
  free(point);
  oat_figure_free(figure);
}

static void test_refused_figures(void **state) {
  oatgp_context *const ctx = *state;
  const struct {
    oat_figure_spec spec;
    const char *piece;
  } cases[] = {
      {{.title = "t"}, "a title and a description"},
      {{.title = "", .description = "d"}, "a title and a description"},
      {{.title = "t", .description = "d", .rows = 17}, "at most 16 rows and 16 columns of panels, not 17 and 0"},
      {{.title = "t", .description = "d", .columns = 99}, "not 0 and 99"},
      {{.title = "t", .description = "d", .width_mm = 5}, "width of a figure must be from 20 to 2000 mm, not 5"},
      {{.title = "t", .description = "d", .height_mm = NAN}, "height of a figure must be from 20 to 2000 mm, not"},
      {{.title = "t", .description = "d", .legend = {.row = 1}}, "legend's panel (1, 0) is outside the 1 x 1 panels"},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_figure *figure = NULL;
    refused(ctx, OATGP_ARGUMENT, oat_figure_create(ctx, &cases[i].spec, &figure), cases[i].piece);
    assert_null(figure);
  }
  oat_figure_free(NULL);
}

static void test_refused_axes(void **state) {
  oatgp_context *const ctx = *state;
  const char *const names[] = {"a"};
  const struct {
    oat_axis axis;
    const char *piece;
  } cases[] = {
      {{.low = 2, .high = 1}, "the y axis cannot go from 2 to 1"},
      {{.low = 0, .high = INFINITY}, "the y axis cannot end at inf: the limit is 1e300"},
      {{.kind = OAT_LOG10, .low = 0, .high = 1}, "cannot end at 0: a logarithmic axis has positive numbers only"},
      {{.low = 1, .high = 1 + 1e-12}, "too close for ticks"},
      {{.kind = OAT_NAMES}, "the y axis must have 1 to 60 names, not 0"},
      {{.kind = OAT_NAMES, .n_names = 61, .names = names}, "not 61"},
  };
  oat_figure *const figure = new_figure(ctx, 1, 1);
  for (size_t i = 0; i < LENGTH(cases); i++) {
    refused(ctx, OATGP_ARGUMENT, oat_figure_axis(figure, OAT_Y, &cases[i].axis), cases[i].piece);
    refused(ctx, OATGP_ARGUMENT, oat_panel_axis(oat_figure_panel(figure, 0, 0), OAT_Y, &cases[i].axis), cases[i].piece);
  }
  oat_figure_free(figure);
}

static void test_refused_marks(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *const figure = new_figure(ctx, 1, 1);
  const struct {
    oat_style style;
    const char *piece;
  } cases[] = {{{.colour = OAT_COLOURS}, "colour of a mark must be from 0 to 7, not 8"},
               {{.dash = OAT_DASHES}, "dash of a mark must be from 0 to 3, not 4"},
               {{.shape = OAT_SHAPES}, "shape of a mark must be from 0 to 8, not 9"},
               {{.width = -1}, "width of a mark must be from 0 to 100, not -1"},
               {{.size = NAN}, "size of a mark must be from 0 to 100"},
               {{.opacity = 1.5}, "opacity of a mark must be from 0 to 1, not 1.5"}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    refused(ctx, OATGP_ARGUMENT, oat_panel_line(oat_figure_panel(figure, 0, 0), &cases[i].style, 5, xs, ys), cases[i].piece);
  }
  oat_panel *const outside = oat_figure_panel(figure, 0, 1);
  assert_null(outside);
  refused(ctx, OATGP_ARGUMENT, oat_panel_line(outside, &(oat_style){0}, 5, xs, ys), "no panel (0, 1) in a figure of 1 x 1");
  refused(ctx, OATGP_ARGUMENT, oat_panel_title(outside, "t"), "no panel");
  refused(ctx, OATGP_ARGUMENT, oat_panel_axis(outside, OAT_X, &(oat_axis){0}), "no panel");
  refused(ctx, OATGP_ARGUMENT, oat_figure_row_title(figure, 3, "t"), "no panel (3, 0)");
  refused(ctx, OATGP_ARGUMENT, oat_figure_column_title(figure, 3, "t"), "no panel (0, 3)");
  oat_figure_free(figure);
}

static void test_refused_drawing(void **state) {
  oatgp_context *const ctx = *state;
  oat_figure *figure = new_figure(ctx, 1, 1);
  oat_string svg = {.ctx = ctx};
  refused(ctx, OATGP_ARGUMENT, oat_figure_svg(figure, "p", &svg), "figure 'Title' has no marks");
  MUST(oat_panel_line(oat_figure_panel(figure, 0, 0), &(oat_style){0}, 5, xs, ys));
  const char *const prefixes[] = {"", "1a", "a b", "a.b", "-a", "a\"", "\xc3\xa4"};
  for (size_t i = 0; i < LENGTH(prefixes); i++) {
    refused(ctx, OATGP_ARGUMENT, oat_figure_svg(figure, prefixes[i], &svg), "cannot begin the ids");
  }
  assert_null(svg.text);
  oat_figure_free(figure);

  const oat_figure_spec small = {.title = "t", .description = "d", .rows = 16, .height_mm = 50};
  MUST(oat_figure_create(ctx, &small, &figure));
  MUST(oat_panel_line(oat_figure_panel(figure, 0, 0), &(oat_style){0}, 5, xs, ys));
  refused(ctx, OATGP_ARGUMENT, oat_figure_svg(figure, "p", &svg), "figure 't' is too small: its panels would be");
  oat_figure_free(figure);

  for (int place = OAT_LEGEND_RIGHT; place <= OAT_LEGEND_INSIDE; place += OAT_LEGEND_INSIDE) {
    const oat_figure_spec crowded = {.title = "t", .description = "d", .legend = {.place = (oat_legend_place)place}};
    MUST(oat_figure_create(ctx, &crowded, &figure));
    for (size_t i = 0; i < 25; i++) {
      const char label[] = {(char)('a' + i), '\0'};
      MUST(oat_panel_line(oat_figure_panel(figure, 0, 0), &(oat_style){.label = label}, 5, xs, ys));
    }
    refused(ctx, OATGP_ARGUMENT, oat_figure_svg(figure, "p", &svg), "the 25 entries in the legend of the figure 't' need a height of");
    oat_figure_free(figure);
  }

  const oat_figure_spec shared = {.title = "t", .description = "d", .rows = 2, .share = {OAT_SHARE_ALL}};
  MUST(oat_figure_create(ctx, &shared, &figure));
  for (size_t i = 0; i < 2; i++) {
    MUST(oat_panel_axis(oat_figure_panel(figure, i, 0), OAT_X, &(oat_axis){.kind = i == 0 ? OAT_LINEAR : OAT_LOG10}));
    MUST(oat_panel_line(oat_figure_panel(figure, i, 0), &(oat_style){0}, 5, xs, ys));
  }
  refused(ctx, OATGP_ARGUMENT, oat_figure_svg(figure, "p", &svg), "panels (0, 0) and (1, 0) share the x axis");
  oat_figure_free(figure);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_linear_ticks),
      TEST(test_log_ticks),
      TEST(test_labels_by_hand),
      TEST(test_names),
      TEST(test_limits),
      TEST(test_numbers),
      TEST(test_escaping),
      TEST(test_string_failure),
      TEST(test_well_formed),
      TEST(test_prefix_and_bytes),
      TEST(test_gaps),
      TEST(test_log_gaps),
      TEST(test_beyond_limits),
      TEST(test_extreme_data),
      TEST(test_letters_powers),
      TEST(test_letters_names),
      TEST(test_letters_gaps),
      TEST(test_letters_of_all),
      TEST(test_shared_axes),
      TEST(test_empty_panel),
      TEST(test_texts_do_not_touch),
      TEST(test_series_styles),
      TEST(test_label_at_the_end),
      TEST(test_margins_are_tight),
      TEST(test_write),
      TEST(test_numbers_in_text),
      TEST(test_figure_in_a_page),
      TEST(test_tiles),
      TEST(test_locale),
      TEST(test_refused_figures),
      TEST(test_refused_axes),
      TEST(test_refused_marks),
      TEST(test_refused_drawing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
