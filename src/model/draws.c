/* Draws of the parameters of an averaged model, and its members: the models at these draws, made from the rows that it
 * keeps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "util/machine.h"

static void free_members(oatgp_model *model) {
  for (size_t i = 0; model->members != NULL && i < model->draw_count; i++) {
    oatgp_model_free(model->members[i]);
  }
  free(model->members);
  model->members = NULL;
}

void oat_model_free_draws(oatgp_model *model) {
  free_members(model);
  free(model->draws);
  model->draws = model->draw_weights = NULL;
  model->draw_count = 0;
}

oatgp_status oat_model_allocate_draws(oatgp_context *ctx, oatgp_model *model, size_t count) {
  const size_t theta = oat_theta_count(model->kernel, model->d);
  double *draws = NULL;
  PASS_ON(oat_new_matrix(ctx, count, theta + 1, &draws));
  oat_model_free_draws(model);
  model->draw_count = count;
  model->draws = draws;
  model->draw_weights = draws + count * theta;
  return OATGP_OK;
}

oatgp_status oat_model_copy_draws(oatgp_context *ctx, const oatgp_model *from, oatgp_model *to) {
  PASS_ON(oat_model_allocate_draws(ctx, to, from->draw_count));
  memcpy(to->draws, from->draws, from->draw_count * (oat_theta_count(from->kernel, from->d) + 1) * sizeof *from->draws);
  return OATGP_OK;
}

/* The objective without priors, so that of a member is its log evidence. */
static oatgp_status open_objective(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                   oat_objective **out) {
  const oat_objective_config config = {.approx = model->approx,
                                       .kernel = model->kernel,
                                       .rows = rows,
                                       .alpha = model->number[OAT_NUMBER_ALPHA],
                                       .jitter = model->number[OAT_NUMBER_JITTER],
                                       .jitter_absolute = model->number[OAT_NUMBER_JITTER_ABSOLUTE],
                                       .k = model->k,
                                       .memory = INT64_MAX, /* the model was fitted to as many rows */
                                       .where = oat_where_of(ctx)};
  return oat_objective_create(ctx, &config, out);
}

/* Numbers that describe the fit at its own parameters are unknown for a member. */
static void set_numbers(double value, oatgp_model *member) {
  double *number = member->number;
  number[OAT_NUMBER_OBJECTIVE] = value - number[OAT_NUMBER_N] * log(number[OAT_NUMBER_Y_SCALE]);
  number[OAT_NUMBER_LOG_PRIOR] = NAN;
  for (size_t i = OAT_NUMBER_OF_ROWS; i < OAT_NUMBERS; i++) {
    number[i] = NAN;
  }
}

static oatgp_status make_member(oatgp_context *ctx, const oatgp_model *model, oat_objective *objective, size_t draw,
                                oatgp_model **out) {
  oatgp_model *member = NULL;
  double value;
  oatgp_status status;
  TRY(oat_model_like(ctx, model, model->k, &member));
  for (size_t j = 0; j < oat_theta_count(model->kernel, model->d); j++) {
    member->theta[j] = model->draws[draw + j * model->draw_count];
  }
  const oat_point point = {member->theta, model->z};
  status = oat_objective_evaluate(objective, &point, &value, NULL);
  if (status == OATGP_NUMERIC) {
    status = oat_fail(ctx, status, "the model could not be factorised at draw %zu of its parameters", draw + 1);
  }
  TRY(status);
  oat_model_take(objective, &point, member);
  set_numbers(value, member);
  TRY(oat_model_finish(ctx, member));
  *out = member;
  member = NULL;
done:
  oatgp_model_free(member);
  return status;
}

/* Of the full GP, each member has a matrix of the rows. */
static oatgp_status check_memory(oatgp_context *ctx, const oatgp_model *model) {
  const double n = (double)model->k, bytes = 8 * (double)model->draw_count * n * n;
  const double most = (double)oat_machine_available();
  REFUSE_IF(!model->approx->sparse && bytes > most, ctx, OATGP_MEMORY,
            "the average over %zu draws needs %.2f GiB for the matrices of %zu rows; this machine has only %.2f GiB "
            "free",
            model->draw_count, bytes / 1073741824, model->k, most / 1073741824);
  return OATGP_OK;
}

oatgp_status oat_model_make_members(oatgp_context *ctx, oatgp_model *model) {
  oat_rows *rows = NULL;
  oat_objective *objective = NULL;
  oatgp_status status;
  free_members(model);
  TRY(check_memory(ctx, model));
  TRY(oat_new(ctx, model->draw_count, sizeof *model->members, &model->members));
  TRY(oat_rows_from_kept(ctx, &model->kept, &model->scaling, model->p, &rows));
  TRY(open_objective(ctx, model, rows, &objective));
  for (size_t i = 0; i < model->draw_count; i++) {
    TRY(make_member(ctx, model, objective, i, &model->members[i]));
  }
done:
  oat_objective_free(objective);
  oat_rows_free(rows);
  return status;
}
