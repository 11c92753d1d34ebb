/* Draws of the parameters around those of the fit, for predictions that are averaged over them.
 *
 * The posterior of the logarithms x of the free parameters is taken as a Gaussian with the curvature of the objective
 * (Laplace). A curvature below LEAST is raised to LEAST: it occurs in directions that the rows do not determine, or in
 * which the objective still rises. A prior is the density of a parameter and not of its logarithm, so the log density
 * of x is the objective plus j . x, with 1 in j for each parameter that has a prior. The Gaussian is therefore centred
 * a Newton step from the best parameters, or a part of it that does not lower the density. Without that, lengthscales
 * that the rows do not determine would be drawn too short. Draws come in pairs, one on either side. The weight of a
 * draw is the ratio of the posterior to this Gaussian, and at most 1. docs/priors.md has what was measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/fit.h"

enum { MOST_ROWS = 2000, SWEEPS = 60, HALVINGS = 30 };
/* An average that was not asked for. With more rows, it gains little and takes long. */
enum { AUTOMATIC_DRAWS = 8, MOST_AUTOMATIC_ROWS = 500, ROWS_EACH = 50 };
#define STEP 1e-3         /* of the differences of the gradient */
#define LEAST 0.5         /* curvature: a standard deviation of 1.4 */
#define LEAST_WEIGHT 1e-9 /* relative to a draw with full weight */

static size_t count_free(const oat_setup *setup) {
  size_t count = 0;
  for (size_t i = 0; i < oat_theta_count(setup->kernel, setup->scaling.d); i++) {
    count += setup->free[i];
  }
  return count;
}

oatgp_status oat_average_check(oatgp_context *ctx, const oat_setup *setup) {
  const oatgp_settings *s = setup->settings;
  if (s->average <= 0) {
    return OATGP_OK;
  }
  REFUSE_IF(setup->likelihood != NULL, ctx, OATGP_ARGUMENT,
            "--average needs Gaussian noise, and --likelihood=%s has another likelihood; leave out --average",
            setup->likelihood->name);
  REFUSE_IF(oat_setup_neighbours(setup) > 0, ctx, OATGP_ARGUMENT,
            "--average does not work with neighbours; leave out --average or --neighbours");
  REFUSE_IF(count_free(setup) == 0, ctx, OATGP_ARGUMENT,
            "--average has nothing to average over, because no parameter is free; leave out --average or --fix");
  REFUSE_IF(
      setup->from == NULL && setup->data->n > MOST_ROWS, ctx, OATGP_ARGUMENT,
      "--average is for at most %d rows, and there are %zu; with so many rows the parameters are known well enough, "
      "so leave it out",
      MOST_ROWS, setup->data->n);
  return OATGP_OK;
}

/* ---- the Gaussian ---------------------------------------------------------------------------------------------- */

typedef struct laplace {
  oat_fit_run *fit;
  oat_scratch memory;
  oat_mapping mapping; /* of parameters only, without knots */
  size_t n;            /* free ones */
  oat_point point;
  oat_gradient gradient;
  double *x, *lower, *upper, *unused; /* n: logarithms at the best point, later at the centre; their bounds */
  double *j;                          /* n: 1 for a parameter with a prior, else 0 */
  double *curvature;                  /* n x n; after Jacobi's method, eigenvalues on the diagonal */
  double *ways;                       /* n x n: eigenvectors */
  double *slopes;                     /* n x 2 */
  double value;                       /* of the objective at x */
} laplace;

static oatgp_status open_laplace(oat_fit_run *f, laplace *l) {
  const size_t theta = oat_theta_count(f->setup.kernel, f->setup.scaling.d);
  *l = (laplace){.fit = f, .memory = {.ctx = f->ctx}, .mapping = f->search.mapping};
  oat_scratch *memory = &l->memory;
  l->mapping.k = l->mapping.first = f->best.k; /* the knots stay */
  l->n = oat_mapping_count(&l->mapping);
  l->point = (oat_point){oat_take_doubles(memory, theta, 1), f->best.point.z};
  l->gradient = (oat_gradient){oat_take_doubles(memory, theta, 1), NULL, !l->mapping.free[OAT_TAU]};
  l->x = oat_take_doubles(memory, l->n, 1);
  l->lower = oat_take_doubles(memory, l->n, 1);
  l->upper = oat_take_doubles(memory, l->n, 1);
  l->unused = oat_take_doubles(memory, l->n, 1);
  l->j = oat_take_doubles(memory, l->n, 1);
  l->curvature = oat_take_doubles(memory, l->n, l->n);
  l->ways = oat_take_doubles(memory, l->n, l->n);
  l->slopes = oat_take_doubles(memory, l->n, 2);
  PASS_ON(memory->status);
  memcpy(l->point.theta, f->best.point.theta, theta * sizeof *l->point.theta);
  oat_mapping_pack(&l->mapping, &f->best.point, l->x);
  oat_mapping_bounds(&l->mapping, l->x, l->lower, l->upper, l->unused);
  return OATGP_OK;
}

