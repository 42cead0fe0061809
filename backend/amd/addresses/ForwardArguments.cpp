// Finds arguments that are accessed from their own address on, by the signs of indices.
#include "backend/amd/addresses/ForwardArguments.h"
#include "ir/simt/Simt.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/IndexSigns.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::amd;

namespace {
/// Proves that numbers are at least 0.
class SignProof {
public:
  bool isNonNegative(Value value);

private:
  bool areNonNegative(ValueRange values) {
    return llvm::all_of(values, [&](Value value) { return isNonNegative(value); });
  }
  bool isAnyNonNegative(ValueRange values) {
    return llvm::any_of(values, [&](Value value) { return isNonNegative(value); });
  }
  bool ofArgument(BlockArgument argument);
  bool ofCarried(scf::ForOp loop, BlockArgument carried);
  bool ofResult(OpResult result);

  /// What a proof may look at: indices are short, and what is longer stays unproved.
  unsigned steps = 128;
  llvm::SmallVector<Value, 4> assumed; // carried values whose iterations are being proved
};
} // namespace

/// An operand whose product with a number from 0 is an index.
static bool isIndexFactor(Value value) {
  APInt known;
  return !matchPattern(value, m_ConstantInt(&known)) || known.ule(kLargestIndexFactor);
}

/// What a shift to the left multiplies by.
static bool isIndexShift(Value amount) {
  APInt known;
  return matchPattern(amount, m_ConstantInt(&known)) &&
         known.ule(llvm::Log2_64(uint64_t(kLargestIndexFactor)));
}

/// A carried value is at least 0 where the first one is, and each that follows one that is.
bool SignProof::ofCarried(scf::ForOp loop, BlockArgument carried) {
  if (llvm::is_contained(assumed, carried))
    return true;
  if (!isNonNegative(loop.getTiedLoopInit(carried)->get()))
    return false;
  assumed.push_back(carried);
  bool isKept = isNonNegative(loop.getTiedLoopYieldedValue(carried)->get());
  assumed.pop_back();
  return isKept;
}

bool SignProof::ofArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto kernel = dyn_cast<LLVM::LLVMFuncOp>(parent))
    return bool(kernel.getArgAttr(argument.getArgNumber(), tile::kArgNonNegative));
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop)
    return false;
  if (argument == loop.getInductionVar())
    return isNonNegative(loop.getLowerBound()) && isNonNegative(loop.getStep());
  return ofCarried(loop, argument);
}

bool SignProof::ofResult(OpResult result) {
  Operation *op = result.getOwner();
  bool isWide = isIndexWide(result.getType());
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<simt::ThreadIdOp, simt::ProgramIdOp, simt::NumProgramsOp, arith::ExtUIOp>(
          [](auto) { return true; })
      .Case<arith::AddIOp>([&](auto) { return isWide && areNonNegative(op->getOperands()); })
      .Case<arith::MulIOp>([&](auto) {
        return isWide && llvm::all_of(op->getOperands(), isIndexFactor) &&
               areNonNegative(op->getOperands());
      })
      .Case([&](arith::ShLIOp shift) {
        return isWide && isIndexShift(shift.getRhs()) && isNonNegative(shift.getLhs());
      })
      .Case<arith::AndIOp, arith::MaxSIOp, arith::MinUIOp>(
          [&](auto) { return isAnyNonNegative(op->getOperands()); })
      .Case<arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::DivSIOp, arith::FloorDivSIOp>(
          [&](auto) { return areNonNegative(op->getOperands()); })
      // Shifted to the right, divided without a sign, or of the left side's sign.
      .Case<arith::ShRSIOp, arith::ShRUIOp, arith::DivUIOp, arith::RemUIOp, arith::RemSIOp,
            arith::ExtSIOp>([&](auto) { return isNonNegative(op->getOperand(0)); })
      .Case([&](arith::SelectOp select) {
        return isNonNegative(select.getTrueValue()) && isNonNegative(select.getFalseValue());
      })
      .Case([&](scf::ForOp loop) {
        return isNonNegative(loop.getInitArgs()[result.getResultNumber()]) &&
               ofCarried(loop, loop.getRegionIterArg(result.getResultNumber()));
      })
      .Default([](Operation *) { return false; });
}

bool SignProof::isNonNegative(Value value) {
  if (steps == 0 || !value.getType().isInteger())
    return false;
  --steps;
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return !known.isNegative();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  return ofResult(cast<OpResult>(value));
}

/// Whether no step from `base` on goes down, which is set to the pointer that they begin at.
static bool goesForward(Value pointer, Value &base) {
  SignProof proof;
  bool isForward = true;
  while (auto step = pointer.getDefiningOp<LLVM::GEPOp>()) {
    for (int32_t constant : step.getRawConstantIndices())
      isForward &= constant >= 0 || constant == LLVM::GEPOp::kDynamicIndex;
    for (Value index : step.getDynamicIndices())
      isForward = isForward && proof.isNonNegative(index);
    pointer = step.getBase();
  }
  base = pointer;
  return isForward;
}

ForwardArguments::ForwardArguments(Operation *kernel) {
  auto note = [&](Value pointer) {
    Value base;
    if (!goesForward(pointer, base))
      others.insert(base);
  };
  kernel->walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<simt::GlobalLoadOp, simt::GlobalStoreOp, simt::GlobalToSharedOp>(
            [&](auto access) { note(access.getPtr()); });
  });
}
