// LLVM's code generators run without some of their passes, which every target names as LLVM does.
#include "backend/codegen/GenerateCode.h"
#include "backend/TargetKind.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include <gtest/gtest.h>

using namespace tw;

TEST(GenerateCodeTest, EveryTargetNamesPassesThatLlvmHas) {
  std::vector<TargetKind> kinds = targetKinds();
  unsigned numMachines = 0;
  for (const std::string &name : namesOf(kinds)) {
    RuntimeError error;
    std::optional<TargetEntry> entry = makeTarget(kinds, name, /*settings=*/{}, error);
    ASSERT_TRUE(entry) << error.message;
    if (const LlvmMachine *machine = entry->target->llvmMachine()) {
      EXPECT_EQ(unknownPasses(*machine), std::vector<std::string>()) << name;
      EXPECT_FALSE(machine->variants.empty()) << name;
      ++numMachines;
    }
  }
  EXPECT_GT(numMachines, 0u);
}

TEST(GenerateCodeTest, NamesThatLlvmDoesNotHaveAreFound) {
  static constexpr llvm::StringLiteral kMisspelt[] = {"Loop Invariant Code Movement"};
  static constexpr PlacedPass kNowhere[] = {
      {"ours", "does nothing", "Select instructions", nullptr}};
  static constexpr CodeVariant kVariants[] = {{"default", {}, {}, {}},
                                              {"other", {}, {}, kMisspelt}};
  RuntimeError error;
  std::optional<TargetEntry> entry = makeTarget(targetKinds(), "cpu", /*settings=*/{}, error);
  LlvmMachine machine = *entry->target->llvmMachine();
  machine.variants = kVariants;
  machine.ownPasses = kNowhere;
  EXPECT_EQ(unknownPasses(machine),
            (std::vector<std::string>{"Loop Invariant Code Movement", "Select instructions"}));
}

/// Returns the schedulers that a function with one block of so many stores is generated without.
static size_t numUnusedFor(int stores) {
  llvm::LLVMContext context;
  llvm::Module module("stores", context);
  llvm::IRBuilder<> builder(context);
  auto type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
  auto function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "k", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  for (int i = 0; i < stores; ++i)
    builder.CreateStore(builder.getInt32(i), function->getArg(0));
  builder.CreateRetVoid();
  return unusedSchedulers(module).size();
}

TEST(GenerateCodeTest, CrowdedBlocksAreNotScheduled) {
  EXPECT_EQ(numUnusedFor(200), 0u);
  EXPECT_EQ(numUnusedFor(201), 1u);
  EXPECT_EQ(numUnusedFor(1001), 2u);
}
