/* Progress of whatever takes long, in one place for all verbs: the library says how far it is, the monitors of a fit and of a certificate
 * what they have. On a terminal that is one live line, as wide as the terminal allows; elsewhere a line now and then; both on standard
 * error. With --trace the same goes to a file as JSON (trace.c). main.c begins and ends it. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <oatgp.h>
#include <stdbool.h>

typedef struct cli cli;

typedef struct cli_progress {
  bool terminal;
  double begin, next; /* seconds: when it began, when the next line is due */
  int shown;          /* letters of the line that stands on the terminal */
  char part[48];      /* comes before everything: "fold 3 of 10: " */
  char state[240];    /* what the optimiser or the certificate has; "" outside them */
  char extra[128];    /* what it has besides */
  double rate;        /* evaluations in a second; 0 if that cannot be told */
  double deadline;    /* seconds: when the time limit ends it, if there is one */
  int64_t iteration;  /* of the certificate */
  bool refines;       /* all knots are being moved together at the end */
  double gain;        /* of the latest knot that was kept */
  double since;       /* when the rate began to be measured, */
  double from;        /* and what was done then: of `what`, or evaluations of a fit */
  char what[24];      /* the library is at */
  double done;
  bool in_parts;   /* rows are predicted some at a time: */
  double rows;     /* before those that the library is at, */
  double expected; /* in all, as far as can be told; else 0 */
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
/* So many rows have been predicted, with this share of their file (NaN: not known), and more may come. */
void cli_progress_rows(cli *c, size_t rows, double share);
/* Nothing more is shown, as the library is going to write results to the terminal. */
void cli_progress_hush(cli *c);

#endif
