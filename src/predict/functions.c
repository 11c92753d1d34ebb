/* Functions drawn from the posterior. They can be evaluated anywhere, and each stays the same function (pathwise
 * conditioning: Wilson and others 2020). A function f0 of the prior is a sum of waves with random frequencies. The
 * information from the rows is added in the span of the knots:
 *   f(x) = m(x) + f0(x) + k(x, Z) pull
 *   sparse:  pull = L^-T (LB^-T (c + xi) - L^-1 (f0(Z) + e)),  xi standard normal, e with the variance of the jitter
 *   full GP: pull = S^-1 (r - f0(X) - e), e with the variance of noise and jitter
 * Over draws, including those of the waves, f has exactly the mean and the covariance of the model's posterior. A model
 * in which f is determined by the knots (dic) has no f0.
 *
 * GROUP consecutive functions share frequencies, so that the waves of a group are computed once and used in matrix
 * products. Function number i does not depend on how many there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/spectral.h"
#include "kernel/vector.h"
#include "predict/mixture.h"
#include "util/hash.h"
#include "util/machine.h"

enum { WAVES = 512, GROUP = 16, ROWS = 64 }; /* frequencies of a function; functions that share them; rows at a time */

struct oatgp_function {
  const oatgp_model *model; /* its names and scaling are used to read the data */
  oat_scratch memory;
  size_t count, k, d, groups;
  bool waves;        /* it has f0 */
  double *theta, *z; /* k x d: the model's when the functions were drawn */
  double constant;   /* of the prior mean, and its slopes in scaled inputs; NULL for none. In the data's units */
  double *slope, *middle;
  double *frequency;     /* for each group WAVES x d, in turns for each unit of the inputs */
  double *share;         /* for each group WAVES: the weights of the frequencies */
  double *weight;        /* 2 WAVES x count: of cosines, then of sines */
  double *pull;          /* k x count */
  size_t parts;          /* of an averaged model: its members, */
  oatgp_function **part; /* their functions (NULL for none), */
  size_t *member;        /* and count: which of them a function is of */
};

void oatgp_function_free(oatgp_function *f) {
  if (f != NULL) {
    for (size_t m = 0; m < f->parts; m++) {
      oatgp_function_free(f->part[m]);
    }
    oat_scratch_free(&f->memory);
    free(f);
  }
}

static oat_covariance covariance_of(const oatgp_function *f) {
  return oat_covariance_at(f->model->kernel, f->d, f->theta);
}

static size_t in_group(const oatgp_function *f, size_t group) {
  const size_t left = f->count - group * GROUP;
  return left < GROUP ? left : GROUP;
}

/* ---- values at some rows --------------------------------------------------------------------------------------- */

/* The scratch of one worker. */
typedef struct place {
  double *x;           /* ROWS x d: the block's inputs, without gaps */
  double *k, *slope;   /* ROWS x K: the kernel between them and the knots, and its slopes */
  double *turn, *wave; /* ROWS x WAVES; ROWS x 2 WAVES: cosines and sines */
  double *value;       /* ROWS x count */
  double *dx;          /* GROUP matrices of ROWS x d */
  double *work;        /* of the kernel */
} place;

typedef struct job {
  const oatgp_function *f;
  oat_covariance cov;
  size_t n;
  bool prior; /* f0 alone, in the model's unit, n x count, column-major */
  double *values, *gradient;
  double *room; /* `stride` doubles for each worker */
  size_t stride;
} job;

/* Lays a place over memory; without memory, only its size counts, which is returned. */
static size_t lay(const oatgp_function *f, double *memory, place *out) {
  double **const parts[] = {&out->x, &out->k, &out->slope, &out->turn, &out->wave, &out->value, &out->dx, &out->work};
  const size_t sizes[] = {ROWS * f->d,         ROWS * f->k,
                          ROWS * f->k,         ROWS * WAVES,
                          2 * ROWS * WAVES,    ROWS * f->count,
                          GROUP * ROWS * f->d, oat_kernel_work(oat_kernel_size_of(f->model->kernel), ROWS, f->k, f->d)};
  size_t used = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    *parts[i] = memory != NULL ? memory + used : NULL;
    used += sizes[i];
  }
  return used;
}

