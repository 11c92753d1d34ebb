/* Manual pages in troff's man macros, made from the tables of verbs and settings: 'oatgp help --man [VERB]'. */
#include <ctype.h>
#include <string.h>

#include "cli.h"

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* Writes text literally: dashes stay dashes, and no line is read as a request. */
static void put(const char *text) {
  for (bool begins = true; *text != '\0'; text++) {
    if (begins && (*text == '.' || *text == '\'')) {
      fputs("\\&", stdout);
    }
    if (*text == '-') {
      fputs("\\-", stdout);
    } else if (*text == '\\') {
      fputs("\\e", stdout);
    } else {
      putchar(*text);
    }
    begins = *text == '\n';
  }
}

static void put_line(const char *text) {
  put(text);
  putchar('\n');
}

/* ".B text" and the like. */
static void put_request(const char *request, const char *text) {
  printf("%s ", request);
  put_line(text);
}

/* The title with the verb's name, if it is a verb's page, in capitals. */
static void put_title(const char *verb) {
  printf(".\\\" Made by 'oatgp help --man' from the tables of verbs and options.\n.TH OATGP");
  for (const char *letter = verb; letter != NULL && *letter != '\0'; letter++) {
    printf("%s%c", letter == verb ? "\\-" : "", toupper((unsigned char)*letter));
  }
  printf(" 1 \"\" \"oatgp %s\" \"User Commands\"\n", oatgp_version());
}

static void put_example(const char *lines) {
  printf(".PP\n.nf\n");
  put_line(lines);
  printf(".fi\n");
}

/* ---- a verb's page --------------------------------------------------------------------------------------------- */

static void put_synopsis(const cli_verb *verb) {
  printf(".B oatgp ");
  put_line(verb->name);
  for (size_t i = 0; i < CLI_MOST_POSITIONALS && verb->positionals[i] != NULL; i++) {
    put_request(".I", verb->positionals[i]);
  }
  put_line(verb->usage);
}

static void put_option(const oatgp_setting *setting) {
  char left[128], text[1024];
  const size_t name = cli_option_left(setting, left, sizeof left);
  cli_describe_option(setting, text, sizeof text);
  printf(".TP\n\\fB");
  const char behind = left[name];
  left[name] = '\0';
  put(left);
  left[name] = behind;
  printf("\\fI");
  put(left + name);
  printf("\\fR\n");
  put_line(text);
}

static void put_options(const cli_verb *verb) {
  const char *title = "", *printed = "";
  for (size_t i = 0; i < oatgp_setting_count(); i++) {
    const oatgp_setting *setting = oatgp_setting_at(i);
    title = cli_heading_at(setting->name, title);
    if (oatgp_setting_has_verb(setting, verb->name)) {
      if (strcmp(title, printed) != 0) {
        put_request(".SS", title);
        printed = title;
      }
      put_option(setting);
    }
  }
}

static void put_see_also(const cli_verb *but) {
  printf(".SH SEE ALSO\n");
  if (but != NULL) {
    printf(".BR oatgp (1),\n");
  }
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    if (*verb != but) {
      const bool last = verb[1] == NULL || (verb[1] == but && verb[2] == NULL);
      printf(".BR oatgp\\-%s (1)%s\n", (*verb)->name, last ? "" : ",");
    }
  }
}

void cli_manual_verb(const cli_verb *verb) {
  put_title(verb->name);
  printf(".SH NAME\noatgp\\-%s \\- ", verb->name);
  put_line(verb->summary);
  printf(".SH SYNOPSIS\n");
  put_synopsis(verb);
  printf(".SH DESCRIPTION\n");
  put_line(verb->details);
  printf(".SH OPTIONS\n");
  put_options(verb);
  printf(".SH EXAMPLES\n");
  put_example(verb->example);
  put_see_also(verb);
}

/* ---- the page of the command ----------------------------------------------------------------------------------- */

