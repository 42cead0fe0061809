// The pass `select-mma`: products of tiles become matrix instructions where the target has one.
#include "ir/Diagnostic.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"
#include "passes/math/ExpandArith.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/product/AsyncOperands.h"
#include "passes/simt/product/InterleaveProducts.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_SELECTMMA
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::DotOp;
using tile::InputPrecision;
using tile::MmaAttr;

//===-- Instructions -------------------------------------------------------------------------===//

/// The instruction's type for an operand: tf32 for f32 that may be rounded.
static Type operandType(Type element, InputPrecision precision) {
  bool mayRound = precision == InputPrecision::TF32 || precision == InputPrecision::TF32x3;
  return element.isF32() && mayRound ? Type(FloatTF32Type::get(element.getContext())) : element;
}

static bool fits(MmaAttr instruction, DotOp dot) {
  return fitsMma(instruction, MmaOperand::A, tile::shapeOf(dot.getA().getType())) &&
         fitsMma(instruction, MmaOperand::B, tile::shapeOf(dot.getB().getType()));
}

/// Which of two instructions is better: one that has work for all warps, then the one that does
/// more at once, then the one with more steps of k.
static std::tuple<bool, int64_t, int64_t> rankOf(MmaAttr row, DotOp dot, unsigned numWarps) {
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType());
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  int64_t area = int64_t(row.getM()) * row.getN();
  return {elements / area >= int64_t(numWarps), area * row.getK(), row.getK()};
}

namespace {
/// The types of a product's operands and sums.
struct ProductTypes {
  Type a, b, sum;
};

struct Choice {
  MmaAttr instruction;
  Type widened;                       // operands are converted to this type first; or null
  Type widenedSum;                    // the accumulator too, and the result back; or null
  bool takesBytes = false;            // operands are the bytes that were extended
  tile::AsyncMmaAttr async = nullptr; // the instruction of several warps that `instruction` is of
};

/// A way to compute a product: the types that an instruction has, `widened` and `takesBytes` as in
/// Choice.
struct OperandChoice {
  ProductTypes types;
  Type widened;
  bool takesBytes = false;
};

/// Bytes and their type, which says whether they have a sign.
struct Bytes {
  Value tile;
  Type type;
};
} // namespace

/// The bytes that an extension of integers makes an operand of; nothing where it is no such.
static std::optional<Bytes> bytesBehind(Value operand) {
  Operation *op = operand.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op))
    return std::nullopt;
  Value source = op->getOperand(0);
  if (!tile::elementTypeOf(source.getType()).isInteger(8))
    return std::nullopt;
  auto signs = isa<arith::ExtUIOp>(op) ? IntegerType::Unsigned : IntegerType::Signless;
  return Bytes{source, IntegerType::get(op->getContext(), 8, signs)};
}

/// The types of a product with scales: bytes are pairs of 4-bit floats.
static ProductTypes scaledTypes(DotOp dot) {
  auto typeOf = [](Value tile) {
    Type element = tile::elementTypeOf(tile.getType());
    return element.isInteger(8) ? Type(Float4E2M1FNType::get(tile.getContext())) : element;
  };
  return {typeOf(dot.getA()), typeOf(dot.getB()), tile::elementTypeOf(dot.getType())};
}

/// The target's best instruction for these types that fits.
static MmaAttr findInstruction(tile::TargetAttr target, DotOp dot, ProductTypes types,
                               unsigned numWarps) {
  MmaAttr best;
  for (MmaAttr row : target.getMma())
    if (row.getA() == types.a && row.getB() == types.b && row.getAccumulator() == types.sum &&
        (dot.getScales().empty() || !row.getFragmentScales().empty()) && fits(row, dot) &&
        (!best || rankOf(row, dot, numWarps) > rankOf(best, dot, numWarps)))
      best = row;
  return best;
}

/// The product in its own types; of bytes where one has no sign, which the language has widened.
static OperandChoice ownTypes(DotOp dot) {
  Type a = operandType(tile::elementTypeOf(dot.getA().getType()), dot.getPrecision());
  Type b = operandType(tile::elementTypeOf(dot.getB().getType()), dot.getPrecision());
  Type sum = tile::elementTypeOf(dot.getType());
  std::optional<Bytes> left = bytesBehind(dot.getA()), right = bytesBehind(dot.getB());
  if (left && right && (left->type.isUnsignedInteger() || right->type.isUnsignedInteger()))
    return {{left->type, right->type, sum}, Type(), /*takesBytes=*/true};
  return {{a, b, sum}, Type()};
}

