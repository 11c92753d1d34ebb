/* Knots and neighbours: each row is predicted from its nearest earlier rows within what the knots leave of the
 * covariance. For row i with the neighbours J:
 *   C = K_JJ - V_J V_J^T + diag(n_J),  c = k_Ji - V_J v_i,  b = C^-1 c,  D_i = k_ii - |v_i|^2 + n_i - b.c
 *   w_i = v_i - V_J^T b,  rho_i = r_i - b.r_J
 * and the sums are those of fitc with w, rho, D in the places of v, r, lambda. N (M^2 K + M^3 + K^2) in all.
 *
 * The gradient, with om = 1 / D, dw = om ((rho - w.e) e - B^-1 w), drho = -om (rho - w.e) and dD as of lambda in fitc:
 *   z = C^-1 db,  db = -V_J dw - r_J drho,  a_i = dw - 2 dD w_i - V_J^T z
 *   dV_j = a_j - sum over the rows i that have j as a neighbour of (b_ij a_i + z_ij w_i)
 *   dk_Ji = z - 2 dD b,  dK_JJ = dD b b^T - (z b^T + b z^T) / 2,  dk_ii = dD,  dn likewise
 * Since dK_JJ has rank two, the gradient has no product of M^2 K. dV_j is gathered by row j from those that have it as
 * a neighbour, in their order, so the number of threads does not change a bit. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/neighbours.h"
#include "kernel/vector.h"
#include "util/machine.h"

#define MOST_LIFTS 1e6 /* rounding errors of C that may be added to its diagonal */
enum { LINE = 8 };     /* numbers in a line of the cache */

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* Lays a desk over memory; without memory, only its size counts, which is returned. */
static size_t lay(const oat_cpu *cpu, double *memory, oat_desk *out) {
  const size_t m = cpu->near.most, k = cpu->config.max_knots, d = cpu->rows->d, pairs = oat_pairs(m + 1);
  double *v, *next, **const parts[] = {&v,
                                       &next,
                                       &out->c,
                                       &out->factor,
                                       &out->x,
                                       &out->pairs[0],
                                       &out->pairs[1],
                                       &out->pairs[2],
                                       &out->pairs[3],
                                       &out->work,
                                       &out->b,
                                       &out->w,
                                       &out->points,
                                       &out->cross};
  const bool other = cpu->config.predicts;
  const size_t sizes[] = {m + 1,
                          m + 1, /* pointers, which are no longer than numbers */
                          oat_few_side(m + 1) * (m + 1),
                          oat_few_packed(m),
                          (m + 1) * d,
                          pairs,
                          pairs,
                          pairs,
                          pairs,
                          oat_pairs_work(cpu->config.kernel, m + 1, d),
                          oat_few_side(m),
                          k,
                          other ? OAT_NEAR_POINTS * k : 0,
                          other ? oat_kernel_work(cpu->config.kernel, OAT_NEAR_POINTS, k, d) : 0};
  size_t used = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    *parts[i] = memory != NULL ? memory + used : NULL;
    used += sizes[i];
  }
  out->v = (const double **)v;
  out->next = (const double **)next;
  return used;
}

oat_desk oat_desk_own(const oat_cpu *cpu) {
  oat_desk out;
  lay(cpu, cpu->near.desks + oat_worker() * cpu->near.desk, &out);
  return out;
}

/* A rows x numbers matrix, whose rows are read in any order. */
static double *take_all(oat_cpu *cpu, size_t numbers) {
  double *all = oat_take_doubles(&cpu->memory, cpu->rows->n, numbers);
  oat_machine_large_pages(all, cpu->rows->n * numbers * sizeof *all);
  return all;
}

