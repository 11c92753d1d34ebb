/* The model file: the model's strings and numbers as named strings and tensors (tensors/tensors.h). Matrices are
 * row-major there.
 *
 * The same tables serve for writing and reading, so that a part cannot be in one and not in the other. */
#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "util/machine.h"
#include "util/utf8.h"

#define FORMAT "oatgp"
/* Version 0.1.0 of oatgp reads version 1. It would silently ignore what it does not know, and predict differently. */
#define PLAIN_VERSION "1"
#define FORMAT_VERSION "2" /* has neighbours, a likelihood or draws of the parameters */

#define NAME_OF(NAME, name) name,
static const char *const text_keys[OAT_TEXTS] = {OAT_MODEL_TEXTS(NAME_OF)};
static const char *const number_names[OAT_NUMBERS] = {OAT_MODEL_NUMBERS(NAME_OF)};

/* One array of the model: in the file rows x columns (columns 0: a vector), in the model column-major. */
typedef struct part {
  const char *name;
  double *values; /* NULL before it is allocated */
  size_t rows, columns;
  bool present; /* whether this model has it */
} part;

enum { MAX_PARTS = 26 };

/* The optional parts of a model. When writing, those that the model has; when reading, those that the file has and that
 * are not empty. */
static bool has_part(const oat_tensors *file, const char *name, const double *values) {
  const oat_tensor *stored = file != NULL ? oat_tensors_find(file, name) : NULL;
  return file != NULL ? stored != NULL && stored->size > 0 : values != NULL;
}

