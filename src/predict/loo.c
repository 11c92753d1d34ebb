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
 * As in predictions, the variance has nothing for the uncertainty of these coefficients. */
#include "predict/loo.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/vector.h"
#include "linalg/linalg.h"
#include "model/rows.h"
#include "predict/score.h"
#include "util/memory.h"
#include "util/threads.h"

enum { PANEL = 64 };    /* columns of the full GP's inverse at a time */
#define OTHER_ROWS 1e-6 /* relative difference of sums of squares from which on the rows are others than those of the fit */

/* The mean's basis H: gram = R^T S^-1 R, and the factor of its part without r, scaled to a unit diagonal. */
typedef struct basis {
  size_t p, width;
  const double *coefficient;
  double *gram, *size;   /* width x width; size: how large the sums were of which gram is the difference */
  double *root, *factor; /* p, p x p */
} basis;

typedef struct leaving {
  oatgp_context *ctx;
  const oatgp_model *model;
  const oat_rows *rows;
  const oat_loo_rows *out;
  basis basis;
  double *c_all; /* columns LB^-1 V W R of a sparse model, L^-1 R of the full GP */
  double *room;  /* of the two triangles */
  oat_triangle l, lb;
  double *fit, *weight; /* n: u . c for the residual and w of each row, by which the rows are recognised */
  size_t block, lanes, stride;
  double *buffer; /* lanes x stride */
  size_t done;
} leaving;

/* ---- the mean's coefficients without a row --------------------------------------------------------------------------- */

static oatgp_status make_basis(oatgp_context *ctx, const oatgp_model *model, basis *b) {
  oatgp_status status = OATGP_OK;
  b->p = model->p;
  b->width = 1 + model->p;
  b->coefficient = model->coefficient;
  TRY(oat_new_matrix(ctx, b->width, b->width, &b->gram));
  TRY(oat_new_matrix(ctx, b->width, b->width, &b->size));
  TRY(oat_new_matrix(ctx, b->p, 1, &b->root));
  TRY(oat_new_matrix(ctx, b->p, b->p, &b->factor));
done:
  return status;
}

/* With a ridge at rounding level, raised until the factorisation goes through, as the coefficients were found. */
static void factorise_basis(basis *b) {
  const size_t p = b->p, step = b->width + 1;
  for (size_t j = 0; j < p; j++) {
    b->root[j] = sqrt(fmax(b->gram[(j + 1) * step], DBL_EPSILON * b->size[(j + 1) * step]));
  }
  double ridge = 1e-13 * (double)p;
  do {
    for (size_t i = 0; i < p * p; i++) {
      const size_t row = i % p, column = i / p;
      b->factor[i] = row == column ? 1 + ridge : b->gram[row + 1 + (column + 1) * b->width] / (b->root[row] * b->root[column]);
    }
    ridge *= 10;
  } while (oat_cholesky(p, b->factor) != 0 && ridge < 1e4);
}

/* y - mean, from the errors of the columns of R; work has p numbers. Where 1 - t is nothing but the ridge, a coefficient cannot be estimated
 * without this row, and is what the ridge makes of it. */
static double error_without(const basis *b, const double *e, double kappa, double *work) {
  double error = e[0];
  for (size_t j = 0; j < b->p; j++) {
    error -= b->coefficient[j] * e[1 + j];
    work[j] = e[1 + j] / b->root[j];
  }
  if (b->p == 0) {
    return error;
  }
  oat_solve_left(b->factor, b->p, OAT_PLAIN, (oat_view){work, b->p, 1, b->p});
  const double left = 1 - kappa * oat_dot(b->p, work, work);
  return error / fmax(left, DBL_EPSILON);
}

/* ---- sparse models --------------------------------------------------------------------------------------------------- */

/* k(x, x), |v|^2 and |u|^2 of a row. */
typedef struct row_squares {
  double prior, q, s;
} row_squares;

/* One row, given fit = R^T W V^T B^-1 v in e, which becomes the errors. leave is at least 1 / (1 + w q), which it
 * would be if there were no other row. */
