# TILEWRIGHT_SANITIZE=address,undefined or thread: everything here is built with those checks; Debian's
# LLVM and MLIR are not. `make sanitize` uses it.
set(TILEWRIGHT_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
if(NOT TILEWRIGHT_SANITIZE)
  return()
endif()
# One runtime for executables and for what Python and the tests load later. `function` would read the
# bytes before functions of kernels, where a page may begin.
set(flags -fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize=function -fno-sanitize-recover=undefined
          -shared-libsan)
add_compile_options(${flags} -O1 -gline-tables-only -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
string(REGEX REPLACE ",.*" "" runtime "${TILEWRIGHT_SANITIZE}")
string(SUBSTRING "${runtime}" 0 1 runtime)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.${runtime}san-x86_64.so
                OUTPUT_VARIABLE TW_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS "${TW_SANITIZER_RUNTIME}")
  message(FATAL_ERROR "the sanitizers' runtime is missing; on Debian it is in libclang-rt-22-dev")
endif()
get_filename_component(directory "${TW_SANITIZER_RUNTIME}" DIRECTORY)
add_link_options(${flags} -Wl,-rpath,${directory})
