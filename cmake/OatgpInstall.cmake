# What is installed: libraries, headers, command, pkg-config file, CMake package, manual pages, completions for shells.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/oatgp)

# The static library is a separate export: only projects that link it need BLAS and the other libraries.
install(TARGETS oatgp_shared EXPORT oatgpTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS oatgp_static EXPORT oatgpStaticTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/oatgp.h include/oatgp_kernels.def include/oatgp_leaves.def include/oatgp_settings.def include/oatgp_status.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET oatgp_command)
  install(TARGETS oatgp_command)
endif()
if(TARGET oatgp_mpi)
  install(TARGETS oatgp_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/oatgp) # where src/util/beside.c looks
endif()

install(EXPORT oatgpTargets NAMESPACE oatgp:: DESTINATION ${package_dir})
install(EXPORT oatgpStaticTargets NAMESPACE oatgp:: DESTINATION ${package_dir})
configure_package_config_file(
  cmake/oatgpConfig.cmake.in ${PROJECT_BINARY_DIR}/oatgpConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/oatgpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/oatgpConfig.cmake ${PROJECT_BINARY_DIR}/oatgpConfigVersion.cmake DESTINATION ${package_dir})

# Everything except tests and experiments, for users who build oatgp.
add_custom_target(oatgp_installed)
foreach(target oatgp_shared oatgp_static oatgp_command oatgp_mpi oatgp_cuda oatgp_pages)
  if(TARGET ${target})
    add_dependencies(oatgp_installed ${target})
  endif()
endforeach()

# The .pc file finds its prefix from its own place, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/oatgp.pc.in ${PROJECT_BINARY_DIR}/oatgp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/oatgp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The pages that the command wrote, where man and the shells look for them.
if(TARGET oatgp_pages)
  install(DIRECTORY ${OATGP_PAGES_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(DIRECTORY ${OATGP_PAGES_DIR}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(DIRECTORY ${OATGP_PAGES_DIR}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(DIRECTORY ${OATGP_PAGES_DIR}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
