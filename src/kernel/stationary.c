/* What all named kernels share (a tree goes to tree.c at once): scaled squared distances, and the adjoint of k =
 * sigma^2 phi(s) with respect to lengthscales, shape and points.
 *
 * With h = g sigma^2 phi'(s):  d log l_j = -2 sum h (x_j - z_j)^2 / l_j^2,  d z_j = -2 sum h (x_j - z_j) / l_j^2. If
 * differences are formed first, no digits are lost, wherever the points are. It is faster to divide all points by the
 * lengthscales first, or to expand the squares into matrix products. If some points are r lengthscales from others,
 * that costs r or r^2 rounding errors, so it is done only if r is small (and not with products if the kernel has a
 * cusp, where the error of k is the square root of that of s). */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/tree.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"

enum { WORTH_SCALING = 4, MANY_INPUTS = 12 }; /* from here on a product is the faster way to distances */
#define NEAR 16.0             /* largest coordinate, in lengthscales, for differences of scaled points */
#define NEAR_SQUARED 32.0     /* largest squared norm, in lengthscales, for distances by a product */
#define NEAR_COORDINATE 100.0 /* largest coordinate, in lengthscales, for derivatives by a product */

/* ---- the points in units of the lengthscales ------------------------------------------------------------------- */

/* Both sets around the first z (so that moving all points moves no bit), column-major without gaps. */
typedef struct frame {
  double *x, *z;
  double *x2;     /* room for squared norms */
  double largest; /* of the coordinates */
} frame;

/* Whether the points z are some of the points x, or of the same set. */
static bool are_among(const oat_covariance *cov, oat_points z, oat_points x) {
  const uintptr_t first = (uintptr_t)x.a, at = (uintptr_t)z.a;
  return cov->among || (at >= first && at < first + x.n * sizeof *x.a);
}

static const oat_kernel *kernel_of(const oat_covariance *cov) { return oat_kernel_at(cov->id); }

/* The place in theta of the lengthscale of an input. */
static size_t lengthscale_place(const oat_covariance *cov, size_t j) {
  return cov->lengthscale + (kernel_of(cov)->ard ? j : 0);
}

double oat_kernel_lengthscale(const oat_covariance *cov, size_t input) {
  return oat_covariance_is_tree(cov) ? oat_tree_lengthscale(cov, input) : cov->theta[lengthscale_place(cov, input)];
}

static void take_points(frame *f, const oat_covariance *cov, oat_points from, const double *middle, double *to) {
  for (size_t j = 0; j < cov->d; j++) {
    const double most =
        oat_standardise(from.n, middle[j], 1 / oat_kernel_lengthscale(cov, j), from.a + j * from.ld, to + j * from.n);
    f->largest = fmax(f->largest, most);
  }
}

/* Finds the squared norms of the points x, for distances by a product; returns the largest. */
static double largest_norm(frame *f, size_t n, size_t d) {
  double largest = 0;
  memset(f->x2, 0, n * sizeof *f->x2);
  for (size_t j = 0; j < d; j++) {
    oat_add_squares(n, f->x + j * n, f->x2);
  }
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, f->x2[i]);
  }
  return largest;
}

static frame frame_of(const oat_covariance *cov, oat_points x, oat_points z, double *work) {
  const size_t d = cov->d;
  double *middle = work;
  frame f = {.x = middle + d, .x2 = middle + d + x.n * d, .z = middle + d + x.n * (d + 1)};
  for (size_t j = 0; j < d; j++) {
    middle[j] = z.a[j * z.ld];
  }
  take_points(&f, cov, x, middle, f.x);
  take_points(&f, cov, z, middle, f.z);
  return f;
}

/* The rest of the scratch. */
static double *after_frame(double *work, oat_points x, oat_points z, size_t d) {
  return work + d + x.n * (d + 1) + z.n * d;
}

/* ---- the covariance -------------------------------------------------------------------------------------------- */

/* The inputs of x and z with weights 1 / l^2, which go into `weight`. */
static oat_axes axes_of(const oat_covariance *cov, oat_points x, oat_points z, double *weight) {
  const bool ard = kernel_of(cov)->ard;
  for (size_t j = 0; j < (ard ? cov->d : 1); j++) {
    const double l = oat_kernel_lengthscale(cov, j);
    weight[j] = 1 / (l * l);
  }
  return (oat_axes){cov->d, x.a, x.ld, z.a, z.ld, weight, !ard};
}