/* Cosines and sines of a group's waves at the block. */
static void make_waves(const oatgp_function *f, size_t group, size_t n, const place *p) {
  const oat_const_view x = {p->x, n, f->d, n}, w = {f->frequency + group * WAVES * f->d, WAVES, f->d, WAVES};
  double *cosine = p->wave, *sine = p->wave + n * WAVES;
  oat_gemm(1, x, OAT_PLAIN, w, OAT_TRANSPOSED, 0, (oat_view){p->turn, n, WAVES, n});
  oat_waves(n * WAVES, 1, p->turn, 0, cosine, sine); /* sin^2 and sin cos of half the angle */
  for (size_t i = 0; i < n * WAVES; i++) {
    cosine[i] = 1 - 2 * cosine[i];
    sine[i] *= 2;
  }
}

/* Adds f0 of a group to the block's values. */
static void add_waves(const oatgp_function *f, size_t group, size_t n, const place *p) {
  const size_t first = group * GROUP, count = in_group(f, group);
  const oat_const_view waves = {p->wave, n, 2 * WAVES, n},
                       weight = {f->weight + first * 2 * WAVES, 2 * WAVES, count, 2 * WAVES};
  oat_gemm(1, waves, OAT_PLAIN, weight, OAT_PLAIN, 1, (oat_view){p->value + first * n, n, count, n});
}

/* The derivatives of f0 in x: sums of w_l (b_l cos - a_l sin). */
static void add_wave_slopes(const oatgp_function *f, size_t function, size_t n, const place *p, double *dx) {
  const double *a = f->weight + function * 2 * WAVES, *b = a + WAVES, *cosine = p->wave, *sine = p->wave + n * WAVES;
  const oat_const_view w = {f->frequency + function / GROUP * WAVES * f->d, WAVES, f->d, WAVES};
  for (size_t i = 0; i < n * WAVES; i++) {
    p->turn[i] = b[i / n] * cosine[i] - a[i / n] * sine[i];
  }
  oat_gemm(2 * OAT_PI, (oat_const_view){p->turn, n, WAVES, n}, OAT_PLAIN, w, OAT_PLAIN, 1, (oat_view){dx, n, f->d, n});
}

/* Copies those of a group to their places, in the data's units. */
static void slope_group(const job *j, size_t group, size_t first, size_t n, const place *p) {
  const oatgp_function *f = j->f;
  const oat_scaling *scaling = &f->model->scaling;
  const double unit = f->model->number[OAT_NUMBER_Y_SCALE];
  oat_kernel_side side[GROUP];
  const size_t count = in_group(f, group);
  memset(p->dx, 0, count * n * f->d * sizeof *p->dx);
  for (size_t s = 0; s < count; s++) {
    side[s] = (oat_kernel_side){f->pull + (group * GROUP + s) * f->k, 0, 1, p->dx + s * n * f->d};
    if (f->waves) {
      add_wave_slopes(f, group * GROUP + s, n, p, side[s].dx);
    }
  }
  oat_kernel_cross_in_x(&j->cov, (oat_points){p->x, n, n}, (oat_points){f->z, f->k, f->k}, p->slope, n,
                        (oat_kernel_sides){count, side}, p->work);
  for (size_t i = 0; i < count * n * f->d; i++) {
    const size_t s = i / (n * f->d), input = i / n % f->d, row = i % n;
    const double prior = f->slope != NULL ? f->slope[input] : 0;
    j->gradient[((group * GROUP + s) * j->n + first + row) * f->d + input] =
        scaling->category[input] ? 0 : (unit * p->dx[i] + prior) / scaling->scale[input];
  }
}

static void hand_over(const job *j, size_t first, size_t n, const place *p) {
  const oatgp_function *f = j->f;
  const double unit = f->model->number[OAT_NUMBER_Y_SCALE];
  for (size_t i = 0; i < n; i++) {
    double mean = j->prior ? 0 : f->constant;
    for (size_t input = 0; !j->prior && f->slope != NULL && input < f->d; input++) {
      mean += f->slope[input] * (p->x[i + input * n] - f->middle[input]);
    }
    for (size_t s = 0; s < f->count; s++) {
      j->values[s * j->n + first + i] = mean + (j->prior ? 1 : unit) * p->value[i + s * n];
    }
  }
}

