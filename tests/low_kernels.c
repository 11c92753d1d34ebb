/* Loaded before a program (LD_PRELOAD): its OpenBLAS begins with the kernels for Prescott, as on a processor that it
 * does not know. The first question for OPENBLAS_CORETYPE, which is OpenBLAS's own, is answered so where the
 * environment does not have it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

char *getenv(const char *name) {
  static char low[] = "Prescott";
  static int questions = 0;
  char *(*real)(const char *name);
  *(void **)&real = dlsym(RTLD_NEXT, "getenv");
  char *value = real(name);
  return strcmp(name, "OPENBLAS_CORETYPE") == 0 && questions++ == 0 && value == NULL ? low : value;
}
