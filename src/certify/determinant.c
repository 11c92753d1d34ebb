/* How much larger the determinant of C = K + D is than that of P = Q + D, from two traces.
 *
 * With G = K - Q, and P^-1 = D^-1 - U^T U, U = LB^-1 V D^-1, and T = G U^T:
 *   tr P^-1 G = tr D^-1 G - tr U T,   tr (P^-1 G)^2 = sum G_ij^2 / (n_i n_j) - 2 sum |T_i|^2 / n_i + |U T|^2 */
#include "certify/certify.h"

#include <math.h>

#define ROUNDING 1e-13          /* relative, of the two sums whose difference is a trace */
#define VARIANCE_ROUNDING 1e-15 /* relative to the prior variance, since G is a difference of such variances */

double oat_traces_lost(const oat_sparse *sparse, double weights) {
  return oat_kernel_share(&sparse->cov, oat_sparse_knots(sparse), VARIANCE_ROUNDING) * weights;
}

oat_traces oat_traces_from(const oat_trace_sums *sums, double trace, double lost) {
  const double square = sums->square;
  return (oat_traces){.first = trace - sums->ut,
                      .second = square - 2 * sums->tw + sums->ut_squares,
                      .first_error = ROUNDING * trace + lost,
                      .second_error = ROUNDING * (square + sums->ut_squares) + lost * (2 * sqrt(square) + lost)};
}

/* The largest sum of log(1 + x) over n numbers from 0 to `most` whose sum and sum of squares are given: some are
 * `most`, the others equal. For the parabola h that touches log(1 + x) at the others and meets it at `most`, log(1 + x)
 * - h(x) = f''' (x - others)^2 (x - most) / 6, f''' > 0, which is never positive; and the sum of h depends on the two
 * sums alone. */
static double largest_sum(double n, double sum, double squares, double most) {
  const double mean = sum / n, square = squares / n;
  if (!(most > mean && square > mean * mean && most * mean >= square)) {
    return n * log1p(mean);
  }
  const double others = (most * mean - square) / (most - mean);
  const double share = (square - mean * mean) / (most * most - 2 * mean * most + square);
  return n * ((1 - share) * log1p(others) + share * log1p(most));
}

/* The smallest sum: some are equal, the others 0, by the parabola that touches at the former and meets log(1 + x) at 0.
 * The rounding errors are taken in the direction that widens the bounds: both rise with the sum and fall with the
 * squares. */
oat_determinant oat_determinant_bounds(size_t n, const oat_traces *m) {
  const double least = m->first - m->first_error, squares = m->second + m->second_error;
  const double low = least > 0 ? least * least / squares * log1p(squares / least) : 0;
  const double high =
      largest_sum((double)n, fmax(m->first, 0) + m->first_error, m->second - m->second_error, sqrt(fmax(squares, 0)));
  return (oat_determinant){low, high};
}
