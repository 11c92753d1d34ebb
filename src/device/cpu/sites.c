/* Targets that are not Gaussian: each row is replaced by a Gaussian row, its site, with a target t and a variance n.
 * The sites are a fixed point. With q the posterior of f given all sites, and f_i ~ N(m_i, s_i) under q,
 *   1 / n_i = -2 dE_i/ds_i,  t_i = m_i + n_i dE_i/dm_i,  E_i = E log p(y_i | f_i).
 * Steps towards it are taken in the natural parameters t / n and 1 / n, where they follow the natural gradient. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

#define LEAST_PRECISION 1e-10 /* of a site whose target has almost no information */
/* In the exact GP, if log p is not concave: relative to the precision of the row at its own best f. */
#define LEAST_SHARE 1e-4
#define MOST_PRECISION 1e200
enum { VALUE, SLOPE, CHANGE, SIZE, PRODUCT, SQUARE, OWN, SUMS = OWN + OAT_OWN_MOST };

enum { LOOKED_AT = 256 }; /* rows at a time whose moments another device has computed */

typedef struct job {
  oat_cpu *cpu; /* NULL: another device has computed the moments of the rows */
  const oat_rows *rows;
  bool exact;
  const oat_sparse *sparse;
  const double *c, *coefficient;
  oat_site_look *look;
  double sums[OAT_MOST_LANES * SUMS];
} job;

static const double *answer_of(const oat_row_block *b, size_t column) { return b->answer + column * b->ldr; }

static double *site_of(const oat_row_block *b, size_t column) { return b->site + column * b->ldr; }

static oat_answers answers_of(const oat_row_block *b) {
  return (oat_answers){b->n, answer_of(b, OAT_ANSWER_Y), answer_of(b, OAT_ANSWER_TRIALS)};
}

/* ---- the sites that follow from q ------------------------------------------------------------------------------ */

/* A site's precision is never 0, but may be negative if log p is not concave, because only the sum over all rows
 * matters. */
static double precision_of(double asked) {
  return copysign(fmin(fmax(fabs(asked), LEAST_PRECISION), MOST_PRECISION), asked);
}

/* In the exact GP, the variances of the sites are on the diagonal of the covariance, so all of them must be
 * positive. */
static double exact_precision(const job *j, const oat_row_block *b, size_t i, double asked) {
  double target, noise;
  if (j->look->response.likelihood->log_concave) {
    return precision_of(asked);
  }
  oat_response_sites(&j->look->response,
                     &(oat_answers){1, answer_of(b, OAT_ANSWER_Y) + i, answer_of(b, OAT_ANSWER_TRIALS) + i}, &target,
                     &noise);
  return fmin(fmax(asked, fmax(answer_of(b, OAT_ANSWER_TIMES)[i] * LEAST_SHARE / noise, LEAST_PRECISION)),
              MOST_PRECISION);
}

/* Expectations of a block's rows, whose m and s are in the columns of their sites: E, and in the place of the next
 * sites dm and ds. */
static void expect(const job *j, const oat_row_block *b, double *value, double *sums) {
  const oat_answers answers = answers_of(b);
  const oat_latent latent = {site_of(b, OAT_SITE_MEAN), site_of(b, OAT_SITE_VARIANCE)};
  const oat_expectations out = {.value = value,
                                .dm = site_of(b, OAT_SITE_NEXT),
                                .ds = site_of(b, OAT_SITE_NEXT + 1),
                                .parameters = j->look->parameters != NULL ? sums + OWN : NULL,
                                .weights = answer_of(b, OAT_ANSWER_TIMES)};
  oat_response_expect(&j->look->response, &answers, &latent, &out);
}

/* Computes the sites that follow from the derivatives of E, and their distance from the current ones: in standard
 * deviations of f, and as a share of its variance. */
