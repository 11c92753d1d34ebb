/* Scores rows that stay in their files, in blocks. */
#include "predict/parts.h"

#include <math.h>
#include <stdlib.h>

#include "predict/metrics.h"
#include "util/memory.h"

enum { PART = 1 << 17, KEPT = 1000000 };

/* Scores that are means over rows. */
#define MEANS(MEAN) \
  MEAN(mean_nlp)    \
  MEAN(coverage50)  \
  MEAN(coverage80)  \
  MEAN(coverage90)  \
  MEAN(coverage95)  \
  MEAN(coverage99) MEAN(aukl_latent) MEAN(aukl_observation) MEAN(log_loss) MEAN(brier) MEAN(accuracy) MEAN(deviance)

typedef struct joining {
  oat_scratch memory;
  const oatgp_data *data;
  const oatgp_held_out_sd *rows; /* of the caller, or NULL */
  oatgp_held_out_sd own;         /* of a part */
  size_t step, kept;             /* one row in `step` is kept, */
  double *nlp, *y, *mean;        /* so many so far */
  double centre, squares;        /* of the targets so far: their mean, and the sum of squares about it */
  oatgp_scores all;              /* sums so far */
} joining;

/* Mean and sum of squares of a part, joined with those before. */
static void add_targets(joining *j, const oatgp_data *part) {
  const double n = (double)part->n, before = (double)j->all.n, mean = oat_mean(part->n, part->y),
               sd = part->n > 1 ? oat_sd(part->n, part->y) : 0;
  const double apart = mean - j->centre;
  j->squares += sd * sd * (n - 1) + apart * apart * before * n / (before + n);
  j->centre += apart * n / (before + n);
}

static void add_part(joining *j, const oatgp_data *part, size_t first, const oatgp_scores *scores) {
  const double n = (double)part->n;
  double *const to[] = {j->rows != NULL ? j->rows->mean : NULL, j->rows != NULL ? j->rows->sd : NULL,
                        j->rows != NULL ? j->rows->nlp : NULL, j->rows != NULL ? j->rows->residual : NULL};
  const double *const from[] = {j->own.mean, j->own.sd, j->own.nlp, j->own.residual};
  add_targets(j, part);
#define ADD(name) j->all.name += n * scores->name;
  MEANS(ADD)
#undef ADD
  j->all.rmse += n * scores->rmse * scores->rmse;
  j->all.n += part->n;
  for (size_t i = 0; i < part->n; i++) {
    for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
      if (to[k] != NULL) {
        to[k][first + i] = from[k][i];
      }
    }
    if ((first + i) % j->step == 0) {
      j->nlp[j->kept] = j->own.nlp[i];
      j->mean[j->kept] = j->own.mean[i];
      j->y[j->kept++] = part->y[i];
    }
  }
}

static oatgp_status conclude(oatgp_context *ctx, joining *j, oatgp_scores *out) {
  const double n = (double)j->all.n;
  *out = j->all;
#define DIVIDE(name) out->name /= n;
  MEANS(DIVIDE)
#undef DIVIDE
  out->rmse = sqrt(out->rmse / n);
  out->srmse = n > 1 && j->squares > 0 ? out->rmse / sqrt(j->squares / (n - 1)) : NAN;
  out->auc = NAN;
  if (!isnan(out->brier)) {
    oat_scored *order = oat_take(&j->memory, j->kept, sizeof *order);
    PASS_ON(j->memory.status);
    out->auc = oat_auc(j->kept, j->y, j->mean, order);
  }
  out->mnlp = oat_median(j->kept, j->nlp);
  if (j->step > 1) {
    oat_say(ctx, OATGP_NOTE,
            "the median of -log p(y)%s of one row in %zu, %zu in all; the other scores are of all rows",
            isnan(out->auc) ? " is" : " and the AUC are", j->step, j->kept);
  }
  return OATGP_OK;
}

oatgp_status oat_parts_score(oatgp_context *ctx, const oatgp_data *data, oat_score_part *score, void *self,
                             const oatgp_held_out_sd *rows, oatgp_scores *out) {
  joining j = {.memory = {.ctx = ctx}, .data = data, .rows = rows, .step = (data->n + KEPT - 1) / KEPT};
  oatgp_data *part = NULL;
  oatgp_scores scores, all;
  oatgp_status status = OATGP_OK;
  double *const room = oat_take_doubles(&j.memory, PART, 4), *const kept =
                                                                 oat_take_doubles(&j.memory, data->n / j.step + 1, 3);
  TRY(j.memory.status);
  j.own = (oatgp_held_out_sd){room, room + PART, room + 2 * PART, room + 3 * PART};
  j.nlp = kept;
  j.y = kept + data->n / j.step + 1;
  j.mean = j.y + data->n / j.step + 1;
  for (size_t first = 0; first < data->n; first += PART) {
    const oat_span span = {first, data->n - first < PART ? data->n - first : PART};
    TRY(oat_data_copy_rows(ctx, data, span, &part));
    TRY(score(self, part, &j.own, &scores));
    add_part(&j, part, first, &scores);
    oat_tell_progress(ctx, "scoring", first + span.count, data->n);
    oatgp_data_free(part);
    part = NULL;
  }
  TRY(conclude(ctx, &j, &all));
  if (out != NULL) {
    *out = all;
  }
done:
  oatgp_data_free(part);
  oat_scratch_free(&j.memory);
  return status;
}
