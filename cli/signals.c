/* Signals that ask for an end. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

/* The one thing a signal handler may write. */
static volatile sig_atomic_t caught = 0;

static void on_signal(int number) {
  caught = number;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

void cli_signals_catch(int restart) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

int cli_signals_caught(void) { return caught; }
