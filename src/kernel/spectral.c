/* Frequencies of stationary kernels. With z standard normal and l the lengthscales:
 *   se:          w = z / l
 *   matern nu:   w = z / l / sqrt(g), g ~ chi^2(2 nu) / (2 nu): a t distribution with 2 nu degrees
 *   rq:          w = z / l sqrt(g), g ~ gamma(shape) / shape: a mixture of squared exponentials
 *   periodic:    w = 2 pi n / p, n the difference of two Poisson numbers of mean 1 / (2 l^2), because the Fourier
 *                coefficients of exp(cos(t) / l^2) are Bessel functions
 *   cosine:      w = 2 pi / p; constant: w = 0
 *   categorical: w = 0 with probability exp(-1 / l), else uniform in (0, 2 pi): at codes, which are whole numbers, the
 *                average of its waves is 0
 * For a product of kernels, the frequencies are added. For a sum, one term is drawn by its share of the variance.
 *
 * High frequencies and small terms are rare, but between rows almost without noise they are all that is left. So half
 * of the draws come from wider distributions: z, g of rq and the mean of one Poisson number are multiplied by factors
 * of a ladder, and all terms of a sum are drawn equally often. A draw then counts as p / q, where p is the density of
 * what was drawn in the spectrum and q that in the mixture of all distributions; it is at most 2. */
#include "kernel/spectral.h"

#include <math.h>
#include <string.h>

#include "kernel/leaf.h"
#include "kernel/vector.h"
#include "util/draw.h"

enum { STEPS = OAT_SPECTRAL_TURN / 2 }; /* of the ladder: 1, sqrt(2), 2 .. */

/* One draw: its frequency; whether it is from a wider distribution, and its factor. */
typedef struct draw {
  const oat_covariance *cov;
  oat_rng *rng;
  double *w;
  bool wide;
  double factor;
  double log_terms;    /* the logarithm of how much more likely its terms are in the wider distributions */
  double wider[STEPS]; /* and, for each factor, of how much more likely its numbers are there */
} draw;

static double factor_of(size_t step) { return exp2((double)step / 2); }

/* p / q */
static double weight_of(const draw *at) {
  double wider = 0;
  for (size_t i = 0; i < STEPS; i++) {
    wider += exp(at->log_terms + at->wider[i]);
  }
  return 2 / (1 + wider / STEPS);
}

/* ---- distributions --------------------------------------------------------------------------------------------- */

static double chi_squared(unsigned degrees, oat_rng *rng) {
  double sum = 0;
  for (unsigned i = 0; i < degrees; i++) {
    const double z = oat_rng_normal(rng);
    sum += z * z;
  }
  return sum;
}

/* ---- leaves ---------------------------------------------------------------------------------------------------- */

/* A stationary kernel: its family, its lengthscales (one, or one for each input) and the inputs (NULL for all). */
typedef struct stationary {
  oat_leaf_kind kind;
  double shape;
  const double *lengthscale;
  bool shared;
  size_t inputs;
  const size_t *input;
} stationary;

/* The degrees of freedom of the t distribution of w l; 0 where there is none. */
static double degrees_of(oat_leaf_kind kind) {
  return kind == OAT_LEAF_matern12 ? 1 : kind == OAT_LEAF_matern32 ? 3 : kind == OAT_LEAF_matern52 ? 5 : 0;
}

/* How much wider g of rq is drawn: that far out, most frequencies have a large z and a large g. */
static double stretch(const stationary *k, double factor) {
  return k->kind == OAT_LEAF_rq ? fmax(factor / sqrt(2 * k->shape), 1) : 1;
}

/* Adds to `wider` what `count` z with this sum of squares do; for a t distribution it is that of w l. */
static void compare(draw *at, const stationary *k, double squares, double g) {
  const double degrees = degrees_of(k->kind), count = (double)k->inputs;
  for (size_t i = 0; i < STEPS; i++) {
    const double factor = factor_of(i), of_g = stretch(k, factor), of_z = factor * factor / of_g;
    const double more = degrees > 0 ? (degrees + count) * (log1p(squares / degrees) - log1p(squares / of_z / degrees))
                                    : squares * (1 - 1 / of_z);
    at->wider[i] += more / 2 - count * log(of_z) / 2 + k->shape * (g * (1 - 1 / of_g) - log(of_g));
  }
}

static void add_stationary(draw *at, const stationary *k) {
  const double degrees = degrees_of(k->kind), of_g = stretch(k, at->factor), of_z = at->factor / sqrt(of_g);
  const double g = k->kind == OAT_LEAF_rq ? of_g * exp(oat_draw_log_gamma(k->shape, at->rng)) / k->shape : 1;
  const double root = degrees > 0 ? sqrt(degrees / chi_squared((unsigned)degrees, at->rng)) : 1;
  double squares = 0;
  for (size_t j = 0; j < k->inputs; j++) {
    const double z = of_z * root * oat_rng_normal(at->rng);
    at->w[k->input != NULL ? k->input[j] : j] += sqrt(g) * z / k->lengthscale[k->shared ? 0 : j];
    squares += z * z;
  }
  compare(at, k, squares, g);
}

