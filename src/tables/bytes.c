/* The bytes of a file or of standard input. zlib reads plain files unchanged, so one path serves for both. */
#include "tables/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/memory.h"

enum { CHUNK = 1 << 18, ZLIB_BUFFER = 1 << 17, LONGEST_NAME = 200, LONGEST_READ = 1 << 30, HEAD_ROOM = 1 << 16 };

static void set_name(oat_source *source, const char *path) {
  const size_t length = strlen(path);
  if (strcmp(path, "-") == 0) {
    snprintf(source->name, sizeof source->name, "standard input");
  } else if (length > LONGEST_NAME) {
    snprintf(source->name, sizeof source->name, "...%s", path + length - LONGEST_NAME);
  } else {
    snprintf(source->name, sizeof source->name, "%s", path);
  }
}

static oatgp_status cannot_read(oatgp_context *ctx, const oat_source *source, int error) {
  return oat_fail(ctx, OATGP_READ, "cannot read '%s': %s", source->name, strerror(error));
}

static oatgp_status open_file(oatgp_context *ctx, const char *path, oat_source *source) {
  const int descriptor = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return cannot_read(ctx, source, errno);
  }
  struct stat info;
  oatgp_status status = OATGP_OK;
  source->descriptor = descriptor;
  if (fstat(descriptor, &info) != 0) {
    status = cannot_read(ctx, source, errno);
  } else if (S_ISDIR(info.st_mode)) {
    status = cannot_read(ctx, source, EISDIR);
  } else {
    source->size = S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size : 0;
    source->was = info;
    source->file = gzdopen(descriptor, "rb");
    status = source->file != NULL ? OATGP_OK : oat_no_memory(ctx, ZLIB_BUFFER);
  }
  if (status != OATGP_OK) {
    close(descriptor);
  }
  return status;
}

oatgp_status oat_source_open(oatgp_context *ctx, const char *path, oat_source *source) {
  oatgp_status status = OATGP_OK;
  *source = (oat_source){0};
  set_name(source, path);
  TRY(open_file(ctx, path, source));
  gzbuffer(source->file, ZLIB_BUFFER);
  TRY(oat_source_need(ctx, source, CHUNK - 1));
done:
  if (status != OATGP_OK) {
    oat_source_close(source);
  }
  return status;
}

/* Whether another process has changed the file while it was read. The rows read may then be a mixture. */
static bool has_changed(const oat_source *source) {
  struct stat now;
  return S_ISREG(source->was.st_mode) && fstat(source->descriptor, &now) == 0 &&
         (now.st_size != source->was.st_size || now.st_mtim.tv_sec != source->was.st_mtim.tv_sec ||
          now.st_mtim.tv_nsec != source->was.st_mtim.tv_nsec);
}

/* After a read that gave fewer bytes than asked for: the end of the file or an error? */
static oatgp_status check_end(oatgp_context *ctx, const oat_source *source, int read_error) {
  int code = Z_OK;
  REFUSE_IF(has_changed(source), ctx, OATGP_READ,
            "'%s' has changed while it was read; do not change it before the work is done", source->name);
  gzerror(source->file, &code);
  switch (code) {
    case Z_OK:
    case Z_STREAM_END:
      return OATGP_OK;
    case Z_ERRNO:
      return cannot_read(ctx, source, read_error);
    case Z_MEM_ERROR:
      return oat_no_memory(ctx, ZLIB_BUFFER);
    case Z_BUF_ERROR:
      return oat_fail(ctx, OATGP_READ,
                      "'%s' is truncated: its gzip data end too early; download or copy the file again", source->name);
    default:
      return oat_fail(ctx, OATGP_READ,
                      "'%s' is damaged: its gzip data cannot be unpacked; download or copy the file again",
                      source->name);
  }
}

/* Moves the unused bytes to the front and makes room for `size` bytes in all and the final 0. */
static oatgp_status make_room(oatgp_context *ctx, oat_source *source, size_t bytes) {
  const size_t unread = source->end - source->begin;
  if (source->window != NULL) {
    memmove(source->window, source->window + source->begin, unread);
  }
  source->offset += source->begin;
  source->begin = 0;
  source->end = unread;
  return oat_grow(ctx, bytes + 1, 1, &source->capacity, &source->window);
}

/* Reads to `to`, which has room for so many bytes and a 0, until it is full or the file ends. */
static oatgp_status read_to(oatgp_context *ctx, const oat_source *source, char *to, size_t room, size_t *count,
                            bool *at_end) {
  const unsigned wanted = room < LONGEST_READ ? (unsigned)room : LONGEST_READ;
  errno = 0;
  const int got = gzread(source->file, to, wanted);
  const int read_error = errno;
  *count = got > 0 ? (size_t)got : 0;
  to[*count] = '\0';
  *at_end = got < 0 || (unsigned)got < wanted;
  return *at_end ? check_end(ctx, source, read_error) : OATGP_OK;
}

