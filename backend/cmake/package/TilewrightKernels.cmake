# tilewright_add_kernels: kernels of Python files, compiled ahead of time when a program is built.
#
# tilewright_add_kernels(<target> <file.py>:<kernel or Package>
#     TARGETS <nvidia:sm_80 amd:gfx942 cpu:x86-64-v3 ...>
#     [SIGNATURE <one or several>] [CONSTEXPR <A=1,B=2>] [SHAPES <"M=4096;M=8192">]
#     [GRID <"cdiv(n, BLOCK)">] [NAME <function>] [PACKAGE <files>] [OPTIONS <--num-warps 8 ...>])
#
# tilewright_add_source(<target> <file.py>:<kernel> [NAME <name>])
#
# lets <target> include <name>_source.h, in which `<name>_source` is the kernel for the compiler in
# libtilewright.
#
# The package's C file is compiled with the project's own C compiler and flags, and <target> can include
# <PACKAGE>.h (by default the kernel's name). A <target> that does not exist becomes a static library.
# Python with the package tilewright is needed to build, not to run. TILEWRIGHT_PYTHON names it.
include_guard(GLOBAL)

# Finds Python at the first use, and sets `tw_command` to the command with its environment.
function(_tilewright_command)
  if(NOT TILEWRIGHT_PYTHON)
    if(Tilewright_BUILD_PYTHON AND EXISTS "${Tilewright_BUILD_PYTHON}")
      set(found "${Tilewright_BUILD_PYTHON}")
    else()
      find_package(Python3 ${Tilewright_PYTHON_VERSION} REQUIRED COMPONENTS Interpreter)
      set(found "${Python3_EXECUTABLE}")
    endif()
    set(TILEWRIGHT_PYTHON "${found}" CACHE FILEPATH "Python that compiles kernels")
  endif()
  set(command ${TILEWRIGHT_PYTHON} -m tilewright)
  if(Tilewright_PYTHON_PATH)
    list(PREPEND command ${CMAKE_COMMAND} -E env "PYTHONPATH=${Tilewright_PYTHON_PATH}")
  endif()
  set(tw_command ${command} PARENT_SCOPE)
endfunction()

# Sets `tw_file` and `tw_object` to the parts of FILE.py:NAME.
function(_tilewright_kernel kernel)
  if(NOT kernel MATCHES "^(.+):([A-Za-z_][A-Za-z0-9_]*)$")
    message(FATAL_ERROR "Tilewright: ${kernel} is not FILE.py:NAME")
  endif()
  get_filename_component(file "${CMAKE_MATCH_1}" ABSOLUTE)
  set(tw_file "${file}" PARENT_SCOPE)
  set(tw_object "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# Refuses arguments that cmake_parse_arguments does not know, and keywords without a value.
macro(_tilewright_check_arguments function)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${function}: no value for ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
endmacro()

function(tilewright_add_source target kernel)
  cmake_parse_arguments(arg "" "NAME" "" ${ARGN})
  _tilewright_check_arguments(tilewright_add_source)
  _tilewright_kernel("${kernel}")
  _tilewright_command()
  set(name "${tw_object}")
  if(arg_NAME)
    set(name "${arg_NAME}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/tilewright/${target}")
  set(header "${folder}/${name}_source.h")
  add_custom_command(
    OUTPUT "${header}"
    COMMAND ${tw_command} export "${tw_file}:${tw_object}" --form source --name "${name}" -o "${folder}"
            --depfile "${header}.d"
    DEPENDS "${tw_file}" DEPFILE "${header}.d" COMMENT "Capturing ${kernel}" VERBATIM)
  target_sources(${target} PRIVATE "${header}")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()

function(tilewright_add_kernels target kernel)
  cmake_parse_arguments(arg "" "NAME;PACKAGE;CONSTEXPR;SHAPES;GRID" "TARGETS;SIGNATURE;OPTIONS" ${ARGN})
  _tilewright_check_arguments(tilewright_add_kernels)
  if(NOT arg_TARGETS)
    message(FATAL_ERROR "tilewright_add_kernels: TARGETS names no target, such as cpu:x86-64-v3")
  endif()
  _tilewright_kernel("${kernel}")
  set(file "${tw_file}")
  set(object "${tw_object}")
  set(package "${arg_PACKAGE}")
  if(NOT package)
    set(package "${arg_NAME}")
  endif()
  if(NOT package)
    set(package "${object}")
  endif()
  enable_language(C)
  _tilewright_command()
  list(JOIN arg_TARGETS "," targets)
  set(words export "${file}:${object}" --form c --targets "${targets}" --package "${package}")
  foreach(signature IN LISTS arg_SIGNATURE)
    list(APPEND words --signature "${signature}")
  endforeach()
  foreach(name CONSTEXPR SHAPES GRID NAME)
    if(arg_${name})
      string(TOLOWER "${name}" option)
      list(APPEND words "--${option}" "${arg_${name}}")
    endif()
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/tilewright/${target}")
  set(outputs "${folder}/${package}.h" "${folder}/${package}.c" "${folder}/${package}.json")
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${tw_command} ${words} ${arg_OPTIONS} -o "${folder}" --depfile "${folder}/${package}.d"
    DEPENDS "${file}" DEPFILE "${folder}/${package}.d"
    COMMENT "Compiling kernels of ${kernel}" VERBATIM)
  set(library "${target}")
  if(TARGET ${target})
    set(library "${target}_${package}_kernels")
  endif()
  find_package(Threads REQUIRED)
  add_library(${library} STATIC ${outputs})
  set_target_properties(${library} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON
                        POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${library} PUBLIC "${folder}")
  target_link_libraries(${library} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
  if(NOT library STREQUAL target)
    target_link_libraries(${target} PRIVATE ${library})
  endif()
endfunction()
