/* Kernel expressions: grammar, canonical text over random trees, places and names of parameters, errors with carets. */
#include "support.h"

#include "kernel/expression.h"

static const char *const columns[] = {"x1", "x2", "time", "mean temperature", "größe", "3", "a\"b", "温度"};
static const oat_names inputs = {LENGTH(columns), columns};
static const oat_names one_input = {1, columns + 2};

static oatgp_context *ctx;

static int begin(void **state) {
  (void)state;
  ctx = oatgp_context_create();
  return ctx == NULL;
}

static int end(void **state) {
  (void)state;
  oatgp_context_free(ctx);
  return 0;
}

static oat_expression *read_it(const char *text) {
  oat_expression *e = NULL;
  if (oat_expression_read(ctx, text, &inputs, &e) != OATGP_OK) {
    fail_msg("%s: %s", text, oatgp_last_error(ctx));
  }
  return e;
}

/* ---- canonical text -------------------------------------------------------------------------------------------- */

static void assert_text(const char *text, const char *canonical) {
  oat_expression *e = read_it(text);
  assert_string_equal(e->text, canonical);
  oat_expression_free(e);
}

static void test_canonical_text(void **state) {
  (void)state;
  assert_text(" se( x1 ) ", "se(x1)");
  assert_text("se(x1)+matern52(x2)", "se(x1) + matern52(x2)");
  assert_text("se(x1, x2)+constant", "se(x1, x2) + constant");
  assert_text("(constant)", "constant()"); /* a word alone is the name of a kernel */
  assert_text("se*linear()", "se() * linear()");
  assert_text("(se(x1) + linear(x1)) * matern52(x2)", "(se(x1) + linear(x1)) * matern52(x2)");
  assert_text("((se(x1)))", "se(x1)");
  assert_text("se(x1) + (rq(x2) + se(time)) + (cosine(time))", "se(x1) + rq(x2) + se(time) + cosine(time)");
  assert_text("se(x1) * (rq(x2) * se(time)) * (cosine(time) + constant)",
              "se(x1) * rq(x2) * se(time) * (cosine(time) + constant)");
  assert_text("linear(x1)^2", "linear(x1)^2");
  assert_text("((linear(x1)^2)^3)^1", "linear(x1)^6");
  assert_text("linear(x1)^1", "linear(x1)");
  assert_text("(linear(x1) * se(x2)) ^ 2", "(linear(x1) * se(x2))^2");
  assert_text("(linear(x1) + se(x2))^2 * se(x1)", "(linear(x1) + se(x2))^2 * se(x1)");
  assert_text("polynomial(x1,x2,3)", "polynomial(x1, x2, 3)");
  assert_text("polynomial(2)", "polynomial(2)");
  assert_text("polynomial(\"3\", 3)", "polynomial(\"3\", 3)");
  assert_text("se(\"mean temperature\", größe)", "se(\"mean temperature\", größe)");
  assert_text("se(\"a\"\"b\")\t+\nse(\"x1\", 温度)", "se(\"a\"\"b\") + se(x1, 温度)");
}

/* ---- places of parameters -------------------------------------------------------------------------------------- */

typedef struct expected {
  const char *text, *names; /* separated by " | " */
} expected;

