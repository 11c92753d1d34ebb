/* Public functions that read the data for a model, all at once or in blocks of rows. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tables/reader.h"
#include "model/model.h"
#include "util/memory.h"

struct oatgp_stream {
  oat_reader reader;
  size_t rows; /* passed to the caller so far */
};

/* The model's columns in the file that it was fitted to; NULL if it was not fitted to a file. */
static oatgp_status copy_positions(oatgp_context *ctx, const oatgp_model *model, size_t **out) {
  PASS_ON(model->positions != NULL ? oat_new(ctx, model->d, sizeof **out, out) : OATGP_OK);
  for (size_t j = 0; *out != NULL && j < model->d; j++) {
    (*out)[j] = (size_t)model->positions[j];
  }
  return OATGP_OK;
}

/* A column of the training file by its number there, from 1; 0 if the model does not know it. */
static size_t place_of(const oatgp_model *model, size_t number) {
  return isnan(model->number[number]) ? 0 : (size_t)model->number[number];
}

/* Models of earlier versions do not have the place of the target. It is known where it was the only column besides the
 * inputs: all places add up to (d + 1) (d + 2) / 2. */
static size_t target_place(const oatgp_model *model, const size_t *positions) {
  size_t place = place_of(model, OAT_NUMBER_TARGET_COLUMN);
  if (place == 0 && positions != NULL && model->number[OAT_NUMBER_COLUMNS] == (double)(model->d + 1)) {
    place = (model->d + 1) * (model->d + 2) / 2;
    for (size_t j = 0; j < model->d; j++) {
      place -= positions[j];
    }
  }
  return place;
}

static oat_columns columns_of(const oatgp_model *model, const oatgp_settings *settings, int need_target,
                              const size_t *positions) {
  const bool typed = *settings->target != '\0';
  return (oat_columns){
      .d = model->d,
      .names = model->names,
      .positions = positions,
      .levels = model->levels,
      .target_levels = &model->target_levels,
      .answers = model->likelihood != NULL,
      .columns = (size_t)model->number[OAT_NUMBER_COLUMNS],
      .header = model->number[OAT_NUMBER_HEADER] != 0,
      .target = typed ? settings->target : model->text[OAT_TEXT_TARGET],
      .need_target = need_target,
      .weight_name = model->text[OAT_TEXT_WEIGHTS],
      .noise_name = model->text[OAT_TEXT_NOISE],
      .trials_name = model->text[OAT_TEXT_TRIALS],
      .exposure_name = model->text[OAT_TEXT_EXPOSURE],
      .target_position = typed ? 0 : target_place(model, positions),
      .weight_position = place_of(model, OAT_NUMBER_WEIGHTS_COLUMN),
      .noise_position = place_of(model, OAT_NUMBER_NOISE_COLUMN),
      .trials_position = place_of(model, OAT_NUMBER_TRIALS_COLUMN),
      .exposure_position = place_of(model, OAT_NUMBER_EXPOSURE_COLUMN),
  };
}

oatgp_status oatgp_stream_open(oatgp_context *ctx, const char *path, const oatgp_model *model,
                               const oatgp_settings *settings, int need_target, oatgp_stream **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_stream *stream = NULL;
  size_t *positions = NULL;
  oatgp_status status = OATGP_OK;
  REFUSE_IF(path == NULL || model == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "path, model, settings and the output pointer must not be NULL");
  TRY(oatgp_settings_check(ctx, settings));
  TRY(copy_positions(ctx, model, &positions));
  TRY(oat_new(ctx, 1, sizeof *stream, &stream));
  const oat_columns wanted = columns_of(model, settings, need_target, positions);
  TRY(oat_reader_open(ctx, path, &wanted, settings, &stream->reader));
  *out = stream;
  stream = NULL;
done:
  free(positions);
  oatgp_stream_free(stream);
  return status;
}

/* All columns of data, for oatgp_data_look. */
static oat_columns columns_like(const oatgp_data *like) {
  return (oat_columns){
      .d = like->d,
      .names = like->names,
      .positions = like->positions,
      .levels = like->levels,
      .target_levels = &like->target_levels,
      .columns = like->columns,
      .header = like->header,
      .target = like->target,
      .need_target = like->target != NULL,
      .weight_name = like->weight_name,
      .noise_name = like->noise_name,
      .trials_name = like->trials_name,
      .exposure_name = like->exposure_name,
      .target_position = like->target_position,
      .weight_position = like->weight_position,
      .noise_position = like->noise_position,
      .trials_position = like->trials_position,
      .exposure_position = like->exposure_position,
  };
}

oatgp_status oatgp_stream_open_like(oatgp_context *ctx, const char *path, const oatgp_data *like,
                                    const oatgp_settings *settings, oatgp_stream **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_stream *stream = NULL;
  oatgp_status status = OATGP_OK;
  REFUSE_IF(path == NULL || like == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "path, reference data, settings and the output pointer must not be NULL");
  TRY(oatgp_settings_check(ctx, settings));
  TRY(oat_new(ctx, 1, sizeof *stream, &stream));
  const oat_columns wanted = columns_like(like);
  TRY(oat_reader_open(ctx, path, &wanted, settings, &stream->reader));
  *out = stream;
  stream = NULL;
done:
  oatgp_stream_free(stream);
  return status;
}

oatgp_status oatgp_stream_next(oatgp_context *ctx, oatgp_stream *stream, size_t rows, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(stream == NULL || out == NULL || rows == 0, ctx, OATGP_ARGUMENT,
            "the stream and the output pointer must not be NULL, and at least one row is needed");
  oatgp_data *data = NULL;
  PASS_ON(oat_reader_next(ctx, &stream->reader, rows, &data));
  if (data != NULL) {
    data->before = stream->rows;
    stream->rows += data->n + data->dropped;
  }
  *out = data;
  return OATGP_OK;
}

double oatgp_stream_share(const oatgp_stream *stream) {
  return stream != NULL ? oat_reader_share(&stream->reader) : NAN;
}

void oatgp_stream_free(oatgp_stream *stream) {
  if (stream != NULL) {
    oat_reader_close(&stream->reader);
    free(stream);
  }
}

oatgp_status oatgp_data_read_for(oatgp_context *ctx, const char *path, const oatgp_model *model,
                                 const oatgp_settings *settings, int need_target, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  oatgp_stream *stream = NULL;
  oatgp_status status;
  REFUSE_IF(out == NULL, ctx, OATGP_ARGUMENT, "the output pointer must not be NULL");
  TRY(oatgp_stream_open(ctx, path, model, settings, need_target, &stream));
  TRY(oatgp_stream_next(ctx, stream, SIZE_MAX, out));
done:
  oatgp_stream_free(stream);
  return status;
}
