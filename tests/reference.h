/* The exact GP on the paper's training rows: what the two tests against independent numbers share. The data and the rows are not
 * part of the project; without them a test says so and is skipped. */
#ifndef TEST_REFERENCE_H
#define TEST_REFERENCE_H

#include "fits.h"

typedef struct split {
  const char *set, *target;
  int run;
} split;

/* Opens a file of the shared folder, or skips the test. */
static inline table shared_table(const char *path) {
  if (access(path, R_OK) != 0) {
    print_message("skipped: there is no %s\n", path);
    skip();
  }
  return read_table(path);
}

/* The training rows; the target is the last column. */
static inline oatgp_data *training_data(scratch *s, const split *which) {
  char path[1024];
  snprintf(path, sizeof path, "%s/data/%s.csv", SHARED_DIR, which->set);
  table all = shared_table(path);
  snprintf(path, sizeof path, "%s/reference/splits/%s/run%d/train_rows.csv", SHARED_DIR, which->set, which->run);
  table rows = shared_table(path);
  const size_t n = rows.rows, d = all.columns - 1;
  double *x = calloc(n * d, sizeof *x), *y = calloc(n, sizeof *y);
  for (size_t i = 0; i < n; i++) {
    const size_t row = (size_t)rows.a[i] - 1;
    assert_true(row < all.rows);
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = all.a[row + j * all.rows];
    }
    y[i] = all.a[row + d * all.rows];
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  free(x);
  free(y);
  free(all.a);
  free(rows.a);
  return data;
}

/* Fits the exact GP with the isotropic squared exponential and compares its log evidence. The caller frees the model. */
static inline oatgp_model *fit_exactly(scratch *s, const split *which, double evidence) {
  oatgp_data *data = training_data(s, which);
  s->settings.approx = "full";
  s->settings.kernel = "se";
  oatgp_model *model = must_fit(s, data, NULL);
  const double objective = info_of(model).objective;
  if (!(fabs(objective - evidence) < 1e-4)) {
    fail_msg("%s run %d: log evidence %.6f instead of %.5f", which->set, which->run, objective, evidence);
  }
  oatgp_data_free(data);
  return model;
}

#endif
