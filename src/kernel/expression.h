/* Kernel expressions: sums, products and powers of leaves on named inputs, such as
 *   periodic(time) * se(time) + linear("mean temperature")
 * read from text into a tree, and written back. docs/kernels.md has the grammar, oatgp_leaves.def the leaves.
 *
 * Parameters are in the order of the text: a term's sigma first, then its leaves' parameters from left to right. A term
 * contains no sum and is not multiplied by one: a product of leaves has one sigma, and a product with a sum takes its
 * scale from the terms of the sum. Leaves have: se, matern*: a lengthscale for each input; rq: shape, then these;
 * periodic: period, lengthscale; polynomial: offset; cosine: period; categorical: lengthscale. */
#ifndef OAT_EXPRESSION_H
#define OAT_EXPRESSION_H

#include "kernel/parameters.h"
#include "util/memory.h"

typedef enum oat_leaf_kind {
#define OATGP_LEAF(name, most, formula) OAT_LEAF_##name,
#include "oatgp_leaves.def"
  OAT_LEAVES
} oat_leaf_kind;

#define OAT_NO_PLACE ((size_t)-1)

/* Limits of the leaves, nested parentheses and powers of an expression, so that recursion over a tree is safe. */
enum { OAT_MOST_LEAVES = 64, OAT_MOST_DEPTH = 32, OAT_MOST_POWER = 9, OAT_MOST_NODES = 4 * OAT_MOST_LEAVES };

typedef struct oat_leaf {
  oat_leaf_kind kind;
  size_t inputs, *input; /* the columns of x that it uses, in the order of the text; constant has none */
  bool all;              /* the text names none, so it uses all columns */
  unsigned degree;       /* polynomial(x, 3): its degree */
  size_t parameter;      /* place of its first own parameter among the expression's parameters */
  const char *label;     /* its label in the names of its parameters: se(time), or se(time)#2 if there is one before
                          * it */
} oat_leaf;

typedef enum oat_node_kind { OAT_NODE_LEAF, OAT_NODE_SUM, OAT_NODE_PRODUCT, OAT_NODE_POWER } oat_node_kind;

/* Nodes are in post-order: children come before, the root is last. Sums and products of several nodes are chains to the
 * left. The right child of a sum is not a sum, and that of a product is not a product, whatever the parentheses in the
 * text. */
typedef struct oat_node {
  oat_node_kind kind;
  size_t leaf;        /* LEAF: which */
  size_t left, right; /* SUM, PRODUCT: nodes; POWER: left */
  unsigned power;     /* POWER: 2 .. OAT_MOST_POWER */
  size_t sigma;       /* place of the parameter whose square multiplies this node's value, or OAT_NO_PLACE */
} oat_node;

/* What a parameter of an expression is. */
typedef enum oat_quantity {
  OAT_IS_SIGMA,       /* of a term */
  OAT_IS_LENGTHSCALE, /* of an input of a stationary leaf */
  OAT_IS_ROUGHNESS,   /* lengthscale of periodic: a number without a unit */
  OAT_IS_SHAPE,
  OAT_IS_PERIOD,
  OAT_IS_OFFSET,
  OAT_IS_LIKENESS /* lengthscale of categorical: a number without a unit */
} oat_quantity;

typedef struct oat_expression_parameter {
  oat_parameter
      is; /* the name is the expression's, as a person writes it: se(time).lengthscale. No two are the same. */
  oat_quantity quantity;
  double start; /* where a fit begins, in the parameter's unit */
} oat_expression_parameter;

typedef struct oat_expression {
  size_t nodes, leaves, parameters;
  oat_node *node;
  oat_leaf *leaf;
  oat_expression_parameter *parameter;
  const char *text;   /* in canonical form: two texts of one tree are the same */
  oat_scratch memory; /* owns everything in it */
} oat_expression;

/* The inputs that an expression may name. */
typedef struct oat_names {
  size_t count;
  const char *const *name;
  const bool *category; /* for each, whether it is a category, which only categorical may use; NULL: not known */
} oat_names;

/* Reads a text. An error shows the text, a caret under the place, and what was expected there. */
oatgp_status oat_expression_read(oatgp_context *ctx, const char *text, const oat_names *inputs, oat_expression **out);
/* The same tree with other names of the inputs, as many as there are. */
oatgp_status oat_expression_copy(oatgp_context *ctx, const oat_expression *expression, const oat_names *inputs,
                                 oat_expression **out);
void oat_expression_free(oat_expression *expression); /* NULL is fine */

const char *oat_leaf_name(oat_leaf_kind kind);
const char *oat_quantity_name(oat_quantity quantity); /* "lengthscale" */
/* How many parameters of its own a leaf has. */
size_t oat_leaf_parameters(const oat_leaf *leaf);
/* The part of the text that a node stands for, such as a summand, with the leaves' labels. The caller frees it. */
oatgp_status oat_expression_part(oatgp_context *ctx, const oat_expression *expression, size_t node, char **out);
/* The summands of the whole, from left to right: their nodes into `node`. Returns how many there are, 1 if it is no
 * sum. */
size_t oat_expression_summands(const oat_expression *expression, size_t node[OAT_MOST_LEAVES]);
/* The part that a node stands for as an expression of the same parameters: leaves and parameters are borrowed, and
 * theta is that of the whole. */
oatgp_status oat_expression_of_node(oatgp_context *ctx, const oat_expression *expression, size_t node,
                                    oat_expression **out);
/* used <- for each of the d inputs, whether a leaf of the expression uses it. */
void oat_expression_inputs(const oat_expression *expression, size_t d, bool *used);
/* The place of the parameter with this name, or OAT_NO_PLACE. Blanks outside of quotes do not matter. */
size_t oat_expression_find(const oat_expression *expression, const char *name);

/* The parameters for the user, in the units of the data. In theta they begin at OAT_LENGTHSCALE. */
void oat_expression_show(const oat_expression *expression, const double *theta, const oat_units *units,
                         oatgp_parameter *out);

/* For the parser: with nodes and leaves in place (kind, inputs, all, degree), finds places, labels, names and the
 * text. */
oatgp_status oat_expression_name(oat_expression *expression, const oat_names *inputs);

#endif
