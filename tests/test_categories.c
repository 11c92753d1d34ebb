/* Categories: levels of text columns, however the file is read, and how models know them again. */
#include "data_files.h"

#include <math.h>

#include "data/levels.h"
#include "fits.h"

/* ---- levels -------------------------------------------------------------------------------------------------------- */

static void expect_levels(const oatgp_data *data, size_t input, const char *joined) {
  char text[256] = "";
  for (size_t i = 0; i < oatgp_data_level_count(data, input); i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? "|" : "", oatgp_data_level(data, input, i));
  }
  assert_string_equal(text, joined);
}

static void levels_are_found_again(void **state) {
  scratch *s = *state;
  oat_levels levels = {0};
  char text[16];
  size_t code;
  for (size_t i = 0; i < 3000; i++) {
    const int length = sprintf(text, "%zu", i % 1000);
    assert_int_equal(oat_levels_take(s->ctx, &levels, text, (size_t)length, &code), OATGP_OK);
    assert_int_equal(code, i % 1000);
  }
  assert_int_equal(levels.count, 1000);
  assert_int_equal(oat_levels_find(&levels, "999", 3), 999);
  assert_int_equal(oat_levels_find(&levels, "999", 2), 99); /* the text ends where its length says */
  assert_int_equal(oat_levels_find(&levels, "1000", 4), OAT_NO_LEVEL);
  oat_levels_clear(&levels);
}

static void there_is_a_most(void **state) {
  scratch *s = *state;
  oat_levels levels = {0};
  char text[16];
  size_t code = 0;
  for (size_t i = 0; i <= OAT_MOST_LEVELS; i++) {
    assert_int_equal(oat_levels_take(s->ctx, &levels, text, (size_t)sprintf(text, "%zu", i), &code), OATGP_OK);
  }
  assert_int_equal(code, OAT_NO_LEVEL);
  assert_int_equal(levels.count, OAT_MOST_LEVELS);
  oat_levels_clear(&levels);
}

/* ---- from files ---------------------------------------------------------------------------------------------------- */

typedef struct case_of {
  const char *text, *factors, *missing, *levels;
  size_t n;
  double x[8];
  const char *said;
} case_of;

static const case_of tables[] = {
    /* numbers first, by their values, then texts, by their bytes */
    {"y,c\n1,b\n2,a\n3,a\n4,b\n", "", "error", "a|b", 4, {1, 0, 0, 1}, "1 of 2 columns are categories: 'c' (2 levels)"},
    {"y,c\n1,b\n2,10\n3,b\n4,9\n5,B\n6,B\n7,10\n8,9\n9,b\n", "", "error", "9|10|B|b", 9, {3, 1, 3, 0, 2, 2, 1, 0}, "taken as text"},
    {"y,c\n1,10\n2,9\n3,1e1\n4,09\n5,10.0\n6,9.5\n", "c", "error", "9|9.5|10", 6, {2, 0, 2, 0, 2, 1}, "'c' (3 levels)"},
    /* quotes, blanks, encodings */
    {"y,c\n1,\"a b\"\n2, a b \n3,\"a \"\"b\"\"\"\n4,\"a \"\"b\"\"\"\n", "", "error", "a \"b\"|a b", 4, {1, 1, 0, 0}, ""},
    {"y,c\n1,\xE4\n2,\xC3\xA4\n3,x\n4,x\n", "", "error", "x|\xC3\xA4", 4, {1, 1, 0, 0}, ""},
    /* missing texts */
    {"y,c\n1,b\n2,\n3,a\n4,b\n5,a\n", "", "drop", "a|b", 4, {1, 0, 1, 0}, "dropped 1 of 5 rows"},
    {"y,c\n1,\n2,b\n3,a\n4,b\n5,a\n6,NA\n", "", "drop", "a|b", 4, {1, 0, 1, 0}, "dropped 2 of 6 rows"},
};

static void reads_categories(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  for (size_t k = 0; k < LENGTH(tables); k++) {
    const case_of *t = &tables[k];
    s->settings.factors = t->factors;
    s->settings.missing = t->missing;
    write_text(s, t->text);
    oatgp_data *data = must_read(s);
    assert_int_equal(data->d, 1);
    assert_int_equal(data->n, t->n);
    expect_levels(data, 0, t->levels);
    for (size_t i = 0; i < t->n && i < LENGTH(t->x); i++) {
      assert_true(data->x[i] == t->x[i]);
    }
    if (strstr(s->said, t->said) == NULL) {
      fail_msg("table %zu: said '%s'", k, s->said);
    }
    oatgp_data_free(data);
  }
}

