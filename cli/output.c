/* Messages on standard error, and the end of standard output. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

enum { PATIENCE = 5, MORE_PATIENCE = 5 }; /* seconds */

/* What all ranks find is told by the first, which ends the others while they wait here. What some of the others find is
 * told by the first of these, because a later rank waits longer. */
static void wait_for_the_first(void) {
  const int rank = oatgp_rank();
  if (rank > 0) {
    signal(SIGTERM, SIG_DFL);
    sleep((unsigned)(PATIENCE + (rank <= MORE_PATIENCE ? rank - 1 : MORE_PATIENCE)));
  }
}

/* Prints "oatgp: sentence" and keeps the sentence, the first of them, for --json. */
CLI_PRINTF(4, 0)
static void say(cli *c, bool keep, const char *behind, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  wait_for_the_first();
  fputs("oatgp: ", stderr);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "%s\n", behind);
  if (keep && c->error[0] == '\0') {
    vsnprintf(c->error, sizeof c->error, format, again);
  }
  va_end(again);
}

oatgp_status cli_fail(cli *c, oatgp_status status, const char *format, ...) {
  cli_clear_line(c);
  va_list arguments;
  va_start(arguments, format);
  say(c, status != OATGP_OK, "", format, arguments);
  va_end(arguments);
  c->reported = c->reported || status != OATGP_OK;
  return status;
}

oatgp_status cli_usage_error(cli *c, const char *format, ...) {
  va_list arguments;
  char where[64];
  snprintf(where, sizeof where, " (see 'oatgp %s%s--help')", c->verb != NULL ? c->verb->name : "",
           c->verb != NULL ? " " : "");
  va_start(arguments, format);
  say(c, true, where, format, arguments);
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

/* A sentence is printed once: the folds of a cross-validation would all say the same. */
static bool said_before(cli *c, const char *sentence) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (const char *letter = sentence; *letter != '\0'; letter++) {
    hash = (hash ^ (unsigned char)*letter) * 1099511628211u;
  }
  for (size_t i = 0; i < c->said_count; i++) {
    if (c->said[i] == hash) {
      return true;
    }
  }
  if (c->said_count < sizeof c->said / sizeof *c->said) {
    c->said[c->said_count++] = hash;
  }
  return false;
}

void cli_message(void *user, oatgp_level level, const char *sentence) {
  cli *c = user;
  if (!c->options.quiet && !said_before(c, sentence)) {
    cli_clear_line(c);
    fprintf(stderr, "oatgp: %s: %s\n", level == OATGP_WARNING ? "warning" : "note", sentence);
  }
}

size_t cli_name_width(const char *name) {
  size_t width = 0;
  for (; *name != '\0'; name++) {
    width += ((unsigned char)*name & 0xC0) != 0x80; /* UTF-8: not a further byte of a character */
  }
  return width;
}

void cli_print_name(const char *name, size_t width) {
  const size_t length = cli_name_width(name);
  for (; *name != '\0'; name++) {
    putchar((unsigned char)*name < 0x20 || *name == 0x7F ? '?' : *name);
  }
  printf("%*s", (int)(length < width ? width - length : 0), "");
}

void cli_report_failure(cli *c) {
  if (!c->reported) {
    cli_fail(c, OATGP_OK, "%s", oatgp_last_error(c->ctx));
  }
}

/* --json may stand behind an argument that was refused, before any option was set. */
static bool wants_json(const cli *c) {
  bool wanted = c->options.json != 0;
  const bool known = c->verb != NULL && cli_find_option(c->verb, "json") != NULL;
  for (int i = 1; known && i < c->argument_count && strcmp(c->arguments[i], "--") != 0; i++) {
    wanted = wanted || strcmp(c->arguments[i], "--json") == 0 || strcmp(c->arguments[i], "--json=yes") == 0;
  }
  return wanted;
}

void cli_print_failure(cli *c, oatgp_status status) {
  static const char *const words[] = {
#define OATGP_STATUS(NAME, sentence) #NAME,
#include "oatgp_status.def"
  };
  char word[24] = "";
  if (!wants_json(c) || c->has_result || ferror(stdout)) {
    return;
  }
  for (size_t i = 0; i + 1 < sizeof word && words[status][i] != '\0'; i++) {
    word[i] = (char)tolower((unsigned char)words[status][i]);
  }
  cli_json json = cli_json_begin(), error = cli_json_begin();
  cli_json_text(&error, "status", word);
  cli_json_text(&error, "message", c->error[0] != '\0' ? c->error : oatgp_last_error(c->ctx));
  cli_json_object(&json, "error", &error);
  cli_json_end(c, &json, stdout, true);
  fflush(stdout);
}

/* Whether the other end of a pipe was closed; errno may have changed since the failed write. */
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
  *status = block != NULL
                ? OATGP_OK
                : cli_fail(c, OATGP_MEMORY, "out of memory: could not get %zu values of %zu bytes", count, size);
  return block;
}
