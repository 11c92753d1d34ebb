/* Axes of figures: ticks are nice, cover the axis and have labels that do not touch. */
#include "figures.h"

#include "util/rng.h"

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
      snprintf(text + used, sizeof text - used, "%s%s%s ", t->name != NULL ? t->name : t->digits,
               t->power[0] != '\0' ? "^" : "", t->power);
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
      {{.kind = OAT_LOG10},
       -20,
       20,
       250,
       "10^" MINUS "20 10^" MINUS "15 10^" MINUS "10 10^" MINUS "5 10^0 10^5 10^10 10^15 10^20 "},
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
  const oat_range x = oat_axis_limits(&axis, OAT_X, (oat_range){0, 9, false}),
                  y = oat_axis_limits(&axis, OAT_Y, (oat_range){0, 9, false});
  assert_true(x.low == 0.5 && x.high == 4.5 && y.low == 4.5 && y.high == 0.5); /* the first is at the top */
  oat_ticks ticks;
  const oat_scale wide = scale_of(OAT_NAMES, x.low, x.high, 400), narrow = scale_of(OAT_NAMES, x.low, x.high, 60);
  oat_axis_ticks(&axis, &wide, OAT_X, &ticks);
  assert_false(ticks.tilted);
  assert_true(fabs(ticks.tick[2].at - 250) < 1e-9);
  oat_axis_ticks(&axis, &narrow, OAT_X, &ticks);
  assert_true(ticks.tilted);
  assert_string_equal(labels_of(&axis, narrow, OAT_X), "one two a very long name four ");
  assert_string_equal(labels_of(&axis, scale_of(OAT_NAMES, x.low, x.high, 30), OAT_X),
                      "one  a very long name  "); /* every other */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_linear_ticks), TEST(test_log_ticks), TEST(test_labels_by_hand), TEST(test_names), TEST(test_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
