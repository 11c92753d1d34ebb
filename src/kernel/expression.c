/* The tree of a kernel expression: positions and names of its parameters, and conversion back to text. */
#include "kernel/expression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- leaves ---------------------------------------------------------------------------------------------------- */

static const char *const leaf_names[] = {
#define OATGP_LEAF(name, most, formula) [OAT_LEAF_##name] = #name,
#include "oatgp_leaves.def"
};

const char *oat_leaf_name(oat_leaf_kind kind) { return leaf_names[kind]; }

/* The parameters of a leaf: its own in this order, then a lengthscale for each input if `lengthscales`. */
typedef struct leaf_parameters {
  size_t count;
  oat_quantity own[2];
  bool lengthscales;
} leaf_parameters;

static const leaf_parameters of_leaf[OAT_LEAVES] = {
    [OAT_LEAF_se] = {.lengthscales = true},
    [OAT_LEAF_matern12] = {.lengthscales = true},
    [OAT_LEAF_matern32] = {.lengthscales = true},
    [OAT_LEAF_matern52] = {.lengthscales = true},
    [OAT_LEAF_rq] = {1, {OAT_IS_SHAPE}, true},
    [OAT_LEAF_periodic] = {2, {OAT_IS_PERIOD, OAT_IS_ROUGHNESS}, false},
    [OAT_LEAF_polynomial] = {1, {OAT_IS_OFFSET}, false},
    [OAT_LEAF_cosine] = {1, {OAT_IS_PERIOD}, false},
    [OAT_LEAF_categorical] = {1, {OAT_IS_LIKENESS}, false},
};

size_t oat_leaf_parameters(const oat_leaf *leaf) {
  return of_leaf[leaf->kind].count + (of_leaf[leaf->kind].lengthscales ? leaf->inputs : 0);
}

/* The properties of a quantity apart from its input: name, unit, range, start. */
static const oat_expression_parameter quantities[] = {
    [OAT_IS_SIGMA] = {{"sigma", OAT_UNIT_TARGET, OAT_ALL_INPUTS, 1e-5, 1e5, true}, OAT_IS_SIGMA, 1},
    [OAT_IS_LENGTHSCALE] = {{"lengthscale", OAT_UNIT_INPUT, OAT_ALL_INPUTS, 1e-3, 1e5, true}, OAT_IS_LENGTHSCALE, 1},
    [OAT_IS_ROUGHNESS] = {{"lengthscale", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-2, 1e5, true}, OAT_IS_ROUGHNESS, 1},
    [OAT_IS_SHAPE] = {{"shape", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-3, 1e5, true}, OAT_IS_SHAPE, 1},
    [OAT_IS_PERIOD] = {{"period", OAT_UNIT_INPUT, OAT_ALL_INPUTS, 1e-3, 1e5, true}, OAT_IS_PERIOD, 1},
    [OAT_IS_OFFSET] = {{"offset", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-5, 1e5, true}, OAT_IS_OFFSET, 1},
    [OAT_IS_LIKENESS] = {{"lengthscale", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-2, 1e5, true}, OAT_IS_LIKENESS, 1},
};

const char *oat_quantity_name(oat_quantity quantity) { return quantities[quantity].is.name; }

/* ---- text that grows ------------------------------------------------------------------------------------------- */

/* Begin with {.ctx = ctx}; status is that of all that was added. */
typedef struct growing {
  oatgp_context *ctx;
  oatgp_status status;
  char *text;
  size_t length, capacity;
} growing;

static void add_bytes(growing *g, const char *bytes, size_t count) {
  if (g->status == OATGP_OK) {
    g->status = oat_grow(g->ctx, g->length + count + 1, 1, &g->capacity, &g->text);
  }
  if (g->status == OATGP_OK) {
    memcpy(g->text + g->length, bytes, count);
    g->length += count;
    g->text[g->length] = '\0';
  }
}

static void add_text(growing *g, const char *text) { add_bytes(g, text, strlen(text)); }

static void add_number(growing *g, size_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%zu", number);
  add_text(g, digits);
}

/* The text moves into the memory; it is NULL if something failed. */
static const char *kept(growing *g, oat_scratch *memory) {
  if (g->status != OATGP_OK && memory->status == OATGP_OK) {
    memory->status = g->status;
  }
  char *text = oat_take_text(memory, g->text);
  free(g->text);
  return text;
}

/* ---- text of leaves and nodes ---------------------------------------------------------------------------------- */

static bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* A name needs quotes unless it is made of letters, digits, '_' and '.', and is no number. */
static bool needs_quotes(const char *name) {
  bool number = true;
  for (const char *c = name; *c != '\0'; c++) {
    if (!is_plain(*c)) {
      return true;
    }
    number = number && *c >= '0' && *c <= '9';
  }
  return number;
}

