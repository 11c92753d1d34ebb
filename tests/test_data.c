/* Data from memory, and columns of one file found in another. */
#include "data_files.h"

#include <math.h>

#include "data/scaling.h"
#include "tables/reader.h"

static const double six[] = {1, 2, 3, 4, 5, 6};

/* ---- from memory ----------------------------------------------------------------------------------------------- */

static void makes_columns_of_rows(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 2, 3, six, six + 4, &data), OATGP_OK);
  expect_inputs(data, 2, 3, six);
  expect_column(data->y, 2, six + 4);
  assert_int_equal(oatgp_data_rows(data), 2);
  assert_int_equal(oatgp_data_inputs(data), 3);
  assert_int_equal(oatgp_data_dropped_rows(data), 0);
  expect_names(data, "x1,x2,x3");
  assert_null(oatgp_data_input_name(data, 3));
  assert_null(data->target);
  assert_null(data->positions);
  assert_false(data->header);
  oatgp_data_free(data);
}

static void target_may_be_absent(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 6, 1, six, NULL, &data), OATGP_OK);
  assert_null(data->y);
  oatgp_data_free(data);
}

static void create_refuses(void **state) {
  scratch *s = *state;
  const double bad_x[] = {1, 2, 3, NAN}, bad_y[] = {1, -INFINITY};
  const struct {
    size_t n, d;
    const double *x, *y;
    oatgp_status status;
    const char *piece;
  } cases[] = {{0, 2, six, NULL, OATGP_ARGUMENT, "0 rows and 2 inputs"},
               {2, 0, six, NULL, OATGP_ARGUMENT, "2 rows and 0 inputs"},
               {2, 2, NULL, NULL, OATGP_ARGUMENT, "not be NULL"},
               {2, 2, bad_x, NULL, OATGP_DATA, "input 2 of row 2 is nan"},
               {2, 2, six, bad_y, OATGP_DATA, "the target of row 2 is -inf"},
               {SIZE_MAX / 2, 4, six, NULL, OATGP_MEMORY, "out of memory"}};
  for (size_t k = 0; k < LENGTH(cases); k++) {
    oatgp_data *data = NULL;
    const oatgp_status status = oatgp_data_create(s->ctx, cases[k].n, cases[k].d, cases[k].x, cases[k].y, &data);
    expect_sentence(s, cases[k].status, status, cases[k].piece);
    assert_null(data);
  }
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_data_create(NULL, 1, 1, six, NULL, &data), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_create(s->ctx, 1, 1, six, NULL, NULL), "out");
}

/* The same 2 x 3 table in three orders, none of them copied: by rows, by columns, and as every other number of a longer
 * block. */
static void borrows_in_any_order(void **state) {
  scratch *s = *state;
  const double columns[] = {1, 4, 2, 5, 3, 6}, apart[] = {1, 0, 2, 0, 3, 0, 0, 4, 0, 5, 0, 6};
  const oatgp_view views[] = {{2, 3, six, six, 3, 1}, {2, 3, columns, six, 1, 2}, {2, 3, apart, NULL, 7, 2}};
  const size_t second[] = {1};
  for (size_t k = 0; k < LENGTH(views); k++) {
    oatgp_data *data = NULL, *row = NULL;
    assert_int_equal(oatgp_data_borrow(s->ctx, &views[k], &data), OATGP_OK);
    assert_ptr_equal(data->x, views[k].x);
    assert_ptr_equal(data->y, views[k].y);
    double third[2] = {0, 0};
    assert_int_equal(oatgp_data_copy_column(s->ctx, data, 2, third), OATGP_OK);
    expect_column(third, 2, (const double[]){3, 6});
    assert_int_equal(oatgp_data_select(s->ctx, data, 1, second, &row), OATGP_OK);
    expect_inputs(row, 1, 3, six + 3);
    assert_int_equal(oatgp_data_write_npy(s->ctx, data, s->path), OATGP_OK);
    oatgp_data_free(row);
    oatgp_data_free(data);
    s->settings.target = views[k].y != NULL ? "last" : "";
    assert_int_equal(oatgp_data_read(s->ctx, s->path, &s->settings, &data), OATGP_OK);
    expect_inputs(data, 2, 3, six);
    oatgp_data_free(data);
  }
}