static void test_names_of_parameters(void **state) {
  (void)state;
  static const expected cases[] = {
      {"se(x1) + matern52(x2)", "se(x1).sigma | se(x1).lengthscale | matern52(x2).sigma | matern52(x2).lengthscale"},
      {"se(x1) * se(x2)", "(se(x1) * se(x2)).sigma | se(x1).lengthscale | se(x2).lengthscale"},
      {"periodic(x1) * se(x1) + linear(x2)",
       "(periodic(x1) * se(x1)).sigma | periodic(x1).period | periodic(x1).lengthscale | "
       "se(x1).lengthscale | linear(x2).sigma"},
      {"se(x1, x2) + constant",
       "se(x1, x2).sigma | se(x1, x2).lengthscale(x1) | se(x1, x2).lengthscale(x2) | constant.sigma"},
      {"(se(x1) + linear(x1)) * matern52(x2)",
       "se(x1).sigma | se(x1).lengthscale | linear(x1).sigma | matern52(x2).lengthscale"},
      {"matern12(x2) * rq(x1) * (se(x1) + linear(x1)) * cosine(time)",
       "matern12(x2).lengthscale | rq(x1).shape | rq(x1).lengthscale | se(x1).sigma | se(x1).lengthscale | "
       "linear(x1).sigma | "
       "cosine(time).period"},
      {"(linear(x1) + constant)^2", "linear(x1).sigma | constant.sigma"},
      {"linear(x1)^2 + polynomial(x2, 3)", "(linear(x1)^2).sigma | polynomial(x2, 3).sigma | polynomial(x2, 3).offset"},
      {"(se(x1) + constant) * (se(x2) + constant)",
       "se(x1).sigma | se(x1).lengthscale | constant.sigma | se(x2).sigma | se(x2).lengthscale | constant#2.sigma"},
      {"se(time) + se(time) * linear(time) + se(time)",
       "se(time).sigma | se(time).lengthscale | (se(time)#2 * linear(time)).sigma | "
       "se(time)#2.lengthscale | se(time)#3.sigma | se(time)#3.lengthscale"},
      {"se(\"mean temperature\", \"a\"\"b\")",
       "se(\"mean temperature\", \"a\"\"b\").sigma | se(\"mean temperature\", \"a\"\"b\").lengthscale(\"mean "
       "temperature\") | "
       "se(\"mean temperature\", \"a\"\"b\").lengthscale(\"a\"\"b\")"},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_expression *e = read_it(cases[i].text);
    char names[1024] = "";
    for (size_t j = 0; j < e->parameters; j++) {
      snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", j > 0 ? " | " : "",
               e->parameter[j].is.name);
      assert_int_equal(oat_expression_find(e, e->parameter[j].is.name), j);
    }
    assert_string_equal(names, cases[i].names);
    oat_expression_free(e);
  }
}

static void test_facts_of_parameters(void **state) {
  (void)state;
  oat_expression *e = read_it("rq(x2, time) + periodic(time)");
  const oat_expression_parameter *p = e->parameter;
  static const oat_quantity quantities[] = {OAT_IS_SIGMA, OAT_IS_SHAPE,  OAT_IS_LENGTHSCALE, OAT_IS_LENGTHSCALE,
                                            OAT_IS_SIGMA, OAT_IS_PERIOD, OAT_IS_ROUGHNESS};
  static const size_t input[] = {OAT_ALL_INPUTS, OAT_ALL_INPUTS, 1, 2, OAT_ALL_INPUTS, 2, 2};
  static const oat_unit units[] = {OAT_UNIT_TARGET, OAT_UNIT_NONE,  OAT_UNIT_INPUT, OAT_UNIT_INPUT,
                                   OAT_UNIT_TARGET, OAT_UNIT_INPUT, OAT_UNIT_NONE};
  assert_int_equal(e->parameters, LENGTH(units));
  for (size_t i = 0; i < e->parameters; i++) {
    assert_int_equal(p[i].quantity, quantities[i]);
    assert_int_equal(p[i].is.input, input[i]);
    assert_int_equal(p[i].is.unit, units[i]);
    assert_true(p[i].is.low < p[i].start && p[i].start < p[i].is.high);
  }
  assert_near(p[0].start, 0.5, 1e-15); /* half of the variance for two terms */
  assert_int_equal(oat_expression_find(e, "rq( x2,time ).lengthscale( time )"), 3);
  assert_int_equal(oat_expression_find(e, "rq(x2, time).lengthscale"), OAT_NO_PLACE);
  oat_expression_free(e);
}

static void test_one_input(void **state) {
  (void)state;
  oat_expression *e = NULL;
  assert_int_equal(oat_expression_read(ctx, "periodic*se", &one_input, &e), OATGP_OK);
  assert_string_equal(e->text, "periodic() * se()");
  assert_string_equal(e->parameter[3].is.name, "se().lengthscale");
  oat_expression_free(e);
}

