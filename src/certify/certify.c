/* Lower and upper bounds of the exact log evidence at a model's parameters.
 *
 * Let r = y - mean, D the noise variances of the rows, C = K + D and P = Q + D, where Q is the part of K that the knots
 * explain (so K - Q = C - P is positive semidefinite), g_i the diagonal of K - Q and t = sum g_i / n_i:
 *
 *   log p(y) = -N/2 log 2 pi - 1/2 log|C| - 1/2 r . C^-1 r
 *
 *   log|P| <= log|C| <= log|P| + sum log(1 + g_i / n_i)
 *     because |C| / |P| = |I + G P^-1| <= |I + G D^-1| for G = K - Q, as P >= D, and this is at most the product of the
 *     diagonal of I + D^-1/2 G D^-1/2 (Hadamard). The bound is never above N log(1 + t / N), that of Artemev, Burt and
 *     van der Wilk (2021). determinant.c has closer bounds from tr A and tr A^2, A = P^-1/2 G P^-1/2
 *   q(x) <= r . C^-1 r <= q(x) + e . P^-1 e
 *     for ANY x, with q(x) = 2 r . x - x . C x and e = r - C x: the difference r . C^-1 r - q(x) is e . C^-1 e, which
 *     is at least 0, and at most e . P^-1 e because C >= P
 *
 * So the two lines give an upper and a lower bound for any x, and stopping early only makes them wider. x comes from
 * conjugate gradients on C x = r preconditioned by P: q(x) rises with every iteration, and e . P^-1 e is computed
 * anyway. They start at x = 0, where the lower bound is the objective of tvfe. That is never below the evidence lower
 * bound F of vfe, which has t instead of sum log(1 + g_i / n_i).
 *
 * F = log p(y) - KL(q || posterior) for the variational posterior q, so KL <= upper - F. */
#include "certify/certify.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>

#include "settings/settings.h"
#include "util/clock.h"

enum { BLOCK = 256 };  /* rows of a tile of K */
#define PAUSE 0.05     /* seconds between two checks whether to stop */
#define ROUNDING 1e-13 /* relative, of the two sums whose difference is e . P^-1 e */
#define SAME_DATA 1e-7 /* nats for each row and nat of the objective */

typedef struct run {
  oatgp_context *ctx;
  const oat_certify_request *request;
  oat_rows *all;            /* with the basis of the mean */
  oat_rows *rows;           /* with all of the prior mean taken off, the estimated part too */
  oat_objective *objective; /* tvfe */
  oat_objective *exact;     /* the full GP, or NULL */
  oat_device *device;       /* with the system C x = r */
  oat_system system;
  oat_iterate at;       /* where conjugate gradients are */
  size_t n;             /* rows */
  double tight;         /* the objective of tvfe */
  double base;          /* -N/2 log 2 pi - 1/2 log|P|, in the data's units */
  double trace, lost;   /* t, and its rounding error */
  double rest;          /* how far q(x) may be below r . C^-1 r */
  double q_low, q_high; /* bounds of r . C^-1 r */
  oat_determinant gap;  /* bounds of log|C| - log|P| */
  double began, asked;
  bool user_stopped;
  oatgp_certificate result;
} run;

/* ---- the models that are evaluated ----------------------------------------------------------------------------- */

/* `jitter`: that of the model; the exact evidence has none. */
static oatgp_status make_objective(const run *f, const oat_approx *approx, bool jitter, oat_objective **out) {
  const oatgp_model *model = f->request->model;
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  const oat_objective_config config = {
      .approx = approx,
      .kernel = model->kernel,
      .rows = f->rows,
      .alpha = model->number[OAT_NUMBER_ALPHA],
      .jitter = jitter ? model->number[OAT_NUMBER_JITTER] : 0,
      .k = model->k,
      .memory = approx->sparse
                    ? 0
                    : oat_memory_for(f->request->settings, false), /* nothing is kept for a second evaluation */
      .where = {f->request->settings->device, (int)f->request->settings->threads},
      .jitter_absolute = jitter ? model->number[OAT_NUMBER_JITTER_ABSOLUTE] / unit / unit : 0,
  };
  return oat_objective_create(f->ctx, &config, out);
}

/* The objective in the data's units. */
static oatgp_status evaluate(const run *f, oat_objective *objective, double *value) {
  const oatgp_model *model = f->request->model;
  const oat_point point = {model->theta, model->z};
  const oatgp_status status = oat_objective_evaluate(objective, &point, value, NULL);
  if (status != OATGP_OK) {
    return oat_fail(f->ctx, status, "%s has no finite value at the model's parameters (pivot %zu)",
                    objective->config.approx->name, objective->pivot);
  }
  *value -= (double)f->n * log(model->number[OAT_NUMBER_Y_SCALE]);
  return OATGP_OK;
}

