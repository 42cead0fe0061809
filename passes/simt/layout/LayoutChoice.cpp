// Answers which layout a tile has, an operation works in, and its users want.
#include "passes/simt/layout/LayoutChoice.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <functional>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

static LayoutAttr layoutAttributeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()) : nullptr;
}

LinearLayout tw::simt::layoutOfOperand(MmaOp mma, MmaOperand operand) {
  // Operands come in the order of their names.
  Value tile = mma->getOperand(unsigned(operand));
  return mmaLayout(mma.getInstruction(), operand, shapeOf(tile.getType()), mma.getWarps(),
                   mma.getInterleave().value_or(ArrayRef<int64_t>()));
}

void LayoutChoice::setOwn(Value tile, LayoutAttr layout) {
  if (isTile(tile) && layout)
    own[tile] = layout;
}

Value LayoutChoice::identify(Value tile) const {
  while (true) {
    if (Value origin = origins.lookup(tile))
      tile = origin;
    else if (auto conversion = tile.getDefiningOp<ConvertLayoutOp>())
      tile = conversion.getSource();
    else
      return tile;
  }
}

LayoutAttr LayoutChoice::plainOf(Value tile) const {
  if (LayoutAttr given = layoutAttributeOf(tile.getType()))
    return given;
  return attributeOf(plainLayout(shapeOf(tile.getType()), threads));
}

/// Returns true if an operation's working layout follows from the operation alone.
static bool hasGivenLayout(Operation *op) {
  return isa<MemoryAccess, LoadBlocksOp, MmaOp, DotOp>(op);
}

LayoutAttr LayoutChoice::workingOf(Operation *op) const {
  if (auto access = dyn_cast<MemoryAccess>(op)) {
    Value ptr = access.getPointers();
    return isTile(ptr) ? layoutAttributeOf(ptr.getType()) : nullptr;
  }
  if (auto mma = dyn_cast<MmaOp>(op))
    return attributeOf(layoutOfOperand(mma, MmaOperand::Accumulator));
  if (auto blocks = dyn_cast<LoadBlocksOp>(op))
    return blocks.getLayout();
  auto dot = dyn_cast<DotOp>(op);
  if (!dot)
    return working.lookup(op);
  if (LayoutAttr given = layoutAttributeOf(dot.getType()))
    return given;
  return attributeOf(dotLayout(shapeOf(dot.getType()), threads));
}

LayoutAttr LayoutChoice::workingFor(ValueRange operands) const {
  for (Value tile : operands)
    if (LayoutAttr layout = ownOf(tile))
      return layout;
  for (Value tile : operands)
    if (LayoutAttr wanted = wantedOf(tile))
      return wanted;
  return plainOf(operands.front());
}

LayoutAttr LayoutChoice::wantedBy(OpOperand &use, function_ref<LayoutAttr(Value)> follow) const {
  Operation *user = use.getOwner();
  if (isa<DotOp, MmaOp>(user) && use.getOperandNumber() != 2)
    return nullptr;
  if (LayoutAttr given = hasGivenLayout(user) ? workingOf(user) : nullptr)
    return given;
  if (isa<ConvertLayoutOp>(user))
    return follow(user->getResult(0));
  if (!isRecomputable(user))
    return nullptr;
  LayoutAttr result = ownOf(user->getResult(0));
  if (!result)
    result = follow(user->getResult(0));
  std::optional<LinearLayout> needed =
      result ? operandLayout(user, result.getValue()) : std::nullopt;
  return needed ? attributeOf(*needed) : nullptr;
}

LayoutAttr LayoutChoice::wantedOf(Value tile) const {
  SmallPtrSet<Value, 16> seen;
  std::function<LayoutAttr(Value)> follow = [&](Value value) -> LayoutAttr {
    if (!seen.insert(value).second)
      return nullptr;
    for (OpOperand &use : value.getUses())
      if (LayoutAttr wanted = wantedBy(use, follow))
        return wanted;
    return nullptr;
  };
  return follow(tile);
}
