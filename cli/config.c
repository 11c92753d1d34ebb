/* The config file: lines "name = value"; '#' at the start of a line or after a blank begins a comment. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define LONGEST_WHERE 4096
#define MOST_BYTES (1 << 20) /* of a config file; a longer file is something else, perhaps a stream without an end */

/* A 0 would hide what follows it. */
static oatgp_status check_text(cli *c, const char *path, const char *text, size_t length) {
  const char *nul = memchr(text, '\0', length);
  size_t line = 1;
  for (const char *at = text; nul != NULL && at < nul; at++) {
    line += *at == '\n';
  }
  return nul == NULL ? OATGP_OK
                     : cli_usage_error(c, "%s:%zu: this line has a zero byte; a config file is UTF-8 text", path, line);
}

/* The whole file as text. */
static oatgp_status read_text(cli *c, const char *path, char **out) {
  FILE *stream = fopen(path, "r");
  if (stream == NULL) {
    return cli_fail(c, OATGP_READ, "cannot read '%s': %s", path, strerror(errno));
  }
  oatgp_status status = OATGP_OK;
  size_t capacity = 0, length = 0;
  char *text = NULL;
  do {
    if (length + 1 >= capacity) {
      capacity = 2 * capacity + 4096;
      char *grown = realloc(text, capacity);
      if (grown == NULL) {
        status = cli_fail(c, OATGP_MEMORY, "out of memory: could not get %zu bytes", capacity);
        break;
      }
      text = grown;
    }
    length += fread(text + length, 1, capacity - 1 - length, stream);
    text[length] = '\0';
  } while (!feof(stream) && !ferror(stream) && length <= MOST_BYTES);
  if (status == OATGP_OK && ferror(stream)) {
    status = cli_fail(c, OATGP_READ, "cannot read '%s': %s", path, strerror(errno));
  }
  fclose(stream);
  *out = text;
  if (status == OATGP_OK && length > MOST_BYTES) {
    status = cli_fail(c, OATGP_READ,
                      "'%s' is longer than %d bytes, too long for a config file; give a file with lines 'name = value'",
                      path, MOST_BYTES);
  }
  return status == OATGP_OK ? check_text(c, path, text, length) : status;
}

/* Skips a byte order mark. */
static char *skip_mark(char *text) { return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text; }

/* Cuts blanks off both ends, in place. */
static char *trim(char *text) {
  while (isspace((unsigned char)*text)) {
    text++;
  }
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1])) {
    text[--length] = '\0';
  }
  return text;
}

static void cut_comment(char *line) {
  for (char *letter = line; *letter != '\0'; letter++) {
    if (*letter == '#' && (letter == line || isspace((unsigned char)letter[-1]))) {
      *letter = '\0';
      return;
    }
  }
}

/* `count` is the number of settings before this line. */
static oatgp_status read_line(cli *c, char *line, const char *where, size_t *count) {
  cut_comment(line);
  char *name = trim(line);
  if (*name == '\0') {
    return OATGP_OK;
  }
  char *equals = strchr(name, '=');
  if (equals == NULL) {
    return cli_usage_error(c, "%s'%s' is not of the form name = value", where, name);
  }
  *equals = '\0';
  name = trim(name);
  const oatgp_setting *setting = cli_find_option(c->verb, name);
  if (setting == NULL) {
    return cli_refuse_option(c, name, where);
  }
  if (strcmp(setting->name, "config") == 0 || strcmp(setting->name, "help") == 0) {
    return cli_usage_error(c, "%s%s cannot be set in a config file", where, name);
  }
  if (strcmp(setting->name, "preset") == 0 && *count > 0) {
    return cli_usage_error(c, "%spreset must come before the other settings, because it would undo them", where);
  }
  ++*count;
  return cli_set_option(c, setting, trim(equals + 1), where);
}

oatgp_status cli_read_config(cli *c, const char *path) {
  oatgp_status status = read_text(c, path, &c->config_text);
  size_t number = 1, count = 0;
  for (char *line = status == OATGP_OK ? skip_mark(c->config_text) : NULL; status == OATGP_OK && line != NULL;
       number++) {
    char where[LONGEST_WHERE];
    char *end = strchr(line, '\n');
    if (end != NULL) {
      *end = '\0';
    }
    snprintf(where, sizeof where, "%s:%zu: ", path, number);
    status = read_line(c, line, where, &count);
    line = end != NULL ? end + 1 : NULL;
  }
  return status;
}