static oatgp_status evaluate_once(const run *f, const oat_approx *approx, bool jitter, double *value) {
  oat_objective *objective = NULL;
  oatgp_status status = OATGP_OK;
  TRY(make_objective(f, approx, jitter, &objective));
  TRY(evaluate(f, objective, value));
done:
  oat_objective_free(objective);
  return status;
}

/* Compares the objective with the model's, to see whether these are the rows that it was fitted to. */
static void check_data(const run *f, double own) {
  const double known = f->request->model->number[OAT_NUMBER_OBJECTIVE] - oat_model_log_prior(f->request->model);
  if (!(fabs(own - known) <= SAME_DATA * ((double)f->n + fabs(known)))) {
    oat_say(f->ctx, OATGP_WARNING,
            "these %zu rows give the objective %.8g, not the model's %.8g, so the model was fitted to other rows; the "
            "bounds describe the posterior of these rows",
            f->n, own, known);
  }
}

/* ---- bounds ---------------------------------------------------------------------------------------------------- */

/* The best of each kind so far. */
static void tighten(run *f) {
  oatgp_certificate *c = &f->result;
  c->upper = f->base - (f->q_low + f->gap.low) / 2;
  c->lower = fmax(f->base - (f->q_high + f->gap.high) / 2, c->elbo);
  c->kl_at_most = fmax(c->upper - c->elbo, 0);
  c->kl_per_row = c->kl_at_most / (double)f->n;
  c->seconds = oat_seconds() - f->began;
}

/* Updates the bounds from the current x. e . P^-1 e is e . D^-1 e minus another sum. Its rounding error is added, and e
 * . D^-1 e is an upper bound, too. */
static void tighten_quadratic(run *f) {
  const oat_iterate *at = &f->at;
  f->rest = fmin(fmax(at->ez, 0) + ROUNDING * at->whole, at->whole);
  f->q_low = fmax(f->q_low, at->q);
  f->q_high = fmin(f->q_high, at->q + f->rest);
  tighten(f);
}

/* ---- conjugate gradients --------------------------------------------------------------------------------------- */

/* Whether to go on: not past the time limit, and not if the monitor says so. */
static bool ask(void *self) {
  run *f = self;
  const double now = oat_seconds(), limit = f->request->settings->time_limit;
  if (f->user_stopped || (limit > 0 && now - f->began >= limit)) {
    return false;
  }
  if (f->request->monitor != NULL && now - f->asked >= PAUSE) {
    f->asked = now;
    f->result.seconds = now - f->began;
    f->user_stopped = f->request->monitor(f->request->user, &f->result) != 0;
  }
  return !f->user_stopped;
}

/* Why the conjugate gradients stop before the next iteration; OATGP_STOP_NONE to go on. */
static oatgp_stop reason_to_stop(run *f) {
  const oatgp_settings *settings = f->request->settings;
  f->asked = 0;
  if (!ask(f)) {
    return f->user_stopped ? OATGP_STOP_USER : OATGP_STOP_TIME;
  }
  if (f->rest / 2 <= settings->tol) {
    return OATGP_STOP_BRACKET;
  }
  return f->result.iterations >= settings->max_iter ? OATGP_STOP_ITERATIONS : OATGP_STOP_NONE;
}

/* Iterates until there is a reason to stop. If rounding keeps q(x) from rising twice in a row, more iterations cannot
 * help. */
static oatgp_status iterate(run *f, oatgp_stop *stop) {
  const oat_device_table *table = f->device->table;
  oatgp_status status = OATGP_OK;
  double turn = 0, curvature;
  int idle = 0;
  for (*stop = reason_to_stop(f); *stop == OATGP_STOP_NONE; *stop = reason_to_stop(f)) {
    const double before = f->at.ez, q_before = f->at.q;
    status = table->system_product(f->device, turn, &curvature);
    if (status == OATGP_STOPPED) {
      status = OATGP_OK;
      continue;
    }
    TRY(status);
    if (!(curvature > 0) || !(before > 0)) {
      *stop = OATGP_STOP_STALLED;
      break;
    }
    TRY(table->system_step(f->device, before / curvature, &f->at));
    turn = f->at.ez / before;
    f->result.iterations++;
    tighten_quadratic(f);
    idle = f->at.q > q_before ? 0 : idle + 1;
    if (idle == 2) {
      *stop = OATGP_STOP_STALLED;
      break;
    }
  }
done:
  return status;
}

/* How many iterations are enough for `tol`, at worst: P^-1 C has its eigenvalues between 1 and 1 + t, and the error of
 * conjugate gradients falls accordingly. */