static void test_copies_have_the_new_names(void **state) {
  (void)state;
  static const char *const other[] = {"a", "b c", "t", "d", "e", "f", "g", "h"};
  oat_expression *e = read_it("se(x2, x1) * constant + linear(time)^2 + se(x2, x1)"), *copy = NULL;
  assert_int_equal(oat_expression_copy(ctx, e, &(oat_names){LENGTH(other), other}, &copy), OATGP_OK);
  assert_string_equal(copy->text, "se(\"b c\", a) * constant + linear(t)^2 + se(\"b c\", a)");
  assert_int_equal(copy->parameters, e->parameters);
  assert_string_equal(copy->parameter[5].is.name, "se(\"b c\", a)#2.lengthscale(\"b c\")");
  oat_expression_free(e);
  oat_expression_free(copy);
}

static void test_parts(void **state) {
  (void)state;
  oat_expression *e = read_it("se(time) + linear(x1) * se(time)");
  char *part = NULL;
  assert_int_equal(oat_expression_part(ctx, e, e->node[e->nodes - 1].right, &part), OATGP_OK);
  assert_string_equal(part, "linear(x1) * se(time)#2");
  free(part);
  oat_expression_free(e);
}

/* ---- random trees ---------------------------------------------------------------------------------------------- */

typedef struct drawn {
  char text[20000];
  size_t length, leaves;
} drawn;

static void append(drawn *d, oat_rng *rng, const char *text) {
  d->length += (size_t)snprintf(d->text + d->length, sizeof d->text - d->length, "%s%s",
                                oat_rng_below(rng, 4) == 0 ? " " : "", text);
}

static void draw_leaf(drawn *d, oat_rng *rng) {
  static const char *const names[] = {"x1",    "\"x2\"", "time",       "\"mean temperature\"",
                                      "größe", "\"3\"",  "\"a\"\"b\"", "温度"};
  const oat_leaf_kind kind = (oat_leaf_kind)oat_rng_below(rng, OAT_LEAVES);
  const bool one = kind == OAT_LEAF_periodic || kind == OAT_LEAF_cosine || kind == OAT_LEAF_categorical;
  append(d, rng, oat_leaf_name(kind));
  d->leaves++;
  if (kind == OAT_LEAF_constant || (!one && kind != OAT_LEAF_polynomial && oat_rng_below(rng, 8) == 0)) {
    return;
  }
  append(d, rng, "(");
  const size_t from = oat_rng_below(rng, LENGTH(names)), count = one ? 1 : oat_rng_below(rng, 3);
  for (size_t i = 0; i < count; i++) {
    append(d, rng, i > 0 ? "," : "");
    append(d, rng, names[(from + i) % LENGTH(names)]);
  }
  if (kind == OAT_LEAF_polynomial) {
    append(d, rng, count > 0 ? ",4" : "4");
  }
  append(d, rng, ")");
}

static void draw(drawn *d, oat_rng *rng, size_t depth) {
  const size_t parts = 1 + oat_rng_below(rng, 3);
  for (size_t i = 0; i < parts; i++) {
    append(d, rng, i == 0 ? "" : oat_rng_below(rng, 2) == 0 ? "+" : "*");
    if (depth == 0 || d->leaves > 40 || oat_rng_below(rng, 2) == 0) {
      draw_leaf(d, rng);
      append(d, rng, oat_rng_below(rng, 6) == 0 ? "^2" : "");
    } else {
      append(d, rng, "(");
      draw(d, rng, depth - 1);
      append(d, rng, depth == 2 && oat_rng_below(rng, 3) == 0 ? ")^3" : ")");
    }
  }
}

