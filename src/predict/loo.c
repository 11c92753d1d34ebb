/* Leave-one-out in closed form.
 *
 * With S the covariance of the rows in the model (Q + Lambda for a sparse one, K + noise for the full GP) and R = [r, H] the residual and the
 * mean's basis, all that row i's absence changes follows from kappa_i = (S^-1)_ii and e_i = (S^-1 R)_i / kappa_i, the error that each column
 * of R has when it is predicted there from the other rows:
 *   sparse:  u = LB^-1 v, s = |u|^2, leave = 1 - w s;  kappa = w leave,  e = (R_i - u^T LB^-1 V W R) / leave,
 *            latent variance s / leave + g (dic: s / leave alone), g the prior variance that the knots do not explain;
 *   full:    by the factor of S; latent variance 1 / kappa - what S has on its diagonal besides the kernel.
 * An estimated mean is estimated without the row: R^T S^-1 R loses kappa e e^T, so that with t = kappa e_H^T (H^T S^-1 H)^-1 e_H
 *   y - mean = (e_r - e_H . coefficients of all rows) / (1 - t).
 * As in predictions, the variance has nothing for the uncertainty of these coefficients.
 *
 * Answers that are not Gaussian: the rows are their sites (device/cpu/sites.c), Gaussian rows with a target and a variance each. Leaving a
 * row's site out gives f there a mean and a latent variance, by the same formulas; the predictive density of the answer follows from those.
 * That is exact for the sites as they are. Really without the row, those of its neighbours would be a little different. */
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/lanes.h"
#include "util/memory.h"

#define OTHER_ROWS 1e-6    /* relative difference of sums of squares from which on the rows are others than those of the fit */
#define OTHER_SITES 1e-4   /* the same where they are sites, which are settled with a tolerance, and for each row */
#define OTHER_ANSWERS 0.02 /* standard deviations of f by which the slope of log p(y) may differ from that of its site */

/* One value for each row, in the data's units: y - mean, and the standard deviation of an observation there. Of answers that are not
 * Gaussian, in the model's unit: the error of the site's target, and the variance of f. */
typedef struct left_rows {
  double *error, *sd;
  bool known; /* the rows are those of the fit for sure, and need no check */
} left_rows;

typedef struct leaving {
  oatgp_context *ctx;
  oat_scratch memory;
  const oatgp_model *model;
  const oatgp_data *data;
  oat_where where;
  const oat_rows *rows;
  const left_rows *out;
  size_t width;  /* 1 + p: columns of R */
  double *gram;  /* width x width: R^T S^-1 R */
  oat_gls gls;   /* of gram */
  double *c_all; /* columns LB^-1 V W R of a sparse model */
} leaving;

/* ---- the mean's coefficients without a row --------------------------------------------------------------------------- */

static oatgp_status factorise_basis(leaving *l, const double *size) {
  if (oat_gls_factorise(&l->gls, l->gram, size) == OATGP_OK) {
    return OATGP_OK;
  }
  return oat_fail(l->ctx, OATGP_NUMERIC, "leave-one-out needs the normal equations of the mean, which could not be factorised");
}

/* What is added to f of a row, in the model's unit: a given mean, the logarithm of the exposure. */
static double base_of(const leaving *l, size_t i) {
  const double *number = l->model->number;
  return number[OAT_NUMBER_MEAN] / number[OAT_NUMBER_Y_SCALE] + (l->data->exposure != NULL ? log(l->data->exposure[i]) : 0);
}

/* ---- sparse models --------------------------------------------------------------------------------------------------- */

/* The columns LB^-1 V W R, and R^T S^-1 R = R^T W R less their products. */
static oatgp_status prepare_sparse(leaving *l) {
  const oatgp_model *model = l->model;
  const size_t k = model->k, width = l->width;
  const oat_sums sums = oat_sums_over(model->sums, k, model->p);
  oatgp_status status = OATGP_OK;
  l->c_all = oat_take_doubles(&l->memory, k, width);
  TRY(l->memory.status);
  const oat_view all = {l->c_all, k, width, k};
  memcpy(l->c_all, sums.vwr, k * width * sizeof *l->c_all);
  oat_solve_left(model->lb, k, OAT_PLAIN, all, l->where.threads);
  memcpy(l->gram, sums.rwr, width * width * sizeof *l->gram);
  oat_gemm(-1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 1, oat_square(l->gram, width));
  TRY(factorise_basis(l, sums.rwr));
done:
  return status;
}

