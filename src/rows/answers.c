/* Targets that are not Gaussian: their sites, and the log likelihood of a constant f. */
#include <math.h>
#include <string.h>

#include "rows/layout.h"

enum { MOST_STEPS = 100, PART = 256 };
#define LONGEST_STEP 2.0
#define SHORTEST_STEP 1e-9

/* The log density of all answers at f = base + level, with its slope and curvature in the level. */
typedef struct density {
  double value, slope, curvature;
} density;

static void add_part(const oat_row_block *b, size_t first, size_t n, const oat_response *response, double level,
                     density *sum) {
  const double *base = b->answer + OAT_ANSWER_BASE * b->ldr + first,
               *times = b->answer + OAT_ANSWER_TIMES * b->ldr + first;
  double m[PART], s[PART], value[PART], dm[PART], ds[PART];
  for (size_t i = 0; i < n; i++) {
    m[i] = base[i] + level;
    s[i] = 0;
  }
  const oat_answers answers = {n, b->answer + OAT_ANSWER_Y * b->ldr + first,
                               b->answer + OAT_ANSWER_TRIALS * b->ldr + first};
  oat_response_expect(response, &answers, &(oat_latent){m, s}, &(oat_expectations){.value = value, .dm = dm, .ds = ds});
  for (size_t i = 0; i < n; i++) {
    sum->value += times[i] * value[i];
    sum->slope += times[i] * dm[i];
    sum->curvature += 2 * times[i] * ds[i];
  }
}

static density density_at(const oat_rows *rows, const oat_response *response, double level) {
  oat_rows kept = *rows; /* without the inputs, which may be in files */
  density sum = {0};
  kept.feed = NULL;
  OAT_IN_ORDER(&kept, b) {
    for (size_t first = 0; first < b.n; first += PART) {
      add_part(&b, first, b.n - first < PART ? b.n - first : PART, response, level, &sum);
    }
  }
  return sum;
}

/* Newton's method with steps of limited length, which are shortened if the density falls. */
double oat_rows_constant_answers(const oat_rows *rows, const oat_response *response, double *best) {
  density now = density_at(rows, response, 0);
  double level = 0, most = LONGEST_STEP;
  for (int i = 0; (rows->p > 0 || best != NULL) && i < MOST_STEPS && most > SHORTEST_STEP; i++) {
    const double newton = now.curvature < 0 ? -now.slope / now.curvature : copysign(most, now.slope);
    const double step = fmin(fmax(newton, -most), most);
    const density next = density_at(rows, response, level + step);
    if (fabs(step) <= SHORTEST_STEP) {
      break;
    }
    if (next.value >= now.value) {
      level += step;
      now = next;
    } else {
      most = fabs(step) / 4;
    }
  }
  if (best != NULL) {
    *best = level;
  }
  return now.value;
}

void oat_rows_get_sites(const oat_rows *rows, double *sites) {
  memcpy(sites, rows->r, rows->n * sizeof *sites);
  memcpy(sites + rows->n, rows->noise_scale, rows->n * sizeof *sites);
}

void oat_rows_set_sites(oat_rows *rows, const double *sites) {
  memcpy(oat_writable(rows, rows->r), sites, rows->n * sizeof *sites);
  memcpy(oat_writable(rows, rows->noise_scale), sites + rows->n, rows->n * sizeof *sites);
}
