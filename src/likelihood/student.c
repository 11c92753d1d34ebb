/* student-t: log p = constant - (degrees + 1) / 2 log(a^2 + x^2), x = f - y, a^2 = degrees scale^2.
 *
 * a may be far smaller than the deviation of f, and nodes would have to be as close as a. But log(a^2 + x^2) is
 * twice the real part of log(a + i x), which is analytic for all Im x < a: the path of integration may be moved
 * down, away from the singularity at i a. With x = mean + sd (z - i c),
 *
 *   E h(a + i x) = sum_k step phi(z_k) exp(c^2 / 2 + i c z_k) h(a + c sd + i (mean + sd z_k)),
 *
 * with c such that a + c sd is at least 2.4 sd, for h = log, 1 / . and 1 / .^2, the last two for the derivatives.
 * The cost does not depend on a, and the largest factor is 18.
 *
 * Densities and probabilities are averages over the precision, u its logarithm: given u, y is N(m, s + scale^2
 * exp(-u)), where exp(u) is a gamma variate of mean 1 and shape degrees / 2. */
#include <math.h>

#include "kernel/vector.h"
#include "util/draw.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"
#include "likelihood/threshold.h"
#include "oat_config.h"

enum { SCALE, DEGREES };

enum { NODES = 48 };
#define STEP 0.4
#define FAR 2.4

static double scale_of(const oat_response *response) { return response->parameters[SCALE]; }
static double degrees_of(const oat_response *response) { return response->parameters[DEGREES]; }

/* ---- expectations ---------------------------------------------------------------------------------------------- */

/* Averages of log((a^2 + x^2) / a^2), of the inverse of a + i x (imaginary part; real part times a), and of the
 * real part of its square. */
typedef struct averages {
  double log_ratio, imaginary, share, square;
} averages;

static void fill_grid(double *z, double *weight) {
  for (size_t k = 0; k < NODES; k++) {
    z[k] = STEP * ((double)k - 0.5 * (NODES - 1));
    weight[k] = STEP / OAT_ROOT_2PI * exp(-0.5 * z[k] * z[k]);
  }
}

/* The real and imaginary parts of the weights after a move by c. */
static void moved_weights(const double *z, const double *weight, double c, double *real, double *imaginary) {
  const double factor = exp(0.5 * c * c);
  for (size_t k = 0; k < NODES; k++) {
    real[k] = factor * weight[k] * cos(c * z[k]);
    imaginary[k] = factor * weight[k] * sin(c * z[k]);
  }
}

/* The inverse and its square. w = 1 / (b + i x) is computed in units of b, so that large x are harmless. */
OAT_CLONES
static averages inverse_sums(double b, const double *x, const double *real, const double *imaginary) {
  double im = 0, re = 0, square = 0;
#pragma omp simd reduction(+ : im, re, square)
  for (size_t k = 0; k < NODES; k++) {
    const double t = x[k] / b, size = 1 / (1 + t * t), w_re = size, w_im = -t * size;
    const double s_re = w_re * w_re - w_im * w_im, s_im = 2 * w_re * w_im;
    re += real[k] * w_re - imaginary[k] * w_im;
    im += real[k] * w_im + imaginary[k] * w_re;
    square += real[k] * s_re - imaginary[k] * s_im;
  }
  return (averages){0, im / b, re / b, square / (b * b)};
}

static averages average_of(double a, double mean, double sd, const double *z, const double *weight) {
  const double c = fmax(0, FAR - a / sd), b = c > 0 ? FAR * sd : a;
  double x[NODES], ratio2[NODES], real[NODES], imaginary[NODES] = {0};
  for (size_t k = 0; k < NODES; k++) {
    x[k] = mean + sd * z[k];
    ratio2[k] = x[k] / b * (x[k] / b);
    real[k] = weight[k];
  }
  if (c > 0) {
    moved_weights(z, weight, c, real, imaginary);
  }
  averages sum = inverse_sums(b, x, real, imaginary);
  sum.share *= a;
  oat_log1p(NODES, 1, ratio2, ratio2);
  sum.log_ratio = oat_sum_products(NODES, real, ratio2);
  if (c > 0) {
    for (size_t k = 0; k < NODES; k++) {
      sum.log_ratio -= 2 * imaginary[k] * atan(x[k] / b);
    }
    sum.log_ratio += 2 * log(b / a);
  }
  return sum;
}

static double constant_of(double scale, double degrees) {
  return oat_log_gamma(0.5 * (degrees + 1)) - oat_log_gamma(0.5 * degrees) - 0.5 * log(degrees * OAT_PI) - log(scale);
}

