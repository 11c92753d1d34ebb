/* Data for non-Gaussian targets: classes, trials and exposure, from files to models and back. */
#include "data_files.h"

#include <math.h>

#include "fits.h"
#include "model/model.h"

/* The classes with bars between them. */
static void expect_classes(const oatgp_data *data, const char *joined) {
  char text[256] = "";
  for (size_t i = 0; i < oatgp_data_target_level_count(data); i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? "|" : "",
             oatgp_data_target_level(data, i));
  }
  assert_string_equal(text, joined);
}

/* ---- from files ------------------------------------------------------------------------------------------------ */

typedef struct case_of {
  const char *text, *likelihood, *missing, *classes;
  size_t n;
  double y[8];
  const char *said;
} case_of;

static const case_of tables[] = {
    {"x,y\n1,yes\n2,no\n3,no\n",
     "bernoulli-logit",
     "error",
     "no|yes",
     3,
     {1, 0, 0},
     "0 stands for 'no' and 1 for 'yes'"},
    {"x,y\n1,1\n2,0\n3,1\n", "bernoulli-probit", "error", "", 3, {1, 0, 1}, ""},
    {"x,y\n1,\n2,b\n3,a\n4,NA\n5,b\n", "bernoulli-logit", "drop", "a|b", 3, {1, 0, 1}, "dropped 2 of 5 rows"},
    {"x,y\n1,\"b\"\n2, a \n3,b\n", "bernoulli-logit", "error", "a|b", 3, {1, 0, 1}, ""},
    {"x,y\n1,10\n2,9.0\n3,-1\n4,9\n",
     "ordinal",
     "error",
     "-1|9|10",
     4,
     {2, 1, 0, 1},
     "has 3 classes in this order: '-1', '9', '10'\n"},
    {"x,y\n1,low\n2,mid\n3,high\n", "ordinal", "error", "high|low|mid", 3, {1, 2, 0}, "the order is alphabetical"},
    {"x,y\n1,2\n2,many\n3,1\n", "ordinal", "error", "1|2|many", 3, {1, 2, 0}, "'1', '2', 'many'; the order is"},
    {"x,y\n1,2\n2,1\n3,2\n", "poisson", "error", "", 3, {2, 1, 2}, ""},
};

static void reads_classes(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  for (size_t k = 0; k < LENGTH(tables); k++) {
    const case_of *t = &tables[k];
    s->settings.likelihood = t->likelihood;
    s->settings.missing = t->missing;
    write_text(s, t->text);
    oatgp_data *data = must_read(s);
    assert_int_equal(data->n, t->n);
    assert_int_equal(data->d, 1);
    assert_null(data->levels);
    expect_classes(data, t->classes);
    expect_column(data->y, t->n, t->y);
    if (strstr(s->said, t->said) == NULL || (*t->said == '\0' && strstr(s->said, "order") != NULL)) {
      fail_msg("table %zu: said '%s'", k, s->said);
    }
    oatgp_data_free(data);
  }
}

typedef struct bad {
  const char *text, *likelihood, *trials, *exposure, *piece;
} bad;

