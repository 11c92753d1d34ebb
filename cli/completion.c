/* Scripts for shells that complete verbs, options, their values and the columns of the data, made from the tables of
 * verbs and settings: 'oatgp help --completion SHELL'. */
#include <string.h>

#include "cli.h"

enum { LONGEST_NAME = 64 };

/* The possible values of an option. */
typedef enum value_kind { NO_VALUE, ONE_OF, COLUMN, COLUMNS, FILE_NAME, ANYTHING } value_kind;

static value_kind kind_of(const oatgp_setting *setting) {
  static const char *const files[] = {"FILE", "MODEL", "OLD", "KNOTS"};
  const char *argument = setting->argument;
  if (setting->type == OATGP_TYPE_FLAG) {
    return NO_VALUE;
  }
  if (setting->choices != NULL || strcmp(argument, "COL") == 0) {
    return setting->choices != NULL ? ONE_OF : COLUMN;
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    if (strncmp(argument, files[i], strlen(files[i])) == 0) {
      return FILE_NAME;
    }
  }
  return strcmp(argument, "A,B,..") == 0 ? COLUMNS : ANYTHING;
}

/* Calls a function for each setting of the verb, in order. */
typedef void (*visitor)(const cli_verb *verb, const oatgp_setting *setting, const char *name);

static void visit(const cli_verb *verb, visitor visit_one) {
  char name[LONGEST_NAME];
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *setting = oatgp_setting_at(i);
    if (oatgp_setting_has_verb(setting, verb->name)) {
      cli_dashed(setting->name, name, sizeof name);
      visit_one(verb, setting, name);
    }
  }
}

static bool is_on(const oatgp_setting *setting) {
  return setting->type == OATGP_TYPE_FLAG && strcmp(setting->value, "yes") == 0;
}

static bool is_output(const char *name) { return strcmp(name, "output") == 0; }

static bool is_help(const char *name) { return strcmp(name, "help") == 0; }

/* "a b c" */
static void put_choices(const oatgp_setting *setting) {
  for (const char *letter = setting->choices; *letter != '\0'; letter++) {
    putchar(*letter == '|' ? ' ' : *letter);
  }
}

/* The first argument of plot is the name of a figure. */
static bool has_kinds(const cli_verb *verb) { return strcmp(verb->positionals[0], "KIND") == 0; }

static void put_kinds(const cli_verb *verb) {
  oatgp_figure figure;
  for (size_t i = 0; has_kinds(verb) && oatgp_figure_at(i, &figure); i++) {
    printf("%s%s", i > 0 ? " " : "", figure.name);
  }
}

/* Text within single quotes, with a backslash before each of some letters; the quote itself by `quote`. */
static void put_quoted(const char *text, const char *escaped, const char *quote) {
  for (; *text != '\0'; text++) {
    if (*text == '\'') {
      fputs(quote, stdout);
    } else {
      printf("%s%c", strchr(escaped, *text) != NULL ? "\\" : "", *text);
    }
  }
}

/* ---- bash ------------------------------------------------------------------------------------------------------ */

static const char bash_head[] =
    "# bash completion of oatgp, made by 'oatgp help --completion bash'.\n"
    "\n"
    "# The columns of the first file on the command line. They are data: compgen -W would expand them.\n"
    "_oatgp_columns() {\n"
    "  local file\n"
    "  for file in \"${COMP_WORDS[@]:2}\"; do\n"
    "    if [ -f \"$file\" ]; then\n"
    "      zcat -f -- \"$file\" 2>/dev/null | head -n 1 | tr -d '\\r\"' | tr ',;\\t' '\\n\\n\\n'\n"
    "      return\n"
    "    fi\n"
    "  done\n"
    "}\n"
    "\n"
    "_oatgp() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} options='' "
    "kinds='' list='' columns='' name\n"
    "  COMPREPLY=()\n"
    "  if [ \"$word\" = '=' ]; then\n"
    "    word=''\n"
    "  elif [ \"$before\" = '=' ]; then\n"
    "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "  fi\n";

