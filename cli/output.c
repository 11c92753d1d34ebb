/* Sentences on standard error, and the end of standard output. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

oatgp_status cli_fail(cli *c, oatgp_status status, const char *format, ...) {
  cli_clear_line(c);
  va_list arguments;
  va_start(arguments, format);
  fputs("oatgp: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  c->reported = c->reported || status != OATGP_OK;
  return status;
}

oatgp_status cli_usage_error(cli *c, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("oatgp: ", stderr);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, " (see 'oatgp %s%s--help')\n", c->verb != NULL ? c->verb->name : "", c->verb != NULL ? " " : "");
  va_end(arguments);
  c->reported = true;
  return OATGP_ARGUMENT;
}

void cli_warn(cli *c, const char *format, ...) {
  char sentence[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  cli_message(c, OATGP_WARNING, sentence);
}

void cli_message(void *user, oatgp_level level, const char *sentence) {
  cli *c = user;
  if (!c->options.quiet) {
    cli_clear_line(c);
    fprintf(stderr, "oatgp: %s: %s\n", level == OATGP_WARNING ? "warning" : "note", sentence);
  }
}

void cli_report_failure(cli *c) {
  if (!c->reported) {
    cli_fail(c, OATGP_OK, "%s", oatgp_last_error(c->ctx));
  }
}

/* Whether the other end of a pipe was closed; errno may have been changed since the write that failed. */
static bool reader_is_gone(void) {
  struct pollfd descriptor = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & (POLLERR | POLLHUP)) != 0;
}

oatgp_status cli_finish_output(cli *c, oatgp_status status) {
  const bool broken = fflush(stdout) != 0 || ferror(stdout);
  const int error = errno;
  if (!broken) {
    return status;
  }
  if (reader_is_gone()) {
    c->reported = true;
    return OATGP_WRITE;
  }
  return status != OATGP_OK ? status : cli_fail(c, OATGP_WRITE, "cannot write to standard output: %s", strerror(error));
}

void *cli_new(cli *c, size_t count, size_t size, oatgp_status *status) {
  void *block = calloc(count > 0 ? count : 1, size);
  *status = block != NULL ? OATGP_OK : cli_fail(c, OATGP_MEMORY, "out of memory: could not get %zu values of %zu bytes", count, size);
  return block;
}
