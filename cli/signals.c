/* Signals that ask for an end. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* The one thing a signal handler may write. */
static volatile sig_atomic_t caught = 0;

static void on_signal(int number) {
  caught = number;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

/* A signal that came just before a read would leave it waiting: it is woken every second. */
static void wake(int number) {
  (void)number;
  alarm(1);
}

static void on_signal_then_wake(int number) {
  on_signal(number);
  alarm(1);
}

static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void cli_signals_catch(int restart) {
  void (*const handler)(int) = restart ? on_signal : on_signal_then_wake;
  handle(SIGALRM, wake, 0);
  handle(SIGINT, handler, restart ? SA_RESTART : 0);
  handle(SIGTERM, handler, restart ? SA_RESTART : 0);
}

int cli_signals_caught(void) { return caught; }
