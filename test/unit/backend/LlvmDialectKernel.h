// Kernels written in the LLVM dialect, for testing what comes after the passes alone.
#ifndef TEST_UNIT_BACKEND_LLVMDIALECTKERNEL_H
#define TEST_UNIT_BACKEND_LLVMDIALECTKERNEL_H
#include "backend/compile/Compiler.h"
#include "backend/cpu/CpuTarget.h"
#include "mlir/Parser/Parser.h"

/// A kernel `k` with the body given, in which %args and %program are its two arguments and the
/// functions in `declarations` are known. False, with `error`, when it does not parse or compile.
inline bool compileLlvmKernel(const std::string &body, tw::Artifact &artifact, std::string &error,
                              const std::string &declarations = "") {
  std::shared_ptr<mlir::MLIRContext> context = tw::acquireThreadContext();
  std::string text = declarations + "\nllvm.func @k(%args: !llvm.ptr, %program: !llvm.ptr) {\n" +
                     body + "\nllvm.return\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module) {
    error = "does not parse";
    return false;
  }
  artifact.symbol = "k";
  artifact.target = "cpu";
  return tw::makeCpuTarget()->compile(*module, artifact, error);
}
#endif
