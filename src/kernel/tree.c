/* Kernel expressions. Points x are taken in groups. For each point z, every node is an array of values over the group,
 * from the leaves up: O(n m leaves). The adjoint goes down from the root with the values of all nodes available, so
 * that a factor of a product is multiplied by its sibling and nothing is divided. A leaf includes the scale of its
 * term.
 *
 * k(x, x) is 1 for most leaves. If it is 1 for all of them, it is computed once. */
#include "kernel/tree.h"

#include <math.h>
#include <string.h>

#include "kernel/leaf.h"
#include "kernel/vector.h"
#include "oat_config.h"

enum { ROWS = 256, SOME = 16 }; /* points x at a time; and for k(x, x) */

#define OATGP_LEAF(name, most, formula) extern const oat_leaf_table oat_leaf_table_##name;
#include "oatgp_leaves.def"

static const oat_leaf_table *const tables[OAT_LEAVES] = {
#define OATGP_LEAF(name, most, formula) [OAT_LEAF_##name] = &oat_leaf_table_##name,
#include "oatgp_leaves.def"
};

const oat_leaf_table *oat_leaf_of(oat_leaf_kind kind) { return tables[kind]; }

bool oat_tree_smooth(const oat_expression *expression) {
  bool smooth = true;
  for (size_t i = 0; i < expression->leaves; i++) {
    smooth = smooth && tables[expression->leaf[i].kind]->smooth;
  }
  return smooth;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

/* The expression's parameters. */
static const double *parameters_of(const oat_covariance *cov) { return cov->theta + OAT_LENGTHSCALE; }

static double scale_of(const oat_covariance *cov, const oat_node *node) {
  const double sigma = node->sigma != OAT_NO_PLACE ? parameters_of(cov)[node->sigma] : 1;
  return sigma * sigma;
}

OAT_CLONES
static void add(size_t n, const double *x, const double *y, double *sum) {
  for (size_t i = 0; i < n; i++) {
    sum[i] = x[i] + y[i];
  }
}

/* y = a x^power */
OAT_CLONES
static void raise(size_t n, double a, unsigned power, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    double p = a;
    for (unsigned j = 0; j < power; j++) {
      p *= x[i];
    }
    y[i] = p;
  }
}

/* A node that is no leaf, from its children's values. A sum has no sigma. */
static void combine(const oat_node *node, double scale, size_t n, double *const *value, double *out) {
  if (node->kind == OAT_NODE_SUM) {
    add(n, value[node->left], value[node->right], out);
  } else if (node->kind == OAT_NODE_PRODUCT) {
    oat_product(n, scale, value[node->left], value[node->right], out);
  } else {
    raise(n, scale, node->power, value[node->left], out);
  }
}

/* ---- the tree for one z ---------------------------------------------------------------------------------------- */

/* The scratch of one evaluation: arrays of `stride` doubles for the value of each node and the derivative in it. */
typedef struct desk {
  const oat_covariance *cov;
  const oat_expression *e;
  size_t stride;
  double *value[OAT_MOST_NODES], *bar[OAT_MOST_NODES];
  double *kept; /* two for each leaf */
  double *room, *moments, *weight;
  oat_points x;    /* at most as many as the stride */
  const double *z; /* or NULL: each point and itself */
  size_t ldz;
} desk;

/* Arrays of a desk. */
static size_t arrays_of(size_t nodes, size_t leaves) { return 2 * nodes + OAT_LEAF_KEPT * leaves + OAT_LEAF_ROOM; }

static void lay(desk *d, const oat_covariance *cov, size_t stride, double *work) {
  const oat_expression *e = cov->expression;
  d->cov = cov;
  d->e = e;
  d->stride = stride;
  for (size_t i = 0; i < e->nodes; i++) {
    d->value[i] = work + 2 * i * stride;
    d->bar[i] = d->value[i] + stride;
  }
  d->kept = work + 2 * e->nodes * stride;
  d->room = d->kept + OAT_LEAF_KEPT * e->leaves * stride;
  d->weight = d->moments = NULL;
  d->z = NULL;
  d->ldz = 0;
}

static oat_leaf_at leaf_at(const desk *d, const oat_node *node) {
  const oat_leaf *leaf = &d->e->leaf[node->leaf];
  return (oat_leaf_at){.leaf = leaf,
                       .parameter = parameters_of(d->cov) + leaf->parameter,
                       .weight = d->weight != NULL ? d->weight + leaf->parameter : NULL,
                       .scale = scale_of(d->cov, node),
                       .n = d->x.n,
                       .x = d->x.a,
                       .ldx = d->x.ld,
                       .z = d->z,
                       .ldz = d->ldz};
}