static void ask(const job *j, const oat_row_block *b, const double *value, double *sums) {
  const double *times = answer_of(b, OAT_ANSWER_TIMES), *base = answer_of(b, OAT_ANSWER_BASE);
  const double *m = site_of(b, OAT_SITE_MEAN), *s = site_of(b, OAT_SITE_VARIANCE);
  const double *before = site_of(b, OAT_SITE_CHANGE_TO);
  double *next = site_of(b, OAT_SITE_NEXT), *precision = site_of(b, OAT_SITE_NEXT + 1),
         *change = site_of(b, OAT_SITE_CHANGE_NEXT);
  for (size_t i = 0; i < b->n; i++) {
    const double now = 1 / b->noise_scale[i], f = m[i] - base[i], dm = times[i] * next[i],
                 asked = -2 * times[i] * precision[i];
    precision[i] = !j->exact ? precision_of(asked) : exact_precision(j, b, i, asked);
    next[i] = dm + precision[i] * f;
    sums[VALUE] += times[i] * value[i];
    sums[SLOPE] += dm;
    sums[SIZE] += fabs(asked) * m[i] * m[i];
    change[i] = (dm - now * (b->r[i] - f)) * sqrt(s[i]);
    change[i + b->ldr] = (precision[i] - now) * s[i];
    sums[CHANGE] = fmax(sums[CHANGE], fmax(fabs(change[i]), fabs(change[i + b->ldr])));
    sums[PRODUCT] += change[i] * before[i] + change[i + b->ldr] * before[i + b->ldr];
    sums[SQUARE] += before[i] * before[i] + before[i + b->ldr] * before[i + b->ldr];
  }
}

/* Adds the estimated mean to m. */
static void add_basis(const job *j, const oat_row_block *b, double *m) {
  for (size_t c = 0; c < j->rows->p; c++) {
    for (size_t i = 0; i < b->n; i++) {
      m[i] += j->coefficient[c] * b->r[i + (1 + c) * b->ldr];
    }
  }
}

/* The sites that follow from m and s of a block's rows. */
static void look_at(const job *j, const oat_row_block *b, double *value, double *sums) {
  expect(j, b, value, sums);
  ask(j, b, value, sums);
}

/* Computes m and s of a block's rows in the places of u . c and k(x, x) - |v|^2; adds 1/2 sum |u|^2 / n. */
static void finish_moments(const job *j, const oat_row_block *b, const double *u2, double *sums) {
  const double *base = answer_of(b, OAT_ANSWER_BASE);
  double *m = site_of(b, OAT_SITE_MEAN), *s = site_of(b, OAT_SITE_VARIANCE);
  for (size_t i = 0; i < b->n; i++) {
    m[i] += base[i];
    s[i] += u2[i];
    sums[VALUE] += 0.5 * u2[i] / b->noise_scale[i];
  }
  add_basis(j, b, m);
}

/* The same from V, which is not changed. */
static void find_moments(const job *j, const oat_cpu_block *b, double *sums) {
  const oat_cpu_worker *own = oat_cpu_own(j->cpu);
  const size_t n = b->rows.n, k = b->v.columns;
  const oat_view u = {own->t, n, k, n};
  const double *q = oat_cpu_squares(j->cpu, b), *prior = oat_cpu_prior(j->cpu, j->sparse, &b->rows);
  double *s = site_of(&b->rows, OAT_SITE_VARIANCE);
  memcpy(u.a, b->v.a, n * k * sizeof *u.a);
  oat_triangle_solve(&j->cpu->b, OAT_TRANSPOSED, u);
  oat_gemv(1, oat_as_const(u), OAT_PLAIN, j->c, 0, site_of(&b->rows, OAT_SITE_MEAN));
  oat_row_squares(n, k, u.a, u.ld, own->row[2]);
  for (size_t i = 0; i < n; i++) {
    s[i] = oat_cpu_left(prior[i], q[i]);
  }
  finish_moments(j, &b->rows, own->row[2], sums);
}

static void look_at_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  double *sums = j->sums + lane * SUMS;
  if (b.rows.n == 0) {
    return;
  }
  find_moments(j, &b, sums);
  look_at(j, &b.rows, oat_cpu_own(j->cpu)->row[1], sums);
}

/* The sums of all lanes, in their order. */
static void conclude(const job *j, size_t lanes) {
  oat_site_look *look = j->look;
  double product = 0, square = 0;
  look->value = look->slope = look->change = look->size = 0;
  if (look->parameters != NULL) {
    memset(look->parameters, 0, look->count * sizeof *look->parameters);
  }
  for (size_t lane = 0; lane < lanes; lane++) {
    const double *sums = j->sums + lane * SUMS;
    look->value += sums[VALUE];
    look->slope += sums[SLOPE];
    look->size += sums[SIZE];
    look->change = fmax(look->change, sums[CHANGE]);
    product += sums[PRODUCT];
    square += sums[SQUARE];
    for (size_t i = 0; look->parameters != NULL && i < look->count; i++) {
      look->parameters[i] += sums[OWN + i];
    }
  }
  look->turn = square > 0 ? product / square : 0;
}