/* `file` is the file that is read; NULL when writing. */
static size_t list_parts(const oatgp_model *m, const oat_tensors *file, part *parts) {
  const size_t d = m->d, k = m->k, theta = oat_theta_count(m->kernel, d);
  const bool sparse = m->approx->sparse, keeps = oat_model_keeps(m), drawn = m->draw_count > 0;
  const oat_scaling *s = &m->scaling;
  const part all[] = {
      {"theta", m->theta, theta, 0, true},
      {"coefficients", m->coefficient, m->p, 0, true},
      {"input_centre", s->centre, d, 0, true},
      {"input_scale", s->scale, d, 0, true},
      {"input_middle", s->middle, d, 0, true},
      {"input_spread", s->spread, d, 0, true},
      {"input_lowest", s->lowest, d, 0, true},
      {"input_highest", s->highest, d, 0, true},
      {sparse ? "knots" : "rows", m->z, k, d, true},
      {"factor_kuu", m->l, k, k, sparse},
      {"factor_b", m->lb, k, k, sparse},
      {"c", m->c, k, 0, sparse},
      {"sums", m->sums, oat_sums_count(k, m->p), 0, sparse},
      {"residuals", m->r, k, 0, !sparse},
      {"noise", m->noise, k, 0, !sparse},
      {"rows", m->kept.x, m->kept.n, d, keeps && sparse}, /* the full GP always has them */
      {"targets", m->kept.r, m->kept.n, 0, keeps},
      {"noise_scale", m->kept.noise_scale, m->kept.n, 0, keeps},
      {"noise_add", m->kept.noise_add, m->kept.n, 0, keeps},
      {"draws", m->draws, m->draw_count, theta, drawn},
      {"draw_weights", m->draw_weights, m->draw_count, 0, drawn},
      {"positions", m->positions, d, 0, has_part(file, "positions", m->positions)},
      {"knot_order", m->order, k, 0, has_part(file, "knot_order", m->order)},
      {"history", m->history, 3 * m->history_count, 0, has_part(file, "history", m->history)},
      {"selection", m->selection, (OAT_SELECTION_WIDTH + d) * m->selection_count, 0,
       has_part(file, "selection", m->selection)},
  };
  memcpy(parts, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* to (columns x rows, column-major) <- from (rows x columns, column-major) */
static void transpose(const double *from, size_t rows, size_t columns, double *to) {
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < columns; j++) {
      to[j + i * columns] = from[i + j * rows];
    }
  }
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static oatgp_status add_part(oatgp_context *ctx, oat_tensors *file, const part *p) {
  double *copy = NULL;
  oatgp_status status = OATGP_OK;
  if (!p->present || p->columns == 0) {
    return !p->present ? OATGP_OK : oat_tensors_add(ctx, file, p->name, p->rows, 0, p->values);
  }
  TRY(oat_new_matrix(ctx, p->rows, p->columns, &copy));
  transpose(p->values, p->rows, p->columns, copy);
  TRY(oat_tensors_add(ctx, file, p->name, p->rows, p->columns, copy));
done:
  free(copy);
  return status;
}

static oatgp_status add_names(oatgp_context *ctx, oat_tensors *file, const oatgp_model *model) {
  cJSON *array = cJSON_CreateArray();
  bool complete = array != NULL;
  for (size_t j = 0; complete && j < model->d; j++) {
    cJSON *name = cJSON_CreateString(model->names[j]);
    complete = name != NULL && cJSON_AddItemToArray(array, name);
  }
  char *text = complete ? cJSON_PrintUnformatted(array) : NULL;
  cJSON_Delete(array);
  const oatgp_status status = text != NULL ? oat_tensors_set(ctx, file, "inputs", text) : oat_no_memory(ctx, model->d);
  cJSON_free(text);
  return status;
}

/* [null,["a","b"]]: the levels of each input, null where it holds numbers. Models without a category have no such
 * text. */
static cJSON *levels_array(const oat_levels *levels) {
  cJSON *array = levels->count > 0 ? cJSON_CreateArray() : cJSON_CreateNull();
  bool complete = array != NULL;
  for (size_t i = 0; complete && i < levels->count; i++) {
    cJSON *name = cJSON_CreateString(levels->name[i]);
    complete = name != NULL && cJSON_AddItemToArray(array, name);
  }
  if (!complete) {
    cJSON_Delete(array);
  }
  return complete ? array : NULL;
}

static oatgp_status add_levels(oatgp_context *ctx, oat_tensors *file, const oatgp_model *model) {
  cJSON *array = model->levels != NULL ? cJSON_CreateArray() : NULL;
  bool complete = array != NULL;
  if (model->levels == NULL) {
    return OATGP_OK;
  }
  for (size_t j = 0; complete && j < model->d; j++) {
    cJSON *levels = levels_array(&model->levels[j]);
    complete = levels != NULL && cJSON_AddItemToArray(array, levels);
  }
  char *text = complete ? cJSON_PrintUnformatted(array) : NULL;
  cJSON_Delete(array);
  const oatgp_status status = text != NULL ? oat_tensors_set(ctx, file, "levels", text) : oat_no_memory(ctx, model->d);
  cJSON_free(text);
  return status;
}

/* ["no","yes"]: the classes of the target. Models whose target holds numbers have no such text. */
static oatgp_status add_target_levels(oatgp_context *ctx, oat_tensors *file, const oatgp_model *model) {
  if (model->target_levels.count == 0) {
    return OATGP_OK;
  }
  cJSON *array = levels_array(&model->target_levels);
  char *text = array != NULL ? cJSON_PrintUnformatted(array) : NULL;
  cJSON_Delete(array);
  const oatgp_status status =
      text != NULL ? oat_tensors_set(ctx, file, "target_levels", text) : oat_no_memory(ctx, model->target_levels.count);
  cJSON_free(text);
  return status;
}

static const char *version_of(const oatgp_model *model) {
  return model->neighbours > 0 || model->likelihood != NULL || model->draw_count > 0 ? FORMAT_VERSION : PLAIN_VERSION;
}

static oatgp_status fill_file(oatgp_context *ctx, const oatgp_model *model, oat_tensors *file) {
  part parts[MAX_PARTS];
  const size_t count = list_parts(model, NULL, parts);
  oatgp_status status = OATGP_OK;
  TRY(oat_tensors_set(ctx, file, "format", FORMAT));
  TRY(oat_tensors_set(ctx, file, "format_version", version_of(model)));
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    TRY(oat_tensors_set(ctx, file, text_keys[i], model->text[i]));
  }
  TRY(add_names(ctx, file, model));
  TRY(add_levels(ctx, file, model));
  TRY(add_target_levels(ctx, file, model));
  for (size_t i = 0; i < OAT_NUMBERS; i++) {
    if (i < OAT_NUMBER_OPTIONAL || isfinite(model->number[i])) {
      TRY(oat_tensors_add(ctx, file, number_names[i], 1, 0, &model->number[i]));
    }
  }
  for (size_t i = 0; i < count; i++) {
    TRY(add_part(ctx, file, &parts[i]));
  }
done:
  return status;
}

