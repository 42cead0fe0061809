// Loads and stores of global memory.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// Data that is used once need not stay in the caches.
static bool isStreamed(tile::CacheModifier cache, tile::EvictionPolicy evict) {
  return evict == tile::EvictionPolicy::EvictFirst || cache == tile::CacheModifier::CS;
}

static Value plainLoad(Lowering &lowering, simt::GlobalLoadOp op) {
  Type type = op.getResult().getType();
  return LLVM::LoadOp::create(lowering.builder, lowering.loc, type, op.getPtr(),
                              wordFormOf(type).bytes, op.getIsVolatile(),
                              isStreamed(op.getCache(), op.getEvict()));
}

void tw::amd::lowerGlobalLoad(Lowering &lowering, simt::GlobalLoadOp op) {
  Value mask = neededMask(op.getMask());
  if (!mask)
    return op.replaceAllUsesWith(plainLoad(lowering, op));
  OpBuilder &b = lowering.builder;
  Type type = op.getResult().getType();
  auto branch = scf::IfOp::create(b, lowering.loc, TypeRange(type), mask, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, lowering.loc, plainLoad(lowering, op));
  b.setInsertionPointToStart(branch.elseBlock());
  Value other = op.getOther();
  if (!other)
    other = LLVM::ZeroOp::create(b, lowering.loc, type);
  scf::YieldOp::create(b, lowering.loc, other);
  op.replaceAllUsesWith(branch.getResult(0));
}

void tw::amd::lowerGlobalStore(Lowering &lowering, simt::GlobalStoreOp op) {
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  if (Value mask = neededMask(op.getMask())) {
    auto branch = scf::IfOp::create(b, lowering.loc, mask, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  LLVM::StoreOp::create(b, lowering.loc, op.getValue(), op.getPtr(),
                        wordFormOf(op.getValue().getType()).bytes, /*isVolatile=*/false,
                        isStreamed(op.getCache(), op.getEvict()));
}
