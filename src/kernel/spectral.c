/* Frequencies of stationary kernels. With z standard normal, l the lengthscales:
 *   se:        w = z / l
 *   matern nu: w = z / l / sqrt(g), g ~ chi^2(2 nu) / (2 nu): a t distribution with 2 nu degrees
 *   rq:        w = z / l sqrt(g), g ~ gamma(shape) / shape: a mixture of squared exponentials
 *   periodic:  w = 2 pi n / p, n the difference of two Poisson numbers of mean 1 / (2 l^2), since exp(cos(t) / l^2) has Bessel functions as
 *              its Fourier coefficients
 *   cosine:    w = 2 pi / p; constant: w = 0
 * A product of kernels has the sum of their frequencies, a sum those of one of its terms, by their shares of the variance. */
#include "kernel/spectral.h"

#include <math.h>
#include <string.h>

#include "kernel/leaf.h"
#include "kernel/vector.h"
#include "util/draw.h"

/* ---- distributions ------------------------------------------------------------------------------------------------ */

static double chi_squared(unsigned degrees, oat_rng *rng) {
  double sum = 0;
  for (unsigned i = 0; i < degrees; i++) {
    const double z = oat_rng_normal(rng);
    sum += z * z;
  }
  return sum;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* What z / l is multiplied by, for a stationary kernel. */
static double spread_of(oat_leaf_kind kind, double shape, oat_rng *rng) {
  const unsigned degrees = kind == OAT_LEAF_matern12 ? 1 : kind == OAT_LEAF_matern32 ? 3 : 5;
  if (kind == OAT_LEAF_se) {
    return 1;
  }
  return kind == OAT_LEAF_rq ? sqrt(exp(oat_draw_log_gamma(shape, rng)) / shape) : sqrt(degrees / chi_squared(degrees, rng));
}

static double harmonic(double lengthscale, oat_rng *rng) {
  const double mean = 0.5 / (lengthscale * lengthscale);
  const double up = oat_draw_poisson(mean, rng);
  return up - oat_draw_poisson(mean, rng);
}

static void add_leaf(const oat_leaf *leaf, const double *parameter, oat_rng *rng, double *w) {
  const oat_leaf_table *table = oat_leaf_of(leaf->kind);
  if (table->profile != NULL) {
    const double *lengthscale = parameter + (table->profile->has_shape ? 1 : 0), spread = spread_of(leaf->kind, parameter[0], rng);
    for (size_t j = 0; j < leaf->inputs; j++) {
      w[leaf->input[j]] += spread * oat_rng_normal(rng) / lengthscale[j];
    }
  } else if (leaf->kind == OAT_LEAF_periodic) {
    w[leaf->input[0]] += 2 * OAT_PI / parameter[0] * harmonic(parameter[1], rng);
  } else if (leaf->kind == OAT_LEAF_cosine) {
    w[leaf->input[0]] += 2 * OAT_PI / parameter[0] * (oat_rng_uniform(rng) < 0.5 ? -1 : 1);
  }
}

/* ---- trees -------------------------------------------------------------------------------------------------------- */

/* A node's value where two points meet: each leaf is 1 there. */
static double variance_of(const oat_covariance *cov, size_t at) {
  const oat_node *node = &cov->expression->node[at];
  const double sigma = node->sigma != OAT_NO_PLACE ? cov->theta[OAT_LENGTHSCALE + node->sigma] : 1;
  if (node->kind == OAT_NODE_LEAF) {
    return sigma * sigma;
  }
  const double left = variance_of(cov, node->left);
  if (node->kind == OAT_NODE_POWER) {
    return sigma * sigma * pow(left, node->power);
  }
  const double right = variance_of(cov, node->right);
  return sigma * sigma * (node->kind == OAT_NODE_SUM ? left + right : left * right);
}

/* cosines of either sign keep products even: cos a cos b is the mean of cos(a + b) and cos(a - b). */
static void add_node(const oat_covariance *cov, size_t at, oat_rng *rng, double *w) {
  const oat_node *node = &cov->expression->node[at];
  const oat_leaf *leaf = &cov->expression->leaf[node->leaf];
  if (node->kind == OAT_NODE_LEAF) {
    add_leaf(leaf, cov->theta + OAT_LENGTHSCALE + leaf->parameter, rng, w);
  } else if (node->kind == OAT_NODE_SUM) {
    const double left = variance_of(cov, node->left), right = variance_of(cov, node->right);
    add_node(cov, oat_rng_uniform(rng) * (left + right) < left ? node->left : node->right, rng, w);
  } else if (node->kind == OAT_NODE_PRODUCT) {
    add_node(cov, node->left, rng, w);
    add_node(cov, node->right, rng, w);
  } else {
    for (unsigned i = 0; i < node->power; i++) {
      add_node(cov, node->left, rng, w);
    }
  }
}

/* ---- any ----------------------------------------------------------------------------------------------------------- */

/* The leaf that a kernel of the list is. */
static oat_leaf_kind kind_of(const oat_covariance *cov) {
  const oat_profile *profile = oat_kernel_at(cov->id)->profile;
  for (size_t kind = 0; kind < OAT_LEAVES; kind++) {
    if (oat_leaf_of((oat_leaf_kind)kind)->profile == profile) {
      return (oat_leaf_kind)kind;
    }
  }
  return OAT_LEAF_se;
}

const char *oat_spectral_without(const oat_covariance *cov) {
  for (size_t i = 0; oat_covariance_is_tree(cov) && i < cov->expression->leaves; i++) {
    const oat_leaf_kind kind = cov->expression->leaf[i].kind;
    if (kind == OAT_LEAF_linear || kind == OAT_LEAF_polynomial || kind == OAT_LEAF_categorical) {
      return oat_leaf_name(kind);
    }
  }
  return NULL;
}

void oat_spectral_draw(const oat_covariance *cov, oat_rng *rng, double *w) {
  memset(w, 0, cov->d * sizeof *w);
  if (oat_covariance_is_tree(cov)) {
    add_node(cov, cov->expression->nodes - 1, rng, w);
    return;
  }
  const double spread = spread_of(kind_of(cov), cov->theta[cov->shape], rng);
  for (size_t j = 0; j < cov->d; j++) {
    w[j] = spread * oat_rng_normal(rng) / oat_kernel_lengthscale(cov, j);
  }
}