/* Into a file, or into memory where path is NULL. */
static oatgp_status write_model(oatgp_context *ctx, const oatgp_model *model, const char *path, oat_bytes *out) {
  oat_tensors file = {0};
  oatgp_status status = fill_file(ctx, model, &file);
  if (status == OATGP_OK) {
    status = path != NULL ? oat_tensors_write(ctx, &file, path) : oat_tensors_pack(ctx, &file, out);
  }
  oat_tensors_clear(&file);
  return status;
}

oatgp_status oat_model_write(oatgp_context *ctx, const oatgp_model *model, const char *path) {
  return write_model(ctx, model, path, NULL);
}

oatgp_status oat_model_pack(oatgp_context *ctx, const oatgp_model *model, oat_bytes *out) {
  return write_model(ctx, model, NULL, out);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static oatgp_status wrong(oatgp_context *ctx, const oat_tensors *file, const char *what) {
  return oat_fail(ctx, OATGP_FORMAT, "%s is damaged: %s", file->path, what);
}

static oatgp_status check_format(oatgp_context *ctx, const oat_tensors *file) {
  const char *format = oat_tensors_text(file, "format"), *version = oat_tensors_text(file, "format_version");
  if (format == NULL || strcmp(format, FORMAT) != 0) {
    return oat_fail(ctx, OATGP_FORMAT, "%s is not an oatgp model file", file->path);
  }
  if (version == NULL || (strcmp(version, FORMAT_VERSION) != 0 && strcmp(version, PLAIN_VERSION) != 0)) {
    return oat_fail(ctx, OATGP_FORMAT,
                    "%s has format version %s, and this oatgp reads versions " PLAIN_VERSION " and " FORMAT_VERSION
                    ": it was written by another version of oatgp",
                    file->path, version != NULL ? version : "(none)");
  }
  return OATGP_OK;
}

static oatgp_status unknown(oatgp_context *ctx, const oat_tensors *file, const oatgp_model *model) {
  const char *approx = model->text[OAT_TEXT_APPROX], *kernel = model->text[OAT_TEXT_KERNEL];
  return oat_fail(ctx, OATGP_FORMAT, "%s has the model '%s' with kernel '%s', which this oatgp does not know",
                  file->path, approx != NULL ? approx : "", kernel != NULL ? kernel : "");
}

static oatgp_status read_texts(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    TRY(oat_copy_text_utf8(ctx, oat_tensors_text(file, text_keys[i]), &model->text[i]));
  }
  const char *approx = model->text[OAT_TEXT_APPROX], *kernel = model->text[OAT_TEXT_KERNEL];
  model->approx = approx != NULL ? oat_approx_find(approx) : NULL;
  const char *likelihood = model->text[OAT_TEXT_LIKELIHOOD];
  model->likelihood = likelihood != NULL ? oat_likelihood_find(likelihood) : NULL;
  if (model->approx == NULL || kernel == NULL) {
    status = unknown(ctx, file, model);
  } else if (likelihood != NULL && *likelihood != '\0' &&
             (model->likelihood == NULL || (model->approx->sparse && model->approx->penalty != OAT_PENALISE_TRACE))) {
    status =
        oat_fail(ctx, OATGP_FORMAT, "%s has the likelihood '%s' with the model '%s', which this oatgp does not know",
                 file->path, likelihood, approx);
  }
done:
  return status;
}