static oatgp_status refuse_rows(oatgp_context *ctx, const char *why) {
  return oat_fail(ctx, OATGP_DATA, "these are not the rows that the model was fitted to: %s; leave-one-out needs them all", why);
}

/* Two sums over the rows that the model's sums have, too: of the targets, and of the targets with what the knots make of the inputs. The
 * first says nothing of sites, whose targets may be anywhere where their precision is next to 0. */
static oatgp_status recognise(const leaving *l, const oat_left_out *found) {
  const oatgp_model *model = l->model;
  const size_t k = model->k;
  const double rwr = *oat_sums_over(model->sums, k, model->p).rwr, explained = oat_dot(k, l->c_all, l->c_all);
  if (model->likelihood != NULL) {
    return fabs(found->products - explained) <= OTHER_SITES * (explained + model->number[OAT_NUMBER_N])
               ? OATGP_OK
               : refuse_rows(l->ctx, "their inputs or answers differ, or some of them came by an update (--refit fits to all of them)");
  }
  if (!(fabs(found->squares - rwr) <= OTHER_ROWS * rwr)) {
    return refuse_rows(l->ctx, "their targets or weights differ");
  }
  return fabs(found->products - explained) <= OTHER_ROWS * rwr ? OATGP_OK : refuse_rows(l->ctx, "their inputs differ");
}

/* From the model's unit to the data's. */
static void convert_chunk(void *self, size_t lane, size_t item) {
  const leaving *l = self;
  const double unit = l->model->number[OAT_NUMBER_Y_SCALE];
  const oat_span part = oat_chunk(oat_rows_total(l->rows), item);
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    l->out->error[i] *= unit;
    l->out->sd[i] = unit * sqrt(l->out->sd[i]);
  }
}

static oatgp_status leave_sparse(leaving *l) {
  const oatgp_model *model = l->model;
  const oat_sparse sparse = oat_model_sparse(model);
  oat_device *device = NULL;
  oatgp_status status = OATGP_OK;
  TRY(prepare_sparse(l));
  oat_left_out out = {.lb = model->lb,
                      .c = l->c_all,
                      .columns = l->width,
                      .coefficient = model->coefficient,
                      .gls = &l->gls,
                      .explained = model->approx->residual == OAT_RESIDUAL_NONE,
                      .latent = model->likelihood != NULL,
                      .error = l->out->error,
                      .variance = l->out->sd};
  oat_device_config config = oat_model_device(model, l->where);
  config.neighbours = model->neighbours;
  TRY(oat_device_keep(l->ctx, &config, l->rows, &device));
  if (model->neighbours > 0) {
    TRY(device->table->find_neighbours(device, &sparse.cov, NULL));
  }
  TRY(device->table->left_out(device, &sparse, &out));
  oat_loop loop = oat_chunks(oat_rows_total(l->rows), 5 * OAT_FLOPS_OF_MEMORY, l->where.threads);
  loop.item = convert_chunk;
  loop.self = l;
  if (model->likelihood == NULL) {
    oat_loop_run(&loop);
  }
  TRY(l->out->known ? OATGP_OK : recognise(l, &out));
done:
  return status;
}

/* ---- the full GP ------------------------------------------------------------------------------------------------------ */

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (1 + fabs(b)); }

/* The model has its rows. */
static oatgp_status recognise_full(leaving *l) {
  const oatgp_model *model = l->model;
  const size_t n = model->k, d = model->d;
  double *copy = oat_take_doubles(&l->memory, n, d + 2);
  bool same = true;
  if (copy == NULL) {
    return l->memory.status;
  }
  double *r = copy + n * d, *noise = r + n;
  oat_rows_copy(l->rows, model->coefficient, model->theta[OAT_TAU], copy, r, noise);
  for (size_t i = 0; i < n * d; i++) {
    same = same && near(copy[i], model->z[i]);
  }
  for (size_t i = 0; i < n; i++) {
    same = same && near(r[i], model->r[i]) && near(noise[i], model->noise[i]);
  }
  return same ? OATGP_OK : refuse_rows(l->ctx, "their values or their order differ");
}