/* Far out, one of the two numbers is large, so a wider distribution has one of them wider: either. */
static double harmonic(draw *at, double lengthscale) {
  const double mean = 0.5 / (lengthscale * lengthscale);
  const bool first = oat_rng_uniform(at->rng) < 0.5;
  const double up = oat_draw_poisson(first ? at->factor * mean : mean, at->rng),
               down = oat_draw_poisson(first ? mean : at->factor * mean, at->rng);
  for (size_t i = 0; i < STEPS; i++) {
    const double more = log(factor_of(i)), large = fmax(up, down) * more, small = fmin(up, down) * more;
    at->wider[i] += large + log1p(exp(small - large)) - log(2) - mean * (factor_of(i) - 1);
  }
  return up - down;
}

static void add_leaf(draw *at, const oat_leaf *leaf) {
  const oat_leaf_table *table = oat_leaf_of(leaf->kind);
  const double *parameter = at->cov->theta + OAT_LENGTHSCALE + leaf->parameter;
  oat_rng *rng = at->rng;
  double *w = at->w;
  if (table->profile != NULL) {
    add_stationary(at, &(stationary){.kind = leaf->kind,
                                     .shape = parameter[0],
                                     .lengthscale = parameter + (table->profile->has_shape ? 1 : 0),
                                     .inputs = leaf->inputs,
                                     .input = leaf->input});
  } else if (leaf->kind == OAT_LEAF_periodic) {
    w[leaf->input[0]] += 2 * OAT_PI / parameter[0] * harmonic(at, parameter[1]);
  } else if (leaf->kind == OAT_LEAF_cosine) {
    w[leaf->input[0]] += 2 * OAT_PI / parameter[0] * (oat_rng_uniform(rng) < 0.5 ? -1 : 1);
  } else if (leaf->kind == OAT_LEAF_categorical) {
    const bool apart = oat_rng_uniform(rng) >= exp(-1 / parameter[0]);
    w[leaf->input[0]] += apart ? 2 * OAT_PI * oat_rng_uniform(rng) : 0;
  }
}

/* ---- trees ----------------------------------------------------------------------------------------------------- */

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

static size_t terms_of(const oat_expression *expression, size_t at) {
  const oat_node *node = &expression->node[at];
  return node->kind == OAT_NODE_SUM ? terms_of(expression, node->left) + terms_of(expression, node->right) : 1;
}

/* Which side of a sum. */
static size_t choose(draw *at, const oat_node *node) {
  const double left = variance_of(at->cov, node->left), right = variance_of(at->cov, node->right);
  const double terms = (double)terms_of(at->cov->expression, node->left),
               all = terms + (double)terms_of(at->cov->expression, node->right);
  const double share = left / (left + right), even = terms / all;
  const bool first = oat_rng_uniform(at->rng) < (at->wide ? even : share);
  at->log_terms += first ? log(even / share) : log((1 - even) / (1 - share));
  return first ? node->left : node->right;
}

/* cosines of either sign keep products even: cos a cos b is the mean of cos(a + b) and cos(a - b). */
static void add_node(draw *at, size_t place) {
  const oat_node *node = &at->cov->expression->node[place];
  if (node->kind == OAT_NODE_LEAF) {
    add_leaf(at, &at->cov->expression->leaf[node->leaf]);
  } else if (node->kind == OAT_NODE_SUM) {
    add_node(at, choose(at, node));
  } else if (node->kind == OAT_NODE_PRODUCT) {
    add_node(at, node->left);
    add_node(at, node->right);
  } else {
    for (unsigned i = 0; i < node->power; i++) {
      add_node(at, node->left);
    }
  }
}

/* ---- any ------------------------------------------------------------------------------------------------------- */

/* The leaf that equals a named kernel. */
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
    if (kind == OAT_LEAF_linear || kind == OAT_LEAF_polynomial) {
      return oat_leaf_name(kind);
    }
  }
  return NULL;
}

double oat_spectral_draw(const oat_covariance *cov, size_t number, oat_rng *rng, double *w) {
  const bool wide = number % 2 == 1;
  draw at = {cov, rng, w, wide, wide ? factor_of(number / 2 % STEPS) : 1, 0, {0}};
  memset(w, 0, cov->d * sizeof *w);
  if (oat_covariance_is_tree(cov)) {
    add_node(&at, cov->expression->nodes - 1);
  } else {
    add_stationary(&at, &(stationary){.kind = kind_of(cov),
                                      .shape = cov->theta[cov->shape],
                                      .lengthscale = cov->theta + cov->lengthscale,
                                      .shared = !oat_kernel_at(cov->id)->ard,
                                      .inputs = cov->d});
  }
  return weight_of(&at);
}
