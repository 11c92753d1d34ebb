/* Finds the nearest of some points to each row, and the means of the rows that share one. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

/* ---- the nearest point ----------------------------------------------------------------------------------------- */

typedef struct search {
  const oat_cpu *cpu;
  oat_nearest *out;
  double total[OAT_MOST_LANES];
  bool changed[OAT_MOST_LANES];
} search;

/* Numbers of points are stored as doubles, so that they are selected together with the distances by vector
 * instructions. */
static void compare(size_t n, const double *to, double number, double *distance, double *which) {
  for (size_t i = 0; i < n; i++) {
    const bool nearer = to[i] < distance[i];
    which[i] = nearer ? number : which[i];
    distance[i] = nearer ? to[i] : distance[i];
  }
}

static void search_block(void *self, size_t lane, size_t item) {
  static const double unit = 1;
  search *s = self;
  const oat_nearest *out = s->out;
  const oat_row_block b = oat_cpu_rows(s->cpu, item);
  double *distance = out->distance + b.first, *to = oat_cpu_own(s->cpu)->row[0], *now = oat_cpu_own(s->cpu)->row[1];
  size_t *which = out->which + b.first;
  for (size_t i = 0; i < b.n; i++) {
    distance[i] = out->before > 0 ? distance[i] : HUGE_VAL;
    now[i] = out->before > 0 ? (double)which[i] : 0;
  }
  for (size_t c = 0; c < out->points.n; c++) {
    const oat_axes axes = {s->cpu->rows->d, b.x.a, b.x.ld, out->points.a + c, out->points.ld, &unit, true};
    oat_distances(b.n, &axes, to);
    compare(b.n, to, (double)(out->before + c), distance, now);
  }
  for (size_t i = 0; i < b.n; i++) {
    s->total[lane] += distance[i];
    s->changed[lane] |= which[i] != (size_t)now[i];
    which[i] = (size_t)now[i];
  }
}

oatgp_status oat_cpu_nearest(oat_device *device, oat_nearest *out) {
  const oat_cpu *cpu = oat_cpu_of(device);
  search s = {.cpu = cpu, .out = out};
  oat_loop loop = oat_cpu_loop(cpu, NULL, search_block, &s);
  loop.flops = 3 * (double)cpu->rows->n * (double)cpu->rows->d * (double)out->points.n;
  oat_loop_run(&loop);
  oat_lanes_add(&(oat_lane_sums){cpu->lanes, 1, 1, s.total, &out->total});
  out->changed = false;
  for (size_t lane = 0; lane < cpu->lanes; lane++) {
    out->changed |= s.changed[lane];
  }
  return OATGP_OK;
}

/* ---- means ----------------------------------------------------------------------------------------------------- */

typedef struct job {
  const oat_cpu *cpu;
  const size_t *which;
  size_t k, lanes;
  const double *size; /* k */
  double *sums;       /* lanes x k x d */
} job;

static double *sums_of(const job *j, size_t lane) { return j->sums + lane * j->k * j->cpu->rows->d; }

static void count_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  const oat_row_block b = oat_cpu_rows(j->cpu, item);
  double *size = sums_of(j, lane);
  for (size_t i = 0; i < b.n; i++) {
    size[j->which[b.first + i]]++;
  }
}

static void add_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  const oat_row_block b = oat_cpu_rows(j->cpu, item);
  const size_t *which = j->which + b.first;
  for (size_t c = 0; c < j->cpu->rows->d; c++) {
    const double *input = b.x.a + c * b.x.ld;
    double *mean = sums_of(j, lane) + c * j->k;
    for (size_t i = 0; i < b.n; i++) {
      mean[which[i]] += input[i] / j->size[which[i]];
    }
  }
}

/* The sums of all lanes, `count` each. */
static void run(job *j, void (*item)(void *self, size_t lane, size_t item), size_t count, double *out) {
  const size_t stride = j->k * j->cpu->rows->d;
  oat_loop loop = oat_cpu_loop(j->cpu, NULL, item, j);
  loop.lanes = j->lanes;
  loop.slots = 0;
  loop.flops = 4 * (double)j->cpu->rows->n * (double)j->cpu->rows->d;
  memset(j->sums, 0, stride * j->lanes * sizeof *j->sums);
  oat_loop_run(&loop);
  oat_lanes_add(&(oat_lane_sums){j->lanes, count, stride, j->sums, out, false, j->cpu->config.where.threads});
}

/* Fewer lanes if there are few rows for each sum. */
oatgp_status oat_cpu_centres(oat_device *device, const size_t *which, size_t k, double *size, double *mean) {
  const oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .which = which, .k = k, .lanes = cpu->lanes, .size = size};
  oatgp_status status = OATGP_OK;
  while (j.lanes > 1 && j.lanes * 2 * k > cpu->rows->n) {
    j.lanes /= 2;
  }
  TRY(oat_new_matrix(cpu->ctx, k * cpu->rows->d, j.lanes, &j.sums));
  run(&j, count_block, k, size);
  run(&j, add_block, k * cpu->rows->d, mean);
done:
  free(j.sums);
  return status;
}
