// Failures inside LLVM are messages; the process goes on and compiles the next kernel.
#include "backend/codegen/EmitLlvm.h"
#include "backend/codegen/ContainCrash.h"
#include "test/unit/backend/LlvmDialectKernel.h"
#include "llvm/Support/ErrorHandling.h"
#include <csignal>
#include <gtest/gtest.h>

using namespace tw;

static void expectNextKernelCompiles() {
  Artifact artifact;
  std::string error;
  EXPECT_TRUE(compileLlvmKernel("", artifact, error)) << error;
  EXPECT_GT(artifact.codeBytes, 0u);
}

TEST(EmitLlvmTest, RejectedAssemblyIsAnError) {
  Artifact artifact;
  std::string error;
  EXPECT_FALSE(compileLlvmKernel(
      R"(llvm.inline_asm has_side_effects "no_such_instruction", "" : () -> ())", artifact, error));
  EXPECT_NE(error.find("no_such_instruction"), std::string::npos) << error;
  expectNextKernelCompiles();
}

TEST(EmitLlvmTest, TextIsAssembledOrRefusedWithItsLine) {
  Artifact artifact;
  std::string error;
  std::unique_ptr<Target> target = makeCpuTarget();
  EXPECT_TRUE(target->compileText(".globl k\nk:\n  nop\n", artifact, error)) << error;
  EXPECT_TRUE(llvm::StringRef(artifact.binary)
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_EQ(artifact.codeBytes, 1u);
  EXPECT_FALSE(target->compileText("nop\nno_such_instruction\n", artifact, error));
  EXPECT_NE(error.find("2:1: error: invalid instruction"), std::string::npos) << error;
  expectNextKernelCompiles();
}

TEST(EmitLlvmTest, UnselectableCodeIsAnError) {
  Artifact artifact;
  std::string error;
  EXPECT_FALSE(compileLlvmKernel(R"(llvm.call_intrinsic "llvm.nvvm.membar.gl"() : () -> ())",
                                 artifact, error));
  EXPECT_NE(error.find("LLVM"), std::string::npos) << error;
  expectNextKernelCompiles();
}

TEST(EmitLlvmTest, CompilesAreDeterministic) {
  std::string body = R"(
    %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
    %w = llvm.fmul %v, %v : vector<16xf32>
    llvm.store %w, %x {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr)";
  Artifact first, second;
  std::string error;
  ASSERT_TRUE(compileLlvmKernel(body, first, error)) << error;
  ASSERT_TRUE(compileLlvmKernel(body, second, error)) << error;
  EXPECT_EQ(first.binary, second.binary);
}

TEST(EmitLlvmTest, ProductsAndSumsKeepTheirRoundings) {
  Artifact artifact;
  std::string error, assembly;
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    llvm.func @k(%a: f32, %b: f32, %c: f32) -> f32 {
      %p = llvm.fmul %a, %b : f32
      %s = llvm.fadd %p, %c : f32
      llvm.return %s : f32
    })",
                                                        context.get());
  ASSERT_TRUE(makeCpuTarget()->print(*module, CodeForm::Assembly, assembly, error)) << error;
  EXPECT_EQ(assembly.find("vfmadd"), std::string::npos) << assembly;
}

/// The optimized LLVM IR of a loop of `count` iterations over vectors, which stores each time.
static std::string optimizedLoop(int count) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  std::string text = R"(
    llvm.func @k(%out: !llvm.ptr, %v: vector<16xf32>) {
      %zero = llvm.mlir.constant(0 : i64) : i64
      %one = llvm.mlir.constant(1 : i64) : i64
      %end = llvm.mlir.constant()" +
                     std::to_string(count) + R"( : i64) : i64
      llvm.br ^head(%zero : i64)
    ^head(%i: i64):
      %more = llvm.icmp "slt" %i, %end : i64
      llvm.cond_br %more, ^body, ^done
    ^body:
      %at = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
      llvm.store %v, %at : vector<16xf32>, !llvm.ptr
      %next = llvm.add %i, %one : i64
      llvm.br ^head(%next : i64)
    ^done:
      llvm.return
    })";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  std::string error, code;
  EXPECT_TRUE(module && makeCpuTarget()->print(*module, CodeForm::OptimizedLlvmIr, code, error))
      << error;
  return code;
}

TEST(EmitLlvmTest, OnlyShortLoopsAreUnrolled) {
  std::string four = optimizedLoop(4), many = optimizedLoop(1000);
  EXPECT_EQ(llvm::StringRef(four).count("store <16 x float>"), 4u) << four;
  EXPECT_EQ(four.find("phi"), std::string::npos) << four;
  EXPECT_EQ(llvm::StringRef(many).count("store <16 x float>"), 1u) << many;
  EXPECT_NE(many.find("phi"), std::string::npos) << many;
}

TEST(ContainCrashTest, CrashesBecomeMessages) {
  std::string error;
  EXPECT_TRUE(containCrash([] {}, error));
  EXPECT_FALSE(containCrash([] { raise(SIGSEGV); }, error));
  EXPECT_NE(error.find("crashed"), std::string::npos) << error;
  EXPECT_FALSE(containCrash([] { abort(); }, error));
  EXPECT_FALSE(containCrash([] { llvm::reportFatalUsageError("no such thing"); }, error));
  EXPECT_EQ(error, "LLVM: no such thing");
  EXPECT_TRUE(containCrash([] {}, error));
}

TEST(ContainCrashTest, SignalHandlersAreTheProcesssOwnAgain) {
  struct sigaction before, after;
  sigaction(SIGSEGV, nullptr, &before);
  std::string error;
  EXPECT_FALSE(containCrash([] { raise(SIGSEGV); }, error));
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}
