/* Sobol' indices of f when the inputs vary independently of each other. With V the variance of f,
 *   first_j = Var(E(f | x_j)) / V,  total_j = E(Var(f | all inputs but x_j)) / V.
 *
 * They are computed for functions drawn from the posterior. For one function, with POINTS pairs of points a, b, and a_j
 * the point a with input j from b ("pick and freeze"; f minus its mean):
 *   first_j = mean f(b) (f(a_j) - f(a)) / V  (Saltelli and others 2010),
 *   total_j = mean (f(a_j) - f(a))^2 / 2 V   (Jansen 1999),
 * which are 0 for an input without effect. The pairs come from a Korobov lattice in 2 d dimensions, with a new random
 * shift for every DRAWS functions, so the bands include the error of the integration. That error is below 0.003 for the
 * functions of the tests, a tenth of that of the same number of random pairs. Draws from few rows are rougher: with 16
 * times as many points, their bands are 15 % narrower at 80 rows of Ishigami's function.
 *
 * A band has two parts, whose squares are added. One is from the median to the quantile over the draws. It is right for
 * functions that the prior expects. Where the prior does not suit the function, the mean itself is off, by more than
 * the draws say. The other part shows this: the standard error of the index of the mean, by the jackknife over GROUPS
 * groups of rows that are left out. A sparse model has no rows, so groups of its K knots are left out. Where N rows are
 * many more, these say what is between the knots, so the variance counts K / N. docs/experiments.md has what was
 * measured.
 *
 * O((d + 2) POINTS) evaluations of each function, and O(K^3). If functions cannot be drawn from a model, the indices
 * are those of its mean. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/vector.h"
#include "predict/predict.h"
#include "util/hash.h"
#include "util/normal.h"
#include "util/rng.h"

enum { POINTS = 1021, GENERATORS = 60, DRAWS = 16, SHIFTS_OF_MEAN = 8, GROUPS = 15 };

typedef struct sobol {
  oatgp_context *ctx;
  oat_scratch memory;
  const oatgp_model *model;
  const oatgp_indices_of *of;
  bool drawn;       /* functions are drawn; else the mean stands for all */
  size_t draws;     /* columns of the results */
  size_t generator; /* of the lattice */
  double *lowest;   /* d: of inputs that are uniform, and their range, in the data's units */
  double *range;
  double *sorted; /* rows x d: the values of the inputs, ascending; NULL where they are uniform */
  size_t rows;
  double *a, *b;              /* POINTS x d */
  double *at_a, *at_b, *at_j; /* DRAWS x POINTS: values of the functions */
  double *first, *total;      /* draws x d */
  double *sd;                 /* draws */
  double *first_error;        /* d: standard errors from rows that are left out */
  double *total_error;
} sobol;

/* ---- the lattice ----------------------------------------------------------------------------------------------- */

/* The mean square of the error in a space of smooth functions, of products over the dimensions, for point i times
 * powers of g. */
static double judge_generator(size_t g, size_t dimensions) {
  double sum = 0;
  for (size_t i = 0; i < POINTS; i++) {
    double product = 1;
    size_t place = i;
    for (size_t s = 0; s < dimensions; s++, place = place * g % POINTS) {
      const double u = (double)place / POINTS;
      product *= 1 + 2 * OAT_PI * OAT_PI / (double)dimensions * (u * u - u + 1.0 / 6);
    }
    sum += product;
  }
  return sum;
}

static size_t find_generator(size_t dimensions) {
  size_t best = 0;
  double least = HUGE_VAL;
  for (size_t i = 0; i < GENERATORS; i++) {
    const size_t g = 2 + i * (POINTS / 2) / GENERATORS;
    const double error = judge_generator(g, dimensions);
    if (error < least) {
      least = error;
      best = g;
    }
  }
  return best;
}

/* The value of input j at quantile u. Without rows, all levels are equally likely. */
static double value_at(const sobol *s, size_t j, double u) {
  if (s->sorted != NULL) {
    return s->sorted[j * s->rows + (size_t)(u * (double)s->rows)];
  }
  return s->model->scaling.category[j] ? floor(u * (double)s->model->levels[j].count) : s->lowest[j] + u * s->range[j];
}

