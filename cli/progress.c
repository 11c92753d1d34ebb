/* Progress of a fit on standard error. */
#include "progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_begin(cli_progress *progress, cli *c) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const double begin = seconds_now();
  *progress = (cli_progress){c, terminal, begin, begin + (terminal ? 0.5 : 2), terminal ? 0.1 : 10};
}

void cli_progress_show(cli_progress *progress, const oatgp_event *event) {
  const double now = seconds_now();
  if (event->kind == OATGP_EVENT_KEPT) {
    progress->last_gain = event->gain;
  }
  if (progress->c->options.quiet || event->kind != OATGP_EVENT_STEP || now < progress->next) {
    return;
  }
  progress->next = now + progress->pause;
  char start[40] = "", gain[40] = "", line[512];
  if (event->restart > 0) {
    snprintf(start, sizeof start, "restart %" PRId64 ", ", event->restart);
  }
  if (progress->last_gain > 0) {
    snprintf(gain, sizeof gain, ", last gain %.3g", progress->last_gain);
  }
  snprintf(line, sizeof line, "%s%zu knots%s, iteration %" PRId64 ", objective %.8g, best %.8g, %.1f s", start, event->knots, gain,
           event->iteration, event->objective, event->best, now - progress->begin);
  if (progress->terminal) {
    fprintf(stderr, "\r%-79.79s", line);
    fflush(stderr);
    progress->c->live_line = true;
  } else {
    fprintf(stderr, "oatgp: %s\n", line);
  }
}

void cli_progress_end(cli_progress *progress) { cli_clear_line(progress->c); }
