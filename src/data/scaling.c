/* Scaling of the inputs. */
#include "data/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "util/memory.h"

/* ---- mean and sd ----------------------------------------------------------------------------------------------- */

/* The results for a column: first of a chunk, then of a lane, which has one chunk in every so many. */
typedef struct seen {
  double lowest, highest;
  double sum;     /* of values, or of deviations from their mean, in units of `size` */
  double squares; /* of deviations */
} seen;

static const seen nothing = {HUGE_VAL, -HUGE_VAL, 0, 0};

/* The three passes over a column: its range, then the sum, then the deviations. */
enum { RANGE, SUM, DEVIATIONS, PASSES };
typedef struct looking {
  int at;
  double size, first;
} looking;

static seen look(const looking *l, size_t count, oat_column x) {
  seen all = nothing;
  for (size_t i = 0; l->at == RANGE && i < count; i++) {
    const double value = x.a[i * x.step];
    all.lowest = value < all.lowest ? value : all.lowest;
    all.highest = value > all.highest ? value : all.highest;
  }
  for (size_t i = 0; l->at == SUM && i < count; i++) {
    all.sum += x.a[i * x.step] / l->size;
  }
  for (size_t i = 0; l->at == DEVIATIONS && i < count; i++) {
    const double deviation = x.a[i * x.step] / l->size - l->first;
    all.sum += deviation;
    all.squares += deviation * deviation;
  }
  return all;
}

static void join(seen *all, const seen *more) {
  all->lowest = more->lowest < all->lowest ? more->lowest : all->lowest;
  all->highest = more->highest > all->highest ? more->highest : all->highest;
  all->sum += more->sum;
  all->squares += more->squares;
}

/* A power of two near the largest value, by which all are divided exactly. */
static double size_of(double lowest, double highest) {
  int exponent = 0;
  frexp(fmax(fabs(lowest), fabs(highest)), &exponent);
  return ldexp(1, exponent > -1000 ? exponent - 1 : -1000);
}

/* Uses the results of a pass over the column, for the next pass or for the description. */
static void conclude(size_t n, const seen *all, looking *l, oat_description *out) {
  if (l->at == RANGE) {
    *out = (oat_description){.lowest = all->lowest, .highest = all->highest};
    *l = (looking){SUM, size_of(all->lowest, all->highest), 0};
  } else if (l->at == SUM) {
    l->first = all->sum / (double)n;
    l->at = DEVIATIONS;
  } else {
    const double correction = all->sum / (double)n;
    const double variance = n > 1 ? fmax(all->squares - all->sum * correction, 0) / (double)(n - 1) : 0;
    out->mean = (l->first + correction) * l->size;
    out->sd = sqrt(variance) * l->size;
  }
}

/* ---- in memory: lanes combine the results of their chunks, and are combined in their order --------------------- */

typedef struct column_job {
  size_t n;
  oat_column x;
  looking how;
  seen lane[OAT_MOST_LANES];
} column_job;

static void look_at_chunk(void *self, size_t lane, size_t item) {
  column_job *job = self;
  const oat_span rows = oat_chunk(job->n, item);
  const seen chunk = look(&job->how, rows.count, (oat_column){job->x.a + rows.first * job->x.step, job->x.step});
  join(&job->lane[lane], &chunk);
}

void oat_describe(size_t n, oat_column x, int threads, oat_description *out) {
  column_job job = {.n = n, .x = x};
  oat_loop loop = oat_chunks(n, OAT_FLOPS_OF_MEMORY, threads);
  loop.item = look_at_chunk;
  loop.self = &job;
  for (int pass = 0; pass < PASSES; pass++) {
    seen all = nothing;
    for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
      job.lane[lane] = nothing;
    }
    oat_loop_run(&loop);
    for (size_t lane = 0; lane < loop.lanes; lane++) {
      join(&all, &job.lane[lane]);
    }
    conclude(n, &all, &job.how, out);
  }
}

/* ---- in files: all columns in one pass, with what was seen of each chunk; then the same ------------------------ */

/* `self` says how each column is looked at. */
static void look_at_columns(const void *self, const oatgp_data *data, const oat_data_part *part, void *result) {
  const looking *how = self;
  seen *all = result;
  for (size_t c = 0; c < oat_data_width(data); c++) {
    all[c] = look(&how[c], part->n, oat_part_column(data, part, c));
  }
}

