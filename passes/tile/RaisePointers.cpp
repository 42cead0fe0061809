// The pass `raise-pointers`: loop-carried pointer and index tiles that advance by the same amount
// everywhere are rewritten as an invariant base plus one carried scalar.
#include "ir/tile/Tile.h"
#include "ir/tile/Repeated.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_RAISEPOINTERS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw::tile;

static Value widened(OpBuilder &builder, Location loc, Value scalar, Type type) {
  if (scalar.getType() == type)
    return scalar;
  return arith::ExtSIOp::create(builder, loc, type, scalar);
}

namespace {
/// A carried tile `next = carried + step + step ...` with uniform steps.
struct Advance {
  unsigned position;        // among the loop's carried values
  SmallVector<Value> steps; // uniform tiles, innermost first
};
} // namespace

/// Follows the chain of additions from the yielded value back to the carried tile.
static std::optional<Advance> findAdvance(scf::ForOp loop, unsigned position, OpBuilder &builder) {
  BlockArgument carried = loop.getRegionIterArg(position);
  Type element = elementTypeOf(carried.getType());
  if (!isa<RankedTensorType>(carried.getType()) ||
      !(isa<PtrType>(element) || element.isInteger()) || element.isInteger(1))
    return std::nullopt;
  Advance advance = {position, {}};
  Value value = loop.getBody()->getTerminator()->getOperand(position);
  while (value != carried) {
    if (auto hint = value.getDefiningOp<HintOp>()) {
      value = hint.getSource();
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || !isa<AddPtrOp, arith::AddIOp>(op) || op->getBlock() != loop.getBody())
      return std::nullopt;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    if (isa<arith::AddIOp>(op) && uniformScalar(builder, lhs))
      std::swap(lhs, rhs);
    if (!uniformScalar(builder, rhs))
      return std::nullopt;
    advance.steps.push_back(rhs);
    value = lhs;
  }
  if (advance.steps.empty())
    return std::nullopt;
  return advance;
}

/// base + sum, where sum is the scalar that has been added so far.
static Value offsetTile(OpBuilder &builder, Location loc, Value base, Value sum) {
  auto type = cast<RankedTensorType>(base.getType());
  Value offsets =
      SplatOp::create(builder, loc, RankedTensorType::get(type.getShape(), sum.getType()), sum);
  if (isa<PtrType>(type.getElementType()))
    return AddPtrOp::create(builder, loc, type, base, offsets);
  return arith::AddIOp::create(builder, loc, base, offsets);
}

static void rewrite(scf::ForOp loop, const Advance &advance) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value base = loop.getInitArgs()[advance.position];
  Type element = elementTypeOf(base.getType());
  // Pointer offsets are summed in 64 bits; indices keep their width, where they wrap as before.
  Type sumType = isa<PtrType>(element) ? builder.getI64Type() : element;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(sumType, 0));
  SmallVector<Value> inits(loop.getInitArgs());
  inits[advance.position] = zero;
  auto raised = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                   loop.getStep(), inits);
  raised->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = raised.getBody();
  if (!body->empty())
    body->back().erase();
  BlockArgument sum = raised.getRegionIterArg(advance.position);
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments(body->getArguments());
  arguments[advance.position + 1] = offsetTile(builder, loc, base, sum);
  Operation *yield = loop.getBody()->getTerminator();
  builder.setInsertionPoint(yield);
  Value next;
  for (Value step : llvm::reverse(advance.steps)) {
    Value scalar = widened(builder, loc, uniformScalar(builder, step), sumType);
    next = arith::AddIOp::create(builder, loc, next ? next : Value(sum), scalar);
  }
  yield->setOperand(advance.position, next);
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), arguments))
    from.replaceAllUsesWith(to);
  builder.setInsertionPointAfter(raised);
  SmallVector<Value> results(raised.getResults());
  results[advance.position] = offsetTile(builder, loc, base, raised.getResult(advance.position));
  loop.replaceAllUsesWith(results);
  loop.erase();
}

namespace {
struct RaisePointers : tw::impl::RaisePointersBase<RaisePointers> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    while (!loops.empty()) {
      scf::ForOp loop = loops.pop_back_val();
      OpBuilder builder(loop);
      for (unsigned position = 0; position < loop.getNumRegionIterArgs(); ++position)
        if (auto advance = findAdvance(loop, position, builder)) {
          Operation *previous = loop->getPrevNode();
          Block *block = loop->getBlock();
          rewrite(loop, *advance);
          // The rewritten loop may carry more such tiles.
          Operation *scan = previous ? previous->getNextNode() : &block->front();
          while (!isa<scf::ForOp>(scan))
            scan = scan->getNextNode();
          loops.push_back(cast<scf::ForOp>(scan));
          break;
        }
    }
  }
};
} // namespace
