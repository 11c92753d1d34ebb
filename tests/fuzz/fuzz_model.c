/* Model files: an accepted model predicts some rows in every way, draws functions, adds, removes and leaves out rows,
 * and is saved to the same bytes again. */
#include "fuzz.h"

static void save_twice(oatgp_context *ctx, const oatgp_model *model) {
  unsigned char *first = NULL, *second = NULL;
  size_t size = 0, again = 0;
  oatgp_model *loaded = NULL;
  const oatgp_status status = oatgp_model_to_bytes(ctx, model, &first, &size);
  fuzz_check(ctx, status);
  if (status != OATGP_OK || oatgp_model_from_bytes(ctx, first, size, &loaded) != OATGP_OK ||
      oatgp_model_to_bytes(ctx, loaded, &second, &again) != OATGP_OK || size != again ||
      memcmp(first, second, size) != 0) {
    fprintf(stderr, "a model that was loaded cannot be saved and loaded: %s\n", oatgp_last_error(ctx));
    abort();
  }
  oatgp_model_free(loaded);
  oatgp_bytes_free(first);
  oatgp_bytes_free(second);
}

enum { ROWS = 3, MOST_INPUTS = 6, MOST_KNOTS = 20 };

/* Rows of as many inputs as the model has, with a target that most likelihoods can have. */
static oatgp_data *make_rows(oatgp_context *ctx, const oatgp_model *model, size_t d) {
  double *x = calloc(ROWS * d, sizeof *x), y[ROWS] = {1, 0, 1};
  oatgp_data *rows = NULL;
  if (x == NULL) {
    abort();
  }
  for (size_t i = 0; i < ROWS * d; i++) {
    x[i] = oatgp_model_level_count(model, i % d) > 0 ? 0 : (double)i - 1.5;
  }
  fuzz_check(ctx, oatgp_data_create(ctx, ROWS, d, x, y, &rows));
  free(x);
  return rows;
}

static void predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *rows, size_t d) {
  double out[6][ROWS], joint[ROWS * ROWS], gradient[2][ROWS * MOST_INPUTS];
  oatgp_scores scores;
  fuzz_check(ctx, oatgp_predict(ctx, model, rows, &(oatgp_prediction){out[0], out[1], out[2]}));
  fuzz_check(ctx, oatgp_predict_mean(ctx, model, rows, out[0]));
  fuzz_check(
      ctx,
      oatgp_predict_answers(
          ctx, model, rows,
          &(oatgp_answers){
              .mean = out[0], .sd = out[1], .lower = out[2], .upper = out[3], .latent_mean = out[4], .interval = 0.9}));
  fuzz_check(ctx, oatgp_predict_covariance(ctx, model, rows, joint));
  fuzz_check(ctx, oatgp_predict_samples(ctx, model, rows, 2, 1, joint));
  fuzz_check(ctx, oatgp_predict_answer_samples(ctx, model, rows, 2, 1, joint));
  fuzz_check(ctx, oatgp_score(ctx, model, rows, NULL, &scores));
  fuzz_check(ctx, oatgp_predict_given(ctx, model, rows, rows, &(oatgp_prediction_sd){.mean = out[0]}));
  fuzz_check(ctx, oatgp_loo(ctx, model, rows, &(oatgp_held_out){out[0], out[1], out[2], out[3]}, &scores));
  if (d <= MOST_INPUTS) {
    fuzz_check(ctx,
               oatgp_predict_gradient(ctx, model, rows,
                                      &(oatgp_prediction_gradient){.d_mean = gradient[0], .d_sd_latent = gradient[1]}));
  }
}

/* Functions of the posterior, and results based on them. */
static void draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *rows) {
  double values[2 * ROWS], index[MOST_INPUTS];
  oatgp_function *function = NULL;
  const oatgp_status status = oatgp_function_create(ctx, model, 2, 1, &function);
  fuzz_check(ctx, status);
  if (status == OATGP_OK) {
    fuzz_check(ctx, oatgp_function_evaluate(ctx, function, rows, values, NULL));
  }
  oatgp_function_free(function);
  fuzz_check(ctx, oatgp_sensitivity(ctx, model, &(oatgp_indices_of){.draws = 2, .interval = 0.9},
                                    &(oatgp_indices){.first = index}));
}

/* More rows, and fewer: the changed model can be saved, too. */
static void change(oatgp_context *ctx, oatgp_model *model, const oatgp_data *rows) {
  const size_t first = 0;
  const oatgp_status updated = oatgp_update(ctx, model, rows), removed = oatgp_model_remove_rows(ctx, model, 1, &first);
  fuzz_check(ctx, removed);
  if (updated == OATGP_OK || removed == OATGP_OK) {
    save_twice(ctx, model);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size + 1);
  oatgp_context *ctx = oatgp_context_create();
  oatgp_model *model = NULL;
  oatgp_model_info info;
  if (bytes == NULL || ctx == NULL) {
    abort();
  }
  memcpy(bytes, data, size);
  fuzz_seal(bytes, size);
  const oatgp_status status = oatgp_model_from_bytes(ctx, bytes, size, &model);
  fuzz_check(ctx, status);
  if (status == OATGP_OK) {
    oatgp_model_get_info(model, &info);
    save_twice(ctx, model);
    oatgp_data *rows = make_rows(ctx, model, info.d);
    if (rows != NULL) {
      predict(ctx, model, rows, info.d);
      if (size % 8 == 0 && info.d <= MOST_INPUTS && info.knots <= MOST_KNOTS) { /* which takes a while */
        draw(ctx, model, rows);
      }
      change(ctx, model, rows);
    }
    oatgp_data_free(rows);
  }
  oatgp_model_free(model);
  oatgp_context_free(ctx);
  free(bytes);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return fuzz_mutate_tensors(data, size, most, 0, seed);
}
