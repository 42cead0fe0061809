// Random index arithmetic, executed beside its facts: no field of any fact may claim too much.
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/analysis/IndexFacts.h"
#include "test/unit/DrawnSeed.h"
#include "test/unit/passes/TileContext.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <gtest/gtest.h>
#include <random>

using namespace tw;
using namespace mlir;

namespace {
constexpr int64_t kPointeeBytes = 4;

//===-- CheckedRun ----------------------------------------------------------------------------===//

/// The elements of a value in one execution: integers with their sign, addresses in bytes.
struct Number {
  std::vector<int64_t> elements; // row-major
  bool hasWrapped = false;       // a sum or product on the way did not fit its bits
  bool hasLostSign = false;      // a negative number was extended by zeros, which forms do not see
  bool isPoison = false;         // undefined: divided by zero, or shifted too far

  void inherit(const Number &operand) {
    hasWrapped |= operand.hasWrapped;
    hasLostSign |= operand.hasLostSign;
    isPoison |= operand.isPoison;
  }
};

int64_t fitted(__int128 exact, unsigned bits) { return llvm::SignExtend64(uint64_t(exact), bits); }
uint64_t asUnsigned(int64_t value, unsigned bits) { return uint64_t(value) & llvm::maxUIntN(bits); }

/// Executes a function, and checks the facts of each value whenever it is computed.
class CheckedRun {
public:
  CheckedRun(func::FuncOp function, ArrayRef<int64_t> arguments, int64_t program,
             int64_t numPrograms)
      : facts(function), program(program), numPrograms(numPrograms), base(arguments.back()) {
    for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
      define(argument, {{value}});
    run(function.getBody().front());
  }
  unsigned numChecked() const { return checked.size(); }

private:
  void run(Block &block);
  void run(scf::ForOp loop);
  Number compute(Operation *op);
  Number rearranged(tile::ShapeOp op);
  Number elementwise(Operation *op);
  int64_t element(Operation *op, ArrayRef<int64_t> operands, Number &result);
  int64_t divided(Operation *op, int64_t lhs, int64_t rhs, Number &result);

  void define(Value value, Number number) {
    check(value, number);
    values[value] = std::move(number);
  }
  void check(Value value, const Number &number);
  void checkAxis(AxisFacts axis, ArrayRef<int64_t> row, int64_t bytes, unsigned bits,
                 bool hasLostSign);
  void checkForm(const LinearForm &form, const Number &number, int64_t unit);
  bool isInForm(const LinearForm &form, __int128 rest, unsigned numTaken, int64_t unit);