static void names_of_rows_are_no_category(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  write_text(s, "y,id,c,x\n1,p,a,1\n2,q,a,2\n3,r,b,3\n4,q,b,5\n");
  oatgp_data *data = must_read(s);
  expect_names(data, "c,x");
  expect_levels(data, 0, "a|b");
  expect_levels(data, 1, "");
  assert_non_null(strstr(s->said, "1 of 4 columns have a text of its own in nearly every row and are not used: 'id'; --factors"));
  oatgp_data_free(data);
  s->settings.factors = "id";
  data = must_read(s);
  expect_names(data, "id,c,x");
  expect_levels(data, 0, "p|q|r");
  oatgp_data_free(data);
  s->settings.factors = "";
  s->settings.inputs = "x,id";
  data = must_read(s);
  expect_names(data, "x,id");
  expect_levels(data, 1, "p|q|r");
  oatgp_data_free(data);
  s->settings.factors = "c";
  data = must_read(s);
  expect_names(data, "x,id,c");
  oatgp_data_free(data);
}

static void refuses_categories(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  write_text(s, "y,c\n1,b\n2,\n3,a\n4,b\n5,a\n");
  must_refuse(s, OATGP_DATA, "line 3, column 'c': the value is missing; fill it in, or drop such rows with --missing drop, or leave");
  s->settings.inputs = "c";
  must_refuse(s, OATGP_DATA, "line 3, column 'c': the value is missing; fill it in, or drop such rows with --missing drop");
  s->settings.factors = "d";
  must_refuse(s, OATGP_DATA, "has no column 'd' (factors)");
  s->settings.factors = "y";
  must_refuse(s, OATGP_DATA, "column 'y' is used twice, as target and as input");
  s->settings.factors = "c,,c";
  must_refuse(s, OATGP_ARGUMENT, "factors 'c,,c' has an empty name between its commas");
}

/* Row i: text of 7 levels that first come late, in quotes now and then, numbers of 5 levels, and a number. */
static size_t fill_rows(char *text, size_t rows) {
  size_t length = (size_t)sprintf(text, "y,c,n,x,name\n");
  for (size_t i = 0; i < rows; i++) {
    const size_t level = i * 7 / rows > i % 7 ? i % 7 : i * 7 / rows;
    const char *quote = i % 11 == 0 ? "\"" : "";
    length += (size_t)sprintf(text + length, "%zu,%slevel %zu%s,%zu,%zu.5,row %zu\n", i, quote, 6 - level, quote, (i * i) % 5, i % 100, i);
  }
  return length;
}

static void expect_rows(const oatgp_data *data, size_t rows) {
  assert_int_equal(data->n, rows);
  expect_levels(data, 0, "level 0|level 1|level 2|level 3|level 4|level 5|level 6");
  expect_levels(data, 1, "0|1|4");
  for (size_t i = 0; i < rows; i++) {
    const size_t level = i * 7 / rows > i % 7 ? i % 7 : i * 7 / rows, square = (i * i) % 5;
    assert_true(data->x[i] == (double)(6 - level));
    assert_true(data->x[i + rows] == (double)(square == 4 ? 2 : square));
  }
}

static void threads_and_packing_change_nothing(void **state) {
  scratch *s = *state;
  const size_t rows = under_valgrind() ? 3000 : 120000; /* several parts */
  char *text = malloc(rows * 64);
  assert_non_null(text);
  const size_t length = fill_rows(text, rows);
  s->settings.target = "y";
  s->settings.factors = "n";
  for (int threads = 1; threads <= 4; threads++) {
    oatgp_context_set_threads(s->ctx, threads);
    if (threads == 3) {
      write_gzip(s, text, length);
    } else {
      write_bytes(s, text, length);
    }
    oatgp_data *data = must_read(s);
    expect_names(data, "c,n,x");
    expect_rows(data, rows);
    oatgp_data_free(data);
  }
  oatgp_context_set_threads(s->ctx, 1);
  free(text);
}

