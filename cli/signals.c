/* Signals that ask for an end. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* The one thing a signal handler may write. */
static volatile sig_atomic_t caught = 0;

/* Those that ask for an end: by the keyboard, by another process, by a terminal that is gone. */
static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
enum { ASKING = sizeof asking / sizeof *asking };

static void on_signal(int number) {
  caught = number;
  for (size_t i = 0; i < ASKING; i++) {
    signal(asking[i], SIG_DFL);
  }
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
  for (size_t i = 0; i < ASKING; i++) {
    struct sigaction now;
    if (asking[i] != SIGHUP || sigaction(SIGHUP, NULL, &now) != 0 || now.sa_handler != SIG_IGN) { /* nohup ignores it for us */
      handle(asking[i], handler, restart ? SA_RESTART : 0);
    }
  }
}

int cli_signals_caught(void) { return caught; }

/* ---- for as long as something must be tidied up ---------------------------------------------------------------------------- */

/* By handlers, not by a mask: other threads have masks of their own. */
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU};
enum { ENDING = sizeof ending / sizeof *ending };

static volatile sig_atomic_t waiting[ENDING];
static struct sigaction usual[ENDING];

static void remember(int number) {
  for (size_t i = 0; i < ENDING; i++) {
    if (ending[i] == number) {
      waiting[i] = 1;
    }
  }
}

void cli_signals_hold(void) {
  for (size_t i = 0; i < ENDING; i++) {
    waiting[i] = 0;
    sigaction(ending[i], NULL, &usual[i]);
    if (usual[i].sa_handler != SIG_IGN) {
      handle(ending[i], remember, SA_RESTART);
    }
  }
}

void cli_signals_release(void) {
  for (size_t i = 0; i < ENDING; i++) {
    sigaction(ending[i], &usual[i], NULL);
  }
  for (size_t i = 0; i < ENDING; i++) {
    if (waiting[i] != 0) {
      raise(ending[i]);
    }
  }
}
