// Accesses of global memory by LLVM's loads and stores, in a branch where a mask leaves out
// threads.
#include "backend/gpu/BranchedAccess.h"
#include "backend/gpu/RegisterWords.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

bool tw::gpu::isStreamed(tile::CacheModifier cache, tile::EvictionPolicy evict) {
  return evict == tile::EvictionPolicy::EvictFirst || cache == tile::CacheModifier::CS;
}

bool tw::gpu::isVolatile(simt::GlobalLoadOp op) {
  return op.getIsVolatile() || op.getCache() == tile::CacheModifier::CV;
}

static Value plainLoad(ThreadLowering &lowering, simt::GlobalLoadOp op) {
  Type type = op.getResult().getType();
  return LLVM::LoadOp::create(lowering.builder, lowering.loc, type, op.getPtr(),
                              wordFormOf(type).bytes, isVolatile(op),
                              isStreamed(op.getCache(), op.getEvict()));
}

void tw::gpu::lowerLoadByBranch(ThreadLowering &lowering, simt::GlobalLoadOp op) {
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

void tw::gpu::lowerStoreByBranch(ThreadLowering &lowering, simt::GlobalStoreOp op) {
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
