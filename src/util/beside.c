/* Looks for shared objects of the library. */
#define _GNU_SOURCE /* dladdr, sched_getaffinity */
#include "util/beside.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oat_config.h"

enum { LONGEST_PATH = 4096 };

/* From the folder of this code, which is that of the library or of a program. */
static const char *const places[] = {"", "../", "oatgp/", "../" OAT_LIBRARIES "/oatgp/"};

/* The folder of the file that this code is in, with a '/' at its end; "" if it is not known. A program that was found
 * in $PATH is known to dladdr by its bare name only, but to the system by its path. */
static void own_folder(char folder[LONGEST_PATH]) {
  Dl_info info;
  ssize_t length = 0;
  if (dladdr(places, &info) != 0 && info.dli_fname != NULL && strchr(info.dli_fname, '/') != NULL) {
    length = snprintf(folder, LONGEST_PATH, "%s", info.dli_fname);
  } else {
    length = readlink("/proc/self/exe", folder, LONGEST_PATH - 1);
  }
  folder[length > 0 && length < LONGEST_PATH ? length : 0] = '\0';
  char *slash = strrchr(folder, '/');
  folder[slash != NULL ? slash + 1 - folder : 0] = '\0';
}

static void *look_for(const char *name, int flags) {
  char folder[LONGEST_PATH], path[2 * LONGEST_PATH];
  own_folder(folder);
  for (size_t i = 0; *folder != '\0' && i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s%s%s", folder, places[i], name);
    void *object = dlopen(path, flags);
    if (object != NULL) {
      return object;
    }
  }
  return dlopen(name, flags);
}

/* The object may bring an OpenMP of its own, which binds this thread to a core when it is loaded if OMP_PROC_BIND is
 * set. The thread stays where it was. */
void *oat_open_beside(const char *name, int flags) {
#if defined(__linux__)
  cpu_set_t before[64]; /* one has 1024 cores, too few for some machines */
  const bool known = sched_getaffinity(0, sizeof before, before) == 0;
  void *object = look_for(name, flags);
  if (known) {
    sched_setaffinity(0, sizeof before, before);
  }
  return object;
#else
  return look_for(name, flags);
#endif
}
