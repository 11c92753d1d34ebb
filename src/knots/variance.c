/* Greedy variance (Burt, Rasmussen and van der Wilk 2020): the knots are the rows that a pivoted Cholesky factorisation of the kernel
 * takes first, each the one that those before it explain least. When the parameters have moved the rows are chosen again; the new
 * choice is kept only if the objective is higher. O(n K^2) a choice, with n at most VARIANCE_ROWS random rows. */
#include <math.h>
#include <stdlib.h>

#include "knots/strategy.h"
#include "linalg/linalg.h"
#include "util/memory.h"

enum { VARIANCE_ROWS = 20000, MAX_ROUNDS = 20 };

typedef struct pivots {
  oatgp_context *ctx; /* for progress alone */
  size_t n, d, k;
  double *x;      /* n x d, column-major: the rows that take part */
  double *left;   /* n: variance not explained yet */
  double *factor; /* n x k */
  double *column, *work, *row;
} pivots;

static void free_pivots(pivots *p) {
  double *const arrays[] = {p->x, p->left, p->factor, p->column, p->work, p->row};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
}

static oatgp_status make_pivots(oat_search *s, pivots *p) {
  const oat_rows *rows = s->objective->config.rows;
  size_t *chosen = NULL;
  oatgp_status status = OATGP_OK;
  *p = (pivots){.ctx = s->ctx, .n = rows->n < VARIANCE_ROWS ? rows->n : VARIANCE_ROWS, .d = rows->d, .k = s->settings.max_knots};
  TRY(oat_new_matrix(s->ctx, p->n, p->d, &p->x));
  TRY(oat_new_matrix(s->ctx, p->n, 1, &p->left));
  TRY(oat_new_matrix(s->ctx, p->n, p->k, &p->factor));
  TRY(oat_new_matrix(s->ctx, p->n, 1, &p->column));
  TRY(oat_new_matrix(s->ctx, oat_kernel_work(p->n, 1, p->d), 1, &p->work));
  TRY(oat_new_matrix(s->ctx, p->k, 1, &p->row));
  TRY(oat_new(s->ctx, p->n, sizeof *chosen, &chosen));
  oat_rng_sample(&s->state.rng, rows->n, p->n, chosen);
  for (size_t i = 0; i < p->n * p->d; i++) {
    p->x[i] = rows->x[chosen[i % p->n] + i / p->n * rows->n];
  }
done:
  free(chosen);
  return status;
}

/* Column number c of the factor, for the row `pivot`. */
static void eliminate(pivots *p, const oat_covariance *cov, size_t pivot, size_t c) {
  const oat_points x = {p->x, p->n, p->n}, z = {p->x + pivot, 1, p->n};
  const double root = sqrt(p->left[pivot]);
  for (size_t j = 0; j < c; j++) {
    p->row[j] = p->factor[pivot + j * p->n];
  }
  oat_kernel_cross(cov, x, z, p->column, p->n, p->work);
  oat_gemv(-1, (oat_const_view){p->factor, p->n, c, p->n}, OAT_PLAIN, p->row, 1, p->column);
  for (size_t i = 0; i < p->n; i++) {
    const double element = p->column[i] / root;
    p->factor[i + c * p->n] = element;
    p->left[i] -= element * element;
  }
  p->left[pivot] = 0;
}

/* Chooses the knots of the point at its parameters; may find fewer when the rest is explained to rounding. */
static size_t choose(pivots *p, const oat_covariance *cov, oat_point *point) {
  const double sigma2 = cov->sigma * cov->sigma;
  size_t found = 0;
  for (size_t i = 0; i < p->n; i++) {
    p->left[i] = sigma2;
  }
  for (; found < p->k; found++) {
    size_t pivot = 0;
    for (size_t i = 1; i < p->n; i++) {
      pivot = p->left[i] > p->left[pivot] ? i : pivot;
    }
    if (!(p->left[pivot] > 1e-12 * sigma2)) {
      break;
    }
    for (size_t j = 0; j < p->d; j++) {
      point->z[found + j * p->k] = p->x[pivot + j * p->n];
    }
    if (found + 1 < p->k) {
      eliminate(p, cov, pivot, found);
    } else {
      p->left[pivot] = 0;
    }
    oat_tell_progress(p->ctx, "greedy variance", found + 1, p->k);
  }
  return found;
}

/* Makes the greedy choice the current model, on trial. */
static oatgp_status choose_again(oat_search *s) {
  const oat_covariance cov = oat_covariance_at(s->mapping.kernel, s->mapping.d, s->point.theta);
  pivots p = {0};
  oatgp_status status = OATGP_OK;
  TRY(make_pivots(s, &p));
  oat_search_mark(s);
  s->state.k = p.k;
  oat_search_truncate(s, choose(&p, &cov, &s->point));
done:
  free_pivots(&p);
  return status;
}

oatgp_status oat_run_variance(const oat_strategy *strategy, oat_search *s) {
  oatgp_status status = OATGP_OK;
  (void)strategy;
  while (!oat_search_halted(s) && s->state.phase == OAT_PHASE_PARAMETERS && s->state.round < MAX_ROUNDS) {
    if (s->resumed == NULL) {
      TRY(choose_again(s));
      const oatgp_status evaluated = oat_search_evaluate(s);
      if (s->state.round > 0 && (evaluated != OATGP_OK || s->state.value <= s->state.value_before + s->settings.tol_knot)) {
        oat_search_revert(s);
        break;
      }
      TRY(evaluated);
    }
    TRY(oat_search_optimise(s, s->state.k, &s->limits));
    s->state.round++;
  }
  s->state.phase = oat_search_halted(s) ? s->state.phase : OAT_PHASE_POLISH;
  if (s->state.k < s->settings.max_knots) {
    oat_say(s->ctx, OATGP_NOTE, "%zu knots instead of %zu: they explain all other rows to rounding", s->state.k, s->settings.max_knots);
  }
  TRY(oat_run_polish(s));
done:
  return status;
}