/* Allocates the memory of every row, and more for gradients. The factors of C are kept if the budget allows. */
static void take_rows(oat_cpu *cpu) {
  oat_cpu_neighbours *near = &cpu->near;
  const size_t n = cpu->rows->n, k = cpu->config.max_knots, most = near->most;
  const double bytes = (double)n * (double)oat_few_packed(most) * sizeof(double);
  oat_scratch *memory = &cpu->memory;
  near->rank = oat_take(memory, n, sizeof *near->rank);
  near->list = oat_take(memory, n * most, sizeof *near->list);
  near->start = oat_take(memory, n + 1, sizeof *near->start);
  near->entry = oat_take(memory, n * most, sizeof *near->entry);
  near->w = take_all(cpu, k);
  near->b = oat_take_doubles(memory, n, most);
  near->d = oat_take_doubles(memory, n, 1);
  near->rho = oat_take_doubles(memory, n, 1 + cpu->rows->p);
  if (cpu->config.fits) {
    near->a = take_all(cpu, k);
    near->z = oat_take_doubles(memory, n, most);
    near->theta = oat_take_doubles(memory, oat_cpu_thetas(cpu), OAT_MOST_LANES);
    near->factor = bytes <= (double)cpu->config.memory ? take_all(cpu, oat_few_packed(most)) : NULL;
  }
}

/* Rows x K numbers are unavoidable here, since a neighbour may be any row. */
void oat_cpu_take_neighbours(oat_cpu *cpu) {
  const size_t n = cpu->rows->n, others = cpu->config.predicts || n == 0 ? n : n - 1;
  cpu->near = (oat_cpu_neighbours){.most = cpu->config.neighbours < others ? cpu->config.neighbours : others};
  if (cpu->near.most == 0) {
    return;
  }
  oat_desk none;
  cpu->near.v = take_all(cpu, cpu->config.max_knots);
  cpu->near.x = take_all(cpu, cpu->rows->d);
  cpu->near.desk = lay(cpu, NULL, &none);
  cpu->near.desks = oat_take_doubles(&cpu->memory, cpu->near.desk, cpu->workers);
  cpu->near.trouble = oat_take(&cpu->memory, cpu->workers, sizeof *cpu->near.trouble);
  if (!cpu->config.predicts) {
    take_rows(cpu);
  }
}

/* ---- the spatial order ----------------------------------------------------------------------------------------- */

static void copy_inputs(const oat_rows *rows, double *x) {
  for (size_t i = 0; i < rows->n; i++) {
    for (size_t j = 0; j < rows->d; j++) {
      x[i * rows->d + j] = rows->x[i + j * rows->n];
    }
  }
}

/* Rows close together share neighbours, whose results are then still in the cache. */
static oatgp_status arrange(oatgp_context *ctx, oat_cpu *cpu) {
  oat_cpu_neighbours *near = &cpu->near;
  const size_t n = cpu->rows->n;
  size_t *index = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, n, sizeof *index, &index));
  TRY(oat_near_order(ctx, near->x, n, cpu->rows->d, near->rank));
  for (size_t i = 0; i < n; i++) {
    index[i] = near->rank[i];
  }
  TRY(oat_rows_take(ctx, cpu->rows, n, index, &near->rows));
  copy_inputs(near->rows, near->x);
done:
  free(index);
  return status;
}

oatgp_status oat_cpu_arrange(oatgp_context *ctx, oat_cpu *cpu) {
  oat_rows_free(cpu->near.rows);
  cpu->near.rows = NULL;
  if (cpu->near.most == 0) {
    return OATGP_OK;
  }
  copy_inputs(cpu->rows, cpu->near.x);
  return cpu->config.predicts ? OATGP_OK : arrange(ctx, cpu);
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

static oat_near_lists lists_of(const oat_cpu *cpu) {
  return (oat_near_lists){cpu->rows->n, cpu->near.most, cpu->near.list, cpu->near.rank};
}

static size_t count_of(const oat_cpu_neighbours *near, size_t i) {
  return near->rank[i] < near->most ? near->rank[i] : near->most;
}

oatgp_status oat_near_search(oat_cpu *cpu, const oat_covariance *cov, oat_near **out) {
  return oat_near_open_for(cpu->ctx, oat_rows_block(cpu->rows, cpu->rows->n, 0).x, cov, cpu->config.where.threads, out);
}

/* Converts rows and neighbours from the order of the device's rows to the spatial order. */
static void arrange_list(oat_cpu_neighbours *near, size_t n, const uint32_t *found, uint32_t *place) {
  for (size_t i = 0; i < n; i++) {
    place[near->rank[i]] = (uint32_t)i;
  }
  for (size_t i = 0; i < n; i++) {
    const uint32_t *from = found + near->rank[i] * near->most;
    for (size_t j = 0; j < count_of(near, i); j++) {
      near->list[i * near->most + j] = place[from[j]];
    }
  }
}

oatgp_status oat_cpu_find_neighbours(oat_device *device, const oat_covariance *cov, double *share) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n, most = cpu->near.most;
  oat_scratch memory = {.ctx = cpu->ctx};
  oat_near *search = NULL;
  oatgp_status status = OATGP_OK;
  if (most == 0) {
    return OATGP_OK;
  }
  uint32_t *found = oat_take(&memory, n * most, sizeof *found), *place = oat_take(&memory, n, sizeof *place);
  double *room = oat_take_doubles(&memory, cov->d, 1);
  TRY(memory.status);
  TRY(oat_near_search(cpu, cov, &search));
  TRY(oat_near_before(search, most, found));
  arrange_list(&cpu->near, n, found, place);
  const oat_near_lists lists = lists_of(cpu);
  oat_near_turn(&lists, cpu->near.start, cpu->near.entry);
  if (share != NULL) {
    oat_near_shares(&lists, cov, &(oat_near_inputs){cpu->near.x, cov->d, 1}, room, share);
  }
done:
  oat_near_close(search);
  oat_scratch_free(&memory);
  return status;
}