/* `solved` has the columns S^-1 R, and `e` room for a row of them and p numbers. */
static void leave_full_row(const leaving *l, size_t i, const double *solved, double kappa, double *e) {
  const oatgp_model *model = l->model;
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  const oat_points rows = {model->z, model->k, model->k};
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  const double jitter = oat_kernel_share(&cov, rows, model->number[OAT_NUMBER_JITTER]);
  for (size_t j = 0; j < l->width; j++) {
    e[j] = solved[i + j * model->k] / kappa;
  }
  const double error = oat_gls_error(&l->gls, model->coefficient, e, kappa), latent = fmax(1 / kappa - jitter - model->noise[i], 0);
  l->out->error[i] = model->likelihood != NULL ? error : unit * error;
  l->out->sd[i] = model->likelihood != NULL ? latent : unit * sqrt(latent + model->noise[i]);
}

/* The answers are those of the fit if each has at f the slope that its site has: dE/dm = (t - m) / n = a, with a = S^-1 (r - mean).
 * Where log p is not concave, sites may be kept from that, and the inputs alone are compared. */
static oatgp_status recognise_answers(const leaving *l, const oat_exact_rows *found, const double *sites) {
  const oatgp_model *model = l->model;
  const size_t n = model->k;
  const oat_response response = oat_model_response(model);
  bool same = true;
  for (size_t i = 0; response.likelihood->log_concave && i < n; i++) {
    double a = found->solved[i], value, dm, ds;
    for (size_t j = 0; j < model->p; j++) {
      a -= model->coefficient[j] * found->solved[i + (1 + j) * n];
    }
    const double noise = model->noise[i], m = sites[i] - noise * a + base_of(l, i), s = noise * fmax(1 - noise * found->precision[i], 0);
    const double y = l->data->y[i] / model->number[OAT_NUMBER_Y_SCALE], times = l->data->weight != NULL ? l->data->weight[i] : 1;
    oat_response_expect(&response, &(oat_answers){1, &y, l->data->trials != NULL ? l->data->trials + i : NULL}, &(oat_latent){&m, &s},
                        &(oat_expectations){.value = &value, .dm = &dm, .ds = &ds});
    same = same && fabs(times * dm - a) * sqrt(s) <= OTHER_ANSWERS;
  }
  return same ? OATGP_OK : refuse_rows(l->ctx, "their answers differ");
}

static oatgp_status check_answers(leaving *l, const oat_exact_rows *found) {
  double *sites = oat_take_doubles(&l->memory, l->model->k, 2);
  if (sites == NULL) {
    return l->memory.status;
  }
  oat_rows_get_sites(l->rows, sites);
  return recognise_answers(l, found, sites);
}

static oatgp_status leave_full(leaving *l) {
  const size_t n = l->model->k, width = l->width;
  const oat_device_config config = {.where = l->where, .kernel = oat_kernel_size_of(l->model->kernel)};
  oat_device *device = NULL;
  double *room = oat_take_doubles(&l->memory, n + 2, 1 + width);
  oatgp_status status;
  TRY(l->memory.status);
  TRY(l->out->known ? OATGP_OK : recognise_full(l));
  const oat_exact_rows found = {.gram = l->gram, .solved = room, .precision = room + n * width};
  TRY(oat_device_open(l->ctx, &config, l->rows, &device));
  TRY(device->table->exact_rows(device, l->model->l, &found));
  TRY(l->out->known || l->model->likelihood == NULL ? OATGP_OK : check_answers(l, &found));
  TRY(factorise_basis(l, l->gram));
  for (size_t i = 0; i < n; i++) {
    leave_full_row(l, i, found.solved, found.precision[i], found.precision + n);
  }
done:
  oat_device_close(device);
  return status;
}

/* ---- sites of answers that are not Gaussian ----------------------------------------------------------------------------- */