oatgp_status oat_cpu_sites_look(oat_device *device, const oat_sparse *sparse, const oat_site_q *q,
                                oat_site_look *look) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .rows = cpu->rows, .sparse = sparse, .c = q->c, .coefficient = q->coefficient, .look = look};
  oat_cpu_take_factor(cpu, sparse);
  cpu->b = oat_triangle_make(q->lb, sparse->k, cpu->room + oat_triangle_room(sparse->k), cpu->config.where.threads);
  oat_cpu_run(cpu, "value", look_at_block, &j);
  conclude(&j, oat_cpu_all_lanes(cpu, j.sums, SUMS));
  for (size_t column = OAT_SITE_NEXT; column < OAT_SITE_COLUMNS; column++) {
    oat_cpu_all_rows(cpu, column < OAT_SITE_CHANGE_TO || column >= OAT_SITE_CHANGE_NEXT
                              ? cpu->rows->site + column * cpu->rows->n
                              : NULL);
  }
  return oat_rows_check(cpu->ctx, cpu->rows);
}

/* ---- the exact GP: S^-1 is known, so that m = t - n a and s = n - n^2 (S^-1)_ii -------------------------------- */

/* a of a block's rows, and (S^-1)_ii, `step` apart; both may be in the places of m and s. */
static void finish_exact(const oat_row_block *b, const double *a, const double *diagonal, size_t step, double *sums) {
  const double *base = answer_of(b, OAT_ANSWER_BASE);
  double *m = site_of(b, OAT_SITE_MEAN), *s = site_of(b, OAT_SITE_VARIANCE);
  for (size_t i = 0; i < b->n; i++) {
    const double noise = b->noise_scale[i], own = a[i], left = 1 - noise * diagonal[i * step];
    m[i] = b->r[i] - noise * own + base[i];
    s[i] = noise * fmax(left, 0);
    sums[VALUE] += 0.5 * (log(noise) + noise * own * own + left);
  }
}

static void look_at_exact(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu *cpu = j->cpu;
  const size_t step = cpu->rows->n + 1;
  const oat_row_block b = oat_cpu_rows(cpu, item);
  double *sums = j->sums + lane * SUMS;
  finish_exact(&b, cpu->exact.a + b.first, cpu->exact.s + b.first * step, step, sums);
  look_at(j, &b, oat_cpu_own(cpu)->row[1], sums);
}

oatgp_status oat_cpu_exact_sites_look(oat_device *device, oat_site_look *look) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .rows = cpu->rows, .exact = true, .look = look};
  oat_cpu_invert(cpu);
  oat_cpu_run(cpu, NULL, look_at_exact, &j);
  conclude(&j, cpu->lanes);
  return OATGP_OK;
}

/* ---- moments that another device has computed ------------------------------------------------------------------ */

static void look_at_found(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_row_block b = oat_rows_block(j->rows, LOOKED_AT, item);
  double *sums = j->sums + lane * SUMS, value[LOOKED_AT];
  if (j->exact) {
    finish_exact(&b, site_of(&b, OAT_SITE_MEAN), site_of(&b, OAT_SITE_VARIANCE), 1, sums);
  } else {
    finish_moments(j, &b, site_of(&b, OAT_SITE_NEXT), sums);
  }
  look_at(j, &b, value, sums);
}

void oat_sites_look(const oat_rows *rows, int threads, bool exact, const double *coefficient, oat_site_look *look) {
  const size_t items = oat_rows_blocks(rows, LOOKED_AT), lanes = oat_lanes_for(items);
  job j = {.rows = rows, .exact = exact, .coefficient = coefficient, .look = look};
  oat_loop_run(&(oat_loop){.items = items, .lanes = lanes, .threads = threads, .item = look_at_found, .self = &j});
  conclude(&j, lanes);
}

/* ---- a row without its site ------------------------------------------------------------------------------------ */

double oat_cpu_answer_density(const oat_response *response, const oat_row_block *b, size_t i, double f,
                              double variance) {
  const double m = f + answer_of(b, OAT_ANSWER_BASE)[i], s = fmax(variance, 0);
  double density;
  oat_response_predictive(response,
                          &(oat_answers){1, answer_of(b, OAT_ANSWER_Y) + i, answer_of(b, OAT_ANSWER_TRIALS) + i},
                          &(oat_latent){&m, &s}, &density);
  return answer_of(b, OAT_ANSWER_TIMES)[i] * density;
}

/* ---- moving ---------------------------------------------------------------------------------------------------- */

typedef struct moving {
  const oat_rows *rows;
  const oat_response *response;
  double level; /* of f, or NaN */
  double step;
  bool accept;
} moving;

