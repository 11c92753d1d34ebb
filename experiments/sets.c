/* See sets.h. The rows of a run are drawn after set.seed(1307 + run), the knots after set.seed(1308). */
#include "sets.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/memory.h"

enum { SPLIT_SEED = 1307, KNOT_SEED = 1308, QUICK_ROWS = 400 };

const set_info sets[SETS] = {
    {"boston", "Boston housing", 0.8, 1e-6, true, "http://lib.stat.cmu.edu/datasets/boston",
     "columns lstat,rm,ptratio,medv and the rows with medv < 50; it comes with oatgp as data/boston.csv"},
    {"airfoil", "Airfoil self-noise", 0.8, 1e-4, true, "https://archive.ics.uci.edu/dataset/291/airfoil+self+noise",
     "airfoil_self_noise.dat has the columns in the right order: (echo "
     "frequency,angle_of_attack,chord_length,free_stream_velocity,displacement_thickness,sound_pressure; tr '\\t' , < "
     "airfoil_self_noise.dat) > airfoil.csv"},
    {"ccpp", "Combined cycle power plant", 0.5, 1e-3, false,
     "https://archive.ics.uci.edu/dataset/294/combined+cycle+power+plant",
     "save the first sheet of Folds5x2_pp.xlsx, columns AT,V,AP,RH,PE with their header, as ccpp.csv"}};

bool set_find(const options *o, const set_info *set, char *path, size_t size) {
  char shared[4096], own[4096];
  snprintf(shared, sizeof shared, "%s/../shared/data", o->project);
  snprintf(own, sizeof own, "%s/data", o->project);
  const char *folders[] = {o->data, own, shared};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    if (folders[i] != NULL && snprintf(path, size, "%s/%s.csv", folders[i], set->name) < (int)size &&
        access(path, R_OK) == 0) {
      return true;
    }
  }
  return false;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

enum { LINE = 4096 };

/* Appends the numbers of one line. */
static oatgp_status read_line(oatgp_context *ctx, char *line, size_t *capacity, numbers *n) {
  oatgp_status status = OATGP_OK;
  size_t column = 0;
  for (char *cell = line; status == OATGP_OK && column < n->columns; column++) {
    char *end = NULL;
    const double value = strtod(cell, &end);
    if (end == cell || !isfinite(value)) {
      return oat_fail(ctx, OATGP_DATA, "row %zu, column %zu is not a number", n->rows + 1, column + 1);
    }
    status = oat_grow(ctx, n->rows * n->columns + column + 1, sizeof *n->value, capacity, &n->value);
    if (status == OATGP_OK) {
      n->value[n->rows * n->columns + column] = value;
    }
    cell = end + strspn(end, ", \r\n");
  }
  n->rows++;
  return status;
}

static size_t count_columns(const char *header) {
  size_t count = 1;
  for (const char *c = header; *c != '\0'; c++) {
    count += *c == ',';
  }
  return count;
}

oatgp_status numbers_read(oatgp_context *ctx, const char *path, numbers *out) {
  char line[LINE];
  size_t capacity = 0;
  numbers n = {0};
  oatgp_status status = OATGP_OK;
  FILE *in = fopen(path, "r");
  if (in == NULL || fgets(line, sizeof line, in) == NULL) {
    status = oat_fail(ctx, OATGP_READ, "cannot read '%s': %s", path, strerror(errno));
  } else {
    n.columns = count_columns(line);
  }
  while (status == OATGP_OK && fgets(line, sizeof line, in) != NULL) {
    status = read_line(ctx, line, &capacity, &n);
  }
  if (in != NULL) {
    fclose(in);
  }
  if (status != OATGP_OK) {
    free(n.value);
    return status;
  }
  *out = n;
  return OATGP_OK;
}

/* ---- the split ------------------------------------------------------------------------------------------------- */

/* Marks the training rows of a run. */
static oatgp_status draw_rows(oatgp_context *ctx, const numbers *table, size_t count, int run, bool *in_train) {
  size_t *room = NULL;
  draw d;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, table->rows, sizeof *room, &room));
  draw_seed(&d, (uint32_t)(SPLIT_SEED + run));
  draw_sample(&d, table->rows, count, room);
  for (size_t i = 0; i < count; i++) {
    in_train[room[i]] = true;
  }
done:
  free(room);
  return status;
}

/* Some rows of the table, in its order: inputs and target. */
typedef struct part {
  size_t rows;
  double *x, *y;
} part;

static oatgp_status take_part(oatgp_context *ctx, const numbers *table, const bool *in_train, bool train, part *p) {
  const size_t d = table->columns - 1;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, table->rows, d, &p->x));
  TRY(oat_new_matrix(ctx, table->rows, 1, &p->y));
  for (size_t i = 0; i < table->rows; i++) {
    if (in_train[i] == train) {
      memcpy(p->x + p->rows * d, table->value + i * table->columns, d * sizeof *p->x);
      p->y[p->rows++] = table->value[i * table->columns + d];
    }
  }
done:
  return status;
}

/* Leaves every m-th row, so that there are few. */
static void thin(part *p, size_t d) {
  const size_t step = (p->rows + QUICK_ROWS - 1) / QUICK_ROWS;
  size_t kept = 0;
  for (size_t i = 0; i < p->rows; i += step) {
    memmove(p->x + kept * d, p->x + i * d, d * sizeof *p->x);
    p->y[kept++] = p->y[i];
  }
  p->rows = kept;
}

