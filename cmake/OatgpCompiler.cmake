# Language, warnings, sanitizers, and oat_config.h with what the compiler can do.
include(CheckCSourceCompiles)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
add_compile_definitions(_POSIX_C_SOURCE=200809L)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo or MinSizeRel" FORCE)
endif()

add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wcast-qual
  -Wformat=2 -Wvla)
if(OATGP_WERROR)
  add_compile_options(-Werror)
endif()

if(OATGP_SANITIZE)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
  add_compile_options(${sanitizers} -fno-omit-frame-pointer)
  add_link_options(${sanitizers})
endif()

# A function marked OAT_CLONES is compiled for several instruction sets and chosen when the program starts. The dynamic
# linker makes that choice before the sanitizers are up, so they do not go together.
set(OAT_CLONES "")
if(NOT OATGP_SANITIZE)
  # By level where the compiler knows levels (they have fused multiply-add), else by feature.
  set(sets_LEVELS "\"arch=x86-64-v4\", \"arch=x86-64-v3\", \"default\"")
  set(sets_FEATURES "\"avx512f\", \"avx2\", \"default\"")
  foreach(kind LEVELS FEATURES)
    set(clones "__attribute__((target_clones(${sets_${kind}})))")
    check_c_source_compiles("
      ${clones} double sum(const double *x, int n);
      ${clones} double sum(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) { s += x[i]; } return s; }
      int main(int argc, char **argv) { double x[] = {1, 2, 3}; (void)argv; return sum(x, argc) > 100; }"
      OATGP_HAVE_CLONES_${kind})
    if(OATGP_HAVE_CLONES_${kind} AND OAT_CLONES STREQUAL "")
      set(OAT_CLONES ${clones})
    endif()
  endforeach()
endif()

# None of these changes a value beyond the rounding of a fused multiply-add; all help the compiler to vectorise.
set(OATGP_LOOP_OPTIONS -fopenmp-simd -fno-math-errno -fno-trapping-math -ffp-contract=fast)

set(OATGP_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
configure_file(${PROJECT_SOURCE_DIR}/cmake/oat_config.h.in ${OATGP_GENERATED_DIR}/oat_config.h @ONLY)
