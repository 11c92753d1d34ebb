/* Files that appear whole or not at all, in each of the ways in which that is done: what is written has no name until
 * it is whole; it has none, but cannot be given one; there are no files without a name. The scratch's tear_down looks
 * whether anything is left in the folder. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "data_files.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "util/file.h"

typedef enum way { NAMELESS, CANNOT_LINK, NAMED, WAYS } way;

static way present = NAMELESS;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_linkat(int from, const char *old, int to, const char *name, int flags);
int __wrap_linkat(int from, const char *old, int to, const char *name, int flags);

int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
#ifdef O_TMPFILE
  if ((flags & O_TMPFILE) == O_TMPFILE && present == NAMED) {
    errno = EOPNOTSUPP;
    return -1;
  }
#endif
  return __real_open(path, flags, mode);
}

int __wrap_linkat(int from, const char *old, int to, const char *name, int flags) {
  if (present == CANNOT_LINK) {
    errno = EPERM;
    return -1;
  }
  return __real_linkat(from, old, to, name, flags);
}

static oatgp_status write_so(scratch *s, const char *text, oatgp_status outcome) {
  oat_file file;
  assert_int_equal(oat_file_open(s->ctx, s->path, &file), OATGP_OK);
  assert_true(fputs(text, file.stream) >= 0);
  return oat_file_close(s->ctx, &file, outcome);
}

static void expect_content(const scratch *s, const char *text, mode_t mode) {
  struct stat info;
  size_t size = 0;
  char *bytes = read_bytes_back(s, &size);
  assert_string_equal(bytes, text);
  free(bytes);
  assert_int_equal(stat(s->path, &info), 0);
  assert_int_equal(info.st_mode & 07777, mode);
}

static void files_are_written_and_replaced(void **state) {
  scratch *s = *state;
  const mode_t mask = umask(022);
  for (present = NAMELESS; present < WAYS; present++) {
    assert_int_equal(write_so(s, "first", OATGP_OK), OATGP_OK);
    expect_content(s, "first", 0644);
    assert_int_equal(chmod(s->path, 0640), 0);
    assert_int_equal(write_so(s, "second", OATGP_OK), OATGP_OK);
    expect_content(s, "second", 0640);
    assert_int_equal(write_so(s, "third", OATGP_DATA), OATGP_DATA);
    expect_content(s, "second", 0640);
    unlink(s->path);
    assert_int_equal(write_so(s, "fourth", OATGP_DATA), OATGP_DATA);
    assert_int_equal(access(s->path, F_OK), -1);
  }
  present = NAMELESS;
  umask(mask);
}

/* More than a block is copied where no name can be given. */
static void long_files_are_copied(void **state) {
  enum { LENGTH_OF_TEXT = 200000 };
  scratch *s = *state;
  char *text = calloc(LENGTH_OF_TEXT + 1, 1);
  memset(text, 'x', LENGTH_OF_TEXT);
  text[70000] = 'y';
  write_text(s, "old");
  for (present = NAMELESS; present < WAYS; present++) {
    size_t size = 0;
    assert_int_equal(write_so(s, text, OATGP_OK), OATGP_OK);
    char *bytes = read_bytes_back(s, &size);
    assert_int_equal(size, LENGTH_OF_TEXT);
    assert_string_equal(bytes, text);
    free(bytes);
  }
  present = NAMELESS;
  free(text);
}

/* A name that a rename cannot replace: a folder that was created while the file was written. */
static void name_is_taken_by_a_folder(void **state) {
  scratch *s = *state;
  for (present = NAMELESS; present < WAYS; present++) {
    oat_file file;
    assert_int_equal(oat_file_open(s->ctx, s->path, &file), OATGP_OK);
    assert_int_equal(mkdir(s->path, 0700), 0);
    expect_sentence(s, OATGP_WRITE, oat_file_close(s->ctx, &file, OATGP_OK), "Is a directory");
    assert_int_equal(rmdir(s->path), 0);
  }
  present = NAMELESS;
}

/* Whatever ends the process while it writes, nothing is left: not even of SIGKILL, where there are files without a
 * name. */
static void signals_leave_nothing(void **state) {
  scratch *s = *state;
  static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGALRM, SIGKILL};
  oat_file file;
  assert_int_equal(oat_file_open(s->ctx, s->path, &file), OATGP_OK);
  const bool nameless = file.nameless;
  assert_int_equal(oat_file_close(s->ctx, &file, OATGP_DATA), OATGP_DATA);
  if (!nameless) {
    skip();
  }
  for (size_t i = 0; i < LENGTH(signals); i++) {
    int ended = 0;
    const pid_t child = fork();
    if (child == 0) {
      signal(signals[i], SIG_DFL);
      if (oat_file_open(s->ctx, s->path, &file) == OATGP_OK && fputs("half", file.stream) >= 0 &&
          fflush(file.stream) == 0) {
        raise(signals[i]);
      }
      _exit(0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == signals[i]);
    assert_int_equal(rmdir(s->folder), 0);
    assert_int_equal(mkdir(s->folder, 0700), 0);
  }
}

/* An open descriptor has no place beside it. */
static void descriptors_are_written_directly(void **state) {
  scratch *s = *state;
  char path[32];
  oat_file file;
  write_text(s, "");
  FILE *open_file = fopen(s->path, "w+");
  assert_non_null(open_file);
  snprintf(path, sizeof path, "/dev/fd/%d", fileno(open_file));
  assert_int_equal(oat_file_open(s->ctx, path, &file), OATGP_OK);
  assert_true(fputs("text", file.stream) >= 0);
  assert_int_equal(oat_file_close(s->ctx, &file, OATGP_OK), OATGP_OK);
  fclose(open_file);
  size_t size = 0;
  char *bytes = read_bytes_back(s, &size);
  assert_string_equal(bytes, "text");
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(files_are_written_and_replaced),   WITH_SCRATCH(long_files_are_copied),
      WITH_SCRATCH(name_is_taken_by_a_folder),        WITH_SCRATCH(signals_leave_nothing),
      WITH_SCRATCH(descriptors_are_written_directly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
