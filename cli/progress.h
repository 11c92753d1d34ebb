/* Progress of long work, in one place for all verbs: the library reports how far it is, the monitors of a fit and of a
 * certificate report their state. On a terminal this is one live line, as wide as the terminal allows; otherwise a line
 * now and then. Both go to standard error. With --trace the same goes to a file as JSON (trace.c). main.c begins and
 * ends it. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <oatgp.h>
#include <stdbool.h>

typedef struct cli cli;

/* The speed of some work. */
typedef struct cli_pace {
  char what[24];
  double since; /* when it began to be measured, */
  double from;  /* and what was done then */
  double done;
} cli_pace;

typedef struct cli_progress {
  bool terminal;
  double begin, next; /* seconds: when it began, when the next line is due */
  int shown;          /* characters of the line on the terminal */
  char part[48];      /* the beginning of every line: "fold 3 of 10: " */
  char state[240];    /* the state of the optimiser or the certificate; "" outside them */
  char extra[128];    /* less important parts of it */
  double rate;        /* evaluations in a second; 0 if unknown */
  double deadline;    /* seconds: when the time limit ends it, if there is one */
  int64_t iteration;  /* of the certificate */
  bool refines;       /* all knots are being moved together at the end */
  double gain;        /* of the latest knot that was kept */
  cli_pace fit;       /* in evaluations */
  cli_pace work;      /* the library's current work */
  bool in_parts;      /* rows are predicted some at a time: */
  double rows;        /* before the current ones of the library, */
  double expected;    /* in all, if known; else 0 */
} cli_progress;

void cli_progress_begin(cli *c);
void cli_progress_end(cli *c);
/* Removes the line from the terminal, for other text. */
void cli_clear_line(cli *c);
/* Seconds since it began. */
double cli_progress_seconds(const cli *c);

/* The monitor of every fit; user is the cli. A signal ends the fit. */
int cli_monitor(void *user, const oatgp_event *event);
/* The monitor of every certificate, likewise. */
int cli_bracket_monitor(void *user, const oatgp_certificate *so_far);
/* The fit that comes next is that of fold `number` (from 1); 0: the folds are done. */
void cli_progress_fold(cli *c, size_t number);
/* So many rows have been predicted or converted, with this share of their file (NaN: not known), and more may come. */
void cli_progress_rows(cli *c, size_t rows, double share);
/* Stops the display, because the library is about to write results to the terminal. */
void cli_progress_hush(cli *c);

#endif
