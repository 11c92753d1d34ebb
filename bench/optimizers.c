/* The optimisers on the objectives they are for: oatgp's L-BFGS and ADADELTA, and libLBFGS where it is installed.
 *
 * Every method gets the same starts, the same vector (oat_mapping) and the same limit on evaluations. What counts is
 * how many evaluations, and how many seconds, it takes to come within some nats of the best value that any method found
 * from any start of the problem. Knots have many local optima, so a method that never comes close may only have ended
 * in another one: the table gives how many starts came how close. libLBFGS knows neither bounds nor rejected
 * evaluations: its points may leave the box, and a rejected point gets a value far below the best one, and no slope.
 *
 * Usage: optimizers DATA [MORE_DATA]. DATA has boston.csv and mcycle.csv; MORE_DATA, if there, airfoil.csv and
 * ccpp.csv. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBLBFGS
#include <lbfgs.h>
#endif

#include "bench.h"
#include "data/data.h"
#include "linalg/linalg.h"
#include "fit/setup.h"
#include "optim/optim.h"
#include "util/clock.h"
#include "util/memory.h"

enum { MAX_STARTS = 32, MAX_SOLVERS = 8, LEVELS = 5, PATIENCE = 5, SEEDS = 5 };
#define OBJECTIVE_TOLERANCE 1e-7 /* tighter than the default, to show the slow end of an optimisation */
#define GRADIENT_TOLERANCE 1e-7
#define REJECTED_GAP 1e3 /* nats; with a truly huge value libLBFGS's interpolation ends at steps of length 0 */

static const double levels[LEVELS] = {10, 1, 0.1, 0.01, 1e-4};

typedef struct problem {
  const char *name, *file, *target, *approx, *kernel, *knots;
  bool more;            /* its file is in the second folder */
  bool bad_starts;      /* parameters times 1e-3, 1, 1e3 in all combinations, not the usual seeds */
  double jitter;        /* 0: the default */
  size_t every, copies; /* every `every`-th row, `copies` times */
  size_t limit;         /* evaluations of one run */
} problem;

static const problem problems[] = {
    {"full, Boston, se", "boston.csv", "medv", "full", "se", "1", false, false, 0, 1, 1, 1000},
    {"full, Boston, se-ard", "boston.csv", "medv", "full", "se-ard", "1", false, false, 0, 1, 1, 1000},
    {"vfe, mcycle, se, K = 10", "mcycle.csv", "accel", "vfe", "se", "10", false, false, 0, 1, 1, 3000},
    {"vfe, Boston, se, K = 20", "boston.csv", "medv", "vfe", "se", "20", false, false, 0, 1, 1, 3000},
    {"vfe, Boston, se-ard, K = 20", "boston.csv", "medv", "vfe", "se-ard", "20", false, false, 0, 1, 1, 3000},
    {"vfe, Boston, se-ard, K = 50", "boston.csv", "medv", "vfe", "se-ard", "50", false, false, 0, 1, 1, 3000},
    {"vfe, Airfoil, se-ard, K = 80", "airfoil.csv", "sound_pressure", "vfe", "se-ard", "80", true, false, 0, 1, 1,
     3000},
    {"vfe, CCPP (every 2nd row), se, K = 80", "ccpp.csv", "PE", "vfe", "se", "80", true, false, 0, 2, 1, 1500},
    {"bad starts: full, Boston, se-ard", "boston.csv", "medv", "full", "se-ard", "1", false, true, 0, 2, 1, 500},
    {"bad starts: full, every row of Boston twice, se", "boston.csv", "medv", "full", "se", "1", false, true, 0, 4, 2,
     500},
    {"bad starts: vfe, Boston, se-ard, K = 20", "boston.csv", "medv", "vfe", "se-ard", "20", false, true, 0, 1, 1,
     2000},
    {"bad starts: vfe, Boston, se-ard, K = 50, jitter 1e-16", "boston.csv", "medv", "vfe", "se-ard", "50", false, true,
     1e-16, 1, 1, 2000},
};

/* ---- one problem as a function of a vector --------------------------------------------------------------------- */

/* The best value so far, each time that it rose. */
typedef struct mark {
  double evaluations, seconds, value;
} mark;

typedef struct run {
  mark *trace;
  size_t count, evaluations, rejected;
  double best;
  const char *stop;
} run;

