/* Lists of neighbours: inverted lists, and how much each input contributes to the distances. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/near.h"
#include "util/memory.h"

enum { SHARE_POINTS = 1000 }; /* approximate number of points from whose neighbours the shares are computed */

static size_t count_of(const oat_near_lists *lists, size_t i) {
  const size_t rank = lists->rank != NULL ? lists->rank[i] : i;
  return rank < lists->most ? rank : lists->most;
}

void oat_near_turn(const oat_near_lists *lists, size_t *start, size_t *entry) {
  const size_t n = lists->n, most = lists->most;
  memset(start, 0, (n + 1) * sizeof *start);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < count_of(lists, i); j++) {
      start[lists->list[i * most + j] + 1]++;
    }
  }
  for (size_t i = 0; i < n; i++) {
    start[i + 1] += start[i];
  }
  for (size_t i = n; i-- > 0;) { /* from the end, so that each start ends where it belongs */
    for (size_t j = count_of(lists, i); j-- > 0;) {
      const size_t place = i * most + j, of = lists->list[place];
      entry[--start[of + 1]] = place;
    }
  }
  memmove(start, start + 1, n * sizeof *start);
  start[n] = 0;
  for (size_t i = 0; i < n; i++) {
    start[n] += count_of(lists, i);
  }
}

/* Adds the shares of the inputs in the squared distance of two points; returns false if that is 0. */
static bool add_shares(const oat_covariance *cov, const oat_near_inputs *inputs, size_t a, size_t b, double *each,
                       double *share) {
  double total = 0;
  for (size_t j = 0; j < cov->d; j++) {
    const double *x = inputs->x + j * inputs->input;
    const double t = (x[a * inputs->point] - x[b * inputs->point]) / oat_kernel_lengthscale(cov, j);
    each[j] = t * t;
    total += each[j];
  }
  for (size_t j = 0; j < cov->d && total > 0; j++) {
    share[j] += each[j] / total;
  }
  return total > 0;
}

void oat_near_shares(const oat_near_lists *lists, const oat_covariance *cov, const oat_near_inputs *inputs,
                     double *room, double *share) {
  double pairs = 0;
  memset(share, 0, cov->d * sizeof *share);
  for (size_t i = 0; i < lists->n; i += lists->n / SHARE_POINTS + 1) {
    for (size_t j = 0; j < count_of(lists, i); j++) {
      pairs += add_shares(cov, inputs, i, lists->list[i * lists->most + j], room, share);
    }
  }
  for (size_t j = 0; j < cov->d && pairs > 0; j++) {
    share[j] /= pairs;
  }
}

oatgp_status oat_near_open_for(oatgp_context *ctx, oat_points points, const oat_covariance *cov, int threads,
                               oat_near **out) {
  double *inverse = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, cov->d, 1, &inverse));
  for (size_t j = 0; j < cov->d; j++) {
    inverse[j] = 1 / oat_kernel_lengthscale(cov, j);
  }
  TRY(oat_near_open(ctx, points, cov->d, inverse, threads, out));
done:
  free(inverse);
  return status;
}