/* r and noise_scale of a row from the natural parameters of its site. */
static void put_site(const oat_rows *rows, size_t i, double weighted, double precision) {
  oat_writable(rows, rows->r)[i] = weighted / precision;
  oat_writable(rows, rows->noise_scale)[i] = 1 / precision;
}

/* Beyond 1, a step continues linearly in the target and in the logarithm of the precision, because sites on the tail of
 * a likelihood move like that. */
static void step_site(const moving *g, size_t i, const double *from, const double *to) {
  if (g->step > 1 && from[1] > 0 && to[1] > 0) {
    const double target = from[0] / from[1] + g->step * (to[0] / to[1] - from[0] / from[1]);
    const double precision = precision_of(from[1] * pow(to[1] / from[1], g->step));
    put_site(g->rows, i, target * precision, precision);
  } else {
    const double step = fmin(g->step, 1);
    put_site(g->rows, i, step < 1 ? from[0] + step * (to[0] - from[0]) : to[0],
             precision_of(step < 1 ? from[1] + step * (to[1] - from[1]) : to[1]));
  }
}

static void move_chunk(void *self, size_t lane, size_t item) {
  const moving *g = self;
  const size_t n = g->rows->n;
  const oat_span part = oat_chunk(n, item);
  double *from = g->rows->site + OAT_SITE_FROM * n, *to = g->rows->site + OAT_SITE_TO * n;
  const double *next = g->rows->site + OAT_SITE_NEXT * n, *change = g->rows->site + OAT_SITE_CHANGE_NEXT * n;
  double *before = g->rows->site + OAT_SITE_CHANGE_TO * n;
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    if (g->accept) {
      const double precision = 1 / g->rows->noise_scale[i];
      from[i] = g->rows->r[i] * precision;
      from[i + n] = precision;
      for (size_t j = i; j <= i + n; j += n) {
        to[j] = next[j];
        before[j] = change[j];
      }
    }
    step_site(g, i, (const double[]){from[i], from[i + n]}, (const double[]){to[i], to[i + n]});
  }
}

/* At f = m with variance 0: the natural parameters of the site that follows. */
static void site_at(const oat_response *response, const oat_answers *row, double m, double *target, double *noise) {
  const double s = 0;
  double value, dm, ds;
  oat_response_expect(response, row, &(oat_latent){&m, &s}, &(oat_expectations){.value = &value, .dm = &dm, .ds = &ds});
  *noise = 1 / fmax(-2 * ds, LEAST_PRECISION);
  *target = m + *noise * dm;
}

static void begin_chunk(void *self, size_t lane, size_t item) {
  const moving *g = self;
  const oat_span part = oat_chunk(g->rows->n, item);
  const oat_row_block b = {.ldr = g->rows->n, .answer = g->rows->answer};
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    double target, noise;
    const double base = answer_of(&b, OAT_ANSWER_BASE)[i];
    const oat_answers row = {1, answer_of(&b, OAT_ANSWER_Y) + i, answer_of(&b, OAT_ANSWER_TRIALS) + i};
    if (isnan(g->level)) {
      oat_response_sites(g->response, &row, &target, &noise);
    } else {
      site_at(g->response, &row, base + g->level, &target, &noise);
    }
    const double precision = precision_of(answer_of(&b, OAT_ANSWER_TIMES)[i] / noise);
    put_site(g->rows, i, (target - base) * precision, precision);
  }
}

static void over_chunks(int threads, void (*item)(void *self, size_t lane, size_t item), moving *g) {
  oat_loop loop = oat_chunks(g->rows->n, 10 * OAT_FLOPS_OF_MEMORY, threads);
  loop.item = item;
  loop.self = g;
  oat_loop_run(&loop);
}

void oat_sites_begin(const oat_rows *rows, int threads, const oat_response *response, double level) {
  over_chunks(threads, begin_chunk, &(moving){.rows = rows, .response = response, .level = level});
}

void oat_sites_move(const oat_rows *rows, int threads, double step, bool accept) {
  over_chunks(threads, move_chunk, &(moving){.rows = rows, .step = step, .accept = accept});
}

oatgp_status oat_cpu_sites_begin(oat_device *device, const oat_response *response, double level) {
  const oat_cpu *cpu = oat_cpu_of(device);
  oat_sites_begin(cpu->rows, cpu->config.where.threads, response, level);
  return OATGP_OK;
}

oatgp_status oat_cpu_sites_move(oat_device *device, double step, bool accept) {
  const oat_cpu *cpu = oat_cpu_of(device);
  oat_sites_move(cpu->rows, cpu->config.where.threads, step, accept);
  return OATGP_OK;
}
