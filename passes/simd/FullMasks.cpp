// Masks that hold in a whole tile: two versions of a loop nest where a test can show that, and
// where masks end along a dimension.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/Scope.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

namespace {
/// A comparison that holds in the whole tile if it holds at one corner.
struct MonotoneTest {
  Value test;              // i1 tile
  SmallVector<bool> atEnd; // per dimension of the test: its last index, else its first
};
} // namespace

/// The corner at which `lhs - rhs` is largest (or smallest); none when the signs of steps are
/// unknown.
static std::optional<SmallVector<bool>> extremeCorner(const IndexFacts &facts, arith::CmpIOp test,
                                                      bool largest) {
  SmallVector<bool> atEnd;
  ArrayRef<int64_t> shape = shapeOf(test.getType());
  int64_t lhsSpan = 0, rhsSpan = 0;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    AxisChange lhs = facts.along(test.getLhs(), dim);
    AxisChange rhs = facts.along(test.getRhs(), dim);
    if (lhs.kind != AxisChange::Constant || rhs.kind != AxisChange::Constant)
      return std::nullopt;
    lhsSpan += std::abs(lhs.step) * (shape[dim] - 1);
    rhsSpan += std::abs(rhs.step) * (shape[dim] - 1);
    atEnd.push_back((lhs.step - rhs.step >= 0) == largest);
  }
  // A wrap of 32-bit sums shows at the corners only when they are less than half the range apart.
  if (std::max(lhsSpan, rhsSpan) > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return atEnd;
}

static std::optional<MonotoneTest> monotoneTest(const IndexFacts &facts, Value value) {
  auto test = value.getDefiningOp<arith::CmpIOp>();
  if (!test)
    return std::nullopt;
  using P = arith::CmpIPredicate;
  bool isUpperBound = llvm::is_contained({P::slt, P::sle, P::ult, P::ule}, test.getPredicate());
  bool isLowerBound = llvm::is_contained({P::sgt, P::sge, P::ugt, P::uge}, test.getPredicate());
  if (!isUpperBound && !isLowerBound)
    return std::nullopt;
  std::optional<SmallVector<bool>> corner = extremeCorner(facts, test, isUpperBound);
  if (!corner)
    return std::nullopt;
  return MonotoneTest{value, *corner};
}

/// Returns true if constants decide a comparison; notes it if it is always true.
static bool isKnownTest(SimdFunction &f, Value test) {
  std::optional<KnownPrefix> prefix = knownPrefix(f.facts, test);
  if (prefix && prefix->count == shapeOf(test.getType())[prefix->dim])
    f.assumedTrue.insert(test);
  return prefix.has_value();
}

/// Returns true if a value is read and not computed: from its buffer, or from registers if it is a
/// product. Values that the plan keeps do not all qualify: a tree that is being written to its
/// buffer is computed.
static bool isAtHand(SimdFunction &f, Value value) {
  return f.buffers.contains(value) || value.getDefiningOp<DotOp>();
}

static SmallVector<KnownPrefix> collectPrefixes(SimdFunction &f, ArrayRef<Value> trees) {
  SmallVector<KnownPrefix> prefixes;
  for (Value value : tilesAtOwnPlaces(trees, [&](Value tile) { return isAtHand(f, tile); }))
    if (std::optional<KnownPrefix> prefix = knownPrefix(f.facts, value))
      if (prefix->count > 0 && !f.assumedTrue.contains(value))
        prefixes.push_back(*prefix);
  return prefixes;
}

static SmallVector<MonotoneTest> collectTests(SimdFunction &f, ArrayRef<Value> trees) {
  SmallVector<MonotoneTest> tests;
  llvm::DenseSet<Value> seen;
  auto isLeaf = [&](Value value) { return isAtHand(f, value); };
  for (Value tree : trees)
    walkTree(tree, isLeaf, identityDims(shapeOf(tree.getType()).size()), seen,
             [&](Value value, ArrayRef<int>) {
               if (f.assumedTrue.contains(value) || isLeaf(value) || isKnownTest(f, value))
                 return;
               if (auto test = monotoneTest(f.facts, value))
                 tests.push_back(*test);
             });
  return tests;
}

static Coordinates cornerOf(SimdFunction &f, ArrayRef<int64_t> shape, ArrayRef<bool> atEnd) {
  Coordinates corner;
  for (auto [extent, isLast] : llvm::zip(shape, atEnd))
    corner.index.push_back(f.constantIndex(isLast ? extent - 1 : 0));
  return corner;
}