typedef struct task {
  oatgp_context *ctx;
  const problem *problem;
  oatgp_settings settings;
  oatgp_data *data;
  oat_setup setup;
  oat_objective *objective;
  oat_mapping mapping;
  oat_problem function;
  oat_point start, point;
  oat_gradient gradient;
  double *x, *lower, *upper, *sign_weight;
  double began;
  run *run; /* the one under way */
} task;

static oatgp_status evaluate(void *self, const double *x, double *value, double *gradient) {
  task *t = self;
  run *r = t->run;
  oat_mapping_unpack(&t->mapping, x, &t->point);
  const oatgp_status status = oat_objective_evaluate(t->objective, &t->point, value, &t->gradient);
  r->evaluations++;
  if (status != OATGP_OK) {
    r->rejected++;
    return status;
  }
  oat_mapping_gradient(&t->mapping, x, &t->gradient, gradient);
  if (*value > r->best && r->count < t->problem->limit) {
    r->best = *value;
    r->trace[r->count++] = (mark){(double)r->evaluations, oat_seconds() - t->began, *value};
  }
  return status;
}

/* ---- the methods ----------------------------------------------------------------------------------------------- */

typedef struct solver {
  const char *name;
  void (*solve)(task *t, const struct solver *how, run *r);
  const char *method; /* oatgp's: its name */
  double epsilon;     /* of ADADELTA */
  bool default_stop;  /* with the settings' own tolerances */
  int pairs;          /* of L-BFGS; 0: the default */
  int line_search;    /* libLBFGS */
} solver;

static void solve_ours(task *t, const solver *how, run *r) {
  const oatgp_settings *s = &t->settings;
  const oat_optim_settings settings = {.history = (size_t)(how->pairs > 0 ? how->pairs : s->lbfgs_history),
                                       .line_search = (size_t)s->line_search,
                                       .decay = s->decay,
                                       .epsilon = how->epsilon,
                                       .eta = s->eta,
                                       .max_iter = HUGE_VAL,
                                       .max_eval = (double)t->problem->limit,
                                       .obj_tol = how->default_stop ? s->obj_tol : OBJECTIVE_TOLERANCE,
                                       .grad_tol = how->default_stop ? s->grad_tol : GRADIENT_TOLERANCE,
                                       .patience = PATIENCE};
  oat_optim *optim = NULL;
  oatgp_stop stop = OATGP_STOP_NONE;
  bench_check(t->ctx, oat_optim_create(t->ctx, oat_optim_find(how->method), &t->function, &settings, &optim));
  if (oat_optim_start(optim, t->x) == OATGP_OK) {
    while ((stop = oat_optim_stop(optim)) == OATGP_STOP_NONE) {
      oat_optim_step(optim);
    }
  }
  r->stop = oatgp_stop_word(stop);
  oat_optim_free(optim);
}

#ifdef HAVE_LIBLBFGS
typedef struct library_run {
  task *task;
  double recent[PATIENCE + 1];
} library_run;

static lbfgsfloatval_t library_evaluate(void *self, const lbfgsfloatval_t *x, lbfgsfloatval_t *gradient, const int n,
                                        const lbfgsfloatval_t step) {
  const library_run *l = self;
  double value;
  (void)step;
  if (evaluate(l->task, x, &value, gradient) != OATGP_OK) {
    memset(gradient, 0, (size_t)n * sizeof *gradient);
    return REJECTED_GAP - l->task->run->best;
  }
  for (int i = 0; i < n; i++) {
    gradient[i] = -gradient[i];
  }
  return -value;
}

/* The same rules of stopping as oatgp's; libLBFGS's own are relative and switched off. */
static int library_progress(void *self, const lbfgsfloatval_t *x, const lbfgsfloatval_t *g, const lbfgsfloatval_t fx,
                            const lbfgsfloatval_t xnorm, const lbfgsfloatval_t gnorm, const lbfgsfloatval_t step, int n,
                            int k, int ls) {
  library_run *l = self;
  double *before = &l->recent[(size_t)k % LENGTH(l->recent)];
  (void)x, (void)g, (void)xnorm, (void)step, (void)n, (void)ls;
  const bool rests =
      k > PATIENCE && fabs(fx - l->recent[(size_t)(k - PATIENCE) % LENGTH(l->recent)]) < OBJECTIVE_TOLERANCE;
  *before = fx;
  return rests || gnorm <= GRADIENT_TOLERANCE || l->task->run->evaluations >= l->task->problem->limit;
}

