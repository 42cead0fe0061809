// Emits loop nests over register tiles and picks their vector dimension.
#include "mlir/IR/Matchers.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

SmallVector<Value>
SimdFunction::emitLoop(int64_t lower, int64_t upper, int64_t step, ArrayRef<Value> carried,
                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (upper - lower <= step) {
    if (upper <= lower)
      return SmallVector<Value>(carried);
    return body(constantIndex(lower), carried);
  }
  auto loop = scf::ForOp::create(builder, loc, constantIndex(lower), constantIndex(upper),
                                 constantIndex(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (loop.getNumResults() > 0 || loop.getBody()->empty() ||
      !loop.getBody()->back().hasTrait<OpTrait::IsTerminator>()) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, loc, results);
  }
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value>
tw::simd::emitLoopUpTo(SimdFunction &f, Value lower, Value upper, int64_t step, int64_t most,
                       ArrayRef<Value> carried,
                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  APInt first, last;
  if (matchPattern(lower, m_ConstantInt(&first)) && matchPattern(upper, m_ConstantInt(&last)))
    return f.emitLoop(first.getSExtValue(), last.getSExtValue(), step, carried, body);
  OpBuilder &builder = f.builder;
  auto loop = scf::ForOp::create(builder, f.loc, lower, upper, f.constantIndex(step), carried);
  loop->setAttr(kMostIterations, builder.getI64IntegerAttr(most));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty()) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, f.loc, results);
  }
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value>
tw::simd::emitRowLoop(SimdFunction &f, int64_t lower, int64_t upper, int64_t step,
                      ArrayRef<Value> carried,
                      llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (!f.rowEnd.length || step <= 1 || upper - lower <= step)
    return f.emitLoop(lower, upper, step, carried, body);
  int64_t most = (upper - lower) / step;
  OpBuilder &b = f.builder;
  Value first = f.constantIndex(lower), last = f.constantIndex(upper);
  Value end = b.createOrFold<arith::AndIOp>(f.loc, f.rowEnd.length, f.constantIndex(-step));
  end = b.createOrFold<arith::MaxSIOp>(f.loc, end, first);
  end = b.createOrFold<arith::MinSIOp>(f.loc, end, last);
  auto unmasked = [&](Value index, ValueRange old) {
    Scope scope(f);
    f.assumedTrue.insert_range(f.rowEnd.tests);
    return body(index, old);
  };
  SmallVector<Value> middle = emitLoopUpTo(f, first, end, step, most, carried, unmasked);
  return emitLoopUpTo(f, end, last, step, most, middle, body);
}

Scope::Scope(SimdFunction &f)
    : f(f), memo(f.memo), assumedTrue(f.assumedTrue), numLevels(f.levels.size()),
      places(f.bufferPlaces.taken()), numOwned(f.owned.size()) {}

Scope::Scope(SimdFunction &f, Value index) : Scope(f) {
  scf::ForOp loop = scf::getForInductionVarOwner(index);
  f.levels.push_back({loop, memo});
}

Scope::~Scope() {
  f.memo = std::move(memo);
  f.assumedTrue = std::move(assumedTrue);
  f.levels.truncate(numLevels);
  f.bufferPlaces.restore(std::move(places));
  f.owned.truncate(numOwned);
}

void SimdFunction::emitOuterLoops(ArrayRef<int64_t> shape, int exceptDim, Body body) {
  Coordinates at;
  at.index.assign(shape.size(), Value());
  if (exceptDim >= 0)
    at.index[exceptDim] = constantIndex(0);
  std::function<void(size_t)> descend = [&](size_t dim) {
    if (dim == shape.size())
      return body(at);
    if (int(dim) == exceptDim)
      return descend(dim + 1);
    emitLoop(0, shape[dim], 1, {}, [&](Value index, ValueRange) {
      at.index[dim] = index;
      Scope scope(*this);
      descend(dim + 1);
      return SmallVector<Value>();
    });
  };
  descend(0);
}