  IndexFacts facts;
  DenseMap<Value, Number> values;
  llvm::DenseSet<Value> checked;
  int64_t program, numPrograms, base;
};

bool isPointer(Type type) { return isa<tile::PtrType>(tile::elementTypeOf(type)); }

int64_t CheckedRun::divided(Operation *op, int64_t lhs, int64_t rhs, Number &result) {
  unsigned bits = integerBits(op->getResult(0).getType());
  bool isUndefined = rhs == 0 || (rhs == -1 && lhs == llvm::minIntN(bits));
  result.isPoison |= isUndefined;
  if (isUndefined)
    return 0;
  uint64_t left = asUnsigned(lhs, bits), right = asUnsigned(rhs, bits);
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::DivSIOp>([&](auto) { return lhs / rhs; })
      .Case<arith::FloorDivSIOp>([&](auto) { return llvm::divideFloorSigned(lhs, rhs); })
      .Case<arith::RemSIOp>([&](auto) { return lhs % rhs; })
      .Case<arith::DivUIOp>([&](auto) { return fitted(left / right, bits); })
      .Case<arith::RemUIOp>([&](auto) { return fitted(left % right, bits); });
}

int64_t CheckedRun::element(Operation *op, ArrayRef<int64_t> operands, Number &result) {
  unsigned bits = integerBits(op->getResult(0).getType());
  unsigned from = integerBits(op->getOperand(0).getType());
  int64_t lhs = operands[0], rhs = operands.size() > 1 ? operands[1] : 0;
  uint64_t left = asUnsigned(lhs, from), right = asUnsigned(rhs, from);
  auto exact = [&](__int128 value) {
    result.hasWrapped |= fitted(value, bits) != value;
    return fitted(value, bits);
  };
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) && right >= bits) {
    result.isPoison = true;
    return 0;
  }
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::AddIOp>([&](auto) { return exact(__int128(lhs) + rhs); })
      .Case<arith::SubIOp>([&](auto) { return exact(__int128(lhs) - rhs); })
      .Case<arith::MulIOp>([&](auto) { return exact(__int128(lhs) * rhs); })
      .Case<arith::ShLIOp>([&](auto) { return exact(__int128(lhs) << rhs); })
      .Case<tile::AddPtrOp>([&](auto) { return exact(lhs + __int128(rhs) * kPointeeBytes); })
      .Case<arith::ShRSIOp>([&](auto) { return lhs >> rhs; })
      .Case<arith::ShRUIOp>([&](auto) { return fitted(left >> right, bits); })
      .Case<arith::AndIOp>([&](auto) { return lhs & rhs; })
      .Case<arith::OrIOp>([&](auto) { return lhs | rhs; })
      .Case<arith::XOrIOp>([&](auto) { return lhs ^ rhs; })
      .Case<arith::MinSIOp>([&](auto) { return std::min(lhs, rhs); })
      .Case<arith::MaxSIOp>([&](auto) { return std::max(lhs, rhs); })
      .Case<arith::MinUIOp>([&](auto) { return left < right ? lhs : rhs; })
      .Case<arith::MaxUIOp>([&](auto) { return left > right ? lhs : rhs; })
      .Case<arith::ExtSIOp>([&](auto) { return lhs; })
      .Case<arith::ExtUIOp>([&](auto) {
        result.hasLostSign |= lhs < 0;
        return int64_t(left);
      })
      .Case<arith::TruncIOp>([&](auto) { return exact(lhs); })
      .Case([&](arith::CmpIOp compare) {
        return -int64_t(arith::applyCmpPredicate(compare.getPredicate(), APInt(64, lhs, true),
                                                 APInt(64, rhs, true)));
      })
      .Case<arith::SelectOp>([&](auto) { return lhs ? rhs : operands[2]; })
      .Default([&](Operation *) { return divided(op, lhs, rhs, result); });
}

Number CheckedRun::elementwise(Operation *op) {
  Number result;
  for (Value operand : op->getOperands())
    result.inherit(values[operand]);
  SmallVector<int64_t> operands(op->getNumOperands());
  int64_t count = 1;
  for (int64_t extent : tile::shapeOf(op->getResult(0).getType()))
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    for (auto [to, operand] : llvm::zip(operands, op->getOperands())) {
      const std::vector<int64_t> &from = values[operand].elements;
      to = from[from.size() == 1 ? 0 : i];
    }
    result.elements.push_back(element(op, operands, result));
  }
  return result;
}

/// Reads each element of the result where `getSourceDims` says; reshapes keep their order.
Number CheckedRun::rearranged(tile::ShapeOp op) {
  const Number &from = values[op->getOperand(0)];
  std::optional<SmallVector<int>> dims = op.getSourceDims();
  if (!dims)
    return from;
  Number result;
  result.inherit(from);
  ArrayRef<int64_t> source = tile::shapeOf(op->getOperand(0).getType());
  ArrayRef<int64_t> shape = tile::shapeOf(op->getResult(0).getType());
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> index(source.size(), 0);
    int64_t rest = i, place = 0;
    for (unsigned dim = shape.size(); dim-- > 0; rest /= shape[dim])
      if (int at = (*dims)[dim]; at >= 0 && source[at] > 1)
        index[at] = rest % shape[dim];
    for (auto [extent, at] : llvm::zip(source, index))
      place = place * extent + at;
    result.elements.push_back(from.elements[place]);
  }
  return result;
}

Number CheckedRun::compute(Operation *op) {
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case([&](arith::ConstantOp constant) -> Number {
        if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
          return {std::vector<int64_t>(splat.getNumElements(),
                                       splat.getSplatValue<APInt>().getSExtValue())};
        return {{cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue()}};
      })
      .Case([&](tile::ArangeOp arange) {
        Number result;
        for (int64_t i = int32_t(arange.getStart()); i < int32_t(arange.getEnd()); ++i)
          result.elements.push_back(i);
        return result;
      })
      .Case([&](tile::ProgramIdOp) -> Number { return {{program}}; })
      .Case([&](tile::NumProgramsOp) -> Number { return {{numPrograms}}; })
      .Case([&](tile::ShapeOp shape) { return rearranged(shape); })
      .Default([&](Operation *) { return elementwise(op); });
}

