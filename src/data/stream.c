/* Rows that stay in their files. */
#include "data/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/memory.h"

enum { ROOM = 1 << 16 }; /* bytes that are read at a time, on the stack of the thread */

oatgp_status oat_stream_add(oatgp_context *ctx, oat_stream *stream, oat_stream_file file) {
  oatgp_status status = OATGP_OK;
  TRY(oat_grow(ctx, stream->files + 1, sizeof *stream->file, &stream->capacity, &stream->file));
  TRY(fstat(file.descriptor, &file.was) == 0
          ? OATGP_OK
          : oat_fail(ctx, OATGP_READ, "cannot read '%s': %s", file.name, strerror(errno)));
  file.first = stream->n;
  stream->file[stream->files++] = file;
  stream->n += file.rows;
  return OATGP_OK;
done:
  close(file.descriptor);
  free(file.name);
  return status;
}

void oat_stream_free(oat_stream *stream) {
  for (size_t i = 0; stream != NULL && i < stream->files; i++) {
    close(stream->file[i].descriptor);
    free(stream->file[i].name);
  }
  if (stream != NULL) {
    free(stream->file);
    free(stream->column);
    free(stream);
  }
}

size_t oat_stream_bytes(const oat_stream *stream) {
  size_t bytes = 0;
  for (size_t i = 0; i < stream->files; i++) {
    bytes += stream->file[i].rows * stream->columns * (stream->file[i].narrow ? sizeof(float) : sizeof(double));
  }
  return bytes;
}

static size_t file_at(const oat_stream *stream, size_t row) {
  size_t low = 0, high = stream->files - 1;
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    if (stream->file[middle].first <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

const oat_stream_file *oat_stream_place(const oat_stream *stream, size_t row, size_t *number) {
  const oat_stream_file *file = &stream->file[file_at(stream, row)];
  *number = row - file->first + 1;
  return file;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Fills the room from a place in the file. Values that cannot be read become 0, and the stream remembers the error. */
static void fetch(oat_stream *stream, size_t file, uint64_t at, size_t bytes, char *room) {
  size_t done = 0;
  errno = 0;
  while (done < bytes) {
    const ssize_t count = pread(stream->file[file].descriptor, room + done, bytes - done, (off_t)(at + done));
    if (count <= 0 && !(count < 0 && errno == EINTR)) {
      size_t none = 0;
      if (atomic_compare_exchange_strong(&stream->wrong, &none, file + 1)) {
        atomic_store(&stream->error, count < 0 ? errno : 0);
      }
      memset(room + done, 0, bytes - done);
      return;
    }
    done += count > 0 ? (size_t)count : 0;
  }
}

/* Converts values that are `step` values apart to doubles. */
static void widen(const char *from, bool narrow, size_t step, size_t count, double *to) {
  if (narrow) {
    const float *values = (const float *)(const void *)from;
    for (size_t i = 0; i < count; i++) {
      to[i] = (double)values[i * step];
    }
  } else {
    const double *values = (const double *)(const void *)from;
    for (size_t i = 0; i < count; i++) {
      to[i] = values[i * step];
    }
  }
}

/* Row after row: as many at a time as fit into the room, or each in parts. */
static void read_rows(oat_stream *stream, size_t file, oat_span rows, double *out, size_t ld) {
  _Alignas(double) char room[ROOM];
  const oat_stream_file *f = &stream->file[file];
  const size_t size = f->narrow ? sizeof(float) : sizeof(double), wide = stream->columns * size,
               fit = wide <= ROOM ? ROOM / wide : 0;
  for (size_t i = 0, count; fit > 0 && i < rows.count; i += count) {
    count = rows.count - i < fit ? rows.count - i : fit;
    fetch(stream, file, f->values + (rows.first + i) * wide, count * wide, room);
    for (size_t j = 0; j < stream->used; j++) {
      widen(room + stream->column[j] * size, f->narrow, stream->columns, count, out + i + j * ld);
    }
  }
  for (size_t i = 0; fit == 0 && i < rows.count * stream->used; i++) { /* a row of thousands of columns */
    const size_t row = i / stream->used, j = i % stream->used;
    fetch(stream, file, f->values + (rows.first + row) * wide + stream->column[j] * size, size, room);
    widen(room, f->narrow, 1, 1, out + row + j * ld);
  }
}

static void read_columns(oat_stream *stream, size_t file, oat_span rows, double *out, size_t ld) {
  _Alignas(double) char room[ROOM];
  const oat_stream_file *f = &stream->file[file];
  const size_t size = f->narrow ? sizeof(float) : sizeof(double), fit = ROOM / size;
  for (size_t j = 0; j < stream->used; j++) {
    const uint64_t begin = f->values + (stream->column[j] * f->rows + rows.first) * size;
    for (size_t i = 0, count; i < rows.count; i += count) {
      count = rows.count - i < fit ? rows.count - i : fit;
      fetch(stream, file, begin + i * size, count * size, room);
      widen(room, f->narrow, 1, count, out + i + j * ld);
    }
  }
}

void oat_stream_read(oat_stream *stream, oat_span rows, double *out, size_t ld) {
  for (size_t file = rows.count > 0 ? file_at(stream, rows.first) : 0; rows.count > 0; file++) {
    const oat_stream_file *f = &stream->file[file];
    const size_t within = rows.first - f->first, left = f->rows - within, count = rows.count < left ? rows.count : left;
    (f->fortran ? read_columns : read_rows)(stream, file, (oat_span){within, count}, out, ld);
    rows.first += count;
    rows.count -= count;
    out += count;
  }
}

/* ---- afterwards ------------------------------------------------------------------------------------------------ */

static bool has_changed(const oat_stream_file *file) {
  struct stat now;
  return fstat(file->descriptor, &now) != 0 || now.st_size != file->was.st_size ||
         now.st_mtim.tv_sec != file->was.st_mtim.tv_sec || now.st_mtim.tv_nsec != file->was.st_mtim.tv_nsec;
}

oatgp_status oat_stream_check(oatgp_context *ctx, const oat_stream *stream) {
  const size_t wrong = atomic_load(&stream->wrong);
  const int error = atomic_load(&stream->error);
  REFUSE_IF(wrong > 0 && error != 0, ctx, OATGP_READ, "cannot read '%s' any more: %s", stream->file[wrong - 1].name,
            strerror(error));
  for (size_t i = 0; i < stream->files; i++) {
    REFUSE_IF(wrong == i + 1 || has_changed(&stream->file[i]), ctx, OATGP_READ,
              "'%s' changed while it was in use; do not change it before the work is done", stream->file[i].name);
  }
  return OATGP_OK;
}
