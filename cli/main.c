/* The command oatgp: finds the verb, reads its options, runs it and turns the status into an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "oatgp_commit.h"
#include "signals.h"
#include "trace.h"

const cli_verb *const cli_verbs[] = {
    &cli_fit, &cli_predict, &cli_score,   &cli_objective, &cli_info, &cli_convert,     &cli_loo,
    &cli_cv,  &cli_update,  &cli_certify, &cli_report,    &cli_plot, &cli_sensitivity, NULL};

/* Streams that the caller has closed are opened in the wrong direction, so that no other file gets their numbers and
 * writing to them fails. */
static void fill_closed_streams(void) {
  static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int i = 0; i < 3; i++) {
    if (fcntl(i, F_GETFD) == -1 && errno == EBADF && open("/dev/null", modes[i]) != i) {
      exit(CLI_FAILED);
    }
  }
}

static const cli_verb *find_verb(const char *name) {
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    if (strcmp((*verb)->name, name) == 0) {
      return *verb;
    }
  }
  return NULL;
}

static oatgp_status refuse_verb(cli *c, const char *name) {
  char list[256] = "";
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", (*verb)->name);
  }
  if (name == NULL) {
    return cli_usage_error(c, "a verb is missing; the verbs are %s", list);
  }
  return cli_usage_error(c, "there is no verb '%s'; the verbs are %s", name, list);
}

/* The page of the command or, if one is named by argument number `at`, of a verb. */
static oatgp_status show_page(cli *c, int at, void (*all)(void), void (*one)(const cli_verb *)) {
  const cli_verb *verb = c->argument_count > at ? find_verb(c->arguments[at]) : NULL;
  if (c->argument_count <= at) {
    all();
  } else if (verb == NULL) {
    return refuse_verb(c, c->arguments[at]);
  } else {
    one(verb);
  }
  return OATGP_OK;
}

/* oatgp help [VERB], and for the installation: help --man [VERB], help --completion SHELL, help --verbs */
static oatgp_status run_help(cli *c) {
  const char *what = c->argument_count > 1 ? c->arguments[1] : "",
             *shell = c->argument_count > 2 ? c->arguments[2] : "";
  if (strcmp(what, "--man") == 0) {
    return show_page(c, 2, cli_manual, cli_manual_verb);
  }
  if (strcmp(what, "--completion") == 0) {
    return cli_completion(shell) ? OATGP_OK
                                 : cli_usage_error(c, "--completion is '%s' but must be one of bash|zsh|fish", shell);
  }
  if (strcmp(what, "--verbs") == 0) {
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
      printf("%s\n", (*verb)->name);
    }
    return OATGP_OK;
  }
  return show_page(c, 1, cli_help, cli_help_verb);
}

static void show_version(void) {
  const char *name, *value;
  printf("oatgp %s (commit %s)\n", oatgp_version(), OATGP_COMMIT);
  for (size_t i = 0; (name = oatgp_feature(i, &value)) != NULL; i++) {
    printf("%-10s%s\n", name, value);
  }
  printf("%-10s%d\n", "cores", oatgp_cores());
}

static oatgp_status work(cli *c) {
  oatgp_status status;
  oatgp_context_set_threads(c->ctx, (int)c->settings.threads);
  oatgp_context_set_memory(c->ctx, c->settings.memory);
  TRY(oatgp_context_set_device(c->ctx, c->settings.device));
  TRY(cli_check_files(c));
  TRY(cli_trace_open(c));
  cli_progress_begin(c);
  status = c->verb->run(c);
  cli_progress_end(c);
  cli_trace_close(c);
done:
  return status;
}

/* If there are several ranks, only the first reports and writes. */
static oatgp_status share_out(cli *c) {
  const bool shares = strcmp(c->verb->name, "fit") == 0 || strcmp(c->verb->name, "objective") == 0;
  if (oatgp_rank_count() > 1 && !shares) {
    return cli_usage_error(
        c, "%s runs in one process; only fit and objective share their rows among ranks; run it without mpirun",
        c->verb->name);
  }
  if (oatgp_rank() > 0) {
    c->options.quiet = 1;
    c->options.trace = c->settings.checkpoint = "";
    c->options.output = *c->options.output != '\0' ? "/dev/null" : "";
    return freopen("/dev/null", "w", stdout) != NULL ? OATGP_OK
                                                     : cli_fail(c, OATGP_WRITE, "/dev/null cannot be opened");
  }
  return OATGP_OK;
}

static oatgp_status run_verb(cli *c) {
  oatgp_status status = cli_read_options(c);
  status = status == OATGP_OK ? share_out(c) : status;
  if (status != OATGP_OK) {
    return status;
  }
  if (c->options.help) {
    cli_help_verb(c->verb);
    return OATGP_OK;
  }
  return work(c);
}

static oatgp_status run(cli *c) {
  const char *first = c->argument_count > 0 ? c->arguments[0] : NULL;
  if (first == NULL) {
    return refuse_verb(c, NULL);
  }
  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
    cli_help();
    return OATGP_OK;
  }
  if (strcmp(first, "--version") == 0) {
    show_version();
    return OATGP_OK;
  }
  if (strcmp(first, "help") == 0) {
    return run_help(c);
  }
  c->verb = find_verb(first);
  return c->verb != NULL ? run_verb(c) : refuse_verb(c, first);
}

static int exit_code(const cli *c, oatgp_status status) {
  if (status == OATGP_OK) {
    return c->interrupted ? CLI_INTERRUPTED : CLI_OK;
  }
  return status == OATGP_ARGUMENT ? CLI_USAGE : CLI_FAILED;
}

int main(int argc, char **argv) {
  cli_enter_environment(argv);
  fill_closed_streams();
  setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* a sentence is written at once, so mpirun cannot split it */
  cli_signals_begin();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files then causes an error message, too */
  signal(SIGCHLD, SIG_DFL); /* if it is ignored, the exit code of a child is not available */
  cli c = {.argument_count = argc > 0 ? argc - 1 : 0, .arguments = argv + 1, .ctx = oatgp_context_create()};
  if (c.ctx == NULL) {
    fprintf(stderr, "oatgp: out of memory\n");
    return CLI_FAILED;
  }
  oatgp_context_set_message(c.ctx, cli_message, &c);
  const oatgp_status begun = oatgp_ranks_begin(c.ctx);
  const oatgp_status status = cli_finish_output(&c, begun == OATGP_OK ? run(&c) : begun);
  if (status != OATGP_OK) {
    cli_report_failure(&c);
    cli_print_failure(&c, status);
  }
  free(c.config_text);
  oatgp_context_free(c.ctx);
  oatgp_ranks_end(status == OATGP_OK ? 0 : exit_code(&c, status));
  return exit_code(&c, status);
}
