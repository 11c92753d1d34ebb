/* Figures in letters: lines are straight, numbers have their powers, what cannot be drawn is a gap, and nothing reaches
 * the terminal raw. */
#include "figures.h"

static char *letters(oatgp_context *ctx, oat_figure *figure, oat_letters size) {
  oat_string text = {.ctx = ctx};
  MUST(oat_figure_letters(figure, size, &text));
  return text.text;
}

/* In ASCII every line of the panel has the axis in the same place, and is as wide as the figure; the labels below are
 * no wider. */
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
  const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {1, 2, INFINITY, 4, NAN, 6, 7, 8},
               low[] = {0, 0, 0, 0, 0, NAN, 0, 0};
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

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_letters_powers),
      TEST(test_letters_names),
      TEST(test_letters_gaps),
      TEST(test_letters_of_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
