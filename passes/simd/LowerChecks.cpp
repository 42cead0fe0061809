// The checks of debug builds: assertions, and accesses outside of the memory of the arguments.
// What fails is told to the host (backend/cpu/KernelAbi.h), which leaves the program.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/simd/ProgramLayout.h"
#include "passes/simd/Scope.h"
#include "passes/simd/SimdFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

using Predicate = arith::CmpIPredicate;

//===-- Reports ------------------------------------------------------------------------------===//

/// Emits `then` under a condition; what it computes is not remembered behind it.
static void emitUnder(SimdFunction &f, Value condition, llvm::function_ref<void()> then) {
  auto branch = scf::IfOp::create(f.builder, f.loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(branch.thenBlock());
  Scope scope(f);
  then();
}

/// Emits `report` for the first lane of `at` whose bit is set.
static void reportFirstLane(SimdFunction &f, Value bits, const Coordinates &at,
                            SimdFunction::Body report) {
  OpBuilder &b = f.builder;
  Value lane = LLVM::CountTrailingZerosOp::create(b, f.loc, bits.getType(), bits,
                                                  /*isZeroPoison=*/true);
  if (bits.getType().getIntOrFloatBitWidth() < 64)
    lane = arith::ExtUIOp::create(b, f.loc, b.getI64Type(), lane);
  Coordinates first = at;
  first.vectorDim = -1;
  first.lanes = 1;
  first.index[at.vectorDim] = arith::AddIOp::create(b, f.loc, at.index[at.vectorDim], lane);
  report(first);
}

/// Emits `report` for the first element, in row-major order, where `hasFailed` holds: it gets
/// coordinates of vectors, and answers i1 or a vector of them.
static void reportFirst(SimdFunction &f, ArrayRef<Value> trees, ArrayRef<int64_t> shape,
                        llvm::function_ref<Value(const Coordinates &)> hasFailed,
                        SimdFunction::Body report) {
  auto [vectorDim, lanes] = f.chooseVector(trees, shape);
  bool isInOrder =
      llvm::all_of(shape.drop_front(vectorDim + 1), [](int64_t extent) { return extent == 1; });
  auto reportInOrder = [&] {
    f.emitNest(shape, int(shape.size()) - 1, 1,
               [&](const Coordinates &at) { emitUnder(f, hasFailed(at), [&] { report(at); }); });
  };
  f.emitNest(shape, vectorDim, lanes, [&](const Coordinates &at) {
    Value failed = hasFailed(at), bits;
    if (auto vector = dyn_cast<VectorType>(failed.getType())) {
      Type type = f.builder.getIntegerType(vector.getNumElements());
      bits = LLVM::BitcastOp::create(f.builder, f.loc, type, failed);
      failed = arith::CmpIOp::create(f.builder, f.loc, Predicate::ne, bits, f.constantOf(type, 0));
    }
    emitUnder(f, failed, [&] {
      if (shape.size() > 1 && !isInOrder)
        reportInOrder();
      else if (bits)
        reportFirstLane(f, bits, at, report);
      else
        report(at);
    });
  });
}

/// The places of the operation in the user's source, the innermost first, as a report shows them.
static std::string describePlace(Location loc) {
  std::string text;
  auto add = [&](const char *how, const SourceSpan &span) {
    if (span.isKnown())
      text += std::string("\n  ") + how + " " + span.file + ":" + std::to_string(span.line) + ":" +
              std::to_string(span.column);
  };
  add("at", spanOf(loc));
  for (const SourceLabel &call : callStackOf(loc))
    add("called from", call.span);
  return text;
}

//===-- Assertions ---------------------------------------------------------------------------===//

static Value widened(SimdFunction &f, Value value, bool isSigned) {
  Type i64 = f.builder.getI64Type();
  if (value.getType() == i64)
    return value;
  return isSigned ? Value(arith::ExtSIOp::create(f.builder, f.loc, i64, value))
                  : Value(arith::ExtUIOp::create(f.builder, f.loc, i64, value));
}

LogicalResult SimdFunction::lowerAssert(AssertOp op) {
  SourceSpan span = spanOf(op.getLoc());
  Value message = stringAddress(op.getMessage());
  Value where = stringAddress(span.file + ":" + std::to_string(span.line));
  ArrayRef<int64_t> shape = shapeOf(op.getCondition().getType());
  Value extents = shapeAddress(shape);
  SmallVector<Value> trees = {op.getCondition()};
  if (op.getMask())
    trees.push_back(op.getMask());
  auto hasFailed = [&](const Coordinates &at) -> Value {
    auto read = [&](Value tile) {
      return at.vectorDim < 0 ? evaluate(tile, at) : evaluateVector(tile, at);
    };
    Value yes = constantOf(builder.getI1Type(), 1), holds = read(op.getCondition());
    if (at.vectorDim >= 0)
      yes = splat(yes, at.lanes);
    Value failed = arith::XOrIOp::create(builder, loc, holds, yes);
    return op.getMask() ? arith::AndIOp::create(builder, loc, failed, read(op.getMask())) : failed;
  };
  reportFirst(*this, trees, shape, hasFailed, [&](const Coordinates &at) {
    SmallVector<Value> arguments = {programArgument, message, where, extents,
                                    elementIndex(shape, at)};
    if (op.getValues().empty())
      return callHost("tw_device_assert", arguments);
    arguments.push_back(stringAddress(*op.getJoint()));
    arguments.push_back(constantOf(builder.getI32Type(), op.getIsSigned()));
    for (Value value : op.getValues())
      arguments.push_back(widened(*this, evaluate(value, at), op.getIsSigned()));
    callHost("tw_device_assert_of", arguments);
  });
  return success();
}

//===-- Accesses -----------------------------------------------------------------------------===//

namespace {
struct Access {
  Value pointer, mask; // the mask may be null
  const char *name;    // as in a report
};
} // namespace

static std::optional<Access> accessOf(Operation *op) {
  auto access = dyn_cast<MemoryAccess>(op);
  if (!access)
    return std::nullopt;
  const char *name = access.isAtomic() ? "atomic" : access.writesMemory() ? "store" : "load";
  return Access{access.getPointers(), access.getAccessMask(), name};
}

/// Where elements of `bytes` of an argument's memory may begin: computed once, before all else.
static ElementPlaces placesOf(SimdFunction &f, unsigned argument, unsigned bytes) {
  ElementPlaces &places = f.places[{argument, bytes}];
  if (places.first)
    return places;
  OpBuilder &b = f.builder;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(f.scratch);
  Type i64 = b.getI64Type(), pointer = f.scratch.getType();
  auto read = [&](Type type, Value base, int64_t offset) -> Value {
    Value address = LLVM::GEPOp::create(b, f.loc, pointer, b.getI8Type(), base,
                                        ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return LLVM::LoadOp::create(b, f.loc, type, address);
  };
  auto compare = [&](Predicate predicate, Value lhs, int64_t rhs) -> Value {
    return arith::CmpIOp::create(b, f.loc, predicate, lhs, f.constantIndex(rhs));
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, f.loc, condition, yes, no);
  };
  Value arguments = read(pointer, f.programArgument, int32_t(offsetof(TwProgram, arguments)));
  Value base = read(i64, arguments, argument * kArgumentStride + kArgumentBase);
  Value size = read(i64, arguments, argument * kArgumentStride + kArgumentBytes);
  // Of memory of unknown size it is known that no object lies in the first page. That of an empty
  // array has a base.
  constexpr int64_t kFirstPage = 4096;
  Value isUnknown = compare(Predicate::eq, arith::OrIOp::create(b, f.loc, size, base), 0);
  Value count = arith::SubIOp::create(b, f.loc, size, f.constantIndex(bytes - 1));
  count = select(compare(Predicate::uge, size, bytes), count, f.constantIndex(0));
  places.first = select(isUnknown, f.constantIndex(kFirstPage), base);
  places.count = select(isUnknown, f.constantIndex(-kFirstPage), count);
  return places;
}

/// Emits a test that addresses, i64 or a vector of them, are outside the memory of all these
/// arguments.
static Value isOutside(SimdFunction &f, Value address, ArrayRef<unsigned> arguments,
                       unsigned bytes) {
  auto vector = dyn_cast<VectorType>(address.getType());
  auto like = [&](Value scalar) {
    return vector ? f.splat(scalar, vector.getNumElements()) : scalar;
  };
  Value outside;
  for (unsigned argument : arguments) {
    ElementPlaces places = placesOf(f, argument, bytes);
    Value offset = arith::SubIOp::create(f.builder, f.loc, address, like(places.first));
    Value isOut =
        arith::CmpIOp::create(f.builder, f.loc, Predicate::uge, offset, like(places.count));
    outside = outside ? Value(arith::AndIOp::create(f.builder, f.loc, outside, isOut)) : isOut;
  }
  return outside;
}

static Value addressOf(SimdFunction &f, Value pointer) {
  Type type = f.builder.getI64Type();
  if (auto vector = dyn_cast<VectorType>(pointer.getType()))
    type = VectorType::get(vector.getShape(), type);
  return LLVM::PtrToIntOp::create(f.builder, f.loc, type, pointer);
}

/// Emits a test that the whole tile of pointers, masked-off elements too, lies inside. It is true
/// if the first and the last element do and are as far apart as they must be when no sum of indices
/// wraps around. Returns null if the elements are not evenly spaced.
static Value isWholeTileInside(SimdFunction &f, Value pointer, ArrayRef<unsigned> arguments,
                               unsigned bytes) {
  OpBuilder &b = f.builder;
  Coordinates low, high;
  int64_t distance = 0;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(pointer.getType()))) {
    AxisChange change = f.facts.along(pointer, dim);
    if (change.kind != AxisChange::Constant)
      return {};
    int64_t first = change.step < 0 ? extent - 1 : 0;
    low.index.push_back(f.constantIndex(first));
    high.index.push_back(f.constantIndex(extent - 1 - first));
    distance += std::abs(change.step) * (extent - 1) * bytes;
  }
  auto isInside = [&](Value address) -> Value {
    Value outside = isOutside(f, address, arguments, bytes);
    return arith::XOrIOp::create(b, f.loc, outside, f.constantOf(b.getI1Type(), 1));
  };
  Value first = addressOf(f, f.evaluate(pointer, low));
  Value inside = isInside(first);
  if (distance == 0)
    return inside;
  Value last = addressOf(f, f.evaluate(pointer, high));
  Value apart = arith::SubIOp::create(b, f.loc, last, first);
  Value isEven = arith::CmpIOp::create(b, f.loc, Predicate::eq, apart, f.constantIndex(distance));
  inside = arith::AndIOp::create(b, f.loc, inside, isInside(last));
  return arith::AndIOp::create(b, f.loc, inside, isEven);
}

