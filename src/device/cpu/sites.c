/* Answers that are not Gaussian: each row stands for a Gaussian one, its site, with a target t and a variance n. The sites are a fixed point:
 * with q the posterior of f given all sites, and f_i ~ N(m_i, s_i) under q,
 *   1 / n_i = -2 dE_i/ds_i,  t_i = m_i + n_i dE_i/dm_i,  E_i = E log p(y_i | f_i).
 * Steps towards it are taken in the natural parameters t / n and 1 / n, in which they are those of the natural gradient. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

#define LEAST_PRECISION 1e-10 /* of a site whose answer says next to nothing */
#define LEAST_SHARE 1e-4      /* in the exact GP, where log p is not concave: of the precision that the row has at its own best f */
#define MOST_PRECISION 1e200
enum { VALUE, SLOPE, CHANGE, SIZE, PRODUCT, SQUARE, OWN, SUMS = OWN + OAT_OWN_MOST };

typedef struct job {
  oat_cpu *cpu;
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

/* ---- what the rows ask for --------------------------------------------------------------------------------------- */

/* A site's precision is never 0, but may be negative where log p is not concave: what counts is that of all rows together. */
static double precision_of(double asked) { return copysign(fmin(fmax(fabs(asked), LEAST_PRECISION), MOST_PRECISION), asked); }

/* The covariance of the exact GP's rows has the sites' variances on its diagonal, so that all of them have to be positive there. */
static double exact_precision(const job *j, const oat_row_block *b, size_t i, double asked) {
  double target, noise;
  if (j->look->response.likelihood->log_concave) {
    return precision_of(asked);
  }
  oat_response_sites(&j->look->response, &(oat_answers){1, answer_of(b, OAT_ANSWER_Y) + i, answer_of(b, OAT_ANSWER_TRIALS) + i}, &target,
                     &noise);
  return fmin(fmax(asked, fmax(answer_of(b, OAT_ANSWER_TIMES)[i] * LEAST_SHARE / noise, LEAST_PRECISION)), MOST_PRECISION);
}

/* Expectations of a block's rows, whose m and s are in the columns of their sites; row[1] has then E, and the next sites dm and ds. */
static void expect(const job *j, const oat_row_block *b, double *sums) {
  const oat_answers answers = answers_of(b);
  const oat_latent latent = {site_of(b, OAT_SITE_MEAN), site_of(b, OAT_SITE_VARIANCE)};
  const oat_expectations out = {.value = oat_cpu_own(j->cpu)->row[1],
                                .dm = site_of(b, OAT_SITE_NEXT),
                                .ds = site_of(b, OAT_SITE_NEXT + 1),
                                .parameters = j->look->parameters != NULL ? sums + OWN : NULL,
                                .weights = answer_of(b, OAT_ANSWER_TIMES)};
  oat_response_expect(&j->look->response, &answers, &latent, &out);
}

/* From the derivatives of E to the sites that they ask for, and how far these are from the present ones: by how many standard deviations of
 * f, and by what share of its variance. */
static void ask(const job *j, const oat_row_block *b, double *sums) {
  const double *times = answer_of(b, OAT_ANSWER_TIMES), *base = answer_of(b, OAT_ANSWER_BASE), *value = oat_cpu_own(j->cpu)->row[1];
  const double *m = site_of(b, OAT_SITE_MEAN), *s = site_of(b, OAT_SITE_VARIANCE);
  const double *before = site_of(b, OAT_SITE_CHANGE_TO);
  double *next = site_of(b, OAT_SITE_NEXT), *precision = site_of(b, OAT_SITE_NEXT + 1), *change = site_of(b, OAT_SITE_CHANGE_NEXT);
  for (size_t i = 0; i < b->n; i++) {
    const double now = 1 / b->noise_scale[i], f = m[i] - base[i], dm = times[i] * next[i], asked = -2 * times[i] * precision[i];
    precision[i] = j->sparse != NULL ? precision_of(asked) : exact_precision(j, b, i, asked);
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
  for (size_t c = 0; c < j->cpu->rows->p; c++) {
    for (size_t i = 0; i < b->n; i++) {
      m[i] += j->coefficient[c] * b->r[i + (1 + c) * b->ldr];
    }
  }
}

/* m and s of a block's rows; adds 1/2 sum |u|^2 / n. V stays as it is. */
static void find_moments(const job *j, const oat_cpu_block *b, double *sums) {
  const oat_cpu_worker *own = oat_cpu_own(j->cpu);
  const size_t n = b->rows.n, k = b->v.columns;
  const oat_view u = {own->t, n, k, n};
  const double *base = answer_of(&b->rows, OAT_ANSWER_BASE), *q = oat_cpu_squares(j->cpu, b);
  const double *prior = oat_cpu_prior(j->cpu, j->sparse, &b->rows);
  double *m = site_of(&b->rows, OAT_SITE_MEAN), *s = site_of(&b->rows, OAT_SITE_VARIANCE), *u2 = own->row[2];
  memcpy(u.a, b->v.a, n * k * sizeof *u.a);
  oat_triangle_solve(&j->cpu->b, OAT_TRANSPOSED, u);
  oat_gemv(1, oat_as_const(u), OAT_PLAIN, j->c, 0, m);
  oat_row_squares(n, k, u.a, u.ld, u2);
  for (size_t i = 0; i < n; i++) {
    m[i] += base[i];
    s[i] = oat_cpu_left(prior[i], q[i]) + u2[i];
    sums[VALUE] += 0.5 * u2[i] / b->rows.noise_scale[i];
  }
  add_basis(j, &b->rows, m);
}

static void look_at_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  double *sums = j->sums + lane * SUMS;
  find_moments(j, &b, sums);
  expect(j, &b.rows, sums);
  ask(j, &b.rows, sums);
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

oatgp_status oat_cpu_sites_look(oat_device *device, const oat_sparse *sparse, const oat_site_q *q, oat_site_look *look) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .sparse = sparse, .c = q->c, .coefficient = q->coefficient, .look = look};
  oat_cpu_take_factor(cpu, sparse);
  cpu->b = oat_triangle_make(q->lb, sparse->k, cpu->room + oat_triangle_room(sparse->k), cpu->config.where.threads);
  oat_cpu_run(cpu, "value", look_at_block, &j);
  conclude(&j, cpu->lanes);
  return OATGP_OK;
}

