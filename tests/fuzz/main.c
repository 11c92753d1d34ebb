/* Runs a fuzz target over files, for the tests: no libFuzzer is needed, and any compiler will do. Each input is tried
 * unchanged, and then OATGP_FUZZ_TRIES times with alterations, which are always the same. With a folder as an argument,
 * over all files in it. */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { MOST = 1 << 16 };

static oat_rng dice;
static size_t inputs, executions;

/* What libFuzzer has for a target's own mutator: here, some bytes become others, go or come again. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
  for (size_t left = 1 + oat_rng_below(&dice, 4); left > 0 && size > 0; left--) {
    const size_t at = oat_rng_below(&dice, size), what = oat_rng_below(&dice, 4);
    if (what == 0) {
      data[at] = (uint8_t)oat_rng_below(&dice, 256);
    } else if (what == 1) {
      data[at] ^= (uint8_t)(1U << oat_rng_below(&dice, 8));
    } else if (what == 2) {
      memmove(data + at, data + at + 1, size - at - 1);
      size--;
    } else if (size < most) {
      memmove(data + at + 1, data + at, size - at);
      size++;
    }
  }
  return size;
}

static void try_bytes(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1); /* its end is an end that a sanitizer sees */
  if (copy == NULL) {
    abort();
  }
  memcpy(copy, bytes, size);
  LLVMFuzzerTestOneInput(copy, size);
  executions++;
  free(copy);
}

static void try_file(const char *path, size_t tries) {
  static uint8_t bytes[MOST], altered[MOST];
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(1);
  }
  const size_t size = fread(bytes, 1, MOST, file);
  fclose(file);
  printf("%s\n", path);
  fflush(stdout); /* the last line names the input that ended it */
  inputs++;
  try_bytes(bytes, size);
  for (size_t i = 0; i < tries; i++) {
    memcpy(altered, bytes, size);
    oat_rng_seed(&dice, i);
#ifdef HAS_LLVMFuzzerCustomMutator
    try_bytes(altered, LLVMFuzzerCustomMutator(altered, size, MOST, (unsigned)i));
#else
    try_bytes(altered, LLVMFuzzerMutate(altered, size, MOST));
#endif
  }
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

int main(int argc, char **argv) {
  const char *given = getenv("OATGP_FUZZ_TRIES");
  const size_t tries = given != NULL ? (size_t)strtoul(given, NULL, 10) : 0;
#ifdef HAS_LLVMFuzzerInitialize
  LLVMFuzzerInitialize(&argc, &argv);
#endif
  for (int i = 1; i < argc; i++) {
    struct dirent **entries = NULL;
    struct stat info;
    const bool folder = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode);
    const int count = folder ? scandir(argv[i], &entries, is_visible, alphasort) : 0;
    for (int j = 0; j < count; j++) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", argv[i], entries[j]->d_name);
      try_file(path, tries);
      free(entries[j]);
    }
    free(entries);
    if (!folder) {
      try_file(argv[i], tries);
    }
  }
  printf("%zu inputs, %zu executions\n", inputs, executions);
  return 0;
}