void CheckedRun::run(scf::ForOp loop) {
  auto only = [&](Value scalar) { return values[scalar].elements[0]; };
  SmallVector<Number> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(values[init]);
  bool isSound = !values[loop.getUpperBound()].isPoison;
  for (int64_t i = only(loop.getLowerBound()); isSound && i < only(loop.getUpperBound());
       i += only(loop.getStep())) {
    Number counter{{i}};
    counter.inherit(values[loop.getUpperBound()]);
    define(loop.getInductionVar(), std::move(counter));
    for (auto [argument, number] : llvm::zip(loop.getRegionIterArgs(), carried))
      define(argument, number);
    run(*loop.getBody());
    for (auto [number, value] : llvm::zip(carried, loop.getYieldedValues()))
      number = values[value];
  }
  for (auto [result, number] : llvm::zip(loop.getResults(), carried)) {
    number.isPoison |= !isSound;
    define(result, number);
  }
}

void CheckedRun::run(Block &block) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<scf::ForOp>(op))
      run(loop);
    else if (!op.hasTrait<OpTrait::IsTerminator>())
      define(op.getResult(0), compute(&op));
}

//===-- Checks -------------------------------------------------------------------------------===//

/// Checks one row of elements against the facts along their dimension. Where a sign was lost, a
/// group that begins at no multiple of its size may contain -1 and 0.
void CheckedRun::checkAxis(AxisFacts axis, ArrayRef<int64_t> row, int64_t bytes, unsigned bits,
                           bool hasLostSign) {
  if (hasLostSign)
    axis.run = std::min(axis.run, std::max<int64_t>(1, axis.divisibility / bytes));
  for (int64_t i = 0; i < int64_t(row.size()); ++i) {
    if (i % axis.run == 0)
      EXPECT_EQ(row[i] % std::min(axis.divisibility, int64_t(1) << std::min(bits, 40u)), 0)
          << "first of a run at " << i;
    else
      EXPECT_EQ(row[i], fitted(__int128(row[i - 1]) + bytes, bits)) << "run at " << i;
    if (i % axis.constancy != 0)
      EXPECT_EQ(row[i], row[i - 1]) << "constancy at " << i;
    if (i == 0)
      continue;
    int64_t change = fitted(__int128(row[i]) - row[i - 1], bits);
    if (axis.change.isConstant())
      EXPECT_EQ(change, fitted(__int128(axis.change.step) * bytes, bits)) << "step at " << i;
    if (axis.change.kind == AxisChange::Affine)
      EXPECT_EQ(change, fitted(__int128(row[1]) - row[0], bits)) << "even steps at " << i;
    if (axis.change.kind == AxisChange::WrappedUnit)
      EXPECT_LE(change, bytes) << "wrapped step at " << i;
  }
}

/// Returns true if `rest`, less some element of each leaf from `numTaken` on, is in the bounds.
bool CheckedRun::isInForm(const LinearForm &form, __int128 rest, unsigned numTaken, int64_t unit) {
  if (numTaken == form.terms.size())
    return rest >= __int128(form.low) * unit && rest <= __int128(form.high) * unit;
  const LinearForm::Term &term = form.terms[numTaken];
  int64_t scale = isPointer(term.leaf.getType()) ? 1 : unit;
  return llvm::any_of(values[term.leaf].elements, [&](int64_t element) {
    return isInForm(form, rest - __int128(term.factor) * element * scale, numTaken + 1, unit);
  });
}

void CheckedRun::checkForm(const LinearForm &form, const Number &number, int64_t unit) {
  bool hasTiles = llvm::any_of(
      form.terms, [](auto &term) { return isa<RankedTensorType>(term.leaf.getType()); });
  for (int64_t element : number.elements)
    EXPECT_TRUE(isInForm(form, element, 0, unit)) << "sum of " << element;
  LinearForm first = form;
  first.low = first.high = form.first;
  if (!hasTiles)
    EXPECT_TRUE(isInForm(first, number.elements[0], 0, unit)) << "first of the sum";
}

