/* Leave-one-out in closed form.
 *
 * Let S be the covariance of the rows in the model (Q + Lambda for a sparse model, K + noise for the full GP), and R =
 * [r, H] the residual and the basis of the mean. Everything that changes without row i follows from kappa_i = (S^-1)_ii
 * and e_i = (S^-1 R)_i / kappa_i, the error of each column of R when it is predicted there from the other rows:
 *   sparse:  u = LB^-1 v, s = |u|^2, leave = 1 - w s;  kappa = w leave,  e = (R_i - u^T LB^-1 V W R) / leave,
 *            latent variance s / leave + g (dic: s / leave alone), g the prior variance that the knots do not explain;
 *   full:    from the factor of S; latent variance 1 / kappa minus the diagonal of S beyond the kernel.
 * An estimated mean is estimated without the row: R^T S^-1 R loses kappa e e^T, so with t = kappa e_H^T (H^T S^-1 H)^-1
 * e_H
 *   y - mean = (e_r - e_H . coefficients of all rows) / (1 - t).
 * As in predictions, the variance does not include the uncertainty of these coefficients.
 *
 * Targets that are not Gaussian: each row is replaced by its site (device/cpu/sites.c), a Gaussian row with its own
 * target and variance. Leaving out the site gives f a mean and a latent variance by the same formulas, and the
 * predictive density of the target follows from these. This is exact for fixed sites. A real refit without the row
 * would change the sites of nearby rows a little. */
#include "predict/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/parts.h"
#include "util/lanes.h"
#include "util/memory.h"

#define INSIDE_95 1.959963984540054 /* the central 95 % of a normal distribution, in standard deviations */
#define OTHER_ROWS 1e-6  /* relative difference of sums of squares above which the rows are not those of the fit */
#define OTHER_SITES 1e-4 /* the same for each row if the rows are sites, which are only settled to a tolerance */
/* Standard deviations of f by which the slope of log p(y) may differ from that of its site. */
#define OTHER_ANSWERS 0.02

/* One value for each row, in the data's units: y - mean, and the standard deviation of an observation there. Of answers
 * that are not Gaussian, in the model's unit: the error of the site's target, and the variance of f. */
typedef struct left_rows {
  double *error, *sd; /* NULL: only the sums */
  bool known;         /* the rows are known to be those of the fit and need no check */
} left_rows;

typedef struct leaving {
  oatgp_context *ctx;
  oat_scratch memory;
  const oatgp_model *model;
  const oatgp_data *data;
  oat_where where;
  const oat_rows *rows;
  const left_rows *out;
  size_t width;       /* 1 + p: columns of R */
  double *gram;       /* width x width: R^T S^-1 R */
  oat_gls gls;        /* of gram */
  double *c_all;      /* columns LB^-1 V W R of a sparse model */
  oat_left_out *sums; /* those of it, which are added to, or NULL */
  bool part;          /* these are some of the rows alone */
} leaving;

/* ---- the mean's coefficients without a row --------------------------------------------------------------------- */

static oatgp_status factorise_basis(leaving *l, const double *size) {
  if (oat_gls_factorise(&l->gls, l->gram, size) == OATGP_OK) {
    return OATGP_OK;
  }
  return oat_fail(l->ctx, OATGP_NUMERIC,
                  "leave-one-out failed: the normal equations of the mean could not be factorised");
}

/* The offset of f at a row, in the model's unit: a given mean, the logarithm of the exposure. */
static double base_of(const leaving *l, size_t i) {
  const double *number = l->model->number;
  return number[OAT_NUMBER_MEAN] / number[OAT_NUMBER_Y_SCALE] +
         (l->data->exposure != NULL ? log(l->data->exposure[i]) : 0);
}

/* ---- sparse models --------------------------------------------------------------------------------------------- */

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
  return oat_fail(ctx, OATGP_DATA,
                  "the model was not fitted to these rows: %s; leave-one-out needs all rows of the fit", why);
}

/* Compares two sums over the rows with the model's own: that of the squared targets, and that of the targets times V.
 * The first is useless for sites, whose targets are arbitrary if their precision is almost 0. */
