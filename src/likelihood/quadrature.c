/* Integrals over f by equidistant nodes, see quadrature.h. */
#include "likelihood/quadrature.h"

#include <math.h>

#include "kernel/vector.h"
#include "likelihood/special.h"

/* ---- expectations ---------------------------------------------------------------------------------------------- */

/* Nodes z = (k + 1/2 - count / 2) step in units of the deviation. */
typedef struct grid {
  size_t count;
  double step;
} grid;

static grid grid_for(double sd) {
  const double step = fmin(0.7, 0.4 / sd), wanted = ceil(2 * OAT_REACH / step / 8) * 8;
  if (wanted > OAT_NODES_MOST) {
    return (grid){OAT_NODES_MOST, 2 * OAT_REACH / OAT_NODES_MOST};
  }
  return (grid){(size_t)wanted, step};
}

/* The places z of n nodes from `first` on, and their weights step phi(z). */
static void grid_nodes(const grid *g, size_t first, size_t n, double *z, double *weight) {
  const double begin = (double)first + 0.5 - 0.5 * (double)g->count;
  for (size_t k = 0; k < n; k++) {
    z[k] = (begin + (double)k) * g->step;
    weight[k] = z[k] * z[k];
  }
  oat_exp(n, -0.5, g->step / OAT_ROOT_2PI, weight, weight);
}

oat_expected oat_expect_nodes(oat_belief belief, oat_nodes_fn fn, const void *row) {
  const double sd = sqrt(belief.s);
  const grid g = grid_for(sd);
  oat_nodes at;
  oat_expected sum = {0};
  for (size_t first = 0; first < g.count; first += OAT_NODES_AT_ONCE) {
    const size_t n = g.count - first < OAT_NODES_AT_ONCE ? g.count - first : OAT_NODES_AT_ONCE;
    double z[OAT_NODES_AT_ONCE], weight[OAT_NODES_AT_ONCE];
    grid_nodes(&g, first, n, z, weight);
    for (size_t k = 0; k < n; k++) {
      at.f[k] = belief.m + sd * z[k];
    }
    fn(row, n, &at);
    sum.curve.value += oat_sum_products(n, weight, at.value);
    sum.curve.first += oat_sum_products(n, weight, at.first);
    sum.curve.second += oat_sum_products(n, weight, at.second);
    sum.extra += oat_sum_products(n, weight, at.extra);
  }
  return sum;
}

/* ---- logarithms of integrals ----------------------------------------------------------------------------------- */

/* A sum of exponentials, relative to the largest so far. */
typedef struct log_sum {
  double largest, sum;
} log_sum;

static void add(log_sum *total, double log_value) {
  if (!(log_value > -HUGE_VAL)) {
    return;
  }
  if (log_value > total->largest) {
    total->sum = total->sum * exp(total->largest - log_value) + 1;
    total->largest = log_value;
  } else {
    total->sum += exp(log_value - total->largest);
  }
}

/* Adds the nodes from x on in steps until the value is below exp(-45) of the largest, outside of [low, high]. */
static void add_side(const oat_integrand *in, double x, double step, log_sum *total) {
  const double first = x;
  for (double k = 1; k < 1e6; k++) {
    const double log_value = in->log_value(in->with, x);
    add(total, log_value);
    if ((x < in->low || x > in->high) && log_value < total->largest - 45) {
      break;
    }
    x = first + k * step;
  }
}

double oat_log_integral(const oat_integrand *in) {
  log_sum total = {-HUGE_VAL, 0};
  double step = in->step, last = -HUGE_VAL, now = in->log_value(in->with, in->middle);
  if (now < -1e11) {
    return now; /* differences of such numbers are meaningless */
  }
  add_side(in, in->middle, step, &total);
  add_side(in, in->middle - step, -step, &total);
  now = total.largest + log(total.sum * step);
  for (int level = 0; level < 14 && fabs(now - last) > 1e-7; level++) { /* the next error is about the square of this */
    add_side(in, in->middle + 0.5 * step, step, &total);
    add_side(in, in->middle - 0.5 * step, -step, &total);
    step *= 0.5;
    last = now;
    now = total.largest + log(total.sum * step);
  }
  return now;
}