static void columns_are_copied(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  double values[2];
  assert_int_equal(oatgp_data_create(s->ctx, 2, 2, six, six + 4, &data), OATGP_OK);
  assert_int_equal(oatgp_data_copy_column(s->ctx, data, 2, values), OATGP_OK);
  expect_column(values, 2, six + 4);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_copy_column(s->ctx, data, 3, values),
                  "column 3 does not exist; the data have 3 columns");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_copy_column(s->ctx, NULL, 0, values), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_copy_column(s->ctx, data, 0, NULL), "must not be NULL");
  assert_int_equal(oatgp_data_copy_column(NULL, data, 0, values), OATGP_ARGUMENT);
  oatgp_data_free(data);
}

static void borrow_refuses(void **state) {
  scratch *s = *state;
  const double bad[] = {1, 2, 3, NAN, 5, 6};
  const struct {
    oatgp_view view;
    oatgp_status status;
    const char *piece;
  } cases[] = {{{0, 2, six, NULL, 2, 1}, OATGP_ARGUMENT, "0 rows and 2 inputs"},
               {{2, 2, NULL, NULL, 2, 1}, OATGP_ARGUMENT, "oatgp_data_borrow"},
               {{3, 2, bad, NULL, 2, 1}, OATGP_DATA, "input 2 of row 2 is nan"},
               {{3, 2, bad, NULL, 1, 3}, OATGP_DATA, "input 2 of row 1 is nan"},
               {{6, 1, six, bad, 1, 1}, OATGP_DATA, "the target of row 4 is nan"}};
  oatgp_data *data = NULL;
  for (size_t k = 0; k < LENGTH(cases); k++) {
    expect_sentence(s, cases[k].status, oatgp_data_borrow(s->ctx, &cases[k].view, &data), cases[k].piece);
    assert_null(data);
  }
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_borrow(s->ctx, NULL, &data), "oatgp_data_borrow");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_borrow(s->ctx, &cases[0].view, NULL), "oatgp_data_borrow");
  assert_int_equal(oatgp_data_borrow(NULL, &cases[0].view, &data), OATGP_ARGUMENT);
}

static void names_are_set_and_kept(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 2, six, six, &data), OATGP_OK);
  const char *const good[] = {"width", "height"};
  assert_int_equal(oatgp_data_set_names(s->ctx, data, good, "weight"), OATGP_OK);
  const char *const twice[] = {"a", "a"}, *const empty[] = {"a", ""}, *const missing[] = {NULL, "a"};
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, twice, NULL), "'a' is given twice");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, empty, NULL), "input 2 is NULL or empty");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, missing, NULL), "input 1 is NULL or empty");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, good, ""), "target 1 is NULL or empty");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, good, "height"), "'height' is given twice");
  const char *const latin[] = {"width", "h\xF6he"};
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, latin, NULL),
                  "the name 'h\xC3\xB6he' of input 2 is not UTF-8");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, data, NULL, NULL), "not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_names(s->ctx, NULL, good, NULL), "not be NULL");
  assert_int_equal(oatgp_data_set_names(NULL, data, good, NULL), OATGP_ARGUMENT);
  expect_names(data, "width,height");
  assert_string_equal(data->target, "weight");
  assert_true(data->header);
  assert_int_equal(oatgp_data_set_names(s->ctx, data, good, NULL), OATGP_OK);
  assert_null(data->target);
  oatgp_data_free(data);
}

