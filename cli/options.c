/* The command line, read by the table of settings: --name value, --name=value, --flag, --no-flag, -o, -h. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define LONGEST_NAME 48

/* The place for the value of an option that only the command has. */
typedef struct command_field {
  const char *name;
  size_t offset;
} command_field;

static const command_field command_fields[] = {
#define OATGP_COMMAND_FLAG(name, verbs, help) {#name, offsetof(cli_options, name)},
#define OATGP_COMMAND_TEXT(name, value, verbs, argument, help) {#name, offsetof(cli_options, name)},
#include "oatgp_settings.def"
};

static const cli_options default_options = {
#define OATGP_COMMAND_FLAG(name, verbs, help) .name = 0,
#define OATGP_COMMAND_TEXT(name, value, verbs, argument, help) .name = value,
#include "oatgp_settings.def"
};

/* An option of the command line, kept until the config file has been read. */
typedef struct given {
  const oatgp_setting *setting;
  const char *value;
} given;

typedef struct reader {
  cli *c;
  int next; /* the argument to read */
  given *given;
  size_t count;
  const char *config;
} reader;

/* ---- names ----------------------------------------------------------------------------------------------------- */

void cli_dashed(const char *name, char *out, size_t size) {
  snprintf(out, size, "%s", name);
  for (char *letter = out; *letter != '\0'; letter++) {
    *letter = *letter == '_' ? '-' : *letter;
  }
}

static bool same_name(const char *name, const char *other) {
  char a[LONGEST_NAME], b[LONGEST_NAME];
  cli_dashed(name, a, sizeof a);
  cli_dashed(other, b, sizeof b);
  return strcmp(a, b) == 0;
}

const oatgp_setting *cli_find_option(const cli_verb *verb, const char *name) {
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *setting = oatgp_setting_at(i);
    if (same_name(setting->name, name) && oatgp_setting_has_verb(setting, verb->name)) {
      return setting;
    }
  }
  return NULL;
}

oatgp_status cli_refuse_option(cli *c, const char *name, const char *where) {
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *setting = oatgp_setting_at(i);
    if (same_name(setting->name, name)) {
      return cli_usage_error(c, "%s%s is not an option of %s, but of %s", where, name, c->verb->name, setting->verbs);
    }
  }
  char nearest[LONGEST_NAME];
  cli_dashed(oatgp_setting_nearest(name, c->verb->name)->name, nearest, sizeof nearest);
  const char *dashes = strcmp(where, "--") == 0 ? where : "";
  return cli_usage_error(c, "%s%s is not an option of %s; did you mean %s%s?", where, name, c->verb->name, dashes,
                         nearest);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static bool parse_flag(const char *text, int *out) {
  static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(text, words[i]) == 0) {
      *out = (int)(i % 2);
      return true;
    }
  }
  return false;
}

static char *command_field_of(cli *c, const char *name) {
  size_t i = 0;
  while (strcmp(command_fields[i].name, name) != 0) {
    i++;
  }
  return (char *)&c->options + command_fields[i].offset;
}

static oatgp_status set_command_option(cli *c, const oatgp_setting *setting, const char *value, const char *where) {
  char *field = command_field_of(c, setting->name);
  if (setting->type == OATGP_TYPE_TEXT) {
    memcpy(field, &value, sizeof value);
    return OATGP_OK;
  }
  int flag = 0;
  if (!parse_flag(value, &flag)) {
    return cli_usage_error(c, "%s%s is '%s' but must be yes or no", where, setting->name, value);
  }
  memcpy(field, &flag, sizeof flag);
  return OATGP_OK;
}