static void leave_row(leaving *l, size_t i, row_squares of, double *e, double *work) {
  const oatgp_model *model = l->model;
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  const double noise = oat_noise_variance(l->rows, model->theta[OAT_TAU], i), g = fmax(of.prior - of.q, 0);
  const double w = 1 / (noise + model->number[OAT_NUMBER_ALPHA] * g), leave = fmax(1 - w * of.s, 1 / (1 + w * of.q));
  l->fit[i] = e[0];
  l->weight[i] = w;
  for (size_t j = 0; j < l->basis.width; j++) {
    e[j] = (l->rows->r[i + j * l->rows->n] - e[j]) / leave;
  }
  const double left = model->approx->residual == OAT_RESIDUAL_NONE ? 0 : g;
  l->out->error[i] = unit * error_without(&l->basis, e, w * leave, work);
  l->out->sd[i] = unit * sqrt(of.s / leave + left + noise);
}

static void leave_block(leaving *l, size_t first, double *buffer) {
  const oatgp_model *model = l->model;
  const oat_rows *rows = l->rows;
  const size_t k = model->k, width = l->basis.width, n = rows->n - first < l->block ? rows->n - first : l->block;
  double *q = buffer + l->block * k, *s = q + l->block, *prior = s + l->block, *fits = prior + l->block;
  double *e = fits + l->block * width, *work = e + width;
  const oat_points x = {rows->x + first, n, rows->n};
  const oat_view v = {buffer, n, k, n};
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  oat_kernel_diagonal(&cov, x, prior);
  oat_kernel_cross(&cov, x, (oat_points){model->z, k, k}, v.a, v.ld, work);
  oat_triangle_solve(&l->l, OAT_TRANSPOSED, v);
  oat_row_squares(n, k, v.a, v.ld, q);
  oat_triangle_solve(&l->lb, OAT_TRANSPOSED, v);
  oat_row_squares(n, k, v.a, v.ld, s);
  oat_gemm(1, oat_as_const(v), OAT_PLAIN, (oat_const_view){l->c_all, k, width, k}, OAT_PLAIN, 0, (oat_view){fits, n, width, n});
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < width; j++) {
      e[j] = fits[i + j * n];
    }
    leave_row(l, first + i, (row_squares){prior[i], q[i], s[i]}, e, work);
  }
}

/* A row's numbers depend on its block alone, so it does not matter which thread has it. */
static void leave_lane(leaving *l, size_t lane) {
  for (size_t first = lane * l->block; first < l->rows->n; first += l->lanes * l->block) {
    size_t done;
    leave_block(l, first, l->buffer + lane * l->stride);
#pragma omp atomic capture
    done = l->done += l->block;
    if (oat_in_first_thread()) {
      oat_tell_progress(l->ctx, "leave-one-out", done < l->rows->n ? done : l->rows->n, l->rows->n);
    }
  }
}

/* The columns LB^-1 V W R, and R^T S^-1 R = R^T W R less their products. */
static oatgp_status prepare_sparse(leaving *l, size_t threads) {
  const oatgp_model *model = l->model;
  const size_t k = model->k, width = l->basis.width, n = l->rows->n;
  const double *vwr = model->sums + k * k, *rwr = vwr + k * width;
  oatgp_status status = OATGP_OK;
  l->block = oat_model_block(model);
  const size_t blocks = (n + l->block - 1) / l->block, work = oat_kernel_work(l->block, k, model->d);
  l->lanes = blocks < threads ? blocks : threads;
  l->stride = l->block * (k + 3 + width) + width + (work > l->basis.p ? work : l->basis.p);
  TRY(oat_new_matrix(l->ctx, l->lanes, l->stride, &l->buffer));
  TRY(oat_new_matrix(l->ctx, k, width, &l->c_all));
  TRY(oat_new_matrix(l->ctx, 2 * oat_triangle_room(k), 1, &l->room));
  TRY(oat_new_matrix(l->ctx, n, 1, &l->fit));
  TRY(oat_new_matrix(l->ctx, n, 1, &l->weight));
  l->l = oat_triangle_make(model->l, k, l->room);
  l->lb = oat_triangle_make(model->lb, k, l->room + oat_triangle_room(k));
  const oat_view all = {l->c_all, k, width, k};
  memcpy(l->c_all, vwr, k * width * sizeof *vwr);
  oat_solve_left(model->lb, k, OAT_PLAIN, all);
  memcpy(l->basis.gram, rwr, width * width * sizeof *rwr);
  memcpy(l->basis.size, rwr, width * width * sizeof *rwr);
  oat_gemm(-1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 1, oat_square(l->basis.gram, width));
  factorise_basis(&l->basis);
done:
  return status;
}