/* ---- a row and its neighbours ---------------------------------------------------------------------------------- */

oat_near_job oat_near_job_of(oat_cpu *cpu, const oat_sparse *sparse) {
  return (oat_near_job){.cpu = cpu, .sparse = sparse, .all = oat_rows_block(oat_near_rows(cpu), cpu->rows->n, 0)};
}

static double noise_of(const oat_near_job *j, size_t i) { return oat_block_noise(&j->all, j->sparse->tau, i); }

oat_seat oat_seat_take(const oat_near_job *j, size_t i) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  oat_seat s = {.i = i,
                .m = count_of(near, i),
                .list = near->list + i * near->most,
                .next = near->list + (i + 1 < j->all.n && near->rank[i + 1] >= near->most ? i + 1 : i) * near->most,
                .x = j->all.x.a + i,
                .ldx = j->all.x.ld,
                .v = oat_row_of(near->v, i, j->sparse->k),
                .noise = noise_of(j, i),
                .at = oat_desk_own(j->cpu)};
  if (near->factor != NULL && j->sparse->gradient) {
    s.at.factor = near->factor + i * oat_few_packed(near->most);
  }
  return s;
}

void oat_near_pairs(const oat_near_job *j, const oat_seat *s, bool slopes) {
  const size_t d = j->cpu->rows->d, points = s->m + 1;
  for (size_t a = 0; a < s->m; a++) {
    const double *x = oat_row_of(j->cpu->near.x, s->list[a], d), *next = oat_row_of(j->cpu->near.x, s->next[a], d);
    for (size_t input = 0; input < d; input += LINE) {
      __builtin_prefetch(next + input);
    }
    for (size_t input = 0; input < d; input++) {
      s->at.x[a + input * points] = x[input];
    }
  }
  for (size_t input = 0; input < d; input++) {
    s->at.x[s->m + input * points] = s->x[input * s->ldx];
  }
  double *const *pairs = s->at.pairs;
  const oat_pair_values values = {pairs[0], slopes ? pairs[1] : NULL, slopes ? pairs[2] : NULL};
  oat_kernel_pairs(&j->sparse->cov, (oat_points){s->at.x, points, points}, &values, s->at.work);
}

void oat_near_take_v(const oat_near_job *j, const oat_seat *s) {
  for (size_t a = 0; a < s->m; a++) {
    s->at.v[a] = oat_row_of(j->cpu->near.v, s->list[a], j->sparse->k);
    s->at.next[a] = oat_row_of(j->cpu->near.v, s->next[a], j->sparse->k);
  }
  s->at.v[s->m] = s->at.next[s->m] = s->v;
}

/* The covariance of the neighbours and the point that the knots leave, plus their noise. Only the neighbours get the
 * lift. */