static const char bash_tail[] =
    "  if [ \"$COMP_CWORD\" -gt 1 ] && [ -n \"$options\" ] && [[ $word == -* ]]; then\n"
    "    list=$options\n"
    "  fi\n"
    "  if [ -n \"$columns\" ]; then\n"
    "    while IFS= read -r name; do\n"
    "      [[ -n $name && $name == \"${word##*,}\"* ]] && COMPREPLY+=(\"$prefix$(printf %q \"$name\")\")\n"
    "    done < <(_oatgp_columns)\n"
    "  elif [ -n \"$list\" ]; then\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$list\" -- \"${word##*,}\")\n"
    "  fi\n"
    "}\n"
    "complete -o default -F _oatgp oatgp\n";

static void bash_option(const cli_verb *verb, const oatgp_setting *setting, const char *name) {
  (void)verb;
  printf(" --%s%s", is_on(setting) ? "no-" : "", name);
}

/* Completes the values of the option before the cursor. Numbers are not completed. */
static void bash_value(const cli_verb *verb, const oatgp_setting *setting, const char *name) {
  const value_kind kind = kind_of(setting);
  if (kind == NO_VALUE) {
    return;
  }
  printf("    %s:--%s%s) ", verb->name, name, is_output(name) ? " | *:-o" : "");
  if (kind == ONE_OF) {
    printf("list='");
    put_choices(setting);
    printf("' ;;\n");
  } else if (kind == COLUMN) {
    printf("columns=one ;;\n");
  } else if (kind == COLUMNS) {
    printf("columns=some; [[ $word == *,* ]] && prefix=${word%%,*}, ;;\n");
  } else if (kind == FILE_NAME) {
    printf("return ;;\n");
  } else {
    printf("compopt +o default 2>/dev/null; return ;;\n");
  }
}

static void print_bash(void) {
  fputs(bash_head, stdout);
  printf("  local prefix=''\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    list='");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("%s ", (*verb)->name);
  }
  printf("help --help --version'\n  fi\n  case $verb in\n");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("    %s) options='", (*verb)->name);
    visit(*verb, bash_option);
    printf("' kinds='");
    put_kinds(*verb);
    printf("' ;;\n");
  }
  printf("    help) options='--man --completion' list='");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("%s ", (*verb)->name);
  }
  printf("' ;;\n  esac\n  case $verb:$before in\n    help:--completion) list='bash zsh fish' ;;\n");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    visit(*verb, bash_value);
  }
  printf("    *) if [ \"$COMP_CWORD\" -eq 2 ] && [ -n \"$kinds\" ]; then list=$kinds; fi ;;\n  esac\n");
  fputs(bash_tail, stdout);
}

/* ---- zsh ------------------------------------------------------------------------------------------------------- */

static const char zsh_head[] =
    "#compdef oatgp\n"
    "# zsh completion of oatgp, made by 'oatgp help --completion zsh'.\n"
    "\n"
    "# The columns of the first file on the command line; with -s , a list of them.\n"
    "_oatgp_columns() {\n"
    "  local file\n"
    "  local -a columns\n"
    "  for file in ${(Q)words[3,-1]}; do\n"
    "    if [[ -f $file ]]; then\n"
    "      columns=(${(f)\"$(zcat -f -- $file 2>/dev/null | head -n 1 | tr -d '\\r\"' | tr ',;\\t' '\\n\\n\\n')\"})\n"
    "      break\n"
    "    fi\n"
    "  done\n"
    "  if [[ $1 == -s ]]; then\n"
    "    _sequence compadd - $columns\n"
    "  else\n"
    "    compadd -a columns\n"
    "  fi\n"
    "}\n"
    "\n"
    "_oatgp() {\n"
    "  local -a verbs\n"
    "  verbs=(\n";

static void zsh_option(const cli_verb *verb, const oatgp_setting *setting, const char *name) {
  static const char *const actions[] = {
      [COLUMN] = "_oatgp_columns", [COLUMNS] = "_oatgp_columns -s", [FILE_NAME] = "_files", [ANYTHING] = ""};
  const value_kind kind = kind_of(setting);
  const char *value = kind == NO_VALUE ? "" : "=";
  (void)verb;
  printf("        ");
  if (is_output(name) || is_help(name)) {
    printf("'(-%c --%s)'{-%c,--%s%s}'[", name[0], name, name[0], name, value);
  } else {
    printf("'--%s%s%s[", is_on(setting) ? "no-" : "", name, value);
  }
  put_quoted(is_on(setting) ? "do not " : "", "", "");
  put_quoted(setting->help, ":[]\\", "'\\''");
  printf("]");
  if (kind == ONE_OF) {
    printf(":value:(");
    put_choices(setting);
    printf(")");
  } else if (kind != NO_VALUE) {
    printf(":%s:%s", setting->argument, actions[kind]);
  }
  printf("' \\\n");
}