static const char *library_stop(int code) {
  static const struct {
    int code;
    const char *word;
  } rows[] = {{LBFGSERR_ROUNDING_ERROR, "rounding"},
              {LBFGSERR_MAXIMUMLINESEARCH, "line search"},
              {LBFGSERR_WIDTHTOOSMALL, "interval"}};
  for (size_t i = 0; i < LENGTH(rows); i++) {
    if (rows[i].code == code) {
      return rows[i].word;
    }
  }
  return code == 0 || code == LBFGS_STOP || code == LBFGSERR_CANCELED ? "rules" : "error";
}

static void solve_library(task *t, const solver *how, run *r) {
  lbfgs_parameter_t parameter;
  library_run l = {t, {0}};
  lbfgs_parameter_init(&parameter);
  parameter.m = how->pairs;
  parameter.epsilon = 0;
  parameter.linesearch = how->line_search;
  const int n = (int)t->function.n, room = (n + 15) / 16 * 16;
  lbfgsfloatval_t *x = lbfgs_malloc(room), value;
  bench_check(t->ctx, x == NULL ? OATGP_MEMORY : OATGP_OK);
  memcpy(x, t->x, t->function.n * sizeof *x);
  r->stop = library_stop(lbfgs(n, x, &value, library_evaluate, library_progress, &l, &parameter));
  lbfgs_free(x);
}
#endif

static const solver solvers[] = {
    {"oatgp L-BFGS", solve_ours, "lbfgs", 1, false, 0, 0},
    {"oatgp L-BFGS, default tolerances", solve_ours, "lbfgs", 1, true, 0, 0},
    {"oatgp L-BFGS, 20 pairs", solve_ours, "lbfgs", 1, false, 20, 0},
#ifdef HAVE_LIBLBFGS
    {"libLBFGS (6 pairs, More-Thuente)", solve_library, NULL, 0, false, 6, LBFGS_LINESEARCH_MORETHUENTE},
    {"libLBFGS, 100 pairs", solve_library, NULL, 0, false, 100, LBFGS_LINESEARCH_MORETHUENTE},
    {"libLBFGS, 100 pairs, backtracking", solve_library, NULL, 0, false, 100,
     LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE},
#endif
    {"ADADELTA, epsilon 1e-4", solve_ours, "adadelta", 1e-4, false, 0, 0},
    {"ADADELTA, epsilon 1e-6", solve_ours, "adadelta", 1e-6, false, 0, 0},
};

/* ---- problems and starts --------------------------------------------------------------------------------------- */

/* Every `every`-th row, `copies` times. */
static oatgp_data *thinned(oatgp_context *ctx, const oatgp_data *data, const problem *p) {
  const size_t kept = (data->n + p->every - 1) / p->every, rows = kept * p->copies;
  oatgp_data *out = NULL;
  double *x = NULL, *y = NULL;
  bench_check(ctx, oat_new_matrix(ctx, rows, data->d, &x));
  bench_check(ctx, oat_new_matrix(ctx, rows, 1, &y));
  for (size_t i = 0; i < rows; i++) {
    const size_t from = i % kept * p->every;
    y[i] = data->y[from] + (double)(i / kept); /* copies differ, because otherwise there would be no noise */
    for (size_t j = 0; j < data->d; j++) {
      x[i * data->d + j] = data->x[from + j * data->n];
    }
  }
  bench_check(ctx, oatgp_data_create(ctx, rows, data->d, x, y, &out));
  free(x);
  free(y);
  return out;
}

static oatgp_data *read_rows(task *t, const char *folder) {
  char path[4096];
  oatgp_data *all = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, t->problem->file);
  bench_check(t->ctx, oatgp_data_read(t->ctx, path, &t->settings, &all));
  oatgp_data *data = thinned(t->ctx, all, t->problem);
  oatgp_data_free(all);
  return data;
}