/* `keep`: for an adjoint that follows. */
static oat_leaf_desk leaf_desk(const desk *d, size_t leaf, bool keep) {
  double *kept = d->kept + OAT_LEAF_KEPT * leaf * d->stride;
  return (oat_leaf_desk){
      {keep ? kept : NULL, keep ? kept + d->stride : NULL}, {d->room, d->room + d->stride}, d->moments};
}

static void find_leaf(const desk *d, const oat_node *node, bool keep, double *out) {
  const oat_leaf_at at = leaf_at(d, node);
  const oat_leaf_desk own = leaf_desk(d, node->leaf, keep);
  const oat_leaf_table *table = tables[at.leaf->kind];
  if (d->z != NULL) {
    table->values(&at, &own, out);
  } else if (table->varies) {
    table->diagonal(&at, out, own.kept[0]);
  } else {
    for (size_t i = 0; i < at.n; i++) {
      out[i] = at.scale;
    }
  }
}

/* The values of all nodes; that of the root is `out`. */
static void find_values(const desk *d, bool keep, double *out) {
  for (size_t i = 0; i < d->e->nodes; i++) {
    const oat_node *node = &d->e->node[i];
    double *to = i + 1 == d->e->nodes ? out : d->value[i];
    if (node->kind == OAT_NODE_LEAF) {
      find_leaf(d, node, keep, to);
    } else {
      combine(node, scale_of(d->cov, node), d->x.n, d->value, to);
    }
  }
}

static void add_leaf(const desk *d, const oat_node *node, const double *value, const double *bar,
                     oat_kernel_gradient *gradient) {
  const oat_leaf_at at = leaf_at(d, node);
  const oat_leaf_desk own = leaf_desk(d, node->leaf, true);
  const oat_leaf_table *table = tables[at.leaf->kind];
  oat_leaf_gradient part = {gradient->theta + OAT_LENGTHSCALE + at.leaf->parameter, gradient->z,
                            d->z != NULL ? d->ldz : d->x.ld};
  if (d->z != NULL) {
    table->adjoint(&at, &own, bar, value, &part);
  } else if (table->varies) {
    table->diagonal_adjoint(&at, own.kept[0], bar, &part);
  }
}

/* Passes the derivative in a node on to its children; those of a sum get the sum's own. */
static void divide(const oat_node *node, double scale, const desk *d, const double *own, const double **bar) {
  double *left = d->bar[node->left];
  bar[node->left] = node->kind == OAT_NODE_SUM ? own : left;
  if (node->kind == OAT_NODE_SUM) {
    bar[node->right] = own;
  } else if (node->kind == OAT_NODE_PRODUCT) {
    oat_product(d->x.n, scale, own, d->value[node->right], left);
    oat_product(d->x.n, scale, own, d->value[node->left], d->bar[node->right]);
    bar[node->right] = d->bar[node->right];
  } else {
    raise(d->x.n, scale * node->power, node->power - 1, d->value[node->left], left);
    oat_multiply_each(d->x.n, own, left);
  }
}

/* Adds the derivatives of sum g k. The values of all nodes must be known, that of the root in its place. */
static void go_back(const desk *d, const double *g, oat_kernel_gradient *gradient) {
  const double *bar[OAT_MOST_NODES];
  bar[d->e->nodes - 1] = g;
  for (size_t i = d->e->nodes; i-- > 0;) {
    const oat_node *node = &d->e->node[i];
    if (node->sigma != OAT_NO_PLACE) {
      gradient->theta[OAT_LENGTHSCALE + node->sigma] += 2 * oat_sum_products(d->x.n, bar[i], d->value[i]);
    }
    if (node->kind == OAT_NODE_LEAF) {
      add_leaf(d, node, d->value[i], bar[i], gradient);
    } else {
      divide(node, scale_of(d->cov, node), d, bar[i], bar);
    }
  }
}

/* Some points x at a time. */
static oat_points part_of(oat_points x, size_t first, size_t most) {
  return (oat_points){x.a + first, x.n - first < most ? x.n - first : most, x.ld};
}

/* ---- between points -------------------------------------------------------------------------------------------- */

static size_t unwanted_count(const oat_expression *e) { return OAT_LENGTHSCALE + e->parameters; }

size_t oat_tree_work(const oat_expression *e) {
  size_t inputs = 1;
  for (size_t i = 0; i < e->leaves; i++) {
    inputs = e->leaf[i].inputs > inputs ? e->leaf[i].inputs : inputs;
  }
  return ROWS * arrays_of(e->nodes, e->leaves) + 2 * inputs + e->parameters + unwanted_count(e);
}

