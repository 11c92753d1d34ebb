/* Value and gradient on the GPU beside the processor: medians in milliseconds.
 *
 * Usage: gpu [--device cuda|cpu] [--threads T] [--seconds S] [--memory BYTES] [--approx MODEL] N,K,D[,M]...
 * K = 0 is the exact GP. Each shape is measured for S seconds and at least three times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "subject.h"
#include "util/clock.h"

enum { MOST_ROUNDS = 1001, LEAST_ROUNDS = 3 };

static void measure(const subject_choice *choice, double seconds) {
  static double taken[MOST_ROUNDS];
  size_t rounds = 0;
  subject s;
  const double opening = oat_seconds();
  subject_open(&s, choice);
  const double opened = oat_seconds();
  subject_gradient(&s);
  const double began = oat_seconds();
  while (rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || oat_seconds() - began < seconds)) {
    const double at = oat_seconds();
    subject_gradient(&s);
    taken[rounds++] = oat_seconds() - at;
  }
  printf(
      "{\"n\": %zu, \"k\": %zu, \"d\": %zu, \"m\": %zu, \"device\": \"%s\", \"threads\": %d, \"approx\": \"%s\", "
      "\"ms\": %.4g, "
      "\"opening_s\": %.3g, \"value\": %.17g}\n",
      choice->shape.n, choice->shape.k, choice->shape.d, choice->shape.m, choice->device, choice->threads,
      choice->approx, 1e3 * bench_median(taken, rounds), opened - opening, s.value);
  fflush(stdout);
  subject_close(&s);
}

int main(int argc, char **argv) {
  subject_choice choice = {.approx = "vfe", .kernel = "se-ard", .threads = 1, .device = "cuda"};
  double seconds = 1;
  for (int i = 1; i < argc; i++) {
    shape *s = &choice.shape;
    if (i + 1 < argc && strcmp(argv[i], "--device") == 0) {
      choice.device = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--threads") == 0) {
      choice.threads = atoi(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--seconds") == 0) {
      seconds = atof(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--memory") == 0) {
      choice.memory = (int64_t)atof(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--approx") == 0) {
      choice.approx = argv[++i];
    } else if (s->m = 0, sscanf(argv[i], "%zu,%zu,%zu,%zu", &s->n, &s->k, &s->d, &s->m) >= 3) {
      const char *approx = choice.approx;
      choice.approx = s->k == 0 ? "full" : s->m > 0 ? "fitc" : approx;
      measure(&choice, seconds);
      choice.approx = approx;
    } else {
      fprintf(stderr,
              "usage: gpu [--device cuda|cpu] [--threads T] [--seconds S] [--memory BYTES] [--approx MODEL] "
              "N,K,D[,M]...\n");
      return 2;
    }
  }
  return 0;
}