/// The types that a product of these may be computed in, the dearest to the cheapest last: its own;
/// f32 as it is, where it need not be rounded; f16, which holds every float of 8 bits exactly.
static SmallVector<OperandChoice> operandChoices(DotOp dot) {
  if (!dot.getScales().empty())
    return {{scaledTypes(dot), Type()}};
  SmallVector<OperandChoice> choices = {ownTypes(dot)};
  auto [a, b, sum] = choices.front().types;
  Type f32 = Float32Type::get(dot.getContext()), f16 = Float16Type::get(dot.getContext());
  if (isa<FloatTF32Type>(a) && isa<FloatTF32Type>(b))
    choices.push_back({{f32, f32, sum}, Type()});
  if (isFloat8(a) && isFloat8(b))
    choices.push_back({{f16, f16, sum}, f16});
  return choices;
}

/// Sums of narrow floats are computed in f32 where no instruction has them.
static Choice chooseInstruction(tile::TargetAttr target, DotOp dot, unsigned numWarps) {
  Type f32 = Float32Type::get(dot.getContext());
  for (Type widenedSum : {Type(), f32})
    for (auto [types, widened, takesBytes] : operandChoices(dot)) {
      bool isNarrow = isa<FloatType>(types.sum) && types.sum.getIntOrFloatBitWidth() < 32;
      if (widenedSum && !isNarrow)
        continue;
      if (widenedSum)
        types.sum = f32;
      if (MmaAttr row = findInstruction(target, dot, types, numWarps))
        return {row, widened, widenedSum, takesBytes};
    }
  return {};
}

//===-- Instructions of several warps --------------------------------------------------------===//

/// Why the right operand cannot be read as it lies in memory, or nothing.
static StringRef obstacleOfRight(const IndexFacts &facts, tile::AsyncMmaAttr row, Value operand) {
  OperandSource source = sourceOf(operand);
  auto load = source.tile.getDefiningOp<tile::LoadOp>();
  if (!load)
    return "its right operand is computed, not loaded as it is";
  if (!takesRowsAlong(row, /*isA=*/false, source.dimOf(neighbourDim(facts, load))))
    return "its right operand's elements are not neighbours along k in memory";
  return "";
}

/// Why the product does not become an instruction of several warps, or nothing: its left operand
/// may also come from registers.
static StringRef obstacleToAsync(const IndexFacts &facts, tile::AsyncMmaAttr row, DotOp dot,
                                 Value right, unsigned numWarps) {
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType());
  if (shape.size() != 2)
    return "it is a batch of products";
  if (dot.getPrecision() == InputPrecision::TF32x3)
    return "its precision is \"tf32x3\"";
  if (numWarps % row.getWarps() != 0)
    return "it takes num_warps divisible by 4";
  if (shape[0] < int64_t(row.getMma().getM()) * numWarps)
    return "it has fewer than 16 rows for each warp";
  return obstacleOfRight(facts, row, right);
}

/// Why a product stays with instructions of single warps where the target has others, or nothing,
/// and the choice is changed: those of several warps may take operands that single ones do not.
static StringRef preferAsync(const IndexFacts &facts, tile::TargetAttr target, DotOp dot,
                             unsigned numWarps, Choice &choice) {
  OperandChoice own = ownTypes(dot);
  for (tile::AsyncMmaAttr row : target.getAsyncMma()) {
    MmaAttr mma = row.getMma();
    if (mma.getA() != own.types.a || mma.getB() != own.types.b ||
        mma.getAccumulator() != choice.instruction.getAccumulator())
      continue;
    if (!fits(mma, dot))
      return "it is smaller than theirs";
    Value right = own.takesBytes ? bytesBehind(dot.getB())->tile : Value(dot.getB());
    StringRef obstacle = obstacleToAsync(facts, row, dot, right, numWarps);
    if (obstacle.empty()) {
      choice = {mma, Type(), choice.widenedSum, own.takesBytes, row};
    }
    return obstacle;
  }
  return target.getAsyncMma().empty() ? "" : "those of several warps do not multiply its types";
}

/// Elements along k whose sums stay apart from the accumulator, where the instruction's lose bits
/// and the product is of more elements than may be added so; else nothing.
static IntegerAttr partialDepthOf(DotOp dot, tile::AsyncMmaAttr row) {
  constexpr int64_t kAnyNumber = int64_t(1) << 30; // Triton's number for all that there are
  if (!row || row.getPreciseDepth() == 0)
    return {};
  int64_t most = dot.getMaxImprecise().value_or(row.getPreciseDepth());
  int64_t k = tile::shapeOf(dot.getA().getType())[1], depth = row.getMma().getK();
  bool isWhole = isZeroTile(dot.getAcc()) && k <= most;
  if (most >= kAnyNumber || isWhole)
    return {};
  int64_t steps = std::max<int64_t>(1, std::min(k, most) / depth);
  return OpBuilder(dot).getI64IntegerAttr(steps * depth);
}