void CheckedRun::check(Value value, const Number &number) {
  unsigned bits = integerBits(value.getType());
  if (number.isPoison || bits == 1)
    return;
  checked.insert(value);
  const IndexFact &fact = facts.of(value);
  auto [least, greatest] = std::minmax_element(number.elements.begin(), number.elements.end());
  IndexRange range = facts.rangeOf(value);
  EXPECT_LE(range.least, *least);
  EXPECT_GE(range.greatest, *greatest);
  if (number.hasWrapped)
    return;
  if (fact.isNonNegative)
    EXPECT_GE(*least, isPointer(value.getType()) ? base : 0);
  if (fact.constant)
    EXPECT_TRUE(*least == *fact.constant && *greatest == *fact.constant);
  int64_t unit = isPointer(value.getType()) ? kPointeeBytes : 1;
  if (!fact.form.isLeaf(value) && !number.hasLostSign)
    checkForm(fact.form, number, unit);
  SmallVector<int64_t> shape(tile::shapeOf(value.getType()));
  if (shape.empty())
    shape.push_back(1);
  int64_t stride = 1, size = number.elements.size();
  for (unsigned dim = shape.size(); dim-- > 0; stride *= shape[dim])
    for (int64_t first = 0; first < size; ++first)
      if (first / stride % shape[dim] == 0) {
        SmallVector<int64_t> row;
        for (int64_t i = 0; i < shape[dim]; ++i)
          row.push_back(number.elements[first + i * stride]);
        checkAxis(fact.axes[dim], row, unit, bits, number.hasLostSign);
      }
}

//===-- Expressions --------------------------------------------------------------------------===//