static seen join_chunks(const seen *of_chunk, size_t chunks, size_t columns) {
  const size_t lanes = oat_lanes_for(chunks);
  seen all = nothing;
  for (size_t lane = 0; lane < lanes; lane++) {
    seen own = nothing;
    for (size_t i = lane; i < chunks; i += lanes) {
      join(&own, &of_chunk[i * columns]);
    }
    join(&all, &own);
  }
  return all;
}

oatgp_status oat_describe_streamed(oatgp_context *ctx, oatgp_data *data, int threads) {
  const size_t columns = oat_data_width(data), chunks = oat_data_chunks(data);
  oat_scratch memory = {.ctx = ctx};
  looking *how = oat_take(&memory, columns, sizeof *how);
  seen *of_chunk = oat_take(&memory, chunks * columns, sizeof *of_chunk);
  const oat_pass pass = {.look = look_at_columns,
                         .self = how,
                         .flops = OAT_FLOPS_OF_MEMORY * (double)columns,
                         .threads = threads,
                         .bytes = columns * sizeof *of_chunk,
                         .results = of_chunk};
  oatgp_status status = OATGP_OK;
  TRY(memory.status);
  TRY(oat_new(ctx, columns, sizeof *data->in_files.about, &data->in_files.about));
  for (int i = 0; i < PASSES; i++) {
    TRY(oat_data_pass(ctx, data, &pass));
    for (size_t c = 0; c < columns; c++) {
      const seen all = join_chunks(&of_chunk[c], chunks, columns);
      conclude(data->n, &all, &how[c], &data->in_files.about[c]);
    }
  }
done:
  oat_scratch_free(&memory);
  return status;
}

void oat_describe_column(const oatgp_data *data, size_t column, int threads, oat_description *out) {
  if (oat_data_is_streamed(data)) {
    *out = data->in_files.about[column];
  } else {
    oat_describe(data->n, oat_data_column(data, column), threads, out);
  }
}

/* ---- scaling --------------------------------------------------------------------------------------------------- */

void oat_scaling_clear(oat_scaling *scaling) {
  free(scaling->column);
  free(scaling->category);
  double *const arrays[] = {scaling->centre, scaling->scale,  scaling->middle,
                            scaling->spread, scaling->lowest, scaling->highest};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
  *scaling = (oat_scaling){0};
}

static oatgp_status allocate(oatgp_context *ctx, size_t d, oat_scaling *scaling) {
  double **const arrays[] = {&scaling->centre, &scaling->scale,  &scaling->middle,
                             &scaling->spread, &scaling->lowest, &scaling->highest};
  PASS_ON(oat_new(ctx, d, sizeof *scaling->column, &scaling->column));
  PASS_ON(oat_new(ctx, d, sizeof *scaling->category, &scaling->category));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    PASS_ON(oat_new_matrix(ctx, d, 1, arrays[i]));
  }
  return OATGP_OK;
}

/* Keeps input j unless it is constant. */
static bool add_input(oatgp_context *ctx, const oatgp_data *data, size_t j, bool standardise, oat_scaling *scaling) {
  oat_description x;
  oat_describe_column(data, j, ctx->at_work, &x);
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
    status = oat_fail(ctx, OATGP_DATA, "no input varies over the %zu row%s: there is nothing to predict from", data->n,
                      data->n == 1 ? "" : "s");
  }
done:
  if (status != OATGP_OK) {
    oat_scaling_clear(&scaling);
  }
  *out = scaling;
  return status;
}

void oat_scaling_apply(const oat_scaling *scaling, const size_t *column, double *const *recode,
                       const oat_data_part *rows, double *out, size_t ld) {
  for (size_t j = 0; j < scaling->d; j++) {
    const oat_column x = {rows->x + (column != NULL ? column[j] : j) * rows->input_step, rows->row_step};
    const double centre = scaling->centre[j], scale = scaling->scale[j];
    const double *codes = recode != NULL ? recode[j] : NULL;
    double *to = out + j * ld;
    for (size_t i = 0; codes != NULL && i < rows->n; i++) {
      to[i] = codes[(size_t)x.a[i * x.step]];
    }
    for (size_t i = 0; codes == NULL && i < rows->n; i++) {
      to[i] = (x.a[i * x.step] - centre) / scale;
    }
  }
}
