// A small function with some of what kernels are made of.
#include "backend/codegen/SampleModule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace tw;

static constexpr unsigned kLanes = 16;

/// The lanes of a vector that lie before `limit`.
static llvm::Value *emitMask(llvm::IRBuilder<> &builder, llvm::Value *index, llvm::Value *limit) {
  llvm::SmallVector<llvm::Constant *> lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    lanes.push_back(builder.getInt32(lane));
  llvm::Value *left = builder.CreateTrunc(builder.CreateSub(limit, index), builder.getInt32Ty());
  return builder.CreateICmpSLT(llvm::ConstantVector::get(lanes),
                               builder.CreateVectorSplat(kLanes, left));
}

static void emitBody(llvm::IRBuilder<> &builder, llvm::Function &function, llvm::Value *index) {
  auto *type = llvm::FixedVectorType::get(builder.getFloatTy(), kLanes);
  llvm::Value *mask = emitMask(builder, index, function.getArg(2));
  llvm::Value *from = builder.CreateGEP(builder.getFloatTy(), function.getArg(0), index);
  llvm::Value *to = builder.CreateGEP(builder.getFloatTy(), function.getArg(1), index);
  llvm::Value *zero = llvm::Constant::getNullValue(type);
  llvm::Value *loaded = builder.CreateMaskedLoad(type, from, llvm::Align(4), mask, zero);
  llvm::Value *other = builder.CreateAlignedLoad(type, to, llvm::Align(4));
  llvm::Value *sum = builder.CreateFAdd(loaded, builder.CreateFMul(loaded, other));
  llvm::Value *larger = builder.CreateSelect(builder.CreateFCmpOGT(sum, other), sum, other);
  builder.CreateMaskedStore(larger, to, llvm::Align(4), mask);
}

std::unique_ptr<llvm::Module> tw::makeSampleModule(llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>("sample", context);
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy(), *index = builder.getInt64Ty();
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, index}, false),
      llvm::GlobalValue::ExternalLinkage, "sample", *module);
  auto *entry = llvm::BasicBlock::Create(context, "", function);
  auto *loop = llvm::BasicBlock::Create(context, "", function);
  auto *exit = llvm::BasicBlock::Create(context, "", function);
  builder.SetInsertPoint(entry);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode *at = builder.CreatePHI(index, 2);
  at->addIncoming(builder.getInt64(0), entry);
  emitBody(builder, *function, at);
  llvm::Value *next = builder.CreateAdd(at, builder.getInt64(kLanes));
  at->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpSLT(next, function->getArg(2)), loop, exit);
  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
  return module;
}
