/* Progress of a fit on standard error: a live line on a terminal, a line now and then elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli.h"

typedef struct cli_progress {
  cli *c;
  bool terminal;
  double begin, next; /* seconds: when the fit began, when the next line is due */
  double pause;       /* seconds between lines */
  double last_gain;   /* of the latest knot that was kept */
} cli_progress;

void cli_progress_begin(cli_progress *progress, cli *c);
void cli_progress_show(cli_progress *progress, const oatgp_event *event);
void cli_progress_end(cli_progress *progress);

#endif