/* Which inputs have levels; read_levels checks the levels themselves. */
static void find_categories(const oat_tensors *file, size_t count, bool *category) {
  const char *text = oat_tensors_text(file, "levels");
  cJSON *all = text != NULL ? cJSON_Parse(text) : NULL;
  const cJSON *levels = all != NULL ? all->child : NULL;
  for (size_t j = 0; j < count && levels != NULL; j++, levels = levels->next) {
    category[j] = cJSON_IsArray(levels);
  }
  cJSON_Delete(all);
}

/* The further parameters of the likelihood. */
static oatgp_status add_answers(oatgp_context *ctx, size_t d, oatgp_model *model) {
  oat_parameter is[OAT_OWN_MOST];
  double start[OAT_OWN_MOST];
  const oat_further further = oat_answer_parameters(model->likelihood, oat_model_answer_levels(model),
                                                    oat_covariance_count(model->kernel, d), is, start);
  const oat_kernel *made = NULL;
  PASS_ON(oat_kernel_with(ctx, model->kernel, &further, &made));
  model->kernel = made;
  return OATGP_OK;
}

/* The kernel, which may name inputs. It is written in one way only. */
static oatgp_status read_kernel(oatgp_context *ctx, const oat_tensors *file, const cJSON *names, oatgp_model *model) {
  const char *text = model->text[OAT_TEXT_KERNEL], **name = NULL;
  bool *category = NULL;
  size_t count = 0;
  oatgp_status status;
  TRY(oat_new(ctx, (size_t)cJSON_GetArraySize(names), sizeof *name, &name));
  for (const cJSON *item = names->child; item != NULL; item = item->next) {
    TRY(cJSON_IsString(item) ? OATGP_OK : wrong(ctx, file, "its input names are not strings"));
    name[count++] = item->valuestring;
  }
  TRY(oat_new(ctx, count, sizeof *category, &category));
  find_categories(file, count, category);
  status = oat_kernel_read(ctx, text, &(oat_names){count, name, category}, &model->kernel);
  TRY(status == OATGP_ARGUMENT || (status == OATGP_OK && strcmp(model->kernel->name, text) != 0)
          ? unknown(ctx, file, model)
          : status);
  TRY(model->likelihood != NULL ? add_answers(ctx, count, model) : OATGP_OK);
done:
  free(category);
  free(name);
  return status;
}

/* Whole numbers up to 2^53, so that they can be given to the user as such. */
static bool is_count(double number) { return number >= 0 && number <= OAT_MOST_ROWS && number == floor(number); }

static bool all_counts(const double *number) {
  static const size_t counts[] = {OAT_NUMBER_N,        OAT_NUMBER_ITERATIONS, OAT_NUMBER_EVALUATIONS,
                                  OAT_NUMBER_REJECTED, OAT_NUMBER_RESTARTS,   OAT_NUMBER_SEED,
                                  OAT_NUMBER_COLUMNS};
  bool good = true;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    good = good && is_count(number[counts[i]]);
  }
  return good;
}

/* The columns of the target and of what else a row has, where they are known. */
static bool columns_are_there(const double *number) {
  bool good = true;
  for (size_t i = OAT_NUMBER_TARGET_COLUMN; i <= OAT_NUMBER_EXPOSURE_COLUMN; i++) {
    const double place = number[i];
    good = good && (isnan(place) || (place >= 1 && place <= number[OAT_NUMBER_COLUMNS] && place == floor(place)));
  }
  return good;
}