static void check_tree(const oat_expression *e) {
  size_t sigmas = 0, own = 0;
  for (size_t i = 0; i < e->nodes; i++) {
    const oat_node *node = &e->node[i];
    sigmas += node->sigma != OAT_NO_PLACE;
    if (node->kind == OAT_NODE_SUM || node->kind == OAT_NODE_PRODUCT) {
      assert_true(node->left < i && node->right + 1 == i);
      assert_int_not_equal(e->node[node->right].kind, node->kind);
    }
  }
  for (size_t i = 0; i < e->leaves; i++) {
    own += oat_leaf_parameters(&e->leaf[i]);
  }
  assert_int_equal(sigmas + own, e->parameters);
  for (size_t i = 0; i < e->parameters; i++) {
    assert_non_null(e->parameter[i].is.name);
    assert_int_equal(oat_expression_find(e, e->parameter[i].is.name), i); /* so no two are the same */
  }
}

static void test_random_trees_come_back(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 17);
  for (size_t i = 0; i < (under_valgrind() ? 50 : 3000); i++) {
    static drawn d;
    memset(&d, 0, sizeof d);
    draw(&d, &rng, 4);
    oat_expression *e = read_it(d.text), *again = read_it(e->text);
    check_tree(e);
    assert_string_equal(again->text, e->text);
    assert_int_equal(again->nodes, e->nodes);
    for (size_t j = 0; j < e->nodes; j++) {
      assert_memory_equal(&again->node[j], &e->node[j], sizeof e->node[j]);
    }
    assert_int_equal(again->parameters, e->parameters);
    oat_expression_free(e);
    oat_expression_free(again);
  }
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

#define LEAVES "se, matern12, matern32, matern52, rq, periodic, linear, polynomial, constant, cosine, categorical"
#define INPUTS "'x1', 'x2', 'time', 'mean temperature', 'größe', '3', 'a\"b', '温度'"

typedef struct refused {
  const char *text, *sentence, *line; /* line: the text as it is shown */
  int column;                         /* of the caret */
} refused;

static void assert_refused(const refused *r) {
  oat_expression *e = NULL;
  char sentence[1024];
  assert_int_equal(oat_expression_read(ctx, r->text, &inputs, &e), OATGP_ARGUMENT);
  assert_null(e);
  snprintf(sentence, sizeof sentence, "kernel: %s\n  %s\n  %*s^", r->sentence, r->line, r->column, "");
  assert_string_equal(oatgp_last_error(ctx), sentence);
}

