/* --help, made from the tables of verbs and settings. */
#include <float.h>
#include <string.h>

#include "cli.h"

#define PAGE_WIDTH 96
#define HELP_COLUMN 28
#define USAGE_COLUMN 10

/* A heading stands before the first option, in the table's order, at or after the named row. */
typedef struct heading {
  const char *first, *title;
} heading;

static const heading headings[] = {
    {"target", "Data"},
    {"approx", "Model"},
    {"sigma", "Parameters"},
    {"select", "Selection of knots"},
    {"optimizer", "Optimisation"},
    {"seed", "Machine"},
    {"output", "Input and output"},
};

/* Prints words from `column` on, each further line indented to `indent`. */
static void print_wrapped(const char *text, size_t column, size_t indent) {
  while (*text != '\0') {
    const size_t length = strcspn(text, " ");
    if (column + 1 + length > PAGE_WIDTH && column > indent) {
      printf("\n%*s", (int)indent, "");
      column = indent;
    }
    printf("%s%.*s", column > indent ? " " : "", (int)length, text);
    column += length + (column > indent);
    text += length;
    text += strspn(text, " ");
  }
  printf("\n");
}

static void describe_range(const oatgp_setting *s, char *out, size_t size) {
  const bool bounded = s->highest < 1e300;
  if (s->type != OATGP_TYPE_REAL && s->type != OATGP_TYPE_INT) {
    *out = '\0';
  } else if (s->lowest == DBL_MIN && bounded) {
    snprintf(out, size, ", above 0 and at most %.16g", s->highest);
  } else if (s->lowest == DBL_MIN) {
    snprintf(out, size, ", above 0");
  } else if (bounded) {
    snprintf(out, size, ", from %.16g to %.16g", s->lowest, s->highest);
  } else {
    snprintf(out, size, ", at least %.16g", s->lowest);
  }
}

/* "the model: ..; one of full dic vfe (default vfe)" */
void cli_describe_option(const oatgp_setting *s, char *out, size_t size) {
  char range[96] = "";
  int used = snprintf(out, size, "%s", s->help);
  const bool has_default = *s->value != '\0' && strcmp(s->value, "no") != 0 && s->type != OATGP_TYPE_BYTES;
  if (s->choices != NULL) {
    used += snprintf(out + used, size - (size_t)used, s->type == OATGP_TYPE_CHOICE ? "; one of" : "; names are");
    for (const char *choice = s->choices; *choice != '\0'; choice += strspn(choice, "|")) {
      const int length = (int)strcspn(choice, "|");
      used += snprintf(out + used, size - (size_t)used, " %.*s", length, choice);
      choice += length;
    }
  }
  describe_range(s, range, sizeof range);
  if (has_default) {
    snprintf(out + used, size - (size_t)used, " (default %s%s)", s->value, range);
  }
}

size_t cli_option_left(const oatgp_setting *s, char *out, size_t size) {
  char name[64];
  cli_dashed(s->name, name, sizeof name);
  const bool is_flag = s->type == OATGP_TYPE_FLAG;
  const char *letter = strcmp(name, "output") == 0 ? "-o, " : strcmp(name, "help") == 0 ? "-h, " : "";
  const char *negation = is_flag && strcmp(s->value, "yes") == 0 ? "[no-]" : "";
  const int end = snprintf(out, size, "%s--%s%s", letter, negation, name);
  snprintf(out + end, size - (size_t)end, "%s%s", is_flag ? "" : " ", is_flag ? "" : s->argument);
  return (size_t)end;
}

static void print_option(const oatgp_setting *s) {
  char left[128], text[1024];
  cli_option_left(s, left, sizeof left);
  cli_describe_option(s, text, sizeof text);
  if (strlen(left) + 4 > HELP_COLUMN) {
    printf("  %s\n%*s", left, HELP_COLUMN, "");
  } else {
    printf("  %-*s", HELP_COLUMN - 2, left);
  }
  print_wrapped(text, HELP_COLUMN, HELP_COLUMN);
}

const char *cli_heading_at(const char *name, const char *current) {
  for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
    if (strcmp(headings[i].first, name) == 0) {
      return headings[i].title;
    }
  }
  return current;
}

static void print_options(const cli_verb *verb) {
  const char *title = "", *printed = "";
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *s = oatgp_setting_at(i);
    title = cli_heading_at(s->name, title);
    if (!oatgp_setting_has_verb(s, verb->name)) {
      continue;
    }
    if (strcmp(title, printed) != 0) {
      printf("\n%s:\n", title);
      printed = title;
    }
    print_option(s);
  }
}

void cli_help_verb(const cli_verb *verb) {
  char usage[512];
  int used = snprintf(usage, sizeof usage, "oatgp %s", verb->name);
  for (size_t i = 0; i < CLI_MOST_POSITIONALS && verb->positionals[i] != NULL; i++) {
    used += snprintf(usage + used, sizeof usage - (size_t)used, " %s", verb->positionals[i]);
  }
  snprintf(usage + used, sizeof usage - (size_t)used, " %s", verb->usage);
  printf("oatgp %s: %s\n\n%-*s", verb->name, verb->summary, USAGE_COLUMN, "usage:");
  print_wrapped(usage, USAGE_COLUMN, USAGE_COLUMN);
  printf("\n");
  print_wrapped(verb->details, 0, 0);
  print_options(verb);
  printf("\nExamples:\n%s\n", verb->example);
}

void cli_help(void) {
  printf("oatgp %s: Gaussian-process regression that chooses its own knots\n\n", oatgp_version());
  printf("%-*soatgp VERB ARGUMENTS [OPTIONS]\n\nVerbs:\n", USAGE_COLUMN, "usage:");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("  %-*s%s\n", HELP_COLUMN - 16, (*verb)->name, (*verb)->summary);
  }
  printf(
      "\n'oatgp VERB --help' shows the arguments and options of a verb; 'oatgp --version' the version and what it\n"
      "was built with. 'oatgp help --completion bash|zsh|fish' prints a script for your shell, 'oatgp help --man "
      "[VERB]' a manual page.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 interrupted with the best result so far.\n"
      "\nExample:\n"
      "  oatgp fit train.csv --target y -o model.oatgp\n"
      "  oatgp predict model.oatgp new.csv -o predictions.csv\n");
}