/* Neighbours and those of predictions: both or none, and only where the model may have them. */
static bool neighbours_are_right(const oatgp_model *model) {
  const double fitted = model->number[OAT_NUMBER_NEIGHBOURS], near = model->number[OAT_NUMBER_NEAR];
  return isnan(fitted) ? isnan(near)
                       : model->approx->neighbours && is_count(fitted) && is_count(near) && fitted >= 1 && near >= 1;
}

/* Levels are those of an ordinal answer. */
static bool levels_are_right(const oatgp_model *model) {
  const double levels = model->number[OAT_NUMBER_ANSWER_LEVELS];
  const bool wanted = model->likelihood != NULL && model->likelihood->has_levels;
  return wanted ? is_count(levels) && levels >= 2 && levels <= OAT_LEVELS_MOST : isnan(levels);
}

static bool unit_is_right(const oatgp_model *model) {
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  return oat_likelihood_is_linked(model->likelihood) ? unit == 1 : unit > 0;
}

static oatgp_status read_numbers(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  for (size_t i = 0; i < OAT_NUMBERS; i++) {
    const double *value;
    if (i >= OAT_NUMBER_OPTIONAL && oat_tensors_find(file, number_names[i]) == NULL) {
      model->number[i] = NAN;
      continue;
    }
    const oatgp_status status = oat_tensors_get(ctx, file, number_names[i], 1, 0, &value);
    if (status != OATGP_OK) {
      return status;
    }
    if (!isfinite(*value)) {
      return wrong(ctx, file, number_names[i]);
    }
    model->number[i] = *value;
  }
  const double *number = model->number;
  const double alpha = number[OAT_NUMBER_ALPHA];
  const bool known = model->approx->power ? alpha > 0 && alpha <= 1 : alpha == model->approx->alpha;
  const bool sane = known && neighbours_are_right(model) && levels_are_right(model) &&
                    number[OAT_NUMBER_JITTER_ABSOLUTE] >= 0 && all_counts(number) && columns_are_there(number) &&
                    number[OAT_NUMBER_N] >= 1 && unit_is_right(model) && number[OAT_NUMBER_JITTER] >= 0 &&
                    number[OAT_NUMBER_STOP] >= 0 && number[OAT_NUMBER_STOP] < OAT_STOP_COUNT &&
                    number[OAT_NUMBER_STOP] == floor(number[OAT_NUMBER_STOP]);
  return sane ? OATGP_OK : wrong(ctx, file, "a number is out of range");
}

/* The matrix of a full GP is made anew. */
static oatgp_status check_full(oatgp_context *ctx, const oat_tensors *file, size_t n) {
  const double bytes = 8 * (double)n * (double)n, most = (double)oat_machine_available();
  if (n <= OAT_LARGEST_SIDE && bytes <= most) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_MEMORY,
                  "%s is the full GP of %zu rows, whose matrix needs %.2f GiB; this machine has only %.2f GiB free",
                  file->path, n, bytes / 1073741824, most / 1073741824);
}

/* Draws of the parameters, if there are any. */
static oatgp_status count_draws(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  const oat_tensor *draws = oat_tensors_find(file, "draws");
  model->draw_count = draws != NULL && draws->rank == 2 ? draws->shape[0] : 0;
  const bool right = model->draw_count > 0 && model->draw_count <= OAT_MOST_DRAWS && model->likelihood == NULL &&
                     isnan(model->number[OAT_NUMBER_NEIGHBOURS]);
  return draws == NULL || right ? OATGP_OK : wrong(ctx, file, "it cannot have these draws of its parameters");
}