static void weights_and_noise_are_checked(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 1, six, six, &data), OATGP_OK);
  const double zero[] = {1, 2, 0}, negative[] = {1, -1e-9, 0}, infinite[] = {INFINITY, 1, 1}, nan[] = {1, NAN, 1};
  assert_int_equal(oatgp_data_set_weights(s->ctx, data, six), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_weights(s->ctx, data, zero),
                  "the weight of row 3 is 0; it must be finite and above 0");
  expect_sentence(s, OATGP_DATA, oatgp_data_set_weights(s->ctx, data, nan), "the weight of row 2 is nan");
  expect_column(data->weight, 3, six);
  assert_int_equal(oatgp_data_set_noise_variance(s->ctx, data, zero), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_noise_variance(s->ctx, data, negative),
                  "noise variance of row 2 is -1e-09");
  expect_sentence(s, OATGP_DATA, oatgp_data_set_noise_variance(s->ctx, data, infinite),
                  "noise variance of row 1 is inf");
  expect_column(data->noise, 3, zero);
  assert_int_equal(oatgp_data_set_weights(s->ctx, data, NULL), OATGP_OK);
  assert_int_equal(oatgp_data_set_noise_variance(s->ctx, data, NULL), OATGP_OK);
  assert_null(data->weight);
  assert_null(data->noise);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_weights(s->ctx, NULL, six), "oatgp_data_set_weights");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_noise_variance(s->ctx, NULL, six), "oatgp_data_set_noise_variance");
  assert_int_equal(oatgp_data_set_weights(NULL, data, six), OATGP_ARGUMENT);
  assert_int_equal(oatgp_data_set_noise_variance(NULL, data, six), OATGP_ARGUMENT);
  oatgp_data_free(data);
}

static void trials_and_exposure_are_checked(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 1, six, six, &data), OATGP_OK);
  const double whole[] = {1, 12, 3}, half[] = {1, 1.5, 3}, zero[] = {1, 1, 0}, tiny[] = {1e-9, 1, 2},
               infinite[] = {1, INFINITY, 1};
  assert_int_equal(oatgp_data_set_trials(s->ctx, data, whole), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_trials(s->ctx, data, half),
                  "the number of trials of row 2 is 1.5; it must be a whole number, 1 or more");
  expect_sentence(s, OATGP_DATA, oatgp_data_set_trials(s->ctx, data, zero), "the number of trials of row 3 is 0");
  expect_sentence(s, OATGP_DATA, oatgp_data_set_trials(s->ctx, data, infinite), "the number of trials of row 2 is inf");
  expect_column(data->trials, 3, whole);
  assert_int_equal(oatgp_data_set_exposure(s->ctx, data, tiny), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_exposure(s->ctx, data, zero),
                  "the exposure of row 3 is 0; it must be finite and above 0");
  expect_column(data->exposure, 3, tiny);
  assert_int_equal(oatgp_data_columns(data), 4);
  assert_string_equal(oatgp_data_column_role(data, 2), "trials");
  assert_string_equal(oatgp_data_column_role(data, 3), "exposure");
  assert_int_equal(oatgp_data_set_trials(s->ctx, data, NULL), OATGP_OK);
  assert_int_equal(oatgp_data_set_exposure(s->ctx, data, NULL), OATGP_OK);
  assert_int_equal(oatgp_data_columns(data), 2);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_trials(s->ctx, NULL, six), "oatgp_data_set_trials");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_exposure(s->ctx, NULL, six), "oatgp_data_set_exposure");
  oatgp_data_free(data);
}

static void null_data_are_empty(void **state) {
  (void)state;
  oatgp_data_free(NULL);
  oatgp_data_free(calloc(1, sizeof(oatgp_data)));
  assert_int_equal(oatgp_data_rows(NULL), 0);
  assert_int_equal(oatgp_data_inputs(NULL), 0);
  assert_int_equal(oatgp_data_dropped_rows(NULL), 0);
  assert_null(oatgp_data_input_name(NULL, 0));
}

