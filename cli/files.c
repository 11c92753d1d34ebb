/* Checks all files of a command before any of them is opened: no output may be an input or another output, its name
 * must suit its format, and it must be writable, so that the result of a long fit is not lost. */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { MOST_FILES = CLI_MOST_POSITIONALS + 12, LONGEST_PATH = 4096 };

typedef struct file {
  const char *role; /* as the user wrote it: "DATA", "--trace" */
  const char *path; /* "-": a standard stream */
  bool written;
} file;

static bool is_stream(const file *f) { return strcmp(f->path, "-") == 0; }

/* ---- the files of a command ------------------------------------------------------------------------------------ */

/* "[DATA]" is DATA. */
static const char *positional_role(const char *name) { return strcmp(name, "[DATA]") == 0 ? "DATA" : name; }

static size_t list_files(const cli *c, file files[MOST_FILES]) {
  const file options[] = {
      {"-o", c->options.output, true},
      {"--trace", c->options.trace, true},
      {"--checkpoint", c->settings.checkpoint, true},
      {"--cov", c->options.cov, true},
      {"--knots", c->options.knots, true}, /* of info */
      {"--knots", cli_knots_file(c), false},
      {"--config", c->options.config, false},
      {"--data", c->options.data, false},
      {"--against", c->options.against, false},
      {"--resume", c->settings.resume, false},
      {"--over", c->options.over, false},
  };
  size_t count = 0;
  files[count++] = (file){"standard output", "-", true};
  for (size_t i = 0; i < c->positional_count; i++) {
    if (strcmp(c->verb->positionals[i], "KIND") != 0) {
      files[count++] = (file){positional_role(c->verb->positionals[i]), c->positionals[i], false};
    }
  }
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (*options[i].path != '\0' && !is_stream(&options[i])) {
      files[count++] = options[i];
    }
  }
  return count;
}

/* ---- whether two names mean one file --------------------------------------------------------------------------- */

static bool is_there(const file *f, struct stat *info) {
  return (is_stream(f) ? fstat(f->written ? STDOUT_FILENO : STDIN_FILENO, info) : stat(f->path, info)) == 0;
}

/* Whether both names lead to the same regular file, directly or by links, or will do so once it is written. */
static bool same_file(cli *c, const file *a, const file *b) {
  struct stat at_a, at_b;
  char path_a[LONGEST_PATH], path_b[LONGEST_PATH];
  const bool has_a = is_there(a, &at_a), has_b = is_there(b, &at_b);
  if (has_a && has_b) {
    return S_ISREG(at_a.st_mode) && at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino;
  }
  return !has_a && !has_b && oatgp_file_path(c->ctx, a->path, path_a, sizeof path_a) == OATGP_OK &&
         oatgp_file_path(c->ctx, b->path, path_b, sizeof path_b) == OATGP_OK && strcmp(path_a, path_b) == 0;
}

static bool is_pair(const file *a, const file *b, const char *one, const char *other) {
  return (strcmp(a->role, one) == 0 && strcmp(b->role, other) == 0) ||
         (strcmp(a->role, other) == 0 && strcmp(b->role, one) == 0);
}

/* A fit may continue its own checkpoint, and an updated model may replace the old one, because both are read completely
 * before they are replaced. */
static bool may_be_one(const cli *c, const file *a, const file *b) {
  const bool streams = a->written && b->written && (is_stream(a) || is_stream(b)); /* -o /dev/stdout */
  return streams || is_pair(a, b, "--resume", "--checkpoint") ||
         (strcmp(c->verb->name, "update") == 0 && is_pair(a, b, "MODEL", "-o"));
}

static oatgp_status check_pair(cli *c, const file *output, const file *other) {
  return output->written && !may_be_one(c, output, other) && same_file(c, output, other)
             ? cli_usage_error(c, "%s '%s' would overwrite %s '%s', which is the same file; write to another one",
                               output->role, output->path, other->role, other->path)
             : OATGP_OK;
}

static oatgp_status check_distinct(cli *c, const file *files, size_t count) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < count; k++) {
      const bool once = !files[k].written || k > i; /* each pair of outputs only once */
      TRY(once && k != i ? check_pair(c, &files[i], &files[k]) : OATGP_OK);
    }
  }
done:
  return status;
}

/* ---- inputs of several files ----------------------------------------------------------------------------------- */

/* One of the files that an input stands for. */
static oatgp_status check_part(cli *c, const char *role, const char *path) {
  const file part = {role, path, false};
  file files[MOST_FILES];
  const size_t count = list_files(c, files);
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < count; i++) {
    TRY(check_pair(c, &files[i], &part));
  }
done:
  return status;
}

/* A list that cannot be read is refused when it is read. */
static oatgp_status check_list(cli *c, const char *role, const char *list) {
  FILE *lines = fopen(list, "r");
  char *line = NULL;
  size_t room = 0;
  oatgp_status status = check_part(c, role, list);
  while (status == OATGP_OK && lines != NULL && getline(&line, &room, lines) >= 0) {
    line[strcspn(line, "\r\n")] = '\0';
    status = check_part(c, role, line);
  }
  free(line);
  if (lines != NULL) {
    fclose(lines);
  }
  return status;
}