/* d, k and p from the shapes; everything else must then agree with them. */
static oatgp_status read_sizes(oatgp_context *ctx, const oat_tensors *file, const cJSON *names, oatgp_model *model) {
  const oat_tensor *z = oat_tensors_find(file, model->approx->sparse ? "knots" : "rows"),
                   *p = oat_tensors_find(file, "coefficients");
  const oat_tensor *history = oat_tensors_find(file, "history"), *selection = oat_tensors_find(file, "selection");
  const size_t d = (size_t)cJSON_GetArraySize(names);
  if (d == 0 || z == NULL || z->rank != 2 || z->shape[1] != d || z->shape[0] == 0 || z->shape[0] > 100000 ||
      p == NULL || p->rank != 1) {
    return wrong(ctx, file, "the sizes of its parts do not agree");
  }
  model->d = d;
  model->k = z->shape[0];
  model->p = p->shape[0];
  PASS_ON(count_draws(ctx, file, model));
  oat_model_count_neighbours(model);
  model->history_count = history != NULL ? history->size / 3 : 0;
  model->selection_count = selection != NULL ? selection->size / (OAT_SELECTION_WIDTH + d) : 0;
  if ((model->p > 1 && model->p != 1 + d) ||
      (!model->approx->sparse && model->number[OAT_NUMBER_N] != (double)model->k)) {
    return wrong(ctx, file, "the sizes of its parts do not agree");
  }
  return OATGP_OK;
}

static oatgp_status read_names(oatgp_context *ctx, const cJSON *names, oatgp_model *model) {
  const cJSON *name = names->child; /* a linked list, so it is walked, not indexed */
  for (size_t j = 0; j < model->d; j++, name = name->next) {
    const oatgp_status status = oat_copy_text_utf8(ctx, name->valuestring, &model->names[j]);
    if (status != OATGP_OK) {
      return status;
    }
  }
  return OATGP_OK;
}

/* The levels of one column. They are what a category has: at least one, and no two the same. */
static oatgp_status read_column_levels(oatgp_context *ctx, const oat_tensors *file, const cJSON *names,
                                       oat_levels *levels) {
  const cJSON *name = NULL;
  size_t code = 0, count = 0;
  if (!cJSON_IsArray(names) || names->child == NULL) {
    return wrong(ctx, file, "the levels of a column are not a list");
  }
  cJSON_ArrayForEach(name, names) {
    if (!cJSON_IsString(name)) {
      return wrong(ctx, file, "its levels are not strings");
    }
    PASS_ON(oat_levels_take(ctx, levels, name->valuestring, strlen(name->valuestring), &code));
    if (code != count++) {
      return wrong(ctx, file, "it has a duplicate level or too many levels");
    }
  }
  return OATGP_OK;
}

static oatgp_status read_levels(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  const char *text = oat_tensors_text(file, "levels");
  cJSON *all = text != NULL ? cJSON_Parse(text) : NULL;
  oatgp_status status = OATGP_OK;
  if (text == NULL) {
    return OATGP_OK;
  }
  if (!cJSON_IsArray(all) || (size_t)cJSON_GetArraySize(all) != model->d) {
    TRY(wrong(ctx, file, "its levels do not match its inputs"));
  }
  TRY(oat_new(ctx, model->d, sizeof *model->levels, &model->levels));
  const cJSON *names = all->child;
  for (size_t j = 0; j < model->d; j++, names = names->next) {
    TRY(cJSON_IsNull(names) ? OATGP_OK : read_column_levels(ctx, file, names, &model->levels[j]));
    model->scaling.category[j] = model->levels[j].count > 0;
  }
done:
  cJSON_Delete(all);
  return status;
}

static oatgp_status read_target_levels(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  const char *text = oat_tensors_text(file, "target_levels");
  oatgp_status status = OATGP_OK;
  if (text == NULL) {
    return OATGP_OK;
  }
  cJSON *names = cJSON_Parse(text);
  TRY(read_column_levels(ctx, file, names, &model->target_levels));
  if (model->target_levels.count < 2 || model->target_levels.count > OAT_MOST_CLASSES) {
    TRY(wrong(ctx, file, "its target has too few or too many classes"));
  }
done:
  cJSON_Delete(names);
  return status;
}

/* Checks, before any memory is allocated, that the file has the part in this size and that all its numbers are
 * finite. */
