/* oatgp sensitivity: how much the function varies with each input, as Sobol' indices with bands. */
#include <stdlib.h>
#include <string.h>

#include "json.h"

enum { MODEL, DATA };
enum { COLUMNS = 6, BAR = 30, MOST_NAME = 24 };

/* The indices of all inputs, and the inputs by falling total. */
typedef struct table {
  size_t d;
  double *values; /* COLUMNS x d, in the order of oatgp_indices */
  oatgp_indices out;
  size_t *order;
} table;

static oatgp_status make_table(cli *c, size_t d, table *t) {
  oatgp_status status = OATGP_OK;
  double *const v = cli_new(c, d, COLUMNS * sizeof *v, &status);
  size_t *const order = status == OATGP_OK ? cli_new(c, d, sizeof *order, &status) : NULL;
  *t = (table){.d = d, .values = v, .order = order};
  if (status == OATGP_OK) {
    t->out = (oatgp_indices){v, v + d, v + 2 * d, v + 3 * d, v + 4 * d, v + 5 * d, 0};
  }
  return status;
}

/* Inputs with the same total stay in their order. */
static void sort(table *t) {
  for (size_t i = 0; i < t->d; i++) {
    size_t place = i;
    while (place > 0 && t->out.total[t->order[place - 1]] < t->out.total[i]) {
      t->order[place] = t->order[place - 1];
      place--;
    }
    t->order[place] = i;
  }
}

/* ---- as JSON --------------------------------------------------------------------------------------------------- */

static void put_input(cli_json *inputs, const char *name, const table *t, size_t j) {
  static const char *const keys[COLUMNS] = {"first", "first_lower", "first_upper",
                                            "total", "total_lower", "total_upper"};
  cli_json input = cli_json_begin();
  for (size_t i = 0; i < COLUMNS; i++) {
    cli_json_number(&input, keys[i], t->values[i * t->d + j]);
  }
  cli_json_object(inputs, name, &input);
}

static oatgp_status print_json(cli *c, const oatgp_model *model, const oatgp_indices_of *of, const table *t) {
  cli_json json = cli_json_begin(), inputs = cli_json_begin();
  cli_json_number(&json, "sd", t->out.sd);
  cli_json_number(&json, "interval", of->interval);
  cli_json_whole(&json, "draws", (int64_t)of->draws);
  cli_json_whole(&json, "seed", (int64_t)of->seed);
  for (size_t j = 0; j < t->d; j++) {
    put_input(&inputs, oatgp_model_input_name(model, j), t, j);
  }
  cli_json_object(&json, "inputs", &inputs);
  return cli_json_end(c, &json, stdout, true);
}

/* ---- as text --------------------------------------------------------------------------------------------------- */

/* '#' for the share of the input alone, '-' up to its total. */
static void print_bar(double first, double total) {
  const double ends[] = {first, total > first ? total : first};
  int at = 0;
  for (size_t i = 0; i < 2; i++) {
    const double end = ends[i] > 1 ? 1 : ends[i];
    for (; at < (int)(end * BAR + 0.5); at++) {
      putchar(i == 0 ? '#' : '-');
    }
  }
}

static void print_table(const oatgp_model *model, const oatgp_indices_of *of, const table *t) {
  int width = 5;
  for (size_t j = 0; j < t->d; j++) {
    const int length = (int)cli_name_width(oatgp_model_input_name(model, j));
    width = length > width ? length : width;
  }
  width = width < MOST_NAME ? width : MOST_NAME;
  printf("Shares of the variance of the function, with bands of %g %%; its standard deviation is %.4g\n",
         100 * of->interval, t->out.sd);
  printf("%-*s  %-22s  %-22s  %s\n", width, "input", "first (alone)", "total (and together)",
         "# alone, - together with others");
  for (size_t i = 0; i < t->d; i++) {
    const size_t j = t->order[i];
    const double *const v = t->values + j;
    cli_print_name(oatgp_model_input_name(model, j), (size_t)width);
    printf("  %6.3f %6.3f to %5.3f  %6.3f %6.3f to %5.3f  ", v[0], v[t->d], v[2 * t->d], v[3 * t->d], v[4 * t->d],
           v[5 * t->d]);
    print_bar(v[0], v[3 * t->d]);
    printf("\n");
  }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL;
  oatgp_data *data = NULL;
  oatgp_model_info info;
  oatgp_indices_of of = {.seed = (uint64_t)c->settings.seed};
  table t = {0};
  TRY(cli_read_interval(c, &of.interval));
  TRY(cli_read_count(c, "draws", c->options.draws, 2, &of.draws));
  TRY(oatgp_model_load(c->ctx, c->positionals[MODEL], &model));
  if (c->positional_count > DATA) {
    TRY(oatgp_data_read_for(c->ctx, c->positionals[DATA], model, &c->settings, -1, &data));
  }
  of.over = data;
  oatgp_model_get_info(model, &info);
  TRY(make_table(c, info.d, &t));
  TRY(oatgp_sensitivity(c->ctx, model, &of, &t.out));
  sort(&t);
  if (c->options.json) {
    TRY(print_json(c, model, &of, &t));
  } else {
    cli_clear_line(c);
    print_table(model, &of, &t);
  }
done:
  free(t.values);
  free(t.order);
  oatgp_data_free(data);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_sensitivity = {
    .name = "sensitivity",
    .summary = "measure how much the function varies with each input: Sobol' indices with bands",
    .positionals = {"MODEL", "[DATA]"},
    .usage = "[--draws N] [OPTIONS]",
    .details =
        "Inputs vary independently of each other: uniformly over their ranges in the fit (all levels of a category are "
        "equally likely) or, with DATA, as they do in these rows. 'first' is the share of the variance of the function "
        "that an input explains alone; 'total' is the share that it explains alone or together with others. An input "
        "whose total is 0 has no effect; an input whose total is above its first interacts with others. Both are "
        "medians over functions drawn from the posterior. The bands come from the quantiles over these draws, which "
        "include the error of the integration, and from how the indices of the mean change when groups of rows (of a "
        "sparse model: knots) are left out. For a model with neighbours, or with a linear or polynomial covariance, "
        "the indices are those of the mean, and a note says so. With a likelihood other than the Gaussian, they "
        "describe the latent function.",
    .example =
        "  oatgp sensitivity model.oatgp\n"
        "  oatgp sensitivity model.oatgp train.csv --draws 500 --json",
    .run = run,
};
