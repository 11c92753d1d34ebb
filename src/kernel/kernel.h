/* Covariance functions: named kernels, k(x, z) = sigma^2 phi(s), s = sum_j ((x_j - z_j) / l_j)^2, and expressions
 * (expression.h).
 *
 * A named kernel is one file that computes the profile phi and its derivatives over an array of s, and ends with its
 * const table; oatgp_kernels.def lists the files. Everything else (distances, lengthscales, knots) is shared, in
 * stationary.c. An expression is a tree of leaves (leaf.h), which tree.c evaluates. */
#ifndef OAT_KERNEL_H
#define OAT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/expression.h"
#include "kernel/parameters.h"

/* The parameters of a profile. */
typedef struct oat_profile_at {
  double sigma2, shape;
} oat_profile_at;

/* The square of a distance may be infinite. A profile must be 0 there, not 0 times infinity, so a factor that grows
 * with the distance stops growing here, where the decay has long reached 0. */
#define OAT_FARTHEST 1e150

/* The table at the end of each kernel's file. */
typedef struct oat_profile {
  bool has_shape; /* has the parameter `shape` */
  bool smooth;    /* differentiable where two points meet, so that knots can be moved by their gradient */
  /* phi as the head of the file has it, for tests */
  long double (*formula)(long double s, long double shape);
  /* k_i = sigma2 phi(s_i); k may be s */
  void (*values)(size_t n, oat_profile_at at, const double *s, double *k);
  /* also slope_i = sigma2 d phi / d s (its limit times s must be right at s = 0), and d k / d log shape if has_shape
   * and d_shape is not NULL; none of them is s */
  void (*slopes)(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape);
} oat_profile;

/* Ids of kernels that a device can copy: the positions in the list, and after them one for all expressions. */
typedef enum oat_kernel_id {
#define OATGP_KERNEL(name) OAT_KERNEL_##name,
#define OATGP_KERNEL_ARD(name) OAT_KERNEL_##name##_ard,
#include "oatgp_kernels.def"
  OAT_KERNELS,
  OAT_KERNEL_EXPRESSION = OAT_KERNELS
} oat_kernel_id;

/* Parameters of the problem that are not the covariance's, such as the shape of a likelihood. They follow those of the
 * kernel in theta. */
typedef struct oat_further {
  bool answers;            /* the likelihood is not Gaussian (likelihood/), so tau is unused and stays 1 */
  size_t first, count;     /* their places in theta */
  const oat_parameter *is; /* count each */
  const double *start;     /* in the parameter's unit */
} oat_further;

/* A kernel without its parameters. */
typedef struct oat_kernel {
  oat_kernel_id id;
  const char *name;
  bool ard;                         /* a lengthscale for each input */
  const oat_profile *profile;       /* of a kernel of the list, else NULL */
  const oat_expression *expression; /* or NULL */
  oat_further further;
  bool made; /* by oat_kernel_with */
} oat_kernel;

/* A kernel that is an expression; its name is the expression's text. The expression is borrowed. */
oat_kernel oat_kernel_of_expression(const oat_expression *expression);
/* Differentiable where two points meet, so that knots can be moved by their gradient. */
bool oat_kernel_is_smooth(const oat_kernel *kernel);
/* Has the one parameter `shape`. */
bool oat_kernel_has_shape(const oat_kernel *kernel);
/* The approximate standard deviation of the function: sigma, or the root of the sum of the terms' squares. */
double oat_kernel_amplitude(const oat_kernel *kernel, const double *theta);

/* The sizes that determine the memory for a kernel; all 0 for those of the list. */
typedef struct oat_kernel_size {
  size_t work, parameters, further;
} oat_kernel_size;

oat_kernel_size oat_kernel_size_of(const oat_kernel *kernel);

/* The largest length of theta for d inputs. */
static inline size_t oat_theta_most(oat_kernel_size size, size_t d) {
  return OAT_LENGTHSCALE + (size.parameters > d ? size.parameters : d) + size.further;
}

/* For kernels whose slopes come with k at no cost: the profile from them. */
typedef void (*oat_slopes_fn)(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape);
void oat_profile_by_slopes(oat_slopes_fn slopes, size_t n, oat_profile_at at, const double *s, double *k);

