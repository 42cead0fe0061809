// Parts the loader from the warps of the program: a kernel's loader regions run beside the rest.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/analysis/LoaderNeeds.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static bool holdsLoader(Operation *op) {
  return op->walk([](LoaderOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Lowers what the loader executes of a block. What it shares with the program is lowered for both.
static LogicalResult lowerForLoader(SimtFunction &f, Block &block, const LoaderNeeds &needs) {
  for (Operation &op : block) {
    f.loc = op.getLoc();
    OpBuilder::InsertionGuard guard(f.builder);
    if (auto loader = dyn_cast<LoaderOp>(op)) {
      f.create<simt::BarrierOp>(/*warp=*/false, /*loader=*/true);
      if (failed(f.lowerBlock(loader.getBody().front())))
        return failure();
    } else if (needs.contains(&op) || awaitsLaunches(&op)) {
      if (failed(f.lowerOperation(&op)))
        return failure();
    } else if (auto loop = dyn_cast<scf::ForOp>(op); loop && holdsLoader(loop)) {
      auto lowered =
          f.create<scf::ForOp>(f.scalarOf(loop.getLowerBound()), f.scalarOf(loop.getUpperBound()),
                               f.scalarOf(loop.getStep()));
      lowered.setUnsignedCmp(loop.getUnsignedCmp());
      f.setRegisters(loop.getInductionVar(), {lowered.getInductionVar()});
      f.builder.setInsertionPointToStart(lowered.getBody());
      if (failed(lowerForLoader(f, *loop.getBody(), needs)))
        return failure();
    } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && holdsLoader(branch)) {
      auto lowered = f.create<scf::IfOp>(f.scalarOf(branch.getCondition()), /*withElse=*/true);
      for (auto [from, to] : llvm::zip(branch->getRegions(), lowered->getRegions())) {
        f.builder.setInsertionPointToStart(&to.front());
        if (!from.empty() && failed(lowerForLoader(f, from.front(), needs)))
          return failure();
      }
    }
  }
  return success();
}

/// Estimates the registers of a thread of the program: what loops take, and all that there are for
/// products outside of loops, whose tiles are not counted.
static unsigned registersOfThread(func::FuncOp kernel, tile::TargetAttr target) {
  unsigned most = 0;
  kernel.walk([&](scf::ForOp loop) { most = std::max(most, registersIn(loop)); });
  kernel.walk([&](MmaAsyncOp mma) {
    if (!mma->getParentOfType<LoopLikeOpInterface>())
      most = target.getRegisters();
  });
  return most + target.getSpareRegisters();
}

LogicalResult SimtFunction::lowerRoles(Block &body) {
  if (extraWarpsOf(source) == 0)
    return lowerBlock(body);
  LoaderNeeds needs;
  source.walk([&](LoaderOp loader) { needs.add(loader); });
  assert(needs.obstacle().empty() && "the stage's check has seen to that");
  Value number = groupOfWarp(1), first = constantI32(numWarps);
  Value isOfLoader = create<arith::CmpIOp>(arith::CmpIPredicate::uge, number, first);
  auto roles = create<scf::IfOp>(isOfLoader, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(roles.thenBlock());
  create<ShareRegistersOp>(/*needed=*/IntegerAttr()); // a machine may have several warps do so
  auto loading =
      create<scf::IfOp>(create<arith::CmpIOp>(arith::CmpIPredicate::eq, number, first).getResult());
  builder.setInsertionPointToStart(loading.thenBlock());
  isLoader = true;
  if (failed(lowerForLoader(*this, body, needs)))
    return failure();
  isLoader = false;
  builder.setInsertionPointToStart(roles.elseBlock());
  create<ShareRegistersOp>(builder.getI32IntegerAttr(registersOfThread(source, target)));
  for (Operation &op : body.without_terminator())
    if (failed(lowerOperation(&op)))
      return failure();
  builder.setInsertionPointAfter(roles);
  return lowerOperation(body.getTerminator());
}
