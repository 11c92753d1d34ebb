/* Greedy variance: how many rows take part, and when to stop. The device does the factorisation (greedy residuals). */
#include "knots/strategy.h"

#include <math.h>
#include <stdlib.h>

#include "objective/sparse.h"

#define FACTOR_DOUBLES ((size_t)1 << 26) /* most of the factor: half a gigabyte */
/* Relative to the prior variance: below this, the residual variance of a row is rounding error. */
#define ROUNDING 1e-13
enum { BLOCK = 2048 }; /* rows at a time; not --block, since no choice may depend on that */

/* The number of rows that take part: as many as the factor has room for, but at least some for each knot. It does not
 * depend on --memory, because no choice may. */
static size_t rows_for(const oat_search *s, size_t k) {
  const size_t n = oat_rows_total(s->objective->config.rows);
  const size_t fit = FACTOR_DOUBLES / k, least = 4 * k, room = fit > least ? fit : least;
  const size_t most = OAT_GREEDY_ROWS < room ? OAT_GREEDY_ROWS : room;
  return n < most ? n : most;
}

/* The order is random even if all rows take part, because the first of equal rows is chosen. */
static oatgp_status make_sample(oat_search *s, size_t n, oat_rows **out) {
  const oat_rows *rows = s->objective->config.rows;
  size_t *chosen = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(s->ctx, n, sizeof *chosen, &chosen));
  oat_rng_sample(&s->state.rng, oat_rows_total(rows), n, chosen);
  TRY(oat_rows_take(s->ctx, rows, n, chosen, out));
done:
  free(chosen);
  return status;
}

/* Whether a row is useless as a knot: its residual variance is no more than rounding error, or than the jitter of the
 * knots so far. */
static bool is_explained(const oat_search *s, const oat_covariance *cov, oat_points knots, double left) {
  return !(left > fmax(oat_soft_variance(cov, knots, s->point.theta[OAT_TAU]), oat_kernel_share(cov, knots, ROUNDING)));
}

/* Chooses up to k rows as knots of the current model; *found: how many. */
static oatgp_status choose(const oat_search *s, const oat_covariance *cov, const oat_device_table *device,
                           oat_pivots *pivots, size_t k, size_t *found) {
  oatgp_status status = OATGP_OK;
  for (; *found < k && (*found == 0 || !oat_search_late(s, 0)); ++*found) {
    oat_pivot pivot;
    TRY(device->pivots_next(pivots, &pivot));
    /* the first is taken even where sigma^2 is out of range */
    if (*found > 0 && is_explained(s, cov, (oat_points){s->point.z, *found, k}, pivot.left)) {
      break;
    }
    for (size_t j = 0; j < s->mapping.d; j++) {
      s->point.z[*found + j * k] = pivot.inputs[j];
    }
    oat_tell_progress(s->ctx, "greedy variance", *found + 1, k);
  }
done:
  return status;
}

oatgp_status oat_knots_greedy(oat_search *s, size_t k) {
  const oat_covariance cov = oat_covariance_at(s->mapping.kernel, s->mapping.d, s->point.theta);
  const oat_device_config config = {.max_knots = 1,
                                    .block = BLOCK,
                                    .where = s->objective->config.where,
                                    .kernel = oat_kernel_size_of(s->mapping.kernel)};
  oat_rows *sample = NULL;
  oat_device *device = NULL;
  oat_pivots *pivots = NULL;
  size_t found = 0;
  oatgp_status status = OATGP_OK;
  TRY(make_sample(s, rows_for(s, k), &sample));
  TRY(oat_device_open(s->ctx, &config, sample, &device));
  TRY(device->table->pivots_begin(device, &cov, k, &pivots));
  s->state.k = k;
  TRY(choose(s, &cov, device->table, pivots, k, &found));
  oat_search_truncate(s, found);
done:
  if (device != NULL) {
    device->table->pivots_end(pivots);
  }
  oat_device_close(device);
  oat_rows_free(sample);
  return status;
}
