# Language, warnings, sanitizers, and oat_config.h with what the compiler can do.

# CMake knows C17 only from 3.21 on.
add_compile_options($<$<COMPILE_LANGUAGE:C>:-std=c17>)
add_compile_definitions(_POSIX_C_SOURCE=200809L)
set(CMAKE_C_VISIBILITY_PRESET hidden)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wcast-qual
  -Wformat=2 -Wvla -Wno-missing-field-initializers)
if(OATGP_WERROR)
  list(APPEND warnings -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C>:${warnings}>") # nvcc needs different options

if(OATGP_FUZZ)
  set(OATGP_SANITIZE ON)
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp) # which would take a third of the time
endif()
if(OATGP_SANITIZE)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
  add_compile_options(${sanitizers} -fno-omit-frame-pointer)
  add_link_options(${sanitizers})
endif()

# A function marked OAT_CLONES is compiled for several instruction sets and chosen when the program starts. It is tried with two
# files, because some versions of clang make clones that other files cannot call.
function(check_clones sets variable)
  if(DEFINED ${variable})
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/check/${variable})
  file(WRITE ${folder}/define.c "
    double sum(const double *x, int n);
    __attribute__((target_clones(${sets}))) double sum(const double *x, int n) {
      double s = 0;
      for (int i = 0; i < n; i++) { s += x[i]; }
      return s;
    }\n")
  file(WRITE ${folder}/use.c "
    double sum(const double *x, int n);
    int main(int argc, char **argv) { double x[] = {1, 2, 3}; (void)argv; return sum(x, argc) > 100; }\n")
  try_compile(${variable} ${folder}/build SOURCES ${folder}/define.c ${folder}/use.c)
  message(STATUS "Function clones for ${sets}: ${${variable}}")
endfunction()

# The dynamic linker makes the choice before the sanitizers are initialised, so the two cannot be combined.
set(OAT_CLONES "")
set(OAT_HAVE_CLONES FALSE)
if(NOT OATGP_SANITIZE)
  # By level if the compiler knows levels (they include fused multiply-add), otherwise by feature.
  foreach(sets "\"arch=x86-64-v4\", \"arch=x86-64-v3\", \"default\"" "\"avx512f\", \"avx2\", \"default\"")
    string(MAKE_C_IDENTIFIER "OATGP_HAVE_CLONES_${sets}" variable)
    check_clones("${sets}" ${variable})
    if(${variable})
      set(OAT_CLONES "__attribute__((target_clones(${sets})))")
      set(OAT_HAVE_CLONES TRUE)
      break()
    endif()
  endforeach()
endif()

# None of these changes a value beyond the rounding of a fused multiply-add; all help the compiler to vectorise.
set(OATGP_LOOP_OPTIONS -fopenmp-simd -fno-math-errno -fno-trapping-math -ffp-contract=fast)

set(OATGP_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
configure_file(${PROJECT_SOURCE_DIR}/cmake/oat_config.h.in ${OATGP_GENERATED_DIR}/oat_config.h @ONLY)

# The style sheet and the script of the report, as arrays of bytes that end with 0.
foreach(kind css js)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/report/page.${kind})
  file(READ ${PROJECT_SOURCE_DIR}/src/report/page.${kind} OATGP_PAGE_${kind} HEX)
  string(REGEX REPLACE "(..)" "0x\\1," OATGP_PAGE_${kind} "${OATGP_PAGE_${kind}}")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/oat_page.h.in ${OATGP_GENERATED_DIR}/oat_page.h @ONLY)