static double variance_of(const oat_covariance *cov) { return cov->theta[cov->sigma] * cov->theta[cov->sigma]; }

/* The profile with its parameters, looked up once for all columns. */
typedef struct curve {
  const oat_profile *profile;
  oat_profile_at at;
} curve;

static curve curve_of(const oat_covariance *cov) {
  return (curve){kernel_of(cov)->profile, {variance_of(cov), cov->theta[cov->shape]}};
}

/* k and, if wanted, the slopes, from the squared distances of one column. */
static void fill_column(const curve *phi, size_t n, const double *s, double *k, double *slope) {
  if (slope != NULL) {
    phi->profile->slopes(n, phi->at, s, k, slope, NULL);
  } else {
    phi->profile->values(n, phi->at, s, k);
  }
}

/* Column by column; `axes` holds the points as given, or scaled. */
static void cross_by_differences(const oat_covariance *cov, oat_axes axes, oat_view k, double *slope, double *s) {
  const double *z = axes.z;
  const curve phi = curve_of(cov);
  for (size_t c = 0; c < k.columns; c++) {
    axes.z = z + c;
    oat_distances(k.rows, &axes, s);
    fill_column(&phi, k.rows, s, k.a + c * k.ld, slope != NULL ? slope + c * k.ld : NULL);
  }
}

/* |x|^2 + |z|^2 - 2 x . z */
static void cross_by_product(const oat_covariance *cov, const frame *f, oat_view k, double *slope, double *s) {
  const oat_const_view x = {f->x, k.rows, cov->d, k.rows}, z = {f->z, k.columns, cov->d, k.columns};
  const curve phi = curve_of(cov);
  oat_gemm(-2, x, OAT_PLAIN, z, OAT_TRANSPOSED, 0, k);
  for (size_t c = 0; c < k.columns; c++) {
    double z2 = 0;
    for (size_t j = 0; j < cov->d; j++) {
      z2 += f->z[c + j * k.columns] * f->z[c + j * k.columns];
    }
    oat_add_norms(k.rows, k.a + c * k.ld, z2, f->x2, s);
    fill_column(&phi, k.rows, s, k.a + c * k.ld, slope != NULL ? slope + c * k.ld : NULL);
  }
}

void oat_kernel_cross_slopes(const oat_covariance *cov, oat_points x, oat_points z, double *k, double *slope, size_t ld,
                             double *work) {
  const oat_view all = {k, x.n, z.n, ld};
  if (oat_covariance_is_tree(cov)) {
    oat_tree_cross(cov, x, z, k, ld, work);
    return;
  }
  if (z.n >= WORTH_SCALING && !are_among(cov, z, x)) {
    frame f = frame_of(cov, x, z, work);
    double *s = after_frame(work, x, z, cov->d);
    if (cov->d >= MANY_INPUTS && kernel_of(cov)->profile->smooth && largest_norm(&f, x.n, cov->d) <= NEAR_SQUARED) {
      cross_by_product(cov, &f, all, slope, s);
      return;
    }
    if (f.largest <= NEAR) {
      cross_by_differences(cov, (oat_axes){cov->d, f.x, x.n, f.z, z.n, NULL, false}, all, slope, s);
      return;
    }
  }
  cross_by_differences(cov, axes_of(cov, x, z, work), all, slope, work + cov->d);
}

void oat_kernel_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ld, double *work) {
  oat_kernel_cross_slopes(cov, x, z, k, NULL, ld, work);
}

void oat_profile_by_slopes(oat_slopes_fn slopes, size_t n, oat_profile_at at, const double *s, double *k) {
  double k_part[256], slope[256];
  for (size_t i = 0; i < n; i += 256) {
    const size_t count = n - i < 256 ? n - i : 256;
    slopes(count, at, s + i, k_part, slope, NULL);
    memcpy(k + i, k_part, count * sizeof *k);
  }
}

void oat_kernel_diagonal(const oat_covariance *cov, oat_points x, double *prior) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_diagonal(cov, x, prior);
    return;
  }
  for (size_t i = 0; i < x.n; i++) {
    prior[i] = variance_of(cov);
  }
}

void oat_kernel_diagonal_adjoint(const oat_covariance *cov, oat_points x, const double *g,
                                 oat_kernel_gradient *gradient) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_diagonal_adjoint(cov, x, g, gradient);
  }
}

/* For a stationary kernel, k(z, z) is the same at every point. */
double oat_kernel_share(const oat_covariance *cov, oat_points z, double share) {
  if (oat_covariance_is_tree(cov)) {
    return share * oat_tree_mean_diagonal(cov, z);
  }
  return share * cov->theta[cov->sigma] * cov->theta[cov->sigma];
}

