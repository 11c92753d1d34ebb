/* Checkpoints: the state of a fit, saved between two steps so that it continues to the same model, bit for bit.
 *
 * The file has the layout of a model file (tensors/tensors.h). One list of its arrays serves for writing and for
 * reading. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensors/tensors.h"
#include "fit/fit.h"
#include "util/memory.h"
#include "util/utf8.h"

#define FORMAT "oatgp checkpoint"
#define FORMAT_VERSION "4"
#define SITES "sites"
#define CHOSEN "chosen_kernel" /* by --kernel auto, and its candidates */
#define CANDIDATES "kernel_candidates"

static oatgp_status damaged(oatgp_context *ctx, const char *path, const char *what) {
  return oat_fail(ctx, OATGP_FORMAT, "'%s' is damaged: %s", path, what);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* Of the array `numbers`: its length, the rows of the table below, and the words of the generator after them. A number
 * is identified by its position in the file, so FORMAT_VERSION must change when a row is added, removed or moved. */
enum { NUMBERS = 64, LISTED = 39, WORDS = 4 };
_Static_assert(LISTED + 2 * WORDS <= NUMBERS, "the file has room for all numbers and the generator");
_Static_assert(sizeof((oat_rng *)NULL)->state == WORDS * sizeof(uint64_t), "all words of the generator are saved");

#define MOST_COUNT 0x1p53 /* up to here a double holds every whole number */
#define MOST_SECONDS 1e15
#define MOST_JITTER 1e-2 /* up to which a fit raises it */

typedef enum kind {
  REAL,
  COUNT,
  SIZE,
  FLAG,
  PHASE,
  STOP
} kind; /* double, whole double, size_t, bool and the two enums */

/* A single number: its address in the fit, and its range. All kinds but REAL are whole numbers. */
typedef struct number {
  const char *name;
  kind kind;
  void *place;
  double lowest, highest;
} number;

/* In the order of the file. A value of the objective is -HUGE_VAL if there is none yet. Only fields with a row here are
 * saved. */
static void list_numbers(oat_fit_run *f, number *list) {
  oat_search_state *state = &f->search.state;
  const double most = (double)f->setup.capacity, fewest = f->setup.approx->sparse ? 1 : 0;
  const double exact = f->search.settings.exact; /* whether the result may be the exact GP */
  double *jitter = &f->objective->config.jitter;
  const number all[] = {
      {"phase", PHASE, &state->phase, 0, OAT_PHASE_DONE},
      {"next", PHASE, &state->next, 0, OAT_PHASE_DONE},
      {"k", SIZE, &state->k, fewest, most},
      {"kept", SIZE, &state->kept, 0, most},
      {"round", SIZE, &state->round, 0, (double)f->setup.strategy->rounds},
      {"held", FLAG, &state->held, 0, 1},
      {"stop", STOP, &state->stop, 0, OAT_STOP_COUNT - 1},
      {"value", REAL, &state->value, -HUGE_VAL, DBL_MAX},
      {"value_before", REAL, &state->value_before, -HUGE_VAL, DBL_MAX},
      {"fallback_k", SIZE, &state->fallback_k, 0, most},
      {"fallback_value", REAL, &state->fallback_value, -HUGE_VAL, DBL_MAX},
      {"tried", COUNT, &state->tried, 0, MOST_COUNT},
      {"predicted", REAL, &state->predicted, -HUGE_VAL, DBL_MAX},
      {"iterations", COUNT, &state->iterations, 0, MOST_COUNT},
      {"evaluations", COUNT, &state->evaluations, 0, MOST_COUNT},
      {"rejected", COUNT, &state->rejected, 0, MOST_COUNT},
      {"restart", COUNT, &f->restart, 0, (double)f->setup.settings->restarts},
      {"iterations_before", COUNT, &f->iterations, 0, MOST_COUNT},
      {"evaluations_before", COUNT, &f->evaluations, 0, MOST_COUNT},
      {"rejected_before", COUNT, &f->rejected, 0, MOST_COUNT},
      {"best_value", REAL, &f->best.value, -HUGE_VAL, DBL_MAX},
      {"best_k", SIZE, &f->best.k, 0, most},
      {"best_stop", STOP, &f->best.stop, 0, OAT_STOP_COUNT - 1},
      {"jitter", REAL, jitter, *jitter, fmax(*jitter, MOST_JITTER)},
      {"started", FLAG, &f->started, 0, 1},
      {"incumbent_k", SIZE, &state->best_k, 0, most},
      {"incumbent_value", REAL, &state->best_value, -HUGE_VAL, DBL_MAX},
      {"incumbent_exact", FLAG, &state->best_exact, 0, exact},
      {"other", FLAG, &state->other, 0, 1},
      {"exact", FLAG, &state->exact, 0, 0}, /* is set at the very end */
      {"evidence", REAL, &state->evidence, -HUGE_VAL, DBL_MAX},
      {"left_out", REAL, &state->left_out, -HUGE_VAL, DBL_MAX},
      {"best_exact", FLAG, &f->best.exact, 0, exact},
      {"spent", COUNT, &state->spent, 0, MOST_COUNT},
      {"round_of_neighbours", SIZE, &state->round_of_neighbours, 0, MOST_COUNT},
      {"incumbent_neighbours", SIZE, &state->best_neighbours, 0, MOST_COUNT},
      {"best_neighbours", SIZE, &f->best.neighbours, 0, MOST_COUNT},
      {"idle", SIZE, &state->idle, 0, MOST_COUNT},
      {"own_value", REAL, &state->own_value, -HUGE_VAL, DBL_MAX},
  };
  _Static_assert(sizeof all / sizeof *all == LISTED, "another number of rows is another FORMAT_VERSION");
  memcpy(list, all, sizeof all);
}

static double number_value(const number *n) {
  switch (n->kind) {
    case SIZE:
      return (double)*(const size_t *)n->place;
    case FLAG:
      return *(const bool *)n->place;
    case PHASE:
      return *(const oat_phase *)n->place;
    case STOP:
      return *(const oatgp_stop *)n->place;
    default:
      return *(const double *)n->place;
  }
}

/* The value has been checked. */
static void set_number(const number *n, double value) {
  switch (n->kind) {
    case SIZE:
      *(size_t *)n->place = (size_t)value;
      break;
    case FLAG:
      *(bool *)n->place = value != 0;
      break;
    case PHASE:
      *(oat_phase *)n->place = (oat_phase)value;
      break;
    case STOP:
      *(oatgp_stop *)n->place = (oatgp_stop)value;
      break;
    default:
      *(double *)n->place = value;
  }
}

/* After the numbers of the table, the generator: each 64-bit word as two halves, which doubles hold exactly. */
static void store_numbers(oat_fit_run *f, double *stored) {
  number list[LISTED];
  list_numbers(f, list);
  for (size_t i = 0; i < LISTED; i++) {
    stored[i] = number_value(&list[i]);
  }
  for (size_t i = 0; i < WORDS; i++) {
    const uint64_t word = f->search.state.rng.state[i];
    stored[LISTED + 2 * i] = (double)(word >> 32);
    stored[LISTED + 2 * i + 1] = (double)(word & 0xffffffffu);
  }
}

/* False for NaN. */
static bool is_within(double value, double lowest, double highest, bool whole) {
  return value >= lowest && value <= highest && (!whole || value == floor(value));
}

static oatgp_status load_numbers(oat_fit_run *f, const char *path, const double *stored) {
  number list[LISTED];
  list_numbers(f, list);
  uint64_t any = 0;
  for (size_t i = 0; i < LISTED; i++) {
    const number *n = &list[i];
    if (!is_within(stored[i], n->lowest, n->highest, n->kind != REAL)) {
      return oat_fail(f->ctx, OATGP_FORMAT, "'%s' is damaged: %s is %g but should be %s from %g to %g", path, n->name,
                      stored[i], n->kind == REAL ? "a number" : "a whole number", n->lowest, n->highest);
    }
    set_number(n, stored[i]);
  }
  for (size_t i = 0; i < WORDS; i++) {
    const double high = stored[LISTED + 2 * i], low = stored[LISTED + 2 * i + 1];
    if (!is_within(high, 0, UINT32_MAX, true) || !is_within(low, 0, UINT32_MAX, true)) {
      return damaged(f->ctx, path, "the state of its random generator is not made of whole numbers below 2^32");
    }
    any |= f->search.state.rng.state[i] = (uint64_t)high << 32 | (uint64_t)low;
  }
  return any != 0 ? OATGP_OK : damaged(f->ctx, path, "the state of its random generator is zero");
}

/* ---- arrays ---------------------------------------------------------------------------------------------------- */

typedef enum content {
  KNOTS,
  PARAMETERS,
  PARAMETERS_IF_ANY
} content; /* finite; positive; positive, or all 0 if it was never set */

typedef struct array {
  const char *name;
  double *values;
  size_t count;
  content content;
} array;

enum { ARRAYS = 16 };

static void list_arrays(const oat_fit_run *f, array *list) {
  const size_t theta = oat_theta_count(f->setup.kernel, f->setup.scaling.d), z = f->setup.capacity * f->setup.scaling.d;
  const array all[] = {
      {"point_theta", f->search.point.theta, theta, PARAMETERS},
      {"point_knots", f->search.point.z, z, KNOTS},
      {"backup_theta", f->search.backup.theta, theta, PARAMETERS_IF_ANY},
      {"backup_knots", f->search.backup.z, z, KNOTS},
      {"start_theta", f->start.theta, theta, PARAMETERS},
      {"start_knots", f->start.z, z, KNOTS},
      {"fallback_theta", f->search.fallback.theta, theta, PARAMETERS_IF_ANY},
      {"fallback_knots", f->search.fallback.z, z, KNOTS},
      {"incumbent_theta", f->search.best.theta, theta, PARAMETERS_IF_ANY},
      {"incumbent_knots", f->search.best.z, z, KNOTS},
      {"best_theta", f->best.point.theta, theta, PARAMETERS_IF_ANY},
      {"best_knots", f->best.point.z, z, KNOTS},
      {"subset_theta", f->search.subset, theta, PARAMETERS_IF_ANY},
      {"neighbours_theta", f->search.near, theta, PARAMETERS_IF_ANY},
      {"own_theta", f->search.own.theta, theta, PARAMETERS_IF_ANY},
      {"own_knots", f->search.own.z, z, KNOTS},
  };
  _Static_assert(sizeof all / sizeof *all == ARRAYS, "every array is listed");
  memcpy(list, all, sizeof all);
}

typedef struct named_log {
  const char *name;
  oat_log *log;
} named_log;

enum { LOGS = 4 };

static void list_logs(oat_fit_run *f, named_log *list) {
  const named_log all[] = {{"history", &f->trail.history},
                           {"selection", &f->trail.selection},
                           {"best_history", &f->best.trail.history},
                           {"best_selection", &f->best.trail.selection}};
  _Static_assert(sizeof all / sizeof *all == LOGS, "every log is listed");
  memcpy(list, all, sizeof all);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

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

/* The sites of answers that are not Gaussian: the next evaluation begins with them. */
static oatgp_status add_sites(const oat_fit_run *f, oat_tensors *file) {
  const size_t count = 2 * oat_rows_total(f->setup.rows);
  double *sites = NULL;
  oatgp_status status = OATGP_OK;
  if (!f->objective->sited) {
    return OATGP_OK;
  }
  TRY(oat_new_matrix(f->ctx, count, 1, &sites));
  oat_rows_get_sites(f->objective->own_rows, sites);
  TRY(oat_tensors_add(f->ctx, file, SITES, count, 0, sites));
done:
  free(sites);
  return status;
}

oatgp_status oat_checkpoint_write(oat_fit_run *f) {
  oat_tensors file = {0};
  double numbers[NUMBERS] = {0}, seconds = oat_fit_seconds(f);
  array arrays[ARRAYS];
  named_log logs[LOGS];
  oatgp_status status = OATGP_OK;
  store_numbers(f, numbers);
  TRY(oat_tensors_set(f->ctx, &file, "format", FORMAT));
  TRY(oat_tensors_set(f->ctx, &file, "format_version", FORMAT_VERSION));
  TRY(oat_tensors_set(f->ctx, &file, "data_fingerprint", f->fingerprint));
  TRY(oat_tensors_set(f->ctx, &file, "settings", f->request->settings_text));
  if (f->request->chosen != NULL) {
    TRY(oat_tensors_set(f->ctx, &file, CHOSEN, f->request->chosen->kernel));
    TRY(oat_tensors_set(f->ctx, &file, CANDIDATES, f->request->chosen->candidates));
  }
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
  TRY(add_sites(f, &file));
  TRY(oat_tensors_write(f->ctx, &file, f->setup.settings->checkpoint));
done:
  oat_tensors_clear(&file);
  return status;
}

/* ---- reading: the settings ------------------------------------------------------------------------------------- */

/* Settings that may differ between the parts of a fit, because they cannot change its result: threads, stopping rules,
 * when it is saved, and settings that only other verbs use. */
static bool may_differ(const char *line) {
  static const char *const names[] = {"threads", "time_limit",  "checkpoint", "checkpoint_seconds", "resume", "folds",
                                      "tol",     "determinant", "exact"};
  const size_t length = strcspn(line, " ");
  bool may = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    may = may || (length == strlen(names[i]) && strncmp(line, names[i], length) == 0);
  }
  return may;
}

static oatgp_status other_settings(oatgp_context *ctx, const char *path) {
  return oat_fail(ctx, OATGP_FORMAT,
                  "the checkpoint '%s' was made by another version of oatgp, which has other settings", path);
}

/* Compares the two lists line by line; both come from the same table. */
static oatgp_status compare_settings(const oat_fit_run *f, const char *path, const char *before, const char *now) {
  while (*before != '\0' && *now != '\0') {
    const size_t a = strcspn(before, "\n"), b = strcspn(now, "\n"), name = strcspn(now, " ");
    if (strncmp(before, now, name) != 0 || before[name] != ' ') {
      return other_settings(f->ctx, path);
    }
    if ((a != b || strncmp(before, now, a) != 0) && !may_differ(now)) {
      return oat_fail(f->ctx, OATGP_ARGUMENT,
                      "the checkpoint was made with '%.*s', now it is '%.*s': resume with the same settings", (int)a,
                      before, (int)b, now);
    }
    before += a + (before[a] != '\0');
    now += b + (now[b] != '\0');
  }
  return *before == *now ? OATGP_OK : other_settings(f->ctx, path);
}

static oatgp_status check_origin(const oat_fit_run *f, const oat_tensors *file) {
  const char *format = oat_tensors_text(file, "format"), *version = oat_tensors_text(file, "format_version");
  const char *settings = oat_tensors_text(file, "settings"), *data = oat_tensors_text(file, "data_fingerprint");
  if (format == NULL || strcmp(format, FORMAT) != 0 || version == NULL || strcmp(version, FORMAT_VERSION) != 0 ||
      settings == NULL) {
    return oat_fail(f->ctx, OATGP_FORMAT, "%s is not a checkpoint of this version of oatgp", file->path);
  }
  if (data == NULL || strcmp(data, f->fingerprint) != 0) {
    return oat_fail(f->ctx, OATGP_DATA, "the checkpoint %s was made with other data", file->path);
  }
  return compare_settings(f, file->path, settings, f->request->settings_text);
}

/* ---- reading: everything else, trusting nothing ---------------------------------------------------------------- */

static bool all_zero(size_t count, const double *values) {
  size_t zeros = 0;
  while (zeros < count && values[zeros] == 0) {
    zeros++;
  }
  return zeros == count;
}

static oatgp_status read_array(oatgp_context *ctx, const oat_tensors *file, const array *a) {
  const double *values;
  const oatgp_status status = oat_tensors_get(ctx, file, a->name, a->count, 0, &values);
  if (status != OATGP_OK) {
    return status;
  }
  const bool good = oat_all_finite(a->count, values, a->content == KNOTS ? -DBL_MAX : DBL_MIN) ||
                    (a->content == PARAMETERS_IF_ANY && all_zero(a->count, values));
  if (!good) {
    return oat_fail(ctx, OATGP_FORMAT, "'%s' is damaged: '%s' holds a number that is not finite%s", file->path, a->name,
                    a->content == KNOTS ? "" : " and above 0");
  }
  if (a->count > 0) {
    memcpy(a->values, values, a->count * sizeof *values);
  }
  return OATGP_OK;
}

static oatgp_status read_log(oatgp_context *ctx, const oat_tensors *file, const named_log *named) {
  const oat_tensor *tensor = oat_tensors_find(file, named->name);
  oat_log *log = named->log;
  if (tensor == NULL || tensor->size % log->width != 0) {
    return oat_fail(ctx, OATGP_FORMAT, "'%s' is damaged: '%s' has the wrong size", file->path, named->name);
  }
  if (!oat_all_finite(tensor->size, tensor->values, -DBL_MAX)) {
    return oat_fail(ctx, OATGP_FORMAT, "'%s' is damaged: '%s' holds a number that is not finite", file->path,
                    named->name);
  }
  const oatgp_status status =
      oat_grow(ctx, tensor->size / log->width, log->width * sizeof *log->row, &log->capacity, &log->row);
  if (status == OATGP_OK && tensor->size > 0) {
    memcpy(log->row, tensor->values, tensor->size * sizeof *log->row);
    log->count = tensor->size / log->width;
  }
  return status;
}

/* Its valid contents depend on the optimisation that continues with it, which checks them first (search.c). */
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

/* Whether the numbers, each within its range, are consistent with each other. */
static oatgp_status check_state(const oat_fit_run *f, const char *path) {
  const oat_search_state *state = &f->search.state;
  const size_t most = f->setup.capacity;
  const bool releases = state->phase == OAT_PHASE_RELEASE, grows = state->phase == OAT_PHASE_GROW;
  const struct rule {
    bool broken;
    const char *sentence;
  } rules[] = {
      {(f->setup.strategy->phases >> state->phase & 1) == 0, "its selection of knots never saves its phase"},
      {state->kept > state->k, "it has fewer knots than it kept"},
      {grows && state->kept == state->k, "there is no knot on trial"},
      {releases && state->next != OAT_PHASE_PROPOSE && state->next != OAT_PHASE_POLISH, "the next phase is impossible"},
      {releases && state->next == OAT_PHASE_PROPOSE && state->k == most,
       "it already has the largest number of knots and would add more"},
      {state->phase == OAT_PHASE_COMPARE && state->round >= OAT_COMPARE_ROUNDS, "its current trial is already over"},
      {state->fallback_value > -HUGE_VAL && most > 0 && state->fallback_k == 0, "its previous model has no knots"},
      {state->best_value > -HUGE_VAL && most > 0 && state->best_k == 0, "its final model has no knots"},
      {f->best.value > -HUGE_VAL && most > 0 && f->best.k == 0, "the best model of its earlier starts has no knots"},
      {f->best.value == -HUGE_VAL && f->restart > 0 && f->best.k > 0,
       "the best model of its earlier starts has no objective"},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (rules[i].broken) {
      return damaged(f->ctx, path, rules[i].sentence);
    }
  }
  return OATGP_OK;
}

/* The models that the search may return to must be in the file. */
static oatgp_status check_points(const oat_fit_run *f, const char *path) {
  const oat_search *s = &f->search;
  const size_t theta = oat_theta_count(f->setup.kernel, f->setup.scaling.d);
  const bool grows = s->state.phase == OAT_PHASE_GROW,
             begins = s->state.phase == OAT_PHASE_SUBSET || (grows && s->state.round == 0);
  const bool returns =
      (grows && s->state.kept > 0) || (begins && (f->setup.strategy->phases >> OAT_PHASE_SUBSET & 1) != 0);
  const bool missing = (returns && all_zero(theta, s->backup.theta)) ||
                       (s->state.fallback_value > -HUGE_VAL && all_zero(theta, s->fallback.theta)) ||
                       (s->state.best_value > -HUGE_VAL && all_zero(theta, s->best.theta)) ||
                       (s->state.own_value > -HUGE_VAL && all_zero(theta, s->own.theta)) ||
                       (f->best.value > -HUGE_VAL && all_zero(theta, f->best.point.theta));
  return missing ? damaged(f->ctx, path, "a model that it could return to has no parameters") : OATGP_OK;
}

static oatgp_status read_seconds(oat_fit_run *f, const oat_tensors *file) {
  const double *seconds;
  const oatgp_status status = oat_tensors_get(f->ctx, file, "seconds", 1, 0, &seconds);
  if (status == OATGP_OK && !is_within(*seconds, 0, MOST_SECONDS, false)) {
    return damaged(f->ctx, file->path, "the seconds that it took are not a positive number");
  }
  f->began -= status == OATGP_OK ? *seconds : 0;
  return status;
}

static oatgp_status read_sites(const oat_fit_run *f, const oat_tensors *file) {
  const size_t n = oat_rows_total(f->setup.rows);
  const double *sites;
  bool right = true;
  if (f->setup.likelihood == NULL || oat_tensors_find(file, SITES) == NULL) {
    return OATGP_OK;
  }
  PASS_ON(oat_tensors_get(f->ctx, file, SITES, 2 * n, 0, &sites));
  for (size_t i = 0; i < n; i++) {
    right = right && isfinite(sites[i]) && sites[n + i] != 0 && isfinite(sites[n + i]);
  }
  if (!right) {
    return damaged(f->ctx, file->path, "the targets and variances of its sites are not numbers");
  }
  oat_rows_set_sites(f->objective->own_rows, sites);
  f->objective->sited = true;
  return OATGP_OK;
}

oatgp_status oat_checkpoint_read(oat_fit_run *f) {
  oat_tensors file = {0};
  array arrays[ARRAYS];
  named_log logs[LOGS];
  const double *numbers;
  oatgp_status status = OATGP_OK;
  TRY(oat_tensors_read(f->ctx, f->setup.settings->resume, &file));
  TRY(check_origin(f, &file));
  TRY(oat_tensors_get(f->ctx, &file, "numbers", NUMBERS, 0, &numbers));
  TRY(load_numbers(f, file.path, numbers));
  TRY(check_state(f, file.path));
  TRY(read_seconds(f, &file));
  list_arrays(f, arrays);
  for (size_t i = 0; i < ARRAYS; i++) {
    TRY(read_array(f->ctx, &file, &arrays[i]));
  }
  TRY(check_points(f, file.path));
  list_logs(f, logs);
  for (size_t i = 0; i < LOGS; i++) {
    TRY(read_log(f->ctx, &file, &logs[i]));
  }
  TRY(read_optimiser(f->ctx, &file, &f->search));
  TRY(read_sites(f, &file));
done:
  oat_tensors_clear(&file);
  return status;
}

/* The rest of the file is checked once the fit is set up. */
oatgp_status oat_checkpoint_chosen(oatgp_context *ctx, const char *path, oat_chosen *chosen) {
  oat_tensors file = {0};
  oatgp_status status = OATGP_OK;
  TRY(oat_tensors_read(ctx, path, &file));
  const char *kernel = oat_tensors_text(&file, CHOSEN), *candidates = oat_tensors_text(&file, CANDIDATES);
  if (kernel == NULL || candidates == NULL || oat_kernel_is_automatic(kernel)) {
    TRY(oat_fail(ctx, OATGP_ARGUMENT, "%s is not a checkpoint of a fit with --kernel=auto", file.path));
  }
  TRY(oat_copy_text_utf8(ctx, kernel, &chosen->kernel));
  TRY(oat_copy_text_utf8(ctx, candidates, &chosen->candidates));
done:
  oat_tensors_clear(&file);
  return status;
}