static void visit(void *self, size_t lane, size_t first, oat_points x) {
  const job *j = self;
  const oatgp_function *f = j->f;
  const size_t n = x.n;
  place p;
  (void)lane;
  lay(f, j->room + oat_worker() * j->stride, &p);
  for (size_t i = 0; i < n * f->d; i++) {
    p.x[i] = x.a[i % n + i / n * x.ld];
  }
  memset(p.value, 0, n * f->count * sizeof *p.value);
  if (!j->prior) {
    oat_kernel_cross_slopes(&j->cov, (oat_points){p.x, n, n}, (oat_points){f->z, f->k, f->k}, p.k,
                            j->gradient != NULL ? p.slope : NULL, n, p.work);
    oat_gemm(1, (oat_const_view){p.k, n, f->k, n}, OAT_PLAIN, (oat_const_view){f->pull, f->k, f->count, f->k},
             OAT_PLAIN, 0, (oat_view){p.value, n, f->count, n});
  }
  for (size_t group = 0; group < f->groups; group++) {
    if (f->waves) {
      make_waves(f, group, n, &p);
      add_waves(f, group, n, &p);
    }
    if (j->gradient != NULL) {
      slope_group(j, group, first, n, &p);
    }
  }
  if (j->values != NULL) {
    hand_over(j, first, n, &p);
  }
}

/* values: count x n, a function after the other; gradient: the same with d numbers for each row. Either may be NULL. */
static oatgp_status evaluate(oatgp_context *ctx, const oatgp_function *f, const oat_rows *rows, job j) {
  const oat_where where = oat_where_known(oat_where_of(ctx));
  const double count = (double)f->count, waves = f->waves ? 4.0 * WAVES : 0;
  place none;
  j.f = f;
  j.cov = covariance_of(f);
  j.n = oat_rows_total(rows);
  j.stride = lay(f, NULL, &none);
  const size_t workers = where.threads > 1 ? (size_t)where.threads : 1;
  PASS_ON(oat_new_matrix(ctx, workers, j.stride, &j.room));
  const oatgp_status status = oat_rows_each(
      ctx, rows,
      &(oat_each){.block = ROWS,
                  .threads = where.threads,
                  .flops = count * (waves + 2 * (double)f->k) * (j.gradient != NULL ? 1 + (double)f->d : 1),
                  .visit = visit,
                  .self = &j});
  free(j.room);
  return status;
}

/* ---- drawing them ---------------------------------------------------------------------------------------------- */

/* A generator for each function, and for the frequencies of each group. */
static oat_rng generator(uint64_t seed, uint64_t what, size_t number) {
  const uint64_t parts[] = {seed, what, number};
  oat_rng rng;
  oat_rng_seed(&rng, oat_hash(OAT_HASH_START, parts, sizeof parts));
  return rng;
}

static oatgp_status draw_frequencies(oatgp_context *ctx, oatgp_function *f, uint64_t seed) {
  const oat_covariance cov = covariance_of(f);
  double *w = NULL;
  PASS_ON(oat_new_matrix(ctx, f->d, 1, &w));
  for (size_t group = 0; group < f->groups; group++) {
    oat_rng rng = generator(seed, 0, group);
    for (size_t i = 0; i < WAVES; i++) {
      f->share[group * WAVES + i] = oat_spectral_draw(&cov, i, &rng, w);
      for (size_t input = 0; input < f->d; input++) {
        f->frequency[group * WAVES * f->d + i + input * WAVES] = w[input] / (2 * OAT_PI);
      }
    }
  }
  free(w);
  return OATGP_OK;
}

/* Draws the weights of the waves, e with the standard deviations `sd`, in `noise`, and xi. */
static void draw_numbers(oatgp_function *f, uint64_t seed, const double *sd, double *noise, double *xi) {
  const oat_covariance cov = covariance_of(f);
  double prior;
  oat_kernel_diagonal(&cov, (oat_points){f->z, 1, f->k}, &prior);
  for (size_t s = 0; s < f->count; s++) {
    oat_rng rng = generator(seed, 1, s);
    for (size_t i = 0; f->waves && i < 2 * WAVES; i++) {
      const double share = f->share[s / GROUP * WAVES + i % WAVES];
      f->weight[s * 2 * WAVES + i] = sqrt(prior * share / WAVES) * oat_rng_normal(&rng);
    }
    for (size_t i = 0; i < f->k; i++) {
      noise[s * f->k + i] = sd[i] * oat_rng_normal(&rng);
      if (xi != NULL) {
        xi[s * f->k + i] = oat_rng_normal(&rng);
      }
    }
  }
}

