/* Checkpoints: a fit in the middle, saved between two steps so that it goes on to the same model, bit for bit.
 *
 * The file has the layout of a model file (data/tensors.h). A list of its arrays serves for writing and for reading. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/tensors.h"
#include "model/fit.h"
#include "util/memory.h"

#define FORMAT "oatgp checkpoint"
#define FORMAT_VERSION "2"

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

enum { NUMBERS = 48 };

/* Every number that is not an array, in a fixed order: `visit` copies one between the fit and the file. */
typedef void (*visit_fn)(double *stored, double *value);

static void store(double *stored, double *value) { *stored = *value; }

static void load(double *stored, double *value) { *value = *stored; }

/* A number of another type goes through a double. What is no count becomes one that no check lets pass. */
#define NO_COUNT 1e9
#define VISIT(type, place)                                                  \
  do {                                                                      \
    double number = (double)(place);                                        \
    visit(&stored[at++], &number);                                          \
    (place) = (type)(number >= 0 && number < NO_COUNT ? number : NO_COUNT); \
  } while (0)

/* A 64-bit word as two halves, which doubles hold exactly. */
static void visit_word(visit_fn visit, double *stored, uint64_t *word) {
  double high = (double)(*word >> 32), low = (double)(*word & 0xffffffffu);
  visit(&stored[0], &high);
  visit(&stored[1], &low);
  *word = (uint64_t)high << 32 | (uint64_t)low;
}

static void visit_numbers(oat_fit_run *f, visit_fn visit, double *stored) {
  oat_search_state *state = &f->search.state;
  size_t at = 0;
  VISIT(oat_phase, state->phase);
  VISIT(oat_phase, state->next);
  VISIT(size_t, state->k);
  VISIT(size_t, state->kept);
  VISIT(size_t, state->round);
  VISIT(bool, state->held);
  VISIT(oatgp_stop, state->stop);
  visit(&stored[at++], &state->value);
  visit(&stored[at++], &state->value_before);
  VISIT(size_t, state->fallback_k);
  visit(&stored[at++], &state->fallback_value);
  VISIT(size_t, state->best_k);
  visit(&stored[at++], &state->best_value);
  VISIT(bool, state->best_exact);
  VISIT(bool, state->other);
  VISIT(bool, state->exact);
  visit(&stored[at++], &state->evidence);
  visit(&stored[at++], &state->left_out);
  visit(&stored[at++], &state->tried);
  visit(&stored[at++], &state->predicted);
  visit(&stored[at++], &state->iterations);
  visit(&stored[at++], &state->evaluations);
  visit(&stored[at++], &state->rejected);
  visit(&stored[at++], &f->restart);
  visit(&stored[at++], &f->iterations);
  visit(&stored[at++], &f->evaluations);
  visit(&stored[at++], &f->rejected);
  visit(&stored[at++], &f->best.value);
  VISIT(size_t, f->best.k);
  VISIT(bool, f->best.exact);
  VISIT(oatgp_stop, f->best.stop);
  visit(&stored[at++], &f->objective->config.jitter);
  VISIT(bool, f->started);
  for (size_t i = 0; i < 4; i++, at += 2) {
    visit_word(visit, &stored[at], &state->rng.state[i]);
  }
}

/* ---- arrays ----------------------------------------------------------------------------------------------------------- */

typedef struct array {
  const char *name;
  double *values;
  size_t count;
} array;

enum { ARRAYS = 12 };

static void list_arrays(const oat_fit_run *f, array *list) {
  const size_t theta = oat_theta_count(f->setup.kernel, f->setup.scaling.d), z = f->setup.capacity * f->setup.scaling.d;
  const array all[ARRAYS] = {
      {"point_theta", f->search.point.theta, theta},
      {"point_knots", f->search.point.z, z},
      {"backup_theta", f->search.backup.theta, theta},
      {"backup_knots", f->search.backup.z, z},
      {"start_theta", f->start.theta, theta},
      {"start_knots", f->start.z, z},
      {"fallback_theta", f->search.fallback.theta, theta},
      {"fallback_knots", f->search.fallback.z, z},
      {"incumbent_theta", f->search.best.theta, theta},
      {"incumbent_knots", f->search.best.z, z},
      {"best_theta", f->best.point.theta, theta},
      {"best_knots", f->best.point.z, z},
  };
  memcpy(list, all, sizeof all);
}