/// Makes a function of random index arithmetic, with a loop in its middle.
class Expressions {
public:
  Expressions(unsigned seed, MLIRContext *context) : random(seed), builder(context) {
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> types(kNumIntegers, builder.getI32Type());
    types.push_back(builder.getI64Type());
    types.push_back(tile::PtrType::get(context, builder.getF32Type()));
    function = func::FuncOp::create(builder, loc(), "f", builder.getFunctionType(types, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    for (unsigned i = 0; i < types.size(); ++i)
      addArgument(i, isPointer(types[i]));
    llvm::append_range(pool, function.getArguments());
    pool.push_back(tile::ProgramIdOp::create(builder, loc(), 0));
    pool.push_back(tile::NumProgramsOp::create(builder, loc(), 0));
    for (unsigned i = 0; i < 4; ++i)
      addTile();
    grow(6);
    addLoop();
    grow(6);
    func::ReturnOp::create(builder, loc());
    numPrograms = 1 + pick(50);
    program = pick(numPrograms);
  }

  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  SmallVector<int64_t> arguments;
  int64_t program, numPrograms;

private:
  static constexpr unsigned kNumIntegers = 3;

  unsigned pick(unsigned count) { return random() % count; }
  Location loc() { return builder.getUnknownLoc(); }
  void addArgument(unsigned number, bool isAddress);
  void addTile();
  void addLoop();
  void grow(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      pool.push_back(pick(4) == 0 ? rearranged() : arithmetic());
  }
  Value any(llvm::function_ref<bool(Type)> fits);
  Value integer() {
    return any([](Type type) { return !isPointer(type); });
  }
  Value constant(Type type, int64_t number) {
    auto element = cast<IntegerType>(tile::elementTypeOf(type));
    Attribute scalar = builder.getIntegerAttr(element, fitted(number, element.getWidth()));
    auto tile = dyn_cast<RankedTensorType>(type);
    return arith::ConstantOp::create(
        builder, loc(), cast<TypedAttr>(tile ? SplatElementsAttr::get(tile, scalar) : scalar));
  }
  /// Returns a value of a type: one of the pool, or a constant.
  Value beside(Type type) {
    return pick(3) == 0 ? constant(type, (int64_t(1) << pick(6)) - pick(2))
                        : any([&](Type other) { return other == type; });
  }
  Value positive(Type type) { return constant(type, (int64_t(1) << pick(6)) + pick(2)); }
  Value select(Value lhs, Value rhs);
  Value resized(Value value);
  Value advanced(Value index);
  Value rearranged();
  Value arithmetic();
  template <typename Op> Value make(Value lhs, Value rhs) {
    return Op::create(builder, loc(), lhs, rhs);
  }

  std::mt19937 random;
  OpBuilder builder;
  SmallVector<Value> pool;
};

/// Draws an argument's value, and tells some of what is true of it.
void Expressions::addArgument(unsigned number, bool isAddress) {
  int64_t divisibility = int64_t(1) << (isAddress ? 2 + pick(4) : pick(5));
  arguments.push_back(divisibility * (int64_t(pick(40)) - (isAddress ? -9 : 15)));
  function.setArgAttr(number, tile::kArgDivisibility, builder.getI64IntegerAttr(divisibility));
  if (!isAddress && arguments.back() >= 0 && pick(3) != 0)
    function.setArgAttr(number, tile::kArgNonNegative, builder.getUnitAttr());
}

void Expressions::addTile() {
  auto type = RankedTensorType::get({32}, builder.getI32Type());
  int64_t start = int64_t(pick(4)) * (1 << pick(5)) - (pick(3) == 0 ? 24 : 0);
  pool.push_back(
      pick(3) != 0
          ? Value(tile::ArangeOp::create(builder, loc(), type, int32_t(start), int32_t(start + 32)))
          : Value(tile::SplatOp::create(builder, loc(), type,
                                        function.getArgument(pick(kNumIntegers)))));
}

/// Adds a loop that carries two values of the pool, and grows its body.
void Expressions::addLoop() {
  Type i32 = builder.getI32Type();
  Value lower = pick(2) ? constant(i32, pick(5)) : any([&](Type type) { return type == i32; });
  Value count = constant(i32, pick(12)), step = constant(i32, 1 + pick(4));
  Value upper = make<arith::AddIOp>(lower, count);
  SmallVector<Value> inits = {integer(), pool[pick(pool.size())]};
  auto loop = scf::ForOp::create(builder, loc(), lower, upper, step, inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> outside = pool;
  llvm::append_range(pool, loop.getBody()->getArguments());
  grow(5);
  SmallVector<Value> next;
  for (BlockArgument carried : loop.getRegionIterArgs()) {
    Type type = carried.getType();
    bool isSum = !isPointer(type) && pick(2);
    next.push_back(isSum ? make<arith::AddIOp>(carried, beside(type))
                         : any([&](Type other) { return other == type; }));
  }
  scf::YieldOp::create(builder, loc(), next);
  pool = std::move(outside);
  llvm::append_range(pool, loop.getResults());
}

Value Expressions::any(llvm::function_ref<bool(Type)> fits) {
  SmallVector<Value> fitting;
  for (Value value : pool)
    if (fits(value.getType()))
      fitting.push_back(value);
  return fitting[pick(fitting.size())];
}

/// Makes a tile of two dimensions from one of one, or its transpose, or one row of its elements.
Value Expressions::rearranged() {
  Value from = any([](Type type) { return isa<RankedTensorType>(type); });
  auto type = cast<RankedTensorType>(from.getType());
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() == 1 && shape[0] <= 32) {
    unsigned axis = pick(2);
    int64_t other = int64_t(1) << (1 + pick(2)), extent = shape[0];
    SmallVector<int64_t> thin = {extent, extent}, wide = thin;
    thin[axis] = 1;
    wide[axis] = other;
    Value expanded = tile::ExpandDimsOp::create(builder, loc(), type.clone(thin), from, axis);
    return tile::BroadcastOp::create(builder, loc(), type.clone(wide), expanded);
  }
  if (shape.size() == 1 || pick(3) == 0) {
    SmallVector<int64_t> target = {type.getNumElements()};
    if (shape.size() == 1)
      target = {shape[0] / 16, 16};
    return tile::ReshapeOp::create(builder, loc(), type.clone(target), from,
                                   /*allow_reorder=*/false);
  }
  SmallVector<int64_t> swapped = {shape[1], shape[0]};
  return tile::TransOp::create(builder, loc(), type.clone(swapped), from,
                               builder.getDenseI32ArrayAttr({1, 0}));
}

Value Expressions::select(Value lhs, Value rhs) {
  auto predicate = arith::CmpIPredicate(pick(6)); // eq, ne and the signed ones
  Value mask = arith::CmpIOp::create(builder, loc(), predicate, lhs, rhs);
  return arith::SelectOp::create(builder, loc(), mask, lhs, rhs);
}

Value Expressions::resized(Value value) {
  unsigned from = integerBits(value.getType()), to = 8u << pick(4);
  Type element = builder.getIntegerType(to), type = element;
  if (auto tile = dyn_cast<RankedTensorType>(value.getType()))
    type = tile.clone(element);
  if (from == to)
    return value;
  if (from > to)
    return arith::TruncIOp::create(builder, loc(), type, value);
  return pick(2) ? Value(arith::ExtUIOp::create(builder, loc(), type, value))
                 : Value(arith::ExtSIOp::create(builder, loc(), type, value));
}

/// Makes the pointers at an index of an argument's memory.
Value Expressions::advanced(Value index) {
  Value base = function.getArguments().back();
  if (auto tile = dyn_cast<RankedTensorType>(index.getType()))
    base = tile::SplatOp::create(builder, loc(), tile.clone(base.getType()), base);
  return make<tile::AddPtrOp>(base, index);
}

Value Expressions::arithmetic() {
  Value lhs = integer();
  Type type = lhs.getType();
  unsigned bits = integerBits(type);
  // Two in one another are patterns that facts know.
  auto whole = [&] {
    Value divisor = positive(type);
    return pick(2) ? make<arith::RemSIOp>(lhs, divisor)
                   : make<arith::MulIOp>(make<arith::DivSIOp>(lhs, divisor), divisor);
  };
  // A minimum of scalars and a difference may be the size of a group, which is taken to be
  // positive.
  bool isScalar = !isa<RankedTensorType>(type);
  switch (pick(25)) {
  case 0:
    return make<arith::SubIOp>(lhs, beside(type));
  case 1:
    return make<arith::MulIOp>(lhs, beside(type));
  case 2:
    return make<arith::DivSIOp>(lhs, positive(type));
  case 3:
    return make<arith::RemSIOp>(lhs, positive(type));
  case 4:
    return make<arith::AndIOp>(lhs, beside(type));
  case 5:
    return make<arith::AndIOp>(lhs, constant(type, -(int64_t(1) << pick(6))));
  case 6:
    return make<arith::ShRSIOp>(lhs, constant(type, pick(bits)));
  case 7:
    return make<arith::ShRUIOp>(lhs, constant(type, pick(bits)));
  case 8:
    return make<arith::ShLIOp>(lhs, constant(type, pick(6)));
  case 9:
    return isScalar ? lhs : make<arith::MinSIOp>(lhs, beside(type));
  case 10:
    return make<arith::MaxSIOp>(lhs, beside(type));
  case 11:
    return make<arith::MinUIOp>(lhs, beside(type));
  case 12:
    return make<arith::MaxUIOp>(lhs, beside(type));
  case 13:
    return make<arith::OrIOp>(lhs, beside(type));
  case 14:
    return make<arith::XOrIOp>(lhs, beside(type));
  case 15:
    return make<arith::DivSIOp>(lhs, beside(type));
  case 16:
    return make<arith::DivUIOp>(lhs, beside(type));
  case 17:
    return make<arith::RemUIOp>(lhs, beside(type));
  case 18:
    return make<arith::SubIOp>(lhs, whole());
  case 19:
    return select(lhs, beside(type));
  case 20:
    return resized(lhs);
  case 21:
    return advanced(lhs);
  case 22:
    return make<arith::FloorDivSIOp>(lhs, positive(type));
  default:
    return make<arith::AddIOp>(lhs, beside(type));
  }
}
} // namespace

TEST(IndexFacts, NeverContradictsRandomArithmetic) {
  unsigned seed = test::drawnSeed(), numChecked = 0;
  std::unique_ptr<MLIRContext> context = test::makeTileContext();
  constexpr unsigned kNumExpressions = 100'000;
  for (unsigned round = 0; numChecked < kNumExpressions && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    Expressions expressions(seed + round, context.get());
    numChecked += CheckedRun(expressions.function, expressions.arguments, expressions.program,
                             expressions.numPrograms)
                      .numChecked();
    if (testing::Test::HasFailure())
      expressions.function.dump();
  }
}
