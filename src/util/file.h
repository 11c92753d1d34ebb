/* Files that appear only when they are complete: written without a name or next to the target, synced, then given the
 * target's name. */
#ifndef OAT_FILE_H
#define OAT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/context.h"

typedef struct oat_file {
  FILE *stream;
  char *path;               /* for sentences; these three are NULL for standard output */
  char *target, *temporary; /* the file that is replaced, with all links followed, and the temporary file beside it;
                               NULL if written directly */
  bool nameless;            /* the file has no name yet, and disappears with the process */
} oat_file;

/* Opens for writing; "-" is standard output. A path that is not a regular file (a device, a pipe) or that stands for an
 * open stream (/dev/stdout) is written directly. A link is kept, and the file that it leads to is replaced. */
oatgp_status oat_file_open(oatgp_context *ctx, const char *path, oat_file *file);
/* With status OK: flush, sync, rename (a full disk is found here at the latest). Otherwise: remove the temporary file
 * and return the status given. In both cases the file is closed. */
oatgp_status oat_file_close(oatgp_context *ctx, oat_file *file, oatgp_status status);

#endif