/* A place at the end of the scratch for derivatives in parameters that the caller does not want. */
static double *unwanted_of(const oat_expression *e, double *work) {
  return work + oat_tree_work(e) - unwanted_count(e);
}

static desk desk_over(const oat_covariance *cov, oat_points z, double *work) {
  const oat_expression *e = cov->expression;
  desk d;
  lay(&d, cov, ROWS, work);
  d.ldz = z.ld;
  d.weight = work + ROWS * arrays_of(e->nodes, e->leaves);
  d.moments = d.weight + e->parameters;
  for (size_t i = 0; i < e->parameters; i++) {
    const double parameter = parameters_of(cov)[i];
    d.weight[i] = 1 / (parameter * parameter);
  }
  return d;
}

void oat_tree_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ld, double *work) {
  desk d = desk_over(cov, z, work);
  for (size_t first = 0; first < x.n; first += ROWS) {
    d.x = part_of(x, first, ROWS);
    for (size_t c = 0; c < z.n; c++) {
      d.z = z.a + c;
      find_values(&d, false, k + first + c * ld);
    }
  }
}

void oat_tree_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, const double *g, size_t ld,
                            double *work, oat_kernel_gradient *gradient) {
  desk d = desk_over(cov, z, work);
  for (size_t first = 0; first < x.n; first += ROWS) {
    d.x = part_of(x, first, ROWS);
    for (size_t c = 0; c < z.n; c++) {
      oat_kernel_gradient part = {gradient->theta, gradient->z != NULL ? gradient->z + c : NULL};
      d.z = z.a + c;
      find_values(&d, true, d.value[d.e->nodes - 1]);
      go_back(&d, g + first + c * ld, &part);
    }
  }
}

/* Adds the derivatives of sum g k in the points x, which each have their own. */
static void go_back_in_x(const desk *d, const double *g, double *dx) {
  const double *bar[OAT_MOST_NODES];
  bar[d->e->nodes - 1] = g;
  for (size_t i = d->e->nodes; i-- > 0;) {
    const oat_node *node = &d->e->node[i];
    if (node->kind != OAT_NODE_LEAF) {
      divide(node, scale_of(d->cov, node), d, bar[i], bar);
      continue;
    }
    const oat_leaf_at at = leaf_at(d, node);
    const oat_leaf_desk own = leaf_desk(d, node->leaf, true);
    if (tables[at.leaf->kind]->in_x != NULL) {
      tables[at.leaf->kind]->in_x(&at, &own, bar[i], d->value[i], dx);
    }
  }
}

/* g of n rows, beginning with `first`, and one z. If it is the same for all rows, `room` is filled with it. */
static const double *side_at(const oat_kernel_side *side, size_t first, size_t n, size_t c, double *room) {
  const double *g = side->g + first * side->row_step + c * side->step;
  for (size_t i = 0; side->row_step == 0 && i < n; i++) {
    room[i] = *g;
  }
  return side->row_step == 0 ? room : g;
}

void oat_tree_cross_in_x(const oat_covariance *cov, oat_points x, oat_points z, oat_kernel_sides sides, double *work) {
  desk d = desk_over(cov, z, work);
  double *room = work + oat_tree_work(cov->expression);
  for (size_t first = 0; first < x.n; first += ROWS) {
    d.x = part_of(x, first, ROWS);
    for (size_t c = 0; c < z.n; c++) {
      d.z = z.a + c;
      find_values(&d, true, d.value[d.e->nodes - 1]);
      for (size_t s = 0; s < sides.count; s++) {
        go_back_in_x(&d, side_at(&sides.side[s], first, d.x.n, c, room), sides.side[s].dx + first);
      }
    }
  }
}

/* ---- pairs of a few points ------------------------------------------------------------------------------------- */

/* Column b of the lower triangle: the points from b on. */
static oat_points behind(oat_points x, size_t b) { return (oat_points){x.a + b, x.n - b, x.ld}; }

void oat_tree_pairs(const oat_covariance *cov, oat_points x, double *k, double *work) {
  for (size_t b = 0; b < x.n; b++) {
    oat_tree_cross(cov, behind(x, b), (oat_points){x.a + b, 1, x.ld}, k + oat_pair(x.n, b, b), x.n, work);
  }
}

