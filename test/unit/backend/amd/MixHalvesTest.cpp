// Sums with numbers of float16 become fused products with 1, and nothing else changes.
#include "backend/amd/codegen/Passes.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace tw;

/// The number of fused products after `body`, whose function has the arguments %a and %b (f16), %c
/// and %d (f32), and pairs of them, %v and %w (f16), %x and %y (f32).
static int fusedIn(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "define void @f(half %a, half %b, float %c, float %d, <2 x half> %v, <2 x half> %w, "
      "<2 x float> %x, <2 x float> %y, ptr %p) {\n" +
          body + "  ret void\n}\n",
      error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  amd::mixHalves(*module);
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  int count = 0;
  for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("f")))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
      count += call->getIntrinsicID() == llvm::Intrinsic::fma;
  return count;
}

static const std::string widened = "  %e = fpext half %a to float\n";
static const std::string widenedPair = "  %e = fpext <2 x half> %v to <2 x float>\n";

TEST(MixHalves, SumsAndDifferencesTakeHalves) {
  for (const char *sum : {"fadd float %e, %c", "fadd float %c, %e", "fsub float %e, %c",
                          "fsub float %c, %e", "fadd float %e, %e"})
    EXPECT_EQ(fusedIn(widened + "  %s = " + sum + "\n  store float %s, ptr %p\n"), 1) << sum;
}

TEST(MixHalves, PairsBecomeSingleSums) {
  for (const char *sum : {"fadd <2 x float> %e, %x", "fsub <2 x float> %x, %e"}) {
    std::string code = widenedPair + "  %s = " + sum + "\n";
    EXPECT_EQ(fusedIn(code + "  store <2 x float> %s, ptr %p\n"), 2);
    EXPECT_EQ(fusedIn(code + "  %n = fptrunc <2 x float> %s to <2 x half>\n"
                             "  store <2 x half> %n, ptr %p\n"),
              2);
  }
}

/// LLVM fuses a product and its sum by itself, and takes halves then; not in pairs.
TEST(MixHalves, ProductsAreFusedWithTheirSumsOnly) {
  std::string end = "  store float %s, ptr %p\n", ends = "  store <2 x float> %s, ptr %p\n";
  EXPECT_EQ(fusedIn(widened +
                    "  %m = fmul contract float %c, %d\n"
                    "  %s = fadd contract float %m, %e\n" +
                    end),
            0);
  EXPECT_EQ(fusedIn(widenedPair +
                    "  %m = fmul contract <2 x float> %e, %y\n"
                    "  %s = fsub contract <2 x float> %x, %m\n" +
                    ends),
            2);
  // Rounded separately, the product stays one.
  EXPECT_EQ(fusedIn(widenedPair +
                    "  %m = fmul <2 x float> %x, %y\n"
                    "  %s = fadd <2 x float> %m, %e\n" +
                    ends),
            2);
  EXPECT_EQ(fusedIn(widenedPair +
                    "  %m = fmul <2 x float> %e, %y\n"
                    "  %s = fadd <2 x float> %m, %x\n" +
                    ends),
            0);
}

TEST(MixHalves, NumbersThatAreNeededWiderStayWide) {
  std::string sum = "  %s = fadd float %e, %c\n  store float %s, ptr %p\n";
  EXPECT_EQ(fusedIn(widened + sum + "  store float %e, ptr %p\n"), 0);
  EXPECT_EQ(fusedIn(widened + "  br label %next\nnext:\n" + sum), 0);
  EXPECT_EQ(fusedIn("  %e = fpext float %c to double\n  %s = fadd double %e, %e\n"
                    "  store double %s, ptr %p\n"),
            0);
}

/// A sum of sums: each takes what the one before became.
TEST(MixHalves, SumsOfSumsFollowOneAnother) {
  EXPECT_EQ(fusedIn(widened + "  %g = fpext half %b to float\n  %s = fadd float %e, %c\n"
                              "  %t = fsub float %s, %g\n  store float %t, ptr %p\n"),
            2);
  EXPECT_EQ(fusedIn(widenedPair + "  %g = fpext <2 x half> %w to <2 x float>\n"
                                  "  %s = fadd <2 x float> %e, %x\n"
                                  "  %t = fsub <2 x float> %s, %g\n"
                                  "  store <2 x float> %t, ptr %p\n"),
            4);
}