/* The sections that all verbs share. */
static const char common[] =
    ".SH OPTIONS\n"
    "The page of each verb lists its options with defaults and ranges, as\n"
    ".B oatgp\n.I VERB\n.B \\-\\-help\n"
    "does. They are given as\n.B \\-\\-name\n.I value\nor\n.BR \\-\\-name=\\fIvalue\\fR ,\n"
    "flags as\n.B \\-\\-name\nor\n.BR \\-\\-no\\-name .\n"
    ".B \\-o\nis short for\n.BR \\-\\-output ,\n.B \\-h\nfor\n.BR \\-\\-help ,\nand\n.B \\-\\-\nends the options. "
    "With\n.B \\-\\-json\n"
    "a verb prints one JSON object on standard output. Notes, warnings, progress and errors go to standard error;\n"
    ".B \\-\\-quiet\nleaves only the errors.\n"
    ".TP\n.B oatgp \\-\\-version\nshows the version, the commit, and what it was built with and found: BLAS and its "
    "kernels, processor, cores, threads, SIMD.\n"
    ".TP\n.B oatgp help \\-\\-completion bash\\fR|\\fBzsh\\fR|\\fBfish\nprints a script that completes verbs, options, "
    "their values and the\n"
    "columns of the data. It is installed with the command.\n"
    ".TP\n.BI \"oatgp help \\-\\-man \" [VERB]\nprints this page or that of a verb.\n"
    ".SH FILES\n"
    ".TP\n.I DATA\nCSV or TSV, plain or gzip, or .npy;\n.B \\-\nis standard input. Columns are named in a header line "
    "or numbered from 1.\n"
    ".TP\n.I MODEL\nthe model file; it appears only when it is complete.\n"
    ".TP\nconfig file\n.RB ( \\-\\-config )\nlines\n.IR \"name = value\" ,\nwhere a name is that of an option without "
    "the leading dashes;\n"
    ".B #\nat the start of a line or after a blank begins a comment. Options of the command line win.\n"
    ".TP\ntrace\n.RB ( \\-\\-trace )\none JSON object per line, written as the work goes on:\n"
    ".I event\nis subset, start, step, proposal, kept, dropped, refine or end in a fit, fold in a cross-validation, "
    "bracket in a certificate, and\n"
    "progress in all long work\n.RI ( what ,\n.IR unit ,\n.IR done ,\n.I total\nwhere it is known).\n"
    ".SH PROGRESS\n"
    "Work that takes longer than half a second shows a live line on a terminal: progress, speed and, where it is "
    "known, the\n"
    "time left. Without a terminal, a line appears after two seconds, and further ones now and then.\n"
    ".SH SIGNALS\n"
    "While a model is being fitted, the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 ends the fit, saves the best model so "
    "far\n"
    "and exits with 3; a second one ends the command at once. Under nohup, SIGHUP stays ignored. An interrupted\n"
    "command leaves no output file: a file gets its name only when it is complete. Where the file system cannot do\n"
    "that, an unfinished file has a name that ends with .tmp and six letters. An interrupted certificate prints the\n"
    "bounds so far and exits with 3. An interrupted cross-validation prints the scores of the finished folds and\n"
    "exits with 3, or with 1 if no fold is finished.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\ndone; this includes a fit that reached its time limit.\n.TP\n.B 1\nfailed.\n"
    ".TP\n.B 2\nthe command line or a setting is wrong.\n.TP\n.B 3\ninterrupted; the best so far was saved or "
    "printed.\n";

void cli_manual(void) {
  put_title(NULL);
  printf(".SH NAME\noatgp \\- Gaussian-process regression that chooses its own knots\n.SH SYNOPSIS\n");
  printf(
      ".B oatgp\n.I VERB ARGUMENTS\n.RI [ OPTIONS ]\n.br\n.B oatgp\n.RI [ VERB ]\n.B \\-\\-help\n|\n.B "
      "\\-\\-version\n");
  printf(
      ".SH DESCRIPTION\n.B oatgp\nfits sparse Gaussian-process regressions to tables of numbers. A few knots summarise "
      "the data; their places and the\nparameters of the covariance are found together by maximising the model's "
      "objective. Each verb has a page of its own:\n");
  for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
    printf(".TP\n.BR oatgp\\-%s (1)\n", (*verb)->name);
    put_line((*verb)->summary);
  }
  fputs(common, stdout);
  printf(".SH EXAMPLES\nFit, predict, and see how well the model does on rows that it has not seen:\n");
  put_example(
      "oatgp fit train.csv --target y -o model.oatgp\n"
      "oatgp predict model.oatgp new.csv --interval 0.9 -o predictions.csv\n"
      "oatgp score model.oatgp test.csv");
  printf("Read from a pipe, stop after ten minutes, and follow the steps:\n");
  put_example("zcat big.csv.gz | oatgp fit - --target y --time-limit 600 --trace steps.jsonl -o model.oatgp");
  put_see_also(NULL);
}