static const bad bads[] = {
    {"x,y\n1,a\n2,b\n", "gaussian", "", "",
     "line 2, column 'y': 'a' is not a number; correct it, or use --likelihood bernoulli-logit if the two texts are "
     "two classes"},
    {"x,y\n1,a\n2,b\n", "poisson", "", "", "or use --likelihood bernoulli-logit"},
    {"x,y\n1,a\n2,b\n3,c\n", "bernoulli-logit", "", "",
     "the target 'y' has 3 different values: 'a', 'b', 'c'; at most 2 are allowed: correct them, or use --likelihood "
     "ordinal"},
    {"x,y\n1,a\n2,a\n", "bernoulli-logit", "", "", "the target 'y' is 'a' in all rows; two classes or more are needed"},
    {"x,y\n1,a\n2,0\n3,1\n", "bernoulli-logit", "", "", "line 2, column 'y': 'a' is not a number; correct it"},
    {"x,y\n1,\n2,\n", "bernoulli-logit", "", "", "column 'y' has no value in any row; fill it in"},
    {"x,y\n1,b\n2,\n3,a\n", "bernoulli-logit", "", "", "line 3, column 'y': the value is missing; fill it in"},
    {"x,y\n1,b\n2,\n3,a\n", "ordinal", "", "", "line 3, column 'y': the value is missing; fill it in"},
    {"x,y\n1,2\n2,1.5\n", "ordinal", "", "",
     "line 3, column 'y': '1.5' cannot be a class: a class is a whole number or a text; correct it"},
    {"x,y\n1,2\n2,2\n", "ordinal", "", "", "is '2' in all rows"},
    {"x,y,n\n1,2,3\n2,1,2.5\n", "binomial-logit", "n", "",
     "line 3, column 'n': '2.5' is not a number of trials, which must be a whole number, 1 or more; correct it"},
    {"x,y,n\n1,2,0\n", "binomial-logit", "n", "", "line 2, column 'n': '0' is not a number of trials"},
    {"x,y,n\n1,2,some\n", "binomial-logit", "n", "", "line 2, column 'n': 'some' is not a number"},
    {"x,y,e\n1,2,0\n", "poisson", "", "e",
     "line 2, column 'e': '0' is not an exposure, which must be above 0; correct it"},
    {"x,y\n1,2\n", "poisson", "n", "", "has no column 'n' (trials)"},
    {"x,y\n1,2\n", "poisson", "", "e", "has no column 'e' (exposure)"},
    {"x,y,e\n1,2,1\n", "poisson", "e", "e", "column 'e' is used twice, as trials and as exposure"},
};

static void refuses_tables(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  for (size_t k = 0; k < LENGTH(bads); k++) {
    s->settings.likelihood = bads[k].likelihood;
    s->settings.trials = bads[k].trials;
    s->settings.exposure = bads[k].exposure;
    write_text(s, bads[k].text);
    must_refuse(s, OATGP_DATA, bads[k].piece);
  }
}

/* Rows without a class are dropped, but not all of them. */
static void drops_rows_without_a_class(void **state) {
  static const char *const likelihoods[] = {"ordinal", "bernoulli-logit"};
  scratch *s = *state;
  s->settings.target = "y";
  s->settings.missing = "drop";
  for (size_t k = 0; k < LENGTH(likelihoods); k++) {
    s->settings.likelihood = likelihoods[k];
    write_text(s, "x,y\n1,\n2,\n");
    must_refuse(s, OATGP_DATA, "column 'y' has no value in any row; fill it in");
  }
}

/* Three texts or more do not suggest two classes. */
static void hints_at_two_texts_alone(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  write_text(s, "x,y\n1,a\n2,b\n3,c\n");
  must_refuse(s, OATGP_DATA, "'a' is not a number; correct it");
  assert_null(strstr(oatgp_last_error(s->ctx), "--likelihood"));
}

static void too_many_classes(void **state) {
  scratch *s = *state;
  char text[1024] = "x,y\n";
  for (int i = 0; i <= OAT_MOST_CLASSES; i++) {
    sprintf(text + strlen(text), "%d,%d\n", i, i);
  }
  s->settings.target = "y";
  s->settings.likelihood = "ordinal";
  write_text(s, text);
  must_refuse(s, OATGP_DATA, "has 51 different values: '0', '1', ");
  must_refuse(s, OATGP_DATA, "at most 50 are allowed: merge some of them, or use a likelihood for numbers");
}

/* Texts that come first after the rows that are looked at, in parts that threads read. */
static void threads_change_nothing(void **state) {
  scratch *s = *state;
  const size_t rows = under_valgrind() ? 3000 : 150000;
  char *text = malloc(rows * 48);
  assert_non_null(text);
  size_t length = (size_t)sprintf(text, "y,x,n,e\n");
  for (size_t i = 0; i < rows; i++) {
    const char *class = i < 120 || (i * i) % 7 > 2 ? "no" : "certainly";
    length += (size_t)sprintf(text + length, "%s,%zu,%zu,%zu.25\n", class, i, 1 + i % 9, i % 5);
  }
  write_bytes(s, text, length);
  free(text);
  s->settings.target = "y";
  s->settings.trials = "n";
  s->settings.exposure = "e";
  for (int k = 0; k < 8; k++) {
    s->settings.likelihood = k % 2 == 0 ? "ordinal" : "bernoulli-logit";
    oatgp_context_set_threads(s->ctx, 1 + k / 2);
    oatgp_data *data = must_read(s);
    expect_classes(data, "certainly|no");
    assert_int_equal(data->n, rows);
    for (size_t i = 0; i < rows; i++) {
      assert_true(data->y[i] == (i < 120 || (i * i) % 7 > 2 ? 1 : 0));
      assert_true(data->trials[i] == (double)(1 + i % 9) && data->exposure[i] == (double)(i % 5) + 0.25);
    }
    oatgp_data_free(data);
  }
  oatgp_context_set_threads(s->ctx, 1);
}