static void reading_refuses_arguments(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL, *like = NULL;
  const oatgp_settings *good = &s->settings;
  oatgp_settings bad = s->settings;
  bad.missing = "perhaps";
  write_text(s, "a,b\n1,2\n");
  assert_int_equal(oatgp_data_create(s->ctx, 1, 2, six, NULL, &like), OATGP_OK);
  assert_int_equal(oatgp_data_read(NULL, s->path, good, &data), OATGP_ARGUMENT);
  assert_int_equal(oatgp_data_read_like(NULL, s->path, like, good, &data), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read(s->ctx, NULL, good, &data), "path");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read(s->ctx, "", good, &data), "path of the data is empty");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read(s->ctx, s->path, NULL, &data), "settings");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read(s->ctx, s->path, good, NULL), "out");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read(s->ctx, s->path, &bad, &data), "perhaps");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read_like(s->ctx, s->path, NULL, good, &data), "oatgp_data_read_like");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_read_like(s->ctx, s->path, like, &bad, &data), "perhaps");
  assert_null(data);
  oatgp_data_free(like);
}

/* ---- the columns of earlier data in another file --------------------------------------------------------------- */

/* The first file, read by settings, then the second, read like it. */
typedef struct pair {
  const char *first, *target, *inputs, *second;
  size_t n;
  double x[8];
  const char *piece; /* of the sentence, if the second is refused */
} pair;

static const pair pairs[] = {
    {"a,b,y\n1,2,3\n", "y", "", "b,z,a\n5,x,6\n7,y,8\n", 2, {6, 5, 8, 7}, NULL},
    {"a,b,y\n1,2,3\n", "y", "", "a,b\n5,6\n", 1, {5, 6}, NULL},
    {"a,b,y\n1,2,3\n", "y", "b,a", "a,b\n5,6\n", 1, {6, 5}, NULL},
    {"a,b,y\n1,2,3\n", "y", "", "5,6\n", 1, {5, 6}, NULL},
    {"y,a,b\n1,2,3\n", "y", "", "4,5,6\n", 1, {5, 6}, NULL},
    {"y,a,b\n1,2,3\n", "y", "b,a", "4,5,6\n", 1, {6, 5}, NULL},
    {"a,b\n1,2\n", "", "b,a", "4,5\n", 1, {5, 4}, NULL},
    {"1,2,3\n", "1", "", "V3,V2\n4,5\n", 1, {5, 4}, NULL},
    {"1,2,3\n", "1", "", "p,q\n4,5\n", 1, {4, 5}, NULL},
    {"1,2,3\n", "1", "", "7,4,5\n", 1, {4, 5}, NULL},
    {"1,2,3\n", "1", "", "p,q,r\n7,4,5\n", 0, {0}, "no column for 2 of the 2 inputs: 'V2', 'V3'; it has 'p', 'q', 'r'"},
    {"1,2,3\n", "1", "", "p,q,r\n7,4,5\n", 0, {0}, "or remove the header"},
    {"a,b,y\n1,2,3\n", "y", "", "a,c\n5,6\n", 0, {0}, "no column for 1 of the 2 inputs: 'b'; it has 'a', 'c'"},
    {"a,b,y\n1,2,3\n", "y", "", "a,b,b\n5,6,7\n", 1, {5, 6}, NULL}, /* its place tells which b is meant */
    {"a,b,y\n1,2,3\n", "y", "", "b,a,b\n5,6,7\n", 0, {0}, "2 columns have the name 'b' (inputs)"},
    {"a,b,y\n1,2,3\n", "y", "", "a,b,b,c\n5,6,7,8\n", 0, {0}, "2 columns have the name 'b' (inputs)"},
    {"a,b,y\n1,2,3\n",
     "y",
     "",
     "5,6,7,8\n",
     0,
     {0},
     "no header and 4 columns; it needs the 2 inputs in order, or all 3 columns"},
    {"a,b\n1,2\n", "", "", "5,6,7,8\n", 0, {0}, "no header and 4 columns; it needs exactly the 2 inputs in order"},
    {"a,b,y\n1,2,3\n", "y", "", "a,b\n5,x\n", 0, {0}, "line 2, column 'b': 'x' is not a number; correct it"},
    {"a,b,y\n1,2,3\n", "y", "", "a,b\n5,\n", 0, {0}, "line 2, column 'b': the value is missing"},
};

