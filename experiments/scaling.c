/* The cost of one evaluation with gradient as the number of knots and of inputs grows, measured from outside: seconds
 * between two iterations of a fit over the evaluations between them. All knots move ("simultaneous") or none
 * ("parameters": less than OAT needs, where one knot moves). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "draw.h"
#include "paper.h"
#include "util/memory.h"

typedef struct shape {
  size_t n, k, d;
} shape;

static oatgp_status make_data(oatgp_context *ctx, shape s, oatgp_data **data, oatgp_data **knots) {
  double *x = NULL, *y = NULL;
  draw random;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, s.n, s.d, &x));
  TRY(oat_new_matrix(ctx, s.n, 1, &y));
  draw_seed(&random, 1308);
  for (size_t i = 0; i < s.n; i++) {
    y[i] = 0.3 * draw_normal(&random);
    for (size_t j = 0; j < s.d; j++) {
      x[i * s.d + j] = draw_uniform(&random);
      y[i] += sin(6 * x[i * s.d + j]) / (double)(j + 1);
    }
  }
  TRY(oatgp_data_create(ctx, s.n, s.d, x, y, data));
  TRY(oatgp_data_create(ctx, s.k, s.d, x, NULL, knots));
done:
  free(x);
  free(y);
  return status;
}

/* The least of several fits, in seconds for an evaluation. */
static oatgp_status time_evaluation(oatgp_context *ctx, shape s, const char *select, double *seconds) {
  enum { REPEATS = 3 };
  oatgp_data *data = NULL, *knots = NULL;
  oatgp_settings settings;
  oatgp_status status = OATGP_OK;
  oatgp_settings_default(&settings);
  settings.prior = "none"; /* the evidence alone */
  settings.kernel = "se";
  settings.select = select;
  settings.max_iter = 8;
  settings.obj_tol = 0;
  *seconds = INFINITY;
  TRY(make_data(ctx, s, &data, &knots));
  for (int i = 0; i < REPEATS; i++) {
    oatgp_model *model = NULL;
    oatgp_model_info info;
    TRY(oatgp_fit(ctx, data, &settings, knots, NULL, NULL, &model));
    oatgp_model_get_info(model, &info);
    if (info.history_count > 1) {
      const double *first = info.history, *last = info.history + 3 * (info.history_count - 1);
      *seconds = fmin(*seconds, (last[2] - first[2]) / (last[0] - first[0]));
    }
    oatgp_model_free(model);
  }
done:
  oatgp_data_free(data);
  oatgp_data_free(knots);
  return status;
}

/* The slope of log seconds over log size, by least squares: the exponent. */
static double exponent(size_t n, const double *size, const double *seconds) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < n; i++) {
    const double x = log(size[i]), y = log(seconds[i]);
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  return ((double)n * sxy - sx * sy) / ((double)n * sxx - sx * sx);
}

enum { SIZES = 5 };

typedef struct series {
  const char *name, *select;
  bool over_knots; /* or over inputs */
} series;

static oatgp_status measure(const options *o, results *r, const series *a) {
  double size[SIZES], seconds[SIZES];
  char name[64];
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < SIZES; i++) {
    shape s = {o->quick ? 1000 : 4784, o->quick ? 20 : 80, 4};
    size_t *varied = a->over_knots ? &s.k : &s.d;
    *varied = (a->over_knots ? (o->quick ? 10u : 20u) : 1u) << i;
    size[i] = (double)*varied;
    TRY(time_evaluation(r->ctx, s, a->select, &seconds[i]));
    snprintf(name, sizeof name, "scaling_%s_%zu", a->name, *varied);
    TRY(results_set_fact(r, name, seconds[i]));
  }
  snprintf(name, sizeof name, "scaling_%s_exponent", a->name);
  TRY(results_set_fact(r, name, exponent(SIZES, size, seconds)));
done:
  return status;
}

oatgp_status measure_scaling(const options *o, results *r) {
  static const series all[] = {{"knots_simultaneous", "simultaneous", true},
                               {"knots_parameters", "fixed", true},
                               {"inputs_simultaneous", "simultaneous", false}};
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all && status == OATGP_OK; i++) {
    status = measure(o, r, &all[i]);
  }
  return status;
}