/// Looks at every element that the mask leaves.
static void checkElements(SimdFunction &f, const Access &access, ArrayRef<unsigned> arguments,
                          unsigned bytes) {
  OpBuilder &b = f.builder;
  ArrayRef<int64_t> shape = shapeOf(access.pointer.getType());
  Value name = f.stringAddress(access.name), where = f.stringAddress(describePlace(f.loc));
  Value extents = f.shapeAddress(shape);
  SmallVector<Value> trees = {access.pointer};
  if (access.mask)
    trees.push_back(access.mask);
  auto hasFailed = [&](const Coordinates &at) -> Value {
    auto read = [&](Value tile) {
      return at.vectorDim < 0 ? f.evaluate(tile, at) : f.evaluateVector(tile, at);
    };
    Value failed = isOutside(f, addressOf(f, read(access.pointer)), arguments, bytes);
    return access.mask ? arith::AndIOp::create(b, f.loc, failed, read(access.mask)) : failed;
  };
  Type i32 = b.getI32Type();
  reportFirst(f, trees, shape, hasFailed, [&](const Coordinates &at) {
    Value address = addressOf(f, f.evaluate(access.pointer, at));
    int64_t argument = arguments.size() == 1 ? int64_t(arguments[0]) : -1;
    f.callHost("tw_device_outside",
               {f.programArgument, name, where, extents, f.elementIndex(shape, at), address,
                f.constantOf(i32, bytes), f.constantOf(i32, argument)});
  });
}

