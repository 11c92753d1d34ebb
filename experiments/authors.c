/* See authors.h. The package's numbers were measured once: sparseRGPs, R 4.2, OpenBLAS on one thread, run 1 of each
 * set. Runs that were stopped after a time are compared at the number of knots they had reached. */
#include "authors.h"

#include <math.h>
#include <string.h>

typedef struct measured {
  const char *set, *model;
  int knots;
  bool stopped;
  double seconds, objective, mnlp_twice, mnlp, srmse;
} measured;

static const measured package[] = {{"boston", "FGP", 0, false, 60, -1039.135, 2.4827, 2.2236, .35484},
                                   {"boston", "OBVk", 77, false, 376, -1039.026, 2.4829, 2.2239, .35515},
                                   {"boston", "ORVk", 80, false, 297, -1038.993, 2.4822, 2.2229, .35529},
                                   {"boston", "OBFk", 15, false, 141, -1026.41, 2.4225, 2.2255, .38249},
                                   {"boston", "SVO", 77, false, 819, -1038.980, 2.4810, 2.2216, .35526},
                                   {"airfoil", "OBVk", 35, true, 1175, -3338.08, 2.6478, 2.3941, .5146},
                                   {"airfoil", "ORVk", 19, true, 453, -3418.34, 2.7469, 2.5072, .5599},
                                   {"airfoil", "OBFk", 8, true, 468, -3413.74, 2.7274, 2.6010, .5888},
                                   {"ccpp", "OBVk", 8, true, 597, -13818.85, NAN, NAN, NAN}};

/* The result of oatgp with the paper's settings: of the whole fit, or of the fit when it had as many knots. */
static measured ours(const results *r, const measured *m) {
  const pick p = {m->set, m->model, PAPER};
  const result *row = results_row(r, p, 1);
  measured o = {.knots = 0, .seconds = NAN, .objective = NAN, .mnlp_twice = NAN, .mnlp = NAN, .srmse = NAN};
  growth step = {.knots = m->knots};
  if (m->stopped && results_grown(r, p, 1, &step)) {
    o.knots = step.knots;
    o.seconds = step.seconds;
    o.objective = step.objective;
  } else if (!m->stopped && row != NULL) {
    const double *n = row->number;
    o = (measured){.knots = isnan(n[R_KNOTS]) ? 0 : (int)n[R_KNOTS],
                   .seconds = n[R_SECONDS],
                   .objective = n[R_OBJECTIVE],
                   .mnlp_twice = n[R_MNLP_TWICE],
                   .mnlp = n[R_MNLP],
                   .srmse = n[R_SRMSE]};
  }
  return o;
}

static void write_pair(document *d, int digits, double theirs, double own) {
  document_number(d, digits, theirs);
  document_number(d, digits, own);
}

void write_authors(document *d, const results *r) {
  static const char *const heads[] = {"set",
                                      "model",
                                      "K: package",
                                      "oatgp",
                                      "seconds: package",
                                      "oatgp",
                                      "times as fast",
                                      "objective: package",
                                      "oatgp",
                                      "SRMSE: package",
                                      "oatgp",
                                      "MNLP: package",
                                      "oatgp",
                                      "noise twice: package",
                                      "oatgp"};
  document_table(d, sizeof heads / sizeof *heads, heads, false);
  for (size_t i = 0; i < sizeof package / sizeof *package; i++) {
    const measured *m = &package[i], o = ours(r, m);
    if (isnan(o.seconds)) {
      continue;
    }
    document_cell(d, "%s", m->set);
    document_cell(d, "%s%s", m->model, m->stopped ? ", stopped" : "");
    write_pair(d, 0, m->knots == 0 ? NAN : (double)m->knots, o.knots == 0 ? NAN : (double)o.knots);
    write_pair(d, 2, m->seconds, o.seconds);
    document_number(d, 0, m->seconds / o.seconds);
    write_pair(d, 3, m->objective, o.objective);
    write_pair(d, 4, m->srmse, o.srmse);
    write_pair(d, 4, m->mnlp, o.mnlp);
    write_pair(d, 4, m->mnlp_twice, o.mnlp_twice);
  }
  document_table_end(d);
}
