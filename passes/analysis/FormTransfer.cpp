// Sums behind the results of operations: the part of the transfer functions that follows values by
// their factors.
#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/analysis/IndexTransfer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

static Operation *loopAround(Region *region) {
  Operation *parent = region->getParentOp();
  return isa<LoopLikeOpInterface>(parent) ? parent : parent->getParentOfType<LoopLikeOpInterface>();
}

bool tw::isLeafFor(Operation *op, Value operand) {
  if (isa<RankedTensorType>(operand.getType()))
    return false;
  Operation *loop = loopAround(op->getParentRegion());
  return !loop || loopAround(operand.getParentRegion()) != loop;
}

static std::optional<LinearForm> sumOf(Operation *op, FactOf of) {
  auto operand = [&](unsigned i) {
    Value value = op->getOperand(i);
    const IndexFact &fact = of(value);
    return isLeafFor(op, value) && !fact.form.isConstant() ? LinearForm::ofLeaf(value) : fact.form;
  };
  auto multiple = [&](unsigned side) -> std::optional<LinearForm> {
    std::optional<int64_t> factor = of(op->getOperand(1 - side)).constant;
    return factor ? scaled(operand(side), *factor) : std::nullopt;
  };
  using Form = std::optional<LinearForm>;
  return TypeSwitch<Operation *, Form>(op)
      .Case([](ArangeOp op) -> Form {
        int64_t start = int32_t(op.getStart());
        return LinearForm{{}, start, start, int64_t(int32_t(op.getEnd())) - 1};
      })
      .Case([&](ReshapeOp op) { return op.getAllowReorder() ? std::nullopt : Form(operand(0)); })
      .Case([&](arith::ExtUIOp) {
        LinearForm form = operand(0);
        return form.terms.empty() && form.low < 0 ? std::nullopt : Form(form);
      })
      .Case<ShapeOp, HintOp, simt::ConvertLayoutOp, arith::ExtSIOp, arith::TruncIOp,
            arith::IndexCastOp>([&](Operation *) { return Form(operand(0)); })
      .Case<arith::AddIOp, AddPtrOp>(
          [&](Operation *) { return combine(operand(0), operand(1), 1); })
      .Case([&](arith::SubIOp) { return combine(operand(0), operand(1), -1); })
      .Case([&](arith::MulIOp) {
        Form form = multiple(0);
        return form ? form : multiple(1);
      })
      .Case([&](arith::ShLIOp shift) -> Form {
        std::optional<int64_t> count = of(shift.getRhs()).constant;
        bool isFactor =
            count && *count >= 0 && *count < std::min(31u, integerBits(shift.getType()));
        return isFactor ? scaled(operand(0), int64_t(1) << *count) : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Bounds the elements by their steps, which say more than the bounds of what they are made of.
static void tighten(LinearForm &form, const IndexFact &fact, ArrayRef<int64_t> shape) {
  if (llvm::any_of(form.terms,
                   [](auto &term) { return isa<RankedTensorType>(term.leaf.getType()); }))
    return;
  int64_t low = form.first, high = form.first;
  for (auto [axis, extent] : llvm::zip(fact.axes, shape)) {
    int64_t distance = 0;
    if (!axis.change.isConstant() || llvm::MulOverflow(axis.change.step, extent - 1, distance) ||
        llvm::AddOverflow(distance < 0 ? low : high, distance, distance < 0 ? low : high))
      return;
  }
  form.low = std::max(form.low, low);
  form.high = std::min(form.high, high);
}

LinearForm tw::formOf(Operation *op, const IndexFact &fact, FactOf of) {
  Value value = op->getResult(0);
  Type element = elementTypeOf(value.getType());
  std::optional<LinearForm> form;
  if (fact.constant)
    form = scaled(LinearForm::ofConstant(*fact.constant), 1);
  else if (element.isIntOrIndex() || isa<PtrType>(element))
    form = sumOf(op, of);
  if (!form)
    return LinearForm::ofLeaf(value);
  tighten(*form, fact, shapeOf(value.getType()));
  // Numbers that do not fit wrap around.
  unsigned bits = integerBits(value.getType());
  bool fits = bits >= 64 || (llvm::isIntN(bits, form->low) && llvm::isIntN(bits, form->high));
  return form->terms.empty() && !fits ? LinearForm::ofLeaf(value) : *form;
}