/* The kernel of a text: one of the list, or an expression of the inputs. If some inputs are categories, a named kernel
 * stands for the product of its leaf over all numeric inputs and a categorical leaf for each category. The same with
 * other names of the inputs. */
oatgp_status oat_kernel_read(oatgp_context *ctx, const char *text, const oat_names *inputs, const oat_kernel **out);
oatgp_status oat_kernel_copy(oatgp_context *ctx, const oat_kernel *kernel, const oat_names *inputs,
                             const oat_kernel **out);
/* The kernel with further parameters, which are copied except for their names. The result takes ownership of a kernel
 * that was read or copied before, so release only the result. */
oatgp_status oat_kernel_with(oatgp_context *ctx, const oat_kernel *kernel, const oat_further *further,
                             const oat_kernel **out);
/* Writes the name of an input as in expressions, in quotes. Returns the number of bytes, without the terminating 0. */
size_t oat_quote_name(const char *name, char *out);
/* Whether the text lets the fit choose the kernel. */
bool oat_kernel_is_automatic(const char *text);
void oat_kernel_release(const oat_kernel *kernel); /* that was read or copied; NULL is fine */

const oat_kernel *oat_kernel_find(const char *name); /* of the list; NULL if there is none */
const oat_kernel *oat_kernel_at(size_t index);       /* NULL past the end */

/* A kernel with its parameters: a value that a device can copy, with the oat_theta_count numbers of theta behind it
 * and, for a tree, its nodes and leaves, which are arrays. An expression that is one leaf of the list over all inputs,
 * such as se(), is that kernel, with its parameters in other places. */
typedef struct oat_covariance {
  oat_kernel_id id; /* OAT_KERNEL_EXPRESSION: a tree */
  size_t d;
  const double *theta;              /* parameters.h has its places */
  size_t sigma, shape, lengthscale; /* the places of a kernel that is no tree */
  bool among; /* both sides come from one set of points, of which some may almost coincide, so differences are formed
                 first */
  const oat_expression *expression; /* or NULL */
} oat_covariance;

/* The covariance at theta, which is borrowed. */
oat_covariance oat_covariance_at(const oat_kernel *kernel, size_t d, const double *theta);

/* Whether it is evaluated node by node, as an expression. */
static inline bool oat_covariance_is_tree(const oat_covariance *cov) { return cov->id == OAT_KERNEL_EXPRESSION; }

/* The kernel that this covariance was made from. */
oat_kernel oat_covariance_kernel(const oat_covariance *cov);

/* Points, column-major: coordinate j of point i is a[i + j * ld]. */
typedef struct oat_points {
  const double *a;
  size_t n, ld;
} oat_points;

/* Sums that the adjoint adds to. */
typedef struct oat_kernel_gradient {
  double *theta; /* derivatives in the logarithms, in the places of theta; nothing is added for tau or, unless it is a
                    tree, for sigma */
  double *z;     /* laid out as the points z, or NULL if the derivative in z is not wanted */
} oat_kernel_gradient;

/* The lengthscale of an input; of an expression the shortest that a leaf has for it, or infinite. For periodic it is
 * that of the squared exponential which it resembles near 0, period lengthscale / (2 pi); for cosine it is period / (2
 * pi); for categorical it gives two levels the distance that matches their correlation. */
double oat_kernel_lengthscale(const oat_covariance *cov, size_t input);
/* prior[i] = k(x_i, x_i). */
void oat_kernel_diagonal(const oat_covariance *cov, oat_points x, double *prior);
/* Of a tree: adds sum g_i d k(x_i, x_i), gradient->z laid out as x. For other kernels nothing is added: the derivative
 * in log sigma is 2 sum g_i k(x_i, x_i), and all others are 0. */
void oat_kernel_diagonal_adjoint(const oat_covariance *cov, oat_points x, const double *g,
                                 oat_kernel_gradient *gradient);
/* A share of the prior variance: share times the mean of k(z, z) over the points, for jitters and thresholds. */
double oat_kernel_share(const oat_covariance *cov, oat_points z, double share);

/* Doubles of scratch that the functions below need for so many points x and z. */
static inline size_t oat_kernel_work(oat_kernel_size size, size_t n, size_t m, size_t d) {
  return n * (d + 5) + m * (2 * d + 1) + 4 * d + size.work;
}

