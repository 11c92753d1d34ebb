/* --trace: the progress as one JSON object per line, for programs. Each has "event" and its data. If the trace cannot
 * be written, it ends with a warning and the work continues. Without --trace these functions do nothing. */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli.h"

/* The progress of the library. */
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