static void make_c(const oat_near_job *j, const oat_seat *s, double lift) {
  const size_t points = s->m + 1, side = oat_few_side(points);
  for (size_t b = 0; b < points; b++) {
    double *column = s->at.c + b + b * side;
    memcpy(column, s->at.pairs[0] + oat_pair(points, b, b), (points - b) * sizeof *column);
    column[0] += b < s->m ? noise_of(j, s->list[b]) + lift : s->noise;
  }
  oat_few_products((oat_few){points, j->sparse->k, s->at.v, s->at.next}, s->at.c);
}

/* C is the difference of two matrices and has their rounding errors. These are added to its diagonal if there is almost
 * no noise. */
double oat_near_factorise(const oat_near_job *j, const oat_seat *s) {
  const size_t m = s->m;
  const double prior = s->at.pairs[0][oat_pair(m + 1, m, m)],
               rounding = (double)(j->sparse->k + m) * DBL_EPSILON * prior;
  for (double lift = 0; lift <= MOST_LIFTS * rounding; lift = lift > 0 ? 10 * lift : rounding) {
    make_c(j, s, lift);
    if (oat_few_cholesky(m + 1, m, s->at.c)) {
      oat_few_pack(m + 1, m, s->at.c, s->at.factor);
      return lift;
    }
  }
  memset(s->at.factor, 0,
         oat_few_packed(m) * sizeof *s->at.factor); /* the inverse of C is 0: the point has no neighbours */
  return HUGE_VAL;
}

void oat_near_forget_trouble(oat_cpu *cpu) { memset(cpu->near.trouble, 0, cpu->workers * sizeof *cpu->near.trouble); }

static void count_trouble(const oat_cpu *cpu, double lift, double prior) {
  oat_near_trouble *own = &cpu->near.trouble[oat_worker()];
  if (isinf(lift)) {
    own->without++;
  } else if (lift > 0) {
    own->lifted++;
    own->lift = fmax(own->lift, lift / prior);
  }
}

oat_near_trouble oat_cpu_near_trouble(const oat_device *device) {
  const oat_cpu *cpu = (const oat_cpu *)device;
  oat_near_trouble all = {0};
  for (size_t i = 0; i < cpu->workers && cpu->near.trouble != NULL; i++) {
    all.lifted += cpu->near.trouble[i].lifted;
    all.without += cpu->near.trouble[i].without;
    all.lift = fmax(all.lift, cpu->near.trouble[i].lift);
  }
  return all;
}

/* The factor of C with its border has L^-1 c in its last row, and behind it D. */
double oat_near_predict(const oat_near_job *j, const oat_seat *s, double *b, double *w) {
  const size_t k = j->sparse->k, m = s->m, side = oat_few_side(m + 1);
  oat_near_pairs(j, s, false);
  oat_near_take_v(j, s);
  const double prior = s->at.pairs[0][oat_pair(m + 1, m, m)], lift = oat_near_factorise(j, s);
  const bool done = isfinite(lift);
  count_trouble(j->cpu, lift, prior);
  memset(s->at.b, 0, oat_few_side(m) * sizeof *s->at.b);
  for (size_t a = 0; a < m && done; a++) {
    s->at.b[a] = -s->at.c[m + a * side];
  }
  oat_few_solve_back(m, s->at.factor, s->at.b);
  memcpy(w, s->v, k * sizeof *w);
  oat_few_add(oat_near_v(j, s), s->at.b, w);
  for (size_t a = 0; a < m; a++) {
    b[a] = -s->at.b[a];
  }
  const double left = done ? s->at.c[m + m * side] : prior - oat_sum_products(k, s->v, s->v) + s->noise;
  return fmax(left, fmax(s->noise, DBL_EPSILON * prior));
}

void oat_near_row(const oat_near_job *j, const oat_seat *s) {
  oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, m = s->m, width = 1 + j->cpu->rows->p;
  double *b = near->b + s->i * near->most, *rho = near->rho + s->i * width;
  near->d[s->i] = oat_near_predict(j, s, b, near->w + s->i * k);
  for (size_t column = 0; column < width; column++) {
    const double *r = j->all.r + column * j->all.ldr;
    rho[column] = r[s->i];
    for (size_t a = 0; a < m; a++) {
      rho[column] -= b[a] * r[s->list[a]];
    }
  }
}

/* ---- the value ------------------------------------------------------------------------------------------------- */

