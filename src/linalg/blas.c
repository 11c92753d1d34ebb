/* The BLAS of this process: which one it is, its kernels, its threads and its buffers. It is identified by the names of
 * its functions when the library is loaded. So one build works with any BLAS (Debian's alternatives may change it after
 * the build).
 *
 * The kernels of OpenBLAS are changed with gotoblas_dynamic_quit and gotoblas_dynamic_init, which it calls itself at
 * its end and at its start. They set one pointer to a table of functions and block sizes, which every call reads again;
 * its threads and buffers are the same for all tables. So this is safe as long as no call is running. */
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr */
#include "linalg/blas.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "linalg/linalg.h"
#include "util/threads.h"

/* ---- the processors that kernels are made for ------------------------------------------------------------------ */

/* The names of OpenBLAS (driver/others/dynamic.c). */
static const struct {
  const char *core;
  oat_simd simd;
} cores[] = {
    {"Katmai", OAT_SIMD_SSE},       {"Coppermine", OAT_SIMD_SSE},    {"Northwood", OAT_SIMD_SSE},
    {"Prescott", OAT_SIMD_SSE},     {"Banias", OAT_SIMD_SSE},        {"Atom", OAT_SIMD_SSE},
    {"Core2", OAT_SIMD_SSE},        {"Penryn", OAT_SIMD_SSE},        {"Dunnington", OAT_SIMD_SSE},
    {"Nehalem", OAT_SIMD_SSE},      {"Athlon", OAT_SIMD_SSE},        {"Opteron", OAT_SIMD_SSE},
    {"Opteron_SSE3", OAT_SIMD_SSE}, {"Barcelona", OAT_SIMD_SSE},     {"Nano", OAT_SIMD_SSE},
    {"Bobcat", OAT_SIMD_SSE},       {"generic", OAT_SIMD_SSE},       {"Sandybridge", OAT_SIMD_AVX},
    {"Bulldozer", OAT_SIMD_AVX},    {"Piledriver", OAT_SIMD_AVX},    {"Steamroller", OAT_SIMD_AVX},
    {"Excavator", OAT_SIMD_AVX2},   {"Haswell", OAT_SIMD_AVX2},      {"Zen", OAT_SIMD_AVX2},
    {"SkylakeX", OAT_SIMD_AVX512},  {"Cooperlake", OAT_SIMD_AVX512}, {"SapphireRapids", OAT_SIMD_AVX512},
};

oat_simd oat_core_simd(const char *core) {
  for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
    if (strcasecmp(core, cores[i].core) == 0) {
      return cores[i].simd;
    }
  }
  return OAT_SIMD_UNKNOWN;
}

