/* The first SIGINT, SIGTERM or SIGHUP asks for an orderly end; a second one has its usual effect. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* Call it at the beginning of main, in the thread that will do the work: signals that end the process are delivered to
 * it. */
void cli_signals_begin(void);
/* Blocks or unblocks these signals, while something must be cleaned up. */
void cli_signals_hold(bool hold);
/* Handles signals from now on. With `restart`, a waiting read or write continues; otherwise it fails. */
void cli_signals_catch(int restart);
/* The first signal that came, 0 if there was none. */
int cli_signals_caught(void);

#endif