static oatgp_status recognise(const leaving *l, const oat_left_out *found) {
  const oatgp_model *model = l->model;
  const size_t k = model->k;
  const double rwr = *oat_sums_over(model->sums, k, model->p).rwr, explained = oat_dot(k, l->c_all, l->c_all);
  if (model->likelihood != NULL) {
    return fabs(found->products - explained) <= OTHER_SITES * (explained + model->number[OAT_NUMBER_N])
               ? OATGP_OK
               : refuse_rows(
                     l->ctx,
                     "their inputs or targets differ, or some were added by an update (--refit fits all of them)");
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

static void add_sums(const oat_left_out *more, oat_left_out *sums) {
  sums->density += more->density;
  sums->squares += more->squares;
  sums->products += more->products;
  sums->errors += more->errors;
  sums->inside += more->inside;
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
                      .variance = l->out->sd,
                      .reach = INSIDE_95};
  oat_device_config config = oat_model_device(model, l->where);
  config.neighbours = model->neighbours;
  config.shared = true;
  TRY(oat_device_keep(l->ctx, &config, l->rows, &device));
  if (model->neighbours > 0) {
    TRY(device->table->find_neighbours(device, &sparse.cov, NULL));
  }
  TRY(device->table->left_out(device, &sparse, &out));
  oat_loop loop = oat_chunks(oat_rows_total(l->rows), 5 * OAT_FLOPS_OF_MEMORY, l->where.threads);
  loop.item = convert_chunk;
  loop.self = l;
  if (model->likelihood == NULL && l->out->error != NULL) {
    oat_loop_run(&loop);
  }
  if (l->sums != NULL) {
    add_sums(&out, l->sums);
  }
  TRY(l->out->known || l->part ? OATGP_OK : recognise(l, &out));
done:
  return status;
}

/* ---- the full GP ----------------------------------------------------------------------------------------------- */

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
  const double error = oat_gls_error(&l->gls, model->coefficient, e, kappa),
               latent = fmax(1 / kappa - jitter - model->noise[i], 0);
  l->out->error[i] = model->likelihood != NULL ? error : unit * error;
  l->out->sd[i] = model->likelihood != NULL ? latent : unit * sqrt(latent + model->noise[i]);
}

/* The targets are those of the fit if the slope of each at f is that of its site: dE/dm = (t - m) / n = a, with a =
 * S^-1 (r - mean). If log p is not concave, sites may not reach that slope, so only the inputs are compared. */
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
    const double noise = model->noise[i], m = sites[i] - noise * a + base_of(l, i),
                 s = noise * fmax(1 - noise * found->precision[i], 0);
    const double y = l->data->y[i] / model->number[OAT_NUMBER_Y_SCALE],
                 times = l->data->weight != NULL ? l->data->weight[i] : 1;
    oat_response_expect(&response, &(oat_answers){1, &y, l->data->trials != NULL ? l->data->trials + i : NULL},
                        &(oat_latent){&m, &s}, &(oat_expectations){.value = &value, .dm = &dm, .ds = &ds});
    same = same && fabs(times * dm - a) * sqrt(s) <= OTHER_ANSWERS;
  }
  return same ? OATGP_OK : refuse_rows(l->ctx, "their targets differ");
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

/* ---- sites of answers that are not Gaussian -------------------------------------------------------------------- */

/* Finds the sites from the model's posterior. At its fixed point, they are the sites that it was made from. */
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

/* Turns the errors of the sites' targets into f without the row, with its offset. */
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

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static oatgp_status check_count(oatgp_context *ctx, const oatgp_model *model, size_t rows) {
  REFUSE_IF((double)rows != model->number[OAT_NUMBER_N], ctx, OATGP_DATA,
            "the model was fitted to %.0f rows, but these data have %zu; leave-one-out needs all rows of the fit",
            model->number[OAT_NUMBER_N], rows);
  return OATGP_OK;
}

/* `rows` are those that the model was fitted to, in its units. */
static oatgp_status leave_each(const leaving *of, const oat_rows *rows, const left_rows *out) {
  leaving l = *of;
  const oatgp_model *model = l.model;
  oatgp_status status = OATGP_OK;
  l.memory = (oat_scratch){.ctx = l.ctx};
  l.rows = rows;
  l.out = out;
  TRY(l.part ? OATGP_OK : check_count(l.ctx, model, oat_rows_total(rows)));
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
  TRY(l->part ? OATGP_OK : check_count(l->ctx, l->model, oat_rows_total(rows)));
  TRY(oat_rows_with_sites(l->ctx, rows, &sited));
  TRY(l->model->approx->sparse ? ask_for_sites(l, sited) : recall_sites(l, sited));
  TRY(leave_each(l, sited, out));
done:
  oat_rows_free(sited);
  return status;
}

/* A model with neighbours keeps its rows in its own order, which may differ from that of the data. */
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
  TRY(oat_held_report(l->ctx, (oat_held_form){l->model->likelihood, false}, data, columns, rows, scores));
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

oatgp_status oat_loo_latent(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *m,
                            double *s) {
  const leaving l = {.ctx = ctx, .model = model, .data = data, .where = oat_where_of(ctx)};
  return leave_data(&l, &(left_rows){m, s, false});
}

/* Rows in memory: all of them, or a part. */
static oatgp_status leave_and_report(void *self, const oatgp_data *data, const oatgp_held_out_sd *rows,
                                     oatgp_scores *scores) {
  leaving l = *(const leaving *)self;
  oat_scratch memory = {.ctx = l.ctx};
  const left_rows mine = {oat_take_doubles(&memory, data->n, 1), oat_take_doubles(&memory, data->n, 1), false};
  oatgp_status status;
  l.data = data;
  TRY(memory.status);
  TRY(leave_data(&l, &mine));
  TRY(report(&l, mine, rows, scores));
done:
  oat_scratch_free(&memory);
  return status;
}