/* Makes the pairs of points with a random shift. The cube is folded once in each dimension, so that the integrand is
 * periodic. */
static void place_points(const sobol *s, oat_rng *rng) {
  const size_t d = s->model->d;
  size_t power = 1;
  for (size_t dimension = 0; dimension < 2 * d; dimension++, power = power * s->generator % POINTS) {
    const double shift = oat_rng_uniform(rng);
    const size_t j = dimension / 2;
    double *const to = (dimension % 2 == 0 ? s->a : s->b) + j * POINTS;
    for (size_t i = 0; i < POINTS; i++) {
      const double u = (double)(i * power % POINTS) / POINTS + shift, folded = fabs(2 * (u - floor(u)) - 1);
      to[i] = value_at(s, j, folded < 1 ? folded : 0);
    }
  }
}

/* ---- one shift ------------------------------------------------------------------------------------------------- */

/* In the model's unit, so that squares are numbers. */
static oatgp_status evaluate(const sobol *s, const oatgp_function *f, const double *x, double *values) {
  const size_t count = f != NULL ? oat_functions_count(f) : 1;
  oatgp_data *data = NULL;
  oatgp_status status;
  TRY(oat_model_points(s->ctx, s->model, POINTS, x, &data));
  TRY(f != NULL ? oat_functions_evaluate(s->ctx, f, data, values, NULL)
                : oat_predict_mean(s->ctx, s->model, data, values));
  for (size_t i = 0; i < count * POINTS; i++) {
    values[i] /= s->model->number[OAT_NUMBER_Y_SCALE];
  }
done:
  oatgp_data_free(data);
  return status;
}

/* Subtracts the mean of all values from those at b; returns the standard deviation. */
static double centre(const double *at_a, double *at_b) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < POINTS; i++) {
    sum += at_a[i] + at_b[i];
  }
  const double mean = sum / (2 * POINTS);
  for (size_t i = 0; i < POINTS; i++) {
    at_b[i] -= mean;
    squares += (at_a[i] - mean) * (at_a[i] - mean) + at_b[i] * at_b[i];
  }
  return sqrt(squares / (2 * POINTS));
}

/* Of input j, for functions from number `from` on. One that does not vary, but for rounding, has indices of 0. */
static void find_indices(const sobol *s, size_t j, size_t from, size_t count) {
  for (size_t k = 0; k < count; k++) {
    const double *const at_a = s->at_a + k * POINTS, *const at_b = s->at_b + k * POINTS,
                        *const at_j = s->at_j + k * POINTS;
    const double sd = s->sd[from + k];
    double first = 0, total = 0;
    for (size_t i = 0; i < POINTS && sd > 1e-12; i++) {
      const double moved = (at_j[i] - at_a[i]) / sd;
      first += at_b[i] / sd * moved;
      total += moved * moved / 2;
    }
    s->first[j * s->draws + from + k] = first / POINTS;
    s->total[j * s->draws + from + k] = total / POINTS;
  }
}

static void swap_column(double *a, double *b) {
  for (size_t i = 0; i < POINTS; i++) {
    const double value = a[i];
    a[i] = b[i];
    b[i] = value;
  }
}

static oatgp_status work_on(const sobol *s, const oatgp_function *f, size_t from, size_t count) {
  oat_rng rng;
  oat_rng_seed(&rng, oat_hash(OAT_HASH_START, (const uint64_t[]){s->of->seed, 1, from}, 3 * sizeof(uint64_t)));
  place_points(s, &rng);
  PASS_ON(evaluate(s, f, s->a, s->at_a));
  PASS_ON(evaluate(s, f, s->b, s->at_b));
  for (size_t k = 0; k < count; k++) {
    s->sd[from + k] = centre(s->at_a + k * POINTS, s->at_b + k * POINTS);
  }
  for (size_t j = 0; j < s->model->d; j++) {
    swap_column(s->a + j * POINTS, s->b + j * POINTS); /* a becomes a_j, and is restored below */
    PASS_ON(evaluate(s, f, s->a, s->at_j));
    swap_column(s->a + j * POINTS, s->b + j * POINTS);
    find_indices(s, j, from, count);
  }
  return OATGP_OK;
}