/* k[i + c * ld] = k(x_i, z_c), x.n rows. O(x.n z.n d). */
void oat_kernel_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ld, double *work);
/* Also slope[i + c * ld] = sigma^2 phi'(s), for the adjoint. (A tree does not use the slopes and leaves them
 * unchanged.) */
void oat_kernel_cross_slopes(const oat_covariance *cov, oat_points x, oat_points z, double *k, double *slope, size_t ld,
                             double *work);
/* Adds sum_ic g_ic d k(x_i, z_c) / d(lengthscales, shape, z_c) for a given g (x.n x z.n) and the slopes from above; g
 * is destroyed. (The derivative in log sigma is 2 sum g k; of a tree those in the logarithms of its terms' sigmas are
 * added, too.) x is taken as fixed: for a symmetric matrix K(Z, Z) with symmetric g the derivative in Z is twice what
 * is added here. O(x.n z.n d). */
void oat_kernel_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, double *g, const double *slope,
                              size_t ld, double *work, oat_kernel_gradient *gradient);

/* A weighted sum of kernel values, for derivatives in the points x: row i is sum_c g_ic k(x_i, z_c), with g_ic at g[i *
 * row_step + c * step]. row_step is 1, or 0 if g is the same for all rows. The derivatives are added to dx, which is
 * laid out as x. */
typedef struct oat_kernel_side {
  const double *g;
  size_t row_step, step;
  double *dx;
} oat_kernel_side;

typedef struct oat_kernel_sides {
  size_t count;
  const oat_kernel_side *side;
} oat_kernel_sides;

/* The derivatives of all sides in x, from the slopes. Where a point x meets a point z and the kernel has a cusp, that
 * pair adds nothing. O(x.n z.n d) for each side. */
void oat_kernel_cross_in_x(const oat_covariance *cov, oat_points x, oat_points z, const double *slope, size_t ld,
                           oat_kernel_sides sides, double *work);
/* Adds d k(x_i, x_i) / d x_i, which is 0 except for some trees, to dx, which is laid out as x. The scratch is that of
 * x.n points x. */
void oat_kernel_diagonal_in_x(const oat_covariance *cov, oat_points x, double *dx, double *work);

/* The kernel between all pairs of a few points, each pair once: the lower triangle with its diagonal, column after
 * column. k(x_a, x_b), a >= b, is at oat_pair(n, a, b) of n points. */
static inline size_t oat_pairs(size_t n) { return n * (n + 1) / 2; }
static inline size_t oat_pair(size_t n, size_t a, size_t b) { return b * n - b * (b + 1) / 2 + a; }

/* The results for each pair; `slope` and `d_shape` are for the adjoint and may be NULL. */
typedef struct oat_pair_values {
  double *k, *slope, *d_shape; /* oat_pairs each */
} oat_pair_values;

/* Doubles of scratch for both. */
static inline size_t oat_pairs_work(oat_kernel_size size, size_t n, size_t d) {
  return oat_pairs(n) + n + (n + 18) * d + 16 + size.work;
}
/* O(n^2 d). */
void oat_kernel_pairs(const oat_covariance *cov, oat_points x, const oat_pair_values *out, double *work);
/* Adds sum g d k / d(lengthscales, shape) over the pairs, whose slopes are known; g is destroyed. */
void oat_kernel_pairs_adjoint(const oat_covariance *cov, oat_points x, double *g, const oat_pair_values *values,
                              double *work, oat_kernel_gradient *gradient);

/* Threads for the kernel between all pairs of some points, and their scratch. */
typedef struct oat_kernel_team {
  int threads;
  double *work; /* oat_kernel_team_work doubles */
} oat_kernel_team;

size_t oat_kernel_team_work(oat_kernel_size size, size_t n, size_t d, int threads);
/* The two functions above with x = z, by panels of columns: the same bits for any number of threads. z.n is the leading
 * dimension of k, slope and g. */
void oat_kernel_square_slopes(const oat_covariance *cov, oat_points z, double *k, double *slope,
                              const oat_kernel_team *team);
void oat_kernel_square_adjoint(const oat_covariance *cov, oat_points z, double *g, const double *slope,
                               const oat_kernel_team *team, oat_kernel_gradient *gradient);

#endif
