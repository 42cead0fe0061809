# `cmake --install build --prefix DIR`: the library, its headers, the Python package and what CMake and
# pkg-config need to find them. A wheel takes the component `python` alone, which has the library there.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_CURRENT_LIST_DIR})
set(TW_PYTHON_PATH ${CMAKE_INSTALL_LIBDIR}/tilewright/python)
set(TW_CMAKE_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright)

if(SKBUILD)
  set(TW_PYTHON_DESTINATION tilewright)
else()
  set(TW_PYTHON_DESTINATION ${TW_PYTHON_PATH}/tilewright)
endif()

# Symbols are a quarter of each library; those in the build's folders stay for debuggers.
install(CODE "set(CMAKE_INSTALL_DO_STRIP ON)" ALL_COMPONENTS)
if(TARGET _native)
  install(TARGETS _native LIBRARY DESTINATION ${TW_PYTHON_DESTINATION} COMPONENT python)
  install(FILES ${PROJECT_BINARY_DIR}/python/tilewright/_library.records
          DESTINATION ${TW_PYTHON_DESTINATION} COMPONENT python)
  # The launcher that exports put into packages.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/aot/ DESTINATION ${TW_PYTHON_DESTINATION}/export/runtime
          COMPONENT python FILES_MATCHING PATTERN "*.h" PATTERN "*.c")
endif()
if(SKBUILD)
  install(TARGETS tilewright LIBRARY DESTINATION ${TW_PYTHON_DESTINATION} COMPONENT python NAMELINK_SKIP)
  return()
endif()

if(TARGET _native)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/tilewright/ DESTINATION ${TW_PYTHON_DESTINATION}
          COMPONENT python PATTERN "__pycache__" EXCLUDE PATTERN "*.so" EXCLUDE PATTERN "*.records" EXCLUDE)
endif()
configure_package_config_file(${package}/TilewrightConfig.cmake.in ${PROJECT_BINARY_DIR}/TilewrightConfig.cmake
  INSTALL_DESTINATION ${TW_CMAKE_DESTINATION} PATH_VARS TW_PYTHON_PATH)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TilewrightConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${package}/tilewright.pc.in ${PROJECT_BINARY_DIR}/tilewright.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/TilewrightConfig.cmake
        ${PROJECT_BINARY_DIR}/TilewrightConfigVersion.cmake ${package}/TilewrightKernels.cmake
        DESTINATION ${TW_CMAKE_DESTINATION} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/tilewright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
install(TARGETS tilewright EXPORT TilewrightTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/backend/api/library/tilewright.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilewright COMPONENT development)
install(EXPORT TilewrightTargets NAMESPACE Tilewright:: DESTINATION ${TW_CMAKE_DESTINATION}
        COMPONENT development)
