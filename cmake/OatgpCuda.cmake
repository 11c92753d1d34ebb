# The CUDA device: liboatgp_cuda.so, which the library opens when a GPU is requested. It has its own copy of the library functions that it
# uses.
if(OATGP_CUDA STREQUAL OFF OR OATGP_SANITIZE)
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(OATGP_CUDA STREQUAL ON)
    message(FATAL_ERROR "OATGP_CUDA is ON and there is no nvcc: name it by -DCMAKE_CUDA_COMPILER=PATH, or leave OATGP_CUDA at AUTO")
  endif()
  return()
endif()
# Ampere and Hopper, and code that a later GPU's driver compiles for itself.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

file(GLOB cuda_sources CONFIGURE_DEPENDS src/device/cuda/*.cu)
add_library(oatgp_cuda MODULE ${cuda_sources})
set_target_properties(
  oatgp_cuda PROPERTIES CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
  OUTPUT_NAME oatgp_cuda CUDA_RUNTIME_LIBRARY Static)
target_include_directories(oatgp_cuda PRIVATE include src ${OATGP_GENERATED_DIR})
target_link_libraries(oatgp_cuda PRIVATE oatgp_static CUDA::cublas CUDA::cusolver)
target_compile_options(oatgp_cuda PRIVATE -std=c++20) # which not every CMake knows for nvcc
if(OATGP_WERROR)
  target_compile_options(oatgp_cuda PRIVATE --Werror all-warnings)
endif()
install(TARGETS oatgp_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/oatgp)
