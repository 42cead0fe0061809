// Words of halves of others are put together by one instruction each, and hold the same halves.
#include "backend/amd/codegen/Passes.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
struct ExchangeHalvesTest : testing::Test {
  /// Exchanges in a body that has vectors `%a` and `%b` of four halves, and answers the selectors.
  std::vector<uint64_t> selectors(const std::string &body) {
    llvm::SMDiagnostic error;
    module = llvm::parseAssemblyString("define void @f(<4 x half> %a, <4 x half> %b, half %h, "
                                       "ptr addrspace(3) %p) {\n" +
                                           body + "  ret void\n}\n",
                                       error, context);
    EXPECT_TRUE(module) << error.getMessage().str();
    amd::exchangeHalves(*module);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    std::vector<uint64_t> found;
    numInsertions = 0;
    for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("f"))) {
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        found.push_back(llvm::cast<llvm::ConstantInt>(call->getArgOperand(2))->getZExtValue());
      if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        stored = store->getValueOperand()->getType();
      numInsertions += instruction.getType()->getScalarType()->isHalfTy() &&
                       llvm::isa<llvm::InsertElementInst>(instruction);
    }
    return found;
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  llvm::Type *stored = nullptr;
  unsigned numInsertions = 0;
};
} // namespace

/// A vector of two elements of `%a` and `%b`, stored.
static std::string pair(const std::string &low, const std::string &high) {
  return "  %x = extractelement <4 x half> " + low + "\n  %y = extractelement <4 x half> " + high +
         "\n  %one = insertelement <2 x half> poison, half %x, i32 0\n"
         "  %two = insertelement <2 x half> %one, half %y, i32 1\n"
         "  store <2 x half> %two, ptr addrspace(3) %p\n";
}

TEST_F(ExchangeHalvesTest, EachHalfOfEachWord) {
  using Selectors = std::vector<uint64_t>;
  EXPECT_EQ(selectors(pair("%a, i32 0", "%b, i32 2")), Selectors{0x05040100});
  EXPECT_EQ(selectors(pair("%a, i32 1", "%b, i32 0")), Selectors{0x05040302});
  EXPECT_EQ(selectors(pair("%a, i32 0", "%b, i32 3")), Selectors{0x07060100});
  EXPECT_EQ(selectors(pair("%a, i32 1", "%b, i32 1")), Selectors{0x07060302});
  EXPECT_EQ(selectors(pair("%a, i32 1", "%a, i32 0")), Selectors{0x05040302});
  EXPECT_TRUE(stored->isIntOrIntVectorTy(32));
  EXPECT_EQ(numInsertions, 0u);
}

TEST_F(ExchangeHalvesTest, WholeWordsStay) {
  EXPECT_TRUE(selectors(pair("%b, i32 2", "%b, i32 3")).empty());
  EXPECT_EQ(numInsertions, 2u);
}

TEST_F(ExchangeHalvesTest, ShufflesOfShuffles) {
  // The halves a1 b1 a3 b3: two words, which are other bytes of one instruction each.
  EXPECT_EQ(selectors("  %x = shufflevector <4 x half> %a, <4 x half> %b, <4 x i32> <i32 1, i32 "
                      "3, i32 5, i32 7>\n"
                      "  %y = shufflevector <4 x half> %x, <4 x half> poison, <4 x i32> <i32 0, "
                      "i32 2, i32 1, i32 3>\n"
                      "  store <4 x half> %y, ptr addrspace(3) %p\n"),
            (std::vector<uint64_t>{0x07060302, 0x07060302}));
}

TEST_F(ExchangeHalvesTest, HalvesOfNoVectorStay) {
  EXPECT_TRUE(selectors("  %x = extractelement <4 x half> %a, i32 1\n"
                        "  %one = insertelement <2 x half> poison, half %x, i32 0\n"
                        "  %two = insertelement <2 x half> %one, half %h, i32 1\n"
                        "  store <2 x half> %two, ptr addrspace(3) %p\n")
                  .empty());
  EXPECT_EQ(numInsertions, 2u);
  EXPECT_TRUE(selectors("  %x = shufflevector <4 x half> %a, <4 x half> %b, <2 x i32> <i32 1, i32 "
                        "poison>\n"
                        "  store <2 x half> %x, ptr addrspace(3) %p\n")
                  .empty());
}

TEST_F(ExchangeHalvesTest, PartsOfOthersThatGoWithThem) {
  // The first insertion is in two vectors, both of which are put together anew.
  EXPECT_EQ(selectors("  %x = extractelement <4 x half> %a, i32 1\n"
                      "  %y = extractelement <4 x half> %b, i32 0\n"
                      "  %z = extractelement <4 x half> %b, i32 1\n"
                      "  %one = insertelement <2 x half> poison, half %x, i32 0\n"
                      "  %two = insertelement <2 x half> %one, half %y, i32 1\n"
                      "  %three = insertelement <2 x half> %one, half %z, i32 1\n"
                      "  store <2 x half> %two, ptr addrspace(3) %p\n"
                      "  store <2 x half> %three, ptr addrspace(3) %p\n"),
            (std::vector<uint64_t>{0x05040302, 0x07060302}));
}
