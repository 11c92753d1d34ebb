/* A first SIGINT, SIGTERM or SIGHUP asks for an end in good order; a second one has its usual effect. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

/* From now on. With `restart` a read or write that is waiting goes on, else it fails. */
void cli_signals_catch(int restart);
/* Every signal that would end the process, and can be held, waits until it is released; not to be nested. */
void cli_signals_hold(void);
void cli_signals_release(void);
/* The first signal that came, 0 if there was none. */
int cli_signals_caught(void);

#endif