static oatgp_status check_part(oatgp_context *ctx, const oat_tensors *file, const part *p) {
  const double *values;
  const oatgp_status status = oat_tensors_get(ctx, file, p->name, p->rows, p->columns, &values);
  if (status != OATGP_OK) {
    return status;
  }
  const size_t count = p->rows * (p->columns > 0 ? p->columns : 1);
  if (!oat_all_finite(count, values, -DBL_MAX)) {
    return oat_fail(ctx, OATGP_FORMAT, "%s is damaged: '%s' holds a number that is not finite", file->path, p->name);
  }
  return OATGP_OK;
}

static oatgp_status check_parts(oatgp_context *ctx, const oat_tensors *file, const oatgp_model *model) {
  part parts[MAX_PARTS];
  oatgp_status status = OATGP_OK;
  const size_t count = list_parts(model, file, parts);
  for (size_t i = 0; status == OATGP_OK && i < count; i++) {
    status = parts[i].present ? check_part(ctx, file, &parts[i]) : OATGP_OK;
  }
  return status;
}

/* Room for the optional parts. */
static oatgp_status allocate_optional(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  oatgp_status status;
  if (has_part(file, "positions", NULL)) {
    model->positions = oat_take_doubles(&model->memory, model->d, 1);
  }
  if (has_part(file, "knot_order", NULL)) {
    model->order = oat_take_doubles(&model->memory, model->k, 1);
  }
  TRY(model->memory.status);
  TRY(model->draw_count > 0 ? oat_model_allocate_draws(ctx, model, model->draw_count) : OATGP_OK);
  if (has_part(file, "history", NULL)) { /* a fit that was stopped at once has none */
    TRY(oat_new_matrix(ctx, model->history_count, 3, &model->history));
  }
  if (has_part(file, "selection", NULL)) {
    TRY(oat_new_matrix(ctx, model->selection_count, OAT_SELECTION_WIDTH + model->d, &model->selection));
  }
done:
  return status;
}

static oatgp_status read_parts(oatgp_context *ctx, const oat_tensors *file, oatgp_model *model) {
  part parts[MAX_PARTS];
  oatgp_status status = OATGP_OK;
  TRY(oat_model_allocate(ctx, model));
  TRY(allocate_optional(ctx, file, model));
  const size_t count = list_parts(model, file, parts);
  for (size_t i = 0; i < count; i++) {
    const part *p = &parts[i];
    if (p->present) {
      transpose(oat_tensors_find(file, p->name)->values, p->columns > 0 ? p->columns : 1, p->rows, p->values);
    }
  }
  if (!model->approx->sparse && oat_model_keeps(model)) {
    memcpy(model->kept.x, model->z, model->kept.n * model->d * sizeof *model->z);
  }
done:
  return status;
}

static bool all_positive(size_t n, const double *x, size_t stride) {
  for (size_t i = 0; i < n; i++) {
    if (!(x[i * stride] > 0)) {
      return false;
    }
  }
  return true;
}

static bool all_positions(const oatgp_model *model) {
  bool good = true;
  for (size_t j = 0; model->positions != NULL && j < model->d; j++) {
    good = good && is_count(model->positions[j]) && model->positions[j] >= 1 &&
           model->positions[j] <= model->number[OAT_NUMBER_COLUMNS];
  }
  return good;
}

/* Whether the places of the knots are 0 .. k - 1 in some order. */
static oatgp_status check_order(oatgp_context *ctx, const oat_tensors *file, const oatgp_model *model) {
  bool *seen = NULL, good = true;
  if (model->order == NULL) {
    return OATGP_OK;
  }
  const oatgp_status status = oat_new(ctx, model->k, sizeof *seen, &seen);
  for (size_t i = 0; status == OATGP_OK && good && i < model->k; i++) {
    const double place = model->order[i];
    good = place >= 0 && place < (double)model->k && place == floor(place) && !seen[(size_t)place];
    if (good) {
      seen[(size_t)place] = true;
    }
  }
  free(seen);
  return good ? status : wrong(ctx, file, "its knots are not a permutation");
}

