/* Shared by the files of the command. A verb is one file that ends with its cli_verb; main.c lists them. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <oatgp.h>

#include "progress.h"

#define CLI_MOST_POSITIONALS 3

enum cli_exit { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 3 };

/* Options that only the command has: the other rows of the settings table. */
typedef struct cli_options {
#define OATGP_COMMAND_FLAG(name, verbs, help) int name;
#define OATGP_COMMAND_TEXT(name, value, verbs, argument, help) const char *name;
#include "oatgp_settings.def"
} cli_options;

typedef struct cli_verb {
  const char *name, *summary;
  const char *positionals[CLI_MOST_POSITIONALS]; /* "MODEL", "DATA", "[DATA]" for one that may be left out; NULL past
                                                    the last */
  const char *usage;                             /* the part of the synopsis after the positionals */
  const char *details;                           /* a paragraph for --help */
  const char *example;                           /* one or more whole command lines */
  oatgp_status (*run)(cli *c); /* reports its own failures by cli_fail; main reports those of the library */
} cli_verb;

/* One call of the command. */
struct cli {
  const cli_verb *verb;
  oatgp_context *ctx;
  oatgp_settings settings;
  cli_options options;
  const char *positionals[CLI_MOST_POSITIONALS];
  size_t positional_count;
  int argument_count; /* the command line, without the program's name */
  char **arguments;
  char list[4096];   /* DATA if --data-list names its files */
  char *config_text; /* the config file: settings point into it */
  bool reported;     /* the error message has been printed (or must not be) */
  bool has_result;   /* a JSON object has been printed on standard output */
  char error[2048];  /* the error message, for --json */
  bool interrupted;  /* a signal ended the work, and the results so far are kept */
  uint64_t said[64]; /* hashes of the notes and warnings that were printed */
  size_t said_count;
  FILE *trace; /* NULL without --trace */
  cli_progress progress;
};

extern const cli_verb cli_fit, cli_predict, cli_score, cli_objective, cli_info, cli_convert, cli_loo, cli_cv,
    cli_update, cli_certify, cli_report, cli_plot, cli_sensitivity;
extern const cli_verb *const cli_verbs[]; /* ends with NULL */

/* In a function with a local `status` and a label `done:` that frees what is not NULL. */
#define TRY(call)             \
  do {                        \
    status = (call);          \
    if (status != OATGP_OK) { \
      goto done;              \
    }                         \
  } while (0)

#if defined(__GNUC__)
#define CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CLI_PRINTF(text, first)
#endif

/* ---- environment.c ---- */

/* Restarts the command with the environment that its libraries need; returns if it already has that. */
void cli_enter_environment(char **argv);

/* ---- output.c: sentences on standard error, results on standard output ---- */

/* Prints "oatgp: sentence" and returns the status. With OATGP_OK it is only information, and a later failure still
 * prints its message. */
oatgp_status cli_fail(cli *c, oatgp_status status, const char *format, ...) CLI_PRINTF(3, 4);
/* The same for a wrong command line; it adds where to find help. */
oatgp_status cli_usage_error(cli *c, const char *format, ...) CLI_PRINTF(2, 3);
/* "oatgp: warning: sentence", unless --quiet. */
void cli_warn(cli *c, const char *format, ...) CLI_PRINTF(2, 3);
/* The library's notes and warnings, unless --quiet; user is the cli. */
void cli_message(void *user, oatgp_level level, const char *sentence);
/* Prints the library's last error, once. */
void cli_report_failure(cli *c);
/* With --json, prints the failure as an object on standard output, too, unless there is a result. */
void cli_print_failure(cli *c, oatgp_status status);
/* Flushes standard output. A full disk is a failure with a sentence, a closed pipe a failure without one. */
oatgp_status cli_finish_output(cli *c, oatgp_status status);
/* How many characters a name has. */
size_t cli_name_width(const char *name);
/* Prints a name for people, with blanks up to so many characters; '?' for what would move the cursor. */
void cli_print_name(const char *name, size_t width);
/* A zeroed array, or NULL with the failure printed and *status set. */
/* Writes a table of columns as CSV. level(of, column, i) is the text of a code of a column; NULL past the end, and for
 * a column of numbers. */
