/* Maps over the two inputs of a model. */
#include "report/map.h"

#include <stdlib.h>

enum { CELLS = OAT_CELLS, ALL = CELLS * CELLS };

/* The value of an input at so many cells from the lowest. */
static double at_cell(const oat_facts *f, size_t input, double cells) {
  return oat_between(f->lowest[input], f->highest[input], cells / CELLS);
}

oatgp_status oat_map_rows(const oat_facts *f, oat_scratch *memory, oatgp_data **out) {
  double *const x = oat_take_doubles(memory, ALL, 2);
  PASS_ON(memory->status);
  for (size_t i = 0; i < ALL; i++) {
    x[i] = at_cell(f, 0, (double)(i % CELLS) + 0.5);
    x[i + ALL] = at_cell(f, 1, (double)(i / CELLS) + 0.5);
  }
  return oat_model_points(f->ctx, f->model, ALL, x, out);
}

typedef struct tiles {
  size_t n;
  double left[ALL], right[ALL], low[ALL], high[ALL];
  double sides[2 * ALL];
} tiles;

/* The cells of a level, those that are side by side as one. */
static void collect(const oat_facts *f, const unsigned char *of_cell, size_t level, tiles *t) {
  t->n = 0;
  for (size_t i = 0; i < ALL; i++) {
    if (of_cell[i] != level) {
      continue;
    }
    if (t->n == 0 || i % CELLS == 0 || of_cell[i - 1] != level) {
      t->left[t->n] = at_cell(f, 0, (double)(i % CELLS));
      t->low[t->n] = at_cell(f, 1, (double)(i / CELLS));
      t->high[t->n] = at_cell(f, 1, (double)(i / CELLS + 1));
      t->n++;
    }
    t->right[t->n - 1] = at_cell(f, 0, (double)(i % CELLS + 1));
  }
  for (size_t i = 0; i < t->n; i++) {
    t->sides[i] = t->left[i];
    t->sides[t->n + i] = t->right[i];
  }
}

oatgp_status oat_map_draw(const oat_facts *f, const unsigned char *of_cell, size_t level, const oat_style *style,
                          oat_panel *out) {
  tiles *t = NULL;
  PASS_ON(oat_new(f->ctx, 1, sizeof *t, &t));
  collect(f, of_cell, level, t);
  const oatgp_status status =
      t->n > 0 ? oat_panel_tiles(out, style, t->n, t->sides, (oat_limits){t->low, t->high}) : OATGP_OK;
  free(t);
  return status;
}
