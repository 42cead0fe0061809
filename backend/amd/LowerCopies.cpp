// Copies from global to shared memory that bypass registers: through a buffer resource, which
// writes zeros where a mask is false, or from plain addresses, in branches where masked.
#include "backend/amd/LowerAmd.h"
#include "backend/gpu/BranchedAccess.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

/// Moves copies of a block down to the next one with the same mask, unless something between them
/// has an effect: so they get into one branch.
static void gatherCopies(Block &block) {
  SmallVector<simt::GlobalToSharedOp> gathered;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto copy = dyn_cast<simt::GlobalToSharedOp>(op);
    if (!copy) {
      if (!isMemoryEffectFree(&op))
        gathered.clear();
      continue;
    }
    if (!gathered.empty() && gathered.front().getMask() != copy.getMask())
      gathered.clear();
    for (simt::GlobalToSharedOp earlier : gathered)
      earlier->moveBefore(copy);
    gathered.push_back(copy);
  }
}

/// Copies that have a branch of their own are left out by waves that jump over it.
void tw::amd::noteCopies(Lowering &lowering) {
  bool countsCopies = lowering.arch.countsCopies();
  llvm::SetVector<Block *> blocks;
  lowering.kernel->walk([&](simt::CopyArrayOp) { lowering.copiesDirectly = true; });
  lowering.kernel->walk([&](simt::GlobalToSharedOp op) {
    lowering.copiesDirectly = true;
    lowering.leavesOutCopies |= neededMask(op.getMask()) && !hasBuffer(lowering, op.getPtr());
    if (countsCopies && neededMask(op.getMask()))
      blocks.insert(op->getBlock());
  });
  for (Block *block : blocks)
    gatherCopies(*block);
}

/// Where the bytes of this lane go.
static Value placeOfLane(Lowering &lowering, simt::GlobalToSharedOp op) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value lane = LLVM::AndOp::create(b, loc, threadId(lowering),
                                   constantI32(lowering, lowering.arch.warpSize - 1));
  Value offset = LLVM::MulOp::create(b, loc, lane, constantI32(lowering, op.getBytes()));
  return LLVM::GEPOp::create(b, loc, op.getShared().getType(), b.getI8Type(), op.getShared(),
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Zeros of a lane whose mask is false: outside of buffers, nothing is written for it.
static void storeZeros(Lowering &lowering, simt::GlobalToSharedOp op) {
  OpBuilder &b = lowering.builder;
  Type type = VectorType::get({int64_t(op.getBytes()) / 4}, b.getI32Type());
  LLVM::StoreOp::create(b, lowering.loc, LLVM::ZeroOp::create(b, lowering.loc, type),
                        placeOfLane(lowering, op), op.getBytes());
}

static void copyPlainly(Lowering &lowering, simt::GlobalToSharedOp op) {
  bool streams = isStreamed(op.getCache(), op.getEvict());
  Value policy = constantI32(lowering, streams ? lowering.arch.streamPolicy : 0);
  if (!lowering.arch.countsCopies()) {
    callIntrinsic(lowering, "amdgcn.global.load.lds", Type(),
                  {op.getPtr(), op.getShared(), constantI32(lowering, op.getBytes()),
                   constantI32(lowering, 0), policy});
    return;
  }
  Value from = fromScalarBase(lowering, op.getPtr(), neededMask(op.getMask()));
  callIntrinsic(lowering, "amdgcn.global.load.async.to.lds.b" + Twine(8 * op.getBytes()), Type(),
                {from, placeOfLane(lowering, op), constantI32(lowering, 0), policy});
}

/// Returns the branch in which the copy before this one stands, if that has the same mask; else a
/// new one. Its block beside them is for lanes that are left out.
static scf::IfOp branchOf(Lowering &lowering, simt::GlobalToSharedOp op, Value mask) {
  auto before = dyn_cast_or_null<scf::IfOp>(op->getPrevNode());
  if (before && lowering.branchOfCopies == std::pair(before.getOperation(), mask))
    return before;
  OpBuilder &b = lowering.builder;
  Value condition = lowering.uniform.contains(mask) ? asScalarMask(lowering, mask) : mask;
  auto branch = scf::IfOp::create(b, lowering.loc, TypeRange(), condition, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  lowering.branchOfCopies = {branch, mask};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, lowering.loc);
  b.setInsertionPointToStart(branch.elseBlock());
  if (lowering.arch.countsCopies())
    awaitCopies(lowering);
  scf::YieldOp::create(b, lowering.loc);
  return branch;
}

/// A copy without a buffer, for the lanes whose mask is true; the others write zeros. Where copies
/// have a counter of their own, waits count on each wave's having started all of them: a wave that
/// leaves some out waits for those before them, so that it has none under way that was not counted.
static void copyInBranch(Lowering &lowering, simt::GlobalToSharedOp op, Value mask) {
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  scf::IfOp branch = branchOf(lowering, op, mask);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  copyPlainly(lowering, op);
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  storeZeros(lowering, op);
}

/// Lowers a copy from global to shared memory. The lanes of a wave write one after the other from
/// `shared` on, which is the same for all of them. Beyond its bounds, a buffer copies zeros.
void tw::amd::lowerGlobalToShared(Lowering &lowering, simt::GlobalToSharedOp op) {
  Value mask = neededMask(op.getMask());
  SmallVector<Value> access;
  if (!lowering.arch.countsCopies())
    access = bufferAccess(lowering, op.getPtr(), mask, isStreamed(op.getCache(), op.getEvict()));
  if (!access.empty()) {
    callIntrinsic(lowering, "amdgcn.raw.ptr.buffer.load.lds", Type(),
                  {access[0], op.getShared(), constantI32(lowering, op.getBytes()), access[1],
                   access[2], constantI32(lowering, 0), access[3]});
    return;
  }
  if (mask)
    copyInBranch(lowering, op, mask);
  else
    copyPlainly(lowering, op);
}
