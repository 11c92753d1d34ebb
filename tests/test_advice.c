/* Warnings of a fit about its data before it begins; they never stop it. */
#include "fits.h"

static void fit_and_forget(scratch *s, oatgp_data *data) {
  s->said[0] = '\0';
  s->settings.max_iter = 5;
  oatgp_model_free(fit_sanely(s, data, NULL));
  oatgp_data_free(data);
}

static void constant_target(void **state) {
  scratch *s = *state;
  const double x[] = {1, 2, 3, 4}, y[] = {7, 7, 7, 7};
  fit_and_forget(s, make_data(s, 4, 1, x, y));
  expect_said(s, "the target is 7 in all 4 rows");
}

static void more_inputs_than_rows(void **state) {
  scratch *s = *state;
  fit_and_forget(s, wavy_data(s, 6, 9, 0.1, 1));
  expect_said(s, "9 inputs for 6 rows");
}

/* Three places, two of them with two rows each: the standard deviation within is sqrt((0.5 + 2) / 2). */
static void rows_that_differ_in_the_target(void **state) {
  scratch *s = *state;
  const double x[] = {-0.0, 1, 0, 1, 2}, y[] = {10, 20, 11, 22, 30};
  fit_and_forget(s, make_data(s, 5, 1, x, y));
  expect_said(s, "4 rows have the same inputs as another row; their targets differ with a standard deviation of 1.12");
}

static void expect_far_numbers(const scratch *s) {
  expect_said(s, "target 'y': 1 of 60 numbers is over 20 times further");
  expect_said(s, "-1e+09 in row 42");
  expect_said(s, "input 'x2': 1 of 60 numbers is");
  expect_said(s, "1e+06 in row 17");
  assert_null(strstr(s->said, "input 'x1'"));
}

/* Found in copied and in borrowed rows. */
static void numbers_far_away(void **state) {
  scratch *s = *state;
  enum { N = 60 };
  oatgp_data *borrowed = NULL;
  double x[2 * N], y[N];
  for (size_t i = 0; i < N; i++) {
    x[2 * i] = (double)i;
    x[2 * i + 1] = i == 16 ? 1e6 : (double)(i * 7 % N);
    y[i] = i == 41 ? -1e9 : sin((double)i);
  }
  fit_and_forget(s, make_data(s, N, 2, x, y));
  expect_far_numbers(s);
  const oatgp_view view = {.n = N, .d = 2, .x = x, .y = y, .row_step = 2, .input_step = 1};
  must(s, oatgp_data_borrow(s->ctx, &view, &borrowed));
  fit_and_forget(s, borrowed);
  expect_far_numbers(s);
}

/* Exact copies give no information about the noise and may mislead. */
static void rows_that_are_copies(void **state) {
  scratch *s = *state;
  const double x[] = {0, 1, 0, 1, 2, 0}, y[] = {0.1, 0.7, 0.1, 0.7, 0.3, 0.1};
  fit_and_forget(s, make_data(s, 6, 1, x, y));
  assert_null(strstr(s->said, "same inputs as another"));
  expect_said(s, "5 rows have a copy");
}

/* A target of 0 and 1 is a number here, but need not be. */
static void only_zeros_and_ones(void **state) {
  scratch *s = *state;
  const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {0, 1, 1, 0, 1, 1}, counts[] = {0, 1, 2, 0, 1, 1},
               classes[] = {0, 1, 1, 0, 1, 0};
  fit_and_forget(s, make_data(s, 6, 1, x, y));
  expect_said(s,
              "the target has only the values 0 (2 rows) and 1 (4 rows) and is treated as a number, so that "
              "intervals may be far too narrow; --likelihood bernoulli-logit predicts");
  fit_and_forget(s, make_data(s, 6, 1, x, counts));
  assert_null(strstr(s->said, "--likelihood"));
  s->settings.likelihood = "bernoulli-logit";
  fit_and_forget(s, make_data(s, 6, 1, x, classes));
  assert_null(strstr(s->said, "treated as a number"));
}

/* Most targets are one number, in whatever order. */
static void one_number_in_most_rows(void **state) {
  scratch *s = *state;
  const double x[] = {1, 2, 3, 4, 5, 6, 7}, most[] = {7, 0, 3, 0, 0, 5, 0}, half[] = {7, 0, 3, 0, 2, 5, 0};
  fit_and_forget(s, make_data(s, 7, 1, x, most));
  expect_said(s, "the target is 0 in 4 of 7 rows, so that the noise looks like 0");
  *s->said = '\0';
  fit_and_forget(s, make_data(s, 7, 1, x, half));
  assert_null(strstr(s->said, "looks like 0"));
}

/* There is no warning for good data, or for the folds of a cross-validation. */
static void nothing_to_say(void **state) {
  scratch *s = *state;
  fit_and_forget(s, wavy_data(s, 150, 2, 0.1, 2));
  assert_string_equal(s->said, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(constant_target),
      WITH_SCRATCH(more_inputs_than_rows),
      WITH_SCRATCH(rows_that_differ_in_the_target),
      WITH_SCRATCH(only_zeros_and_ones),
      WITH_SCRATCH(one_number_in_most_rows),
      WITH_SCRATCH(rows_that_are_copies),
      WITH_SCRATCH(numbers_far_away),
      WITH_SCRATCH(nothing_to_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