/* ---- the exact GP: S^-1 is known, so that m = t - n a and s = n - n^2 (S^-1)_ii ---------------------------------- */

static void look_at_exact(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu *cpu = j->cpu;
  const size_t n = cpu->rows->n;
  const oat_row_block b = oat_rows_block(cpu->rows, cpu->block, item);
  const double *base = answer_of(&b, OAT_ANSWER_BASE), *a = cpu->exact.a + b.first;
  double *m = site_of(&b, OAT_SITE_MEAN), *s = site_of(&b, OAT_SITE_VARIANCE), *sums = j->sums + lane * SUMS;
  for (size_t i = 0; i < b.n; i++) {
    const double noise = b.noise_scale[i], left = 1 - noise * cpu->exact.s[(b.first + i) * (n + 1)];
    m[i] = b.r[i] - noise * a[i] + base[i];
    s[i] = noise * fmax(left, 0);
    sums[VALUE] += 0.5 * (log(noise) + noise * a[i] * a[i] + left);
  }
  expect(j, &b, sums);
  ask(j, &b, sums);
}

oatgp_status oat_cpu_exact_sites_look(oat_device *device, oat_site_look *look) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .look = look};
  oat_cpu_invert(cpu);
  oat_cpu_run(cpu, NULL, look_at_exact, &j);
  conclude(&j, cpu->lanes);
  return OATGP_OK;
}

/* ---- a row without its site -------------------------------------------------------------------------------------- */

double oat_cpu_answer_density(const oat_response *response, const oat_row_block *b, size_t i, double f, double variance) {
  const double m = f + answer_of(b, OAT_ANSWER_BASE)[i], s = fmax(variance, 0);
  double density;
  oat_response_predictive(response, &(oat_answers){1, answer_of(b, OAT_ANSWER_Y) + i, answer_of(b, OAT_ANSWER_TRIALS) + i},
                          &(oat_latent){&m, &s}, &density);
  return answer_of(b, OAT_ANSWER_TIMES)[i] * density;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

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

/* A step of more than 1 goes on in the target and in the logarithm of the precision, as sites do that move along the tail of a
 * likelihood. */
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

/* Where f is m: the natural parameters of the site that the row asks for there, and 0 variance. */
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
  const oat_row_block b = oat_rows_block(g->rows, g->rows->n, 0);
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

static void over_chunks(const oat_cpu *cpu, void (*item)(void *self, size_t lane, size_t item), moving *g) {
  oat_loop loop = oat_chunks(cpu->rows->n, 10 * OAT_FLOPS_OF_MEMORY, cpu->config.where.threads);
  loop.item = item;
  loop.self = g;
  oat_loop_run(&loop);
}

oatgp_status oat_cpu_sites_begin(oat_device *device, const oat_response *response, double level) {
  const oat_cpu *cpu = oat_cpu_of(device);
  over_chunks(cpu, begin_chunk, &(moving){.rows = cpu->rows, .response = response, .level = level});
  return OATGP_OK;
}

oatgp_status oat_cpu_sites_move(oat_device *device, double step, bool accept) {
  const oat_cpu *cpu = oat_cpu_of(device);
  over_chunks(cpu, move_chunk, &(moving){.rows = cpu->rows, .step = step, .accept = accept});
  return OATGP_OK;
}