static Value widen(OpBuilder &b, Location loc, Value tile, Type element) {
  if (!element)
    return tile;
  return arith::ExtFOp::create(b, loc, tile::withElementType(tile.getType(), element), tile);
}

//===-- Warps --------------------------------------------------------------------------------===//

static bool isInRegionOf(DotOp dot, Operation *op) {
  return dot->getParentRegion()->isAncestor(op->getParentRegion());
}

/// Returns true if values computed from `dot` reach an operand of another product in its loop.
static bool feedsProduct(DotOp dot) {
  SetVector<Operation *> users;
  ForwardSliceOptions forward;
  forward.filter = [&](Operation *op) { return isInRegionOf(dot, op); };
  getForwardSlice(dot.getResult(), &users, forward);
  for (Operation *user : users)
    if (auto other = dyn_cast<DotOp>(user))
      for (Value operand : {other.getA(), other.getB()})
        if (operand == dot.getResult() ||
            (operand.getDefiningOp() && users.contains(operand.getDefiningOp())))
          return true;
  return false;
}

/// Returns true if the left operand comes from another product in the loop of `dot`.
static bool isFedByProduct(DotOp dot) {
  SetVector<Operation *> makers;
  BackwardSliceOptions backward;
  backward.filter = [&](Operation *op) { return isInRegionOf(dot, op); };
  backward.omitBlockArguments = true;
  backward.inclusive = true;
  (void)getBackwardSlice(dot.getA(), &makers, backward);
  return llvm::any_of(makers, [](Operation *op) { return isa<DotOp>(op); });
}

/// Warps per dimension. Each warp reads the rows and columns of its part, once per step of k: the
/// shares that make their sum least.
static SmallVector<int64_t> chooseWarps(DotOp dot, MmaAttr instruction, unsigned numWarps) {
  ArrayRef<int64_t> shape = tile::shapeOf(dot.getType());
  unsigned rank = shape.size(), row = rank - 2, column = rank - 1;
  SmallVector<int64_t> warps(rank, 1);
  int64_t left = numWarps;
  if (rank == 3) {
    warps[0] = std::min(left, shape[0]);
    left /= warps[0];
  }
  int64_t mostRows = std::max<int64_t>(1, shape[row] / instruction.getM());
  int64_t mostColumns = std::max<int64_t>(1, shape[column] / instruction.getN());
  // In a chain, the products' rows stay in their warps, and the values in their registers.
  bool keepsRows = feedsProduct(dot) || isFedByProduct(dot);
  using Cost = std::tuple<int64_t, int64_t, double>; // the first that differs decides
  std::optional<Cost> least;
  for (int64_t rows = 1; rows <= left; rows *= 2) {
    int64_t columns = left / rows;
    // Warps beyond the product compute copies: as few as possible.
    int64_t copies =
        (std::max(rows, mostRows) / mostRows) * (std::max(columns, mostColumns) / mostColumns);
    double traffic = double(shape[row]) / double(rows) + double(shape[column]) / double(columns);
    Cost cost = {copies, keepsRows ? columns : 0, traffic};
    if (!least || cost <= *least) {
      least = cost;
      warps[row] = rows;
      warps[column] = columns;
    }
  }
  return warps;
}

//===-- The pass -----------------------------------------------------------------------------===//

/// "f16[64, 32]", of unsigned integers "u8[64, 32]".
static std::string describe(Type tile, bool isUnsigned = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Type element = tile::elementTypeOf(tile);
  if (isUnsigned)
    os << "u" << element.getIntOrFloatBitWidth() << "[";
  else
    os << element << "[";
  llvm::interleaveComma(tile::shapeOf(tile), os);
  os << "]";
  return text;
}

/// An operand as its user wrote it: unsigned bytes, and those that they meet, come widened.
static std::string describeOperand(Value operand) {
  if (auto widened = operand.getDefiningOp<arith::ExtUIOp>())
    return describe(widened.getIn().getType(), /*isUnsigned=*/true);
  if (auto widened = operand.getDefiningOp<arith::ExtSIOp>())
    return describe(widened.getIn().getType());
  return describe(operand.getType());
}

