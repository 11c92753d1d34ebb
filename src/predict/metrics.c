/* Scores of predictions. */
#include "predict/metrics.h"

#include <math.h>
#include <stdbool.h>

#define HALF_LOG_2PI 0.91893853320467274178

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* A sum that carries its rounding error along (Neumaier 1974): as good as if summed in twice the precision. */
typedef struct total {
  double sum, lost;
} total;

static void add(total *to, double value) {
  const double sum = to->sum + value;
  to->lost += fabs(to->sum) >= fabs(value) ? (to->sum - sum) + value : (value - sum) + to->sum;
  to->sum = sum;
}

/* Of an infinite sum the lost part is NaN and means nothing. */
static double result(const total *of) { return isfinite(of->sum) ? of->sum + of->lost : of->sum; }

double oat_mean(size_t n, const double *values) {
  total sum = {0};
  for (size_t i = 0; i < n; i++) {
    add(&sum, values[i]);
  }
  return result(&sum) / (double)n;
}

/* Square root of the sum of (y[i] - middle[i * step])^2 / divisor. The differences are divided by a power of two near
 * the largest, which is exact and keeps the squares from overflow and underflow. */
static double root_mean_square(size_t n, const double *y, const double *middle, size_t step, double divisor) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, fabs(y[i] - middle[i * step]));
  }
  const double scale = largest > 0 && isfinite(largest) ? scalbn(1, ilogb(largest)) : 1;
  total squares = {0};
  for (size_t i = 0; i < n; i++) {
    const double difference = (y[i] - middle[i * step]) / scale;
    add(&squares, difference * difference);
  }
  return scale * sqrt(result(&squares) / divisor);
}

/* The mean of equal values need not equal them after rounding, so they are told apart first. */
double oat_sd(size_t n, const double *values) {
  if (n < 2) {
    return NAN;
  }
  bool constant = true;
  for (size_t i = 1; i < n; i++) {
    constant = constant && values[i] == values[0];
  }
  const double mean = constant ? values[0] : oat_mean(n, values);
  return root_mean_square(n, values, &mean, 0, (double)(n - 1));
}

/* ---- median ---------------------------------------------------------------------------------------------------- */

/* Hoare's selection: afterwards values[k] is what it would be if sorted, and no value before it is larger. */
static void select_kth(size_t n, double *values, size_t k) {
  size_t left = 0, right = n - 1;
  while (left < right) {
    const double pivot = values[left + (right - left) / 2];
    size_t i = left, j = right + 1; /* j is one past its place, since it may go below 0 */
    while (i < j) {
      while (values[i] < pivot) {
        i++;
      }
      while (values[j - 1] > pivot) {
        j--;
      }
      if (i < j) {
        const double swap = values[i];
        values[i++] = values[j - 1];
        values[--j] = swap;
      }
    }
    if (k < j) {
      right = j - 1;
    } else if (k >= i) {
      left = i;
    } else {
      return;
    }
  }
}

double oat_median(size_t n, double *values) {
  for (size_t i = 0; i < n; i++) {
    if (isnan(values[i])) {
      return NAN;
    }
  }
  if (n == 0) {
    return NAN;
  }
  const size_t middle = n / 2;
  select_kth(n, values, middle);
  if (n % 2 == 1) {
    return values[middle];
  }
  double below = values[0];
  for (size_t i = 1; i < middle; i++) {
    below = fmax(below, values[i]);
  }
  return 0.5 * below + 0.5 * values[middle];
}

/* ---- scores ---------------------------------------------------------------------------------------------------- */

double oat_rmse(size_t n, const double *y, const double *mean) { return root_mean_square(n, y, mean, 1, (double)n); }

double oat_srmse(size_t n, const double *y, const double *mean) {
  const double sd = oat_sd(n, y);
  return sd > 0 ? oat_rmse(n, y, mean) / sd : NAN;
}

void oat_nlp(size_t n, const double *y, oat_gaussian prediction, double *nlp) {
  for (size_t i = 0; i < n; i++) {
    const double difference = y[i] - prediction.mean[i], sd = prediction.sd[i], z = difference / sd;
    if (sd == 0) {
      nlp[i] = difference == 0 ? -INFINITY : fabs(z);
    } else {
      nlp[i] = HALF_LOG_2PI + log(sd) + 0.5 * z * z;
    }
  }
}

double oat_coverage(size_t n, const double *y, oat_gaussian prediction, double p) {
  const double reach = -oat_normal_quantile(0.5 - 0.5 * p); /* in this form exact near 1 */
  total inside = {0};
  for (size_t i = 0; i < n; i++) {
    const double distance = fabs(y[i] - prediction.mean[i]), sd = prediction.sd[i], limit = sd >= 0 ? reach * sd : NAN;
    add(&inside, isnan(distance) || isnan(limit) ? NAN : distance <= limit);
  }
  return result(&inside) / (double)n;
}

/* r - 1 - log r of the ratio r = (a / b)^2, without cancellation where they are close and without overflow where they
 * are not. */
static double log_excess(double a, double b) {
  const double root_above = (a - b) / b, above = root_above * (2 + root_above);
  return above - (fabs(above) < 0.5 ? log1p(above) : 2 * (log(a) - log(b)));
}

double oat_mean_kl(size_t n, oat_gaussian p, oat_gaussian q) {
  total sum = {0};
  for (size_t i = 0; i < n; i++) {
    const double z = (p.mean[i] - q.mean[i]) / q.sd[i];
    add(&sum, 0.5 * (log_excess(p.sd[i], q.sd[i]) + z * z));
  }
  return result(&sum) / (double)n;
}

/* ---- normal quantile: Wichura's algorithm AS 241 (Applied Statistics 37, 1988), PPND16 --------------------------- */

/* numerator(x) / denominator(x), coefficients from the lowest power on. */
typedef struct rational {
  double numerator[8], denominator[8];
} rational;

static const rational centre = {{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                                 4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
                                {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
                                 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
static const rational tail = {{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
                               1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
                              {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
                               1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
static const rational far_tail = {
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1, 2.65321895265761230930e-2,
     1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};

static double polynomial(const double coefficient[8], double x) {
  double value = coefficient[7];
  for (int i = 6; i >= 0; i--) {
    value = value * x + coefficient[i];
  }
  return value;
}

static double ratio(const rational *of, double x) { return polynomial(of->numerator, x) / polynomial(of->denominator, x); }

double oat_normal_quantile(double p) {
  if (!(p > 0 && p < 1)) {
    return NAN;
  }
  const double from_half = p - 0.5;
  if (fabs(from_half) <= 0.425) {
    return from_half * ratio(&centre, 0.180625 - from_half * from_half);
  }
  const double r = sqrt(-log(from_half < 0 ? p : 1 - p));
  return copysign(r <= 5 ? ratio(&tail, r - 1.6) : ratio(&far_tail, r - 5), from_half);
}
