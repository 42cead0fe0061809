// Finds where operands of matrix instructions of several warps come from, and their buffers.
#include "passes/simt/product/AsyncOperands.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/simt/layout/Coalescing.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::AsyncMmaAttr;

OperandSource tw::simt::sourceOf(Value operand) {
  OperandSource source{operand};
  while (true) {
    if (auto conversion = source.tile.getDefiningOp<ConvertLayoutOp>()) {
      source.tile = conversion.getSource();
    } else if (auto transposed = source.tile.getDefiningOp<tile::TransOp>();
               transposed && transposed.getOrder() == ArrayRef<int32_t>{1, 0}) {
      source.tile = transposed.getSource();
      source.isTransposed = !source.isTransposed;
    } else {
      return source;
    }
  }
}

unsigned tw::simt::neighbourDim(const IndexFacts &facts, tile::LoadOp load) {
  return accessShape(facts, load.getPtr(), load.getMask()).order.front();
}

bool tw::simt::takesRowsAlong(AsyncMmaAttr instruction, bool isA, unsigned dim) {
  return instruction.getAcross() || dim == (isA ? 1 : 0);
}

std::optional<OperandSlabs> tw::simt::slabsFor(AsyncMmaAttr instruction, Type tile, unsigned dim) {
  return tw::slabsFor(tile::shapeOf(tile), dim, tile::elementBytes(tile::elementTypeOf(tile)),
                      instruction.getSpanBytes());
}

std::optional<OperandSlabs> tw::simt::slabsOfOperand(const IndexFacts &facts, tile::LoadOp load) {
  tile::TargetAttr target = targetOf(load);
  if (!target || target.getAsyncMma().empty() || tile::shapeOf(load.getType()).size() != 2)
    return std::nullopt;
  std::optional<OperandSlabs> slabs;
  load->getParentOfType<FunctionOpInterface>()->walk([&](MmaOp mma) {
    for (bool isA : {true, false}) {
      OperandSource source = sourceOf(isA ? mma.getA() : mma.getB());
      if (!mma.getAsync() || source.tile != load.getResult())
        continue;
      unsigned dim = neighbourDim(facts, load);
      if (takesRowsAlong(*mma.getAsync(), isA, source.dimOf(dim)))
        slabs = slabsFor(*mma.getAsync(), load.getType(), dim);
    }
  });
  return slabs;
}