/* Weights and noise variances of the rows that it keeps. */
static bool noise_is_right(const oat_kept_rows *kept) {
  bool good = all_positive(kept->n, kept->noise_scale, 1);
  for (size_t i = 0; i < kept->n; i++) {
    good = good && kept->noise_add[i] >= 0;
  }
  return good;
}

/* Draws are parameters, and their weights shares. */
static bool draws_are_right(const oatgp_model *model) {
  const size_t count = model->draw_count;
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += model->draw_weights[i];
  }
  return count == 0 || (all_positive(count * oat_theta_count(model->kernel, model->d), model->draws, 1) &&
                        all_positive(count, model->draw_weights, 1) && fabs(sum - 1) < 1e-9);
}

static oatgp_status check_values(oatgp_context *ctx, const oat_tensors *file, const oatgp_model *model) {
  if (!all_positions(model)) {
    return wrong(ctx, file, "an input refers to a column that its file does not have");
  }
  const bool sane =
      all_positive(oat_theta_count(model->kernel, model->d), model->theta, 1) &&
      all_positive(model->d, model->scaling.scale, 1) && all_positive(model->d, model->scaling.spread, 1) &&
      (!model->approx->sparse ||
       (all_positive(model->k, model->l, model->k + 1) && all_positive(model->k, model->lb, model->k + 1))) &&
      noise_is_right(&model->kept) && draws_are_right(model);
  return sane ? OATGP_OK : wrong(ctx, file, "a number that must be positive is not");
}

static oatgp_status read_model(oatgp_context *ctx, const oat_tensors *file, oatgp_model **out) {
  oatgp_model *model = NULL;
  cJSON *names = NULL;
  oatgp_status status = OATGP_OK;
  TRY(check_format(ctx, file));
  TRY(oat_new(ctx, 1, sizeof *model, &model));
  TRY(read_texts(ctx, file, model));
  TRY(read_numbers(ctx, file, model));
  names = oat_tensors_text(file, "inputs") != NULL ? cJSON_Parse(oat_tensors_text(file, "inputs")) : NULL;
  if (!cJSON_IsArray(names)) {
    TRY(wrong(ctx, file, "it has no list of inputs"));
  }
  TRY(read_kernel(ctx, file, names, model));
  TRY(read_sizes(ctx, file, names, model));
  TRY(check_parts(ctx, file, model));
  TRY(model->approx->sparse ? OATGP_OK : check_full(ctx, file, model->k));
  TRY(read_parts(ctx, file, model));
  TRY(read_names(ctx, names, model));
  TRY(read_levels(ctx, file, model));
  TRY(read_target_levels(ctx, file, model));
  TRY(check_values(ctx, file, model));
  TRY(check_order(ctx, file, model));
  TRY(oat_model_finish(ctx, model));
  *out = model;
  model = NULL;
done:
  oatgp_model_free(model);
  cJSON_Delete(names);
  return status;
}

/* Hands over the model if reading succeeded. */
static oatgp_status take_model(oatgp_context *ctx, oatgp_status status, oat_tensors *file, oatgp_model **out) {
  if (status == OATGP_OK) {
    status = read_model(ctx, file, out);
  }
  oat_tensors_clear(file);
  return status;
}

oatgp_status oat_model_read(oatgp_context *ctx, const char *path, oatgp_model **out) {
  oat_tensors file = {0};
  return take_model(ctx, oat_tensors_read(ctx, path, &file), &file, out);
}

oatgp_status oat_model_unpack(oatgp_context *ctx, size_t size, const unsigned char *bytes, oatgp_model **out) {
  oat_tensors file = {0};
  return take_model(ctx, oat_tensors_unpack(ctx, size, bytes, &file), &file, out);
}
