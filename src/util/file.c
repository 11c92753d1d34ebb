/* Files that appear only when they are complete.
 *
 * If the system can, the file has no name until it is complete (O_TMPFILE), so that a process that ends early leaves
 * nothing behind, however it ends. Otherwise it is a temporary file next to the target, which is removed if writing
 * fails. */
#define _GNU_SOURCE /* O_TMPFILE, realpath */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/memory.h"

enum { OAT_PATH_SIZE = 4096, MOST_LINKS = 40 };

static oatgp_status cannot_write(oatgp_context *ctx, const char *path) {
  return oat_fail(ctx, OATGP_WRITE, "cannot write '%s': %s", path, strerror(errno));
}

/* A target that exists and is no regular file must not be replaced by a rename, nor must the name of an open stream. */
static bool is_special(const char *path) {
  static const char *const streams[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"};
  struct stat info;
  bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    special = special || strncmp(path, streams[i], strlen(streams[i])) == 0;
  }
  return special;
}

/* The length up to and including the last slash; 0 if there is none. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* Follows one link; false if the path is not a link. A path that becomes too long is cut, and then not found. */
static bool follow_link(char path[OAT_PATH_SIZE]) {
  char link[OAT_PATH_SIZE], joined[2 * OAT_PATH_SIZE];
  const ssize_t length = readlink(path, link, sizeof link - 1);
  if (length <= 0) {
    return false;
  }
  link[length] = '\0';
  snprintf(joined, sizeof joined, "%.*s%s", link[0] == '/' ? 0 : (int)folder_length(path), path, link);
  snprintf(path, OAT_PATH_SIZE, "%.*s", OAT_PATH_SIZE - 1, joined);
  return true;
}

oatgp_status oatgp_file_path(oatgp_context *ctx, const char *path, char *out, size_t room) {
  OAT_NEED_CONTEXT(ctx);
  char at[OAT_PATH_SIZE], folder[OAT_PATH_SIZE], real[OAT_PATH_SIZE];
  REFUSE_IF(path == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "the path of a file and the output pointer must not be NULL");
  if (path[0] == '\0' || strlen(path) >= sizeof at) {
    errno = path[0] == '\0' ? ENOENT : ENAMETOOLONG;
    return cannot_write(ctx, path);
  }
  memcpy(at, path, strlen(path) + 1);
  for (int hops = 0; hops < MOST_LINKS && follow_link(at); hops++) {
  }
  const size_t length = folder_length(at);
  snprintf(folder, sizeof folder, "%.*s", length > 0 ? (int)length : 1, length > 0 ? at : ".");
  if (realpath(folder, real) == NULL) {
    return cannot_write(ctx, path);
  }
  const int written = snprintf(out, room, "%s%s%s", real, strcmp(real, "/") == 0 ? "" : "/", at + length);
  errno = ENAMETOOLONG;
  return written >= 0 && (size_t)written < room ? OATGP_OK : cannot_write(ctx, path);
}

/* The folder of a target, whose path has one; the caller frees it. NULL without memory. */
static char *folder_of(const char *target) { return strndup(target, folder_length(target)); }

enum { LINK_TEXT = 32 };

/* By this path a file without a name can be given one. */
static void write_link(int descriptor, char link[LINK_TEXT]) {
  snprintf(link, LINK_TEXT, "/proc/self/fd/%d", descriptor);
}

/* -1 if it is not supported: by the file system or the system, or because /proc is missing. */
static int open_nameless(const char *target) {
  int descriptor = -1;
#ifdef O_TMPFILE
  char link[LINK_TEXT], *folder = folder_of(target);
  descriptor = folder != NULL ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
  free(folder);
  write_link(descriptor, link);
  if (descriptor >= 0 && access(link, F_OK) != 0) {
    close(descriptor);
    descriptor = -1;
  }
#else
  (void)target;
#endif
  return descriptor;
}

static oatgp_status open_temporary(oatgp_context *ctx, oat_file *file) {
  char target[OAT_PATH_SIZE];
  PASS_ON(oatgp_file_path(ctx, file->path, target, sizeof target));
  PASS_ON(oat_copy_text(ctx, target, &file->target));
  const size_t length = strlen(target);
  PASS_ON(oat_new(ctx, length + sizeof ".tmp.XXXXXX", 1, &file->temporary));
  memcpy(file->temporary, target, length);
  memcpy(file->temporary + length, ".tmp.XXXXXX", sizeof ".tmp.XXXXXX");
  int descriptor = open_nameless(target);
  file->nameless = descriptor >= 0;
  descriptor = file->nameless ? descriptor : mkstemp(file->temporary);
  PASS_ON(descriptor >= 0 ? OATGP_OK : cannot_write(ctx, file->path));
  struct stat info;
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t mode = stat(file->target, &info) == 0 ? (info.st_mode & 07777) : (0666 & ~mask);
  file->stream = fchmod(descriptor, mode) == 0 ? fdopen(descriptor, "wb") : NULL;
  if (file->stream != NULL) {
    return OATGP_OK;
  }
  const oatgp_status status = cannot_write(ctx, file->path);
  close(descriptor);
  if (!file->nameless) {
    unlink(file->temporary);
  }
  return status;
}

