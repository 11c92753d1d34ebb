/* The bytes of a file or of standard input, plain or gzip, through a window that grows with the record in it. */
#ifndef OAT_SOURCE_H
#define OAT_SOURCE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <zlib.h>

#include "util/context.h"

/* The bytes after the window, read while the window is in use. */
typedef struct oat_ahead {
  char *bytes; /* with room in front for the rest of the window */
  size_t capacity, count;
  bool waiting; /* to become the window */
  bool at_end;
  oatgp_status status;
  oatgp_context ctx; /* its own, because threads must not share an error */
} oat_ahead;

typedef struct oat_source {
  char name[256]; /* for sentences: the path, its end if it is long */
  gzFile file;
  char *window; /* window[begin] .. window[end - 1] are the bytes not yet used; window[end] is 0 */
  size_t capacity, begin, end;
  uint64_t offset; /* of window[0] in the (unpacked) file */
  bool at_end;     /* nothing comes after window[end - 1] */
  size_t size; /* of the file as it is stored, 0 for a pipe: for progress, and for reading ahead, which must not wait */
  int descriptor;  /* of `file`, which closes it */
  struct stat was; /* when it was opened */
  oat_ahead ahead;
} oat_source;

/* Opens and reads the first bytes. "-" is standard input. On failure there is nothing to close. */
oatgp_status oat_source_open(oatgp_context *ctx, const char *path, oat_source *source);
/* Reads until this many unused bytes (which may move) are in the window, or the file ends. */
oatgp_status oat_source_need(oatgp_context *ctx, oat_source *source, size_t bytes);
/* Reads this many bytes after the window, which does not change, so that other threads may use it meanwhile. A failure
 * is reported when the bytes are needed. A pipe is not read ahead, because its rows may not have arrived yet. */
void oat_source_ahead(oat_source *source, size_t bytes);
/* How much of the file has been used, from 0 to 1; NaN for a pipe. */
double oat_source_share(const oat_source *source);
void oat_source_close(oat_source *source); /* takes {0} too */

#endif
