# Finds Debian's LLVM and MLIR 22 and names the static libraries that Tilewright links.
#
# Debian builds LLVM with LLVM_LINK_LLVM_DYLIB, so every exported static MLIR target also carries the
# shared library LLVM in its link interface. Linking both puts two LLVMs into one process: the shared
# edge is taken away here, and the components are named instead.
execute_process(COMMAND llvm-config-22 --prefix OUTPUT_VARIABLE TW_LLVM_PREFIX
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(MLIR 22.1 REQUIRED CONFIG HINTS ${TW_LLVM_PREFIX}/lib/cmake/mlir)
separate_arguments(TW_LLVM_DEFINITIONS UNIX_COMMAND "${LLVM_DEFINITIONS}")
set(MLIR_TABLEGEN_EXE ${TW_LLVM_PREFIX}/bin/mlir-tblgen)
set(LLVM_TABLEGEN_EXE ${TW_LLVM_PREFIX}/bin/llvm-tblgen)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

foreach(target IN LISTS MLIR_EXPORTED_TARGETS ITEMS LLVMSupport LLVMExtensions)
  if(TARGET ${target})
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(libraries)
      list(REMOVE_ITEM libraries LLVM MLIR Polly)
      list(FILTER libraries EXCLUDE REGEX "libz3")
      list(TRANSFORM libraries REPLACE "^zstd::libzstd_shared$" "zstd::libzstd_static")
      set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
  endif()
endforeach()

llvm_map_components_to_libnames(TW_LLVM_LIBRARIES core support passes orcjit orcdebugging orctargetprocess
  x86codegen x86asmparser x86desc x86info nvptxcodegen nvptxdesc nvptxinfo
  amdgpucodegen amdgpuasmparser amdgpudesc amdgpuinfo
  spirvcodegen spirvdesc spirvinfo spirvanalysis lto dtlto option)
# The linker of AMD's code objects, before what it uses.
list(PREPEND TW_LLVM_LIBRARIES ${TW_LLVM_PREFIX}/lib/liblldELF.a ${TW_LLVM_PREFIX}/lib/liblldCommon.a)
set(TW_MLIR_LIBRARIES
  MLIRIR MLIRParser MLIRPass MLIRTransforms MLIRSupport MLIRRewrite MLIRBytecodeReader MLIRBytecodeWriter
  MLIRArithDialect MLIRArithTransforms MLIRControlFlowDialect MLIRFuncDialect MLIRLLVMDialect
  MLIRMathDialect MLIRMathTransforms MLIRSCFDialect MLIRSCFTransforms MLIRSCFUtils MLIRTensorDialect MLIRUBDialect
  MLIRVectorDialect MLIRVectorTransforms MLIRVectorUtils
  MLIRArithToLLVM MLIRControlFlowToLLVM MLIRFuncToLLVM MLIRMathToLLVM MLIRSCFToControlFlow
  MLIRUBToLLVM MLIRVectorToLLVM MLIRLLVMCommonConversion MLIRReconcileUnrealizedCasts
  MLIRTargetLLVMIRExport MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation)
