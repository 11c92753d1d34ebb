/* Files that appear whole or not at all. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/memory.h"

static oatgp_status cannot_write(oatgp_context *ctx, const char *path) {
  return oat_fail(ctx, OATGP_WRITE, "cannot write '%s': %s", path, strerror(errno));
}

/* A target that exists and is no regular file must not be replaced by a rename. */
static int is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

static oatgp_status open_temporary(oatgp_context *ctx, oat_file *file) {
  const size_t length = strlen(file->path);
  oatgp_status status = oat_new(ctx, length + sizeof ".tmp.XXXXXX", 1, &file->temporary);
  if (status != OATGP_OK) {
    return status;
  }
  memcpy(file->temporary, file->path, length);
  memcpy(file->temporary + length, ".tmp.XXXXXX", sizeof ".tmp.XXXXXX");
  const int descriptor = mkstemp(file->temporary);
  if (descriptor < 0) {
    return cannot_write(ctx, file->path);
  }
  struct stat info;
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t mode = stat(file->path, &info) == 0 ? (info.st_mode & 07777) : (0666 & ~mask);
  file->stream = fchmod(descriptor, mode) == 0 ? fdopen(descriptor, "wb") : NULL;
  if (file->stream == NULL) {
    status = cannot_write(ctx, file->path);
    close(descriptor);
    unlink(file->temporary);
  }
  return status;
}

static void forget(oat_file *file) {
  free(file->path);
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

/* Makes the rename itself durable; failure to sync a folder is no failure to write. */
static void sync_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  const int descriptor = folder != NULL ? open(folder, O_RDONLY) : -1;
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
  free(folder);
}

oatgp_status oat_file_close(oatgp_context *ctx, oat_file *file, oatgp_status status) {
  const char *path = file->path != NULL ? file->path : "standard output";
  if (status == OATGP_OK && (fflush(file->stream) != 0 || ferror(file->stream))) {
    status = cannot_write(ctx, path);
  }
  if (status == OATGP_OK && file->temporary != NULL && fsync(fileno(file->stream)) != 0) {
    status = cannot_write(ctx, path);
  }
  if (file->path != NULL && fclose(file->stream) != 0 && status == OATGP_OK) {
    status = cannot_write(ctx, path);
  }
  if (file->temporary != NULL) {
    if (status == OATGP_OK && rename(file->temporary, file->path) != 0) {
      status = cannot_write(ctx, path);
    }
    if (status == OATGP_OK) {
      sync_folder(file->path);
    } else {
      unlink(file->temporary);
    }
  }
  forget(file);
  return status;
}