static oatgp_status scale_inputs(oatgp_context *ctx, const part *train, split *s) {
  double *scaled = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, s->d, 1, &s->centre));
  TRY(oat_new_matrix(ctx, s->d, 1, &s->scale));
  TRY(oat_new_matrix(ctx, train->rows, s->d, &scaled));
  for (size_t j = 0; j < s->d; j++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < train->rows; i++) {
      sum += train->x[i * s->d + j];
    }
    s->centre[j] = sum / (double)train->rows;
    for (size_t i = 0; i < train->rows; i++) {
      const double e = train->x[i * s->d + j] - s->centre[j];
      squares += e * e;
    }
    s->scale[j] = sqrt(squares / (double)(train->rows - 1));
    for (size_t i = 0; i < train->rows; i++) {
      scaled[i * s->d + j] = (train->x[i * s->d + j] - s->centre[j]) / s->scale[j];
    }
  }
  s->scaled = (points){train->rows, s->d, scaled};
done:
  return status;
}

oatgp_status split_make(oatgp_context *ctx, const numbers *table, const set_info *set, int run, bool quick,
                        split *out) {
  part train = {0}, test = {0};
  split s = {.d = table->columns - 1};
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, table->rows, sizeof *s.in_train, &s.in_train));
  TRY(draw_rows(ctx, table, (size_t)nearbyint(set->share * (double)table->rows), run, s.in_train));
  TRY(take_part(ctx, table, s.in_train, true, &train));
  TRY(take_part(ctx, table, s.in_train, false, &test));
  if (quick) {
    thin(&train, s.d);
    thin(&test, s.d);
  }
  TRY(scale_inputs(ctx, &train, &s));
  TRY(oatgp_data_create(ctx, train.rows, s.d, train.x, train.y, &s.train));
  TRY(oatgp_data_create(ctx, test.rows, s.d, test.x, test.y, &s.test));
  s.test_y = test.y;
  s.test_rows = test.rows;
  test.y = NULL;
  *out = s;
done:
  if (status != OATGP_OK) {
    split_free(&s);
  }
  free(train.x);
  free(train.y);
  free(test.x);
  free(test.y);
  return status;
}

void split_free(split *s) {
  oatgp_data_free(s->train);
  oatgp_data_free(s->test);
  free(s->in_train);
  free(s->test_y);
  free(s->centre);
  free(s->scale);
  free((void *)(uintptr_t)s->scaled.x);
  *s = (split){0};
}

oatgp_status split_knots(oatgp_context *ctx, const split *s, size_t k, oatgp_data **out) {
  double *centres = NULL;
  draw d;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, k < START_KNOTS ? START_KNOTS : k, s->d, &centres));
  draw_seed(&d, KNOT_SEED);
  TRY(draw_kmeans(ctx, &d, s->scaled, START_KNOTS, centres));
  if (k != START_KNOTS) {
    TRY(draw_kmeans(ctx, &d, s->scaled, k, centres));
  }
  for (size_t i = 0; i < k * s->d; i++) {
    centres[i] = s->centre[i % s->d] + centres[i] * s->scale[i % s->d];
  }
  TRY(oatgp_data_create(ctx, k, s->d, centres, NULL, out));
done:
  free(centres);
  return status;
}

/* ---- the draws themselves -------------------------------------------------------------------------------------- */

static oatgp_status print_split(oatgp_context *ctx, const set_info *set, const numbers *table, int run) {
  split s = {0};
  double centres[START_KNOTS * 16];
  draw d;
  oatgp_status status = OATGP_OK;
  TRY(split_make(ctx, table, set, run, false, &s));
  for (size_t i = 0; i < table->rows; i++) {
    if (s.in_train[i]) {
      printf("%s,%d,row,%zu\n", set->name, run, i + 1);
    }
  }
  draw_seed(&d, KNOT_SEED);
  TRY(draw_kmeans(ctx, &d, s.scaled, START_KNOTS, centres));
  for (size_t i = 0; i < START_KNOTS * s.d; i++) {
    printf("%s,%d,knot %zu input %zu,%.12g\n", set->name, run, i / s.d + 1, i % s.d + 1, centres[i]);
  }
done:
  split_free(&s);
  return status;
}

oatgp_status print_splits(const options *o, oatgp_context *ctx) {
  oatgp_status status = OATGP_OK;
  printf("set,run,what,value\n");
  for (size_t i = 0; i < SETS && status == OATGP_OK; i++) {
    char path[4096];
    numbers n = {0};
    if (!set_find(o, &sets[i], path, sizeof path)) {
      continue;
    }
    status = numbers_read(ctx, path, &n);
    for (int run = 1; run <= RUNS && status == OATGP_OK; run++) {
      status = print_split(ctx, &sets[i], &n, run);
    }
    free(n.value);
  }
  return status;
}

/* ---- a statement about the data -------------------------------------------------------------------------------- */

oatgp_status count_boston(const options *o, results *r) {
  char path[4096];
  numbers n = {0};
  if (!set_find(o, &sets[0], path, sizeof path)) {
    return OATGP_OK;
  }
  oatgp_status status = OATGP_OK;
  double below = 0;
  TRY(numbers_read(r->ctx, path, &n));
  for (size_t i = 0; i < n.rows; i++) {
    below += n.value[(i + 1) * n.columns - 1] < 50;
  }
  TRY(results_set_fact(r, "boston_rows", (double)n.rows));
  TRY(results_set_fact(r, "boston_rows_below_50", below));
done:
  free(n.value);
  return status;
}