//===-- Indices ------------------------------------------------------------------------------===//

static void checkGather(SimdFunction &f, GatherOp op) {
  OpBuilder &b = f.builder;
  int64_t extent = shapeOf(op.getSource().getType())[op.getAxis()];
  if (f.facts.isWithin(op.getIndices(), extent))
    return;
  ArrayRef<int64_t> shape = shapeOf(op.getIndices().getType());
  Value where = f.stringAddress(describePlace(f.loc)), extents = f.shapeAddress(shape);
  Value end = f.constantIndex(extent);
  auto indexAt = [&](const Coordinates &at) -> Value {
    Value index =
        at.vectorDim < 0 ? f.evaluate(op.getIndices(), at) : f.evaluateVector(op.getIndices(), at);
    if (getElementTypeOrSelf(index).isInteger(64))
      return index;
    Type i64 = b.getI64Type();
    Type wide = at.vectorDim < 0 ? i64 : VectorType::get({at.lanes}, i64);
    return arith::ExtSIOp::create(b, f.loc, wide, index);
  };
  auto hasFailed = [&](const Coordinates &at) -> Value {
    Value limit = at.vectorDim < 0 ? end : f.splat(end, at.lanes);
    return arith::CmpIOp::create(b, f.loc, Predicate::uge, indexAt(at), limit);
  };
  reportFirst(f, {op.getIndices()}, shape, hasFailed, [&](const Coordinates &at) {
    f.callHost("tw_device_gather",
               {f.programArgument, where, extents, f.elementIndex(shape, at), indexAt(at), end});
  });
}

void SimdFunction::checkAccess(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return checkGather(*this, gather);
  std::optional<Access> access = accessOf(op);
  if (!access)
    return;
  std::optional<SmallVector<unsigned>> arguments = argumentsBehind(access->pointer);
  if (!arguments || arguments->empty())
    return; // a pointer that was an integer or lay in memory: nothing is known of where it leads
  auto pointee = cast<PtrType>(elementTypeOf(access->pointer.getType())).getPointee();
  unsigned bytes = elementBytes(pointee);
  bool isTile = !shapeOf(access->pointer.getType()).empty();
  Value inside = isTile ? isWholeTileInside(*this, access->pointer, *arguments, bytes) : Value();
  if (!inside)
    return checkElements(*this, *access, *arguments, bytes);
  Value outside = arith::XOrIOp::create(builder, loc, inside, constantOf(inside.getType(), 1));
  emitUnder(*this, outside, [&] { checkElements(*this, *access, *arguments, bytes); });
}
