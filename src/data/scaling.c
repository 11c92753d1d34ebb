/* Scaling of the inputs. */
#include "data/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "util/memory.h"

/* ---- mean and sd ------------------------------------------------------------------------------------------------- */

/* What a lane has seen of a column. */
typedef struct seen {
  double lowest, highest;
  double sum;          /* of values, or of deviations from their mean, in units of `size` */
  double squares;      /* of deviations */
  char apart[64 - 32]; /* lanes write to cache lines of their own */
} seen;

struct column_job;
/* Takes some values into what a lane has seen. */
typedef seen visitor(const struct column_job *job, size_t count, oat_column x, seen all);

typedef struct column_job {
  size_t n;
  oat_column x;
  double size, first;
  visitor *visit;
  seen lane[OAT_MOST_LANES];
} column_job;

static seen look(const column_job *job, size_t count, oat_column x, seen all) {
  (void)job;
  for (size_t i = 0; i < count; i++) {
    const double value = x.a[i * x.step];
    all.lowest = value < all.lowest ? value : all.lowest;
    all.highest = value > all.highest ? value : all.highest;
  }
  return all;
}

static seen add(const column_job *job, size_t count, oat_column x, seen all) {
  for (size_t i = 0; i < count; i++) {
    all.sum += x.a[i * x.step] / job->size;
  }
  return all;
}

static seen add_deviations(const column_job *job, size_t count, oat_column x, seen all) {
  for (size_t i = 0; i < count; i++) {
    const double deviation = x.a[i * x.step] / job->size - job->first;
    all.sum += deviation;
    all.squares += deviation * deviation;
  }
  return all;
}

static void visit_chunk(void *self, size_t lane, size_t item) {
  column_job *job = self;
  const oat_span rows = oat_chunk(job->n, item);
  const oat_column x = {job->x.a + rows.first * job->x.step, job->x.step};
  job->lane[lane] = job->visit(job, rows.count, x, job->lane[lane]);
}

/* Goes through the column; what all lanes have seen. */
static seen go_through(column_job *job, int threads, visitor *visit) {
  const double first = job->x.a[0];
  oat_loop loop = oat_chunks(job->n, OAT_FLOPS_OF_MEMORY, threads);
  loop.item = visit_chunk;
  loop.self = job;
  job->visit = visit;
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    job->lane[lane] = (seen){.lowest = first, .highest = first};
  }
  oat_loop_run(&loop);
  seen all = job->lane[0];
  for (size_t lane = 1; lane < OAT_MOST_LANES; lane++) {
    const seen *own = &job->lane[lane];
    all.lowest = own->lowest < all.lowest ? own->lowest : all.lowest;
    all.highest = own->highest > all.highest ? own->highest : all.highest;
    all.sum += own->sum;
    all.squares += own->squares;
  }
  return all;
}

/* A power of two near the largest value, by which all are divided exactly. */
static double size_of(double lowest, double highest) {
  int exponent = 0;
  frexp(fmax(fabs(lowest), fabs(highest)), &exponent);
  return ldexp(1, exponent > -1000 ? exponent - 1 : -1000);
}

void oat_describe(size_t n, oat_column x, int threads, oat_description *out) {
  column_job job = {.n = n, .x = x};
  const seen range = go_through(&job, threads, look);
  job.size = size_of(range.lowest, range.highest);
  job.first = go_through(&job, threads, add).sum / (double)n;
  const seen rest = go_through(&job, threads, add_deviations);
  const double correction = rest.sum / (double)n;
  const double variance = n > 1 ? fmax(rest.squares - rest.sum * correction, 0) / (double)(n - 1) : 0;
  *out = (oat_description){range.lowest, range.highest, (job.first + correction) * job.size, sqrt(variance) * job.size};
}

/* ---- scaling ----------------------------------------------------------------------------------------------------- */

void oat_scaling_clear(oat_scaling *scaling) {
  free(scaling->column);
  free(scaling->category);
  double *const arrays[] = {scaling->centre, scaling->scale, scaling->middle, scaling->spread, scaling->lowest, scaling->highest};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
  *scaling = (oat_scaling){0};
}

static oatgp_status allocate(oatgp_context *ctx, size_t d, oat_scaling *scaling) {
  double **const arrays[] = {&scaling->centre, &scaling->scale, &scaling->middle, &scaling->spread, &scaling->lowest, &scaling->highest};
  PASS_ON(oat_new(ctx, d, sizeof *scaling->column, &scaling->column));
  PASS_ON(oat_new(ctx, d, sizeof *scaling->category, &scaling->category));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    PASS_ON(oat_new_matrix(ctx, d, 1, arrays[i]));
  }
  return OATGP_OK;
}

/* Adds input j to those that are kept, unless it is constant. */
static bool add_input(oatgp_context *ctx, const oatgp_data *data, size_t j, bool standardise, oat_scaling *scaling) {
  oat_description x;
  oat_describe(data->n, oat_data_input(data, j), ctx->at_work, &x);
  if (x.lowest == x.highest || !(x.sd > 0)) {
    return false;
  }
  const bool category = oat_data_levels(data, j) != NULL;
  standardise = standardise && !category;
  const size_t at = scaling->d++;
  const double centre = standardise ? x.mean : 0, scale = standardise ? x.sd : 1;
  scaling->column[at] = j;
  scaling->category[at] = category;
  scaling->centre[at] = centre;
  scaling->scale[at] = scale;
  scaling->middle[at] = standardise ? 0 : x.mean;
  scaling->spread[at] = standardise ? 1 : x.sd;
  scaling->lowest[at] = (x.lowest - centre) / scale;
  scaling->highest[at] = (x.highest - centre) / scale;
  return true;
}

oatgp_status oat_scaling_make(oatgp_context *ctx, const oatgp_data *data, bool standardise, oat_scaling *out) {
  oat_scaling scaling = {0};
  oatgp_status status = OATGP_OK;
  TRY(allocate(ctx, data->d, &scaling));
  for (size_t j = 0; j < data->d; j++) {
    if (!add_input(ctx, data, j, standardise, &scaling)) {
      oat_say(ctx, OATGP_NOTE, "input '%s' is constant and is left out", data->names[j]);
    }
  }
  if (scaling.d == 0) {
    status = oat_fail(ctx, OATGP_DATA, "no input varies over the %zu rows: there is nothing to predict from", data->n);
  }
done:
  if (status != OATGP_OK) {
    oat_scaling_clear(&scaling);
  }
  *out = scaling;
  return status;
}

void oat_scaling_apply(const oat_scaling *scaling, const size_t *column, double *const *recode, const oatgp_data *data, oat_span rows,
                       double *out) {
  for (size_t j = 0; j < scaling->d; j++) {
    const oat_column x = oat_data_input(data, column != NULL ? column[j] : j);
    const double centre = scaling->centre[j], scale = scaling->scale[j];
    const double *codes = recode != NULL ? recode[j] : NULL;
    for (size_t i = rows.first; codes != NULL && i < rows.first + rows.count; i++) {
      out[i + j * data->n] = codes[(size_t)x.a[i * x.step]];
    }
    for (size_t i = rows.first; codes == NULL && i < rows.first + rows.count; i++) {
      out[i + j * data->n] = (x.a[i * x.step] - centre) / scale;
    }
  }
}
