// Parts the loader from the warps of the program: a kernel's loader regions run beside the rest.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/analysis/LoaderNeeds.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
/// Operations that the loader executes for itself, and those that were lowered for both roles
/// before they part.
struct LoaderCode {
  LoaderNeeds needs;
  llvm::SmallPtrSet<Operation *, 32> ofBoth;
};
} // namespace

static LogicalResult lowerForLoader(SimtFunction &f, Block &block, const LoaderCode &code);

/// Lowers a loop with what the loader needs of its carried values.
static LogicalResult lowerLoop(SimtFunction &f, scf::ForOp loop, const LoaderCode &code) {
  SmallVector<unsigned> carried = code.needs.carriedOf(loop);
  auto scalarsOf = [&](ValueRange values) {
    return llvm::map_to_vector(carried, [&](unsigned i) { return f.scalarOf(values[i]); });
  };
  auto lowered =
      f.create<scf::ForOp>(f.scalarOf(loop.getLowerBound()), f.scalarOf(loop.getUpperBound()),
                           f.scalarOf(loop.getStep()), scalarsOf(loop.getInitArgs()));
  lowered.setUnsignedCmp(loop.getUnsignedCmp());
  f.setRegisters(loop.getInductionVar(), {lowered.getInductionVar()});
  for (auto [i, argument] : llvm::zip(carried, lowered.getRegionIterArgs()))
    f.setRegisters(loop.getRegionIterArg(i), {argument});
  for (auto [i, result] : llvm::zip(carried, lowered.getResults()))
    f.setRegisters(loop.getResult(i), {result});
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(lowered.getBody());
  if (failed(lowerForLoader(f, *loop.getBody(), code)))
    return failure();
  if (!carried.empty()) // else the loop was built with its terminator
    f.create<scf::YieldOp>(scalarsOf(loop.getYieldedValues()));
  return success();
}

static LogicalResult lowerBranch(SimtFunction &f, scf::IfOp branch, const LoaderCode &code) {
  OpBuilder::InsertionGuard guard(f.builder);
  auto lowered = f.create<scf::IfOp>(f.scalarOf(branch.getCondition()), /*withElse=*/true);
  for (auto [from, to] : llvm::zip(branch->getRegions(), lowered->getRegions())) {
    f.builder.setInsertionPointToStart(&to.front());
    if (!from.empty() && failed(lowerForLoader(f, from.front(), code)))
      return failure();
  }
  return success();
}

/// Lowers a region of the loader's, and remembers what it leaves to later ones.
static LogicalResult lowerRegion(SimtFunction &f, LoaderOp loader) {
  Block &body = loader.getBody().front();
  for (Operation &op : body.without_terminator())
    if (failed(f.lowerOperation(&op)))
      return failure();
  for (auto [result, value] : llvm::zip(loader.getResults(), body.getTerminator()->getOperands()))
    f.setRegisters(result, {f.scalarOf(value)});
  return success();
}

/// Lowers what the loader executes of a block. What it shares with the program is lowered for both,
/// where it was not lowered before they part.
static LogicalResult lowerForLoader(SimtFunction &f, Block &block, const LoaderCode &code) {
  for (Operation &op : block) {
    f.loc = op.getLoc();
    LogicalResult lowered = success();
    if (auto loader = dyn_cast<LoaderOp>(op))
      lowered = lowerRegion(f, loader);
    else if (code.ofBoth.contains(&op))
      continue;
    else if (code.needs.contains(&op) || awaitsLaunches(&op) || meetsLoader(&op))
      lowered = f.lowerOperation(&op);
    else if (auto loop = dyn_cast<scf::ForOp>(op); loop && isForLoader(loop))
      lowered = lowerLoop(f, loop, code);
    else if (auto branch = dyn_cast<scf::IfOp>(op); branch && isForLoader(branch))
      lowered = lowerBranch(f, branch, code);
    if (failed(lowered))
      return failure();
  }
  return success();
}

/// Estimates the registers of a thread of the program: what loops take, and all that there are for
/// products outside of loops, whose tiles are not counted unless they come from a loop.
static unsigned registersOfThread(func::FuncOp kernel, tile::TargetAttr target) {
  unsigned most = 0;
  kernel.walk([&](scf::ForOp loop) { most = std::max(most, registersIn(loop)); });
  kernel.walk([&](MmaAsyncOp mma) {
    if (!mma->getParentOfType<LoopLikeOpInterface>() && !mma.getAcc().getDefiningOp<scf::ForOp>())
      most = target.getRegisters();
  });
  return most + target.getSpareRegisters();
}

/// Lowers what both roles would compute of arguments and program ids alone, before they part: where
/// tiles lie is found once, while nothing else is to be done, and not behind the last product.
static LogicalResult lowerForBoth(SimtFunction &f, Block &body, LoaderCode &code) {
  for (Operation &op : body.without_terminator()) {
    bool isOfBoth =
        code.needs.contains(&op) && op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
        llvm::all_of(op.getOperands(), [&](Value operand) {
          return isa<BlockArgument>(operand) || code.ofBoth.contains(operand.getDefiningOp());
        });
    if (!isOfBoth)
      continue;
    code.ofBoth.insert(&op);
    if (failed(f.lowerOperation(&op)))
      return failure();
  }
  return success();
}

LogicalResult SimtFunction::lowerRoles(Block &body) {
  if (extraWarpsOf(source) == 0)
    return lowerBlock(body);
  LoaderCode code;
  source.walk([&](LoaderOp loader) { code.needs.add(loader); });
  assert(code.needs.obstacle().empty() && "the stage's check has seen to that");
  if (failed(lowerForBoth(*this, body, code)))
    return failure();
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
  if (failed(lowerForLoader(*this, body, code)))
    return failure();
  // Behind the last loop, which the assembler otherwise writes out with the warp's end inside.
  create<simt::BarrierOp>(/*warp=*/true, /*loader=*/false, /*cluster=*/false);
  isLoader = false;
  builder.setInsertionPointToStart(roles.elseBlock());
  create<ShareRegistersOp>(builder.getI32IntegerAttr(registersOfThread(source, target)));
  for (Operation &op : body.without_terminator())
    if (!code.ofBoth.contains(&op) && failed(lowerOperation(&op)))
      return failure();
  builder.setInsertionPointAfter(roles);
  return lowerOperation(body.getTerminator());
}
