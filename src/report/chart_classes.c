/* The map of classes for a model of two inputs: the probability of the second of two classes, or the most likely level,
 * with the rows on it. */
#include <math.h>
#include <stdio.h>

#include "data/data.h"
#include "predict/predict.h"
#include "report/chart.h"
#include "report/map.h"

enum { MOST_CLASSES = 8, STEPS = 6, ALL = OAT_CELLS * OAT_CELLS };

/* Probabilities at which the colour steps begin; the first three are on the side of class 0. */
static const double from[STEPS + 1] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};

static bool suits(const oat_facts *f) { return f->model->likelihood != NULL && f->n_classes > 0; }

static size_t panels(const oat_facts *f) { return f->d == 2 && f->n_classes <= MOST_CLASSES; }

/* The lowest level of all cells. */
static size_t lowest_of(const unsigned char *of_cell) {
  size_t lowest = of_cell[0];
  for (size_t i = 1; i < ALL; i++) {
    lowest = of_cell[i] < lowest ? of_cell[i] : lowest;
  }
  return lowest;
}

/* ---- two classes ----------------------------------------------------------------------------------------------- */

static oatgp_status draw_probability(const oat_facts *f, const oatgp_data *cells, oat_scratch *memory, oat_panel *out) {
  static const double opacity[STEPS] = {0.45, 0.3, 0.12, 0.12, 0.52, 0.75};
  double *const p = oat_take_doubles(memory, ALL, 1);
  unsigned char *const of_cell = oat_take(memory, ALL, 1);
  PASS_ON(memory->status);
  PASS_ON(oat_predict_answers(f->ctx, f->model, cells, &(oatgp_answers){.mean = p}));
  for (size_t i = 0; i < ALL; i++) {
    while (of_cell[i] + 1 < STEPS && p[i] >= from[of_cell[i] + 1]) {
      of_cell[i]++;
    }
  }
  const size_t first = lowest_of(of_cell);
  for (size_t step = first; step < STEPS; step++) {
    char label[160];
    snprintf(label, sizeof label, "%s%s\xe2\x80\x93%s", step == first ? "probability " : "",
             oat_value(from[step], 3).text, oat_value(from[step + 1], 3).text);
    const oat_style style = {
        .colour = step < STEPS / 2 ? OAT_ORANGE : OAT_BLUE, .opacity = opacity[step], .label = label};
    PASS_ON(oat_map_draw(f, of_cell, step, &style, out));
  }
  return OATGP_OK;
}

/* ---- levels ---------------------------------------------------------------------------------------------------- */

static oatgp_status draw_likeliest(const oat_facts *f, const oatgp_data *cells, oat_scratch *memory, oat_panel *out) {
  const size_t levels = f->n_classes;
  double *const p = oat_take_doubles(memory, ALL, levels);
  unsigned char *const of_cell = oat_take(memory, ALL, 1);
  PASS_ON(memory->status);
  PASS_ON(oat_predict_answers(f->ctx, f->model, cells, &(oatgp_answers){.levels = p}));
  for (size_t i = 0; i < ALL * levels; i++) {
    const size_t cell = i / levels;
    if (p[i] > p[cell * levels + of_cell[cell]]) {
      of_cell[cell] = (unsigned char)(i % levels);
    }
  }
  for (size_t level = 0; level < levels; level++) {
    const oat_style style = {
        .colour = OAT_BLUE, .opacity = 0.06 + 0.74 * (double)level / (double)(levels - 1), .label = f->classes[level]};
    PASS_ON(oat_map_draw(f, of_cell, level, &style, out));
  }
  return OATGP_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The rows of a class that are drawn, with a shape for each class. */
static oatgp_status draw_class(const oat_facts *f, size_t class, oat_panel *out) {
  static const oat_shape shapes[MOST_CLASSES] = {OAT_RING,     OAT_CIRCLE,        OAT_CROSS, OAT_SQUARE,
                                                 OAT_TRIANGLE, OAT_TRIANGLE_DOWN, OAT_PLUS,  OAT_DIAMOND};
  oat_string label = {.ctx = f->ctx};
  oat_scratch memory = {.ctx = f->ctx};
  double *const x = oat_take_doubles(&memory, f->n_shown, 1), *const y = oat_take_doubles(&memory, f->n_shown, 1);
  double *const number = oat_take_doubles(&memory, f->n_shown, 1);
  size_t n = 0;
  oatgp_status status;
  TRY(memory.status);
  for (size_t i = 0; i < f->n_shown; i++) {
    const size_t row = f->shown[i];
    if (f->data->y[row] == (double)class) {
      x[n] = f->input[0][row];
      y[n] = f->input[1][row];
      number[n++] = (double)row + 1;
    }
  }
  oat_string_print(&label, "row: %s", f->classes[class]);
  TRY(label.status);
  const oat_style style = {
      .colour = OAT_INK, .shape = shapes[class], .size = 3.2, .opacity = 0.75, .label = label.text};
  TRY(n > 0 ? oat_panel_numbered(out, &style, n, (const double *const[]){x, y}, number) : OATGP_OK);
done:
  oat_string_free(&label);
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  oat_scratch memory = {.ctx = f->ctx};
  oatgp_data *cells = NULL;
  oatgp_status status;
  (void)panel;
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->full_name[0]}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->full_name[1]}));
  TRY(oat_map_rows(f, &memory, &cells));
  TRY(oat_facts_two_classes(f) ? draw_probability(f, cells, &memory, out) : draw_likeliest(f, cells, &memory, out));
  for (size_t class = 0; f->data != NULL && f->data->y != NULL && class < f->n_classes; class ++) {
    TRY(draw_class(f, class, out));
  }
done:
  oatgp_data_free(cells);
  oat_scratch_free(&memory);
  return status;
}

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  if (oat_facts_two_classes(f)) {
    oat_string_print(out, "Probability of %s: %s and %s", f->classes[1], f->name[0], f->name[1]);
  } else {
    oat_string_print(out, "Likeliest %s: %s and %s", f->target, f->name[0], f->name[1]);
  }
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  (void)panel;
  if (oat_facts_two_classes(f)) {
    oat_string_print(out,
                     "Where the model finds %s more likely (blue) and where %s (orange). The stronger the colour, the "
                     "more certain the model. ",
                     f->classes[1], f->classes[0]);
  } else {
    oat_string_print(
        out,
        "The most likely level of %s over the range of the inputs. The stronger the colour, the higher the level. ",
        f->target);
  }
  if (f->data != NULL && f->data->y != NULL) {
    oat_string_print(out, "Points are the rows; for %s %% of them the most likely class is the observed one.",
                     oat_number(100 * f->scores.accuracy, 3).text);
  } else {
    oat_string_print(out, "It is over %s and %s.", f->name[0], f->name[1]);
  }
  oat_tell_thinned(f, out);
}

const oat_chart oat_chart_classes = {
    .name = "classes",
    .help = "for classes: a map of their probability, or of the most likely class, over two inputs, with the rows",
    .suits = suits,
    .wants = "classes or levels",
    .why = "a map of classes needs two inputs and shows at most 8 classes",
    .tall = true,
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
