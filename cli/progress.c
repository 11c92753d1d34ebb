/* Progress on standard error. */
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"
#include "trace.h"

#define FIRST_LIVE 0.5 /* seconds until the first line on a terminal; shorter work is not reported */
#define FIRST_LOG 2.0  /* elsewhere */
#define LIVE_PAUSE 0.1
#define LOG_PAUSE 10.0
#define MEASURED 0.3 /* seconds after which a rate is known */
#define USUAL_WIDTH 80
#define LONGEST_LINE 512

/* ---- the terminal ---------------------------------------------------------------------------------------------- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether it is a terminal that can return to the beginning of a line. */
static bool is_terminal(void) {
  const char *kind = getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != NULL && *kind != '\0' && strcmp(kind, "dumb") != 0;
}

/* Checked for each line, because windows change. */
static int terminal_width(void) {
  struct winsize size = {0};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : USUAL_WIDTH;
}

/* A job in the background does not write to the terminal. */
static bool in_background(void) {
  const pid_t group = tcgetpgrp(STDERR_FILENO);
  return group > 0 && group != getpgrp();
}

/* The length of the line that fits: whole pieces, if at least one does. */
static int letters_that_fit(const char *line, int room) {
  int fits = 0;
  for (const char *comma = strstr(line, ", "); comma != NULL && comma - line <= room; comma = strstr(comma + 1, ", ")) {
    fits = (int)(comma - line);
  }
  const int length = (int)strlen(line);
  return length <= room ? length : fits > 0 ? fits : room;
}

static void print_line(cli *c, const char *line) {
  cli_progress *p = &c->progress;
  if (!p->terminal) {
    fprintf(stderr, "oatgp: %s\n", line);
  } else if (!in_background()) {
    const int room = terminal_width() - 1, length = letters_that_fit(line, room),
              before = p->shown < room ? p->shown : room;
    fprintf(stderr, "\r%.*s%*s", length, line, before > length ? before - length : 0, "");
    fflush(stderr);
    p->shown = length > 0 ? length : 1;
  }
}

void cli_clear_line(cli *c) {
  if (c->progress.shown > 0) {
    fprintf(stderr, "\r%*s\r", c->progress.shown, "");
    fflush(stderr);
    c->progress.shown = 0;
  }
}

/* Whether a line is due; then the next one is due after a pause, which grows with the time that has passed where lines
 * stay. */