/* A text of its own in each row, more than a category may have. */
static void crowds_are_left_out(void **state) {
  scratch *s = *state;
  const size_t rows = OAT_MOST_LEVELS * 2 + 10;
  char *text = malloc(rows * 40);
  assert_non_null(text);
  size_t length = (size_t)sprintf(text, "y,x,id\n");
  for (size_t i = 0; i < rows; i++) {
    length += (size_t)sprintf(text + length, "%zu,%zu,id %zu\n", i, i % 10, i);
  }
  write_bytes(s, text, length);
  s->settings.target = "y";
  for (int threads = 1; threads <= 4; threads += 3) {
    oatgp_context_set_threads(s->ctx, threads);
    s->settings.factors = "";
    oatgp_data *data = must_read(s);
    expect_names(data, "x");
    assert_int_equal(data->n, rows);
    oatgp_data_free(data);
    s->settings.factors = "id";
    must_refuse(s, OATGP_DATA, "column 'id' has more than 65536 different values, too many for a category");
  }
  oatgp_context_set_threads(s->ctx, 1);
  free(text);
}

static void numbers_of_npy_may_be_levels(void **state) {
  scratch *s = *state;
  const double values[] = {3, 0.5, 1, 1, 1.5, 2, 3, 2.5, 3, 1, 0.1, 4};
  assert_int_equal(oatgp_write_npy(s->ctx, s->path, 4, 3, values), OATGP_OK);
  s->settings.target = "3";
  s->settings.factors = "1";
  oatgp_data *data = must_read(s);
  expect_levels(data, 0, "1|3");
  expect_inputs(data, 4, 2, (const double[]){1, 0.5, 0, 1.5, 1, 2.5, 0, 0.1});
  s->settings.factors = "2";
  oatgp_data_free(data);
  data = must_read(s);
  expect_levels(data, 1, "0.1|0.5|1.5|2.5");
  oatgp_data_free(data);
}

/* ---- from memory --------------------------------------------------------------------------------------------------- */

static const char *const ab[] = {"a", "b"};

static void sets_levels(void **state) {
  scratch *s = *state;
  const double x[] = {0, 5, 1, 6, 1, 7};
  oatgp_data *data = NULL, *some = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 2, x, x, &data), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_levels(s->ctx, data, 1, 2, ab),
                  "input 'x2' of row 1 is 5, which is none of the codes 0 to 1");
  expect_sentence(s, OATGP_DATA, oatgp_data_set_levels(s->ctx, data, 0, 1, ab), "row 2 is 1, which is none of the codes 0 to 0");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_levels(s->ctx, data, 0, 2, (const char *const[]){"a", "a"}), "'a' is given twice");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_levels(s->ctx, data, 2, 2, ab), "input 2 is asked for");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_levels(s->ctx, data, 0, 0, ab), "1 to 65536 levels");
  assert_int_equal(oatgp_data_level_count(data, 0), 0);
  assert_int_equal(oatgp_data_set_levels(s->ctx, data, 0, 2, ab), OATGP_OK);
  expect_levels(data, 0, "a|b");
  assert_null(oatgp_data_level(data, 0, 2));
  assert_null(oatgp_data_level(data, 7, 0));
  assert_int_equal(oatgp_data_select(s->ctx, data, 1, (const size_t[]){2}, &some), OATGP_OK);
  expect_levels(some, 0, "a|b");
  oatgp_data_free(some);
  oatgp_data_free(data);
}

static void joins_levels(void **state) {
  scratch *s = *state;
  const double x[] = {0, 1, 1};
  oatgp_data *first = NULL, *second = NULL, *both = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 1, x, NULL, &first), OATGP_OK);
  assert_int_equal(oatgp_data_create(s->ctx, 3, 1, x, NULL, &second), OATGP_OK);
  assert_int_equal(oatgp_data_set_levels(s->ctx, first, 0, 2, ab), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, first, second, &both), "'x1' is a category in one and holds numbers");
  assert_null(both);
  assert_int_equal(oatgp_data_set_levels(s->ctx, second, 0, 2, (const char *const[]){"c", "a"}), OATGP_OK);
  assert_int_equal(oatgp_data_join(s->ctx, first, second, &both), OATGP_OK);
  expect_levels(both, 0, "a|b|c");
  expect_inputs(both, 6, 1, (const double[]){0, 1, 1, 2, 0, 0});
  oatgp_data_free(first);
  oatgp_data_free(second);
  oatgp_data_free(both);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(levels_are_found_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(there_is_a_most, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_categories, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_of_rows_are_no_category, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_categories, set_up, tear_down),
      cmocka_unit_test_setup_teardown(threads_and_packing_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(crowds_are_left_out, set_up, tear_down),
      cmocka_unit_test_setup_teardown(numbers_of_npy_may_be_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(sets_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(joins_levels, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