/* The standard deviation that the diagonal adds to the kernel: noise and jitter for the full GP, else the jitter. */
static oatgp_status find_spreads(oatgp_context *ctx, const oatgp_function *f, double *sd) {
  const oatgp_model *model = f->model;
  const oat_covariance cov = covariance_of(f);
  double *prior = NULL;
  PASS_ON(oat_new_matrix(ctx, f->k, 1, &prior));
  oat_kernel_diagonal(&cov, (oat_points){f->z, f->k, f->k}, prior);
  for (size_t i = 0; i < f->k; i++) {
    double diagonal = 0;
    for (size_t j = 0; j <= i; j++) {
      diagonal += model->l[i + j * f->k] * model->l[i + j * f->k];
    }
    sd[i] = sqrt(fmax(diagonal - prior[i], 0));
  }
  free(prior);
  return OATGP_OK;
}

/* Turns f0(Z) in `pull`, with e and xi, into the pull itself. */
static void find_pull(oatgp_context *ctx, oatgp_function *f, const double *noise, double *xi) {
  const oatgp_model *model = f->model;
  const size_t k = f->k, all = k * f->count;
  const int threads = oat_where_known(oat_where_of(ctx)).threads;
  const oat_view pull = {f->pull, k, f->count, k}, u = {xi, k, f->count, k};
  for (size_t i = 0; i < all; i++) {
    f->pull[i] = model->approx->sparse ? f->pull[i] + noise[i] : model->r[i % k] - f->pull[i] - noise[i];
  }
  if (!model->approx->sparse) {
    oat_solve_left(model->l, k, OAT_PLAIN, pull, threads);
  } else {
    for (size_t i = 0; i < all; i++) {
      xi[i] += model->c[i % k];
    }
    oat_solve_left(model->lb, k, OAT_TRANSPOSED, u, threads);
    oat_solve_left(model->l, k, OAT_PLAIN, pull, threads);
    for (size_t i = 0; i < all; i++) {
      f->pull[i] = xi[i] - (f->waves ? f->pull[i] : 0);
    }
  }
  oat_solve_left(model->l, k, OAT_TRANSPOSED, pull, threads);
}