/// The instruction with the fewest steps of k, and the fewest rows, for the types of a product.
static MmaAttr smallestInstruction(tile::TargetAttr target, DotOp dot) {
  auto [a, b, sum] = ownTypes(dot).types;
  bool mayWiden = isFloat8(a) && isFloat8(b);
  bool isNarrow = isa<FloatType>(sum) && sum.getIntOrFloatBitWidth() < 32;
  MmaAttr smallest;
  for (MmaAttr row : target.getMma()) {
    bool hasTypes = (row.getA() == a && row.getB() == b) ||
                    (mayWiden && row.getA().isF16() && row.getB().isF16());
    bool hasSum = row.getAccumulator() == sum || (isNarrow && row.getAccumulator().isF32());
    if (hasTypes && hasSum &&
        (!smallest ||
         std::pair(row.getK(), row.getM()) < std::pair(smallest.getK(), smallest.getM())))
      smallest = row;
  }
  return smallest;
}

static void explainFallback(tile::TargetAttr target, DotOp dot) {
  InFlightDiagnostic remark = emitCodedRemark(dot, Code::ScalarProduct)
                              << "product by scalar multiply-adds: no matrix instruction "
                                 "multiplies "
                              << describeOperand(dot.getA()) << " by "
                              << describeOperand(dot.getB()) << " into " << describe(dot.getType());
  if (MmaAttr smallest = smallestInstruction(target, dot)) {
    remark << ": the smallest takes M = " << smallest.getM() << ", N = " << smallest.getN()
           << " and K = " << smallest.getK();
    remark.attachNote(dot.getLoc()) << "use larger tiles, filled up with zeros by masks";
  } else if (tile::elementTypeOf(dot.getA().getType()).isF32()) {
    remark << " without rounding";
    Type tf32 = FloatTF32Type::get(dot.getContext());
    ProductTypes rounded = {tf32, tf32, tile::elementTypeOf(dot.getType())};
    if (findInstruction(target, dot, rounded, /*numWarps=*/1))
      remark << "; input_precision=\"tf32\" or \"tf32x3\" allows one";
  } else {
    bool isInteger = isa<IntegerType>(tile::elementTypeOf(dot.getA().getType()));
    remark.attachNote(dot.getLoc())
        << "convert the operands, with .to(tw." << (isInteger ? "int8" : "float16")
        << ") for example, where their numbers allow it";
  }
}

static void replace(const SelectedProduct &product, const Choice &choice) {
  DotOp dot = product.dot;
  OpBuilder b(dot);
  auto operandOf = [&](Value tile) {
    return choice.takesBytes ? bytesBehind(tile)->tile
                             : widen(b, dot.getLoc(), tile, choice.widened);
  };
  Value left = operandOf(dot.getA()), right = operandOf(dot.getB());
  Value sums = widen(b, dot.getLoc(), dot.getAcc(), choice.widenedSum);
  // What the instruction takes as it is, nothing rounds or splits.
  InputPrecision precision =
      product.instruction.getA().isF32() ? InputPrecision::IEEE : dot.getPrecision();
  bool isPlain = llvm::all_of(product.interleave, [](int64_t count) { return count == 1; });
  Value result =
      MmaOp::create(b, dot.getLoc(), sums.getType(), left, right, sums, dot.getScales(),
                    product.instruction, product.warps, precision,
                    isPlain ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(product.interleave),
                    choice.async, partialDepthOf(dot, choice.async));
  if (choice.widenedSum)
    result = arith::TruncFOp::create(b, dot.getLoc(), dot.getType(), result);
  dot.getResult().replaceAllUsesWith(result);
  dot.erase();
}

namespace {
struct SelectMma : tw::impl::SelectMmaBase<SelectMma> {
  using SelectMmaBase::SelectMmaBase;

  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target || target.getMma().empty())
      return;
    if (failed(checkNumWarps(getOperation(), numWarps)))
      return signalPassFailure();
    // All are chosen before any is replaced: chains are looked for among products.
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      std::vector<SelectedProduct> products;
      SmallVector<Choice> choices;
      SmallVector<DotOp> dots;
      function.walk([&](DotOp dot) { dots.push_back(dot); });
      if (dots.empty())
        continue;
      IndexFacts facts(function);
      for (DotOp dot : dots) {
        Choice choice = chooseInstruction(target, dot, numWarps);
        if (!choice.instruction) {
          explainFallback(target, dot);
          continue;
        }
        if (StringRef obstacle = preferAsync(facts, target, dot, numWarps, choice);
            !obstacle.empty())
          emitCodedRemark(dot, Code::WarpProduct)
              << "product by matrix instructions of single warps: " << obstacle;
        products.push_back({dot,
                            choice.instruction,
                            choice.async ? SmallVector<int64_t>{numWarps, 1}
                                         : chooseWarps(dot, choice.instruction, numWarps),
                            feedsProduct(dot),
                            isFedByProduct(dot),
                            {},
                            choice.async});
        choices.push_back(choice);
      }
      interleaveProducts(function, facts, products);
      for (auto [product, choice] : llvm::zip(products, choices))
        replace(product, choice);
    }
  }
};
} // namespace
