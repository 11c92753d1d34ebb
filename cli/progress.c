/* Progress on standard error. */
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

/* Whether a line is due; then the next one is due after a pause. */
static bool is_due(cli_progress *progress) {
  const double now = seconds_now();
  const bool due = !progress->c->options.quiet && now >= progress->next;
  if (due) {
    progress->next = now + progress->pause;
  }
  return due;
}

static void print_line(const cli_progress *progress, const char *line) {
  if (progress->terminal) {
    fprintf(stderr, "\r%-79.79s", line);
    fflush(stderr);
    progress->c->live_line = true;
  } else {
    fprintf(stderr, "oatgp: %s\n", line);
  }
}

void cli_progress_show(cli_progress *progress, const oatgp_event *event) {
  if (event->kind == OATGP_EVENT_KEPT) {
    progress->last_gain = event->gain;
  }
  if (event->kind != OATGP_EVENT_STEP || !(is_due(progress) || progress->inside)) {
    return;
  }
  progress->inside = false;
  char start[40] = "", gain[40] = "", line[512];
  if (event->restart > 0) {
    snprintf(start, sizeof start, "restart %" PRId64 ", ", event->restart);
  }
  if (progress->last_gain > 0) {
    snprintf(gain, sizeof gain, ", last gain %.3g", progress->last_gain);
  }
  snprintf(line, sizeof line, "%s%zu knots%s, iteration %" PRId64 ", objective %.8g, best %.8g, %.1f s", start, event->knots, gain,
           event->iteration, event->objective, event->best, seconds_now() - progress->begin);
  print_line(progress, line);
}

static void show_inside(void *user, const char *what, size_t done, size_t total) {
  cli_progress *progress = user;
  char line[120];
  if (is_due(progress)) {
    snprintf(line, sizeof line, "%s: %zu of %zu rows (%.0f %%), %.1f s", what, done, total, 100.0 * (double)done / (double)total,
             seconds_now() - progress->begin);
    print_line(progress, line);
    progress->inside = true;
  }
}

void cli_progress_look_inside(cli_progress *progress) { oatgp_context_set_progress(progress->c->ctx, show_inside, progress); }

void cli_progress_rows(cli_progress *progress, size_t rows) {
  char line[80];
  if (is_due(progress)) {
    snprintf(line, sizeof line, "%zu rows, %.1f s", rows, seconds_now() - progress->begin);
    print_line(progress, line);
  }
}

void cli_progress_bracket(cli_progress *progress, const oatgp_certificate *so_far) {
  char line[160];
  if (is_due(progress)) {
    snprintf(line, sizeof line, "iteration %" PRId64 ", log evidence from %.8g to %.8g, %.1f s", so_far->iterations, so_far->lower,
             so_far->upper, seconds_now() - progress->begin);
    print_line(progress, line);
  }
}

double cli_progress_seconds(const cli_progress *progress) { return seconds_now() - progress->begin; }

void cli_progress_end(cli_progress *progress) {
  oatgp_context_set_progress(progress->c->ctx, NULL, NULL);
  cli_clear_line(progress->c);
}