static void student_expect(const oat_expect_call *call) {
  const double scale = scale_of(call->response), degrees = degrees_of(call->response), a = scale * sqrt(degrees),
               more = degrees + 1;
  const double constant = constant_of(scale, degrees);
  const double constant_slope = 0.5 * degrees * (oat_digamma(0.5 * more) - oat_digamma(0.5 * degrees)) - 0.5;
  double z[NODES], weight[NODES];
  fill_grid(z, weight);
  for (size_t i = 0; i < call->answers->n; i++) {
    const averages e = average_of(a, call->latent->m[i] - call->answers->y[i], sqrt(call->latent->s[i]), z, weight);
    oat_expect_set(call, i, (oat_curve){constant - 0.5 * more * e.log_ratio, more * e.imaginary, -more * e.square});
    oat_expect_add(call, i, SCALE, more * (1 - e.share) - 1);
    oat_expect_add(call, i, DEGREES, constant_slope - 0.5 * degrees * e.log_ratio + 0.5 * more * (1 - e.share));
  }
}

static oat_curve student_curve(const oat_row_call *call, oat_answer answer, double f) {
  const double scale = scale_of(call->response), degrees = degrees_of(call->response), a = scale * sqrt(degrees),
               more = degrees + 1;
  const double t = (f - answer.y) / a, size = 1 / (1 + t * t),
               log_size = fabs(t) > 1e150 ? 2 * log(fabs(t)) : log1p(t * t);
  return (oat_curve){constant_of(scale, degrees) - 0.5 * more * log_size, -more * size * t / a,
                     more * size * (1 - 2 * size) / (a * a)};
}

/* ---- averages over the precision ------------------------------------------------------------------------------- */

typedef struct mixture {
  double half, scale2, s, distance; /* half the degrees; y - m */
} mixture;

static mixture mixture_of(const oat_response *response, double y, oat_belief f) {
  const double scale = scale_of(response);
  return (mixture){0.5 * degrees_of(response), scale * scale, f.s, y - f.m};
}

static double log_mixed(const void *with, double u) {
  const mixture *x = with;
  const double variance = x->s + x->scale2 * exp(-u);
  return oat_log_gamma_shape(x->half, u) - 0.5 * log(variance) - 0.5 * x->distance / variance * x->distance;
}

static double below_mixed(const void *with, double u) {
  const mixture *x = with;
  return oat_normal_cdf(x->distance / sqrt(x->s + x->scale2 * exp(-u)));
}

/* Steps by the width of the density of u. */
static double step_of(const mixture *x) { return fmin(0.4, 0.6 / sqrt(x->half)); }

/* Small precisions explain far targets, so there may be a second mode. It is not below the precision at which the
 * standard deviation equals the distance. */
static double student_predictive(const oat_row_call *call, oat_answer answer, oat_belief f) {
  if (!(f.s > 0)) {
    return student_curve(call, answer, f.m).value;
  }
  const mixture x = mixture_of(call->response, answer.y, f);
  const double low = fmax(-log1p(x.distance / x.scale2 * x.distance), -700);
  const double middle = log_mixed(&x, low) > log_mixed(&x, 0) ? low : 0;
  const oat_integrand integrand = {log_mixed, &x, low, middle, 0, step_of(&x)};
  const double constant = 0.5 * log(x.half) - OAT_LOG_ROOT_2PI - oat_stirling_rest(x.half);
  return oat_log_integral(&integrand) + constant - OAT_LOG_ROOT_2PI;
}

static double student_cdf(const oat_row_call *call, oat_answer answer, oat_belief f) {
  const mixture x = mixture_of(call->response, answer.y, f);
  const oat_threshold_average average = {x.half, 0, step_of(&x), below_mixed, &x};
  return oat_clip(oat_threshold_average_of(&average), 0, 1);
}

static oat_spread student_moments(const oat_row_call *call, double trials, oat_belief f) {
  (void)trials;
  const double scale = scale_of(call->response), degrees = degrees_of(call->response);
  return (oat_spread){f.m, degrees > 2 ? f.s + scale * scale * degrees / (degrees - 2) : HUGE_VAL};
}

static double student_quantile(const oat_row_call *call, double trials, oat_belief f, double p) {
  (void)trials;
  return oat_quantile_number(call, f, p);
}

static double student_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)trials;
  const double half = 0.5 * degrees_of(response), z = oat_rng_normal(rng);
  return f + scale_of(response) * z * exp(0.5 * (log(half) - oat_draw_log_gamma(half, rng)));
}

static oat_spread student_site(const oat_row_call *call, oat_answer answer) {
  return (oat_spread){answer.y, -1 / student_curve(call, answer, answer.y).second};
}

static double student_saturated(const oat_row_call *call, oat_answer answer) {
  return student_curve(call, answer, answer.y).value;
}

static bool student_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return isfinite(y);
}

/* f gets half of the variance; the rest is that of student-t with four degrees. */
static double student_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  parameters[DEGREES] = 4;
  parameters[SCALE] = moments->variance > 0 ? 0.5 * sqrt(moments->variance) : 1;
  return moments->mean;
}

const struct oat_row_functions oat_rows_student_t = {
    .expect = student_expect,
    .curve = student_curve,
    .predictive = student_predictive,
    .moments = student_moments,
    .cdf = student_cdf,
    .quantile = student_quantile,
    .draw = student_draw,
    .site = student_site,
    .saturated = student_saturated,
    .valid = student_valid,
    .start = student_start,
};