static double most_iterations(const run *f) {
  const double condition = 1 + f->trace, rate = (sqrt(condition) - 1) / (sqrt(condition) + 1);
  const double wanted = log(2 * condition * f->rest / f->request->settings->tol);
  const double enough = wanted > 0 ? ceil(wanted / -(2 * log(rate))) : 0;
  return fmin(fmin(fmax(enough, 1), (double)f->n), (double)f->request->settings->max_iter);
}

static oatgp_status say_cost(run *f) {
  double each, traces;
  char more[64] = "";
  const oatgp_status status = f->device->table->system_cost(f->device, &each, &traces);
  if (status != OATGP_OK) {
    return status;
  }
  if (f->system.traces) {
    snprintf(more, sizeof more, "; then about %.2g s for the determinant", traces);
  }
  const double most = most_iterations(f);
  const char *limit = f->request->settings->time_limit > 0 ? "; the time limit may stop it earlier" : "";
  f->result.seconds_per_iteration = each;
  oat_say(f->ctx, OATGP_NOTE,
          "each iteration over the %zu rows takes about %.2g s; there will be at most %.0f of them (%.2g s), often far "
          "fewer%s%s",
          f->n, each, most, each * most, more, limit);
  return OATGP_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* The rows on a device, with conjugate gradients at x = 0. */
static oatgp_status open_system(run *f, const oat_factors *factors) {
  const oatgp_settings *settings = f->request->settings;
  const oat_device_config config = {.max_knots = f->request->model->k,
                                    .block = BLOCK,
                                    .memory = oat_memory_for(settings, true),
                                    .where = {settings->device, (int)settings->threads},
                                    .kernel = oat_kernel_size_of(f->request->model->kernel),
                                    .system = true};
  f->system = (oat_system){.sparse = oat_model_sparse(f->request->model),
                           .lb = factors->lb,
                           .ask = ask,
                           .asker = f,
                           .traces = settings->determinant != 0};
  f->system.sparse.l = factors->l;
  const oatgp_status status = oat_device_open(f->ctx, &config, f->rows, &f->device);
  return status == OATGP_OK ? f->device->table->system_open(f->device, &f->system, &f->at) : status;
}

/* The models vfe and tvfe, whose factors are the same, at the parameters and knots, and the bounds at x = 0. */
static oatgp_status begin(run *f) {
  const oatgp_model *model = f->request->model;
  const double n = (double)f->n;
  oatgp_status status = OATGP_OK;
  TRY(make_objective(f, oat_approx_find("tvfe"), true, &f->objective));
  TRY(evaluate(f, f->objective, &f->tight));
  const oat_factors *factors = &f->objective->factors;
  const double *scalar = factors->sums->scalar;
  f->trace = scalar[OAT_G_OVER_N];
  f->result.elbo = f->tight - scalar[OAT_PENALTY] - f->trace / 2;
  f->base = -0.5 * (n * log(OAT_TWO_PI) + scalar[OAT_LOG_LAMBDA]) - oat_log_diagonal(model->k, factors->lb) -
            n * log(model->number[OAT_NUMBER_Y_SCALE]);
  if (oat_data_is_streamed(f->request->data)) { /* x = 0, from the sums */
    const double quadratic = factors->sums->rwr[0] - oat_dot(model->k, factors->c, factors->c);
    f->at = (oat_iterate){.ez = quadratic, .whole = factors->sums->rwr[0]};
    f->system = (oat_system){.sparse = oat_model_sparse(model), .lb = factors->lb, .weights = scalar[OAT_SUM_W]};
    f->system.sparse.l = factors->l;
  } else {
    TRY(open_system(f, factors));
  }
  f->lost = oat_traces_lost(&f->system.sparse, f->system.weights);
  f->gap.high = f->lost - 2 * scalar[OAT_PENALTY];
  f->q_high = HUGE_VAL;
  tighten_quadratic(f);
done:
  return status;
}

/* If it is stopped in the middle, the bounds stay as they were. */
static oatgp_status tighten_determinant(run *f) {
  oat_trace_sums sums;
  oatgp_status status = OATGP_OK;
  TRY(f->device->table->system_traces(f->device, &sums));
  const oat_traces traces = oat_traces_from(&sums, f->trace, f->lost);
  const oat_determinant found = oat_determinant_bounds(f->n, &traces);
  f->gap.low = fmax(f->gap.low, found.low);
  f->gap.high = fmin(f->gap.high, found.high);
  tighten(f);
done:
  if (status == OATGP_STOPPED) {
    f->result.stop = f->user_stopped ? OATGP_STOP_USER : OATGP_STOP_TIME;
    return OATGP_OK;
  }
  return status;
}

static bool was_stopped(const run *f) { return f->result.stop == OATGP_STOP_USER || f->result.stop == OATGP_STOP_TIME; }

/* A model with neighbours has its rows. */
static oatgp_status check_rows(const run *f) {
  size_t *index = NULL;
  bool all = false;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(f->ctx, f->n, sizeof *index, &index));
  TRY(oat_rows_find(f->ctx, f->all, f->request->model->rows, index, &all));
  if (!all) {
    oat_say(f->ctx, OATGP_WARNING,
            "the model was not fitted to these %zu rows; the bounds describe the posterior of these rows", f->n);
  }
done:
  free(index);
  return status;
}