const char *oat_better_core(const char *core, oat_processor processor) {
  const oat_simd has = oat_core_simd(core);
  if (has == OAT_SIMD_UNKNOWN || has >= processor.simd) {
    return NULL;
  }
  return processor.simd == OAT_SIMD_AVX      ? "Sandybridge"
         : processor.simd == OAT_SIMD_AVX512 ? "SkylakeX"
         : processor.amd                     ? "Zen"
                                             : "Haswell";
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

/* The functions of the BLAS that was found; NULL if it does not have them. */
static struct {
  char *(*config)(void), *(*core)(void);
  void (*quit)(void), (*init)(void);
  void (*set_threads)(int threads);
  int (*get_threads)(void);
  void *(*take)(int which);
  void (*give_back)(void *buffer);
} functions;

/* Where products come from: a library, or the file that this code is in, which may hide the names of what was linked
 * in. */
typedef struct home {
  void *library; /* for dlsym, which then looks at what this library needs, too */
  bool here;
} home;

extern void dgemm_(void); /* for its address only */

static bool find(void (*function)(void), Dl_info *where) {
  void *address;
  memcpy(&address, &function, sizeof address);
  return dladdr(address, where) != 0 && where->dli_fname != NULL;
}

/* Also the name of the file, without its folders. */
static home find_home(char *file, size_t room) {
  home at = {NULL, true};
  Dl_info products, own;
  if (find(dgemm_, &products) && find(oat_blas_look, &own)) {
    const char *slash = strrchr(products.dli_fname, '/');
    snprintf(file, room, "%s", slash != NULL ? slash + 1 : products.dli_fname);
    at.here = products.dli_fbase == own.dli_fbase;
    at.library = at.here ? NULL : dlopen(products.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  return at;
}

static void leave_home(home at) {
  if (at.library != NULL) {
    dlclose(at.library); /* it stays loaded; this only decreases the count that dlopen increased */
  }
}

#if defined(__ELF__)
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void *blas_memory_alloc(int which) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));
#define LINKED(name) name
#else
#define LINKED(name) NULL
#endif

static void *symbol(home at, const char *name) { return dlsym(at.library != NULL ? at.library : RTLD_DEFAULT, name); }

/* POSIX lets the address of a function be copied like this. */
#define LOOK_UP(function, at, name) (*(void **)(&(function)) = symbol(at, name))
#define FIND(function, at, name)    \
  do {                              \
    if ((at).here) {                \
      (function) = LINKED(name);    \
    } else {                        \
      LOOK_UP(function, at, #name); \
    }                               \
  } while (0)

static void find_openblas(home at) {
  FIND(functions.config, at, openblas_get_config);
  FIND(functions.core, at, openblas_get_corename);
  FIND(functions.quit, at, gotoblas_dynamic_quit);
  FIND(functions.init, at, gotoblas_dynamic_init);
  FIND(functions.set_threads, at, openblas_set_num_threads);
  FIND(functions.get_threads, at, openblas_get_num_threads);
  FIND(functions.take, at, blas_memory_alloc);
  FIND(functions.give_back, at, blas_memory_free);
}

/* ---- its own description --------------------------------------------------------------------------------------- */

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
static void read_openblas(oat_blas *blas) {
  const char *config = functions.config();
  sscanf(config, "OpenBLAS %31s", blas->version);
  blas->dynamic = strstr(config, "DYNAMIC_ARCH") != NULL;
  if (blas->dynamic && functions.init != NULL) {
    functions
        .init(); /* if it is linked in, its constructor may run later; if it has already chosen, this does nothing */
  }
  if (functions.core != NULL) {
    snprintf(blas->core, sizeof blas->core, "%s", functions.core());
  }
}

/* BLIS counts in 64 bits. */
static void (*set_in_blis)(int64_t threads);
static int64_t (*get_from_blis)(void);
static void set_blis_threads(int threads) { set_in_blis(threads); }
static int get_blis_threads(void) { return (int)get_from_blis(); }

static void read_blis(oat_blas *blas, home at) {
  const char *(*version)(void), *(*core)(int id);
  int (*id)(void);
  LOOK_UP(version, at, "bli_info_get_version_str");
  LOOK_UP(core, at, "bli_arch_string");
  LOOK_UP(id, at, "bli_arch_query_id");
  if (version != NULL) {
    snprintf(blas->version, sizeof blas->version, "%s", version());
  }
  if (core != NULL && id != NULL) {
    snprintf(blas->core, sizeof blas->core, "%s", core(id()));
  }
  LOOK_UP(set_in_blis, at, "bli_thread_set_num_threads");
  LOOK_UP(get_from_blis, at, "bli_thread_get_num_threads");
  functions.set_threads = set_in_blis != NULL ? set_blis_threads : NULL;
  functions.get_threads = get_from_blis != NULL ? get_blis_threads : NULL;
}

/* For MKL, whose parts do not refer to each other. */
static const home anywhere = {NULL, false};

static void read_mkl(oat_blas *blas) {
  void (*version)(char *out, int room);
  char text[200] = "";
  LOOK_UP(version, anywhere, "MKL_Get_Version_String");
  version(text, (int)sizeof text - 1);
  const char *number = strstr(text, "Version ");
  if (number != NULL) {
    sscanf(number, "Version %31[0-9.]", blas->version);
  }
  LOOK_UP(functions.set_threads, anywhere, "MKL_Set_Num_Threads");
  LOOK_UP(functions.get_threads, anywhere, "MKL_Get_Max_Threads");
}

/* The reference implementation is known only by the name of its file (libRblas is R's copy of it). A file of this name
 * with more functions than the standard requires is a different BLAS. */
static bool is_standard(const char *file) {
  return strncmp(file, "libblas.", 8) == 0 || strncmp(file, "libRblas.", 9) == 0;
}

static bool is_reference(home at, const char *file) {
  return is_standard(file) && symbol(at, "daxpby_") == NULL && symbol(at, "dgemmt_") == NULL;
}

/* Debian's BLIS has a file of the standard name, too, which hides BLIS's own names. */
static bool is_hidden_blis(home at, const char *file) {
  return is_standard(file) && symbol(at, "dgemm_batch_") != NULL && symbol(at, "dgemmt_") != NULL;
}

static oat_blas_kind recognise(home at, const char *file) {
  return functions.config != NULL                             ? OAT_OPENBLAS
         : symbol(at, "bli_info_get_version_str") != NULL     ? OAT_BLIS
         : symbol(anywhere, "MKL_Get_Version_String") != NULL ? OAT_MKL
         : symbol(at, "ATL_buildinfo") != NULL                ? OAT_ATLAS
         : symbol(at, "flexiblas_current_backend") != NULL    ? OAT_FLEXIBLAS
         : is_hidden_blis(at, file)                           ? OAT_BLIS
         : is_reference(at, file)                             ? OAT_REFERENCE_BLAS
                                                              : OAT_UNKNOWN_BLAS;
}

static void look(oat_blas *blas) {
  const home at = find_home(blas->file, sizeof blas->file);
  find_openblas(at);
  blas->kind = recognise(at, blas->file);
  if (blas->kind == OAT_OPENBLAS) {
    read_openblas(blas);
  } else if (blas->kind == OAT_BLIS) {
    read_blis(blas, at);
  } else if (blas->kind == OAT_MKL) {
    read_mkl(blas);
  }
  leave_home(at);
}

/* ---- correcting the choice ------------------------------------------------------------------------------------- */

static const char variable[] = "OPENBLAS_CORETYPE";

/* Makes OpenBLAS choose again, which reads the variable. The environment is restored. */
static void choose_again(const char *core) {
  if (setenv(variable, core, 1) == 0) {
    functions.quit();
    functions.init();
    unsetenv(variable);
  }
}

static void put_right(oat_blas *blas, oat_processor processor) {
  const char *better = oat_better_core(blas->core, processor);
  blas->by_user = getenv(variable) != NULL;
  if (better == NULL || blas->by_user || !blas->dynamic || functions.quit == NULL || functions.init == NULL) {
    return;
  }
  memcpy(blas->before, blas->core, sizeof blas->before);
  choose_again(better);
  blas->tried = true;
  snprintf(blas->core, sizeof blas->core, "%s", functions.core());
}

/* ---- for people ------------------------------------------------------------------------------------------------ */

static const char *const names[] = {"OpenBLAS", "BLIS", "MKL", "ATLAS", "FlexiBLAS", "the reference implementation",
                                    "unknown"};

void oat_blas_line(const oat_blas *blas, oat_processor processor, char *out, size_t room) {
  const char *name = names[blas->kind];
  char kernels[64] = "", why[100] = "";
  if (blas->kind == OAT_REFERENCE_BLAS || blas->kind == OAT_UNKNOWN_BLAS) {
    snprintf(out, room, "%s (%s)", name, blas->file);
    return;
  }
  if (blas->core[0] != '\0') {
    snprintf(kernels, sizeof kernels, ", kernels for %s", blas->core);
  }
  if (blas->by_user && oat_better_core(blas->core, processor) != NULL) {
    snprintf(why, sizeof why, " (as %s says; the processor has %s)", variable, oat_simd_word(processor.simd));
  } else if (blas->before[0] != '\0' && strcmp(blas->before, blas->core) != 0) {
    snprintf(why, sizeof why, " (it had chosen %s)", blas->before);
  }
  snprintf(out, room, "%s%s%s%s%s", name, blas->version[0] != '\0' ? " " : "", blas->version, kernels, why);
}

/* Measured (docs/performance.md): by which factor an evaluation takes longer. */
static const char *how_slow(oat_simd has, oat_simd could) {
  return has >= OAT_SIMD_AVX2 ? "1.5" : could == OAT_SIMD_AVX512 ? "5" : "3";
}

void oat_blas_complaint(const oat_blas *blas, oat_processor processor, char *out, size_t room) {
  const char *better = oat_better_core(blas->core, processor);
  out[0] = '\0';
  if (blas->kind == OAT_REFERENCE_BLAS) {
    snprintf(out, room,
             "the BLAS is the reference implementation (%s), about 10 times slower than OpenBLAS; install OpenBLAS "
             "(Debian: libopenblas0)",
             blas->file);
  } else if (blas->kind == OAT_OPENBLAS && better != NULL && !blas->by_user) {
    const oat_simd has = oat_core_simd(blas->core);
    char remedy[150] = "install a newer one built with DYNAMIC_ARCH, or use the Python package, which includes its own";
    if (blas->dynamic && !blas->tried) {
      snprintf(remedy, sizeof remedy, "set %s=%s in the environment before the program starts", variable, better);
    }
    snprintf(out, room,
             "OpenBLAS uses its kernels for %s, but the processor has %s, so the work takes about %s times longer than "
             "it could; %s",
             blas->core, oat_simd_word(processor.simd), how_slow(has, processor.simd), remedy);
  }
}

/* ---- the BLAS of this process ---------------------------------------------------------------------------------- */

static oat_blas found;
static char line[200], complaint[400];
static atomic_bool told;

void oat_blas_look(void) {
  const oat_processor processor = oat_machine_processor();
  found = (oat_blas){0};
  look(&found);
  if (found.kind == OAT_OPENBLAS) {
    put_right(&found, processor);
  }
  oat_blas_line(&found, processor, line, sizeof line);
  oat_blas_complaint(&found, processor, complaint, sizeof complaint);
  atomic_store(&told, false);
}

__attribute__((constructor)) static void look_first(void) { oat_blas_look(); }

const oat_blas *oat_blas_found(void) { return &found; }

const char *oat_blas_name(void) { return line; }

const char *oat_blas_news(void) { return complaint[0] == '\0' || atomic_exchange(&told, true) ? NULL : complaint; }

/* ---- threads and buffers --------------------------------------------------------------------------------------- */

void oat_set_blas_threads(int threads) {
  if (functions.set_threads != NULL) {
    functions.set_threads(oat_lane_threads(threads)); /* one in a forked child */
  }
}

int oat_blas_threads(void) { return functions.get_threads != NULL ? functions.get_threads() : 0; }

/* The functions are not in OpenBLAS's header, but exported by every build so far; without them nothing is reserved. */
int oat_reserve_blas(int threads) {
  return functions.take != NULL && functions.give_back != NULL
             ? oat_reserve_buffers(threads, functions.take, functions.give_back)
             : threads;
}

size_t oat_blas_buffer(void) { return found.kind == OAT_OPENBLAS ? OAT_BLAS_BUFFER : 0; }