static bool is_due(cli *c) {
  cli_progress *p = &c->progress;
  const double now = seconds_now(), log_pause = 0.1 * (now - p->begin);
  const bool due = !c->options.quiet && now >= p->next;
  if (due) {
    p->next = now + (p->terminal ? LIVE_PAUSE : log_pause > LOG_PAUSE ? log_pause : LOG_PAUSE);
  }
  return due;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

typedef struct words {
  char text[40];
} words;

/* 950, 12.3k, 4.56M */
static words count(double value) {
  static const char *const suffixes[] = {"", "k", "M", "G", "T"};
  size_t i = 0;
  words w;
  for (; value >= 999.5 && i + 1 < sizeof suffixes / sizeof suffixes[0]; i++) {
    value /= 1000;
  }
  const int digits = (i == 0 && value >= 10) || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(w.text, sizeof w.text, "%.*f%s", digits, value, suffixes[i]);
  return w;
}

static words duration(double seconds) {
  words w;
  const long whole = (long)(seconds + 0.5);
  if (seconds < 59.95) {
    snprintf(w.text, sizeof w.text, "%.1f s", seconds);
  } else if (whole < 3600) {
    snprintf(w.text, sizeof w.text, "%ld min %02ld s", whole / 60, whole % 60);
  } else {
    snprintf(w.text, sizeof w.text, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
  }
  return w;
}

static void add(char *line, const char *before, const char *text, const char *after) {
  const size_t used = strlen(line);
  snprintf(line + used, LONGEST_LINE - used, "%s%s%s", before, text, after);
}

/* ---- progress of the library ----------------------------------------------------------------------------------- */

/* The amount done in a second; 0 as long as it is not known. */
static double rate_of(const cli_pace *p) {
  const double time = seconds_now() - p->since;
  return time > MEASURED && p->done > p->from ? (p->done - p->from) / time : 0;
}

/* Whether a new piece of work begins here, from which its rate is measured. */
static bool follow(cli_pace *p, const char *what, double done) {
  const bool begins = strcmp(what, p->what) != 0 || done < p->done;
  if (begins) {
    snprintf(p->what, sizeof p->what, "%s", what);
    p->since = seconds_now();
    p->from = done;
  }
  p->done = done;
  return begins;
}

/* "reading: 45 % of 1.20G bytes, 310M bytes/s, 2.1 s left, 1.9 s so far". Rounds may end long before their limit, so
 * they have no expected time. */
static void show_work(cli *c, const char *what, double done, double total) {
  const cli_progress *p = &c->progress;
  const char *unit = oatgp_progress_unit(what);
  const bool rounds = strcmp(unit, "rounds") == 0;
  char line[LONGEST_LINE] = "", share[48];
  snprintf(share, sizeof share, rounds ? "%.0f of at most " : "%.0f %% of ",
           rounds || total == 0 ? done : 100 * done / total);
  add(line, p->part, what, ": ");
  add(line, total > 0 ? share : "", count(total > 0 ? total : done).text, " ");
  add(line, unit, "", "");
  const double rate = rate_of(&p->work);
  if (rate > 0) {
    add(line, ", ", count(rate).text, " ");
    add(line, unit, "/s", "");
  }
  if (rate > 0 && total > 0) {
    add(line, rounds ? ", at most " : ", ", duration((total - done) / rate).text, " left");
  }
  add(line, ", ", duration(cli_progress_seconds(c)).text, " so far");
  print_line(c, line);
}

/* The line of the optimiser or the certificate. If an evaluation takes over a second, its progress is shown. Less
 * important pieces come later. */
static void show_state(cli *c, const char *what, double share) {
  const cli_progress *p = &c->progress;
  const double left = p->deadline - seconds_now(), pace = rate_of(&p->work);
  char line[LONGEST_LINE] = "", inside[48] = "";
  if (what != NULL && p->rate < 1) {
    snprintf(inside, sizeof inside, ", %s %.0f %%", what, 100 * share);
  }
  add(line, p->part, p->state, inside);
  if (*inside != '\0' && pace > 0) {
    add(line, " at ", count(pace).text, " ");
    add(line, oatgp_progress_unit(what), "/s", "");
  }
  if (c->settings.time_limit > 0) {
    add(line, ", ", duration(left > 0 ? left : 0).text, " left");
  }
  if (p->rate > 0) {
    add(line, ", ", count(p->rate).text, " evaluations/s");
  }
  add(line, ", ", duration(cli_progress_seconds(c)).text, " so far");
  add(line, p->extra, "", "");
  print_line(c, line);
}

/* To the terminal and to the trace. */
static void tell_work(cli *c, const char *what, double done, double total) {
  if (cli_progress_seconds(c) > FIRST_LIVE) {
    cli_trace_step(c, &(cli_step){what, oatgp_progress_unit(what), done, total});
  }
  follow(&c->progress.work, what, done);
  if (!is_due(c)) {
    return;
  }
  if (*c->progress.state != '\0') {
    show_state(c, what, done / total);
  } else {
    show_work(c, what, done, total);
  }
}

void cli_progress_rows(cli *c, size_t rows, double share) {
  cli_progress *p = &c->progress;
  p->in_parts = true;
  p->rows = (double)rows;
  p->expected = share > 0 ? p->rows / share : 0;
  tell_work(c, strcmp(c->verb->name, "convert") == 0 ? "conversion" : "prediction", p->rows, p->expected);
}

/* The rows of all parts of the data are counted together, and reading a further part is not reported. The expected
 * number of rows is an estimate; the last part may go beyond it. */
static void hear(void *user, const char *what, size_t done, size_t total) {
  const cli_progress *p = &((cli *)user)->progress;
  if (p->in_parts && strcmp(what, "prediction") == 0) {
    const double rows = p->rows + (double)done;
    tell_work(user, what, rows, p->expected > 0 ? fmax(p->expected, rows) : 0);
  } else if (p->rows == 0) {
    tell_work(user, what, (double)done, (double)total);
  }
}

/* ---- progress of the monitors ---------------------------------------------------------------------------------- */

/* "restart 1, 52/80 knots, iteration 12, objective -1038.99" */
static void set_state(cli *c, const oatgp_event *event) {
  cli_progress *p = &c->progress;
  const bool grows = !p->refines && c->settings.max_knots > 0 && event->max_knots > 0;
  char restart[40] = "", most[24] = "", near[40] = "", knots[128] = "full GP";
  if (event->restart > 0) {
    snprintf(restart, sizeof restart, "restart %" PRId64 ", ", event->restart);
  }
  if (grows) {
    snprintf(most, sizeof most, "/%zu", event->max_knots);
  }
  if (event->neighbours > 0) {
    snprintf(near, sizeof near, " and %zu neighbours", event->neighbours);
  }
  if (event->kind == OATGP_EVENT_SUBSET && event->knots == 0) {
    snprintf(knots, sizeof knots, "parameters from the exact GP of %zu rows", event->rows);
  } else if (event->knots > 0) {
    snprintf(knots, sizeof knots, "%s%zu%s knots%s", p->refines ? "refining " : "", event->knots, most, near);
  }
  snprintf(p->state, sizeof p->state, "%s%s, iteration %" PRId64 ", objective %.8g", restart, knots, event->iteration,
           event->objective);
}

static void set_extra(cli_progress *p, const oatgp_event *event) {
  char gain[32] = "", best[32] = "", rounds[48] = "";
  if (p->gain > 0) {
    snprintf(gain, sizeof gain, ", last gain %.3g", p->gain);
  }
  if (event->best > event->objective) {
    snprintf(best, sizeof best, ", best %.8g", event->best);
  }
  if (event->site_rounds > 0) {
    snprintf(rounds, sizeof rounds, ", %" PRId64 " passes an evaluation", event->site_rounds);
  }
  snprintf(p->extra, sizeof p->extra, "%s%s%s", gain, best, rounds);
}

/* Only the time limit says when it will end. It counts from the beginning of the fit or the certificate, `seconds`
 * ago. */
static void show_new_state(cli *c, double seconds) {
  c->progress.deadline = seconds_now() + c->settings.time_limit - seconds;
  if (is_due(c)) {
    show_state(c, NULL, 0);
  }
}

static void show_event(cli *c, const oatgp_event *event) {
  cli_progress *p = &c->progress;
  if (follow(&p->fit, "fit", (double)event->evaluations)) {
    p->gain = 0;
    p->refines = false;
  }
  p->rate = rate_of(&p->fit);
  p->gain = event->kind == OATGP_EVENT_KEPT ? event->gain : p->gain;
  p->refines = event->kind == OATGP_EVENT_REFINE || (p->refines && event->kind == OATGP_EVENT_STEP);
  set_state(c, event);
  set_extra(p, event);
  if (event->kind == OATGP_EVENT_END) {
    p->state[0] = '\0';
  } else {
    show_new_state(c, event->seconds);
  }
}

int cli_monitor(void *user, const oatgp_event *event) {
  cli_trace_event(user, event);
  show_event(user, event);
  return cli_signals_caught() != 0;
}

/* It is also called during iterations, but the bounds change only once in each. */
int cli_bracket_monitor(void *user, const oatgp_certificate *so_far) {
  cli *c = user;
  cli_progress *p = &c->progress;
  if (so_far->iterations > p->iteration) {
    p->iteration = so_far->iterations;
    p->rate = 0;
    p->extra[0] = '\0';
    cli_trace_bracket(c, so_far);
    snprintf(p->state, sizeof p->state, "iteration %" PRId64 ", log evidence from %.8g to %.8g", p->iteration,
             so_far->lower, so_far->upper);
    show_new_state(c, so_far->seconds);
  }
  return cli_signals_caught() != 0;
}

void cli_progress_fold(cli *c, size_t number) {
  cli_progress *p = &c->progress;
  p->state[0] = p->fit.what[0] = p->work.what[0] = p->part[0] = '\0';
  if (number > 0) {
    snprintf(p->part, sizeof p->part, "fold %zu of %" PRId64 ": ", number, c->settings.folds);
  }
}

/* ---------------------------------------------------------------------------------------------------------------- */

double cli_progress_seconds(const cli *c) { return seconds_now() - c->progress.begin; }

void cli_progress_begin(cli *c) {
  const double now = seconds_now();
  c->progress = (cli_progress){.terminal = is_terminal(), .begin = now};
  c->progress.next = now + (c->progress.terminal ? FIRST_LIVE : FIRST_LOG);
  oatgp_context_set_progress(c->ctx, hear, c);
}

void cli_progress_hush(cli *c) {
  cli_clear_line(c);
  c->progress.next = HUGE_VAL;
}

void cli_progress_end(cli *c) {
  oatgp_context_set_progress(c->ctx, NULL, NULL);
  cli_clear_line(c);
}
