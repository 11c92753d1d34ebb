/* The legend: one entry for each label, with a sample of every kind of mark that has it. */
#include "plot/figure.h"

#include <math.h>
#include <string.h>

#include "util/memory.h"

static oat_entry *entry_of(oat_key *key, const char *label) {
  for (size_t i = 0; i < key->n; i++) {
    if (strcmp(key->entries[i].label, label) == 0) {
      return &key->entries[i];
    }
  }
  key->entries[key->n].label = label;
  return &key->entries[key->n++];
}

static void collect(const oat_panel *panel, oat_key *key) {
  for (size_t i = 0; i < panel->n_marks; i++) {
    const oat_mark *const mark = &panel->marks[i];
    if (mark->style.label != NULL) {
      const oat_mark **const sample = &entry_of(key, mark->style.label)->keys[mark->kind];
      *sample = *sample != NULL ? *sample : mark;
    }
  }
}

oatgp_status oat_key_make(const oat_figure *figure, double width, oat_key *key) {
  const size_t n_panels = figure->rows * figure->columns;
  size_t n_marks = 0;
  *key = (oat_key){.cell_height = 1.5 * OAT_LABEL_SIZE};
  for (size_t i = 0; i < n_panels; i++) {
    n_marks += figure->panels[i].n_marks;
  }
  const oatgp_status status = oat_new(figure->ctx, n_marks, sizeof *key->entries, &key->entries);
  if (status != OATGP_OK) {
    return status;
  }
  for (size_t i = 0; i < n_panels; i++) {
    collect(&figure->panels[i], key);
  }
  double widest = 0;
  for (size_t i = 0; i < key->n; i++) {
    widest = fmax(widest, oat_svg_width(key->entries[i].label, OAT_LABEL_SIZE));
  }
  key->cell_width = OAT_KEY_WIDTH + 5 + widest + 9;
  const double room = floor(width / key->cell_width);
  key->columns = figure->legend.place != OAT_LEGEND_BELOW || room < 1 ? 1 : room < (double)key->n ? (size_t)room : key->n;
  key->columns = key->columns > 0 ? key->columns : 1;
  key->rows = (key->n + key->columns - 1) / key->columns;
  return OATGP_OK;
}

void oat_key_draw(oat_string *svg, const oat_key *key, double left, double top) {
  for (size_t i = 0; i < key->n; i++) {
    const double x = left + (double)(i / key->rows) * key->cell_width, y = top + ((double)(i % key->rows) + 0.5) * key->cell_height;
    for (size_t kind = 0; kind < OAT_MARK_KINDS; kind++) {
      if (key->entries[i].keys[kind] != NULL) {
        oat_mark_key(svg, key->entries[i].keys[kind], x, y);
      }
    }
    oat_svg_label(svg, &(oat_label){.text = key->entries[i].label, .x = x + OAT_KEY_WIDTH + 5, .y = y + 0.35 * OAT_LABEL_SIZE});
  }
}
