/* Texts of figures: how wide they are at most, that they neither touch nor leave the page, and how those that are too
 * long are shortened. */
#include "figures.h"

#define ELLIPSIS "\xe2\x80\xa6"

static double attribute(const char *element, const char *name) {
  char start[32];
  snprintf(start, sizeof start, " %s=\"", name);
  const char *const at = strstr(element, start);
  return at != NULL && at < strchr(element, '>') ? strtod(at + strlen(start), NULL) : 0;
}

/* The box of a text element that is upright or level. */
static oat_box text_box(const char *element, double turn) {
  const char *const content = strchr(element, '>') + 1;
  char text[128];
  snprintf(text, sizeof text, "%.*s", (int)strcspn(content, "<"), content);
  const char *const end = content, *const tick = strstr(element, "class=\"tick\""),
                    *const title = strstr(element, "class=\"title\"");
  const oat_font font = tick != NULL && tick < end     ? OAT_TICK_FONT
                        : title != NULL && title < end ? OAT_TITLE_FONT
                                                       : OAT_LABEL_FONT;
  const double size = font == OAT_TICK_FONT ? OAT_TICK_SIZE : OAT_LABEL_SIZE;
  const double x = attribute(element, "x"), y = attribute(element, "y"), width = oat_svg_width(text, font);
  const char *const anchor = strstr(element, "text-anchor=\"");
  const double share = anchor == NULL || anchor > end ? 0 : anchor[13] == 'm' ? 0.5 : 1;
  const oat_box level = {x - share * width, y - 0.7 * size, x + (1 - share) * width, y + 0.05 * size};
  if (turn == 0) {
    return level;
  }
  /* about (x, y), down with 90 degrees and up with -90 */
  const double along[] = {turn / 90 * (level.left - x), turn / 90 * (level.right - x)};
  const double across[] = {-turn / 90 * (level.top - y), -turn / 90 * (level.bottom - y)};
  return (oat_box){x + fmin(across[0], across[1]), y + fmin(along[0], along[1]), x + fmax(across[0], across[1]),
                   y + fmax(along[0], along[1])};
}

