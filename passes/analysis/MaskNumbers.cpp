#include "passes/analysis/MaskNumbers.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;

/// Operations between a product and the masks of its operands, at most.
static constexpr unsigned kMostDepth = 8;

static bool isMaskNumber(Value value) {
  constexpr double least = 0x1p22;
  APFloat number(0.0);
  if (auto splat = value.getDefiningOp<tile::SplatOp>())
    value = splat.getSource();
  return matchPattern(value, m_ConstantFloat(&number)) && number.isFinite() &&
         std::abs(number.convertToDouble()) > least;
}

static bool mayHold(Value tile, unsigned depth);

static bool mayHoldOrBe(Value value, unsigned depth) {
  return isMaskNumber(value) || mayHold(value, depth);
}

/// Returns true if one of these is a number of masks, or may hold one.
static bool anyMayHoldOrBe(ValueRange values, unsigned depth) {
  return llvm::any_of(values, [&](Value value) { return mayHoldOrBe(value, depth); });
}

static bool mayHold(Value tile, unsigned depth) {
  Operation *op = tile.getDefiningOp();
  if (!op || depth == 0 || !isa<FloatType>(tile::elementTypeOf(tile.getType())))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::SelectOp, arith::AddFOp, arith::SubFOp>(
          [&](Operation *) { return anyMayHoldOrBe(op->getOperands(), depth - 1); })
      .Case([&](tile::LoadOp load) {
        return load.getOther() && mayHoldOrBe(load.getOther(), depth - 1);
      })
      .Case([&](scf::IfOp branch) {
        unsigned number = cast<OpResult>(tile).getResultNumber();
        return mayHoldOrBe(branch.thenYield()->getOperand(number), depth - 1) ||
               mayHoldOrBe(branch.elseYield()->getOperand(number), depth - 1);
      })
      .Case<arith::ConstantOp, tile::DotOp>([](Operation *) { return false; })
      .Default([&](Operation *) { // also products: their factors are not what masks fill in
        return op->getNumRegions() == 0 && llvm::any_of(op->getOperands(), [&](Value operand) {
                 return mayHold(operand, depth - 1);
               });
      });
}

bool tw::mayHoldMaskNumber(Value tile) { return mayHold(tile, kMostDepth); }
