/* The BLAS: the processors of its kernels, the messages about it, and that OpenBLAS's choice is corrected if it is too
 * low and kept if the user made it. */
#include "support.h"

#include <dlfcn.h>

#include "linalg/blas.h"
#include "linalg/linalg.h"

static const oat_processor sse = {OAT_SIMD_SSE, false}, avx = {OAT_SIMD_AVX, false}, avx2 = {OAT_SIMD_AVX2, false},
                           avx512 = {OAT_SIMD_AVX512, false}, zen3 = {OAT_SIMD_AVX2, true},
                           zen4 = {OAT_SIMD_AVX512, true}, arm = {OAT_SIMD_UNKNOWN, false};

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void cores_have_instruction_sets(void **state) {
  static const struct {
    const char *core;
    oat_simd simd;
  } rows[] = {{"Prescott", OAT_SIMD_SSE},      {"NEHALEM", OAT_SIMD_SSE},           {"Opteron_SSE3", OAT_SIMD_SSE},
              {"Sandybridge", OAT_SIMD_AVX},   {"Steamroller", OAT_SIMD_AVX},       {"Zen", OAT_SIMD_AVX2},
              {"haswell", OAT_SIMD_AVX2},      {"Excavator", OAT_SIMD_AVX2},        {"SkylakeX", OAT_SIMD_AVX512},
              {"Cooperlake", OAT_SIMD_AVX512}, {"SapphireRapids", OAT_SIMD_AVX512}, {"Unknown", OAT_SIMD_UNKNOWN},
              {"", OAT_SIMD_UNKNOWN},          {"Zen9", OAT_SIMD_UNKNOWN},          {"neoversen1", OAT_SIMD_UNKNOWN}};
  (void)state;
  for (size_t i = 0; i < LENGTH(rows); i++) {
    assert_int_equal(oat_core_simd(rows[i].core), rows[i].simd);
  }
}

/* NULL: the kernels are good. */
static void expect_better(const char *core, oat_processor processor, const char *better) {
  const char *got = oat_better_core(core, processor);
  if (better == NULL) {
    assert_null(got);
  } else {
    assert_non_null(got);
    assert_string_equal(got, better);
  }
}