static void reads_like_other_data(void **state) {
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(pairs); k++) {
    const pair *p = &pairs[k];
    oatgp_data *other = NULL;
    s->settings.target = p->target;
    s->settings.inputs = p->inputs;
    write_text(s, p->first);
    oatgp_data *like = must_read(s);
    write_text(s, p->second);
    const oatgp_status status = oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other);
    expect_sentence(s, p->piece != NULL ? OATGP_DATA : OATGP_OK, status, p->piece != NULL ? p->piece : "");
    if (p->piece == NULL) {
      expect_inputs(other, p->n, like->d, p->x);
      assert_string_equal(oatgp_data_input_name(other, 0), oatgp_data_input_name(like, 0));
      assert_null(other->y);
    }
    oatgp_data_free(like);
    oatgp_data_free(other);
  }
}

/* Data from memory have no places; their own names count only when they were set. */
static void reads_like_memory(void **state) {
  scratch *s = *state;
  oatgp_data *like = NULL, *other = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 1, 2, six, NULL, &like), OATGP_OK);
  write_text(s, "p,q\n5,6\n");
  assert_int_equal(oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other), OATGP_OK);
  expect_inputs(other, 1, 2, (const double[]){5, 6});
  oatgp_data_free(other);
  other = NULL;
  write_text(s, "x2,q,x1\n5,6,7\n");
  assert_int_equal(oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other), OATGP_OK);
  expect_inputs(other, 1, 2, (const double[]){7, 5});
  oatgp_data_free(other);
  other = NULL;
  write_text(s, "4,5,6\n");
  expect_sentence(s, OATGP_DATA, oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other),
                  "exactly the 2 inputs");
  const char *const names[] = {"a", "b"};
  assert_int_equal(oatgp_data_set_names(s->ctx, like, names, NULL), OATGP_OK);
  write_text(s, "p,q\n5,6\n");
  expect_sentence(s, OATGP_DATA, oatgp_data_read_like(s->ctx, s->path, like, &s->settings, &other),
                  "'a', 'b'; it has 'p', 'q'");
  assert_null(other);
  oatgp_data_free(like);
}

/* Two inputs a and b at places 1 and 3 of three columns, as a model would ask for them. */
typedef struct request {
  const char *text, *target;
  bool need_target;
  const char *weight, *noise;
  oatgp_status status;
  const char *piece; /* of the sentence or of what is said */
  bool has_y;
  double y;
  bool has_weight, has_noise;
} request;

