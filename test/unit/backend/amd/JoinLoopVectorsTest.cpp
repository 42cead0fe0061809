// Loops carry vectors as such where they took them apart at their ends, and nothing else changes.
#include "backend/amd/codegen/Passes.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
struct JoinLoopVectorsTest : testing::Test {
  /// Joins, and answers how many phis there are of vectors and of floats.
  std::pair<int, int> join(const std::string &text) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString(text, error, context);
    EXPECT_TRUE(module) << error.getMessage().str();
    amd::joinLoopVectors(*module);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    std::pair<int, int> counts;
    for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("f")))
      if (llvm::isa<llvm::PHINode>(instruction)) {
        counts.first += instruction.getType()->isVectorTy();
        counts.second += instruction.getType()->isFloatTy();
      }
    return counts;
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

/// A loop over two floats, which come as `%a` and `%b`, are joined, go through `@g`, and leave as
/// the elements `x` and `y` of what that returns.
static std::string loop(const std::string &x, const std::string &y,
                        const std::string &entry = "  br label %body\n",
                        const std::string &edges = "") {
  return "declare <2 x float> @g(<2 x float>)\n"
         "define float @f(float %a, float %b, i32 %n) {\nstart:\n" +
         entry + "body:\n  %i = phi i32 [ 0, %start ], " +
         (edges.empty() ? "" : "[ 0, %start ], ") +
         "[ %next, %body ]\n  %p = phi float [ %a, %start ], " +
         (edges.empty() ? "" : "[ %a, %start ], ") +
         "[ %x, %body ]\n  %q = phi float [ %b, %start ], " +
         (edges.empty() ? "" : "[ %b, %start ], ") +
         "[ %y, %body ]\n"
         "  %one = insertelement <2 x float> poison, float %p, i32 0\n"
         "  %two = insertelement <2 x float> %one, float %q, i32 1\n"
         "  %made = call <2 x float> @g(<2 x float> %two)\n"
         "  %x = extractelement <2 x float> %made, i32 " +
         x + "\n  %y = extractelement <2 x float> %made, i32 " + y +
         "\n  %next = add i32 %i, 1\n  %more = icmp slt i32 %next, %n\n"
         "  br i1 %more, label %body, label %end\n"
         "end:\n  %s = fadd float %p, %y\n  ret float %s\n}\n";
}

TEST_F(JoinLoopVectorsTest, ElementsOfOneVector) {
  EXPECT_EQ(join(loop("0", "1")), std::pair(1, 0));
  // Its elements before the loop are put together there.
  EXPECT_TRUE(llvm::isa<llvm::InsertElementInst>(
      module->getFunction("f")->getEntryBlock().getTerminator()->getPrevNode()));
}

TEST_F(JoinLoopVectorsTest, ElementsThatChangePlacesStay) {
  EXPECT_EQ(join(loop("1", "0")), std::pair(0, 2));
  EXPECT_EQ(join(loop("0", "0")), std::pair(0, 2));
}

TEST_F(JoinLoopVectorsTest, TwoEdgesFromOneBlock) {
  std::string entry = "  switch i32 %n, label %body [ i32 7, label %body ]\n";
  EXPECT_EQ(join(loop("0", "1", entry, "two")), std::pair(1, 0));
}

TEST_F(JoinLoopVectorsTest, VectorsOfOtherWidthsStay) {
  std::string text = loop("0", "1");
  for (std::string from : {"declare <2 x float> @g(", "%made = call <2 x float> @g("})
    text.replace(text.find(from), from.size(),
                 std::string(from).replace(from.find("<2 x"), 4, "<4 x"));
  for (std::string from : {"%x = extractelement <2 x", "%y = extractelement <2 x"})
    text.replace(text.find(from), from.size(),
                 std::string(from).replace(from.find("<2 x"), 4, "<4 x"));
  EXPECT_EQ(join(text), std::pair(0, 2));
}

TEST_F(JoinLoopVectorsTest, CarriedAroundUnchanged) {
  std::string text = loop("0", "1");
  for (std::string from :
       {"%x = extractelement <2 x float> %made", "%y = extractelement <2 x float> %made"})
    text.replace(text.find(from), from.size(), from.substr(0, from.find("%made")) + "%two");
  EXPECT_EQ(join(text), std::pair(1, 0));
}
