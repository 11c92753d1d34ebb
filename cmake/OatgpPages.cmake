# Files that only the build can make: the commit, shown by oatgp --version; and the manual pages and completions for shells, which the
# command writes from its tables of verbs and options into PAGES_DIR, from where they are installed.
set(commit_header ${OATGP_GENERATED_DIR}/oatgp_commit.h)
add_custom_target(
  oatgp_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${commit_header} -P ${PROJECT_SOURCE_DIR}/cmake/OatgpCommit.cmake
  BYPRODUCTS ${commit_header}
  COMMENT "")
add_dependencies(oatgp_command oatgp_commit)
target_include_directories(oatgp_command PRIVATE ${OATGP_GENERATED_DIR})

set(OATGP_PAGES_DIR ${PROJECT_BINARY_DIR}/pages)
add_custom_command(
  OUTPUT ${OATGP_PAGES_DIR}/stamp
  COMMAND ${CMAKE_COMMAND} -DOATGP=$<TARGET_FILE:oatgp_command> -DOUTPUT=${OATGP_PAGES_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/OatgpWritePages.cmake
  DEPENDS oatgp_command ${PROJECT_SOURCE_DIR}/cmake/OatgpWritePages.cmake
  COMMENT "Manual pages and completions")
if(NOT CMAKE_CROSSCOMPILING) # otherwise, the command does not run on this machine
  add_custom_target(oatgp_pages ALL DEPENDS ${OATGP_PAGES_DIR}/stamp)
endif()
