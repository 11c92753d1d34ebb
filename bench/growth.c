/* Knots and neighbours for more and more rows: seconds of the search for neighbours and of a value with its gradient,
 * and how much memory the process had at most. Seconds are processor seconds of all threads, because other work on the
 * machine affects them least. A line for each number of rows; with rising numbers, the memory is that of each.
 *
 * Usage: growth K,D,M,THREADS N... */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"
#include "subject.h"

static double seconds_since(clock_t began) { return (double)(clock() - began) / CLOCKS_PER_SEC; }

static double seconds_of_search(subject *s) {
  const clock_t began = clock();
  bench_check(s->ctx, oat_objective_find_neighbours(s->objective, &s->setup.start, NULL));
  return seconds_since(began);
}

static double seconds_of_gradient(subject *s) {
  const clock_t began = clock();
  subject_gradient(s);
  return seconds_since(began);
}

static double peak_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

static void measure(subject_choice choice) {
  subject s;
  subject_open(&s, &choice);
  const double search = seconds_of_search(&s), gradient = seconds_of_gradient(&s);
  printf("%8zu %11.3f %17.3f %11.0f\n", choice.shape.n, search, gradient, peak_memory());
  fflush(stdout);
  subject_close(&s);
}

int main(int argc, char **argv) {
  subject_choice choice = {.approx = "fitc", .kernel = "se-ard"};
  shape *size = &choice.shape;
  if (argc < 3 || sscanf(argv[1], "%zu,%zu,%zu,%d", &size->k, &size->d, &size->m, &choice.threads) != 4) {
    fprintf(stderr, "usage: growth K,D,M,THREADS N...\n");
    return 2;
  }
  printf("%8s %11s %17s %11s\n", "rows", "search, s", "value+gradient, s", "MiB at most");
  for (int i = 2; i < argc; i++) {
    size->n = strtoul(argv[i], NULL, 10);
    measure(choice);
  }
  return 0;
}