static oatgp_status work_on_draws(const sobol *s, size_t from) {
  const size_t left = s->draws - from, count = left < DRAWS ? left : DRAWS;
  const uint64_t seed = oat_hash(OAT_HASH_START, (const uint64_t[]){s->of->seed, 0, from}, 3 * sizeof(uint64_t));
  oatgp_function *f = NULL;
  oatgp_status status;
  TRY(oat_functions_draw(s->ctx, s->model, count, seed, &f));
  TRY(work_on(s, f, from, count));
done:
  oatgp_function_free(f);
  return status;
}

/* ---- rows left out --------------------------------------------------------------------------------------------- */

/* The standard error of an index, from its values with all rows and without each group; `share` of the variance. */
static double error_of(const double *index, size_t groups, double share) {
  double sum = 0;
  for (size_t g = 1; g <= groups; g++) {
    sum += (index[g] - index[0]) * (index[g] - index[0]);
  }
  return sqrt(share * sum * (double)(groups - 1) / (double)groups);
}

/* The errors are 0 for a model with neighbours, whose mean is not made from weights, and for a single knot. */
static oatgp_status find_errors(sobol *s) {
  const size_t d = s->model->d, groups = s->model->k < GROUPS ? s->model->k : GROUPS;
  const uint64_t seed = oat_hash(OAT_HASH_START, (const uint64_t[]){s->of->seed, 2}, 2 * sizeof(uint64_t));
  const double share = fmin((double)s->model->k / s->model->number[OAT_NUMBER_N], 1);
  oatgp_function *means = NULL;
  sobol of_means = *s;
  oatgp_status status = OATGP_OK;
  if (s->model->neighbours > 0 || groups < 2) {
    return OATGP_OK;
  }
  of_means.draws = groups + 1;
  of_means.first = oat_take_doubles(&s->memory, groups + 1, d);
  of_means.total = oat_take_doubles(&s->memory, groups + 1, d);
  of_means.sd = oat_take_doubles(&s->memory, groups + 1, 1);
  TRY(s->memory.status);
  TRY(oat_means_without(s->ctx, s->model, groups, seed, &means));
  TRY(work_on(&of_means, means, 0, groups + 1));
  for (size_t j = 0; j < d; j++) {
    s->first_error[j] = error_of(of_means.first + j * (groups + 1), groups, share);
    s->total_error[j] = error_of(of_means.total + j * (groups + 1), groups, share);
  }
done:
  oatgp_function_free(means);
  return status;
}

/* ---- what the inputs are --------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The values of each input in the rows, in their order. Levels that the model does not know are refused. */
static oatgp_status sort_values(sobol *s) {
  const oatgp_model *model = s->model;
  const oat_scaling *scaling = &model->scaling;
  oat_rows *rows = NULL;
  oatgp_status status;
  TRY(oat_model_inputs(s->ctx, model, s->of->over, &rows));
  s->rows = oat_rows_total(rows);
  s->sorted = oat_take_doubles(&s->memory, s->rows, model->d);
  size_t *const index = oat_take(&s->memory, s->rows, sizeof *index);
  TRY(s->memory.status);
  for (size_t i = 0; i < s->rows; i++) {
    index[i] = i;
  }
  oat_rows_inputs_of(rows, s->rows, index, s->sorted);
  for (size_t j = 0; j < model->d; j++) {
    double *const x = s->sorted + j * s->rows;
    for (size_t i = 0; i < s->rows; i++) {
      x[i] = scaling->category[j] ? x[i] : x[i] * scaling->scale[j] + scaling->centre[j];
    }
    qsort(x, s->rows, sizeof *x, ascending);
    TRY(scaling->category[j] && x[s->rows - 1] > (double)model->levels[j].count - 0.5
            ? oat_fail(s->ctx, OATGP_DATA,
                       "input '%s' has levels in these rows that the model does not know: leave such rows out",
                       model->names[j])
            : OATGP_OK);
  }
done:
  oat_rows_free(rows);
  return status;
}