/* As .npy, columns come in the order that is promised, and the classes as their codes, which are classes again. */
static void goes_through_npy(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  s->settings.trials = "n";
  s->settings.exposure = "e";
  s->settings.likelihood = "ordinal";
  write_text(s, "e,y,n,x\n0.5,b,3,1\n2,a,1,2\n1,c,4,7\n");
  oatgp_data *data = must_read(s);
  assert_string_equal(data->trials_name, "n");
  assert_string_equal(data->exposure_name, "e");
  assert_int_equal(data->trials_position, 3);
  assert_int_equal(data->exposure_position, 1);
  must(s, oatgp_data_write_npy(s->ctx, data, s->path));
  oatgp_data_free(data);
  s->settings.target = "2";
  s->settings.trials = "3";
  s->settings.exposure = "4";
  data = must_read(s);
  expect_inputs(data, 3, 1, (const double[]){1, 2, 7});
  expect_column(data->y, 3, (const double[]){1, 0, 2});
  expect_classes(data, "0|1|2");
  expect_column(data->trials, 3, (const double[]){3, 1, 4});
  expect_column(data->exposure, 3, (const double[]){0.5, 2, 1});
  oatgp_data_free(data);
  s->settings.trials = "4";
  s->settings.exposure = "3";
  must_refuse(s, OATGP_DATA, "row 1, column 'V4': '0.5' is not a number of trials");
}

/* ---- rows of data ---------------------------------------------------------------------------------------------- */

static const char *const ab[] = {"a", "b"};

static void sets_classes(void **state) {
  scratch *s = *state;
  const double x[] = {0, 1, 2}, y[] = {0, 1, 1};
  oatgp_data *data = make_data(s, 3, 1, x, y), *none = make_data(s, 3, 1, x, NULL), *some = NULL;
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_target_levels(s->ctx, none, 2, ab), "the data have no target");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_target_levels(s->ctx, data, 1, ab), "2 to 50 levels");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_target_levels(s->ctx, data, 2, (const char *const[]){"a", "a"}),
                  "'a' is given twice");
  assert_int_equal(oatgp_data_target_level_count(data), 0);
  must(s, oatgp_data_set_target_levels(s->ctx, data, 2, ab));
  expect_classes(data, "a|b");
  assert_null(oatgp_data_target_level(data, 2));
  must(s, oatgp_data_set_trials(s->ctx, data, (const double[]){1, 2, 3}));
  must(s, oatgp_data_set_exposure(s->ctx, data, (const double[]){0.5, 1, 1.5}));
  must(s, oatgp_data_select(s->ctx, data, 2, (const size_t[]){2, 0}, &some));
  expect_classes(some, "a|b");
  expect_column(some->y, 2, (const double[]){1, 0});
  expect_column(some->trials, 2, (const double[]){3, 1});
  expect_column(some->exposure, 2, (const double[]){1.5, 0.5});
  oatgp_data_free(some);
  oatgp_data_free(none);
  oatgp_data_free(data);
  data = make_data(s, 3, 1, x, x);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_target_levels(s->ctx, data, 2, ab),
                  "the target of row 3 is 2, which is not one of the codes 0 to 1");
  oatgp_data_free(data);
}

