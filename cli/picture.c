/* PNG and PDF of a figure, by rsvg-convert (librsvg), which is called without a shell: SVG in by its standard input, the picture out. The file
 * appears whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define PROGRAM "rsvg-convert"

extern char **environ;

static oatgp_status cannot_write(cli *c) { return cli_fail(c, OATGP_WRITE, "cannot write '%s': %s", c->options.output, strerror(errno)); }

static oatgp_status refuse(cli *c) {
  return cli_fail(c, OATGP_WRITE,
                  "PNG and PDF are made by the program " PROGRAM
                  ", which is not here: install it (Debian: librsvg2-bin) or "
                  "write FILE.svg");
}

/* Runs the program with these descriptors; whether it did what it should. */
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

static oatgp_status finish(cli *c, int out, const char *temporary, const char *target) {
  const mode_t mask = umask(0);
  umask(mask);
  const bool kept = fchmod(out, 0666 & ~mask) == 0 && fsync(out) == 0 && rename(temporary, target) == 0;
  return kept ? OATGP_OK : cannot_write(c);
}

oatgp_status cli_write_picture(cli *c, const char *svg, const char *format) {
  oatgp_status status;
  char target[4096], temporary[sizeof target + sizeof ".tmp.XXXXXX"];
  int in = -1, out = -1;
  TRY(oatgp_file_path(c->ctx, c->options.output, target, sizeof target)); /* a link stays */
  snprintf(temporary, sizeof temporary, "%s.tmp.XXXXXX", target);
  in = open(svg, O_RDONLY);
  out = in >= 0 ? mkstemp(temporary) : -1;
  if (out < 0) {
    TRY(cannot_write(c));
  }
  TRY(convert(c, in, out, format));
  TRY(finish(c, out, temporary, target));
done:
  if (in >= 0) {
    close(in);
  }
  if (out >= 0) {
    close(out);
    unlink(temporary); /* gone already if it was renamed */
  }
  return status;
}