/* ---- its adjoint ----------------------------------------------------------------------------------------------- */

static void add_shape(const oat_covariance *cov, oat_points x, oat_points z, const double *g, size_t ld, double *work,
                      oat_kernel_gradient *gradient) {
  double *s = work, *k = s + x.n, *slope = k + x.n, *d_shape = slope + x.n, *weight = d_shape + x.n;
  const curve phi = curve_of(cov);
  oat_axes axes = axes_of(cov, x, z, weight);
  for (size_t c = 0; c < z.n; c++) {
    axes.z = z.a + c;
    oat_distances(x.n, &axes, s);
    phi.profile->slopes(x.n, phi.at, s, k, slope, d_shape);
    gradient->theta[cov->shape] += oat_sum_products(x.n, g + c * ld, d_shape);
  }
}

/* From the sums over x of h (x - z) and h (x - z)^2 for each z. */
static void add_by_differences(const oat_covariance *cov, oat_points x, oat_points z, oat_const_view h, double *work,
                               oat_kernel_gradient *gradient) {
  const size_t d = cov->d;
  double *weight = work, *first = weight + d, *second = first + d;
  oat_axes axes = axes_of(cov, x, z, weight);
  for (size_t c = 0; c < z.n; c++) {
    axes.z = z.a + c;
    oat_moments(x.n, &axes, h.a + c * h.ld, first, second);
    for (size_t j = 0; j < d; j++) {
      const size_t l = axes.single ? 0 : j;
      gradient->theta[cov->lengthscale + l] -= 2 * weight[l] * second[j];
      if (gradient->z != NULL) {
        gradient->z[c + j * z.ld] -= 2 * weight[l] * first[j];
      }
    }
  }
}

/* Sums of h, the points in units of the lengthscales: over x for each z, over z for each x, and of h x over x (z.n x
 * d). */
typedef struct sums {
  double *over_x, *over_z, *moment;
} sums;

/* h = g slope, in place, and its sums. */
static void multiply(const oat_covariance *cov, const frame *f, oat_view g, const double *slope, const sums *s) {
  const oat_const_view x = {f->x, g.rows, cov->d, g.rows};
  memset(s->over_z, 0, g.rows * sizeof *s->over_z);
  for (size_t c = 0; c < g.columns; c++) {
    s->over_x[c] = oat_multiply(g.rows, slope + c * g.ld, g.a + c * g.ld, s->over_z);
  }
  oat_gemm(1, oat_as_const(g), OAT_TRANSPOSED, x, OAT_PLAIN, 0, (oat_view){s->moment, g.columns, cov->d, g.columns});
}

/* For one input: sum h (x - z)^2 = sum over x of x^2 (sum h) - 2 sum over z of z (sum h x) + sum over z of z^2 (sum
 * h). */
static void add_input(const oat_covariance *cov, const frame *f, size_t j, const sums *s, oat_points x, oat_points z,
                      oat_kernel_gradient *gradient) {
  const double *at = f->z + j * z.n, *moment = s->moment + j * z.n, l = oat_kernel_lengthscale(cov, j);
  double sum = oat_sum_squares(x.n, s->over_z, f->x + j * x.n);
  for (size_t c = 0; c < z.n; c++) {
    sum += at[c] * (at[c] * s->over_x[c] - 2 * moment[c]);
    if (gradient->z != NULL) {
      gradient->z[c + j * z.ld] -= 2 / l * (moment[c] - at[c] * s->over_x[c]);
    }
  }
  gradient->theta[lengthscale_place(cov, j)] -= 2 * sum;
}

void oat_kernel_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, double *g, const double *slope,
                              size_t ld, double *work, oat_kernel_gradient *gradient) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_cross_adjoint(cov, x, z, g, ld, work, gradient);
    return;
  }
  if (kernel_of(cov)->profile->has_shape) {
    add_shape(cov, x, z, g, ld, work, gradient);
  }
  const frame f = frame_of(cov, x, z, work);
  double *rest = after_frame(work, x, z, cov->d);
  const sums s = {.over_z = rest, .over_x = rest + x.n, .moment = rest + x.n + z.n};
  multiply(cov, &f, (oat_view){g, x.n, z.n, ld}, slope, &s);
  /* between points that almost meet, h of a cusp is large and their difference small; so it is between knots */
  if (f.largest > NEAR_COORDINATE || are_among(cov, z, x) || !kernel_of(cov)->profile->smooth) {
    add_by_differences(cov, x, z, (oat_const_view){g, x.n, z.n, ld}, work, gradient);
    return;
  }
  for (size_t j = 0; j < cov->d; j++) {
    add_input(cov, &f, j, &s, x, z, gradient);
  }
}

