/* See results.h. */
#include "results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/memory.h"

static const char *const number_names[R_NUMBERS] = {
#define X(name, text) text,
    RESULT_NUMBERS(X)
#undef X
};

enum { LINE_LENGTH = 1024, PATH_LENGTH = 4096 };

void results_free(results *r) {
  free(r->row);
  free(r->facts);
  free(r->grown);
  *r = (results){.ctx = r->ctx};
}

oatgp_status results_add(results *r, const result *row) {
  const oatgp_status status = oat_grow(r->ctx, r->count + 1, sizeof *r->row, &r->capacity, &r->row);
  if (status == OATGP_OK) {
    r->row[r->count++] = *row;
  }
  return status;
}

oatgp_status results_add_growth(results *r, const growth *step) {
  const oatgp_status status = oat_grow(r->ctx, r->grown_count + 1, sizeof *r->grown, &r->grown_capacity, &r->grown);
  if (status == OATGP_OK) {
    r->grown[r->grown_count++] = *step;
  }
  return status;
}

static fact *find_fact(const results *r, const char *name) {
  for (size_t i = 0; i < r->fact_count; i++) {
    if (strcmp(r->facts[i].name, name) == 0) {
      return &r->facts[i];
    }
  }
  return NULL;
}

oatgp_status results_set_fact(results *r, const char *name, double value) {
  fact *f = find_fact(r, name);
  if (f == NULL) {
    const oatgp_status status = oat_grow(r->ctx, r->fact_count + 1, sizeof *r->facts, &r->fact_capacity, &r->facts);
    if (status != OATGP_OK) {
      return status;
    }
    f = &r->facts[r->fact_count++];
    snprintf(f->name, sizeof f->name, "%s", name);
  }
  f->value = value;
  return OATGP_OK;
}

double results_fact(const results *r, const char *name) {
  const fact *f = find_fact(r, name);
  return f == NULL ? NAN : f->value;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Each kind of line is written by one function and read by another, with the header that belongs to it. */
typedef struct table {
  const char *file;
  void (*header)(FILE *out);
  void (*lines)(const results *r, FILE *out);
  oatgp_status (*read)(results *r, char **cell, size_t cells);
} table;

static void print_number(FILE *out, double value) {
  if (isnan(value)) {
    fprintf(out, ",");
  } else {
    fprintf(out, ",%.10g", value);
  }
}

static void rows_header(FILE *out) {
  fprintf(out, "set,run,model,preset,stop");
  for (size_t j = 0; j < R_NUMBERS; j++) {
    fprintf(out, ",%s", number_names[j]);
  }
}

static void rows_lines(const results *r, FILE *out) {
  for (size_t i = 0; i < r->count; i++) {
    const result *row = &r->row[i];
    fprintf(out, "%s,%d,%s,%s,%s", row->key.set, row->key.run, row->key.model, row->key.preset, row->stop);
    for (size_t j = 0; j < R_NUMBERS; j++) {
      print_number(out, row->number[j]);
    }
    fprintf(out, "\n");
  }
}

static double to_number(const char *text) { return *text == '\0' ? NAN : strtod(text, NULL); }

#define COPY(to, from) snprintf((to), sizeof(to), "%s", (from))

static key read_key(char **cell) {
  key k = {.run = atoi(cell[1])};
  COPY(k.set, cell[0]);
  COPY(k.model, cell[2]);
  COPY(k.preset, cell[3]);
  return k;
}

static oatgp_status rows_read(results *r, char **cell, size_t cells) {
  if (cells != 5 + R_NUMBERS) {
    return oat_fail(r->ctx, OATGP_DATA, "a line of results.csv has %zu cells, not %d: run script/paper again", cells,
                    5 + R_NUMBERS);
  }
  result row = {.key = read_key(cell)};
  COPY(row.stop, cell[4]);
  for (size_t j = 0; j < R_NUMBERS; j++) {
    row.number[j] = to_number(cell[5 + j]);
  }
  return results_add(r, &row);
}

static void growth_header(FILE *out) { fprintf(out, "set,run,model,preset,knots,objective,seconds"); }

static void growth_lines(const results *r, FILE *out) {
  for (size_t i = 0; i < r->grown_count; i++) {
    const growth *g = &r->grown[i];
    fprintf(out, "%s,%d,%s,%s,%d,%.10g,%.6g\n", g->key.set, g->key.run, g->key.model, g->key.preset, g->knots,
            g->objective, g->seconds);
  }
}

static oatgp_status growth_read(results *r, char **cell, size_t cells) {
  if (cells != 7) {
    return oat_fail(r->ctx, OATGP_DATA, "a line of growth.csv has %zu cells, not 7: run script/paper again", cells);
  }
  const growth g = {
      .key = read_key(cell), .knots = atoi(cell[4]), .objective = to_number(cell[5]), .seconds = to_number(cell[6])};
  return results_add_growth(r, &g);
}

static void facts_header(FILE *out) { fprintf(out, "fact,value"); }

static void facts_lines(const results *r, FILE *out) {
  for (size_t i = 0; i < r->fact_count; i++) {
    fprintf(out, "%s", r->facts[i].name);
    print_number(out, r->facts[i].value);
    fprintf(out, "\n");
  }
}

static oatgp_status facts_read(results *r, char **cell, size_t cells) {
  if (cells != 2) {
    return oat_fail(r->ctx, OATGP_DATA, "a line of facts.csv has %zu cells, not 2: run script/paper again", cells);
  }
  return results_set_fact(r, cell[0], to_number(cell[1]));
}

/* Texts without commas and ends of lines, so that they stay one cell. */
static void about_header(FILE *out) { fprintf(out, "about,text"); }

static void print_text(FILE *out, const char *name, const char *text) {
  fprintf(out, "%s,", name);
  for (; *text != '\0'; text++) {
    fputc(*text == ',' || *text == '\n' ? ' ' : *text, out);
  }
  fputc('\n', out);
}

static void about_lines(const results *r, FILE *out) {
  print_text(out, "commit", r->commit);
  print_text(out, "machine", r->machine);
}

static oatgp_status about_read(results *r, char **cell, size_t cells) {
  if (cells != 2) {
    return oat_fail(r->ctx, OATGP_DATA, "a line of about.csv has %zu cells, not 2: run script/paper again", cells);
  }
  if (strcmp(cell[0], "commit") == 0) {
    COPY(r->commit, cell[1]);
  } else {
    COPY(r->machine, cell[1]);
  }
  return OATGP_OK;
}

static const table tables[] = {{"results.csv", rows_header, rows_lines, rows_read},
                               {"growth.csv", growth_header, growth_lines, growth_read},
                               {"facts.csv", facts_header, facts_lines, facts_read},
                               {"about.csv", about_header, about_lines, about_read}};
enum { TABLES = sizeof tables / sizeof *tables };

static oatgp_status write_table(const results *r, const table *t, const char *folder) {
  char path[PATH_LENGTH];
  snprintf(path, sizeof path, "%s/%s", folder, t->file);
  oat_file file = {0};
  const oatgp_status status = oat_file_open(r->ctx, path, &file);
  if (status != OATGP_OK) {
    return status;
  }
  t->header(file.stream);
  fprintf(file.stream, "\n");
  t->lines(r, file.stream);
  return oat_file_close(r->ctx, &file, OATGP_OK);
}

oatgp_status results_write(const results *r, const char *folder) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < TABLES && status == OATGP_OK; i++) {
    status = write_table(r, &tables[i], folder);
  }
  return status;
}