oatgp_status cli_set_option(cli *c, const oatgp_setting *setting, const char *value, const char *where) {
  if (setting->in_command_only) {
    return set_command_option(c, setting, value, where);
  }
  /* The library's error message begins with the name given here, so "--" in front of it completes the option. */
  char name[LONGEST_NAME];
  cli_dashed(setting->name, name, sizeof name);
  const oatgp_status status = oatgp_settings_set(c->ctx, &c->settings, name, value);
  return status == OATGP_OK ? status : cli_usage_error(c, "%s%s", where, oatgp_last_error(c->ctx));
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static oatgp_status read_positional(cli *c, const char *argument) {
  if (c->positional_count == CLI_MOST_POSITIONALS || c->verb->positionals[c->positional_count] == NULL) {
    return cli_usage_error(c, "'%s' is one argument too many for %s", argument, c->verb->name);
  }
  c->positionals[c->positional_count++] = argument;
  return OATGP_OK;
}

/* With --data-list, DATA, the last one, is the list. */
static oatgp_status take_list(cli *c) {
  const char *const *names = c->verb->positionals;
  const size_t place = c->positional_count;
  if (*c->options.data_list == '\0') {
    return OATGP_OK;
  }
  if (place == CLI_MOST_POSITIONALS || names[place] == NULL) {
    return cli_usage_error(c, "--data-list takes the place of %s; leave out one of them", names[place - 1]);
  }
  snprintf(c->list, sizeof c->list, "@%s", c->options.data_list);
  c->positionals[c->positional_count++] = c->list;
  return OATGP_OK;
}

static oatgp_status check_positionals(cli *c) {
  const char *const *names = c->verb->positionals;
  if (c->positional_count == CLI_MOST_POSITIONALS || names[c->positional_count] == NULL ||
      *names[c->positional_count] == '[') {
    return OATGP_OK;
  }
  return cli_usage_error(c, "%s needs %s", c->verb->name, names[c->positional_count]);
}

static void keep(reader *r, const oatgp_setting *setting, const char *value) {
  r->given[r->count++] = (given){setting, value};
  if (strcmp(setting->name, "config") == 0) {
    r->config = value;
  }
}

/* An option that takes a value: after '=' or in the next argument. */
static oatgp_status read_value(reader *r, const oatgp_setting *setting, const char *attached) {
  cli *c = r->c;
  const bool is_config = strcmp(setting->name, "config") == 0;
  char name[LONGEST_NAME];
  cli_dashed(setting->name, name, sizeof name);
  if (attached == NULL) {
    const char *following = r->next < c->argument_count ? c->arguments[r->next] : "--";
    if (strncmp(following, "--", 2) == 0) {
      return cli_usage_error(c, "--%s needs a value %s", name, setting->argument);
    }
    attached = following;
    r->next++;
  }
  if (is_config && r->config != NULL) {
    return cli_usage_error(c, "--config is given twice, as '%s' and as '%s'; put all settings into one file", r->config,
                           attached);
  }
  keep(r, setting, attached);
  return OATGP_OK;
}

static oatgp_status read_long(reader *r, const char *name, const char *attached) {
  const cli_verb *verb = r->c->verb;
  const oatgp_setting *setting = cli_find_option(verb, name);
  if (setting != NULL && setting->type != OATGP_TYPE_FLAG) {
    return read_value(r, setting, attached);
  }
  if (setting != NULL) {
    keep(r, setting, attached != NULL ? attached : "yes");
    return OATGP_OK;
  }
  setting = strncmp(name, "no-", 3) == 0 ? cli_find_option(verb, name + 3) : NULL;
  if (setting == NULL || setting->type != OATGP_TYPE_FLAG) {
    return cli_refuse_option(r->c, name, "--");
  }
  if (attached != NULL) {
    return cli_usage_error(r->c, "--%s takes no value", name);
  }
  keep(r, setting, "no");
  return OATGP_OK;
}

static oatgp_status read_option(reader *r, const char *argument) {
  if (strcmp(argument, "-h") == 0) {
    return read_long(r, "help", NULL);
  }
  if (strcmp(argument, "-o") == 0) {
    return read_long(r, "output", NULL);
  }
  if (argument[1] != '-') {
    return cli_usage_error(r->c, "there is no short option %s; the only ones are -o and -h", argument);
  }
  const char *equals = strchr(argument, '=');
  char name[LONGEST_NAME];
  const size_t length = equals != NULL ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
  if (length >= sizeof name) {
    return cli_usage_error(r->c, "there is no option %s", argument);
  }
  memcpy(name, argument + 2, length);
  name[length] = '\0';
  return read_long(r, name, equals != NULL ? equals + 1 : NULL);
}

static oatgp_status read_arguments(reader *r) {
  cli *c = r->c;
  oatgp_status status = OATGP_OK;
  bool options_ended = false;
  while (status == OATGP_OK && r->next < c->argument_count) {
    const char *argument = c->arguments[r->next++];
    if (!options_ended && strcmp(argument, "--") == 0) {
      options_ended = true;
    } else if (options_ended || argument[0] != '-' || argument[1] == '\0') {
      status = read_positional(c, argument);
    } else {
      status = read_option(r, argument);
    }
  }
  return status;
}

oatgp_status cli_read_options(cli *c) {
  oatgp_status status;
  reader r = {.c = c, .next = 1};
  c->options = default_options;
  oatgp_settings_default(&c->settings);
  r.given = cli_new(c, (size_t)c->argument_count, sizeof *r.given, &status);
  TRY(status);
  TRY(read_arguments(&r));
  if (r.config != NULL) {
    TRY(cli_read_config(c, r.config));
  }
  /* A preset sets other settings, so it is applied before them wherever it stands. */
  for (int preset = 1; preset >= 0; preset--) {
    for (size_t i = 0; i < r.count; i++) {
      if ((strcmp(r.given[i].setting->name, "preset") == 0) == (preset == 1)) {
        TRY(cli_set_option(c, r.given[i].setting, r.given[i].value, "--"));
      }
    }
  }
  if (!c->options.help) {
    TRY(take_list(c));
    TRY(check_positionals(c));
  }
done:
  free(r.given);
  return status;
}