/* ---- derivatives in x ------------------------------------------------------------------------------------------ */

/* Column c of a side: h_i = g_ic slope_i */
static void weigh(const oat_kernel_side *side, size_t c, size_t n, const double *slope, double *h) {
  const double *g = side->g + c * side->step;
  if (side->row_step == 0) {
    oat_scaled_copy(n, *g, slope, h);
  } else {
    oat_product(n, 1, g, slope, h);
  }
}

/* d k(x, z) / d x_j = 2 sigma^2 phi'(s) (x_j - z_j) / l_j^2 */
void oat_kernel_cross_in_x(const oat_covariance *cov, oat_points x, oat_points z, const double *slope, size_t ld,
                           oat_kernel_sides sides, double *work) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_cross_in_x(cov, x, z, sides, work);
    return;
  }
  double *weight = work, *h = work + cov->d;
  const oat_axes axes = axes_of(cov, x, z, weight);
  for (size_t c = 0; c < z.n; c++) {
    for (size_t s = 0; s < sides.count; s++) {
      weigh(&sides.side[s], c, x.n, slope + c * ld, h);
      for (size_t j = 0; j < cov->d; j++) {
        oat_add_differences(x.n, 2 * weight[axes.single ? 0 : j], h, x.a + j * x.ld, z.a[c + j * z.ld],
                            sides.side[s].dx + j * x.ld);
      }
    }
  }
}

void oat_kernel_diagonal_in_x(const oat_covariance *cov, oat_points x, double *dx, double *work) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_diagonal_in_x(cov, x, dx, work);
  }
}

/* ---- pairs of a few points ------------------------------------------------------------------------------------- */

/* The points around the last one, in units of the lengthscales. They are neighbours, so that few digits are lost: the
 * error of a difference is a rounding error of their distance to the last one. */
static oat_scaled_points scale_points(const oat_covariance *cov, oat_points x, double *room) {
  const size_t ld = x.n + OAT_PAIR_GROUP;
  for (size_t j = 0; j < cov->d; j++) {
    const double *from = x.a + j * x.ld, middle = from[x.n - 1], scale = 1 / oat_kernel_lengthscale(cov, j);
    double *to = room + j * ld;
    for (size_t i = 0; i < x.n; i++) {
      to[i] = (from[i] - middle) * scale;
    }
    for (size_t i = 0; i < OAT_PAIR_GROUP; i++) {
      to[x.n + i] = 0;
    }
  }
  return (oat_scaled_points){x.n, cov->d, room, ld};
}

void oat_kernel_pairs(const oat_covariance *cov, oat_points x, const oat_pair_values *out, double *work) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_pairs(cov, x, out->k, work);
    return;
  }
  const size_t pairs = oat_pairs(x.n);
  const curve phi = curve_of(cov);
  double *s = work;
  oat_pair_distances(scale_points(cov, x, s + pairs + OAT_PAIR_GROUP), s);
  if (out->slope != NULL) {
    phi.profile->slopes(pairs, phi.at, s, out->k, out->slope, phi.profile->has_shape ? out->d_shape : NULL);
  } else {
    phi.profile->values(pairs, phi.at, s, out->k);
  }
}

void oat_kernel_pairs_adjoint(const oat_covariance *cov, oat_points x, double *g, const oat_pair_values *values,
                              double *work, oat_kernel_gradient *gradient) {
  if (oat_covariance_is_tree(cov)) {
    oat_tree_pairs_adjoint(cov, x, g, work, gradient);
    return;
  }
  const size_t d = cov->d;
  double *second = work, *room = second + d;
  if (kernel_of(cov)->profile->has_shape) {
    gradient->theta[cov->shape] += oat_sum_products(oat_pairs(x.n), g, values->d_shape);
  }
  oat_multiply_each(oat_pairs(x.n), values->slope, g);
  oat_pair_moments(scale_points(cov, x, room), g, room + d * (x.n + OAT_PAIR_GROUP), second);
  for (size_t j = 0; j < d; j++) {
    gradient->theta[lengthscale_place(cov, j)] -= 2 * second[j];
  }
}
