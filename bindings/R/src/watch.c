/* What R sees of a fit while it goes on: a line in the console, and whether the user wants it to end. */
#include <stdio.h>

#include "glue.h"

#include <R_ext/Print.h>
#include <R_ext/Utils.h>

#include "util/clock.h"

static const double look_pause = 0.05, line_pause = 0.2;

static void look_for_interrupt(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

/* An interrupt jumps, but no further than R_ToplevelExec. */
static bool is_interrupted(job *j) {
  const double now = oat_seconds();
  j->watched = true;
  if (!j->interrupted && now >= j->next_look) {
    j->next_look = now + look_pause;
    j->interrupted = !R_ToplevelExec(look_for_interrupt, NULL);
  }
  return j->interrupted;
}

void take_late_interrupt(job *j) {
  const bool late = !R_ToplevelExec(look_for_interrupt, NULL);
  j->interrupted = j->interrupted || late;
}

static void print_line(void *line) { REprintf("\r%-78.78s", (const char *)line); }

static bool is_line_due(job *j) {
  const double now = oat_seconds();
  if (!j->progress || now < j->next_line) {
    return false;
  }
  j->next_line = now + line_pause;
  j->line_is_open = true;
  return true;
}

int watch_fit(void *user, const oatgp_event *event) {
  job *j = user;
  if (is_line_due(j)) {
    char line[128];
    snprintf(line, sizeof line, "oatgp: %.1f s, %zu knots, %lld evaluations, objective %.6g", event->seconds,
             event->knots, (long long)event->evaluations, event->best);
    R_ToplevelExec(print_line, line);
  }
  return is_interrupted(j);
}

int watch_bracket(void *user, const oatgp_certificate *so_far) {
  job *j = user;
  if (is_line_due(j)) {
    char line[128];
    snprintf(line, sizeof line, "oatgp: %.1f s, log evidence between %.6g and %.6g", so_far->seconds, so_far->lower,
             so_far->upper);
    R_ToplevelExec(print_line, line);
  }
  return is_interrupted(j);
}
