/* Greedy residuals. A pivot is eliminated when the next one is requested, so the last pivot never is. */
#include <stdlib.h>

#include "device/cpu/cpu.h"

struct oat_pivots {
  oat_scratch memory;
  const oat_cpu *cpu;
  const oat_covariance *cov;
  size_t count;   /* pivots so far */
  size_t pivot;   /* the latest */
  double root;    /* root of its remaining variance */
  double *left;   /* n */
  double *factor; /* n x most */
  double *row;    /* most: the latest pivot's row of the factor */
  double *inputs; /* d: of the latest pivot */
  oat_largest best[OAT_MOST_LANES];
};

/* Column number count - 1 of the factor in the rows of a block, and the variance that then remains. */
static void eliminate(const oat_pivots *p, const oat_row_block *b) {
  const size_t n = p->cpu->rows->n, c = p->count - 1;
  double *column = oat_cpu_own(p->cpu)->row[0], *factor = p->factor + b->first, *left = p->left + b->first;
  oat_kernel_cross(p->cov, b->x, (oat_points){p->inputs, 1, 1}, column, b->n, oat_cpu_own(p->cpu)->work);
  oat_gemv(-1, (oat_const_view){factor, b->n, c, n}, OAT_PLAIN, p->row, 1, column);
  for (size_t i = 0; i < b->n; i++) {
    const double element = column[i] / p->root;
    factor[i + c * n] = element;
    left[i] -= element * element;
  }
  if (p->pivot >= b->first && p->pivot - b->first < b->n) {
    p->left[p->pivot] = 0;
  }
}

static void look_at_block(void *self, size_t lane, size_t item) {
  oat_pivots *p = self;
  const oat_row_block b = oat_cpu_rows(p->cpu, item);
  if (p->count == 0) {
    oat_kernel_diagonal(p->cov, b.x, p->left + b.first);
  } else {
    eliminate(p, &b);
  }
  for (size_t i = b.first; i < b.first + b.n; i++) {
    oat_largest_take(&p->best[lane], p->left[i], i);
  }
}

/* If the remaining variance of the first row is NaN, no other row counts as larger. */
static oat_largest find_largest(oat_pivots *p) {
  oat_loop loop = oat_cpu_loop(p->cpu, NULL, look_at_block, p);
  loop.flops = (double)p->cpu->rows->n * (2 * (double)p->count + 3 * (double)p->cpu->rows->d + 25);
  oat_largest_clear(p->best);
  oat_loop_run(&loop);
  return oat_largest_join((oat_largest){p->left[0], 0}, p->best);
}

oatgp_status oat_cpu_pivots_next(oat_pivots *p, oat_pivot *out) {
  const oat_rows *rows = p->cpu->rows;
  const oat_largest largest = find_largest(p);
  p->pivot = largest.at;
  p->root = sqrt(largest.value);
  for (size_t j = 0; j < p->count; j++) {
    p->row[j] = p->factor[p->pivot + j * rows->n];
  }
  oat_rows_inputs_of(rows, 1, &p->pivot, p->inputs);
  p->count++;
  *out = (oat_pivot){largest.at, largest.value, p->inputs};
  return OATGP_OK;
}

void oat_cpu_pivots_end(oat_pivots *p) {
  if (p != NULL) {
    oat_scratch_free(&p->memory);
    free(p);
  }
}

oatgp_status oat_cpu_pivots_begin(oat_device *device, const oat_covariance *cov, size_t most, oat_pivots **out) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oatgp_status status = oat_new(cpu->ctx, 1, sizeof **out, out);
  if (status != OATGP_OK) {
    return status;
  }
  oat_pivots *p = *out;
  *p = (oat_pivots){.memory = {.ctx = cpu->ctx}, .cpu = cpu, .cov = cov};
  p->left = oat_take_doubles(&p->memory, cpu->rows->n, 1);
  p->factor = oat_take_doubles(&p->memory, cpu->rows->n, most);
  p->row = oat_take_doubles(&p->memory, most, 1);
  p->inputs = oat_take_doubles(&p->memory, cpu->rows->d, 1);
  return p->memory.status;
}