static void choose_settings(task *t) {
  const problem *p = t->problem;
  oatgp_settings_default(&t->settings);
  t->settings.prior = "none"; /* the evidence alone */
  t->settings.target = p->target;
  t->settings.approx = p->approx;
  t->settings.kernel = p->kernel;
  t->settings.knots = p->knots;
  t->settings.jitter = p->jitter > 0 ? p->jitter : t->settings.jitter;
}

static void open_task(task *t, oatgp_context *ctx, const problem *p, const char *folder) {
  *t = (task){.ctx = ctx, .problem = p};
  choose_settings(t);
  t->data = read_rows(t, folder);
  bench_check(ctx, oat_setup_make(ctx, t->data, &t->settings, NULL, &t->setup));
  const oat_setup *setup = &t->setup;
  const oat_objective_config config = oat_setup_objective(setup);
  bench_check(ctx, oat_objective_create(ctx, &config, &t->objective));
  const bool sparse = setup->approx->sparse;
  t->mapping = (oat_mapping){.kernel = setup->kernel,
                             .d = setup->scaling.d,
                             .k = setup->k,
                             .free = setup->free,
                             .first = sparse ? 0 : setup->k,
                             .box = OAT_BOX_BOUND,
                             .spread = setup->scaling.spread,
                             .low = setup->low,
                             .high = setup->high};
  const size_t n = oat_mapping_count(&t->mapping), theta = oat_theta_count(setup->kernel, setup->scaling.d);
  const size_t z = sparse ? setup->k * setup->scaling.d : 0;
  t->start = (oat_point){bench_numbers(t->ctx, theta), bench_numbers(t->ctx, z)};
  t->point = (oat_point){bench_numbers(t->ctx, theta), bench_numbers(t->ctx, z)};
  t->gradient = (oat_gradient){bench_numbers(t->ctx, theta), sparse ? bench_numbers(t->ctx, z) : NULL};
  t->x = bench_numbers(t->ctx, n);
  t->lower = bench_numbers(t->ctx, n);
  t->upper = bench_numbers(t->ctx, n);
  t->sign_weight = bench_numbers(t->ctx, n);
  t->function = (oat_problem){n, t->lower, t->upper, t->sign_weight, evaluate, t};
}

static void close_task(task *t) {
  double *const arrays[] = {t->start.theta, t->start.z, t->point.theta, t->point.z, t->gradient.theta,
                            t->gradient.z,  t->x,       t->lower,       t->upper,   t->sign_weight};
  for (size_t i = 0; i < LENGTH(arrays); i++) {
    free(arrays[i]);
  }
  oat_objective_free(t->objective);
  oat_setup_clear(&t->setup);
  oatgp_data_free(t->data);
}

static size_t start_count(const problem *p) { return p->bad_starts ? 27 : SEEDS; }

/* Seed 1 is the start of a fit, the others what its restarts would take. */
static void choose_start(task *t, size_t number) {
  static const double factors[] = {1, 1e-3, 1e3};
  const size_t theta = oat_theta_count(t->setup.kernel, t->setup.scaling.d);
  memcpy(t->start.theta, t->setup.start.theta, theta * sizeof *t->start.theta);
  if (t->setup.approx->sparse) {
    memcpy(t->start.z, t->setup.start.z, t->setup.k * t->setup.scaling.d * sizeof *t->start.z);
  }
  if (t->problem->bad_starts) {
    t->start.theta[OAT_SIGMA] *= factors[number % 3];
    t->start.theta[OAT_TAU] *= factors[number / 3 % 3];
    for (size_t i = OAT_LENGTHSCALE; i < theta; i++) {
      t->start.theta[i] *= factors[number / 9];
    }
  } else if (number > 0) {
    oat_rng_seed(&t->setup.rng, number + 1);
    bench_check(t->ctx, oat_setup_shake(t->ctx, &t->setup, &t->start));
  }
}