static const request requests[] = {
    {"a,b,y\n1,2,3\n", "y", true, "", "", OATGP_OK, "", true, 3, false, false},
    {"y,b,a\n3,2,1\n", "y", false, NULL, NULL, OATGP_OK, "", true, 3, false, false},
    {"a,b,y\n1,2,3\n", "last", true, "", "", OATGP_OK, "", true, 3, false, false},
    {"a,y,b\n1,3,2\n", "2", true, "", "", OATGP_OK, "", true, 3, false, false},
    {"a,b,y\n1,2,3\n", "", false, "", "", OATGP_OK, "", false, 0, false, false},
    {"a,b,y\n1,2,3\n", NULL, false, "", "", OATGP_OK, "", false, 0, false, false},
    {"a,b,y\n1,2,3\n", NULL, true, "", "", OATGP_ARGUMENT, "the target is missing", false, 0, false, false},
    {"a,b,y\n1,2,3\n", "z", false, "", "", OATGP_OK, "", false, 0, false, false},
    {"a,b,y\n1,2,3\n", "z", true, "", "", OATGP_DATA, "has no column 'z' (target); it has 'a', 'b', 'y'", false, 0,
     false, false},
    {"a,b,y,y\n1,2,3,4\n", "y", true, "", "", OATGP_DATA, "2 columns have the name 'y' (target)", false, 0, false,
     false},
    {"a,b,y\n1,2,3\n", "1", true, "", "", OATGP_DATA, "'a' is used twice, as input and as target", false, 0, false,
     false},
    {"a,b\n1,2\n", "last", false, "", "", OATGP_OK, "", false, 0, false, false},
    {"a,b\n1,2\n", "last", true, "", "", OATGP_DATA, "every column of '", false, 0, false, false},
    {"1,2\n", "y", true, "", "", OATGP_DATA, "is an input, so there is no target 'y'", false, 0, false, false},
    {"1,2\n", "V2", false, "V2", "", OATGP_OK, "note", false, 0, false, false},
    {"1,3,2\n", "2", true, "", "", OATGP_OK, "", true, 3, false, false},
    {"1,3,2\n", "V2", true, "", "", OATGP_OK, "", true, 3, false, false},
    {"1,3,2\n", "y", true, "", "", OATGP_DATA, "has no column 'y' (target); it has 'V1', 'V2', 'V3' and no header",
     false, 0, false, false},
    {"1,3,2\n", "y", false, "", "", OATGP_OK, "", false, 0, false, false},
    {"a,b,y,w,v\n1,2,3,4,0\n", "y", true, "w", "v", OATGP_OK, "", true, 3, true, true},
    {"a,b,y,v\n1,2,3,0\n", "y", true, "w", "v", OATGP_OK, "note '", true, 3, false, true},
    {"a,b,y\n1,2,3\n", "y", true, "w", "", OATGP_OK, "has no column 'w' (weights)", true, 3, false, false},
    {"a,b,y,w,w\n1,2,3,4,5\n", "y", true, "w", "", OATGP_DATA, "2 columns have the name 'w' (weights)", true, 3, false,
     false},
    {"a,b,y,w\n1,2,3,0\n", "y", true, "w", "", OATGP_DATA, "column 'w': '0' is not a weight", true, 3, false, false},
};

static oatgp_status read_columns(scratch *s, const oat_columns *wanted, oatgp_data **data) {
  oat_reader reader;
  oatgp_status status = oat_reader_open(s->ctx, s->path, wanted, &s->settings, &reader);
  if (status == OATGP_OK) {
    status = oat_reader_next(s->ctx, &reader, SIZE_MAX, data);
  }
  oat_reader_close(&reader);
  return status;
}

static void reads_for_a_model(void **state) {
  scratch *s = *state;
  char *names[] = {(char[]){"a"}, (char[]){"b"}};
  const size_t positions[] = {1, 3};
  for (size_t k = 0; k < LENGTH(requests); k++) {
    const request *r = &requests[k];
    const oat_columns wanted = {2, names, positions, 3, true, r->target, r->need_target, r->weight, r->noise};
    oatgp_data *data = NULL;
    s->said[0] = '\0';
    write_text(s, r->text);
    const oatgp_status status = read_columns(s, &wanted, &data);
    expect_sentence(s, r->status, status, r->status != OATGP_OK ? r->piece : "");
    if (status == OATGP_OK) {
      assert_non_null(strstr(s->said, r->piece));
      assert_true(r->piece[0] != '\0' || s->said[0] == '\0');
      expect_inputs(data, 1, 2, (const double[]){1, 2});
      expect_names(data, "a,b");
      assert_int_equal(data->y != NULL, r->has_y);
      assert_int_equal(data->weight != NULL, r->has_weight);
      assert_int_equal(data->noise != NULL, r->has_noise);
      assert_true(!r->has_y || data->y[0] == r->y);
    }
    oatgp_data_free(data);
  }
}

/* A damaged model could ask for places that no file has. */
static void places_outside_are_refused(void **state) {
  scratch *s = *state;
  char *names[] = {(char[]){"a"}, (char[]){"b"}};
  const size_t zero[] = {0, 1}, beyond[] = {1, 4};
  const size_t *const positions[] = {zero, beyond};
  write_text(s, "1,2,3\n");
  for (size_t k = 0; k < LENGTH(positions); k++) {
    const oat_columns wanted = {.d = 2, .names = names, .positions = positions[k], .columns = 3};
    oatgp_data *data = NULL;
    expect_sentence(s, OATGP_DATA, read_columns(s, &wanted, &data), "no header and 3 columns");
  }
}