static oatgp_status refuse_rows(oatgp_context *ctx, const char *why) {
  return oat_fail(ctx, OATGP_DATA, "these are not the rows that the model was fitted to: %s; leave-one-out needs them all", why);
}

/* Two sums over the rows that the model's sums have, too: of the targets, and of the targets with what the knots make of the inputs. */
static oatgp_status recognise(const leaving *l) {
  const oatgp_model *model = l->model;
  const size_t k = model->k, n = l->rows->n;
  const double rwr = model->sums[k * k + k * l->basis.width], explained = oat_dot(k, l->c_all, l->c_all);
  double squares = 0, products = 0;
  for (size_t i = 0; i < n; i++) {
    const double r = l->rows->r[i];
    squares += l->weight[i] * r * r;
    products += l->weight[i] * r * l->fit[i];
  }
  if (!(fabs(squares - rwr) <= OTHER_ROWS * rwr)) {
    return refuse_rows(l->ctx, "their targets or weights differ");
  }
  return fabs(products - explained) <= OTHER_ROWS * rwr ? OATGP_OK : refuse_rows(l->ctx, "their inputs differ");
}

static oatgp_status leave_sparse(leaving *l, int threads) {
  oatgp_status status = OATGP_OK;
  TRY(prepare_sparse(l, (size_t)oat_lane_threads(threads)));
#pragma omp parallel for num_threads((int)l->lanes) schedule(static, 1) if (l->lanes > 1)
  for (size_t lane = 0; lane < l->lanes; lane++) {
    leave_lane(l, lane);
  }
  TRY(l->out->known ? OATGP_OK : recognise(l));
done:
  return status;
}

/* ---- the full GP ------------------------------------------------------------------------------------------------------ */

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (1 + fabs(b)); }

/* The model has its rows. */
static oatgp_status recognise_full(const leaving *l) {
  const oatgp_model *model = l->model;
  const oat_rows *rows = l->rows;
  bool same = true;
  for (size_t i = 0; i < rows->n * rows->d; i++) {
    same = same && near(rows->x[i], model->z[i]);
  }
  for (size_t i = 0; i < rows->n; i++) {
    double r = rows->r[i];
    for (size_t j = 0; j < model->p; j++) {
      r -= model->coefficient[j] * rows->r[i + (1 + j) * rows->n];
    }
    same = same && near(r, model->r[i]) && near(oat_noise_variance(rows, model->theta[OAT_TAU], i), model->noise[i]);
  }
  return same ? OATGP_OK : refuse_rows(l->ctx, "their values or their order differ");
}

/* kappa = diag S^-1, the squared columns of L^-1, a panel of columns at a time. */
static oatgp_status inverse_diagonal(leaving *l, double *kappa) {
  const size_t n = l->rows->n;
  double *panel = NULL;
  const oatgp_status status = oat_new_matrix(l->ctx, n, PANEL, &panel);
  for (size_t first = 0; status == OATGP_OK && first < n; first += PANEL) {
    const size_t columns = n - first < PANEL ? n - first : PANEL;
    memset(panel, 0, n * columns * sizeof *panel);
    for (size_t c = 0; c < columns; c++) {
      panel[first + c + c * n] = 1;
    }
    oat_solve_left(l->model->l, n, OAT_PLAIN, (oat_view){panel, n, columns, n});
    for (size_t c = 0; c < columns; c++) {
      kappa[first + c] = oat_dot(n, panel + c * n, panel + c * n);
    }
    oat_tell_progress(l->ctx, "leave-one-out", first + columns, n);
  }
  free(panel);
  return status;
}

static void leave_full_row(leaving *l, size_t i, double kappa, double *e) {
  const oatgp_model *model = l->model;
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  const oat_points rows = {model->z, model->k, model->k};
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  const double jitter = oat_kernel_share(&cov, rows, model->number[OAT_NUMBER_JITTER]);
  for (size_t j = 0; j < l->basis.width; j++) {
    e[j] = l->c_all[i + j * l->rows->n] / kappa;
  }
  l->out->error[i] = unit * error_without(&l->basis, e, kappa, e + l->basis.width);
  l->out->sd[i] = unit * sqrt(fmax(1 / kappa - jitter - model->noise[i], 0) + model->noise[i]);
}