/// Emits a test that an operand of a comparison is in fact monotone: sums of indices may wrap
/// around, and an unsigned comparison sees -1, 0, 1 ... in another order. Returns null if the
/// operand does not vary.
static Value emitIsMonotone(SimdFunction &f, Value operand, bool isUnsigned) {
  ArrayRef<int64_t> shape = shapeOf(operand.getType());
  SmallVector<bool> falls, rises;
  bool varies = false;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t step = f.facts.along(operand, dim).step;
    falls.push_back(step < 0);
    rises.push_back(step >= 0);
    varies |= step != 0;
  }
  using P = arith::CmpIPredicate;
  Value smallest = f.evaluate(operand, cornerOf(f, shape, falls));
  Value holds;
  if (isUnsigned)
    holds = f.builder.createOrFold<arith::CmpIOp>(f.loc, P::sge, smallest,
                                                  f.constantOf(smallest.getType(), 0));
  if (!varies)
    return holds;
  Value largest = f.evaluate(operand, cornerOf(f, shape, rises));
  Value inOrder = f.builder.createOrFold<arith::CmpIOp>(f.loc, P::sle, smallest, largest);
  return holds ? f.builder.createOrFold<arith::AndIOp>(f.loc, holds, inOrder) : inOrder;
}

/// Emits a test that every test holds in its whole tile.
static Value emitTests(SimdFunction &f, ArrayRef<MonotoneTest> tests) {
  Value allHold;
  auto require = [&](Value holds) {
    allHold = allHold ? f.builder.createOrFold<arith::AndIOp>(f.loc, allHold, holds) : holds;
  };
  for (const MonotoneTest &test : tests) {
    auto compare = test.test.getDefiningOp<arith::CmpIOp>();
    require(f.evaluate(test.test, cornerOf(f, shapeOf(test.test.getType()), test.atEnd)));
    using P = arith::CmpIPredicate;
    bool isUnsigned = llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, compare.getPredicate());
    for (Value operand : {compare.getLhs(), compare.getRhs()})
      if (Value isMonotone = emitIsMonotone(f, operand, isUnsigned))
        require(isMonotone);
  }
  return allHold;
}

/// The dimension of a test `element < limit` along which the elements count up by ones; they change
/// along no other, and the limit along none.
static std::optional<unsigned> countingDim(const IndexFacts &facts, arith::CmpIOp test) {
  using P = arith::CmpIPredicate;
  unsigned bits = elementTypeOf(test.getLhs().getType()).getIntOrFloatBitWidth();
  if (bits != 32 || !isa<RankedTensorType>(test.getType()) ||
      !llvm::is_contained({P::slt, P::sle, P::ult, P::ule}, test.getPredicate()))
    return std::nullopt;
  std::optional<unsigned> found;
  for (unsigned dim = 0; dim < shapeOf(test.getType()).size(); ++dim) {
    AxisChange element = facts.along(test.getLhs(), dim);
    if (!facts.along(test.getRhs(), dim).isInvariant())
      return std::nullopt;
    if (element.isInvariant())
      continue;
    if (found || !element.isUnit())
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Returns true if each test is of one row, has a `countingDim`, and is read at its own coordinates
/// only.
static bool areEndsOfRow(SimdFunction &f, ArrayRef<Value> trees, ArrayRef<MonotoneTest> tests) {
  auto isKept = [&](Value value) { return f.buffers.contains(value); };
  llvm::DenseSet<Value> inPlace = tilesAtOwnPlaces(trees, isKept);
  return llvm::all_of(tests, [&](const MonotoneTest &test) {
    return shapeOf(test.test.getType()).size() == 1 && inPlace.contains(test.test) &&
           countingDim(f.facts, test.test.getDefiningOp<arith::CmpIOp>());
  });
}

/// Where a test ends along its `countingDim`. Where its sums wrap around, or unsigned numbers are
/// too large for this, it holds nowhere and ends nowhere, which is always right.
static MaskEnd emitEnd(SimdFunction &f, arith::CmpIOp test, unsigned dim) {
  using P = arith::CmpIPredicate;
  P predicate = test.getPredicate();
  ArrayRef<int64_t> shape = shapeOf(test.getType());
  Coordinates first = cornerOf(f, shape, SmallVector<bool>(shape.size(), false));
  Value none = f.constantIndex(0), all = f.constantIndex(shape[dim]);
  auto extended = [&](Value operand) {
    return f.builder.createOrFold<arith::ExtSIOp>(f.loc, f.builder.getI64Type(),
                                                  f.evaluate(operand, first));
  };
  Value length = f.builder.createOrFold<arith::SubIOp>(f.loc, extended(test.getRhs()),
                                                       extended(test.getLhs()));
  if (predicate == P::sle || predicate == P::ule)
    length = f.builder.createOrFold<arith::AddIOp>(f.loc, length, f.constantIndex(1));
  length = f.builder.createOrFold<arith::MaxSIOp>(f.loc, length, none);
  length = f.builder.createOrFold<arith::MinSIOp>(f.loc, length, all);
  MaskEnd end = {length, length};
  for (Value operand : {test.getLhs(), test.getRhs()})
    if (Value holds = emitIsMonotone(f, operand, predicate == P::ult || predicate == P::ule)) {
      end.holds = f.builder.createOrFold<arith::SelectOp>(f.loc, holds, end.holds, none);
      end.ends = f.builder.createOrFold<arith::SelectOp>(f.loc, holds, end.ends, all);
    }
  return end;
}

/// The tests that a mask is the conjunction of; `visit` gets each with the mask's dimension behind
/// each of its own (-1: none).
static void forEachTest(SimdFunction &f, Value mask, ArrayRef<int> dims,
                        llvm::function_ref<void(Value, ArrayRef<int>)> visit) {
  Operation *op = f.buffers.contains(mask) ? nullptr : mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op)) {
    for (Value operand : op->getOperands())
      forEachTest(f, operand, dims, visit);
    return;
  }
  auto shape = dyn_cast_or_null<ShapeOp>(op);
  std::optional<SmallVector<int>> behind;
  if (shape && isa<RankedTensorType>(op->getOperand(0).getType()))
    behind = shape.getSourceDims();
  if (!behind)
    return visit(mask, dims);
  SmallVector<int> sourceDims(shapeOf(op->getOperand(0).getType()).size(), -1);
  for (auto [position, dim] : llvm::enumerate(*behind))
    if (dim >= 0)
      sourceDims[dim] = dims[position];
  forEachTest(f, op->getOperand(0), sourceDims, visit);
}

