/* Progress of a fit, a prediction or a certificate on standard error: a live line on a terminal, a line now and then elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli.h"

typedef struct cli_progress {
  cli *c;
  bool terminal;
  double begin, next; /* seconds: when it began, when the next line is due */
  double pause;       /* seconds between lines */
  double last_gain;   /* of the latest knot that was kept */
  bool inside;        /* the latest line told how far an evaluation was */
} cli_progress;

void cli_progress_begin(cli_progress *progress, cli *c);
/* From now on until the end: also how far an evaluation is, where one takes long. */
void cli_progress_look_inside(cli_progress *progress);
void cli_progress_show(cli_progress *progress, const oatgp_event *event);
/* So many rows are done. */
void cli_progress_rows(cli_progress *progress, size_t rows);
/* A bracket so far. */
void cli_progress_bracket(cli_progress *progress, const oatgp_certificate *so_far);
/* Since it began. */
double cli_progress_seconds(const cli_progress *progress);
void cli_progress_end(cli_progress *progress);

#endif