static void test_errors_have_a_caret(void **state) {
  (void)state;
  static const refused cases[] = {
      {"", "expected a leaf (" LEAVES ") or '('", "", 0},
      {"  ", "expected a leaf (" LEAVES ") or '('", "  ", 2},
      {"se(x1", "expected ',' or ')' after the name of an input", "se(x1", 5},
      {"se(x1 x2)", "expected ',' or ')' after the name of an input", "se(x1 x2)", 6},
      {"se(x1,)", "expected the name of an input", "se(x1,)", 6},
      {"se(,x1)", "expected the name of an input", "se(,x1)", 3},
      {"se(x9)", "there is no input 'x9'; expected one of " INPUTS, "se(x9)", 3},
      {"linear(\"\")", "there is no input ''; expected one of " INPUTS, "linear(\"\")", 7},
      {"foo(x1)", "there is no leaf 'foo'; expected " LEAVES, "foo(x1)", 0},
      {"se(x1) + ", "expected a leaf (" LEAVES ") or '('", "se(x1) + ", 9},
      {"+", "expected a leaf (" LEAVES ") or '('", "+", 0},
      {"se(x1) * *se(x1)", "expected a leaf (" LEAVES ") or '('", "se(x1) * *se(x1)", 9},
      {"()", "expected a leaf (" LEAVES ") or '('", "()", 1},
      {"se(x1) linear(x1)", "expected '+', '*', '^' or the end", "se(x1) linear(x1)", 7},
      {"se(x1) - se(x2)", "expected '+', '*', '^' or the end", "se(x1) - se(x2)", 7},
      {"se(x1))", "expected '+', '*', '^' or the end", "se(x1))", 6},
      {"linear(x1) * (se(x1) + se(x2)", "expected '+', '*', '^' or the ')' of the parenthesis at column 14",
       "linear(x1) * (se(x1) + se(x2)", 29},
      {"se(x1)^", "expected a whole number from 1 to 9", "se(x1)^", 7},
      {"se(x1)^10", "expected a whole number from 1 to 9", "se(x1)^10", 7},
      {"se(x1)^0", "expected a whole number from 1 to 9", "se(x1)^0", 7},
      {"se(x1)^2^2", "expected parentheses around the inner power, as in (linear(x)^2)^2", "se(x1)^2^2", 8},
      {"(se(x1)^4)^3", "expected powers up to 9 in all; this is 12", "(se(x1)^4)^3", 11},
      {"se(\"x1)", "expected a '\"' at the end of the name that begins here", "se(\"x1)", 3},
      {"constant(x1)", "constant has no inputs; expected ')'", "constant(x1)", 9},
      {"periodic(x1, x2)", "periodic has one input; expected ')'", "periodic(x1, x2)", 13},
      {"se(x1) + cosine", "cosine has one input; expected its name in parentheses", "se(x1) + cosine", 9},
      {"polynomial", "expected '(' and a degree, as in polynomial(x, 3)", "polynomial", 10},
      {"polynomial(x1)", "expected ',' and a degree, as in polynomial(x, 3)", "polynomial(x1)", 13},
      {"polynomial(x1, 12)", "expected a degree from 1 to 9", "polynomial(x1, 12)", 15},
      {"polynomial(x1, 3, x2)", "expected ')' after the degree", "polynomial(x1, 3, x2)", 16},
      {"se(x1, x1)", "the input 'x1' appears twice", "se(x1, x1)", 7},
      {"se-ard + constant", "'se-ard' is a whole kernel; inside an expression write se()", "se-ard + constant", 0},
      {"se(x1)\n+\tse(x9)", "there is no input 'x9'; expected one of " INPUTS, "se(x1) + se(x9)", 12},
      {"se(größe) + foo", "there is no leaf 'foo'; expected " LEAVES, "se(größe) + foo", 12},
      {"se(温度) + foo", "there is no leaf 'foo'; expected " LEAVES, "se(温度) + foo", 11},
      {"se(größe) + foo", "there is no input 'größe'; expected one of " INPUTS, "se(größe) + foo", 3},
      {"se(größe + foo", "expected ',' or ')' after the name of an input", "se(größe + foo", 9},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    assert_refused(&cases[i]);
  }
}

static void test_long_texts_are_shown_in_part(void **state) {
  (void)state;
  char text[2000] = "";
  for (size_t i = 0; i < 30; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s + ", i == 15 ? "bad" : "se(x1)");
  }
  assert_refused(&(refused){
      text, "there is no leaf 'bad'; expected " LEAVES,
      "...x1) + se(x1) + se(x1) + se(x1) + se(x1) + se(x1) + se(x1) + bad + se(x1) + se(x1) + se(x1) + se(x1) ...",
      63});
}

static void test_limits(void **state) {
  (void)state;
  oat_expression *e = NULL;
  char text[2000] = "se(x1)";
  for (size_t i = 1; i < OAT_MOST_LEAVES; i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%sse(x1)^2", i % 2 == 0 ? "+" : "*");
  }
  e = read_it(text);
  assert_int_equal(e->leaves, OAT_MOST_LEAVES);
  oat_expression_free(e);
  snprintf(text + strlen(text), sizeof text - strlen(text), "+se(x1)");
  assert_int_equal(oat_expression_read(ctx, text, &inputs, &e), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(ctx), "kernel: too many leaves; expected at most 64\n"));
  memset(text, '(', OAT_MOST_DEPTH + 1);
  assert_int_equal(oat_expression_read(ctx, text, &inputs, &e), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(ctx), "kernel: expected at most 32 nested parentheses\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_canonical_text),
      cmocka_unit_test(test_names_of_parameters),
      cmocka_unit_test(test_facts_of_parameters),
      cmocka_unit_test(test_one_input),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_copies_have_the_new_names),
      cmocka_unit_test(test_random_trees_come_back),
      cmocka_unit_test(test_errors_have_a_caret),
      cmocka_unit_test(test_long_texts_are_shown_in_part),
      cmocka_unit_test(test_limits),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
