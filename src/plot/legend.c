/* The legend: one entry for each label, with a sample of every kind of mark that has it. */
#include "plot/figure.h"

#include <math.h>
#include <string.h>

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

static const double indent = OAT_KEY_WIDTH + 5; /* of the label in its entry */

/* Entries one after the other, on a new line when the next does not fit. */
static void place_entries(oat_key *key, double width, bool in_lines) {
  static const double gap = 14;
  double left = 0;
  for (size_t i = 0; i < key->n; i++) {
    const double size = fmin(width, indent + oat_svg_width(key->entries[i].label, OAT_LABEL_FONT));
    if (i > 0 && (!in_lines || left + size > width)) {
      left = 0;
      key->lines++;
    }
    key->entries[i].left = left;
    key->entries[i].line = key->lines;
    key->width = fmax(key->width, left + size);
    left += size + gap;
  }
  key->lines += key->n > 0;
}

oatgp_status oat_key_make(const oat_figure *figure, oat_key *key) {
  const double width = (figure->legend.place == OAT_LEGEND_RIGHT ? 0.4 : 1) * figure->width - 10;
  const size_t n_panels = figure->rows * figure->columns;
  size_t n_marks = 0;
  *key = (oat_key){.line_height = 1.5 * OAT_LABEL_SIZE};
  for (size_t i = 0; i < n_panels; i++) {
    n_marks += figure->panels[i].n_marks;
  }
  PASS_ON(oat_new(figure->ctx, n_marks, sizeof *key->entries, &key->entries));
  for (size_t i = 0; i < n_panels; i++) {
    collect(&figure->panels[i], key);
  }
  place_entries(key, width, figure->legend.place == OAT_LEGEND_BELOW);
  return OATGP_OK;
}

void oat_key_draw(oat_string *svg, const oat_key *key, double left, double top) {
  for (size_t i = 0; i < key->n; i++) {
    const double x = left + key->entries[i].left, y = top + ((double)key->entries[i].line + 0.5) * key->line_height;
    for (size_t kind = 0; kind < OAT_MARK_KINDS; kind++) {
      if (key->entries[i].keys[kind] != NULL) {
        oat_mark_key(svg, key->entries[i].keys[kind], x, y);
      }
    }
    oat_svg_label(svg, &(oat_label){.text = key->entries[i].label,
                                    .x = x + indent,
                                    .y = y + 0.35 * OAT_LABEL_SIZE,
                                    .room = fmax(1, key->width - key->entries[i].left - indent)});
  }
}