static void forget(oat_file *file) {
  free(file->path);
  free(file->target);
  free(file->temporary);
  *file = (oat_file){0};
}

oatgp_status oat_file_open(oatgp_context *ctx, const char *path, oat_file *file) {
  *file = (oat_file){0};
  if (strcmp(path, "-") == 0) {
    file->stream = stdout;
    return OATGP_OK;
  }
  oatgp_status status = oat_copy_text(ctx, path, &file->path);
  if (status == OATGP_OK && is_special(path)) {
    file->stream = fopen(path, "wb");
    status = file->stream != NULL ? OATGP_OK : cannot_write(ctx, path);
  } else if (status == OATGP_OK) {
    status = open_temporary(ctx, file);
  }
  if (status != OATGP_OK) {
    forget(file);
  }
  return status;
}

/* Makes the rename itself durable; if a folder cannot be synced, the file is still written. */
static void sync_folder(const char *target) {
  char *folder = folder_of(target);
  const int descriptor = folder != NULL ? open(folder, O_RDONLY) : -1;
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
  free(folder);
}

/* Copies the contents of a nameless file into the temporary one, if the file cannot be given a name. */
static bool copy_nameless(int from, char *temporary) {
  char block[1 << 16];
  const int to = mkstemp(temporary);
  struct stat info;
  bool good =
      to >= 0 && fstat(from, &info) == 0 && fchmod(to, info.st_mode & 07777) == 0 && lseek(from, 0, SEEK_SET) == 0;
  for (ssize_t count = 1; good && count != 0;) {
    count = read(from, block, sizeof block);
    errno = count >= 0 ? ENOSPC : errno; /* the error if write() writes fewer bytes */
    good = count >= 0 && write(to, block, (size_t)count) == count;
  }
  good = good && fsync(to) == 0;
  const int error = errno;
  if (to >= 0) {
    close(to);
    if (!good) {
      unlink(temporary);
    }
  }
  errno = error;
  return good;
}

/* If the target does not exist yet, the file gets its name directly. An existing target can only be replaced by a
 * rename, for which the file first needs a temporary name. */
static bool name_it(int descriptor, char *temporary, const char *path) {
  char link[LINK_TEXT], *digits = temporary + strlen(temporary) - 6;
  int made = -1;
  write_link(descriptor, link);
  if (linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
    return true;
  }
  errno = EEXIST;
  for (unsigned i = 0; made != 0 && errno == EEXIST && i < 1000; i++) {
    snprintf(digits, 7, "%06u", ((unsigned)getpid() + i) % 1000000);
    made = linkat(AT_FDCWD, link, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW);
  }
  if (made != 0) {
    memcpy(digits, "XXXXXX", 6);
  }
  if (made != 0 && !copy_nameless(descriptor, temporary)) {
    return false;
  }
  if (rename(temporary, path) != 0) {
    const int error = errno;
    unlink(temporary);
    errno = error;
    return false;
  }
  return true;
}

/* Signals are blocked for the moment in which the file has a temporary name beside the target. */
static bool give_name(int descriptor, char *temporary, const char *path) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const bool good = name_it(descriptor, temporary, path);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return good;
}

oatgp_status oat_file_close(oatgp_context *ctx, oat_file *file, oatgp_status status) {
  const char *path = file->path != NULL ? file->path : "standard output";
  if (status == OATGP_OK && (fflush(file->stream) != 0 || ferror(file->stream))) {
    status = cannot_write(ctx, path);
  }
  if (status == OATGP_OK && file->temporary != NULL && fsync(fileno(file->stream)) != 0) {
    status = cannot_write(ctx, path);
  }
  if (status == OATGP_OK && file->nameless && !give_name(fileno(file->stream), file->temporary, file->target)) {
    status = cannot_write(ctx, path);
  }
  if (file->path != NULL && fclose(file->stream) != 0 && status == OATGP_OK) {
    status = cannot_write(ctx, path);
  }
  if (file->temporary != NULL) {
    if (status == OATGP_OK && !file->nameless && rename(file->temporary, file->target) != 0) {
      status = cannot_write(ctx, path);
    }
    if (status == OATGP_OK) {
      sync_folder(file->target);
    } else if (!file->nameless) {
      unlink(file->temporary);
    }
  }
  forget(file);
  return status;
}
