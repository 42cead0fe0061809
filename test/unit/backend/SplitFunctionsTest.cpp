// Functions cut into parts stay valid, and parts take along only buffers of their own.
#include "backend/codegen/ModulePasses.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
struct SplitFunctionsTest : testing::Test {
  void parse(const std::string &text) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(text, error, context);
    ASSERT_TRUE(module) << error.getMessage().str();
  }

  /// Splits, and answers how many functions there are then.
  size_t split(int64_t costOfPart) {
    splitLargeFunctions(*module, costOfPart);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    size_t count = 0;
    for (llvm::Function &function : *module)
      count += !function.isDeclaration();
    return count;
  }

  /// Without those that hold the arguments of parts.
  size_t allocationsOf(const std::string &name) {
    size_t count = 0;
    for (llvm::Instruction &instruction : module->getFunction(name)->getEntryBlock())
      if (auto *buffer = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
        count += buffer->getAllocatedType()->isIntegerTy(64);
    return count;
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

/// A loop that adds to `%total`'s buffer, from block "a<i>" to block "a<i + 1>".
static std::string loop(int i, const std::string &buffer) {
  std::string n = std::to_string(i), next = std::to_string(i + 1);
  return "a" + n + ":\n  br label %l" + n + "\nl" + n + ":\n  %i" + n + " = phi i64 [ 0, %a" + n +
         " ], [ %j" + n + ", %l" + n + " ]\n  store i64 %i" + n + ", ptr " + buffer + "\n  %j" + n +
         " = add i64 %i" + n + ", 1\n  %c" + n + " = icmp slt i64 %j" + n + ", %n\n  br i1 %c" + n +
         ", label %l" + n + ", label %a" + next + "\n";
}

TEST_F(SplitFunctionsTest, SmallFunctionsStayWhole) {
  parse("define void @f(i64 %n, ptr %x) {\n  br label %a0\n" + loop(0, "%x") +
        "a1:\n  ret void\n}");
  EXPECT_EQ(split(4000), 1u);
}

TEST_F(SplitFunctionsTest, LoopsInARow) {
  std::string text = "define void @f(i64 %n, ptr %x) {\n  %own = alloca i64\n"
                     "  %shared = alloca i64\n  br label %a0\n";
  for (int i = 0; i < 60; ++i)
    text += loop(i, i == 30 ? "%own" : i == 2 || i == 50 ? "%shared" : "%x");
  parse(text + "a60:\n  ret void\n}");
  EXPECT_GE(split(100), 10u);
  EXPECT_LT(module->getFunction("f")->size(), 50u);
  EXPECT_EQ(allocationsOf("f"), 1u) << "the buffer of two parts stays, that of one part goes";
}

TEST_F(SplitFunctionsTest, BuffersKeepWhatTheLastTurnWrote) {
  std::string text = "define void @f(i64 %n, ptr %x) {\n  %kept = alloca i64\n  br label %outer\n"
                     "outer:\n  %k = phi i64 [ 0, %0 ], [ %m, %a60 ]\n  br label %a0\n";
  for (int i = 0; i < 60; ++i)
    text += loop(i, i == 30 ? "%kept" : "%x");
  parse(text + "a60:\n  %m = add i64 %k, 1\n  %c = icmp slt i64 %m, %n\n"
               "  br i1 %c, label %outer, label %end\nend:\n  ret void\n}");
  EXPECT_GE(split(100), 10u);
  EXPECT_EQ(allocationsOf("f"), 1u);
}

TEST_F(SplitFunctionsTest, StraightCodeWithValuesAcrossCuts) {
  std::string text =
      "define <8 x i1> @f(<8 x i32> %x, ptr %p) {\n  %v0 = icmp eq <8 x i32> %x, %x\n";
  for (int i = 0; i < 3000; ++i)
    text += "  %v" + std::to_string(i + 1) + " = xor <8 x i1> %v" + std::to_string(i) + ", %v" +
            std::to_string(i / 2) + "\n";
  parse(text + "  ret <8 x i1> %v3000\n}");
  EXPECT_GE(split(200), 8u);
}

TEST_F(SplitFunctionsTest, LoopsThatAreLeftInTheirMiddleAndEndlessOnes) {
  std::string text = "define i64 @f(i64 %n, ptr %x) {\n  br label %outer\n"
                     "outer:\n  %k = phi i64 [ 0, %0 ], [ %m, %a60 ]\n  br label %a0\n";
  for (int i = 0; i < 60; ++i)
    if (i == 20)
      text += "a20:\n  %e = load i64, ptr %x\n  %stops = icmp eq i64 %e, %k\n"
              "  br i1 %stops, label %end, label %a21\n";
    else
      text += loop(i, "%x");
  parse(text + "a60:\n  %m = add i64 %k, 1\n  br label %outer\nend:\n  ret i64 %e\n}");
  EXPECT_GE(split(100), 10u);
}
