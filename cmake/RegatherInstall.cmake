# Installs the libraries, headers and the package that find_package(Regather)
# reads. The build tree can be used as a package as well: its Regather_DIR is
# lib/cmake/regather of the build directory.

include_guard()
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/regather)
set(build_package_dir ${PROJECT_BINARY_DIR}/lib/cmake/regather)

# A library is installed when it has declared itself in this property.
get_property(REGATHER_LIBRARIES GLOBAL PROPERTY REGATHER_LIBRARIES)
list(GET REGATHER_LIBRARIES 0 REGATHER_FIRST_LIBRARY)
install(TARGETS ${REGATHER_LIBRARIES} EXPORT RegatherTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT RegatherTargets NAMESPACE Regather:: DESTINATION ${package_dir})
export(EXPORT RegatherTargets NAMESPACE Regather::
  FILE ${build_package_dir}/RegatherTargets.cmake)

# .td files too: dialects outside may build on ours. The two trees do not hold
# the same directories.
foreach(directory regather regather-c)
  foreach(root ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
    if(IS_DIRECTORY ${root}/${directory})
      install(DIRECTORY ${root}/${directory}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
        PATTERN "CMakeFiles" EXCLUDE)
    endif()
  endforeach()
endforeach()

set(include_dirs ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/RegatherConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/RegatherConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS include_dirs)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/RegatherConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/RegatherConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/RegatherConfigVersion.cmake
  DESTINATION ${package_dir})

# The same package for the build tree, whose headers lie in two places.
set(include_dirs ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/RegatherConfig.cmake.in
  ${build_package_dir}/RegatherConfig.cmake
  INSTALL_DESTINATION ${build_package_dir}
  INSTALL_PREFIX ${PROJECT_BINARY_DIR}
  PATH_VARS include_dirs)
configure_file(${PROJECT_BINARY_DIR}/cmake/RegatherConfigVersion.cmake
  ${build_package_dir}/RegatherConfigVersion.cmake COPYONLY)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/regather)