static void print_zsh(void) {
  fputs(zsh_head, stdout);
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("    '%s:", (*verb)->name);
    put_quoted((*verb)->summary, ":\\", "'\\''");
    printf("'\n");
  }
  printf("    'help:show the help of the command or of a verb'\n  )\n  if (( CURRENT == 2 )); then\n");
  printf("    _describe verb verbs\n    return\n  fi\n  case $words[2] in\n");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("    %s)\n      _arguments -S \\\n        '1:verb:' \\\n", (*verb)->name);
    visit(*verb, zsh_option);
    if (has_kinds(*verb)) {
      printf("        '2:kind:(");
      put_kinds(*verb);
      printf(")' \\\n");
    }
    printf("        '*:file:_files'\n      ;;\n");
  }
  printf("    help) _describe verb verbs ;;\n  esac\n}\n\n_oatgp \"$@\"\n");
}

/* ---- fish ------------------------------------------------------------------------------------------------------ */

static const char fish_head[] =
    "# fish completion of oatgp, made by 'oatgp help --completion fish'.\n"
    "\n"
    "# The columns of the first file on the command line.\n"
    "function __oatgp_columns\n"
    "    for file in (commandline -opc)[3..-1]\n"
    "        if test -f $file\n"
    "            zcat -f -- $file 2>/dev/null | head -n 1 | tr -d '\\r\"' | tr ',;\\t' '\\n\\n\\n'\n"
    "            return\n"
    "        end\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c oatgp -n __fish_use_subcommand -f\n"
    "complete -c oatgp -n __fish_use_subcommand -l version -d 'show the version and what it was built with'\n"
    "complete -c oatgp -n __fish_use_subcommand -l help -s h -d 'show the verbs'\n"
    "complete -c oatgp -n __fish_use_subcommand -a help -d 'show the help of the command or of a verb'\n"
    "complete -c oatgp -n '__fish_seen_subcommand_from help' -l completion -x -a 'bash zsh fish' -d 'print a script "
    "like this one'\n"
    "complete -c oatgp -n '__fish_seen_subcommand_from help' -l man -d 'print a manual page'\n";

static void fish_option(const cli_verb *verb, const oatgp_setting *setting, const char *name) {
  const value_kind kind = kind_of(setting);
  printf("complete -c oatgp -n '__fish_seen_subcommand_from %s' -l %s%s", verb->name, is_on(setting) ? "no-" : "",
         name);
  if (is_output(name) || is_help(name)) {
    printf(" -s %c", name[0]);
  }
  if (kind == ONE_OF) {
    printf(" -x -a '");
    put_choices(setting);
    printf("'");
  } else if (kind == COLUMN || kind == COLUMNS) {
    printf(" -x -a '(%s)'", kind == COLUMN ? "__oatgp_columns" : "__fish_append , (__oatgp_columns)");
  } else if (kind != NO_VALUE) {
    printf(kind == FILE_NAME ? " -r -F" : " -x");
  }
  printf(" -d '%s", is_on(setting) ? "do not " : "");
  put_quoted(setting->help, "\\", "\\'");
  printf("'\n");
}

static void print_fish(void) {
  fputs(fish_head, stdout);
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf("complete -c oatgp -n __fish_use_subcommand -a %s -d '", (*verb)->name);
    put_quoted((*verb)->summary, "\\", "\\'");
    printf("'\n");
    visit(*verb, fish_option);
    if (has_kinds(*verb)) {
      printf("complete -c oatgp -n '__fish_seen_subcommand_from %s' -a '", (*verb)->name);
      put_kinds(*verb);
      printf("'\n");
    }
  }
}

/* ---------------------------------------------------------------------------------------------------------------- */

bool cli_completion(const char *shell) {
  static const struct {
    const char *shell;
    void (*print)(void);
  } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
  for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
    if (strcmp(shells[i].shell, shell) == 0) {
      shells[i].print();
      return true;
    }
  }
  return false;
}
