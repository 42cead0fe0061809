// Keeps masked stores of a single lane away from the code generator.
#include "backend/cpu/StoreSingleLanes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <optional>

using namespace llvm;

/// The only lane of a mask, if it is known to have one.
static std::optional<unsigned> onlyLane(const Value *mask) {
  auto *lanes = dyn_cast<Constant>(mask);
  if (!lanes)
    return std::nullopt;
  std::optional<unsigned> only;
  for (unsigned lane = 0; lane < cast<FixedVectorType>(mask->getType())->getNumElements(); ++lane) {
    auto *isActive = dyn_cast_or_null<ConstantInt>(lanes->getAggregateElement(lane));
    if (!isActive || (isActive->isOne() && only))
      return std::nullopt;
    if (isActive->isOne())
      only = lane;
  }
  return only;
}

static void storeLane(IntrinsicInst &store, unsigned lane) {
  Value *vector = store.getArgOperand(0);
  const DataLayout &layout = store.getDataLayout();
  uint64_t bytes = layout.getTypeStoreSize(vector->getType()->getScalarType());
  IRBuilder<> builder(&store);
  Value *address =
      builder.CreateConstGEP1_64(builder.getInt8Ty(), store.getArgOperand(1), lane * bytes);
  Align alignment = commonAlignment(store.getParamAlign(1).valueOrOne(), lane * bytes);
  builder.CreateAlignedStore(builder.CreateExtractElement(vector, lane), address, alignment)
      ->copyMetadata(store);
  store.eraseFromParent();
}

void tw::storeSingleLanes(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *store = dyn_cast<IntrinsicInst>(&instruction);
      if (!store || store->getIntrinsicID() != Intrinsic::masked_store)
        continue;
      if (std::optional<unsigned> lane = onlyLane(store->getArgOperand(2)))
        storeLane(*store, *lane);
    }
}