/* Splits a line at its commas, in place. */
static size_t split(char *line, char **cell, size_t most) {
  size_t count = 0;
  line[strcspn(line, "\r\n")] = '\0';
  while (line != NULL && count < most) {
    cell[count++] = line;
    line = strchr(line, ',');
    if (line != NULL) {
      *line++ = '\0';
    }
  }
  return count;
}

static oatgp_status read_table(results *r, const table *t, const char *folder) {
  char path[PATH_LENGTH], line[LINE_LENGTH], *cell[R_NUMBERS + 8];
  snprintf(path, sizeof path, "%s/%s", folder, t->file);
  FILE *in = fopen(path, "r");
  if (in == NULL) {
    return oat_fail(r->ctx, OATGP_READ, "cannot read '%s': run script/paper without --report first", path);
  }
  oatgp_status status = OATGP_OK;
  for (bool header = true; status == OATGP_OK && fgets(line, sizeof line, in) != NULL; header = false) {
    if (!header) {
      const size_t cells = split(line, cell, R_NUMBERS + 8);
      status = t->read(r, cell, cells);
    }
  }
  fclose(in);
  return status;
}

oatgp_status results_read(results *r, const char *folder) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < TABLES && status == OATGP_OK; i++) {
    status = read_table(r, &tables[i], folder);
  }
  return status;
}

/* ---- questions ------------------------------------------------------------------------------------------------- */

static bool fits(const key *k, pick p) {
  return strcmp(k->set, p.set) == 0 && (p.model == NULL || strcmp(k->model, p.model) == 0) &&
         strcmp(k->preset, p.preset) == 0;
}

const result *results_row(const results *r, pick p, int run) {
  for (size_t i = 0; i < r->count; i++) {
    if (r->row[i].key.run == run && fits(&r->row[i].key, p)) {
      return &r->row[i];
    }
  }
  return NULL;
}

bool results_has(const results *r, pick p) {
  for (size_t i = 0; i < r->count; i++) {
    if (fits(&r->row[i].key, p)) {
      return true;
    }
  }
  return false;
}

typedef struct summary {
  double sum, least, most;
  size_t count;
} summary;

static summary summarise(const results *r, pick p, int number) {
  summary s = {.least = INFINITY, .most = -INFINITY};
  for (size_t i = 0; i < r->count; i++) {
    if (fits(&r->row[i].key, p)) {
      const double value = r->row[i].number[number];
      s.sum += value;
      s.least = fmin(s.least, value);
      s.most = fmax(s.most, value);
      s.count++;
    }
  }
  return s.count == 0 || isnan(s.sum) ? (summary){NAN, NAN, NAN, 1} : s;
}

double results_mean(const results *r, pick p, int number) {
  const summary s = summarise(r, p, number);
  return s.sum / (double)s.count;
}

double results_least(const results *r, pick p, int number) { return summarise(r, p, number).least; }

double results_most(const results *r, pick p, int number) { return summarise(r, p, number).most; }

bool results_grown(const results *r, pick p, int run, growth *step) {
  for (size_t i = 0; i < r->grown_count; i++) {
    const growth *g = &r->grown[i];
    if (g->key.run == run && g->knots == step->knots && fits(&g->key, p)) {
      *step = *g;
      return true;
    }
  }
  return false;
}