static void joins_classes(void **state) {
  scratch *s = *state;
  const double x[] = {0, 1, 2}, y[] = {0, 1, 1}, ones[] = {1, 1, 1};
  oatgp_data *first = make_data(s, 3, 1, x, y), *second = make_data(s, 3, 1, x, y), *both = NULL;
  must(s, oatgp_data_set_target_levels(s->ctx, first, 2, ab));
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, first, second, &both),
                  "the target has levels in one and holds numbers");
  must(s, oatgp_data_set_target_levels(s->ctx, second, 2, (const char *const[]){"b", "c"}));
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, first, second, &both),
                  "the target has the level 'c' only in the second");
  must(s, oatgp_data_set_target_levels(s->ctx, second, 2, (const char *const[]){"b", "a"}));
  must(s, oatgp_data_set_exposure(s->ctx, first, ones));
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, first, second, &both),
                  "trials or an exposure that the other lacks");
  must(s, oatgp_data_set_exposure(s->ctx, second, ones));
  assert_null(both);
  must(s, oatgp_data_join(s->ctx, first, second, &both));
  expect_classes(both, "a|b");
  expect_column(both->y, 6, (const double[]){0, 1, 1, 1, 0, 0});
  expect_column(both->exposure, 6, (const double[]){1, 1, 1, 1, 1, 1});
  oatgp_data_free(first);
  oatgp_data_free(second);
  oatgp_data_free(both);
}

/* ---- models ---------------------------------------------------------------------------------------------------- */

/* A model of this likelihood, saved and loaded again, with the columns x, y, e and n: of yes and no; with the exposure
 * e; with the trials n. */
static oatgp_model *model_of(scratch *s, const char *likelihood, const char *header) {
  const bool classes = strcmp(likelihood, "bernoulli-logit") == 0;
  char text[2048];
  int length = sprintf(text, "%s", header);
  oatgp_model *fitted = NULL, *loaded = NULL;
  for (int i = 0; i < 40; i++) {
    const char *y = classes ? i % 3 == 0 ? "no" : "yes" : i % 3 == 0 ? "0" : "1";
    length += sprintf(text + length, "%d,%s,%d.5,%d\n", i, y, i % 4, 1 + i % 5);
  }
  write_bytes(s, text, (size_t)length);
  s->settings.target = "2";
  s->settings.inputs = "1";
  s->settings.header = *header != '\0' ? "yes" : "no";
  s->settings.exposure = strcmp(likelihood, "poisson") == 0 ? "3" : "";
  s->settings.trials = strcmp(likelihood, "binomial-logit") == 0 ? "4" : "";
  s->settings.likelihood = likelihood;
  s->settings.knots = "4";
  s->settings.max_iter = 3;
  oatgp_data *data = must_read(s);
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &fitted));
  must(s, oatgp_model_save(s->ctx, fitted, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &loaded));
  oatgp_data_free(data);
  oatgp_model_free(fitted);
  s->settings.target = "";
  return loaded;
}

static oatgp_status read_for(scratch *s, const oatgp_model *model, const char *text, int need, oatgp_data **data) {
  s->said[0] = '\0';
  *data = NULL;
  write_text(s, text);
  return oatgp_data_read_for(s->ctx, s->path, model, &s->settings, need, data);
}

static void models_remember(void **state) {
  scratch *s = *state;
  oatgp_model *model = model_of(s, "bernoulli-logit", "x,y,e,n\n");
  oatgp_data *data = NULL;
  assert_int_equal(oatgp_model_target_level_count(model), 2);
  assert_string_equal(oatgp_model_target_level(model, 0), "no");
  assert_string_equal(oatgp_model_target_level(model, 1), "yes");
  assert_null(oatgp_model_target_level(model, 2));
  /* codes are those of the model, whatever comes first, and even if there is one class alone */
  must(s, read_for(s, model, "n,y,x,e\n3,yes,1,0.5\n2,yes,2,1.5\n", 1, &data));
  expect_column(data->y, 2, (const double[]){1, 1});
  expect_classes(data, "no|yes");
  assert_string_equal(s->said, "");
  oatgp_data_free(data);
  expect_sentence(s, OATGP_DATA, read_for(s, model, "x,y,e,n\n1,no,1,1\n2,maybe,1,1\n", 1, &data),
                  "line 3, column 'y': 'maybe' is not one of the target's classes, which are 'no', 'yes'; correct it");
  expect_sentence(s, OATGP_DATA, read_for(s, model, "x,y,e,n\n1,1,1,1\n", 1, &data),
                  "'1' is not one of the target's classes");
  must(s, read_for(s, model, "x,y\n1,maybe\n", -1, &data)); /* the target is left alone */
  assert_null(data->y);
  oatgp_data_free(data);
  oatgp_model_free(model);
}

