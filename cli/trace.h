/* --trace: what progress shows to people, as one JSON object a line, for programs. Each has "event", and what belongs to it. A trace that
 * cannot be written is given up with a warning; the work goes on. Without --trace these do nothing. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli.h"

/* How far the library is. */
typedef struct cli_step {
  const char *what, *unit;
  double done, total; /* total 0: not known */
} cli_step;

oatgp_status cli_trace_open(cli *c);
void cli_trace_event(cli *c, const oatgp_event *event);
void cli_trace_step(cli *c, const cli_step *step);
void cli_trace_bracket(cli *c, const oatgp_certificate *so_far);
void cli_trace_fold(cli *c, const oatgp_fold *fold);
void cli_trace_close(cli *c);

#endif
