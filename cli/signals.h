/* A first SIGINT, SIGTERM or SIGHUP asks for an end in good order; a second one has its usual effect. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* At the beginning of main, in the thread that will do the work: signals that end the process come to it. */
void cli_signals_begin(void);
/* Whether these wait, for as long as something must be tidied up. */
void cli_signals_hold(bool hold);
/* From now on. With `restart` a read or write that is waiting goes on, else it fails. */
void cli_signals_catch(int restart);
/* The first signal that came, 0 if there was none. */
int cli_signals_caught(void);

#endif