/* V of a block, row after row. */
static void keep_v(void *self, size_t lane, size_t item) {
  const oat_near_job *j = self;
  const size_t k = j->sparse->k;
  const oat_cpu_worker *own = oat_cpu_own(j->cpu);
  const oat_row_block rows = oat_rows_block(oat_near_rows(j->cpu), j->cpu->block, item);
  const oat_view block = {own->v, rows.n, k, rows.n};
  (void)lane;
  oat_kernel_cross(&j->sparse->cov, rows.x, oat_sparse_knots(j->sparse), block.a, block.ld, own->work);
  oat_triangle_solve(&j->cpu->kuu, OAT_TRANSPOSED, block);
  oat_transpose(rows.n, k, block.a, block.ld, j->cpu->near.v + rows.first * k, k);
}

void oat_near_make_v(oat_cpu *cpu, const oat_sparse *sparse) {
  oat_cpu_run(cpu, NULL, keep_v, &(oat_near_job){.cpu = cpu, .sparse = sparse});
}

/* vwv += W^T diag(1 / D) W, vwr and rwr likewise, of a block. */
static void add_products(const oat_near_job *j, const oat_row_block *rows, bool first, oat_sums *sums) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, width = 1 + j->cpu->rows->p;
  const oat_cpu_worker *own = oat_cpu_own(j->cpu);
  for (size_t i = 0; i < rows->n; i++) {
    const size_t row = rows->first + i;
    const double om = 1 / near->d[row], root = sqrt(om), *w = oat_row_of(near->w, row, k),
                 *rho = near->rho + row * width;
    oat_scaled_copy(k, root, w, own->v + i * k);
    for (size_t column = 0; column < width; column++) {
      oat_add_scaled(k, om * rho[column], w, sums->vwr + column * k);
      oat_add_scaled(width, om * rho[column], rho, sums->rwr + column * width);
    }
    sums->scalar[OAT_LOG_LAMBDA] += log(near->d[row]);
    sums->scalar[OAT_SUM_W] += om;
  }
  oat_transpose(k, rows->n, own->v, k, own->t, rows->n);
  oat_syrk(1, (oat_const_view){own->t, rows->n, k, rows->n}, first ? 0 : 1, oat_square(sums->vwv, k));
}

static void add_block(void *self, size_t lane, size_t item) {
  const oat_near_job *j = self;
  const size_t k = j->sparse->k;
  const oat_row_block rows = oat_rows_block(oat_near_rows(j->cpu), j->cpu->block, item);
  oat_sums sums = oat_sums_over(oat_cpu_sums_of(j->cpu, lane), k, j->cpu->rows->p);
  if (item == lane) { /* the first of its lane */
    memset(sums.vwr, 0, (sums.count - k * k) * sizeof *sums.vwr);
  }
  for (size_t i = 0; i < rows.n; i++) {
    const oat_seat s = oat_seat_take(j, rows.first + i);
    oat_near_row(j, &s);
  }
  add_products(j, &rows, item == lane, &sums);
}

static void join_sums(void *self, size_t first, size_t count) {
  const oat_near_job *j = self;
  oat_cpu_join(j->cpu, first, count, 0, j->sums->count, j->sums->vwv);
}

/* The approximate flops of a pass over the neighbours. */
static double flops_of(const oat_near_job *j) {
  const double n = (double)j->cpu->rows->n, m = (double)j->cpu->near.most, k = (double)j->sparse->k;
  return n * (m * m * (k + m / 3 + 2 * (double)j->cpu->rows->d + 12) + k * k);
}

oat_loop oat_near_loop(oat_near_job *j, const char *what, void (*item)(void *self, size_t lane, size_t item)) {
  oat_loop loop = oat_cpu_loop(j->cpu, what, item, j);
  loop.flops = flops_of(j);
  return loop;
}

oatgp_status oat_cpu_neighbour_sums(oat_cpu *cpu, const oat_sparse *sparse, oat_sums *out) {
  oat_near_job j = oat_near_job_of(cpu, sparse);
  j.sums = out;
  oat_near_forget_trouble(cpu);
  oat_near_make_v(cpu, sparse);
  oat_loop loop = oat_near_loop(&j, "value", add_block);
  loop.join = join_sums;
  oat_loop_run(&loop);
  return OATGP_OK;
}
