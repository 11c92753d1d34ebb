/* Knots and neighbours in the automatic selection. What many knots would be needed for may be local: then a row's
 * neighbours tell more than further knots do. Few knots are chosen greedily at the parameters of the exact GP of a
 * subset, and the parameters are optimised with neighbours. Twice as many neighbours, or twice as many knots, are taken
 * for as long as the rows left out gain the tolerance by them; then the parameters are optimised again. */
#include <math.h>
#include <string.h>

#include "knots/auto.h"
#include "objective/sparse.h"
#include "util/machine.h"

enum {
  KNOTS = 200,
  MOST_KNOTS = 800,
  NEIGHBOURS = 30,
  MOST_NEIGHBOURS = 120,
  ITERATIONS = 60,
  LAST_ITERATIONS = 20, /* after there have become more */
  PATIENCE = 3
};
#define REST 30.0 /* as in auto.c */

/* A search with neighbours beside the one that it is for. */
typedef struct with {
  oat_search *s;
  const oat_rows *rows;
  oat_search sub;
  double left_out; /* of the rows, at its point; -HUGE_VAL if that is not known */
} with;

static bool report(void *self, const oat_search *sub, oat_search_event event) {
  const oat_search *s = self;
  return event == OAT_SEARCH_STEP && s->report(s->self, sub, OAT_SEARCH_SUBSET);
}

static oat_objective_config config_of(const with *w, size_t k, size_t m) {
  oat_objective_config config = w->s->objective->config;
  config.approx = oat_approx_find("fitc");
  config.rows = w->rows;
  config.neighbours = m;
  config.k = config.capacity = k;
  config.jitter = OAT_SOFT_SIGMA; /* costs nothing: neighbours have what knots leave, whatever that is */
  config.soft = false;
  return config;
}

/* With so many knots, chosen at the parameters theta, and neighbours. */
static oatgp_status open_with(with *w, const double *theta, size_t k, size_t m) {
  oat_search *s = w->s, *sub = &w->sub;
  const oat_objective_config config = config_of(w, k, m);
  oatgp_status status = OATGP_OK;
  *sub = (oat_search){.ctx = s->ctx,
                      .mapping = s->mapping,
                      .method = oat_optim_find("lbfgs"),
                      .limits = s->limits,
                      .given = s->given,
                      .settings = {.max_knots = k},
                      .none_free = s->none_free,
                      .report = report,
                      .self = s,
                      .state = {.value = -HUGE_VAL, .rng = s->state.rng}};
  sub->limits.max_iter = fmin(ITERATIONS, s->limits.max_iter);
  sub->limits.obj_tol = fmax(oat_auto_tolerance(s) / REST, s->limits.obj_tol);
  sub->limits.patience = PATIENCE;
  TRY(oat_objective_create(s->ctx, &config, &sub->objective));
  TRY(oat_search_open(sub));
  memcpy(sub->point.theta, theta, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *theta);
  TRY(oat_knots_greedy(sub, k));
  s->state.rng = sub->state.rng;
done:
  return status;
}

static void close_with(with *w) {
  oat_objective_free(w->sub.objective);
  oat_search_close(&w->sub);
}

/* The density of the rows left out, at the point with its neighbours. */
static oatgp_status appraise(with *w) {
  oatgp_status status = OATGP_OK;
  w->left_out = -HUGE_VAL;
  TRY(oat_objective_find_neighbours(w->sub.objective, &w->sub.point));
  if (oat_search_evaluate(&w->sub) == OATGP_OK) {
    TRY(oat_objective_left_out(w->sub.objective, &w->sub.point, &w->left_out));
  }
done:
  return status;
}

/* Whether the rows left out are predicted better than by the incumbent, by the tolerance; then it is the incumbent. */
static bool offer(with *w) {
  oat_search *s = w->s;
  const bool better = w->left_out > s->state.left_out + oat_auto_tolerance(s);
  if (better) {
    oat_incumbent_take_neighbours(s, &w->sub, w->left_out);
  }
  return better;
}

/* Optimises the parameters, and offers what they lead to. */
static oatgp_status improve(with *w, double iterations, bool *taken) {
  oat_search *s = w->s;
  oat_optim_settings limits = w->sub.limits;
  oatgp_status status = OATGP_OK;
  limits.max_iter = fmin(iterations, limits.max_iter);
  TRY(oat_search_optimise(&w->sub, w->sub.state.k, &limits));
  s->state.iterations += w->sub.state.iterations;
  s->state.evaluations += w->sub.state.evaluations;
  s->state.stop = oat_search_halted(&w->sub) ? w->sub.state.stop : s->state.stop;
  TRY(appraise(w));
  *taken = offer(w);
done:
  return status;
}

/* Whether they may take so much memory: half of what there is. */
static bool fits(const oat_search *s, size_t k, size_t m) {
  return 2 * oat_neighbour_bytes((double)oat_auto_rows(s), (double)k, (double)m) <= (double)oat_machine_available();
}

/* Another number of knots or of neighbours at the same parameters, if it is better there. */
static oatgp_status extend(with *w, size_t k, size_t m, bool *taken) {
  with more = {.s = w->s, .rows = w->rows};
  oatgp_status status = OATGP_OK;
  *taken = false;
  if (k > MOST_KNOTS || m > MOST_NEIGHBOURS || k > w->s->settings.max_knots || !fits(w->s, k, m) || oat_search_late(&w->sub, 8) ||
      oat_search_halted(w->s)) {
    return OATGP_OK;
  }
  TRY(open_with(&more, w->sub.point.theta, k, m));
  more.sub.pace = w->sub.pace * (double)(k * m) / (double)(w->sub.state.k * w->sub.objective->config.neighbours);
  TRY(appraise(&more));
  *taken = offer(&more);
  if (*taken) {
    close_with(w);
    *w = more;
    more.sub = (oat_search){0};
  }
done:
  close_with(&more);
  return status;
}

/* Twice as many neighbours, or knots, for as long as that gains the tolerance. */
static oatgp_status grow(with *w, bool *grown) {
  bool knots, neighbours;
  oatgp_status status = OATGP_OK;
  do {
    TRY(extend(w, w->sub.state.k, 2 * w->sub.objective->config.neighbours, &neighbours));
    TRY(extend(w, 2 * w->sub.state.k, w->sub.objective->config.neighbours, &knots));
    *grown = *grown || knots || neighbours;
  } while (knots || neighbours);
done:
  return status;
}

oatgp_status oat_auto_neighbours(oat_search *s, bool *taken) {
  with w = {.s = s};
  oat_rows *rows = NULL;
  bool grown = false, better;
  const size_t k = KNOTS < s->settings.max_knots ? KNOTS : s->settings.max_knots;
  oatgp_status status = OATGP_OK;
  if (!fits(s, k, NEIGHBOURS)) {
    oat_say(s->ctx, OATGP_NOTE, "neighbours are not tried: the memory is too small for so many rows");
    return OATGP_OK;
  }
  TRY(s->ordered(s->self, &rows));
  w.rows = rows;
  TRY(open_with(&w, s->subset, k, NEIGHBOURS));
  TRY(improve(&w, ITERATIONS, taken));
  if (*taken) {
    TRY(grow(&w, &grown));
  }
  if (grown && !oat_search_halted(s)) {
    TRY(improve(&w, LAST_ITERATIONS, &better));
  }
  if (*taken && !oat_search_halted(s)) {
    s->state.stop = OATGP_STOP_NEIGHBOURS;
  }
done:
  close_with(&w);
  oat_rows_free(rows);
  return status;
}