static oatgp_status condition(oatgp_context *ctx, oatgp_function *f, uint64_t seed) {
  oat_scratch memory = {.ctx = ctx};
  double *sd = oat_take_doubles(&memory, f->k, 1), *noise = oat_take_doubles(&memory, f->k, f->count);
  double *xi = f->model->approx->sparse ? oat_take_doubles(&memory, f->k, f->count) : NULL;
  oat_rows *knots = NULL;
  oatgp_status status;
  TRY(memory.status);
  TRY(find_spreads(ctx, f, sd));
  draw_numbers(f, seed, sd, noise, xi);
  TRY(oat_rows_from_points(ctx, (oat_points){f->z, f->k, f->k}, f->d, &knots));
  TRY(f->waves ? evaluate(ctx, f, knots, (job){.prior = true, .values = f->pull}) : OATGP_OK);
  find_pull(ctx, f, noise, xi);
done:
  oat_rows_free(knots);
  oat_scratch_free(&memory);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

size_t oat_functions_count(const oatgp_function *f) { return f->count; }

const char *oat_functions_without(const oatgp_model *model) {
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  for (size_t i = 0; !model->approx->sparse && i < model->k; i++) {
    if (model->noise[i] < 0) {
      return "a row has a site of negative variance";
    }
  }
  return model->neighbours > 0 ? "it has neighbours"
         : oat_spectral_without(&cov) != NULL && model->approx->residual != OAT_RESIDUAL_NONE
             ? "its kernel has no spectral form"
             : NULL;
}

static oatgp_status check(oatgp_context *ctx, const oatgp_model *model, size_t count) {
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  const char *without = oat_spectral_without(&cov);
  const double bytes = 8 * (double)count * (2.0 * WAVES + 3 * (double)model->k),
               most = (double)(ctx->memory > 0 ? ctx->memory : oat_machine_available());
  REFUSE_IF(count == 0, ctx, OATGP_ARGUMENT, "there must be at least one function");
  REFUSE_IF(model->neighbours > 0, ctx, OATGP_DATA,
            "functions cannot be drawn from a model with neighbours; draw joint values (samples) instead");
  REFUSE_IF(without != NULL && model->approx->residual != OAT_RESIDUAL_NONE, ctx, OATGP_DATA,
            "functions cannot be drawn with kernel '%s', because %s has no spectral form; draw joint values (samples) "
            "instead",
            model->kernel->name, without);
  REFUSE_IF(bytes > most, ctx, OATGP_MEMORY,
            "%zu functions need %.3g GiB, but only %.3g GiB may be used; draw fewer at a time", count,
            bytes / 1073741824, most / 1073741824);
  for (size_t i = 0; !model->approx->sparse && i < model->k; i++) {
    REFUSE_IF(model->noise[i] < 0, ctx, OATGP_DATA,
              "functions cannot be drawn from this model: the site of row %zu has a negative variance", i + 1);
  }
  return OATGP_OK;
}

static oatgp_status allocate(oatgp_context *ctx, const oatgp_model *model, size_t count, bool waves,
                             oatgp_function **out) {
  oatgp_function *f = NULL;
  PASS_ON(oat_new(ctx, 1, sizeof *f, &f));
  *out = f;
  *f = (oatgp_function){.model = model,
                        .memory = {.ctx = ctx},
                        .count = count,
                        .k = model->k,
                        .d = model->d,
                        .groups = (count + GROUP - 1) / GROUP,
                        .waves = waves};
  oat_scratch *memory = &f->memory;
  f->theta = oat_take_doubles(memory, oat_theta_count(model->kernel, f->d), 1);
  f->z = oat_take_doubles(memory, f->k, f->d);
  f->slope = model->p > 1 ? oat_take_doubles(memory, f->d, 1) : NULL;
  f->middle = oat_take_doubles(memory, f->d, 1);
  f->frequency = oat_take_doubles(memory, f->waves ? f->groups * WAVES : 0, f->d);
  f->share = oat_take_doubles(memory, f->waves ? f->groups : 0, WAVES);
  f->weight = oat_take_doubles(memory, f->waves ? 2 * WAVES : 0, count);
  f->pull = oat_take_doubles(memory, f->k, count);
  return memory->status;
}

/* What an update of the model may change. */
static void copy_model(oatgp_function *f) {
  const oatgp_model *model = f->model;
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  memcpy(f->theta, model->theta, oat_theta_count(model->kernel, f->d) * sizeof *f->theta);
  memcpy(f->z, model->z, f->k * f->d * sizeof *f->z);
  memcpy(f->middle, model->scaling.middle, f->d * sizeof *f->middle);
  f->constant = model->number[OAT_NUMBER_MEAN] + (model->p > 0 ? unit * model->coefficient[0] : 0);
  for (size_t j = 0; f->slope != NULL && j < f->d; j++) {
    f->slope[j] = unit * model->coefficient[1 + j] / model->scaling.spread[j];
  }
}

/* ---- an averaged model: each function is one of a member -------------------------------------------------------- */

static size_t count_of(const oatgp_function *f, size_t member) {
  size_t count = 0;
  for (size_t i = 0; i < f->count; i++) {
    count += f->member[i] == member;
  }
  return count;
}

static oatgp_status draw_parts(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed,
                               oatgp_function **out) {
  oatgp_function *f = NULL;
  oatgp_status status;
  REFUSE_IF(count == 0, ctx, OATGP_ARGUMENT, "there must be at least one function");
  TRY(oat_new(ctx, 1, sizeof *f, &f));
  *f = (oatgp_function){.model = model, .memory = {.ctx = ctx}, .count = count, .d = model->d};
  f->part = oat_take(&f->memory, model->draw_count, sizeof *f->part);
  f->member = oat_take(&f->memory, count, sizeof *f->member);
  TRY(f->memory.status);
  f->parts = model->draw_count;
  oat_mixture_choose(model, count, seed, f->member);
  for (size_t m = 0; m < f->parts; m++) {
    const size_t own = count_of(f, m);
    const uint64_t other = oat_hash(oat_hash(OAT_HASH_START, &seed, sizeof seed), &m, sizeof m);
    TRY(own > 0 ? oat_functions_draw(ctx, model->members[m], own, other, &f->part[m]) : OATGP_OK);
    if (own > 0) {
      f->part[m]->model = model; /* an update makes the members anew, and names and scaling are the same */
    }
  }
  *out = f;
  f = NULL;
done:
  oatgp_function_free(f);
  return status;
}

/* Values and derivatives of the functions of one member, into the places of all. */
static oatgp_status evaluate_part(oatgp_context *ctx, const oatgp_function *f, size_t m, const oat_rows *rows,
                                  double *values, double *gradient) {
  const size_t own = count_of(f, m), n = oat_rows_total(rows), d = f->d;
  oat_scratch memory = {.ctx = ctx};
  const job one = {.values = values != NULL ? oat_take_doubles(&memory, own, n) : NULL,
                   .gradient = gradient != NULL ? oat_take_doubles(&memory, own, n * d) : NULL};
  size_t at = 0;
  oatgp_status status;
  TRY(memory.status);
  TRY(evaluate(ctx, f->part[m], rows, one));
  for (size_t i = 0; i < f->count; i++) {
    if (f->member[i] != m) {
      continue;
    }
    if (values != NULL) {
      memcpy(values + i * n, one.values + at * n, n * sizeof *values);
    }
    if (gradient != NULL) {
      memcpy(gradient + i * n * d, one.gradient + at * n * d, n * d * sizeof *gradient);
    }
    at++;
  }
done:
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status evaluate_parts(oatgp_context *ctx, const oatgp_function *f, const oat_rows *rows, double *values,
                                   double *gradient) {
  for (size_t m = 0; m < f->parts; m++) {
    PASS_ON(f->part[m] != NULL ? evaluate_part(ctx, f, m, rows, values, gradient) : OATGP_OK);
  }
  return OATGP_OK;
}

/* ---------------------------------------------------------------------------------------------------------------- */

oatgp_status oat_functions_draw(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed,
                                oatgp_function **out) {
  if (model->draw_count > 0) {
    return draw_parts(ctx, model, count, seed, out);
  }
  oatgp_function *f = NULL;
  oatgp_status status;
  TRY(check(ctx, model, count));
  TRY(allocate(ctx, model, count, model->approx->residual != OAT_RESIDUAL_NONE, &f));
  copy_model(f);
  TRY(f->waves ? draw_frequencies(ctx, f, seed) : OATGP_OK);
  TRY(condition(ctx, f, seed));
  TRY(oat_all_finite(f->k * count, f->pull, -HUGE_VAL)
          ? OATGP_OK
          : oat_fail(ctx, OATGP_NUMERIC, "the functions are not finite: the model is damaged"));
  *out = f;
  f = NULL;
done:
  oatgp_function_free(f);
  return status;
}

oatgp_status oat_functions_of(oatgp_context *ctx, const oatgp_model *model, size_t count, const double *weights,
                              oatgp_function **out) {
  oatgp_function *f = NULL;
  oatgp_status status;
  TRY(allocate(ctx, model, count, false, &f));
  copy_model(f);
  memcpy(f->pull, weights, f->k * count * sizeof *weights);
  *out = f;
  f = NULL;
done:
  oatgp_function_free(f);
  return status;
}

oatgp_status oat_functions_evaluate(oatgp_context *ctx, const oatgp_function *f, const oatgp_data *data, double *values,
                                    double *gradient) {
  oat_rows *rows = NULL;
  oatgp_status status;
  TRY(oat_model_inputs(ctx, f->model, data, &rows));
  TRY(f->parts > 0 ? evaluate_parts(ctx, f, rows, values, gradient)
                   : evaluate(ctx, f, rows, (job){.values = values, .gradient = gradient}));
done:
  oat_rows_free(rows);
  return status;
}
