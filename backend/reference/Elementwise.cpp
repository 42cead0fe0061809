// Runs elementwise operations over whole tiles, and gives those with several results a meaning.
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"
#include <cmath>

using namespace mlir;
using namespace tw;
using namespace tw::reference;

LogicalResult tw::reference::runElementwise(Program &program, Operation &op,
                                            ElementwiseMeaning meaning) {
  llvm::SmallVector<const TileValue *> operands;
  for (Value operand : op.getOperands())
    operands.push_back(&program.valueOf(operand));
  llvm::SmallVector<uint64_t> elements(operands.size());
  ElementwiseCall call{op, tile::elementTypeOf(op.getOperand(0).getType()),
                       tile::elementTypeOf(op.getResult(0).getType()), elements};
  TileValue result(operands[0]->size());
  for (size_t position = 0; position < result.size(); ++position) {
    for (size_t operand = 0; operand < operands.size(); ++operand)
      elements[operand] = (*operands[operand])[position].bits;
    result[position].bits = meaning(call);
  }
  program.set(op.getResult(0), std::move(result));
  return success();
}

double tw::reference::maximumOf(double lhs, double rhs, bool propagates) {
  if (std::isnan(lhs) || std::isnan(rhs)) {
    bool takesLhs = std::isnan(lhs) == propagates;
    return takesLhs ? lhs : rhs;
  }
  if (lhs == rhs)
    return std::signbit(lhs) ? rhs : lhs;
  return lhs > rhs ? lhs : rhs;
}

double tw::reference::minimumOf(double lhs, double rhs, bool propagates) {
  return -maximumOf(-lhs, -rhs, propagates);
}

/// Two results per element: `function(lhs, rhs, type, first, second)`.
template <auto function> static LogicalResult pairMeaning(Program &program, Operation &op) {
  Type element = tile::elementTypeOf(op.getOperand(0).getType());
  const TileValue &lhs = program.valueOf(op.getOperand(0));
  const TileValue &rhs = program.valueOf(op.getOperand(op.getNumOperands() - 1));
  TileValue first(lhs.size()), second(lhs.size());
  for (size_t position = 0; position < lhs.size(); ++position)
    function(lhs[position].bits, rhs[position].bits, element, first[position].bits,
             second[position].bits);
  program.set(op.getResult(0), std::move(first));
  program.set(op.getResult(1), std::move(second));
  return success();
}

static void addWithCarry(uint64_t lhs, uint64_t rhs, Type type, uint64_t &sum, uint64_t &carry) {
  unsigned width = elementWidth(type);
  unsigned __int128 wide = static_cast<unsigned __int128>(lhs) + rhs;
  sum = truncateToWidth(uint64_t(wide), width);
  carry = uint64_t(wide >> width) & 1;
}

static void multiplySigned(uint64_t lhs, uint64_t rhs, Type type, uint64_t &low, uint64_t &high) {
  unsigned width = elementWidth(type);
  __int128 wide = static_cast<__int128>(signExtend(lhs, width)) * signExtend(rhs, width);
  low = truncateToWidth(uint64_t(wide), width);
  high = truncateToWidth(uint64_t(wide >> width), width);
}

static void multiplyUnsigned(uint64_t lhs, uint64_t rhs, Type type, uint64_t &low, uint64_t &high) {
  unsigned width = elementWidth(type);
  unsigned __int128 wide = static_cast<unsigned __int128>(lhs) * rhs;
  low = truncateToWidth(uint64_t(wide), width);
  high = truncateToWidth(uint64_t(wide >> width), width);
}

static void sineAndCosine(uint64_t x, uint64_t, Type type, uint64_t &sine, uint64_t &cosine) {
  sine = fromDouble(type, std::sin(toDouble(type, x)));
  cosine = fromDouble(type, std::cos(toDouble(type, x)));
}

void tw::reference::addMultipleResultMeanings(Meanings &meanings) {
  meanings["arith.addui_extended"].structured = pairMeaning<addWithCarry>;
  meanings["arith.mulsi_extended"].structured = pairMeaning<multiplySigned>;
  meanings["arith.mului_extended"].structured = pairMeaning<multiplyUnsigned>;
  meanings["math.sincos"].structured = pairMeaning<sineAndCosine>;
}