static oatgp_status find_inputs(sobol *s) {
  const oat_scaling *scaling = &s->model->scaling;
  if (s->of->over != NULL) {
    return sort_values(s);
  }
  for (size_t j = 0; j < s->model->d; j++) {
    s->lowest[j] = scaling->lowest[j] * scaling->scale[j] + scaling->centre[j];
    s->range[j] = (scaling->highest[j] - scaling->lowest[j]) * scaling->scale[j];
  }
  return OATGP_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* Whether functions can be drawn; if not, a note says why the bands are narrower. */
static bool can_draw(oatgp_context *ctx, const oatgp_model *model) {
  const char *const why = oat_functions_without(model);
  if (why != NULL) {
    oat_say(ctx, OATGP_NOTE,
            "functions cannot be drawn from this model, because %s; the indices are those of its mean, and their bands "
            "%s",
            why,
            model->neighbours > 0 ? "cover only the error of the integration"
                                  : "come from groups of rows or knots that are left out");
  }
  return why == NULL;
}

static oatgp_status prepare(sobol *s) {
  const size_t d = s->model->d;
  double **const matrices[] = {&s->a, &s->b};
  double **const values[] = {&s->at_a, &s->at_b, &s->at_j};
  for (size_t i = 0; i < 2; i++) {
    *matrices[i] = oat_take_doubles(&s->memory, POINTS, d);
  }
  for (size_t i = 0; i < 3; i++) {
    *values[i] = oat_take_doubles(&s->memory, POINTS, DRAWS);
  }
  s->lowest = oat_take_doubles(&s->memory, d, 1);
  s->range = oat_take_doubles(&s->memory, d, 1);
  s->first = oat_take_doubles(&s->memory, s->draws, d);
  s->total = oat_take_doubles(&s->memory, s->draws, d);
  s->sd = oat_take_doubles(&s->memory, s->draws, 1);
  s->first_error = oat_take_doubles(&s->memory, d, 1);
  s->total_error = oat_take_doubles(&s->memory, d, 1);
  PASS_ON(s->memory.status);
  s->generator = find_generator(2 * d);
  return find_inputs(s);
}

/* Of sorted values, by interpolation. */
static double quantile(size_t n, const double *sorted, double p) {
  const double place = p * (double)(n - 1);
  const size_t below = (size_t)place, above = below + 1 < n ? below + 1 : below;
  return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

/* Median and band of the draws of an input, which become sorted. The error widens the band, but not beyond what
 * indices can be, from 0 to 1. */
static void hand_over(const sobol *s, size_t j, double *draws, double error, double *const out[3]) {
  const double p = (1 - s->of->interval) / 2, apart = oat_normal_quantile(p) * error;
  qsort(draws, s->draws, sizeof *draws, ascending);
  const double median = quantile(s->draws, draws, 0.5), below = quantile(s->draws, draws, p),
               above = quantile(s->draws, draws, 1 - p);
  const double found[3] = {fmin(below, fmax(median - hypot(median - below, apart), 0)), median,
                           fmax(above, fmin(median + hypot(above - median, apart), 1))};
  for (size_t i = 0; i < 3; i++) {
    if (out[i] != NULL) {
      out[i][j] = found[i];
    }
  }
}

oatgp_status oat_sensitivity(oatgp_context *ctx, const oatgp_model *model, const oatgp_indices_of *of,
                             oatgp_indices *out) {
  const bool drawn = can_draw(ctx, model);
  sobol s = {.ctx = ctx,
             .memory = {.ctx = ctx},
             .model = model,
             .of = of,
             .drawn = drawn,
             .draws = drawn ? of->draws : SHIFTS_OF_MEAN};
  oatgp_status status;
  TRY(prepare(&s));
  TRY(find_errors(&s));
  for (size_t from = 0; from < s.draws; from += drawn ? DRAWS : 1) {
    TRY(drawn ? work_on_draws(&s, from) : work_on(&s, NULL, from, 1));
  }
  for (size_t j = 0; j < model->d; j++) {
    hand_over(&s, j, s.first + j * s.draws, s.first_error[j],
              (double *const[]){out->first_lower, out->first, out->first_upper});
    hand_over(&s, j, s.total + j * s.draws, s.total_error[j],
              (double *const[]){out->total_lower, out->total, out->total_upper});
  }
  qsort(s.sd, s.draws, sizeof *s.sd, ascending);
  out->sd = quantile(s.draws, s.sd, 0.5) * model->number[OAT_NUMBER_Y_SCALE];
done:
  oat_scratch_free(&s.memory);
  return status;
}
