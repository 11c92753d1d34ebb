/* E log(1 + exp(f)) for f ~ N(m, s), and its derivatives with respect to m, at a cost that does not grow with s.
 *
 * If s is small: 24 nodes around m. Otherwise h(f) = f Phi(f / c) + c phi(f / c), c = 1.7, is subtracted first: it is
 * as smooth, has the same limits, and its expectation is h itself with c^2 + s for c^2. The rest is below 1e-16 for |f|
 * > 39 and analytic for |Im f| < pi, so the sum over the nodes 0.375 k, which are the same for all rows, is accurate to
 * all digits: sum_k 0.375 rest(0.375 k) N(0.375 k; m, s). The second derivative is small at both ends by itself; as a
 * sum of positive terms it stays positive. */
#include "likelihood/hinge.h"

#include <math.h>
#include <stddef.h>

#include "kernel/vector.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"
#include "oat_config.h"

#define STEP 0.375
#define WIDTH2 2.89  /* c^2 */
#define SMALL 0.3    /* s below which nodes are around m */
#define FEW_STEP 0.7 /* of these, in deviations */

static oat_curve smooth_hinge(double f, double width2) {
  const double width = sqrt(width2), z = f / width, density = exp(-0.5 * z * z) / OAT_ROOT_2PI,
               below = oat_normal_cdf(z);
  return (oat_curve){f * below + width * density, below, density / width};
}

static void fill(oat_hinge_table *table) {
  for (int k = 0; k < OAT_HINGE_COUNT; k++) {
    const double f = STEP * (k - OAT_HINGE_HALF), e = exp(-fabs(f)), share = e / (1 + e);
    const oat_curve off = smooth_hinge(-fabs(f), WIDTH2); /* the rest is even, its slope odd */
    table->rest[k] = STEP * (log1p(e) - off.value);
    table->slope[k] = STEP * (f < 0 ? share - off.first : off.first - share);
    table->curve[k] = STEP * share / (1 + e);
  }
  for (int k = 0; k < OAT_HINGE_FEW; k++) {
    const double z = FEW_STEP * (k + 0.5 - 0.5 * OAT_HINGE_FEW);
    table->z[k] = z;
    table->weight[k] = FEW_STEP * exp(-0.5 * z * z) / OAT_ROOT_2PI;
  }
  table->ready = true;
}

/* The sums over nodes k = first .. first + n - 1 of the table. */
OAT_CLONES
static oat_hinge sums(const oat_hinge_table *table, size_t first, size_t n, const double *weight) {
  const double *rest = table->rest + first, *slope = table->slope + first, *curve = table->curve + first;
  double value = 0, d1 = 0, d2 = 0;
#pragma omp simd reduction(+ : value, d1, d2)
  for (size_t k = 0; k < n; k++) {
    value += weight[k] * rest[k];
    d1 += weight[k] * slope[k];
    d2 += weight[k] * curve[k];
  }
  return (oat_hinge){value, d1, d2};
}

/* Weights N(0.375 k; m, s). */
OAT_CLONES
static void squares(size_t n, double begin, double *weight) {
  for (size_t k = 0; k < n; k++) {
    const double distance = begin + STEP * (double)k;
    weight[k] = distance * distance;
  }
}

static oat_hinge by_table(const oat_hinge_table *table, double m, double s) {
  const double sd = sqrt(s), most = OAT_HINGE_HALF, reach = OAT_REACH * sd;
  const double low = fmax(-most, floor((m - reach) / STEP)), high = fmin(most, ceil((m + reach) / STEP));
  if (!(high > low)) { /* m is so far to the left that the function is exp(f) */
    const double tail = exp(fmin(m + 0.5 * s, -37));
    return (oat_hinge){tail, tail, tail};
  }
  size_t n = (size_t)ceil((high - low) / 8) * 8, first = (size_t)(low + most);
  first = first + n > OAT_HINGE_COUNT ? OAT_HINGE_COUNT - n : first;
  double weight[OAT_HINGE_COUNT];
  squares(n, STEP * ((double)first - most) - m, weight);
  oat_exp(n, -0.5 / s, 1 / (OAT_ROOT_2PI * sd), weight, weight);
  const oat_hinge rest = sums(table, first, n, weight);
  const oat_curve off = smooth_hinge(m, WIDTH2 + s);
  return (oat_hinge){fmax(off.value + rest.value, 0), fmax(off.first + rest.first, 0), rest.second};
}

/* Nodes m + sd z. Everything is computed from e = exp(-|f|), so nothing overflows. */
OAT_CLONES
static oat_hinge around(const oat_hinge_table *table, double m, double sd) {
  double f[OAT_HINGE_FEW], e[OAT_HINGE_FEW], log_sum[OAT_HINGE_FEW], value = 0, d1 = 0, d2 = 0;
  for (int k = 0; k < OAT_HINGE_FEW; k++) {
    f[k] = m + sd * table->z[k];
    e[k] = -fabs(f[k]);
  }
  oat_exp(OAT_HINGE_FEW, 1, 1, e, e);
  oat_log1p(OAT_HINGE_FEW, 1, e, log_sum);
#pragma omp simd reduction(+ : value, d1, d2)
  for (int k = 0; k < OAT_HINGE_FEW; k++) {
    const double inverse = 1 / (1 + e[k]), small = e[k] * inverse, weight = table->weight[k];
    value += weight * (log_sum[k] + (f[k] > 0 ? f[k] : 0));
    d1 += weight * (f[k] > 0 ? inverse : small);
    d2 += weight * small * inverse;
  }
  return (oat_hinge){value, d1, d2};
}

oat_hinge oat_hinge_at(oat_hinge_table *table, double m, double s) {
  if (!table->ready) {
    fill(table);
  }
  return s < SMALL ? around(table, -fabs(m), sqrt(s)) : by_table(table, -fabs(m), s);
}

double oat_logistic_mean(oat_hinge_table *table, double m, double s) {
  const oat_hinge hinge = oat_hinge_at(table, m, s);
  return oat_hinge_share(&hinge, m);
}
