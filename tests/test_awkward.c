/* The automatic fit on random problems of awkward kinds: it never fails, finds the signal where there is one, and is
 * never worse than a constant, on rows that it has not seen, by more than 0.01 nats a row. Builds with sanitizers run
 * the first of them, valgrind none. OATGP_AWKWARD=SEED,SEED runs those between and prints them. */
#include "fits.h"

enum { TEST_ROWS = 400, MOST_INPUTS = 8, KINDS = 8 };

typedef struct problem {
  const char *kind;
  size_t n, d, copies;
  double noise; /* standard deviation; the signal's is about 1 */
  bool signal;  /* that can be found with so many rows */
  size_t relevant;
  int inputs; /* 0 uniform, 1 heavy tails, 2 clusters */
  double slope[MOST_INPUTS], phase[MOST_INPUTS], centre[5][MOST_INPUTS];
} problem;

static problem draw_problem(uint64_t seed, oat_rng *rng) {
  static const problem kinds[KINDS] = {
      {.kind = "one input", .d = 1, .noise = 0.3, .signal = true},
      {.kind = "heavy tails", .d = 2, .noise = 0.2, .signal = true, .inputs = 1},
      {.kind = "irrelevant inputs", .d = 8, .noise = 0.2, .signal = true, .relevant = 2},
      {.kind = "pure noise", .d = 3, .noise = 1},
      {.kind = "no noise", .d = 2, .noise = 0, .signal = true},
      {.kind = "clusters", .d = 3, .noise = 0.2, .signal = true, .inputs = 2},
      {.kind = "repeated rows", .d = 2, .noise = 0.3, .signal = true, .copies = 3},
      {.kind = "many rows", .d = 2, .noise = 0.3, .signal = true},
  };
  problem p = kinds[seed % KINDS];
  p.n = seed % KINDS == 7 ? 2100 : 100 + oat_rng_below(rng, 200);
  p.relevant = p.relevant > 0 ? p.relevant : p.d;
  p.copies = p.copies > 0 ? p.copies : 1;
  for (size_t j = 0; j < p.d; j++) {
    p.slope[j] = 0.7 + oat_rng_uniform(rng);
    p.phase[j] = 6 * oat_rng_uniform(rng);
    for (size_t c = 0; c < 5; c++) {
      p.centre[c][j] = 2 * oat_rng_normal(rng);
    }
  }
  return p;
}

static void draw_inputs(const problem *p, oat_rng *rng, double *x) {
  const size_t cluster = oat_rng_below(rng, 5);
  for (size_t j = 0; j < p->d; j++) {
    const double u = oat_rng_normal(rng);
    x[j] = p->inputs == 0   ? 4 * oat_rng_uniform(rng) - 2
           : p->inputs == 1 ? u / (0.2 + oat_rng_uniform(rng) * oat_rng_uniform(rng))
                            : p->centre[cluster][j] + 0.05 * u;
  }
}

static double signal_at(const problem *p, const double *x) {
  double sum = 0;
  for (size_t j = 0; p->signal && j < p->relevant; j++) {
    sum += sin(p->slope[j] * (p->inputs == 1 ? 2 * atan(x[j]) : x[j]) + p->phase[j]);
  }
  return sum;
}

/* Rows of the problem; each set of inputs `copies` times with new noise. */
static oatgp_data *draw_rows(scratch *s, const problem *p, size_t n, oat_rng *rng) {
  double *x = calloc(n * p->d, sizeof *x), *y = calloc(n, sizeof *y);
  for (size_t i = 0; i < n; i++) {
    if (i % p->copies == 0) {
      draw_inputs(p, rng, x + i * p->d);
    } else {
      memcpy(x + i * p->d, x + (i - 1) * p->d, p->d * sizeof *x);
    }
    y[i] = signal_at(p, x + i * p->d) + p->noise * oat_rng_normal(rng);
  }
  oatgp_data *data = make_data(s, n, p->d, x, y);
  free(x);
  free(y);
  return data;
}

/* Whether the fit of a problem is as good as it must be. */
static bool check_problem(scratch *s, uint64_t seed, bool print) {
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  const problem p = draw_problem(seed, &rng);
  oatgp_data *train = draw_rows(s, &p, p.n, &rng), *test = draw_rows(s, &p, TEST_ROWS, &rng);
  oatgp_settings_default(&s->settings);
  s->settings.subset_rows = seed % KINDS == 7 ? 400 : 1000; /* a subset of 400 rows, which is faster */
  oatgp_model *model = fit_sanely(s, train, NULL);
  oatgp_scores scores;
  must(s, oatgp_score(s->ctx, model, test, NULL, &scores));
  const double constant = constant_nlp(train, test);
  if (print) {
    print_message("%3d %-18s n %4zu d %zu K %4zu nlp %8.3f constant %7.3f tau %.3g stop %s\n", (int)seed, p.kind, p.n,
                  p.d, info_of(model).knots, scores.mean_nlp, constant, info_of(model).tau,
                  oatgp_stop_word(info_of(model).stop));
  }
  const bool good = scores.mean_nlp <= constant + 0.01 && (!p.signal || scores.mean_nlp < constant - 0.1);
  if (!good) {
    print_error("seed %d, %s: mean NLP %.4f, a constant's %.4f\n", (int)seed, p.kind, scores.mean_nlp, constant);
  }
  oatgp_model_free(model);
  oatgp_data_free(train);
  oatgp_data_free(test);
  return good;
}

static void random_problems(void **state) {
  if (under_valgrind()) {
    skip();
  }
  const char *range = getenv("OATGP_AWKWARD");
  unsigned long first = 1, last = amount(90, 30, 0);
  if (range != NULL) {
    char *end;
    first = strtoul(range, &end, 10);
    last = *end == ',' ? strtoul(end + 1, NULL, 10) : first;
  }
  size_t bad = 0;
  for (unsigned long seed = first; seed <= last; seed++) {
    bad += !check_problem(*state, seed, range != NULL);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {WITH_SCRATCH(random_problems)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