static void add_name(growing *g, const char *name) {
  if (!needs_quotes(name)) {
    add_text(g, name);
    return;
  }
  add_text(g, "\"");
  for (const char *c = name; *c != '\0'; c++) {
    add_bytes(g, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
  }
  add_text(g, "\"");
}

static void add_leaf(growing *g, const oat_leaf *leaf, const oat_names *inputs) {
  add_text(g, leaf_names[leaf->kind]);
  if (leaf->kind == OAT_LEAF_constant) {
    return;
  }
  add_text(g, "(");
  for (size_t i = 0; i < leaf->inputs && !leaf->all; i++) {
    add_text(g, i > 0 ? ", " : "");
    add_name(g, inputs->name[leaf->input[i]]);
  }
  if (leaf->kind == OAT_LEAF_polynomial) {
    add_text(g, leaf->all ? "" : ", ");
    add_number(g, leaf->degree);
  }
  add_text(g, ")");
}

/* In post-order a child of a power or a product needs parentheses if it binds less. */
static void add_child(growing *g, const oat_expression *e, size_t parent, size_t at);

static void add_node(growing *g, const oat_expression *e, size_t at) {
  const oat_node *node = &e->node[at];
  if (node->kind == OAT_NODE_LEAF) {
    add_text(g, e->leaf[node->leaf].label);
    return;
  }
  add_child(g, e, at, node->left);
  if (node->kind == OAT_NODE_POWER) {
    add_text(g, "^");
    add_number(g, node->power);
  } else {
    add_text(g, node->kind == OAT_NODE_SUM ? " + " : " * ");
    add_child(g, e, at, node->right);
  }
}

static void add_child(growing *g, const oat_expression *e, size_t parent, size_t at) {
  static const int binds[] = {[OAT_NODE_SUM] = 0, [OAT_NODE_PRODUCT] = 1, [OAT_NODE_POWER] = 2, [OAT_NODE_LEAF] = 3};
  const bool within = binds[e->node[at].kind] < binds[e->node[parent].kind];
  add_text(g, within ? "(" : "");
  add_node(g, e, at);
  add_text(g, within ? ")" : "");
}

oatgp_status oat_expression_part(oatgp_context *ctx, const oat_expression *expression, size_t node, char **out) {
  growing g = {.ctx = ctx};
  add_node(&g, expression, node);
  if (g.status != OATGP_OK) {
    free(g.text);
    g.text = NULL;
  }
  *out = g.text;
  return g.status;
}

/* ---- places and names of parameters ---------------------------------------------------------------------------- */

/* The state while a tree is walked. */
typedef struct naming {
  oat_expression *e;
  const oat_names *inputs;
  bool has_sum[OAT_MOST_NODES];
  size_t sigmas;
} naming;

static void find_sums(naming *n) {
  for (size_t i = 0; i < n->e->nodes; i++) {
    const oat_node *node = &n->e->node[i];
    const bool binary = node->kind == OAT_NODE_SUM || node->kind == OAT_NODE_PRODUCT;
    n->has_sum[i] = node->kind == OAT_NODE_SUM || (node->kind != OAT_NODE_LEAF && n->has_sum[node->left]) ||
                    (binary && n->has_sum[node->right]);
  }
}

/* `scaled`: the terms in this node have a sigma each. */
static void place(naming *n, size_t at, bool scaled) {
  oat_node *node = &n->e->node[at];
  const bool term = scaled && !n->has_sum[at];
  node->sigma = term ? n->e->parameters++ : OAT_NO_PLACE;
  n->sigmas += term;
  if (node->kind == OAT_NODE_LEAF) {
    oat_leaf *leaf = &n->e->leaf[node->leaf];
    leaf->parameter = n->e->parameters;
    n->e->parameters += oat_leaf_parameters(leaf);
    return;
  }
  const bool sum = node->kind == OAT_NODE_SUM, inside = scaled && !term;
  place(n, node->left, inside && (sum || n->has_sum[node->left]));
  if (node->kind != OAT_NODE_POWER) {
    place(n, node->right, inside && (sum || n->has_sum[node->right]));
  }
}

/* The leaf's label; `first` is the text that it had without a number. */
static void label_leaf(naming *n, size_t at, const char **first) {
  oat_expression *e = n->e;
  growing g = {.ctx = e->memory.ctx};
  add_leaf(&g, &e->leaf[at], n->inputs);
  size_t before = 0;
  for (size_t i = 0; i < at && g.status == OATGP_OK; i++) {
    before += strcmp(first[i], g.text) == 0;
  }
  first[at] = oat_take_text(&e->memory, g.text);
  if (before > 0) {
    add_text(&g, "#");
    add_number(&g, before + 1);
  }
  e->leaf[at].label = kept(&g, &e->memory);
}

static void put_parameter(naming *n, size_t at, oat_quantity quantity, size_t input, growing *name) {
  oat_expression_parameter *parameter = &n->e->parameter[at];
  *parameter = quantities[quantity];
  parameter->is.input = input;
  parameter->is.name = kept(name, &n->e->memory);
}

static void name_sigma(naming *n, size_t at) {
  oat_expression *e = n->e;
  growing g = {.ctx = e->memory.ctx};
  const bool leaf = e->node[at].kind == OAT_NODE_LEAF;
  add_text(&g, leaf ? "" : "(");
  add_node(&g, e, at);
  add_text(&g, leaf ? ".sigma" : ").sigma");
  put_parameter(n, e->node[at].sigma, OAT_IS_SIGMA, OAT_ALL_INPUTS, &g);
  e->parameter[e->node[at].sigma].start = sqrt(
      0.5 /
      (double)n->sigmas); /* the terms together get half of the variance, as one term does; the other half is noise */
}

/* Names the leaf's parameter number i. */
static void name_own(naming *n, const oat_leaf *leaf, size_t i) {
  const leaf_parameters *has = &of_leaf[leaf->kind];
  const oat_quantity quantity = i < has->count ? has->own[i] : OAT_IS_LENGTHSCALE;
  size_t input = leaf->inputs == 1 ? leaf->input[0] : OAT_ALL_INPUTS;
  growing g = {.ctx = n->e->memory.ctx};
  add_text(&g, leaf->label);
  add_text(&g, ".");
  add_text(&g, quantities[quantity].is.name);
  if (i >= has->count && leaf->inputs > 1) {
    input = leaf->input[i - has->count];
    add_text(&g, "(");
    add_name(&g, n->inputs->name[input]);
    add_text(&g, ")");
  }
  put_parameter(n, leaf->parameter + i, quantity, input, &g);
  if (quantity == OAT_IS_LENGTHSCALE) {
    n->e->parameter[leaf->parameter + i].start = sqrt((double)leaf->inputs); /* makes rows about a lengthscale apart */
  }
}

static void name_parameters(naming *n) {
  oat_expression *e = n->e;
  for (size_t i = 0; i < e->nodes; i++) {
    if (e->node[i].sigma != OAT_NO_PLACE) {
      name_sigma(n, i);
    }
  }
  for (size_t i = 0; i < e->leaves; i++) {
    for (size_t j = 0; j < oat_leaf_parameters(&e->leaf[i]); j++) {
      name_own(n, &e->leaf[i], j);
    }
  }
}

/* The text with the leaves' plain texts in place of their labels. */
static void write_whole(oat_expression *e, const char **plain) {
  growing g = {.ctx = e->memory.ctx};
  const char *label[OAT_MOST_LEAVES];
  for (size_t i = 0; i < e->leaves; i++) {
    label[i] = e->leaf[i].label;
    e->leaf[i].label = plain[i];
  }
  add_node(&g, e, e->nodes - 1);
  add_text(
      &g, e->nodes == 1 && e->leaf[0].kind == OAT_LEAF_constant ? "()" : ""); /* a word alone is the name of a kernel */
  for (size_t i = 0; i < e->leaves; i++) {
    e->leaf[i].label = label[i];
  }
  e->text = kept(&g, &e->memory);
}

oatgp_status oat_expression_name(oat_expression *expression, const oat_names *inputs) {
  naming n = {.e = expression, .inputs = inputs};
  const char *plain[OAT_MOST_LEAVES];
  find_sums(&n);
  expression->parameters = 0;
  place(&n, expression->nodes - 1, true);
  expression->parameter = oat_take(&expression->memory, expression->parameters, sizeof *expression->parameter);
  PASS_ON(expression->memory.status);
  for (size_t i = 0; i < expression->leaves; i++) {
    label_leaf(&n, i, plain);
    PASS_ON(expression->memory.status);
  }
  name_parameters(&n);
  write_whole(expression, plain);
  return expression->memory.status;
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

static const char *past_blanks(const char *c, bool quoted) {
  while (!quoted && (*c == ' ' || *c == '\t')) {
    c++;
  }
  return c;
}

static bool same_name(const char *a, const char *b) {
  bool quoted = false;
  for (;; a++, b++) {
    a = past_blanks(a, quoted);
    b = past_blanks(b, quoted);
    if (*a != *b || *a == '\0') {
      return *a == *b;
    }
    quoted = quoted != (*a == '"');
  }
}

size_t oat_expression_find(const oat_expression *expression, const char *name) {
  for (size_t i = 0; i < expression->parameters; i++) {
    if (same_name(expression->parameter[i].is.name, name)) {
      return i;
    }
  }
  return OAT_NO_PLACE;
}

void oat_expression_show(const oat_expression *expression, const double *theta, const oat_units *units,
                         oatgp_parameter *out) {
  static const char *const words[] = {[OAT_UNIT_NONE] = "", [OAT_UNIT_TARGET] = "target", [OAT_UNIT_INPUT] = "input"};
  for (size_t i = 0; i < expression->parameters; i++) {
    const oat_parameter *is = &expression->parameter[i].is;
    out[i] = (oatgp_parameter){is->name, words[is->unit], theta[OAT_LENGTHSCALE + i] * oat_parameter_unit(is, units)};
  }
}

/* Nodes and leaves as they are, with inputs of their own. */
static oatgp_status copy_tree(const oat_expression *from, oat_expression *to) {
  to->nodes = from->nodes;
  to->leaves = from->leaves;
  to->node = oat_take(&to->memory, to->nodes, sizeof *to->node);
  to->leaf = oat_take(&to->memory, to->leaves, sizeof *to->leaf);
  PASS_ON(to->memory.status);
  memcpy(to->node, from->node, to->nodes * sizeof *to->node);
  memcpy(to->leaf, from->leaf, to->leaves * sizeof *to->leaf);
  for (size_t i = 0; i < to->leaves; i++) {
    to->leaf[i].input = oat_take(&to->memory, from->leaf[i].inputs, sizeof *from->leaf[i].input);
    PASS_ON(to->memory.status);
    memcpy(to->leaf[i].input, from->leaf[i].input, from->leaf[i].inputs * sizeof *from->leaf[i].input);
  }
  return OATGP_OK;
}

oatgp_status oat_expression_copy(oatgp_context *ctx, const oat_expression *expression, const oat_names *inputs,
                                 oat_expression **out) {
  oat_expression *copy = NULL;
  oatgp_status status;
  TRY(oat_new(ctx, 1, sizeof *copy, &copy));
  copy->memory.ctx = ctx;
  TRY(copy_tree(expression, copy));
  TRY(oat_expression_name(copy, inputs));
  *out = copy;
  copy = NULL;
done:
  oat_expression_free(copy);
  return status;
}

/* ---- summands -------------------------------------------------------------------------------------------------- */

size_t oat_expression_summands(const oat_expression *e, size_t node[OAT_MOST_LEAVES]) {
  size_t count = 1, at = e->nodes - 1;
  while (e->node[at].kind == OAT_NODE_SUM) {
    at = e->node[at].left;
    count++;
  }
  at = e->nodes - 1;
  for (size_t i = count; i-- > 1; at = e->node[at].left) {
    node[i] = e->node[at].right;
  }
  node[0] = at;
  return count;
}

static bool has_right(const oat_node *node) { return node->kind == OAT_NODE_SUM || node->kind == OAT_NODE_PRODUCT; }

/* used <- the nodes that `root` is made of; returns how many they are. */
static size_t find_below(const oat_expression *e, size_t root, bool *used) {
  size_t count = 0;
  used[root] = true;
  for (size_t i = root + 1; i-- > 0;) {
    const oat_node *node = &e->node[i];
    if (used[i] && node->kind != OAT_NODE_LEAF) {
      used[node->left] = true;
    }
    if (used[i] && has_right(node)) {
      used[node->right] = true;
    }
    count += used[i] ? 1 : 0;
  }
  return count;
}

oatgp_status oat_expression_of_node(oatgp_context *ctx, const oat_expression *e, size_t root, oat_expression **out) {
  bool used[OAT_MOST_NODES] = {false};
  size_t place[OAT_MOST_NODES] = {0};
  oat_expression *part = NULL;
  PASS_ON(oat_new(ctx, 1, sizeof *part, &part));
  *part = *e;
  part->memory = (oat_scratch){.ctx = ctx};
  part->node = oat_take(&part->memory, find_below(e, root, used), sizeof *part->node);
  if (part->node == NULL) {
    const oatgp_status status = part->memory.status;
    oat_expression_free(part);
    return status;
  }
  part->nodes = 0;
  for (size_t i = 0; i <= root; i++) {
    if (used[i]) {
      oat_node *node = &part->node[place[i] = part->nodes++];
      *node = e->node[i];
      node->left = node->kind != OAT_NODE_LEAF ? place[node->left] : 0;
      node->right = has_right(node) ? place[node->right] : 0;
    }
  }
  *out = part;
  return OATGP_OK;
}

void oat_expression_inputs(const oat_expression *e, size_t d, bool *used) {
  memset(used, 0, d * sizeof *used);
  for (size_t i = 0; i < e->nodes; i++) {
    const oat_leaf *leaf = e->node[i].kind == OAT_NODE_LEAF ? &e->leaf[e->node[i].leaf] : NULL;
    for (size_t j = 0; leaf != NULL && j < leaf->inputs; j++) {
      used[leaf->input[j]] = true;
    }
  }
}

void oat_expression_free(oat_expression *expression) {
  if (expression != NULL) {
    oat_scratch_free(&expression->memory);
    free(expression);
  }
}