static oatgp_status fill(oatgp_context *ctx, oat_source *source) {
  size_t count = 0;
  const size_t room = source->capacity - 1 - source->end;
  const oatgp_status status = read_to(ctx, source, source->window + source->end, room, &count, &source->at_end);
  source->end += count;
  return status;
}

/* ---- ahead ----------------------------------------------------------------------------------------------------- */

void oat_source_ahead(oat_source *source, size_t bytes) {
  oat_ahead *ahead = &source->ahead;
  if (source->size == 0 || source->at_end || ahead->waiting || bytes == 0) {
    return;
  }
  ahead->count = 0;
  ahead->at_end = false;
  ahead->status = oat_grow(&ahead->ctx, HEAD_ROOM + bytes + 1, 1, &ahead->capacity, &ahead->bytes);
  if (ahead->status == OATGP_OK) {
    ahead->status = read_to(&ahead->ctx, source, ahead->bytes + HEAD_ROOM, bytes, &ahead->count, &ahead->at_end);
  }
  ahead->waiting = true;
}

/* The rest of the window is copied in front of the bytes that were read ahead. Together they become the window. */
static void change_windows(oat_source *source) {
  oat_ahead *ahead = &source->ahead;
  const size_t unread = source->end - source->begin, capacity = source->capacity;
  char *const window = source->window;
  memcpy(ahead->bytes + HEAD_ROOM - unread, window + source->begin, unread);
  source->offset +=
      (uint64_t)source->begin - (uint64_t)(HEAD_ROOM - unread); /* unsigned, so it may wrap around and back */
  source->window = ahead->bytes;
  source->capacity = ahead->capacity;
  source->begin = HEAD_ROOM - unread;
  source->end = HEAD_ROOM + ahead->count;
  ahead->bytes = window;
  ahead->capacity = capacity;
}

/* If the rest is too long for that, the bytes read ahead are appended to the window. */
static oatgp_status append_ahead(oatgp_context *ctx, oat_source *source) {
  const oat_ahead *ahead = &source->ahead;
  PASS_ON(make_room(ctx, source, source->end - source->begin + ahead->count));
  memcpy(source->window + source->end, ahead->bytes + HEAD_ROOM, ahead->count);
  source->end += ahead->count;
  source->window[source->end] = '\0';
  return OATGP_OK;
}

static oatgp_status take_ahead(oatgp_context *ctx, oat_source *source) {
  oat_ahead *ahead = &source->ahead;
  ahead->waiting = false;
  REFUSE_IF(ahead->status != OATGP_OK, ctx, ahead->status, "%s", ahead->ctx.error);
  if (source->end - source->begin <= HEAD_ROOM) {
    change_windows(source);
  } else {
    PASS_ON(append_ahead(ctx, source));
  }
  source->at_end = ahead->at_end;
  return OATGP_OK;
}

/* ---- needing --------------------------------------------------------------------------------------------------- */

/* Unpacked bytes that have been read, with those read ahead. */
static uint64_t unpacked(const oat_source *source) {
  return source->offset + source->end + (source->ahead.waiting ? source->ahead.count : 0);
}

/* Bytes of the file as it is stored, packed or not, that have been read; of a pipe, bytes that came out of it. For a
 * plain file gzoffset would count the bytes in zlib's buffer, too. */
static size_t bytes_read(const oat_source *source) {
  const z_off_t stored = source->size > 0 && !gzdirect(source->file) ? gzoffset(source->file) : -1;
  if (stored < 0) {
    return (size_t)unpacked(source);
  }
  return (size_t)stored < source->size ? (size_t)stored : source->size;
}

/* Bytes in the window and ahead are not yet used. Of a packed file, the used part of the unpacked bytes counts. */
double oat_source_share(const oat_source *source) {
  if (source->size == 0) {
    return NAN;
  }
  const double read = (double)unpacked(source), used = (double)(source->offset + source->begin);
  return read > 0 ? used / read * ((double)bytes_read(source) / (double)source->size) : 0;
}

oatgp_status oat_source_need(oatgp_context *ctx, oat_source *source, size_t bytes) {
  while (source->end - source->begin < bytes && !source->at_end) {
    if (source->ahead.waiting) {
      PASS_ON(take_ahead(ctx, source));
    } else {
      PASS_ON(make_room(ctx, source, bytes));
      PASS_ON(fill(ctx, source));
    }
    oat_tell_progress(ctx, "reading", bytes_read(source), source->size);
  }
  return OATGP_OK;
}

void oat_source_close(oat_source *source) {
  if (source->file != NULL) {
    gzclose_r(source->file);
  }
  free(source->window);
  free(source->ahead.bytes);
  *source = (oat_source){0};
}
