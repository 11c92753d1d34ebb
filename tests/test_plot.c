/* Figures as SVG: the file is well-formed XML with every text in it; what is not finite is not drawn; texts do not
 * touch; the same calls give the same bytes; every refusal has its sentence. */
#include "figures.h"

#include <ctype.h>
#include <locale.h>
#include <unistd.h>

#include "util/rng.h"

/* ---- a reader of XML, as strict as a figure needs -------------------------------------------------------------- */

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

/* ---- the writer ------------------------------------------------------------------------------------------------ */

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

/* ---- figures --------------------------------------------------------------------------------------------------- */

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
  char *const first = svg_of(ctx, one, "same"), *const second = svg_of(ctx, two, "same"),
              *const again = svg_of(ctx, one, "same");
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

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static void test_shared_axes(void **state) {
  oatgp_context *const ctx = *state;
  const double far[] = {10, 20, 30, 40, 50};
  for (int share = OAT_SHARE_NONE; share <= OAT_SHARE_ALL; share++) {
    oat_figure *figure = NULL;
    const oat_figure_spec spec = {
        .title = "t", .description = "d", .rows = 2, .columns = 2, .share = {(oat_share)share, (oat_share)share}};
    MUST(oat_figure_create(ctx, &spec, &figure));
    for (size_t i = 0; i < 4; i++) {
      MUST(oat_panel_line(oat_figure_panel(figure, i / 2, i % 2), &(oat_style){0}, 5, i == 3 ? far : xs,
                          i == 3 ? far : ys));
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

/* ---- files, locale, refusals ----------------------------------------------------------------------------------- */

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
  (void)state;
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
    assert_string_equal(oat_number(cases[i].value, cases[i].digits).text, cases[i].number);
    assert_string_equal(oat_value(cases[i].value, cases[i].digits).text, cases[i].plain);
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
  assert_non_null(strstr(
      text, "data-mark=\"points\" data-label=\"rows &amp; more\" data-numbers=\"11 12 14\"")); /* 1000 is outside */
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
    refused(ctx, OATGP_ARGUMENT, oat_panel_line(oat_figure_panel(figure, 0, 0), &cases[i].style, 5, xs, ys),
            cases[i].piece);
  }
  oat_panel *const outside = oat_figure_panel(figure, 0, 1);
  assert_null(outside);
  refused(ctx, OATGP_ARGUMENT, oat_panel_line(outside, &(oat_style){0}, 5, xs, ys),
          "no panel (0, 1) in a figure of 1 x 1");
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
    refused(ctx, OATGP_ARGUMENT, oat_figure_svg(figure, "p", &svg),
            "the 25 entries in the legend of the figure 't' need a height of");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_numbers),      TEST(test_escaping),         TEST(test_string_failure),
      TEST(test_well_formed),  TEST(test_prefix_and_bytes), TEST(test_gaps),
      TEST(test_log_gaps),     TEST(test_beyond_limits),    TEST(test_extreme_data),
      TEST(test_shared_axes),  TEST(test_empty_panel),      TEST(test_series_styles),
      TEST(test_write),        TEST(test_numbers_in_text),  TEST(test_figure_in_a_page),
      TEST(test_tiles),        TEST(test_locale),           TEST(test_refused_figures),
      TEST(test_refused_axes), TEST(test_refused_marks),    TEST(test_refused_drawing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
