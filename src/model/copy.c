/* Copies of a model: an identical one in memory, or the full GP with room for another number of rows. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

static oatgp_status copy_texts(oatgp_context *ctx, const oatgp_model *from, oatgp_model *to) {
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    PASS_ON(oat_copy_text(ctx, from->text[i], &to->text[i]));
  }
  for (size_t j = 0; j < from->d; j++) {
    PASS_ON(oat_copy_text(ctx, from->names[j], &to->names[j]));
  }
  PASS_ON(oat_levels_copy_list(ctx, from->levels, from->d, &to->levels));
  return oat_levels_copy(ctx, &from->target_levels, &to->target_levels);
}

/* A record of `count` rows of numbers; the copy of an empty one is empty, so that a copied model is saved to the same
 * bytes. */
static oatgp_status copy_record(oatgp_context *ctx, const double *from, size_t count, size_t width, double **to) {
  if (count > 0) {
    PASS_ON(oat_new_matrix(ctx, count, width, to));
    memcpy(*to, from, count * width * sizeof **to);
  }
  return OATGP_OK;
}

static oatgp_status copy_records(oatgp_context *ctx, const oatgp_model *from, oatgp_model *to) {
  PASS_ON(copy_record(ctx, from->history, from->history_count, 3, &to->history));
  PASS_ON(copy_record(ctx, from->selection, from->selection_count, OAT_SELECTION_WIDTH + from->d, &to->selection));
  to->history_count = from->history_count;
  to->selection_count = from->selection_count;
  if (from->positions != NULL) {
    to->positions = oat_take_doubles(&to->memory, from->d, 1);
    PASS_ON(to->memory.status);
    memcpy(to->positions, from->positions, from->d * sizeof *to->positions);
  }
  return OATGP_OK;
}

static oatgp_status copy_kernel(oatgp_context *ctx, const oatgp_model *from, oatgp_model *to) {
  const oat_names names = {from->d, (const char *const *)from->names, from->scaling.category};
  return oat_kernel_copy(ctx, from->kernel, &names, &to->kernel);
}

oatgp_status oat_model_like(oatgp_context *ctx, const oatgp_model *from, size_t rows, oatgp_model **out) {
  oatgp_model *to = NULL;
  oatgp_status status;
  TRY(oat_new(ctx, 1, sizeof *to, &to));
  to->approx = from->approx;
  to->likelihood = from->likelihood;
  to->d = from->d;
  to->k = rows;
  to->p = from->p;
  memcpy(to->number, from->number, sizeof to->number);
  TRY(copy_kernel(ctx, from, to));
  TRY(oat_model_allocate(ctx, to));
  TRY(copy_texts(ctx, from, to));
  TRY(copy_records(ctx, from, to));
  oat_model_copy_scaling(&from->scaling, &to->scaling);
  memcpy(to->theta, from->theta, oat_theta_count(from->kernel, from->d) * sizeof *to->theta);
  memcpy(to->coefficient, from->coefficient, from->p * sizeof *to->coefficient);
  *out = to;
  to = NULL;
done:
  oatgp_model_free(to);
  return status;
}

/* The full GP with its factor, which a file has not. */
static oatgp_status copy_full(oatgp_context *ctx, const oatgp_model *from, oatgp_model **out) {
  const size_t n = from->k, bytes = n * sizeof(double);
  PASS_ON(oat_model_like(ctx, from, n, out));
  oatgp_model *to = *out;
  memcpy(to->z, from->z, from->d * bytes);
  memcpy(to->r, from->r, bytes);
  memcpy(to->noise, from->noise, bytes);
  memcpy(to->c, from->c, bytes);
  memcpy(to->l, from->l, n * bytes);
  oat_model_translate(to);
  return OATGP_OK;
}

oatgp_status oat_model_copy(oatgp_context *ctx, const oatgp_model *from, oatgp_model **out) {
  oat_bytes file = {0};
  oatgp_status status;
  if (!from->approx->sparse && from->draw_count == 0) {
    return copy_full(ctx, from, out);
  }
  TRY(oat_model_pack(ctx, from, &file));
  TRY(oat_model_unpack(ctx, file.size, file.bytes, out));
done:
  free(file.bytes);
  return status;
}
