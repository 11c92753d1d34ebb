/* Scores of predictions. */
#include "predict/metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define HALF_LOG_2PI 0.91893853320467274178

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* A compensated sum (Neumaier 1974), as accurate as in twice the precision. */
typedef struct total {
  double sum, lost;
} total;

static void add(total *to, double value) {
  const double sum = to->sum + value;
  to->lost += fabs(to->sum) >= fabs(value) ? (to->sum - sum) + value : (value - sum) + to->sum;
  to->sum = sum;
}

/* For an infinite sum, the compensation is NaN and is ignored. */
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

/* After rounding, the mean of equal values may differ from them, so equal values are detected first. */
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
    size_t i = left, j = right + 1; /* j is one past its place, because its place may become -1 */
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

double oat_quantile_coverage(size_t n, const double *below, const double *up_to, double p) {
  const double least = 0.5 - 0.5 * p, most = 0.5 + 0.5 * p;
  total inside = {0};
  for (size_t i = 0; i < n; i++) {
    add(&inside, isnan(below[i]) || isnan(up_to[i]) ? NAN : up_to[i] >= least && below[i] < most);
  }
  return result(&inside) / (double)n;
}

double oat_brier(size_t n, const double *y, const double *p) {
  total squares = {0};
  for (size_t i = 0; i < n; i++) {
    add(&squares, (p[i] - y[i]) * (p[i] - y[i]));
  }
  return result(&squares) / (double)n;
}

static int by_p(const void *a, const void *b) {
  const oat_scored *const first = a, *const second = b;
  return (first->p > second->p) - (first->p < second->p);
}

/* Each group of equal p has as many rows with y = 1 and 0 as it has; `zeros` of y = 0 came before. */
double oat_auc(size_t n, const double *y, const double *p, oat_scored *order) {
  double zeros = 0, ones = 0, wins = 0;
  for (size_t i = 0; i < n; i++) {
    if (isnan(p[i])) {
      return NAN;
    }
    order[i] = (oat_scored){p[i], y[i]};
  }
  qsort(order, n, sizeof *order, by_p);
  for (size_t i = 0; i < n;) {
    double here[2] = {0, 0};
    const double value = order[i].p;
    for (; i < n && order[i].p == value; i++) {
      here[order[i].y == 1]++;
    }
    wins += here[1] * (zeros + 0.5 * here[0]);
    zeros += here[0];
    ones += here[1];
  }
  return zeros > 0 && ones > 0 ? wins / zeros / ones : NAN;
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