static oatgp_status check_matches(cli *c, const char *role, const char *pattern) {
  glob_t found = {0};
  oatgp_status status = OATGP_OK;
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && status == OATGP_OK; i++) {
      status = check_part(c, role, found.gl_pathv[i]);
    }
  }
  globfree(&found);
  return status;
}

/* "@LIST" stands for the files that LIST names, and a pattern for those that match it if no file has this name. */
static oatgp_status check_parts(cli *c, const file *input) {
  const bool pattern = strpbrk(input->path, "*?[") != NULL && access(input->path, F_OK) != 0;
  return input->path[0] == '@' ? check_list(c, input->role, input->path + 1)
         : pattern             ? check_matches(c, input->role, input->path)
                               : OATGP_OK;
}

/* ---- whether they can be written ------------------------------------------------------------------------------- */

static oatgp_status cannot_write(cli *c, const file *output, int error) {
  return cli_fail(c, OATGP_WRITE, "cannot write '%s': %s (%s)", output->path, strerror(error), output->role);
}

static oatgp_status check_writable(cli *c, const file *output) {
  struct stat info;
  char path[LONGEST_PATH];
  if (is_there(output, &info) &&
      (!S_ISREG(info.st_mode) || strncmp(output->path, "/dev/", 5) == 0)) { /* a stream may be a regular file, too */
    const int error = S_ISDIR(info.st_mode) ? EISDIR : access(output->path, W_OK) == 0 ? 0 : errno;
    return error == 0 ? OATGP_OK : cannot_write(c, output, error);
  }
  if (oatgp_file_path(c->ctx, output->path, path, sizeof path) != OATGP_OK) {
    return cannot_write(c, output, errno);
  }
  char *name = strrchr(path, '/') + 1;
  const int error = *name == '\0' ? EISDIR : 0;
  *name = '\0';
  return error == 0 && access(path, W_OK | X_OK) == 0 ? OATGP_OK : cannot_write(c, output, error != 0 ? error : errno);
}

/* What only has a place in a file. */
static oatgp_status check_streams(cli *c) {
  const file options[] = {
      {"--trace", c->options.trace, true},
      {"--checkpoint", c->settings.checkpoint, true},
      {"--cov", c->options.cov, true},
  };
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    TRY(is_stream(&options[i]) ? cli_usage_error(c, "%s cannot go to standard output; name a file", options[i].role)
                               : OATGP_OK);
  }
done:
  return status;
}

/* ---- whether their names suit their formats
 * ---------------------------------------------------------------------------------- */

bool cli_has_ending(const char *path, const char *ending) {
  const size_t length = strlen(path), size = strlen(ending);
  return length > size && strcasecmp(path + length - size, ending) == 0;
}

/* The ending of the format that is written; NULL if any name is allowed. */
static const char *format_of(const cli *c, const file *output) {
  static const char *const tables[] = {"predict", "loo", "cv"};
  if (strcmp(output->role, "--cov") == 0) {
    return ".npy";
  }
  if (strcmp(output->role, "--knots") == 0) {
    return ".csv";
  }
  if (strcmp(output->role, "-o") != 0) {
    return NULL;
  }
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (strcmp(c->verb->name, tables[i]) == 0) {
      return ".csv";
    }
  }
  return strcmp(c->verb->name, "convert") == 0 ? cli_has_ending(output->path, ".csv") ? ".csv" : ".npy" : NULL;
}

static oatgp_status check_ending(cli *c, const file *output) {
  static const char *const known[] = {".csv", ".tsv", ".npy",  ".npz",     ".gz",      ".bz2",  ".xz",
                                      ".zst", ".zip", ".json", ".parquet", ".feather", ".xlsx", ".html"};
  const char *format = format_of(c, output);
  for (size_t i = 0; format != NULL && i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i], format) != 0 && cli_has_ending(output->path, known[i])) {
      const bool both = strcmp(c->verb->name, "convert") == 0;
      return cli_usage_error(c, "%s '%s' ends with %s, but %s writes %s there; give a name that ends with %s",
                             output->role, output->path, known[i], c->verb->name,
                             both               ? "CSV or .npy"
                             : format[1] == 'c' ? "CSV"
                                                : ".npy",
                             both ? ".csv or .npy" : format);
    }
  }
  return OATGP_OK;
}

oatgp_status cli_check_files(cli *c) {
  file files[MOST_FILES];
  const size_t count = list_files(c, files);
  oatgp_status status;
  TRY(check_distinct(c, files, count));
  TRY(check_streams(c));
  for (size_t i = 0; i < count; i++) {
    TRY(files[i].written ? OATGP_OK : check_parts(c, &files[i]));
    if (files[i].written && !is_stream(&files[i])) {
      TRY(check_ending(c, &files[i]));
      TRY(check_writable(c, &files[i]));
    }
  }
done:
  return status;
}
