/* Files that appear whole or not at all: written without a name or beside the target, synced, given the target's name. */
#ifndef OAT_FILE_H
#define OAT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/context.h"

typedef struct oat_file {
  FILE *stream;
  char *path, *temporary; /* both NULL for standard output */
  bool nameless;          /* what is written has no name yet, and is gone with the process */
} oat_file;

/* Opens for writing; "-" is standard output. A path that is not a regular file (a device, a pipe, /dev/fd/N) is written
 * directly. */
oatgp_status oat_file_open(oatgp_context *ctx, const char *path, oat_file *file);
/* With status OK: flush, sync, rename (a full disk is found here at the latest). Otherwise: remove the temporary file and
 * return the status given. In both cases the file is closed. */
oatgp_status oat_file_close(oatgp_context *ctx, oat_file *file, oatgp_status status);

#endif
