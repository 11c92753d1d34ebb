/* The full GP with more rows, or fewer: its factor gains or loses rows, at the model's parameters. Everything else
 * follows from the factor: the coefficients of an estimated mean by generalised least squares, c and the objective. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/fit.h"
#include "util/hash.h"

enum {
  WORTH_DOWNDATING = 16
}; /* if at most one in so many rows is removed, the factor is downdated; otherwise it is made anew */

static oatgp_status check(oatgp_context *ctx, const oatgp_model *model) {
  REFUSE_IF(model->likelihood != NULL, ctx, OATGP_DATA,
            "the full GP with likelihood %s cannot add or remove rows, because every row's site would change; fit it "
            "again to all rows (--refit), or fit a sparse model (--approx=vfe)",
            model->likelihood->name);
  return OATGP_OK;
}

/* ---- the rows that the model holds ----------------------------------------------------------------------------- */

/* The columns of the rows that stay; the noise of a row is known. */
static oatgp_status take_kept(oat_scratch *memory, const oatgp_model *model, const bool *gone, oat_kept_rows *out) {
  const size_t n = model->k;
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    count += gone == NULL || !gone[i];
  }
  *out = (oat_kept_rows){count, oat_take_doubles(memory, count, model->d), oat_take_doubles(memory, count, 1),
                         oat_take_doubles(memory, count, 1), oat_take_doubles(memory, count, 1)};
  PASS_ON(memory->status);
  for (size_t i = 0, to = 0; i < n; i++) {
    if (gone != NULL && gone[i]) {
      continue;
    }
    for (size_t j = 0; j < model->d; j++) {
      out->x[to + j * count] = model->z[i + j * n];
    }
    const bool averaged = model->draw_count > 0; /* an averaged model keeps its rows independently of the parameters */
    out->r[to] = averaged ? model->kept.r[i] : model->r[i];
    out->noise_scale[to] = averaged ? model->kept.noise_scale[i] : 0;
    out->noise_add[to++] = averaged ? model->kept.noise_add[i] : model->noise[i];
  }
  return OATGP_OK;
}

/* Adds the estimated mean back to the model's residuals. */
static oatgp_status add_mean(oatgp_context *ctx, oat_scratch *memory, const oatgp_model *model,
                             const oat_kept_rows *kept) {
  double *minus = oat_take_doubles(memory, model->p, 1), *x = oat_take_doubles(memory, kept->n, model->d);
  double *noise = oat_take_doubles(memory, kept->n, 1);
  oat_rows *rows = NULL;
  oatgp_status status;
  TRY(memory->status);
  TRY(oat_rows_from_kept(ctx, kept, &model->scaling, model->p, &rows));
  for (size_t j = 0; j < model->p; j++) {
    minus[j] = -model->coefficient[j];
  }
  oat_rows_copy(rows, minus, 0, x, kept->r, noise);
done:
  oat_rows_free(rows);
  return status;
}

/* The rows that are not `gone` (NULL: all rows), with the target before the mean was subtracted. */
static oatgp_status rows_of(oatgp_context *ctx, const oatgp_model *model, const bool *gone, oat_rows **out) {
  oat_scratch memory = {.ctx = ctx};
  oat_kept_rows kept;
  oatgp_status status;
  TRY(take_kept(&memory, model, gone, &kept));
  TRY(model->p > 0 && model->draw_count == 0 ? add_mean(ctx, &memory, model, &kept) : OATGP_OK);
  TRY(oat_rows_from_kept(ctx, &kept, &model->scaling, model->p, out));
done:
  oat_scratch_free(&memory);
  return status;
}

/* ---- the factor and what follows ------------------------------------------------------------------------------- */

/* The new model, and what its factor is made from. */
typedef struct growth {
  oatgp_context *ctx;
  const oatgp_model *from;
  oatgp_model *to;
  const oat_rows *rows; /* all rows of the new model */
  oat_grown_factor factor;
  oat_scratch memory;
} growth;

static double jitter_of(const oatgp_model *model) {
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  return oat_kernel_share(&cov, (oat_points){model->z, model->k, model->k}, model->number[OAT_NUMBER_JITTER]);
}

/* The known part of the factor is discarded if the jitter changes. It is a share of the mean prior variance of the
 * rows, which may differ now. */