static oatgp_status leave_full(leaving *l) {
  const oatgp_model *model = l->model;
  const size_t n = l->rows->n, width = l->basis.width;
  double *kappa = NULL;
  oatgp_status status = OATGP_OK;
  TRY(l->out->known ? OATGP_OK : recognise_full(l));
  TRY(oat_new_matrix(l->ctx, n, width, &l->c_all));
  TRY(oat_new_matrix(l->ctx, width + l->basis.p, 1, &l->buffer));
  TRY(oat_new_matrix(l->ctx, n, 1, &kappa));
  const oat_view all = {l->c_all, n, width, n};
  memcpy(l->c_all, l->rows->r, n * width * sizeof *l->c_all);
  oat_solve_left(model->l, n, OAT_PLAIN, all);
  oat_gemm(1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 0, oat_square(l->basis.gram, width));
  memcpy(l->basis.size, l->basis.gram, width * width * sizeof *l->basis.gram);
  factorise_basis(&l->basis);
  oat_solve_left(model->l, n, OAT_TRANSPOSED, all);
  TRY(inverse_diagonal(l, kappa));
  for (size_t i = 0; i < n; i++) {
    leave_full_row(l, i, kappa[i], l->buffer);
  }
done:
  free(kappa);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

static void free_leaving(leaving *l) {
  double *const arrays[] = {l->basis.gram, l->basis.size, l->basis.root, l->basis.factor, l->c_all, l->room, l->fit, l->weight, l->buffer};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
}

oatgp_status oat_loo(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, int threads, const oat_loo_rows *out) {
  leaving l = {.ctx = ctx, .model = model, .rows = rows, .out = out};
  oatgp_status status = OATGP_OK;
  if ((double)rows->n != model->number[OAT_NUMBER_N]) {
    return oat_fail(ctx, OATGP_DATA,
                    "the model was fitted to %.0f rows and these data have %zu: leave-one-out needs the rows of the fit, and all of them",
                    model->number[OAT_NUMBER_N], rows->n);
  }
  TRY(make_basis(ctx, model, &l.basis));
  TRY(model->approx->sparse ? leave_sparse(&l, threads) : leave_full(&l));
done:
  free_leaving(&l);
  return status;
}

/* The same with the scores of the rows; `mine` is freed by the caller. */
static oatgp_status report(oatgp_context *ctx, const oatgp_data *data, oat_loo_rows mine, const oatgp_held_out_sd *rows,
                           oatgp_scores *scores) {
  for (size_t i = 0; i < data->n; i++) {
    mine.error[i] = data->y[i] - mine.error[i];
  }
  return oat_held_out_report(ctx, data, (oat_gaussian){mine.error, mine.sd}, rows, scores);
}

oatgp_status oat_loo_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out_sd *rows,
                            oatgp_scores *scores) {
  oat_model_rows seen = {0};
  oat_loo_rows mine = {0};
  oatgp_status status = OATGP_OK;
  TRY(oat_model_rows_make(ctx, model, data, &seen));
  TRY(oat_new_matrix(ctx, data->n, 1, &mine.error));
  TRY(oat_new_matrix(ctx, data->n, 1, &mine.sd));
  TRY(oat_loo(ctx, model, &seen.rows, ctx->threads, &mine));
  TRY(report(ctx, data, mine, rows, scores));
done:
  oat_model_rows_clear(&seen);
  free(mine.error);
  free(mine.sd);
  return status;
}

oatgp_status oat_loo_keep(oatgp_context *ctx, oatgp_model *model, const oat_rows *rows, const oatgp_data *data, int threads) {
  oat_loo_rows mine = {.known = true};
  oatgp_scores scores;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, rows->n, 1, &mine.error));
  TRY(oat_new_matrix(ctx, rows->n, 1, &mine.sd));
  TRY(oat_loo(ctx, model, rows, threads, &mine));
  TRY(report(ctx, data, mine, NULL, &scores));
  model->number[OAT_NUMBER_LOO_MEAN_NLP] = scores.mean_nlp;
  model->number[OAT_NUMBER_LOO_RMSE] = scores.rmse;
  model->number[OAT_NUMBER_LOO_COVERAGE95] = scores.coverage95;
done:
  free(mine.error);
  free(mine.sd);
  return status;
}
