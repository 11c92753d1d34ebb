/* Leave-one-out of an averaged model.
 *
 * Without row i, each member m predicts it by a normal distribution with density p_m. The draws stay where they are,
 * but their weights are those of the posterior without the row, v_m = (w_m / p_m) / sum of w / p. So the predictive
 * density is sum of v_m p_m = 1 / (sum of w / p). */
#include <math.h>

#include "likelihood/special.h"
#include "predict/mixture.h"
#include "util/memory.h"

/* Of the members, n values each; and the columns of the mixture. */
typedef struct left {
  oatgp_context *ctx;
  const oatgp_data *data;
  double *mean, *sd, *nlp, *columns;
} left;

static oatgp_status leave_member(void *self, const oatgp_model *member, size_t which) {
  const left *l = self;
  const size_t first = which * l->data->n;
  const oatgp_held_out_sd rows = {l->mean + first, l->sd + first, l->nlp + first, NULL};
  return oat_loo_report(l->ctx, member, l->data, &rows, NULL);
}

/* -log of the density, and the weights without row i. */
static double weigh(const oatgp_model *model, const left *l, size_t i, double *without) {
  const size_t n = l->data->n;
  double most = -HUGE_VAL, sum = 0;
  for (size_t m = 0; m < model->draw_count; m++) {
    without[m] = log(model->draw_weights[m]) + l->nlp[i + m * n];
    most = fmax(most, without[m]);
  }
  for (size_t m = 0; m < model->draw_count; m++) {
    sum += without[m] = exp(without[m] - most);
  }
  for (size_t m = 0; m < model->draw_count; m++) {
    without[m] /= sum;
  }
  return most + log(sum);
}

static void join_row(const oatgp_model *model, const left *l, size_t i) {
  const size_t n = l->data->n;
  const double y = l->data->y[i];
  double weight[OAT_MOST_DRAWS], error = 0, spread = 0, below = 0;
  const double nlp = weigh(model, l, i, weight);
  for (size_t m = 0; m < model->draw_count; m++) {
    error += weight[m] * (y - l->mean[i + m * n]);
  }
  for (size_t m = 0; m < model->draw_count; m++) {
    const double sd = l->sd[i + m * n], own = y - l->mean[i + m * n];
    spread = hypot(spread, sqrt(weight[m]) * hypot(sd, own - error));
    below += weight[m] * oat_normal_cdf(own / sd);
  }
  const double values[] = {
      [OAT_HELD_MEAN] = y - error, [OAT_HELD_SD] = spread,    [OAT_HELD_NLP] = nlp,  [OAT_HELD_BELOW] = below,
      [OAT_HELD_UP_TO] = below,    [OAT_HELD_DEVIANCE] = NAN, [OAT_HELD_RIGHT] = NAN};
  oat_held_fill(l->columns, n, i, values);
}

oatgp_status oat_loo_mixture(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                             const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  const size_t n = data->n;
  oat_scratch memory = {.ctx = ctx};
  oatgp_data *read = NULL; /* rows that stay in their file; there are few of them */
  left l = {ctx,
            data,
            oat_take_doubles(&memory, n, model->draw_count),
            oat_take_doubles(&memory, n, model->draw_count),
            oat_take_doubles(&memory, n, model->draw_count),
            oat_take_doubles(&memory, n, OAT_HELD_COLUMNS)};
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_data_is_streamed(data) ? oat_data_copy_rows(ctx, data, (oat_span){0, n}, &read) : OATGP_OK);
  l.data = read != NULL ? read : data;
  TRY(oat_mixture_each(ctx, model, leave_member, &l));
  for (size_t i = 0; i < n; i++) {
    join_row(model, &l, i);
  }
  TRY(oat_held_report(ctx, oat_held_form_of(model), l.data, l.columns, rows, scores));
done:
  oatgp_data_free(read);
  oat_scratch_free(&memory);
  return status;
}