static oatgp_status factorise(growth *g) {
  oatgp_model *to = g->to;
  const oat_covariance cov = oat_covariance_at(to->kernel, to->d, to->theta);
  const oat_device_config config = {.where = oat_where_of(g->ctx), .kernel = oat_kernel_size_of(to->kernel)};
  const double jitter = jitter_of(to);
  oat_device *device = NULL;
  oatgp_status status;
  g->factor.known = jitter == jitter_of(g->from) ? g->factor.known : 0;
  for (size_t i = 0; i < to->k; i++) {
    to->c[i] = jitter + to->noise[i];
  }
  TRY(oat_device_open(g->ctx, &config, g->rows, &device));
  status = device->table->factor_more(device, &cov, to->c, &g->factor);
  if (g->factor.pivot != 0) {
    status = oat_fail(g->ctx, OATGP_NUMERIC, "the covariance of the %zu rows could not be factorised (pivot %zu)",
                      to->k, g->factor.pivot);
  }
done:
  oat_device_close(device);
  return status;
}

/* The mean's coefficients; c = L^-1 (r - H coefficient). */
static oatgp_status solve_mean(growth *g) {
  oatgp_model *to = g->to;
  const size_t n = to->k;
  double *room = oat_take_doubles(&g->memory, oat_gls_room(to->p), 1);
  PASS_ON(g->memory.status);
  oat_gls gls = oat_gls_over(room, to->p);
  REFUSE_IF(oat_gls_factorise(&gls, g->factor.gram, g->factor.gram) != OATGP_OK, g->ctx, OATGP_NUMERIC,
            "the normal equations of the mean could not be factorised for the %zu rows", n);
  memcpy(to->coefficient, g->factor.gram + 1, to->p * sizeof *to->coefficient);
  oat_gls_solve(&gls, to->coefficient);
  memcpy(to->c, g->factor.solved, n * sizeof *to->c);
  for (size_t i = 0; i < to->p * n; i++) {
    to->c[i % n] -= to->coefficient[i / n] * g->factor.solved[n + i];
  }
  return OATGP_OK;
}

static void set_numbers(oatgp_model *model) {
  const double n = (double)model->k, unit = model->number[OAT_NUMBER_Y_SCALE];
  const double value =
      -0.5 * (oat_dot(model->k, model->c, model->c) + n * log(OAT_TWO_PI)) - oat_log_diagonal(model->k, model->l);
  model->number[OAT_NUMBER_N] = n;
  model->number[OAT_NUMBER_OBJECTIVE] = value - n * log(unit) + oat_model_log_prior(model);
  for (size_t i = OAT_NUMBER_OF_ROWS; i < OAT_NUMBERS; i++) {
    model->number[i] = NAN;
  }
}

/* Completes the model from the rows and the known part of their factor. */
static oatgp_status finish(growth *g) {
  oatgp_model *to = g->to;
  oatgp_status status;
  g->factor.l = to->l;
  g->factor.solved = oat_take_doubles(&g->memory, to->k, 1 + to->p);
  g->factor.gram = oat_take_doubles(&g->memory, 1 + to->p, 1 + to->p);
  TRY(g->memory.status);
  oat_rows_copy(g->rows, to->coefficient, to->theta[OAT_TAU], to->z, to->r, to->noise);
  TRY(factorise(g));
  TRY(solve_mean(g));
  oat_rows_copy(g->rows, to->coefficient, to->theta[OAT_TAU], to->z, to->r, to->noise);
  set_numbers(to);
  REFUSE_IF(!isfinite(to->number[OAT_NUMBER_OBJECTIVE]), g->ctx, OATGP_NUMERIC,
            "the model could not be factorised with these %zu rows", to->k);
  oat_model_translate(to);
done:
  return status;
}

static oatgp_status set_fingerprint(oatgp_context *ctx, oatgp_model *model, const char *text) {
  char *copy = NULL;
  PASS_ON(oat_copy_text(ctx, text, &copy));
  free(model->text[OAT_TEXT_FINGERPRINT]);
  model->text[OAT_TEXT_FINGERPRINT] = copy;
  return OATGP_OK;
}

/* Copies the rows and the draws of an averaged model, and makes its members again. */
static oatgp_status average_again(const growth *g) {
  if (g->from->draw_count == 0) {
    return OATGP_OK;
  }
  PASS_ON(oat_model_keep_rows(g->ctx, g->to, g->rows));
  PASS_ON(oat_model_copy_draws(g->ctx, g->from, g->to));
  return oat_model_make_members(g->ctx, g->to);
}

void oat_change_places(oatgp_model *model, oatgp_model *other) {
  const oatgp_model before = *model;
  *model = *other;
  *other = before;
}

/* ---- more rows ------------------------------------------------------------------------------------------------- */