/* Those that the model's posterior asks for: at its fixed point they are the ones that it was made of. */
static oatgp_status ask_for_sites(const leaving *l, const oat_rows *sited) {
  const oatgp_model *model = l->model;
  const oat_sparse sparse = oat_model_sparse(model);
  const oat_site_q q = {model->lb, model->c, model->coefficient};
  oat_site_look look = {.response = oat_model_response(model)};
  oat_device_config config = oat_model_device(model, l->where);
  oat_device *device = NULL;
  oatgp_status status = OATGP_OK;
  config.fits = true;
  TRY(oat_device_open(l->ctx, &config, sited, &device));
  TRY(device->table->sites_begin(device, &look.response, NAN));
  TRY(device->table->sites_look(device, &sparse, &q, &look));
  TRY(device->table->sites_move(device, 1, true));
done:
  oat_device_close(device);
  return status;
}

/* The full GP keeps them, less the estimated mean. */
static oatgp_status recall_sites(const leaving *l, oat_rows *sited) {
  const oatgp_model *model = l->model;
  const size_t n = model->k;
  const double *number = model->number;
  double *sites = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(l->ctx, n, 2, &sites));
  TRY(oat_model_prior_mean(l->ctx, model, sited, sites));
  for (size_t i = 0; i < n; i++) {
    sites[i] = model->r[i] + (sites[i] - number[OAT_NUMBER_MEAN]) / number[OAT_NUMBER_Y_SCALE];
    sites[n + i] = model->noise[i];
  }
  oat_rows_set_sites(sited, sites);
done:
  free(sites);
  return status;
}

/* From the errors of the sites' targets to f without the row, what is added to it included. */
static oatgp_status find_cavities(leaving *l) {
  const size_t n = oat_rows_total(l->rows);
  double *sites = oat_take_doubles(&l->memory, n, 2);
  if (sites == NULL) {
    return l->memory.status;
  }
  oat_rows_get_sites(l->rows, sites);
  for (size_t i = 0; i < n; i++) {
    l->out->error[i] = sites[i] - l->out->error[i] + base_of(l, i);
    l->out->sd[i] = fmax(l->out->sd[i], 0);
  }
  return OATGP_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

static oatgp_status check_count(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows) {
  REFUSE_IF((double)oat_rows_total(rows) != model->number[OAT_NUMBER_N], ctx, OATGP_DATA,
            "the model was fitted to %.0f rows and these data have %zu: leave-one-out needs the rows of the fit, and all of them",
            model->number[OAT_NUMBER_N], oat_rows_total(rows));
  return OATGP_OK;
}

/* rows are those that the model was fitted to, as it sees them. */
static oatgp_status leave_each(const leaving *of, const oat_rows *rows, const left_rows *out) {
  leaving l = *of;
  const oatgp_model *model = l.model;
  oatgp_status status = OATGP_OK;
  l.memory = (oat_scratch){.ctx = l.ctx};
  l.rows = rows;
  l.out = out;
  TRY(check_count(l.ctx, model, rows));
  l.width = 1 + model->p;
  l.gram = oat_take_doubles(&l.memory, l.width, l.width);
  double *gls = oat_take_doubles(&l.memory, oat_gls_room(model->p), 1);
  TRY(l.memory.status);
  l.gls = oat_gls_over(gls, model->p);
  TRY(model->approx->sparse ? leave_sparse(&l) : leave_full(&l));
  TRY(model->likelihood != NULL ? find_cavities(&l) : OATGP_OK);
done:
  oat_scratch_free(&l.memory);
  return status;
}

/* Rows with answers get the sites of the model first. */
static oatgp_status leave_each_answer(const leaving *l, const oat_rows *rows, const left_rows *out) {
  oat_rows *sited = NULL;
  oatgp_status status = OATGP_OK;
  TRY(check_count(l->ctx, l->model, rows));
  TRY(oat_rows_with_sites(l->ctx, rows, &sited));
  TRY(l->model->approx->sparse ? ask_for_sites(l, sited) : recall_sites(l, sited));
  TRY(leave_each(l, sited, out));
done:
  oat_rows_free(sited);
  return status;
}

/* A model with neighbours knows its rows and their order, which need not be that of the data. */
static oatgp_status leave_each_kept(const leaving *l, const oat_rows *rows, const left_rows *out) {
  const oatgp_model *model = l->model;
  const size_t n = oat_rows_total(rows);
  oat_scratch memory = {.ctx = l->ctx};
  size_t *index = oat_take(&memory, n, sizeof *index);
  const left_rows ordered = {oat_take_doubles(&memory, n, 1), oat_take_doubles(&memory, n, 1), true};
  bool all = false;
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_rows_find(l->ctx, model->rows, rows, index, &all));
  TRY(all ? OATGP_OK : refuse_rows(l->ctx, "their number, inputs or targets differ"));
  TRY(leave_each(l, model->rows, &ordered));
  for (size_t i = 0; i < n; i++) {
    out->error[index[i]] = ordered.error[i];
    out->sd[index[i]] = ordered.sd[i];
  }
done:
  oat_scratch_free(&memory);
  return status;
}