/* Many values, in other units and orders: as in long double, and the same bits for any number of threads. The sums are
 * of small numbers, since valgrind's long double has no more digits than a double. */
static void values_are_described(void **state) {
  (void)state;
  enum { N = 100000 };
  static const double units[] = {1, 1e-300, 1e300};
  double *x = calloc(3 * N, sizeof *x);
  assert_non_null(x);
  for (size_t u = 0; u < LENGTH(units); u++) {
    long double sum = 0, squares = 0;
    oat_description first, other;
    for (size_t i = 0; i < N; i++) {
      x[3 * i] = units[u] * (1000 + sin((double)i * (double)i));
      sum += (long double)x[3 * i] / units[u] - 1000;
    }
    for (size_t i = 0; i < N; i++) {
      const long double deviation = (long double)x[3 * i] / units[u] - 1000 - sum / N;
      squares += deviation * deviation;
    }
    oat_describe(N, (oat_column){x, 3}, 1, &first);
    assert_true(fabsl((long double)first.mean / units[u] - 1000 - sum / N) < 1e-12L);
    assert_true(fabsl(first.sd / units[u] - sqrtl(squares / (N - 1))) < 1e-12L);
    assert_true(first.lowest >= 999 * units[u] && first.lowest < 999.001 * units[u]);
    assert_true(first.highest <= 1001 * units[u] && first.highest > 1000.999 * units[u]);
    for (int threads = 2; threads < 5; threads++) {
      oat_describe(N, (oat_column){x, 3}, threads, &other);
      assert_memory_equal(&first, &other, sizeof first);
    }
  }
  oat_description one;
  oat_describe(1, (oat_column){&(double){7}, 1}, 1, &one);
  assert_true(one.lowest == 7 && one.highest == 7 && one.mean == 7 && one.sd == 0);
  free(x);
}

/* More rows than are copied in one go. */
static void many_rows_are_selected_and_joined(void **state) {
  scratch *s = *state;
  enum { N = 50000 };
  double *x = calloc(N, sizeof *x);
  size_t *rows = calloc(N, sizeof *rows);
  oatgp_data *data = NULL, *turned = NULL, *both = NULL;
  assert_true(x != NULL && rows != NULL);
  for (size_t i = 0; i < N; i++) {
    x[i] = (double)i;
    rows[i] = N - 1 - i;
  }
  oatgp_context_set_threads(s->ctx, 3);
  assert_int_equal(oatgp_data_create(s->ctx, N, 1, x, x, &data), OATGP_OK);
  assert_int_equal(oatgp_data_select(s->ctx, data, N, rows, &turned), OATGP_OK);
  assert_int_equal(oatgp_data_join(s->ctx, data, turned, &both), OATGP_OK);
  for (size_t i = 0; i < 2 * N; i++) {
    const double wanted = (double)(i < N ? i : 2 * N - 1 - i);
    assert_true(both->x[i] == wanted && both->y[i] == wanted);
  }
  oatgp_data_free(data);
  oatgp_data_free(turned);
  oatgp_data_free(both);
  free(rows);
  free(x);
}

/* ---- the order of rows that have neighbours -------------------------------------------------------------------- */

enum { ORDERED = 40000 };

static void order_of(scratch *s, const oatgp_data *data, uint64_t seed, size_t *order) {
  assert_int_equal(oat_data_order(s->ctx, data, seed, order), OATGP_OK);
}

