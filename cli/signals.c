/* Signals that ask the command to stop. */
#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The only type that a signal handler may write. */
static volatile sig_atomic_t caught = 0;

/* The thread that does the work and writes. Signals are delivered only to it, so that it can block them. */
static pthread_t worker;

static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static bool is_ignored(int number) {
  struct sigaction now;
  return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Passes the signal on if it reached a different thread, such as one of the BLAS. */
static bool passed_on(int number) {
  const bool elsewhere = !pthread_equal(pthread_self(), worker);
  if (elsewhere) {
    pthread_kill(worker, number);
  }
  return elsewhere;
}

/* ---- the usual effect ------------------------------------------------------------------------------------------ */

/* All signals that end a process, except those for its own faults. */
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU};
enum { ENDING = sizeof ending / sizeof *ending };

static void end(int number) {
  if (!passed_on(number)) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

void cli_signals_begin(void) {
  worker = pthread_self();
  for (size_t i = 0; i < ENDING; i++) {
    if (!is_ignored(ending[i])) {
      handle(ending[i], end, SA_RESTART);
    }
  }
}

void cli_signals_hold(bool hold) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < ENDING; i++) {
    sigaddset(&set, ending[i]);
  }
  pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* ---- an orderly end -------------------------------------------------------------------------------------------- */

/* From the keyboard, another process, a closed terminal, or a launcher or batch system that ends the job. */
static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { ASKING = sizeof asking / sizeof *asking };

static bool heard[ASKING];

static void on_signal(int number) {
  if (passed_on(number)) {
    return;
  }
  caught = number;
  for (size_t i = 0; i < ASKING; i++) {
    if (heard[i]) {
      handle(asking[i], end, SA_RESTART);
    }
  }
}

/* A signal just before a read would leave that waiting, so it is woken every second. */
static void wake(int number) {
  if (!passed_on(number)) {
    alarm(1);
  }
}

static void on_signal_then_wake(int number) {
  on_signal(number);
  alarm(1);
}

void cli_signals_catch(int restart) {
  void (*const handler)(int) = restart ? on_signal : on_signal_then_wake;
  handle(SIGALRM, wake, 0);
  for (size_t i = 0; i < ASKING; i++) {
    heard[i] = asking[i] != SIGHUP || !is_ignored(SIGHUP); /* nohup has set it to be ignored */
    if (heard[i]) {
      handle(asking[i], handler, restart ? SA_RESTART : 0);
    }
  }
}

int cli_signals_caught(void) { return caught; }