typedef struct named_log {
  const char *name;
  oat_log *log;
} named_log;

enum { LOGS = 4 };

static void list_logs(oat_fit_run *f, named_log *list) {
  const named_log all[LOGS] = {{"history", &f->trail.history},
                               {"selection", &f->trail.selection},
                               {"best_history", &f->best.trail.history},
                               {"best_selection", &f->best.trail.selection}};
  memcpy(list, all, sizeof all);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

/* The optimiser's state and its bounds. */
static oatgp_status add_optimiser(oatgp_context *ctx, const oat_search *s, oat_tensors *file) {
  if (s->optim == NULL) {
    return OATGP_OK;
  }
  const size_t n = s->problem.n, count = s->optim->state_count;
  double *values = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, count + 2 * n, 1, &values));
  memcpy(values, s->optim->state, count * sizeof *values);
  memcpy(values + count, s->lower, n * sizeof *values);
  memcpy(values + count + n, s->upper, n * sizeof *values);
  TRY(oat_tensors_add(ctx, file, "optimiser", count + 2 * n, 0, values));
done:
  free(values);
  return status;
}

oatgp_status oat_checkpoint_write(oat_fit_run *f) {
  oat_tensors file = {0};
  double numbers[NUMBERS] = {0}, seconds = oat_fit_seconds(f);
  array arrays[ARRAYS];
  named_log logs[LOGS];
  oatgp_status status = OATGP_OK;
  visit_numbers(f, store, numbers);
  if (*f->fingerprint == '\0') {
    oat_fingerprint(f->setup.data, f->fingerprint);
  }
  TRY(oat_tensors_set(f->ctx, &file, "format", FORMAT));
  TRY(oat_tensors_set(f->ctx, &file, "format_version", FORMAT_VERSION));
  TRY(oat_tensors_set(f->ctx, &file, "data_fingerprint", f->fingerprint));
  TRY(oat_tensors_set(f->ctx, &file, "settings", f->request->settings_text));
  TRY(oat_tensors_add(f->ctx, &file, "numbers", NUMBERS, 0, numbers));
  TRY(oat_tensors_add(f->ctx, &file, "seconds", 1, 0, &seconds));
  list_arrays(f, arrays);
  for (size_t i = 0; i < ARRAYS; i++) {
    TRY(oat_tensors_add(f->ctx, &file, arrays[i].name, arrays[i].count, 0, arrays[i].values));
  }
  list_logs(f, logs);
  for (size_t i = 0; i < LOGS; i++) {
    TRY(oat_tensors_add(f->ctx, &file, logs[i].name, logs[i].log->count * logs[i].log->width, 0, logs[i].log->row));
  }
  TRY(add_optimiser(f->ctx, &f->search, &file));
  TRY(oat_tensors_write(f->ctx, &file, f->setup.settings->checkpoint));
done:
  oat_tensors_clear(&file);
  return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* Settings that may differ between the parts of a fit. */
static bool may_differ(const char *line) {
  static const char *const names[] = {"time_limit = ", "checkpoint = ", "checkpoint_seconds = ", "resume = "};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strncmp(line, names[i], strlen(names[i])) == 0) {
      return true;
    }
  }
  return false;
}

/* Compares the two lists line by line; both come from the same table. */
static oatgp_status compare_settings(oatgp_context *ctx, const char *before, const char *now) {
  while (*before != '\0' && *now != '\0') {
    const size_t a = strcspn(before, "\n"), b = strcspn(now, "\n");
    if ((a != b || strncmp(before, now, a) != 0) && !may_differ(now)) {
      return oat_fail(ctx, OATGP_ARGUMENT, "the checkpoint was made with '%.*s', now it is '%.*s': resume with the same settings", (int)a,
                      before, (int)b, now);
    }
    before += a + (before[a] != '\0');
    now += b + (now[b] != '\0');
  }
  return OATGP_OK;
}