/* Rows with the same values have the same order, wherever they are; another seed has another one. */
static void order_is_of_what_rows_hold(void **state) {
  scratch *s = *state;
  double *x = calloc(ORDERED, sizeof *x);
  size_t *order = calloc(3 * ORDERED, sizeof *order), *turned = order + ORDERED, *other = turned + ORDERED;
  oatgp_data *data = NULL, *back = NULL;
  size_t fixed = 0, same = 0, rising = 0;
  bool *seen = calloc(ORDERED, sizeof *seen);
  assert_true(x != NULL && order != NULL && seen != NULL);
  for (size_t i = 0; i < ORDERED; i++) {
    x[i] = (double)i;
    turned[i] = ORDERED - 1 - i;
  }
  assert_int_equal(oatgp_data_create(s->ctx, ORDERED, 1, x, x, &data), OATGP_OK);
  assert_int_equal(oatgp_data_select(s->ctx, data, ORDERED, turned, &back), OATGP_OK);
  order_of(s, data, 1, order);
  oatgp_context_set_threads(s->ctx, 3);
  order_of(s, back, 1, turned);
  order_of(s, data, 2, other);
  for (size_t i = 0; i < ORDERED; i++) {
    assert_true(order[i] < ORDERED && !seen[order[i]]);
    seen[order[i]] = true;
    assert_true(turned[i] == ORDERED - 1 - order[i]);
    fixed += order[i] == i;
    same += order[i] == other[i];
    rising += i > 0 && order[i] > order[i - 1];
  }
  assert_true(fixed < 10 && same < 10);
  assert_true(fabs((double)rising / ORDERED - 0.5) <
              0.01); /* a random order rises at every other step, give or take 0.0015 */
  oatgp_data_free(data);
  oatgp_data_free(back);
  free(x);
  free(order);
  free(seen);
}

/* Equal rows keep their order; any other column of a row distinguishes it. */
static void order_of_equal_rows(void **state) {
  scratch *s = *state;
  enum { N = 64 };
  double x[N] = {0}, y[N] = {0}, ones[N], rising[N];
  size_t order[N];
  for (size_t i = 0; i < N; i++) {
    ones[i] = 1;
    rising[i] = 1 + (double)i;
  }
  for (int which = 0; which < 6; which++) {
    oatgp_data *data = NULL;
    assert_int_equal(oatgp_data_create(s->ctx, N, 1, x, which == 1 ? rising : y, &data), OATGP_OK);
    assert_int_equal(oatgp_data_set_weights(s->ctx, data, which == 2 ? rising : ones), OATGP_OK);
    assert_int_equal(oatgp_data_set_noise_variance(s->ctx, data, which == 3 ? rising : ones), OATGP_OK);
    assert_int_equal(oatgp_data_set_trials(s->ctx, data, which == 4 ? rising : ones), OATGP_OK);
    assert_int_equal(oatgp_data_set_exposure(s->ctx, data, which == 5 ? rising : ones), OATGP_OK);
    order_of(s, data, 1, order);
    size_t in_place = 0;
    for (size_t i = 0; i < N; i++) {
      in_place += order[i] == i;
    }
    assert_true(which == 0 ? in_place == N : in_place < N / 4);
    oatgp_data_free(data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(makes_columns_of_rows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(target_may_be_absent, set_up, tear_down),
      cmocka_unit_test_setup_teardown(create_refuses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(borrows_in_any_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(columns_are_copied, set_up, tear_down),
      cmocka_unit_test_setup_teardown(borrow_refuses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_are_set_and_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(weights_and_noise_are_checked, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trials_and_exposure_are_checked, set_up, tear_down),
      cmocka_unit_test_setup_teardown(null_data_are_empty, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reading_refuses_arguments, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_like_other_data, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_like_memory, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_for_a_model, set_up, tear_down),
      cmocka_unit_test_setup_teardown(places_outside_are_refused, set_up, tear_down),
      cmocka_unit_test(values_are_described),
      cmocka_unit_test_setup_teardown(many_rows_are_selected_and_joined, set_up, tear_down),
      cmocka_unit_test_setup_teardown(order_is_of_what_rows_hold, set_up, tear_down),
      cmocka_unit_test_setup_teardown(order_of_equal_rows, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