static void kernels_below_the_processor_have_better_ones(void **state) {
  (void)state;
  expect_better("Prescott", avx512, "SkylakeX");
  expect_better("Haswell", avx512, "SkylakeX");
  expect_better("SkylakeX", avx512, NULL);
  expect_better("Cooperlake", avx512, NULL);
  expect_better("Prescott", avx2, "Haswell");
  expect_better("Sandybridge", avx2, "Haswell");
  expect_better("SkylakeX", avx2, NULL);
  expect_better("Nehalem", avx, "Sandybridge");
  expect_better("Prescott", sse, NULL);
  expect_better("Prescott", zen3, "Zen");
  expect_better("Zen", zen3, NULL);
  expect_better("Haswell", zen3, NULL);
  expect_better("Prescott", zen4, "SkylakeX");
  expect_better("Zen", zen4, "SkylakeX");
  expect_better("Whatever", avx512, NULL);
  expect_better("", avx512, NULL);
  expect_better("Prescott", arm, NULL);
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void expect_words(const oat_blas *blas, oat_processor processor, const char *line, const char *complaint) {
  char text[400];
  oat_blas_line(blas, processor, text, sizeof text);
  assert_string_equal(text, line);
  oat_blas_complaint(blas, processor, text, sizeof text);
  assert_string_equal(text, complaint);
}

static void good_kernels_are_named(void **state) {
  (void)state;
  expect_words(&(oat_blas){OAT_OPENBLAS, "0.3.21", "libopenblas.so.0", "SkylakeX", "", false, true, false}, avx512,
               "OpenBLAS 0.3.21, kernels for SkylakeX", "");
  expect_words(&(oat_blas){OAT_OPENBLAS, "0.3.21", "libopenblas.so.0", "SkylakeX", "Prescott", false, true, true},
               avx512, "OpenBLAS 0.3.21, kernels for SkylakeX (it had chosen Prescott)", "");
  expect_words(&(oat_blas){OAT_BLIS, "0.9.0", "libblis.so.4", "zen3", "", false, false, false}, zen3,
               "BLIS 0.9.0, kernels for zen3", "");
  expect_words(&(oat_blas){OAT_MKL, "2024.1", "libmkl_rt.so.2", "", "", false, false, false}, avx512, "MKL 2024.1", "");
  expect_words(&(oat_blas){OAT_UNKNOWN_BLAS, "", "libfast.so", "", "", false, false, false}, avx512,
               "unknown (libfast.so)", "");
}

static void the_users_choice_is_named_and_no_fault(void **state) {
  (void)state;
  expect_words(&(oat_blas){OAT_OPENBLAS, "0.3.21", "libopenblas.so.0", "Nehalem", "", true, true, false}, avx2,
               "OpenBLAS 0.3.21, kernels for Nehalem (as OPENBLAS_CORETYPE says; the processor has AVX2)", "");
}

static void what_stays_too_low_has_a_remedy(void **state) {
  (void)state;
  expect_words(&(oat_blas){OAT_OPENBLAS, "0.3.5", "libopenblas.so.0", "Haswell", "Prescott", false, true, true}, avx512,
               "OpenBLAS 0.3.5, kernels for Haswell (it had chosen Prescott)",
               "OpenBLAS uses its kernels for Haswell, but the processor has AVX-512, so the work takes about 1.5 "
               "times longer than it "
               "could; install a newer one built with DYNAMIC_ARCH, or use the Python package, which includes its own");
  expect_words(&(oat_blas){OAT_OPENBLAS, "0.3.21", "libopenblas.so.0", "Prescott", "", false, true, false}, avx512,
               "OpenBLAS 0.3.21, kernels for Prescott",
               "OpenBLAS uses its kernels for Prescott, but the processor has AVX-512, so the work takes about 5 times "
               "longer than it could; set "
               "OPENBLAS_CORETYPE=SkylakeX in the environment before the program starts");
  expect_words(&(oat_blas){OAT_OPENBLAS, "0.3.21", "libopenblas.so.0", "Nehalem", "", false, false, false}, avx2,
               "OpenBLAS 0.3.21, kernels for Nehalem",
               "OpenBLAS uses its kernels for Nehalem, but the processor has AVX2, so the work takes about 3 times "
               "longer than it could; "
               "install a newer one built with DYNAMIC_ARCH, or use the Python package, which includes its own");
  expect_words(&(oat_blas){OAT_BLIS, "0.9.0", "libblis.so.4", "haswell", "", false, false, false}, avx512,
               "BLIS 0.9.0, kernels for haswell", ""); /* it has its reasons */
}

static void the_reference_has_a_remedy(void **state) {
  (void)state;
  expect_words(&(oat_blas){OAT_REFERENCE_BLAS, "", "libblas.so.3", "", "", false, false, false}, avx2,
               "the reference implementation (libblas.so.3)",
               "the BLAS is the reference implementation (libblas.so.3), about 10 times slower than OpenBLAS; install "
               "OpenBLAS (Debian: "
               "libopenblas0)");
}

/* ---- the BLAS of this process ---------------------------------------------------------------------------------- */

static const char variable[] = "OPENBLAS_CORETYPE";

/* What the environment said when the test began, and functions of OpenBLAS. */
typedef struct openblas {
  char *environment;
  void (*quit)(void), (*init)(void);
} openblas;

static int begin(void **state) {
  static openblas o;
  const char *said = getenv(variable);
  o.environment = said != NULL ? strdup(said) : NULL;
  *(void **)(&o.quit) = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit");
  *(void **)(&o.init) = dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init");
  *state = &o;
  return 0;
}

static void start_with(const openblas *o, const char *core) {
  if (core != NULL) {
    setenv(variable, core, 1);
  } else {
    unsetenv(variable);
  }
  o->quit();
  o->init();
}

static int end(void **state) {
  openblas *o = *state;
  if (o->quit != NULL && o->init != NULL) {
    start_with(o, o->environment);
  }
  oat_blas_look();
  free(o->environment);
  return 0;
}

/* Where there is something to choose: OpenBLAS with kernels for many, on a processor of our days. */
static void need_choice(const openblas *o) {
  if (o->quit == NULL || o->init == NULL || oat_blas_found()->kind != OAT_OPENBLAS || !oat_blas_found()->dynamic ||
      oat_machine_processor().simd < OAT_SIMD_AVX2) {
    skip();
  }
}

enum { N = 150 };

/* The product of two matrices of random numbers, against sums in long double. */
static void expect_products(double *product) {
  static double a[N * N], b[N * N];
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  for (size_t i = 0; i < N * N; i++) {
    a[i] = oat_rng_normal(&rng);
    b[i] = oat_rng_normal(&rng);
  }
  oat_gemm(1, oat_const_square(a, N), OAT_PLAIN, oat_const_square(b, N), OAT_PLAIN, 0, oat_square(product, N));
  for (size_t i = 0; i < N; i++) {
    for (size_t j = 0; j < N; j++) {
      long double sum = 0;
      for (size_t k = 0; k < N; k++) {
        sum += (long double)a[i + k * N] * b[k + j * N];
      }
      assert_near(product[i + j * N], (double)sum, 1e-12);
    }
  }
}

static void too_low_a_choice_is_put_right(void **state) {
  const openblas *o = *state;
  static double before[N * N], after[N * N];
  need_choice(o);
  static const char *const low[] = {"Prescott", "Nehalem", "Sandybridge"};
  for (size_t i = 0; i < LENGTH(low); i++) {
    char line[200];
    start_with(o, low[i]);
    unsetenv(variable); /* as if it were its own choice */
    expect_products(before);
    oat_blas_look();
    const oat_blas *found = oat_blas_found();
    assert_string_equal(found->before, low[i]);
    assert_null(oat_better_core(found->core, oat_machine_processor()));
    assert_null(getenv(variable));
    assert_null(oat_blas_news());
    snprintf(line, sizeof line, "OpenBLAS %s, kernels for %s (it had chosen %s)", found->version, found->core, low[i]);
    assert_string_equal(oat_blas_name(), line);
    expect_products(after);
    assert_memory_not_equal(before, after, sizeof after); /* so the kernels are others */
  }
}

/* The result has the same bits as if OpenBLAS had started with the corrected choice. */
static void put_right_is_as_chosen(void **state) {
  const openblas *o = *state;
  static double chosen[N * N], right[N * N];
  need_choice(o);
  start_with(o, oat_better_core("Prescott", oat_machine_processor()));
  expect_products(chosen);
  start_with(o, "Prescott");
  unsetenv(variable);
  oat_blas_look();
  expect_products(right);
  assert_memory_equal(chosen, right, sizeof right);
}

static void a_good_choice_stays(void **state) {
  const openblas *o = *state;
  need_choice(o);
  start_with(o, oat_better_core("Prescott", oat_machine_processor()));
  unsetenv(variable);
  oat_blas_look();
  assert_string_equal(oat_blas_found()->before, "");
  assert_false(oat_blas_found()->tried);
}

static void the_users_choice_stays(void **state) {
  const openblas *o = *state;
  need_choice(o);
  start_with(o, "Nehalem");
  oat_blas_look();
  assert_string_equal(oat_blas_found()->core, "Nehalem");
  assert_string_equal(oat_blas_found()->before, "");
  assert_true(oat_blas_found()->by_user && !oat_blas_found()->tried);
  assert_string_equal(getenv(variable), "Nehalem");
  assert_null(oat_blas_news());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cores_have_instruction_sets),
      cmocka_unit_test(kernels_below_the_processor_have_better_ones),
      cmocka_unit_test(good_kernels_are_named),
      cmocka_unit_test(the_users_choice_is_named_and_no_fault),
      cmocka_unit_test(what_stays_too_low_has_a_remedy),
      cmocka_unit_test(the_reference_has_a_remedy),
      cmocka_unit_test(too_low_a_choice_is_put_right),
      cmocka_unit_test(put_right_is_as_chosen),
      cmocka_unit_test(a_good_choice_stays),
      cmocka_unit_test(the_users_choice_stays),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