/* The scores of the rows. */
static oatgp_status report(const leaving *l, left_rows mine, const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  const oatgp_data *data = l->data;
  double *columns = NULL;
  oatgp_status status = OATGP_OK;
  if (l->model->likelihood == NULL) {
    for (size_t i = 0; i < data->n; i++) {
      mine.error[i] = data->y[i] - mine.error[i];
    }
    return oat_held_gaussian(l->ctx, data, (oat_gaussian){mine.error, mine.sd}, rows, scores);
  }
  TRY(oat_new_matrix(l->ctx, data->n, OAT_HELD_COLUMNS, &columns));
  TRY(oat_held_judge(l->ctx, l->model, data, (oat_latent){mine.error, mine.sd}, columns));
  TRY(oat_held_report(l->ctx, l->model->likelihood, data, columns, rows, scores));
done:
  free(columns);
  return status;
}

static oatgp_status leave_data(const leaving *l, const left_rows *out) {
  oat_rows *seen = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_rows(l->ctx, l->model, l->data, &seen));
  TRY(l->model->neighbours > 0       ? leave_each_kept(l, seen, out)
      : l->model->likelihood != NULL ? leave_each_answer(l, seen, out)
                                     : leave_each(l, seen, out));
done:
  oat_rows_free(seen);
  return status;
}

oatgp_status oat_loo_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out_sd *rows,
                            oatgp_scores *scores) {
  const leaving l = {.ctx = ctx, .model = model, .data = data, .where = oat_where_of(ctx)};
  oat_scratch memory = {.ctx = ctx};
  const left_rows mine = {oat_take_doubles(&memory, data->n, 1), oat_take_doubles(&memory, data->n, 1), false};
  oatgp_status status;
  TRY(memory.status);
  TRY(leave_data(&l, &mine));
  TRY(report(&l, mine, rows, scores));
done:
  oat_scratch_free(&memory);
  return status;
}

/* The rows of the fit have its order, which with neighbours is not that of the data. */
oatgp_status oat_loo_keep(oatgp_context *ctx, oatgp_model *model, oat_where where, const oat_rows *rows, const oatgp_data *data) {
  const leaving l = {.ctx = ctx, .model = model, .data = data, .where = where};
  oat_scratch memory = {.ctx = ctx};
  const left_rows mine = {oat_take_doubles(&memory, data->n, 1), oat_take_doubles(&memory, data->n, 1), true};
  oatgp_scores scores;
  oatgp_status status;
  TRY(memory.status);
  TRY(model->neighbours > 0 ? leave_data(&l, &mine) : leave_each(&l, rows, &mine));
  TRY(report(&l, mine, NULL, &scores));
  model->number[OAT_NUMBER_LOO_MEAN_NLP] = scores.mean_nlp;
  model->number[OAT_NUMBER_LOO_RMSE] = scores.rmse;
  model->number[OAT_NUMBER_LOO_COVERAGE95] = scores.coverage95;
done:
  oat_context_drop(ctx); /* who fits may fit again, and need the memory */
  oat_scratch_free(&memory);
  return status;
}