typedef struct cli_table {
  const char *path;
  size_t rows, columns;
  const char *const *names;
  const double *const *values;
  const char *(*level)(const void *of, size_t column, size_t level);
  const void *of;
} cli_table;
oatgp_status cli_write_table(cli *c, const cli_table *table);

void *cli_new(cli *c, size_t count, size_t size, oatgp_status *status);

/* ---- options.c, config.c ---- */

/* Fills settings, options and positionals from the command line and the config file that it names. */
oatgp_status cli_read_options(cli *c);
/* The row of that name (dashes or underscores) that belongs to the verb, or NULL. */
const oatgp_setting *cli_find_option(const cli_verb *verb, const char *name);
/* Sets the option; `where` ("--" or "file:3: ") comes before the sentence of a refusal. */
oatgp_status cli_set_option(cli *c, const oatgp_setting *setting, const char *value, const char *where);
/* Refuses a name that the verb does not have, and names the verbs that have it or a similar name. */
oatgp_status cli_refuse_option(cli *c, const char *name, const char *where);
/* Settings from the config file, each by cli_set_option. */
oatgp_status cli_read_config(cli *c, const char *path);
/* A name with dashes for underscores. */
void cli_dashed(const char *name, char *out, size_t size);

/* ---- help.c ---- */

void cli_help(void);
void cli_help_verb(const cli_verb *verb);
/* "-o, --output FILE"; returns where the name ends. */
size_t cli_option_left(const oatgp_setting *setting, char *out, size_t size);
/* The help of the option: its purpose, choices, default and range. */
void cli_describe_option(const oatgp_setting *setting, char *out, size_t size);
/* The heading above the option of this name, where `current` is that above the option before it. */
const char *cli_heading_at(const char *name, const char *current);

/* ---- manual.c, completion.c ---- */

void cli_manual(void);
void cli_manual_verb(const cli_verb *verb);
/* Prints the script for the shell; false if there is none. */
bool cli_completion(const char *shell);

/* ---- input.c: reading for several verbs ---- */

oatgp_status cli_need(cli *c, const char *value, const char *option);
/* --interval: above 0 and below 1. */
oatgp_status cli_read_interval(cli *c, double *out);
/* Reads the value of the option of that name as a whole number of at least `least`. */
oatgp_status cli_read_count(cli *c, const char *name, const char *text, size_t least, size_t *out);
/* The FILE of --knots FILE, or "" if the text is not a file. */
const char *cli_knots_file(const cli *c);
/* The knots of --knots FILE, or NULL if the text is not a file. */
oatgp_status cli_read_knots(cli *c, const oatgp_data *data, oatgp_data **out);

/* The ending of a noun behind this number. */
static inline const char *cli_plural(size_t n) { return n == 1 ? "" : "s"; }

/* ---- files.c: all files of a command, checked before any is opened ---- */

/* Refuses an output that is also an input or another output, whose name has the ending of another format, or that
 * cannot be written. */
oatgp_status cli_check_files(cli *c);
/* Whether the name ends with this, in any case. */
bool cli_has_ending(const char *path, const char *ending);

/* ---- save.c ---- */

/* Refuses to write a model to standard output. */
oatgp_status cli_check_output(cli *c);
/* Saves the model to -o with the command line and reports it; says so if it was interrupted. */
oatgp_status cli_save_model(cli *c, oatgp_model *model);

/* ---- picture.c: PNG and PDF, by a program that may be missing ---- */

/* Checks that the program exists, before the work begins. */
oatgp_status cli_check_picture(cli *c);
/* Writes the SVG of this descriptor to -o, in the format ("png" or "pdf"). */
oatgp_status cli_write_picture(cli *c, int svg, const char *format);

/* ---- certify.c ---- */

/* Computes the bounds, with progress; a signal ends the work, and is recorded in `c`. */
oatgp_status cli_bound(cli *c, const oatgp_model *model, const oatgp_data *data, oatgp_certificate *out);

/* ---- describe.c ---- */

/* The model as a table or, with --json, as an object; `full` adds what only info shows. */
oatgp_status cli_report_model(cli *c, const oatgp_model *model, const char *path, bool full);

#endif
