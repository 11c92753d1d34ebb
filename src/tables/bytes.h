/* The bytes of a file or of standard input, plain or gzip, seen through a window that grows with the record in it. */
#ifndef OAT_SOURCE_H
#define OAT_SOURCE_H

#include <stdbool.h>
#include <zlib.h>

#include "util/context.h"

/* Bytes that come after the window, read while that is being used. */
typedef struct oat_ahead {
  char *bytes; /* with room in front for what is left of the window then */
  size_t capacity, count;
  bool waiting; /* to become the window */
  bool at_end;
  oatgp_status status;
  oatgp_context ctx; /* its own, as threads must not share an error */
} oat_ahead;

typedef struct oat_source {
  char name[256]; /* for sentences: the path, its end if it is long */
  gzFile file;
  char *window; /* window[begin] .. window[end - 1] are the bytes not yet used; window[end] is 0 */
  size_t capacity, begin, end;
  uint64_t offset; /* of window[0] in the (unpacked) file */
  bool at_end;     /* nothing comes after window[end - 1] */
  size_t size;     /* of the file as it is stored, 0 for a pipe: for progress, and for reading ahead, which must not wait */
  oat_ahead ahead;
} oat_source;

/* Opens and reads the first bytes. "-" is standard input. On failure there is nothing to close. */
oatgp_status oat_source_open(oatgp_context *ctx, const char *path, oat_source *source);
/* Reads on until so many bytes that are not yet used (which may move) are in the window, or the file ends. */
oatgp_status oat_source_need(oatgp_context *ctx, oat_source *source, size_t bytes);
/* Reads so many bytes behind the window, which stays as it is: other threads may use it meanwhile. A failure comes when
 * the bytes are needed. Of a pipe, which could make us wait for rows that are not there yet, nothing is read. */
void oat_source_ahead(oat_source *source, size_t bytes);
/* How much of the file has been read, from 0 to 1; NaN for a pipe. */
double oat_source_share(const oat_source *source);
void oat_source_close(oat_source *source); /* takes {0} too */

#endif