MaskEnds tw::simd::emitMaskEnds(SimdFunction &f, Value mask, ArrayRef<int64_t> shape) {
  MaskEnds ends;
  ends.along.resize(shape.size());
  if (!mask)
    return ends;
  forEachTest(f, mask, identityDims(shape.size()), [&](Value value, ArrayRef<int> dims) {
    auto test = f.buffers.contains(value) ? arith::CmpIOp() : value.getDefiningOp<arith::CmpIOp>();
    std::optional<unsigned> own = test ? countingDim(f.facts, test) : std::nullopt;
    int dim = own ? dims[*own] : -1;
    if (dim < 0 || shapeOf(value.getType())[*own] != shape[dim]) {
      ends.areAll &= matchPattern(value, m_One());
      return;
    }
    MaskEnd next = emitEnd(f, test, *own), &end = ends.along[dim];
    auto least = [&](Value x, Value y) {
      return x ? f.builder.createOrFold<arith::MinSIOp>(f.loc, x, y) : y;
    };
    end = {least(end.holds, next.holds), least(end.ends, next.ends)};
  });
  return ends;
}

// Two loops over a shorter row would mostly begin and end.
static constexpr int64_t kShortRowSteps = 4;

static RowEnd emitRowEnd(SimdFunction &f, ArrayRef<MonotoneTest> tests) {
  RowEnd end;
  for (const MonotoneTest &test : tests) {
    Value length = emitEnd(f, test.test.getDefiningOp<arith::CmpIOp>(), 0).holds;
    end.length =
        end.length ? f.builder.createOrFold<arith::MinSIOp>(f.loc, end.length, length) : length;
    end.tests.push_back(test.test);
  }
  return end;
}

SmallVector<Value> SimdFunction::withFullMasks(ArrayRef<Value> trees, TypeRange results,
                                               llvm::function_ref<SmallVector<Value>()> emit,
                                               int64_t rowStep) {
  SmallVector<KnownPrefix> before = std::move(prefixes);
  RowEnd endBefore = std::exchange(rowEnd, RowEnd());
  llvm::scope_exit restore([&] {
    prefixes = std::move(before);
    rowEnd = std::move(endBefore);
  });
  SmallVector<MonotoneTest> tests = collectTests(*this, trees);
  prefixes = collectPrefixes(*this, trees);
  if (tests.empty())
    return emit();
  bool isLongRow = rowStep > 1 && shapeOf(trees.front().getType())[0] > kShortRowSteps * rowStep;
  if (isLongRow && areEndsOfRow(*this, trees, tests)) {
    rowEnd = emitRowEnd(*this, tests);
    return emit();
  }
  auto choice = scf::IfOp::create(builder, loc, results, emitTests(*this, tests), true);
  auto emitBranch = [&](Block *block, bool isFull) {
    OpBuilder::InsertionGuard guard(builder);
    Scope scope(*this);
    if (isFull)
      for (const MonotoneTest &test : tests)
        assumedTrue.insert(test.test);
    if (results.empty())
      builder.setInsertionPointToStart(block);
    else
      builder.setInsertionPointToEnd(block);
    SmallVector<Value> values = emit();
    if (!results.empty())
      scf::YieldOp::create(builder, loc, values);
  };
  emitBranch(choice.thenBlock(), /*isFull=*/true);
  emitBranch(choice.elseBlock(), /*isFull=*/false);
  return SmallVector<Value>(choice.getResults());
}

void SimdFunction::withFullMasks(ArrayRef<Value> trees, llvm::function_ref<void()> emit,
                                 int64_t rowStep) {
  auto emitAll = [&] {
    emit();
    return SmallVector<Value>();
  };
  withFullMasks(trees, TypeRange(), emitAll, rowStep);
}

bool tw::simd::isFullMask(SimdFunction &f, Value mask) {
  if (f.assumedTrue.contains(mask) || matchPattern(mask, m_One()))
    return true;
  Operation *op = mask.getDefiningOp();
  if (!op || f.plan.isKept(mask))
    return false;
  if (isa<ShapeOp>(op))
    return isFullMask(f, op->getOperand(0));
  return isa<arith::AndIOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isFullMask(f, operand); });
}