void SimdFunction::emitVectorLoop(int64_t extent, const Coordinates &outer, int vectorDim,
                                  int64_t lanes, Body body, bool splitsAtKnownMasks) {
  Coordinates at = outer;
  int64_t main = lanes > 1 ? extent / lanes * lanes : 0;
  int64_t full = splitsAtKnownMasks ? knownLength(prefixes, vectorDim, main, lanes) : 0;
  auto emitRange = [&](int64_t lower, int64_t upper, int64_t step) {
    auto emitAt = [&](Value index, ValueRange) {
      Scope scope(*this, index);
      if (upper <= full)
        assumeKnown(prefixes, vectorDim, full, assumedTrue);
      at.index[vectorDim] = index;
      at.vectorDim = step > 1 ? vectorDim : -1;
      at.lanes = step;
      body(at);
      return SmallVector<Value>();
    };
    if (splitsAtKnownMasks && lower >= full)
      emitRowLoop(*this, lower, upper, step, {}, emitAt);
    else
      emitLoop(lower, upper, step, {}, emitAt);
  };
  emitRange(0, full, lanes);
  emitRange(full, main, lanes);
  emitRange(main, extent, 1);
}

void SimdFunction::emitNest(ArrayRef<int64_t> shape, int vectorDim, int64_t lanes, Body body) {
  if (shape.empty())
    return body(Coordinates());
  emitOuterLoops(shape, vectorDim, [&](const Coordinates &outer) {
    emitVectorLoop(shape[vectorDim], outer, vectorDim, lanes, body);
  });
}

//===-- Choice of the vector dimension --------------------------------------------------------===//

static int scoreOf(AxisChange change) {
  switch (change.kind) {
  case AxisChange::Constant:
    return change.step == 1 ? 4 : change.step == 0 ? 1 : -2;
  case AxisChange::WrappedUnit:
    return 3;
  default:
    return -2;
  }
}

std::pair<int, int64_t> SimdFunction::chooseVector(ArrayRef<Value> trees, ArrayRef<int64_t> shape) {
  if (shape.empty())
    return {-1, 1};
  SmallVector<int> scores(shape.size(), 0);
  unsigned bytes = 1;
  llvm::DenseSet<Value> seen;
  auto isKept = [&](Value value) { return plan.isKept(value); };
  for (Value tree : trees)
    walkTree(tree, isKept, identityDims(shape.size()), seen, [&](Value value, ArrayRef<int> dims) {
      Type element = elementTypeOf(value.getType());
      if (!isa<PtrType>(element))
        bytes = std::max(bytes, elementBytes(element));
      // Vectors along another dimension read one element of a buffer that repeats its elements.
      auto size = [](ArrayRef<int64_t> extents) { return ShapedType::getNumElements(extents); };
      if (plan.isKept(value) && !dims.empty() && dims.back() >= 0)
        scores[dims.back()] += size(shapeOf(value.getType())) < size(shape) ? 1 : 3;
      auto load = value.getDefiningOp<LoadOp>();
      bool isPointerRoot = isa<PtrType>(element) && llvm::is_contained(trees, value);
      if (!isPointerRoot && (!load || plan.isKept(value)))
        return;
      Value pointer = load ? load.getPtr() : value;
      for (auto [dim, outer] : llvm::enumerate(dims))
        if (outer >= 0)
          scores[outer] += scoreOf(facts.along(pointer, dim));
    });
  int best = shape.size() - 1;
  for (int dim = best - 1; dim >= 0; --dim)
    if (shape[dim] > 1 && (scores[dim] > scores[best] || shape[best] == 1))
      best = dim;
  int64_t lanes = machine.getVectorBytes() / std::min(bytes, 4u);
  return {best, std::min<int64_t>(lanes, llvm::bit_floor(uint64_t(shape[best])))};
}