/* One start with one method. As in a fit, the jitter is raised if the start needs it. */
static void solve(task *t, const solver *how, run *r) {
  *r = (run){.trace = NULL, .best = -HUGE_VAL, .stop = "start rejected"};
  bench_check(t->ctx, oat_new(t->ctx, t->problem->limit, sizeof *r->trace, &r->trace));
  t->objective->config.jitter = oat_setup_objective(&t->setup).jitter;
  memcpy(t->point.theta, t->start.theta, oat_theta_count(t->setup.kernel, t->setup.scaling.d) * sizeof *t->point.theta);
  oat_mapping_pack(&t->mapping, &t->start, t->x);
  oat_mapping_bounds(&t->mapping, t->x, t->lower, t->upper, t->sign_weight);
  t->run = r;
  double value;
  if (oat_objective_settle(t->ctx, t->objective, &t->start, &value, NULL) == OATGP_OK) {
    t->began = oat_seconds();
    how->solve(t, how, r);
  }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Median evaluations and seconds to come within `gap` of `best`, over the starts that did. */
static void print_level(const run *runs, size_t count, double best, double gap) {
  double evaluations[MAX_STARTS], seconds[MAX_STARTS];
  size_t reached = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < runs[i].count; j++) {
      const mark m = runs[i].trace[j];
      if (m.value >= best - gap) {
        evaluations[reached] = m.evaluations;
        seconds[reached++] = m.seconds;
        break;
      }
    }
  }
  if (reached == 0) {
    printf(" none |");
  } else {
    printf(" %.0f, %.3g s (%zu) |", bench_median(evaluations, reached), bench_median(seconds, reached), reached);
  }
}

/* How often each reason for the end occurred: "objective 4, stalled 1". */
static void print_stops(const run *runs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t before = 0, times = 0;
    for (size_t j = 0; j < count; j++) {
      const bool same = strcmp(runs[i].stop, runs[j].stop) == 0;
      before += same && j < i;
      times += same;
    }
    if (before == 0) {
      printf("%s %s %zu", i == 0 ? "" : ",", runs[i].stop, times);
    }
  }
}

static void print_row(const char *name, const run *runs, size_t count, double best) {
  double gap[MAX_STARTS], evaluations[MAX_STARTS];
  size_t rejected = 0;
  printf("| %s |", name);
  for (size_t i = 0; i < LEVELS; i++) {
    print_level(runs, count, best, levels[i]);
  }
  for (size_t i = 0; i < count; i++) {
    gap[i] = best - runs[i].best;
    evaluations[i] = (double)runs[i].evaluations;
    rejected += runs[i].rejected;
  }
  const double middle = bench_median(gap, count);
  printf(" %.2g, %.2g, %.2g | %.0f | %zu |", gap[0], middle, gap[count - 1], bench_median(evaluations, count),
         rejected);
  print_stops(runs, count);
  printf(" |\n");
  fflush(stdout);
}

static void compare(oatgp_context *ctx, const problem *p, const char *folder) {
  static run runs[MAX_SOLVERS][MAX_STARTS];
  task t;
  double best = -HUGE_VAL;
  const size_t starts = start_count(p);
  open_task(&t, ctx, p, folder);
  for (size_t i = 0; i < starts; i++) {
    choose_start(&t, i);
    for (size_t j = 0; j < LENGTH(solvers); j++) {
      solve(&t, &solvers[j], &runs[j][i]);
      best = fmax(best, runs[j][i].best);
    }
  }
  printf("\n**%s**: %zu rows, %zu variables, %zu starts, at most %zu evaluations; best value %.4f\n\n", p->name,
         t.data->n, t.function.n, starts, p->limit, oat_setup_objective_value(&t.setup, best));
  printf(
      "| method | within 10 nats | 1 | 0.1 | 0.01 | 1e-4 | gap at the end: least, median, most | evaluations | "
      "rejected | ended by |\n");
  printf("|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t j = 0; j < LENGTH(solvers); j++) {
    print_row(solvers[j].name, runs[j], starts, best);
    for (size_t i = 0; i < starts; i++) {
      free(runs[j][i].trace);
    }
  }
  close_task(&t);
}

int main(int argc, char **argv) {
  oatgp_context *ctx = oatgp_context_create();
  if (ctx == NULL || argc < 2 || argc > 3) {
    fprintf(stderr, "usage: optimizers DATA [MORE_DATA]\n");
    return 2;
  }
  oat_set_blas_threads(1);
  printf("A cell: median evaluations and seconds over the starts that came so close (their number).\n");
  for (size_t i = 0; i < LENGTH(problems); i++) {
    if (!problems[i].more || argc == 3) {
      compare(ctx, &problems[i], argv[problems[i].more ? 2 : 1]);
    }
  }
  oatgp_context_free(ctx);
  return 0;
}