/* The objective at these logarithms, and its derivatives, unless they are NULL. */
static oatgp_status evaluate(laplace *l, const double *x, double *value, double *slope) {
  oat_mapping_unpack(&l->mapping, x, &l->point);
  PASS_ON(oat_objective_evaluate(l->fit->objective, &l->point, value, slope != NULL ? &l->gradient : NULL));
  if (slope != NULL) {
    oat_mapping_gradient(&l->mapping, x, &l->gradient, slope);
  }
  return OATGP_OK;
}

/* A column of the curvature by differences; 0 where the objective has no value beside the best point. */
static oatgp_status find_column(laplace *l, size_t j) {
  const double at = l->x[j];
  double value;
  oatgp_status status = OATGP_OK;
  for (size_t side = 0; side < 2 && status == OATGP_OK; side++) {
    l->x[j] = at + (side == 0 ? STEP : -STEP);
    status = evaluate(l, l->x, &value, l->slopes + side * l->n);
  }
  l->x[j] = at;
  for (size_t i = 0; i < l->n; i++) {
    l->curvature[i + j * l->n] = status == OATGP_OK ? (l->slopes[l->n + i] - l->slopes[i]) / (2 * STEP) : 0;
  }
  return status == OATGP_NUMERIC ? OATGP_OK : status;
}

/* Rotates rows and columns p and q so that element (p, q) becomes 0. */
static void turn(size_t n, double *a, double *ways, size_t p, size_t q) {
  const double off = a[p + q * n], apart = (a[q + q * n] - a[p + p * n]) / (2 * off);
  const double t = (apart >= 0 ? 1 : -1) / (fabs(apart) + hypot(apart, 1)), c = 1 / hypot(t, 1), s = t * c;
  for (size_t i = 0; i < n; i++) {
    const double ip = a[i + p * n], iq = a[i + q * n];
    a[i + p * n] = c * ip - s * iq;
    a[i + q * n] = s * ip + c * iq;
  }
  for (size_t i = 0; i < n; i++) {
    const double pi = a[p + i * n], qi = a[q + i * n], wp = ways[i + p * n], wq = ways[i + q * n];
    a[p + i * n] = c * pi - s * qi;
    a[q + i * n] = s * pi + c * qi;
    ways[i + p * n] = c * wp - s * wq;
    ways[i + q * n] = s * wp + c * wq;
  }
}

/* Eigenvalues of a symmetric matrix on its diagonal, and eigenvectors, by Jacobi's method. */
static void find_ways(size_t n, double *a, double *ways) {
  bool done = false;
  for (size_t i = 0; i < n * n; i++) {
    ways[i] = i % (n + 1) == 0;
  }
  for (size_t sweep = 0; sweep < SWEEPS && !done; sweep++) {
    done = true;
    for (size_t q = 1; q < n; q++) {
      for (size_t p = 0; p < q; p++) {
        if (fabs(a[p + q * n]) > 1e-15 * sqrt(fabs(a[p + p * n] * a[q + q * n])) && fabs(a[p + q * n]) > 1e-300) {
          turn(n, a, ways, p, q);
          done = false;
        }
      }
    }
  }
}

/* A fit without time for the next column of the curvature, or the next draw, goes on without averages. */
static oatgp_status check_time(const laplace *l) {
  return oat_search_late(&l->fit->search, 2) ? OATGP_STOPPED : OATGP_OK;
}

static oatgp_status find_curvature(laplace *l) {
  for (size_t j = 0; j < l->n; j++) {
    PASS_ON(check_time(l));
    PASS_ON(find_column(l, j));
    oat_tell_progress(l->fit->ctx, "curvature", j + 1, l->n);
  }
  oat_average_halves(l->n, l->curvature, 1);
  find_ways(l->n, l->curvature, l->ways);
  return OATGP_OK;
}

/* ---- the draws ------------------------------------------------------------------------------------------------- */

