/* All files of a command, looked at before any of them is opened: no output may be an input or another output, its name
 * must not promise another format, and it must be possible to write it, so that a long fit is not lost. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { MOST_FILES = CLI_MOST_POSITIONALS + 12, LONGEST_PATH = 4096 };

typedef struct file {
  const char *role; /* as the user knows it: "DATA", "--trace" */
  const char *path; /* "-": a standard stream */
  bool written;
} file;

static bool is_stream(const file *f) { return strcmp(f->path, "-") == 0; }

/* ---- which they are ---------------------------------------------------------------------------------------------- */

/* "[DATA]" is DATA. */
static const char *positional_role(const char *name) { return strcmp(name, "[DATA]") == 0 ? "DATA" : name; }

static size_t list_files(const cli *c, file files[MOST_FILES]) {
  const file options[] = {
      {"-o", c->options.output, true},          {"--trace", c->options.trace, true},     {"--checkpoint", c->settings.checkpoint, true},
      {"--cov", c->options.cov, true},          {"--knots", c->options.knots, true}, /* of info */
      {"--knots", cli_knots_file(c), false},    {"--config", c->options.config, false},  {"--data", c->options.data, false},
      {"--against", c->options.against, false}, {"--resume", c->settings.resume, false}, {"--over", c->options.over, false},
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

/* ---- whether two are one ----------------------------------------------------------------------------------------- */

static bool is_there(const file *f, struct stat *info) {
  return (is_stream(f) ? fstat(f->written ? STDOUT_FILENO : STDIN_FILENO, info) : stat(f->path, info)) == 0;
}

/* Whether both names lead to one regular file, by links or not, or will when it is written. */
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
  return (strcmp(a->role, one) == 0 && strcmp(b->role, other) == 0) || (strcmp(a->role, other) == 0 && strcmp(b->role, one) == 0);
}

/* A fit goes on with its own checkpoint, and an updated model may take the place of the old one: both are read before
 * they are replaced, whole. */
static bool may_be_one(const cli *c, const file *a, const file *b) {
  const bool streams = a->written && b->written && (is_stream(a) || is_stream(b)); /* -o /dev/stdout */
  return streams || is_pair(a, b, "--resume", "--checkpoint") || (strcmp(c->verb->name, "update") == 0 && is_pair(a, b, "MODEL", "-o"));
}

static oatgp_status check_distinct(cli *c, const file *files, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < count; k++) {
      const file *output = &files[i], *other = &files[k];
      const bool once = !other->written || k > i; /* of two outputs, in one order only */
      if (output->written && once && k != i && !may_be_one(c, output, other) && same_file(c, output, other)) {
        return cli_usage_error(c, "%s '%s' would overwrite %s '%s', which is the same file; write to another one", output->role,
                               output->path, other->role, other->path);
      }
    }
  }
  return OATGP_OK;
}

/* ---- whether they can be written --------------------------------------------------------------------------------- */

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

/* ---- what their names promise ------------------------------------------------------------------------------------ */

bool cli_has_ending(const char *path, const char *ending) {
  const size_t length = strlen(path), size = strlen(ending);
  return length > size && strcasecmp(path + length - size, ending) == 0;
}

/* What is written there, as an ending; NULL if any name will do. */
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
      return cli_usage_error(c, "%s '%s' ends with %s, but %s writes %s there; give a name that ends with %s", output->role, output->path,
                             known[i], c->verb->name,
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
  for (size_t i = 0; i < count; i++) {
    if (files[i].written && !is_stream(&files[i])) {
      TRY(check_ending(c, &files[i]));
      TRY(check_writable(c, &files[i]));
    }
  }
done:
  return status;
}