/* The sums over all parts show in the end whether the rows are those of the fit. */
static oatgp_status report_parts(leaving *l, const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  const oatgp_model *model = l->model;
  oat_left_out sums = {0};
  oatgp_scores all;
  oatgp_status status = OATGP_OK;
  PASS_ON(check_count(l->ctx, model, l->data->n));
  REFUSE_IF(!model->approx->sparse || model->neighbours > 0, l->ctx, OATGP_ARGUMENT,
            "leave-one-out of the full GP and of models with neighbours needs all rows in memory, and these %zu rows "
            "stay in their file; raise --memory",
            l->data->n);
  l->part = true;
  l->sums = &sums;
  TRY(oat_parts_score(l->ctx, l->data, leave_and_report, l, rows, &all));
  l->width = 1 + model->p;
  l->gram = oat_take_doubles(&l->memory, l->width, l->width);
  double *gls = oat_take_doubles(&l->memory, oat_gls_room(model->p), 1);
  TRY(l->memory.status);
  l->gls = oat_gls_over(gls, model->p);
  TRY(prepare_sparse(l));
  TRY(recognise(l, &sums));
  if (scores != NULL) {
    *scores = all;
  }
done:
  oat_scratch_free(&l->memory);
  return status;
}

oatgp_status oat_loo_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                            const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  leaving l = {.ctx = ctx, .memory = {.ctx = ctx}, .model = model, .data = data, .where = oat_where_of(ctx)};
  if (model->draw_count > 0) {
    PASS_ON(check_count(ctx, model, data->n));
    return oat_loo_mixture(ctx, model, data, rows, scores);
  }
  return oat_data_is_streamed(data) ? report_parts(&l, rows, scores) : leave_and_report(&l, data, rows, scores);
}

static void keep(const oatgp_scores *scores, double *number) {
  number[OAT_NUMBER_LOO_MEAN_NLP] = scores->mean_nlp;
  number[OAT_NUMBER_LOO_RMSE] = scores->rmse;
  number[OAT_NUMBER_LOO_COVERAGE95] = scores->coverage95;
}

/* The scores that a model stores, from one pass without memory for each row. */
static oatgp_status keep_sums(const leaving *of, const oat_rows *rows, double *number) {
  oat_left_out sums = {0};
  leaving l = *of;
  l.sums = &sums;
  PASS_ON(leave_each(&l, rows, &(left_rows){NULL, NULL, true}));
  const double n = (double)oat_rows_total(rows), unit = number[OAT_NUMBER_Y_SCALE];
  number[OAT_NUMBER_LOO_MEAN_NLP] = log(unit) - sums.density / n;
  number[OAT_NUMBER_LOO_RMSE] = unit * sqrt(sums.errors / n);
  number[OAT_NUMBER_LOO_COVERAGE95] = sums.inside / n;
  return OATGP_OK;
}

/* Rows that stay in their files take little memory compared with the matrix of the full GP, so they are read for the
 * report. */
static oatgp_status keep_rows(const leaving *of, const oat_rows *rows, double *number) {
  leaving l = *of;
  oat_scratch memory = {.ctx = l.ctx};
  const left_rows mine = {oat_take_doubles(&memory, l.data->n, 1), oat_take_doubles(&memory, l.data->n, 1), true};
  oatgp_data *read = NULL;
  oatgp_scores scores;
  oatgp_status status;
  TRY(memory.status);
  if (oat_data_is_streamed(of->data) && !l.model->approx->sparse) {
    TRY(oat_data_copy_rows(l.ctx, of->data, (oat_span){0, of->data->n}, &read));
    l.data = read;
  }
  TRY(l.model->neighbours > 0 ? leave_data(&l, &mine) : leave_each(&l, rows, &mine));
  TRY(report(&l, mine, NULL, &scores));
  keep(&scores, number);
done:
  oatgp_data_free(read);
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status keep_mixture(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  oatgp_scores scores;
  PASS_ON(oat_loo_mixture(ctx, model, data, NULL, &scores));
  keep(&scores, model->number);
  return OATGP_OK;
}

/* The rows of the fit have its order, which with neighbours is not that of the data. */
oatgp_status oat_loo_keep(oatgp_context *ctx, oatgp_model *model, oat_where where, const oat_rows *rows,
                          const oatgp_data *data) {
  if (model->draw_count > 0) {
    return keep_mixture(ctx, model, data);
  }
  const leaving l = {.ctx = ctx, .model = model, .data = data, .where = where};
  const bool plain = model->approx->sparse && model->neighbours == 0 && model->likelihood == NULL;
  const oatgp_status status = plain ? keep_sums(&l, rows, model->number) : keep_rows(&l, rows, model->number);
  oat_context_drop(ctx); /* the caller may fit again and need the memory */
  return status;
}