/* to = W f(eigenvalues) W^T z: by the curvature, or by its inverse root. */
typedef enum multiplied { CURVATURE, INVERSE_ROOT } multiplied;
static void multiply(const laplace *l, multiplied by_what, const double *z, double *to) {
  const size_t n = l->n;
  memset(to, 0, n * sizeof *to);
  for (size_t j = 0; j < n; j++) {
    const double value = fmax(l->curvature[j * (n + 1)], LEAST), *way = l->ways + j * n;
    const double by = (by_what == INVERSE_ROOT ? 1 / sqrt(value) : value) * oat_dot(n, way, z);
    for (size_t i = 0; i < n; i++) {
      to[i] += by * way[i];
    }
  }
}

static void mark_priors(laplace *l) {
  const oat_prior *prior = l->fit->objective->config.prior;
  memset(l->j, 0, l->n * sizeof *l->j);
  for (size_t t = 0; prior != NULL && t < prior->count; t++) {
    size_t at = 0;
    for (size_t i = 0; i < prior->term[t].place; i++) {
      at += l->mapping.free[i];
    }
    if (l->mapping.free[prior->term[t].place]) {
      l->j[at] = 1;
    }
  }
}

/* to <- the point a share of the step from x, within the bounds. */
static void go(const laplace *l, const double *step, double share, double *to) {
  for (size_t i = 0; i < l->n; i++) {
    to[i] = fmin(fmax(l->x[i] + share * step[i], l->lower[i]), l->upper[i]);
  }
}

/* From the best parameters towards the mode of the logarithms, by a step that does not lower their density. */
static oatgp_status move_to_centre(laplace *l) {
  double *step = oat_take_doubles(&l->memory, l->n, 2), *at = step + l->n, value;
  PASS_ON(l->memory.status);
  mark_priors(l);
  multiply(l, INVERSE_ROOT, l->j, at);
  multiply(l, INVERSE_ROOT, at, step);
  for (int tries = 0; tries < HALVINGS; tries++) {
    go(l, step, ldexp(1, -tries), at);
    const oatgp_status status = evaluate(l, at, &value, NULL);
    if (status == OATGP_OK && value + oat_dot(l->n, l->j, at) >= l->value + oat_dot(l->n, l->j, l->x)) {
      memcpy(l->x, at, l->n * sizeof *at);
      l->value = value;
      break;
    }
    PASS_ON(status == OATGP_NUMERIC ? OATGP_OK : status);
  }
  return OATGP_OK;
}

/* The weight of the draw at the distance `apart` from the centre. */
static double weigh(const laplace *l, double value, const double *apart, double *room) {
  multiply(l, CURVATURE, apart, room);
  const double expected = l->value - 0.5 * oat_dot(l->n, apart, room);
  value += oat_dot(l->n, l->j, apart);
  return exp(fmax(fmin(value - expected, 0), log(LEAST_WEIGHT)));
}

/* One draw and its weight. It stays within the bounds, and moves halfway back until the objective can be evaluated. */
static oatgp_status place_draw(laplace *l, const double *z, double *apart, double *at, double *weight) {
  oatgp_status status = OATGP_NUMERIC;
  double value = l->value;
  multiply(l, INVERSE_ROOT, z, apart);
  for (size_t tries = 0; tries < HALVINGS && status == OATGP_NUMERIC; tries++) {
    go(l, apart, ldexp(1, -(int)tries), at);
    status = evaluate(l, at, &value, NULL);
  }
  PASS_ON(status);
  for (size_t i = 0; i < l->n; i++) {
    apart[i] = at[i] - l->x[i];
  }
  *weight = weigh(l, value, apart, at);
  return OATGP_OK;
}

static void draw_normal(const laplace *l, size_t draw, oat_rng *rng, double *z) {
  for (size_t i = 0; i < l->n; i++) {
    z[i] = draw % 2 == 0 ? oat_rng_normal(rng) : -z[i];
  }
}

static oatgp_status draw_all(laplace *l, oatgp_model *model) {
  const size_t count = model->draw_count;
  double *room = oat_take_doubles(&l->memory, l->n, 3), sum = 0;
  oat_rng rng;
  PASS_ON(l->memory.status);
  oat_rng_seed(&rng, ~(uint64_t)l->fit->setup.settings->seed); /* other numbers than those of the fit */
  for (size_t draw = 0; draw < count; draw++) {
    PASS_ON(check_time(l));
    draw_normal(l, draw, &rng, room);
    PASS_ON(place_draw(l, room, room + l->n, room + 2 * l->n, &model->draw_weights[draw]));
    sum += model->draw_weights[draw];
    for (size_t j = 0; j < oat_theta_count(model->kernel, model->d); j++) {
      model->draws[draw + j * count] = l->point.theta[j];
    }
    oat_tell_progress(l->fit->ctx, "draws", draw + 1, count);
  }
  for (size_t draw = 0; draw < count; draw++) {
    model->draw_weights[draw] /= sum;
  }
  return OATGP_OK;
}

