/* Kernels that are expressions, for tests: from a text, and at random. */
#ifndef TEST_EXPRESSIONS_H
#define TEST_EXPRESSIONS_H

#include "kernel/expression.h"
#include "kernel/kernel.h"
#include "support.h"

enum { MOST_TEST_INPUTS = 4 };

/* An expression over the inputs x1, x2, ... */
static inline oat_expression *read_expression(const char *text, size_t inputs) {
  static const char *const names[MOST_TEST_INPUTS] = {"x1", "x2", "x3", "x4"};
  oatgp_context *ctx = oatgp_context_create();
  oat_expression *e = NULL;
  assert_true(inputs <= MOST_TEST_INPUTS);
  if (oat_expression_read(ctx, text, &(oat_names){inputs, names}, &e) != OATGP_OK) {
    fail_msg("%s", oatgp_last_error(ctx));
  }
  oatgp_context_free(ctx);
  return e;
}

static inline size_t random_below(oat_rng *rng, size_t n) { return (size_t)(oat_rng_uniform(rng) * (double)n) % n; }

/* A leaf on some of the inputs, in any order. */
static inline void random_leaf(oat_rng *rng, size_t inputs, bool smooth, char *text) {
  static const char *const names[] = {"se",     "matern32",   "matern52", "rq",     "periodic",
                                      "linear", "polynomial", "constant", "cosine", "matern12"};
  const size_t kind = random_below(rng, LENGTH(names) - smooth), first = random_below(rng, inputs),
               count = 1 + random_below(rng, inputs);
  const bool one = kind == 4 || kind == 8;
  text += sprintf(text, "%s", names[kind]);
  if (kind == 7) {
    return;
  }
  for (size_t j = 0; j < (one ? 1 : count); j++) {
    text += sprintf(text, "%sx%zu", j == 0 ? "(" : ", ", 1 + (first + (inputs - 1) * j) % inputs);
  }
  sprintf(text, kind == 6 ? ", %zu)" : ")", 1 + random_below(rng, 3));
}

/* A tree with at most so many levels of sums, products and powers. */
static inline void random_tree(oat_rng *rng, size_t inputs, bool smooth, int levels, char *text) {
  const size_t kind = levels > 0 ? random_below(rng, 8) : 0;
  if (kind < 2) {
    random_leaf(rng, inputs, smooth, text);
    return;
  }
  text += sprintf(text, "(");
  random_tree(rng, inputs, smooth, levels - 1, text);
  text += strlen(text);
  if (kind == 7) {
    sprintf(text, ")^%zu", 2 + random_below(rng, 2));
    return;
  }
  text += sprintf(text, ") %s (", kind < 5 ? "+" : "*");
  random_tree(rng, inputs, smooth, levels - 1, text);
  strcat(text, ")");
}

/* theta for an expression: parameters of about 1. */
static inline void random_theta(oat_rng *rng, const oat_expression *e, double tau, double *theta) {
  theta[OAT_SIGMA] = theta[OAT_SHAPE] = 1;
  theta[OAT_TAU] = tau;
  for (size_t i = 0; i < e->parameters; i++) {
    const bool period = e->parameter[i].quantity == OAT_IS_PERIOD;
    theta[OAT_LENGTHSCALE + i] = (period ? 1.5 : 0.7) + 0.6 * oat_rng_uniform(rng);
  }
}

#endif
