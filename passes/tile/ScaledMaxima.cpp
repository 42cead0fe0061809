#include "passes/tile/ScaledMaxima.h"
#include "ir/tile/Repeated.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

//===-- Finding ------------------------------------------------------------------------------===//

static bool isMaximum(ReduceOp reduce) {
  if (reduce.getSources().size() != 1)
    return false;
  Block &combine = reduce.getCombine().front();
  Operation &first = combine.front();
  return isa<arith::MaximumFOp, arith::MaxNumFOp>(first) && first.getNextNode() &&
         first.getNextNode() == combine.getTerminator() &&
         combine.getTerminator()->getOperand(0) == first.getResult(0) &&
         llvm::all_of(first.getOperands(), llvm::IsaPred<BlockArgument>) &&
         first.getOperand(0) != first.getOperand(1);
}

/// Returns the product below a choice of minus infinity for masked elements.
static arith::MulFOp productBelow(arith::SelectOp masked) {
  for (unsigned side : {1u, 2u})
    if (matchPattern(masked->getOperand(3 - side), m_NegInfFloat()))
      return masked->getOperand(side).getDefiningOp<arith::MulFOp>();
  return {};
}

/// Returns true if all but the maximum use a tile in exponentials of differences from it.
static bool isExponentialsOtherwise(Value tile, ReduceOp maximum) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (user == maximum)
      return true;
    auto difference = dyn_cast<arith::SubFOp>(user);
    return difference && difference.getLhs() == tile &&
           llvm::all_of(difference->getUsers(), llvm::IsaPred<math::ExpOp, math::Exp2Op>);
  });
}

static std::optional<ScaledMaximum> matchMaximum(scf::ForOp loop, ReduceOp reduce) {
  if (!isMaximum(reduce))
    return std::nullopt;
  Value source = reduce.getSources()[0];
  auto masked = source.getDefiningOp<arith::SelectOp>();
  auto product = masked ? productBelow(masked) : source.getDefiningOp<arith::MulFOp>();
  if (!product || !loop->isProperAncestor(product) || (masked && !product->hasOneUse()) ||
      !isExponentialsOtherwise(source, reduce))
    return std::nullopt;
  OpBuilder builder(loop);
  for (unsigned side : {0u, 1u})
    if (Value factor = uniformScalar(builder, product->getOperand(side));
        factor && loop.isDefinedOutsideOfLoop(factor))
      return ScaledMaximum{reduce, product, masked, product->getOperand(1 - side), factor};
  return std::nullopt;
}

SmallVector<ScaledMaximum> tw::findScaledMaxima(scf::ForOp loop) {
  SmallVector<ScaledMaximum> found;
  loop.getBody()->walk([&](ReduceOp reduce) {
    if (std::optional<ScaledMaximum> maximum = matchMaximum(loop, reduce))
      found.push_back(*maximum);
  });
  return found;
}

std::optional<bool> tw::isPositiveNormal(Value factor) {
  APFloat value(0.0f);
  if (!matchPattern(factor, m_ConstantFloat(&value)))
    return std::nullopt;
  return value.isNormal() && !value.isNegative();
}

//===-- Moving the product -------------------------------------------------------------------===//

/// Returns a tile, or a scalar, times the factor, rounded as the product is.
static Value multiplied(OpBuilder &builder, ScaledMaximum maximum, Value value) {
  Location loc = maximum.product.getLoc();
  Value factor = maximum.factor;
  if (isTile(value))
    factor = SplatOp::create(builder, loc, value.getType(), factor);
  auto product = arith::MulFOp::create(builder, loc, value, factor);
  product.setFastmathAttr(maximum.product.getFastmathAttr());
  return product;
}

void tw::takeOfScores(ScaledMaximum maximum) {
  OpBuilder builder(maximum.product);
  Value scores = maximum.scores;
  if (auto masked = maximum.masked) {
    builder.setInsertionPoint(masked);
    Operation *choice = builder.clone(*masked);
    choice->replaceUsesOfWith(maximum.product, scores);
    scores = choice->getResult(0);
    masked.replaceAllUsesWith(multiplied(builder, maximum, scores));
  }
  ReduceOp reduce = maximum.maximum;
  reduce->setOperand(0, scores);
  builder.setInsertionPointAfter(reduce);
  Value ofScores = reduce.getResult(0);
  Value product = multiplied(builder, maximum, ofScores);
  ofScores.replaceAllUsesExcept(product, product.getDefiningOp());
}