static oatgp_status check_origin(const oat_fit_run *f, const oat_tensors *file) {
  const char *format = oat_tensors_text(file, "format"), *version = oat_tensors_text(file, "format_version");
  const char *settings = oat_tensors_text(file, "settings"), *data = oat_tensors_text(file, "data_fingerprint");
  char fingerprint[OAT_FINGERPRINT];
  oat_fingerprint(f->setup.data, fingerprint);
  if (format == NULL || strcmp(format, FORMAT) != 0 || version == NULL || strcmp(version, FORMAT_VERSION) != 0 || settings == NULL) {
    return oat_fail(f->ctx, OATGP_FORMAT, "%s is not a checkpoint of this version of oatgp", file->path);
  }
  if (data == NULL || strcmp(data, fingerprint) != 0) {
    return oat_fail(f->ctx, OATGP_DATA, "the checkpoint %s was made with other data", file->path);
  }
  return compare_settings(f->ctx, settings, f->request->settings_text);
}

static oatgp_status read_log(oatgp_context *ctx, const oat_tensors *file, const named_log *named) {
  const oat_tensor *tensor = oat_tensors_find(file, named->name);
  oat_log *log = named->log;
  if (tensor == NULL || tensor->size % log->width != 0) {
    return oat_fail(ctx, OATGP_FORMAT, "%s is damaged: '%s' has the wrong size", file->path, named->name);
  }
  const oatgp_status status = oat_grow(ctx, tensor->size / log->width, log->width * sizeof *log->row, &log->capacity, &log->row);
  if (status == OATGP_OK && tensor->size > 0) {
    memcpy(log->row, tensor->values, tensor->size * sizeof *log->row);
    log->count = tensor->size / log->width;
  }
  return status;
}

static oatgp_status read_optimiser(oatgp_context *ctx, const oat_tensors *file, oat_search *s) {
  const oat_tensor *tensor = oat_tensors_find(file, "optimiser");
  if (tensor == NULL) {
    return OATGP_OK;
  }
  const oatgp_status status = oat_new_matrix(ctx, tensor->size, 1, &s->resumed);
  if (status == OATGP_OK) {
    memcpy(s->resumed, tensor->values, tensor->size * sizeof *s->resumed);
    s->resumed_count = tensor->size;
  }
  return status;
}

static oatgp_status check_numbers(const oat_fit_run *f, const char *path) {
  const oat_search_state *state = &f->search.state;
  const bool sane = state->phase <= OAT_PHASE_DONE && state->next <= OAT_PHASE_DONE && state->stop <= OATGP_STOP_EVIDENCE &&
                    f->best.stop <= OATGP_STOP_EVIDENCE && state->fallback_k <= f->setup.capacity && state->k <= f->setup.capacity &&
                    state->best_k <= f->setup.capacity &&
                    state->kept <= state->k && f->best.k <= f->setup.capacity && (!f->setup.approx->sparse || state->k > 0);
  return sane ? OATGP_OK : oat_fail(f->ctx, OATGP_FORMAT, "%s is damaged: its numbers do not fit", path);
}

oatgp_status oat_checkpoint_read(oat_fit_run *f) {
  oat_tensors file = {0};
  array arrays[ARRAYS];
  named_log logs[LOGS];
  const double *values;
  double numbers[NUMBERS];
  oatgp_status status = OATGP_OK;
  TRY(oat_tensors_read(f->ctx, f->setup.settings->resume, &file));
  TRY(check_origin(f, &file));
  TRY(oat_tensors_get(f->ctx, &file, "numbers", NUMBERS, 0, &values));
  memcpy(numbers, values, sizeof numbers);
  visit_numbers(f, load, numbers);
  TRY(check_numbers(f, file.path));
  TRY(oat_tensors_get(f->ctx, &file, "seconds", 1, 0, &values));
  f->began -= *values;
  list_arrays(f, arrays);
  for (size_t i = 0; i < ARRAYS; i++) {
    TRY(oat_tensors_get(f->ctx, &file, arrays[i].name, arrays[i].count, 0, &values));
    if (arrays[i].count > 0) {
      memcpy(arrays[i].values, values, arrays[i].count * sizeof(double));
    }
  }
  list_logs(f, logs);
  for (size_t i = 0; i < LOGS; i++) {
    TRY(read_log(f->ctx, &file, &logs[i]));
  }
  TRY(read_optimiser(f->ctx, &file, &f->search));
done:
  oat_tensors_clear(&file);
  return status;
}