oatgp_status oat_update_full(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  growth g = {.ctx = ctx, .from = model, .memory = {.ctx = ctx}};
  oat_rows *old = NULL, *added = NULL, *all = NULL;
  char text[OAT_FINGERPRINT];
  oatgp_status status;
  TRY(check(ctx, model));
  const size_t n = model->k + data->n;
  TRY(n <= OAT_LARGEST_SIDE
          ? OATGP_OK
          : oat_fail(ctx, OATGP_DATA, "the full GP of %zu rows is too large: at most %d rows", n, OAT_LARGEST_SIDE));
  TRY(oat_model_rows(ctx, model, data, &added));
  TRY(rows_of(ctx, model, NULL, &old));
  TRY(oat_rows_join(ctx, old, added, &all));
  TRY(oat_model_like(ctx, model, n, &g.to));
  g.rows = all;
  g.factor = (oat_grown_factor){.known = model->k, .before = model->l};
  TRY(finish(&g));
  TRY(oat_chain_fingerprint(ctx, model, data, text));
  TRY(set_fingerprint(ctx, g.to, text));
  oat_levels_free_list(g.to->levels, model->d);
  g.to->levels = NULL;
  TRY(oat_model_levels_with(ctx, model, data, &g.to->levels));
  TRY(average_again(&g));
  oat_change_places(model, g.to);
done:
  oatgp_model_free(g.to);
  oat_rows_free(old);
  oat_rows_free(added);
  oat_rows_free(all);
  oat_scratch_free(&g.memory);
  return status;
}

/* ---- fewer rows ------------------------------------------------------------------------------------------------ */

static oatgp_status mark_gone(oatgp_context *ctx, const oatgp_model *model, size_t count, const size_t *rows,
                              bool *gone) {
  REFUSE_IF(count >= model->k, ctx, OATGP_ARGUMENT,
            "%zu rows cannot be removed from a model of %zu rows; at least one must stay", count, model->k);
  for (size_t i = 0; i < count; i++) {
    REFUSE_IF(rows[i] >= model->k, ctx, OATGP_ARGUMENT, "row %zu does not exist; the model has rows 0 to %zu", rows[i],
              model->k - 1);
    REFUSE_IF(gone[rows[i]], ctx, OATGP_ARGUMENT, "row %zu is given twice", rows[i]);
    gone[rows[i]] = true;
  }
  return OATGP_OK;
}

/* Removes the rows from the factor, beginning with the last one. Leaves the factor empty if making it anew is less
 * work. */
static oatgp_status shrink_factor(growth *g, const bool *gone) {
  const size_t n = g->from->k;
  size_t left = n;
  if ((n - g->to->k) * WORTH_DOWNDATING > n) {
    return OATGP_OK;
  }
  double *l = oat_take_doubles(&g->memory, n, n), *x = oat_take_doubles(&g->memory, n, 1);
  PASS_ON(g->memory.status);
  memcpy(l, g->from->l, n * n * sizeof *l);
  for (size_t i = n; i-- > 0;) {
    if (gone[i]) {
      oat_cholesky_without(left--, l, i, x);
    }
  }
  memcpy(g->to->l, l, left * left * sizeof *l);
  g->factor.known = left;
  return OATGP_OK;
}

static void shrunk_fingerprint(const oatgp_model *model, const bool *gone, char *text) {
  const char *before = model->text[OAT_TEXT_FINGERPRINT] != NULL ? model->text[OAT_TEXT_FINGERPRINT] : "";
  const uint64_t hash = oat_hash(oat_hash(OAT_HASH_START, before, strlen(before)), gone, model->k * sizeof *gone);
  snprintf(text, OAT_FINGERPRINT, "fnv1a-%016llx", (unsigned long long)hash);
}

oatgp_status oat_remove_rows(oatgp_context *ctx, oatgp_model *model, size_t count, const size_t *rows) {
  growth g = {.ctx = ctx, .from = model, .memory = {.ctx = ctx}};
  oat_rows *left = NULL;
  char text[OAT_FINGERPRINT];
  oatgp_status status = OATGP_OK;
  REFUSE_IF(model->approx->sparse, ctx, OATGP_DATA,
            "rows cannot be removed from a sparse model; only the full GP (--approx=full) can remove rows");
  TRY(check(ctx, model));
  bool *gone = oat_take(&g.memory, model->k, sizeof *gone);
  TRY(g.memory.status);
  TRY(mark_gone(ctx, model, count, rows, gone));
  TRY(rows_of(ctx, model, gone, &left));
  TRY(oat_model_like(ctx, model, model->k - count, &g.to));
  g.rows = left;
  TRY(shrink_factor(&g, gone));
  TRY(finish(&g));
  shrunk_fingerprint(model, gone, text);
  TRY(set_fingerprint(ctx, g.to, text));
  TRY(average_again(&g));
  oat_change_places(model, g.to);
done:
  oatgp_model_free(g.to);
  oat_rows_free(left);
  oat_scratch_free(&g.memory);
  return status;
}