static void models_remember_columns(void **state) {
  scratch *s = *state;
  oatgp_model *counts = model_of(s, "poisson", "x,y,e,n\n"), *tries = model_of(s, "binomial-logit", "x,y,e,n\n");
  const char *const text = "n,y,x,e\n3,1,1,0.5\n2,0,2,1.5\n";
  oatgp_data *data = NULL;
  assert_string_equal(info_of(counts).exposure, "e");
  assert_string_equal(info_of(tries).trials, "n");
  must(s, read_for(s, counts, text, 1, &data));
  expect_column(data->exposure, 2, (const double[]){0.5, 1.5});
  assert_null(data->trials);
  oatgp_data_free(data);
  must(s, read_for(s, tries, text, 1, &data));
  expect_column(data->trials, 2, (const double[]){3, 2});
  assert_null(data->exposure);
  assert_string_equal(s->said, "");
  oatgp_data_free(data);
  expect_sentence(s, OATGP_DATA, read_for(s, counts, "x,y,e,n\n1,1,0,1\n", 1, &data), "'0' is not an exposure");
  must(s, read_for(s, counts, "x,y\n1,1\n", -1, &data));
  assert_null(data->exposure);
  expect_said(s, "has no column 'e' (exposure); its rows are treated as rows of exposure 1");
  oatgp_data_free(data);
  must(s, read_for(s, tries, "x,y\n1,1\n", -1, &data));
  assert_null(data->trials);
  expect_said(s, "has no column 'n' (trials); its rows are treated as rows of one trial");
  oatgp_data_free(data);
  oatgp_model_free(counts);
  oatgp_model_free(tries);
}

/* Classes that are not UTF-8 are so in later files, too. Found by the fuzz target convert. */
static void models_remember_latin(void **state) {
  scratch *s = *state;
  const char *const text = "x,y\n1,fa\347ade\n2,no\n3,fa\347ade\n4,no\n5,no\n";
  oatgp_data *data = NULL;
  oatgp_model *model = NULL;
  write_text(s, text);
  s->settings.target = "y";
  s->settings.likelihood = "bernoulli-logit";
  s->settings.knots = "2";
  s->settings.max_iter = 1;
  data = must_read(s);
  expect_classes(data, "fa\303\247ade|no");
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model));
  oatgp_data_free(data);
  must(s, read_for(s, model, text, 1, &data));
  expect_column(data->y, 5, (const double[]){0, 1, 0, 1, 1});
  oatgp_data_free(data);
  oatgp_model_free(model);
}

/* Without names, by their places. */
static void models_remember_places(void **state) {
  scratch *s = *state;
  oatgp_model *classes = model_of(s, "bernoulli-logit", ""), *counts = model_of(s, "poisson", ""),
              *tries = model_of(s, "binomial-logit", "");
  oatgp_data *data = NULL;
  must(s, read_for(s, classes, "1,no,2.5,3\n4,yes,1,1\n", 1, &data));
  expect_column(data->y, 2, (const double[]){0, 1});
  oatgp_data_free(data);
  must(s, read_for(s, counts, "1,0,2.5,3\n4,1,1,1\n", 1, &data));
  expect_column(data->exposure, 2, (const double[]){2.5, 1});
  oatgp_data_free(data);
  must(s, read_for(s, tries, "1,0,2.5,3\n4,1,1,1\n", 1, &data));
  expect_column(data->trials, 2, (const double[]){3, 1});
  oatgp_data_free(data);
  must(s, read_for(s, counts, "1\n4\n", 0, &data));
  assert_null(data->exposure);
  expect_said(s, "(exposure); its rows are treated as rows of exposure 1");
  oatgp_data_free(data);
  oatgp_model_free(classes);
  oatgp_model_free(counts);
  oatgp_model_free(tries);
}

