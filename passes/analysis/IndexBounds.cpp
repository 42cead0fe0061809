// Bounds of indices that follow from constants, ranges and what is done with them.
#include "passes/analysis/IndexBounds.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <optional>

using namespace mlir;
using namespace tw;

namespace {
struct Bounds {
  int64_t low, high; // of 32 bits each, so that sums and products of two fit 64
};
} // namespace

// Longer chains are rare, and would be walked again for every gather.
static constexpr unsigned kMaxDepth = 12;

static std::optional<Bounds> boundsOf(Value value, unsigned depth);

static std::optional<Bounds> small(int64_t low, int64_t high) {
  return low >= INT32_MIN && high <= INT32_MAX ? std::optional(Bounds{low, high}) : std::nullopt;
}

static std::optional<Bounds> ofEither(std::optional<Bounds> a, std::optional<Bounds> b) {
  if (!a || !b)
    return std::nullopt;
  return Bounds{std::min(a->low, b->low), std::max(a->high, b->high)};
}

static std::optional<Bounds> ofPair(Operation *op, unsigned depth) {
  std::optional<Bounds> a = boundsOf(op->getOperand(0), depth);
  std::optional<Bounds> b = boundsOf(op->getOperand(1), depth);
  if (isa<arith::AndIOp>(op)) { // of numbers from 0, the smaller one bounds
    bool ofA = a && a->low >= 0, ofB = b && b->low >= 0;
    if (ofA && ofB)
      return Bounds{0, std::min(a->high, b->high)};
    return ofA ? Bounds{0, a->high} : ofB ? std::optional(Bounds{0, b->high}) : std::nullopt;
  }
  if (isa<arith::MinUIOp>(op) && b && b->low >= 0)
    return Bounds{0, b->high};
  if (isa<arith::RemUIOp>(op) && b && b->low > 0)
    return Bounds{0, b->high - 1};
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return small(a->low + b->low, a->high + b->high);
  if (isa<arith::SubIOp>(op))
    return small(a->low - b->high, a->high - b->low);
  if (isa<arith::MinSIOp>(op))
    return Bounds{std::min(a->low, b->low), std::min(a->high, b->high)};
  if (isa<arith::MaxSIOp>(op))
    return Bounds{std::max(a->low, b->low), std::max(a->high, b->high)};
  int64_t corners[] = {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
  if (isa<arith::MulIOp>(op))
    return small(*llvm::min_element(corners), *llvm::max_element(corners));
  if (isa<arith::XOrIOp>(op) && a->low >= 0 && b->low >= 0)
    return Bounds{0, int64_t(llvm::NextPowerOf2(uint64_t(std::max(a->high, b->high)))) - 1};
  return std::nullopt;
}

static std::optional<Bounds> boundsOf(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) && number.isSignedIntN(32))
    return Bounds{number.getSExtValue(), number.getSExtValue()};
  // Arithmetic of fewer bits may wrap before 32 do.
  unsigned bits = tile::elementTypeOf(value.getType()).isInteger()
                      ? tile::elementTypeOf(value.getType()).getIntOrFloatBitWidth()
                      : 0;
  if (!op || depth == kMaxDepth || bits < 32)
    return std::nullopt;
  if (auto range = dyn_cast<tile::ArangeOp>(op))
    return Bounds{int32_t(range.getStart()), int64_t(int32_t(range.getEnd())) - 1};
  if (isa<tile::ShapeOp, tile::HintOp, simt::ConvertLayoutOp, arith::ExtSIOp>(op))
    return boundsOf(op->getOperand(0), depth + 1);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return ofEither(boundsOf(select.getTrueValue(), depth + 1),
                    boundsOf(select.getFalseValue(), depth + 1));
  return op->getNumOperands() == 2 ? ofPair(op, depth + 1) : std::nullopt;
}

bool tw::isIndexWithin(Value index, int64_t extent) {
  std::optional<Bounds> bounds = boundsOf(index, 0);
  return bounds && bounds->low >= 0 && bounds->high < extent;
}