static oatgp_status check_sparse(const run *f) {
  const oatgp_model *model = f->request->model;
  const oat_penalty penalty = model->approx->penalty;
  double own = penalty == OAT_PENALISE_LOG ? f->tight : f->result.elbo;
  oatgp_status status = OATGP_OK;
  if (penalty != OAT_PENALISE_TRACE) {
    oat_say(f->ctx, OATGP_NOTE,
            "the model is %s%s; the bounds and the KL divergence are those of the vfe posterior at its parameters and "
            "knots",
            model->approx->name, model->neighbours > 0 ? " with neighbours" : "");
  }
  if (model->neighbours > 0) {
    return check_rows(f);
  }
  if (penalty == OAT_PENALISE_NOTHING) {
    TRY(evaluate_once(f, model->approx, true, &own));
  }
  check_data(f, own);
done:
  return status;
}

/* When the bracket is as narrow as rounding, its ends may have changed places. */
static void order_bounds(oatgp_certificate *c) {
  if (c->lower > c->upper) {
    const double lower = c->upper;
    c->upper = c->lower;
    c->lower = lower;
  }
}

/* If its matrix is numerically singular, the result is NaN; the bounds do not depend on it. */
static oatgp_status exact_evidence(run *f) {
  const oatgp_status status = evaluate(f, f->exact, &f->result.exact);
  if (status != OATGP_NUMERIC) {
    return status;
  }
  f->result.exact = NAN;
  oat_say(f->ctx, OATGP_WARNING, "the exact log evidence cannot be computed: %s", oatgp_last_error(f->ctx));
  return OATGP_OK;
}

static oatgp_status certify_sparse(run *f) {
  const bool wants_exact = f->request->settings->exact != 0;
  oatgp_status status = OATGP_OK;
  if (wants_exact) {
    TRY(make_objective(f, oat_approx_find("full"), false, &f->exact));
  }
  TRY(begin(f));
  TRY(check_sparse(f));
  if (f->device == NULL) {
    f->result.stop = OATGP_STOP_ITERATIONS;
    oat_say(f->ctx, OATGP_NOTE,
            "the %zu rows stay in their file, so the bounds come from the knots alone, without iterations over all "
            "pairs of rows; the upper bound is far from tight",
            f->n);
    order_bounds(&f->result);
    return OATGP_OK;
  }
  TRY(say_cost(f));
  TRY(iterate(f, &f->result.stop));
  if (f->system.traces && !was_stopped(f)) {
    TRY(tighten_determinant(f));
  }
  if (wants_exact && !was_stopped(f)) {
    TRY(exact_evidence(f));
  }
  order_bounds(&f->result);
done:
  return status;
}

/* The full GP's objective is the evidence. */
static oatgp_status certify_full(run *f) {
  oatgp_certificate *c = &f->result;
  const oatgp_status status = evaluate_once(f, f->request->model->approx, true, &c->exact);
  c->elbo = c->lower = c->upper = c->exact;
  if (status == OATGP_OK) {
    oat_say(f->ctx, OATGP_NOTE, "the model is the full GP: its objective is the exact log evidence");
    check_data(f, c->exact);
  }
  return status;
}

oatgp_status oat_certify(oatgp_context *ctx, const oat_certify_request *request, oatgp_certificate *out) {
  run f = {.ctx = ctx, .request = request, .began = oat_seconds()};
  oatgp_status status = OATGP_OK;
  f.result.n = request->data->n;
  f.result.exact = NAN;
  TRY(oat_model_rows(ctx, request->model, request->data, &f.all));
  /* all of the prior mean is taken off: its coefficients count as parameters, so that what is bounded is the evidence
   * at them */
  TRY(oat_rows_less_mean(ctx, f.all, request->model->coefficient, &f.rows));
  f.n = oat_rows_total(f.rows);
  TRY(request->model->approx->sparse ? certify_sparse(&f) : certify_full(&f));
  f.result.seconds = oat_seconds() - f.began;
  *out = f.result;
done:
  oat_device_close(f.device);
  oat_objective_free(f.objective);
  oat_objective_free(f.exact);
  oat_rows_free(f.rows);
  oat_rows_free(f.all);
  return status;
}
