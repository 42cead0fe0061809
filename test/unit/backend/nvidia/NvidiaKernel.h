// Kernels written at the stage lowered, for testing the NVIDIA target alone.
#ifndef TEST_UNIT_BACKEND_NVIDIAKERNEL_H
#define TEST_UNIT_BACKEND_NVIDIAKERNEL_H
#include "backend/compile/Compiler.h"
#include "backend/gpu/LineTables.h"
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/NvidiaTarget.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"
#include "test/unit/backend/nvidia/InstalledAssemblers.h"
#include <gtest/gtest.h>

namespace tw::test {

/// What became of a kernel; `error` is empty when it compiled.
struct NvidiaResult {
  Artifact artifact;
  std::string error;
  const std::string &ptx() const { return artifact.binary; }
};

/// Compiles the body of a kernel `k` whose arguments are %p, %q (pointers to global memory), %n
/// (i32) and %m (i1).
inline NvidiaResult compileNvidia(const std::string &body, const std::string &arch = "sm_80",
                                  bool assembles = false, unsigned numWarps = 4) {
  NvidiaResult result;
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  std::string text =
      "module attributes {simt.num_warps = " + std::to_string(numWarps) +
      " : i32, simt.shared_bytes = 4096 : i64} {\n"
      "llvm.func @k(%p: !llvm.ptr<1> {tile.divisibility = 16 : i64}, %q: !llvm.ptr<1>, %n: i32, "
      "%m: i1) attributes {simt.kernel} {\n" +
      body + "\nllvm.return\n}\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "dir/kernel.py");
  const NvidiaArch *row = findNvidiaArch(arch);
  if (!module || !row) {
    result.error = "does not parse";
    return result;
  }
  (*module)->setAttr(kTargetAttribute, describeNvidia(*context, *row));
  mlir::PassManager passes(context.get());
  passes.addPass(createLowerNvidia());
  passes.addPass(createLowerToLlvm());
  passes.addPass(gpu::createAttachLineTables(gpu::LineDetail::Directives));
  result.artifact.symbol = "k";
  if (mlir::failed(passes.run(*module)))
    result.error = "a pass failed";
  else
    (void)makeNvidiaTarget(arch, assembles, assembles ? installedAssemblers() : AssemblerSettings())
        ->compile(*module, result.artifact, result.error);
  return result;
}

inline int countOf(llvm::StringRef text, llvm::StringRef part) { return int(text.count(part)); }

/// Expects that the kernel assembles for the arch without a spill.
inline void expectAssembles(const std::string &body, const std::string &arch) {
  NvidiaResult result = compileNvidia(body, arch, /*assembles=*/true);
  ASSERT_EQ(result.error, "") << arch << "\n" << result.ptx();
  EXPECT_FALSE(result.artifact.assembled.empty()) << arch;
  EXPECT_EQ(result.artifact.resources["spill_bytes"], 0) << arch;
  EXPECT_GT(result.artifact.resources["registers"], 0) << arch;
  EXPECT_GT(result.artifact.codeBytes, 0u) << arch;
}

} // namespace tw::test
#endif