static int overlap(oat_box a, oat_box b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* No two texts of a figure (but tilted names) lie on each other, and none leaves the page. */
static void check_texts(const oat_figure *figure, const char *svg) {
  oat_box boxes[256];
  size_t n = 0;
  for (const char *at = strstr(svg, "<text"); at != NULL; at = strstr(at + 1, "<text")) {
    const char *const turned = strstr(at, "rotate(");
    const double turn = turned != NULL && turned < strchr(at, '>') ? strtod(turned + 7, NULL) : 0;
    if (turn == OAT_TILT) {
      continue;
    }
    assert_true(n < LENGTH(boxes));
    boxes[n] = text_box(at, turn);
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
  const double y[] = {0.4, 1, 2, 3,
                      3.2}; /* ticks at halves where there is room, else at whole numbers, which are shorter */
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
    assert_true(fabs(figure->panels[0].box.left - (4 + OAT_TICK_GAP_Y + widest)) < 1e-9); /* 4: the edge of the page */
    oat_figure_free(figure);
  }
}

/* ---- widths ---------------------------------------------------------------------------------------------------- */

/* Advances in thousandths, read from the fonts' own tables: of DejaVu Sans, of its bold, and where another is wider, of
 * that. */
static void test_widths(void **state) {
  static const struct {
    const char *text;
    double plain, bold;
  } cases[] = {
      {"0", 637, 696},              /* Liberation Sans: 557 */
      {"W", 989, 1104},             /* Liberation Sans: 944 */
      {"E", 667, 684},              /* Liberation Sans: 667; DejaVu Sans: 632 */
      {"_", 557, 557},              /* Liberation Sans; DejaVu Sans: 500 */
      {MINUS, 838, 838},            /* DejaVu Sans; Liberation Sans: 584 */
      {"\xce\xb1", 660, 688},       /* alpha */
      {"e\xcc\x81", 616, 679},      /* an accent of its own adds nothing */
      {"\xe6\xb8\xa9", 1000, 1000}, /* a Chinese sign is a square */
      {"", 0, 0},
  };
  (void)state;
  for (size_t i = 0; i < LENGTH(cases); i++) {
    assert_true(fabs(oat_svg_width(cases[i].text, OAT_LABEL_FONT) - cases[i].plain * OAT_LABEL_SIZE / 1000) < 1e-9);
    assert_true(fabs(oat_svg_width(cases[i].text, OAT_TICK_FONT) - cases[i].plain * OAT_TICK_SIZE / 1000) < 1e-9);
    assert_true(fabs(oat_svg_width(cases[i].text, OAT_TITLE_FONT) - cases[i].bold * OAT_LABEL_SIZE / 1000) < 1e-9);
  }
  /* what is none is drawn as U+FFFD, and a line break as a blank */
  assert_true(oat_svg_width("\xff", OAT_LABEL_FONT) == oat_svg_width("\x01", OAT_LABEL_FONT));
  assert_true(oat_svg_width("\n", OAT_LABEL_FONT) == oat_svg_width(" ", OAT_LABEL_FONT));
}

/* The rows of the table follow one another without a hole, up to the last character that there is. */
static void test_table_of_advances(void **state) {
#define OAT_ADVANCE(first, last, plain, bold) {first, last, plain, bold},
  static const uint32_t rows[][4] = {
#include "plot/advances.def"
  };
#undef OAT_ADVANCE
  (void)state;
  uint32_t next = 0x20;
  for (size_t i = 0; i < LENGTH(rows); i++) {
    assert_int_equal(rows[i][0], next);
    assert_true(rows[i][1] >= rows[i][0] && rows[i][3] >= rows[i][2] && rows[i][3] < 3000);
    next = rows[i][1] + 1;
  }
  assert_int_equal(next, 0x110000);
}

/* ---- texts that are too long ----------------------------------------------------------------------------------- */

/* What stands in a label with so much room, and NULL or what its tooltip says. */
static void check_label(oatgp_context *ctx, const char *text, double room, const char *expected) {
  oat_string svg = {.ctx = ctx};
  oat_svg_label(&svg, &(oat_label){.text = text, .room = room});
  MUST(svg.status);
  const char *const start = strchr(svg.text, '>') + 1;
  if (strncmp(start, expected, strlen(expected)) != 0 || start[strlen(expected)] != '<') {
    fail_msg("'%s' in %g is %s, not '%s'", text, room, start, expected);
  }
  const bool shortened = strstr(expected, ELLIPSIS) != NULL;
  assert_int_equal(strstr(svg.text, "<title>") != NULL, shortened);
  assert_true(!shortened || strstr(strstr(svg.text, "<title>"), text) != NULL);
  assert_true(!shortened || oat_svg_width(expected, OAT_LABEL_FONT) <= fmax(room, OAT_LABEL_SIZE));
  oat_string_free(&svg);
}

static void test_shortening(void **state) {
  oatgp_context *const ctx = *state;
  const char *const name = "temperature of the sea 12";
  const double width = oat_svg_width(name, OAT_LABEL_FONT);
  check_label(ctx, name, 0, name);
  check_label(ctx, name, width, name);
  check_label(ctx, name, width - 1e-9, name); /* rounding */
  check_label(ctx, name, 80, "temperat" ELLIPSIS "ea 12");
  check_label(ctx, name, 40, "tem" ELLIPSIS "12");
  check_label(ctx, name, 1, ELLIPSIS);
  /* no blank beside the ellipsis; no accent without its letter, whole characters only */
  check_label(ctx, "ab ab ab ab ab", 36, "ab" ELLIPSIS "ab");
  check_label(ctx,
              "ee\xcc\x81"
              "eeee\xcc\x81"
              "e",
              30, "ee\xcc\x81" ELLIPSIS "e");
  check_label(ctx, "\xce\xb1\xce\xb2\xce\xb1\xce\xb2\xce\xb1\xce\xb2", 30, "\xce\xb1\xce\xb2" ELLIPSIS "\xce\xb2");
}

/* Everything that has a text has a long one. */
static void add_long_texts(oatgp_context *ctx, oat_figure *figure, size_t columns) {
  static const char *const longest =
      "a name that is far too long for any panel of any figure, and that ends with number 1";
  static const char *const names[] = {longest, "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "short",
                                      "x_0123456789_0123456789_0123456789", ""};
  MUST(oat_figure_axis(figure, OAT_X, &(oat_axis){.label = longest}));
  MUST(oat_figure_axis(figure, OAT_Y, &(oat_axis){.label = longest}));
  for (size_t i = 0; i < 2 * columns; i++) {
    oat_panel *const panel = oat_figure_panel(figure, i / columns, i % columns);
    const oat_style style = oat_series_style(i, i % 2 == 0 ? longest : "short");
    MUST(oat_panel_axis(panel, OAT_X, &(oat_axis){.label = longest}));
    MUST(oat_panel_axis(panel, OAT_Y, &(oat_axis){.label = longest, .kind = OAT_NAMES, .n_names = 5, .names = names}));
    MUST(oat_panel_line(panel, &style, 5, ys, xs));
    MUST(oat_panel_title(panel, longest));
    MUST(oat_figure_column_title(figure, i % columns, longest));
    MUST(oat_figure_row_title(figure, i / columns, longest));
  }
}

static void test_long_texts(void **state) {
  oatgp_context *const ctx = *state;
  static const oat_legend_place places[] = {OAT_LEGEND_RIGHT, OAT_LEGEND_BELOW, OAT_LEGEND_INSIDE};
  for (size_t i = 0; i < 3 * LENGTH(places); i++) {
    oat_figure *figure = NULL;
    const oat_figure_spec spec = {
        .title = "t",
        .description = "d",
        .heading =
            "a heading that is too long for the figure, as its second half would stand beyond the page; and more",
        .rows = 2,
        .columns = 1 + i % 3,
        .height_mm = 120,
        .legend = {places[i / 3], i % 2 == 0 ? OAT_TOP_LEFT : OAT_BOTTOM_RIGHT, 0, 0}};
    MUST(oat_figure_create(ctx, &spec, &figure));
    add_long_texts(ctx, figure, spec.columns);
    char *const text = svg_of(ctx, figure, "p");
    check_texts(figure, text);
    assert_non_null(strstr(text, "number 1<title>a name that is"));
    assert_non_null(strstr(text, ">short</text>"));
    free(text);
    oat_figure_free(figure);
  }
}

/* Names below a panel are tilted where they are too long to stand side by side, and take no more than half of its
 * height. */
static void test_long_names_below(void **state) {
  oatgp_context *const ctx = *state;
  static const char *const names[] = {"a name that is far too long for any panel of any figure, number 1", "2", "3",
                                      "4", "5"};
  oat_figure *const figure = new_figure(ctx, 1, 1);
  oat_panel *const panel = oat_figure_panel(figure, 0, 0);
  MUST(oat_panel_axis(panel, OAT_X, &(oat_axis){.kind = OAT_NAMES, .n_names = 5, .names = names}));
  MUST(oat_panel_columns(panel, &(oat_style){0}, 5, xs, ys));
  char *const text = svg_of(ctx, figure, "p");
  assert_true(panel->ticks[OAT_X].tilted);
  assert_true(panel->box.bottom - panel->box.top > 0.4 * figure->height);
  assert_non_null(strstr(text, ELLIPSIS));
  free(text);
  oat_figure_free(figure);
}

/* A title of a column stands above the titles of its panels. */
static void test_titles_of_columns_and_panels(void **state) {
  oatgp_context *const ctx = *state;
  for (int titles = 0; titles < 2; titles++) {
    oat_figure *const figure = new_figure(ctx, 2, 2);
    for (size_t i = 0; i < 4; i++) {
      oat_panel *const panel = oat_figure_panel(figure, i / 2, i % 2);
      MUST(oat_panel_line(panel, &(oat_style){0}, 5, xs, ys));
      MUST(oat_figure_column_title(figure, i % 2, "Column"));
      if (titles) {
        MUST(oat_panel_title(panel, "Panel"));
      }
    }
    char *const text = svg_of(ctx, figure, "p");
    check_texts(figure, text);
    free(text);
    oat_figure_free(figure);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_texts_do_not_touch),
      TEST(test_label_at_the_end),
      TEST(test_margins_are_tight),
      TEST(test_widths),
      TEST(test_table_of_advances),
      TEST(test_shortening),
      TEST(test_long_texts),
      TEST(test_long_names_below),
      TEST(test_titles_of_columns_and_panels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
