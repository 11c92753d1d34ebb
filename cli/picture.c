/* PNG and PDF of a figure, made by rsvg-convert (librsvg), which is called without a shell. SVG goes to its standard
 * input and the picture comes from its standard output, both as files without a name. The picture file appears only
 * when it is complete. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "signals.h"

#define PROGRAM "rsvg-convert"

extern char **environ;

static oatgp_status cannot_write(cli *c) {
  return cli_fail(c, OATGP_WRITE, "cannot write '%s': %s", c->options.output, strerror(errno));
}

static oatgp_status refuse(cli *c) {
  return cli_fail(c, OATGP_WRITE,
                  "PNG and PDF are made by the program " PROGRAM
                  ", which is not installed; install it (Debian: librsvg2-bin) or write FILE.svg");
}

/* Runs the program with these descriptors; returns whether it succeeded. */
static oatgp_status convert(cli *c, int in, int out, const char *format) {
  char *arguments[] = {strdup(PROGRAM),
                       strdup("--format"),
                       strdup(format),
                       strdup("--zoom"),
                       strdup(strcmp(format, "png") == 0 ? "2" : "1"),
                       strdup("--background-color"),
                       strdup("white"),
                       NULL};
  posix_spawn_file_actions_t actions;
  oatgp_status status = OATGP_OK;
  pid_t child = 0, ended;
  int code = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const int error = posix_spawnp(&child, PROGRAM, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    status = error == ENOENT ? refuse(c) : cli_fail(c, OATGP_WRITE, PROGRAM " cannot be started: %s", strerror(error));
  } else {
    do {
      ended = waitpid(child, &code, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended != child || code != 0) {
      status = cli_fail(c, OATGP_WRITE, PROGRAM " could not make '%s'", c->options.output);
    }
  }
  for (size_t i = 0; i + 1 < sizeof arguments / sizeof *arguments; i++) {
    free(arguments[i]);
  }
  return status;
}

oatgp_status cli_check_picture(cli *c) {
  const char *path = getenv("PATH");
  for (const char *folder = path != NULL ? path : ""; *folder != '\0'; folder += strspn(folder, ":")) {
    const size_t length = strcspn(folder, ":");
    char file[4096];
    const int written = snprintf(file, sizeof file, "%.*s/" PROGRAM, (int)length, folder);
    if (written > 0 && (size_t)written < sizeof file && access(file, X_OK) == 0) {
      return OATGP_OK;
    }
    folder += length;
  }
  return refuse(c);
}

static bool copy(int from, int to) {
  char block[1 << 16];
  bool good = lseek(from, 0, SEEK_SET) == 0;
  for (ssize_t count = 1; good && count != 0;) {
    count = read(from, block, sizeof block);
    errno = count >= 0 ? ENOSPC : errno; /* the error if write() writes fewer bytes */
    good = count >= 0 && write(to, block, (size_t)count) == count;
  }
  return good;
}

/* The picture gets its final name by a rename. Signals are blocked while it has a temporary name. */
static oatgp_status keep(cli *c, int from) {
  oatgp_status status;
  char target[4096], temporary[sizeof target + sizeof ".tmp.XXXXXX"];
  TRY(oatgp_file_path(c->ctx, c->options.output, target, sizeof target)); /* a link is kept */
  snprintf(temporary, sizeof temporary, "%s.tmp.XXXXXX", target);
  const mode_t mask = umask(0);
  umask(mask);
  cli_signals_hold(true);
  const int to = mkstemp(temporary);
  const bool kept =
      to >= 0 && copy(from, to) && fchmod(to, 0666 & ~mask) == 0 && fsync(to) == 0 && rename(temporary, target) == 0;
  status = kept ? OATGP_OK : cannot_write(c);
  if (to >= 0) {
    close(to);
    unlink(temporary); /* fails if it was renamed */
  }
  cli_signals_hold(false);
done:
  return status;
}

oatgp_status cli_write_picture(cli *c, int svg, const char *format) {
  oatgp_status status;
  FILE *made = tmpfile();
  if (made == NULL || lseek(svg, 0, SEEK_SET) != 0) {
    TRY(cannot_write(c));
  }
  TRY(convert(c, svg, fileno(made), format));
  TRY(keep(c, fileno(made)));
done:
  if (made != NULL) {
    fclose(made);
  }
  return status;
}