void oat_tree_pairs_adjoint(const oat_covariance *cov, oat_points x, const double *g, double *work,
                            oat_kernel_gradient *gradient) {
  oat_kernel_gradient only = {.theta = gradient->theta};
  for (size_t b = 0; b < x.n; b++) {
    oat_tree_cross_adjoint(cov, behind(x, b), (oat_points){x.a + b, 1, x.ld}, g + oat_pair(x.n, b, b), x.n, work,
                           &only);
  }
}

/* ---- a point and itself ---------------------------------------------------------------------------------------- */

enum { ITSELF_ROOM = SOME * (2 * OAT_MOST_NODES + OAT_LEAF_KEPT * OAT_MOST_LEAVES + OAT_LEAF_ROOM) };

/* If k(x, x) is the same everywhere, it is computed for one point. */
static oat_points those_that_differ(const oat_covariance *cov, oat_points x) {
  bool varies = false;
  for (size_t i = 0; i < cov->expression->leaves; i++) {
    varies = varies || tables[cov->expression->leaf[i].kind]->varies;
  }
  return (oat_points){x.a, x.n > 1 && !varies ? 1 : x.n, x.ld};
}

void oat_tree_diagonal(const oat_covariance *cov, oat_points x, double *prior) {
  const oat_points each = those_that_differ(cov, x);
  double work[ITSELF_ROOM];
  desk d;
  lay(&d, cov, SOME, work);
  for (size_t first = 0; first < each.n; first += SOME) {
    d.x = part_of(each, first, SOME);
    find_values(&d, false, prior + first);
  }
  for (size_t i = each.n; i < x.n; i++) {
    prior[i] = prior[0];
  }
}

double oat_tree_mean_diagonal(const oat_covariance *cov, oat_points x) {
  const oat_points each = those_that_differ(cov, x);
  double prior[SOME], sum = 0;
  for (size_t first = 0; first < each.n; first += SOME) {
    const oat_points part = part_of(each, first, SOME);
    oat_tree_diagonal(cov, part, prior);
    sum += oat_sum(part.n, prior);
  }
  return each.n > 0 ? sum / (double)each.n : 0;
}

void oat_tree_diagonal_adjoint(const oat_covariance *cov, oat_points x, const double *g,
                               oat_kernel_gradient *gradient) {
  const oat_points each = those_that_differ(cov, x);
  const double all = each.n < x.n ? oat_sum(x.n, g) : 0;
  double work[ITSELF_ROOM];
  desk d;
  lay(&d, cov, SOME, work);
  for (size_t first = 0; first < each.n; first += SOME) {
    oat_kernel_gradient part = {gradient->theta, gradient->z != NULL ? gradient->z + first : NULL};
    d.x = part_of(each, first, SOME);
    find_values(&d, true, d.value[d.e->nodes - 1]);
    go_back(&d, each.n < x.n ? &all : g + first, &part);
  }
}

void oat_tree_diagonal_in_x(const oat_covariance *cov, oat_points x, double *dx, double *work) {
  double *one = work + oat_tree_work(cov->expression);
  for (size_t i = 0; i < x.n; i++) {
    one[i] = 1;
  }
  oat_tree_diagonal_adjoint(cov, x, one, &(oat_kernel_gradient){unwanted_of(cov->expression, work), dx});
}

/* ---- distances ------------------------------------------------------------------------------------------------- */

/* A season is locally a squared exponential with the lengthscale p l / (2 pi), a wave one with p / (2 pi). */
static double reach_of(const oat_leaf *leaf, const double *parameter, size_t j) {
  const oat_leaf_table *table = tables[leaf->kind];
  if (table->profile != NULL) {
    return parameter[(table->profile->has_shape ? 1 : 0) + j];
  }
  switch (leaf->kind) {
    case OAT_LEAF_periodic:
      return parameter[0] * parameter[1] / (2 * OAT_PI);
    case OAT_LEAF_cosine:
      return parameter[0] / (2 * OAT_PI);
    case OAT_LEAF_categorical: /* the distance at which a squared exponential has the correlation of two levels */
      return sqrt(parameter[0] / 2);
    default:
      return HUGE_VAL;
  }
}

double oat_tree_lengthscale(const oat_covariance *cov, size_t input) {
  const oat_expression *e = cov->expression;
  double least = HUGE_VAL;
  for (size_t i = 0; i < e->leaves; i++) {
    for (size_t j = 0; j < e->leaf[i].inputs; j++) {
      if (e->leaf[i].input[j] == input) {
        least = fmin(least, reach_of(&e->leaf[i], parameters_of(cov) + e->leaf[i].parameter, j));
      }
    }
  }
  return least;
}