/* A stream gives the same rows, a few at a time. */
static void streams_know_classes(void **state) {
  scratch *s = *state;
  oatgp_model *model = model_of(s, "bernoulli-logit", "x,y,e,n\n");
  oatgp_stream *stream = NULL;
  oatgp_data *rows = NULL;
  write_text(s, "y,x,n,e\nno,1,1,1\nyes,2,2,2\n,3,3,3\nyes,4,4,4\nperhaps,5,5,5\n");
  s->settings.missing = "drop";
  must(s, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 1, &stream));
  expect_sentence(s, OATGP_DATA, oatgp_stream_next(s->ctx, stream, 2, &rows),
                  "line 6, column 'y': 'perhaps' is not one of the target's classes");
  oatgp_stream_free(stream);
  write_text(s, "y,x,n,e\nno,1,1,1\nyes,2,2,2\n,3,3,3\nyes,4,4,4\n");
  must(s, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 1, &stream));
  const double y[] = {0, 1, 1};
  for (size_t i = 0; i < 3; i++) {
    must(s, oatgp_stream_next(s->ctx, stream, 1, &rows));
    assert_int_equal(rows->n, 1);
    assert_true(rows->y[0] == y[i]);
    oatgp_data_free(rows);
  }
  must(s, oatgp_stream_next(s->ctx, stream, 1, &rows));
  assert_null(rows);
  oatgp_stream_free(stream);
  oatgp_model_free(model);
}

static void streams_know_columns(void **state) {
  scratch *s = *state;
  oatgp_model *counts = model_of(s, "poisson", "x,y,e,n\n"), *tries = model_of(s, "binomial-logit", "x,y,e,n\n");
  write_text(s, "y,x,n,e\n0,1,1,2\n1,2,3,4\n");
  for (size_t k = 0; k < 2; k++) {
    oatgp_stream *stream = NULL;
    oatgp_data *rows = NULL;
    must(s, oatgp_stream_open(s->ctx, s->path, k == 0 ? counts : tries, &s->settings, 1, &stream));
    for (size_t i = 0; i < 2; i++) {
      must(s, oatgp_stream_next(s->ctx, stream, 1, &rows));
      expect_column(k == 0 ? rows->exposure : rows->trials, 1, (const double[]){(double)(2 * i + 2 - k)});
      oatgp_data_free(rows);
    }
    oatgp_stream_free(stream);
  }
  oatgp_model_free(counts);
  oatgp_model_free(tries);
}

/* Data that were not read for the model may have its classes in another order, or others. */
static void other_classes_are_refused(void **state) {
  scratch *s = *state;
  oatgp_model *model = model_of(s, "bernoulli-logit", "x,y,e,n\n");
  const double x[] = {0, 1, 2}, y[] = {0, 1, 1};
  oatgp_data *data = make_data(s, 3, 1, x, y);
  oatgp_scores scores;
  must(s, oatgp_score(s->ctx, model, data, NULL, &scores)); /* codes without names */
  must(s, oatgp_data_set_target_levels(s->ctx, data, 2, (const char *const[]){"yes", "no"}));
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, model, data, NULL, &scores), "class 1 of 2 is 'yes' in the data");
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, model, data), "the target's classes differ from the model's");
  must(s, oatgp_data_set_target_levels(s->ctx, data, 3, (const char *const[]){"no", "yes", "z"}));
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, model, data), "the model has 2 classes, the first of them 'no'");
  must(s, oatgp_data_set_target_levels(s->ctx, data, 2, (const char *const[]){"no", "yes"}));
  must(s, oatgp_score(s->ctx, model, data, NULL, &scores));
  oatgp_model_free(model);
  s->settings.likelihood = "gaussian";
  oatgp_data *numbers = make_data(s, 3, 1, x, y);
  model = must_fit(s, numbers, NULL);
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, model, data, NULL, &scores),
                  "the target has classes in the data, but holds");
  oatgp_model_free(model);
  oatgp_data_free(numbers);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(reads_classes),
      WITH_SCRATCH(refuses_tables),
      WITH_SCRATCH(drops_rows_without_a_class),
      WITH_SCRATCH(hints_at_two_texts_alone),
      WITH_SCRATCH(too_many_classes),
      WITH_SCRATCH(threads_change_nothing),
      WITH_SCRATCH(goes_through_npy),
      WITH_SCRATCH(sets_classes),
      WITH_SCRATCH(joins_classes),
      WITH_SCRATCH(models_remember),
      WITH_SCRATCH(models_remember_columns),
      WITH_SCRATCH(models_remember_latin),
      WITH_SCRATCH(models_remember_places),
      WITH_SCRATCH(streams_know_classes),
      WITH_SCRATCH(streams_know_columns),
      WITH_SCRATCH(other_classes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