/* Whether there are more rows than in the model that the refit continues. */
static bool too_many_rows(const oat_fit_run *f) {
  const size_t n = oat_rows_total(f->setup.rows);
  if (n > MOST_ROWS) {
    oat_say(f->ctx, OATGP_WARNING,
            "predictions are no longer averaged: there are %zu rows, and --average is for at most %d", n, MOST_ROWS);
  }
  return n > MOST_ROWS;
}

/* Whether an automatic fit found all parameters, and there is time to average over draws of them. */
static bool may_average(const oat_fit_run *f) {
  const oat_setup *setup = &f->setup;
  const bool possible = setup->likelihood == NULL && oat_setup_neighbours(setup) == 0 && f->best.neighbours == 0 &&
                        oat_rows_total(setup->rows) <= MOST_AUTOMATIC_ROWS;
  const bool found = setup->strategy->automatic && setup->settings->max_iter > 0 && !f->search.state.held &&
                     *setup->settings->fix == '\0';
  return possible && found && f->best.stop != OATGP_STOP_TIME && f->best.stop != OATGP_STOP_USER;
}

/* The draws of a fit that chooses their number. Few rows do not determine the parameters. Scores of the same rows do
 * not show how much worse new rows are predicted. */
static size_t choose_draws(const oat_fit_run *f) {
  const size_t rows = oat_rows_total(f->setup.rows);
  const size_t parameters = count_free(&f->setup) - f->setup.free[OAT_TAU];
  if (!may_average(f) || rows >= ROWS_EACH * parameters) {
    return 0;
  }
  if (!f->request->unscored) {
    oat_say(f->ctx, OATGP_NOTE,
            "%zu rows are few for the parameters of the covariance, so predictions are averages over %d draws of the "
            "parameters; --average=0 uses the best parameters alone",
            rows, AUTOMATIC_DRAWS);
  }
  return AUTOMATIC_DRAWS;
}

/* Rows that stay in their file are read: there are few of them. */
static oatgp_status keep_rows(const oat_fit_run *f, oatgp_model *model) {
  const oat_rows *rows = f->objective->config.rows;
  const size_t n = oat_rows_total(rows);
  size_t *all = NULL;
  oat_rows *copy = NULL;
  oatgp_status status;
  if (!oat_data_is_streamed(f->setup.data)) {
    return oat_model_keep_rows(f->ctx, model, rows);
  }
  TRY(oat_new(f->ctx, n, sizeof *all, &all));
  for (size_t i = 0; i < n; i++) {
    all[i] = i;
  }
  TRY(oat_rows_take(f->ctx, rows, n, all, &copy));
  TRY(oat_model_keep_rows(f->ctx, model, copy));
done:
  free(all);
  oat_rows_free(copy);
  return status;
}

oatgp_status oat_average(oat_fit_run *f, oatgp_model *model) {
  const int64_t given = f->setup.settings->average;
  const size_t count = given < 0 ? choose_draws(f) : (size_t)given;
  laplace l = {0};
  oatgp_status status = OATGP_OK;
  if (count == 0 || too_many_rows(f)) {
    return OATGP_OK;
  }
  TRY(open_laplace(f, &l));
  TRY(evaluate(&l, l.x, &l.value, NULL));
  TRY(find_curvature(&l));
  TRY(move_to_centre(&l));
  TRY(oat_model_allocate_draws(f->ctx, model, count));
  TRY(draw_all(&l, model));
  TRY(keep_rows(f, model));
  TRY(oat_model_make_members(f->ctx, model));
done:
  if (status == OATGP_STOPPED || (status == OATGP_NUMERIC && given < 0)) {
    oat_model_free_draws(model);
    oat_say(f->ctx, OATGP_WARNING, "predictions are not averaged over draws of the parameters, because %s",
            status == OATGP_STOPPED ? "the time limit was reached" : "the objective has no value at one of them");
    status = OATGP_OK;
  } else if (status == OATGP_NUMERIC) {
    status = oat_fail(f->ctx, status, "the objective has no value at a draw of the parameters; leave out --average");
  }
  oat_scratch_free(&l.memory);
  return status;
}
