// Facts of groups of neighbours: random index arithmetic, computed beside the facts, never
// contradicts them; and single cases that wide accesses depend on are known as well as possible.
#include "passes/analysis/Alignment.h"
#include "ir/RegisterDialects.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>

using namespace tw;
using namespace mlir;

namespace {
std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerTileDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// A tile of i32 and what its elements are for the arguments' values.
struct Sample {
  Value value;
  std::vector<int64_t> elements; // row-major
  ArrayRef<int64_t> shape() const { return tile::shapeOf(value.getType()); }
};

/// Makes random arithmetic and computes it.
class Expressions {
public:
  Expressions(unsigned seed, MLIRContext *context)
      : random(seed), builder(context), context(context) {
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> types(3, builder.getI32Type());
    function = func::FuncOp::create(builder, loc(), "f", builder.getFunctionType(types, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
    for (unsigned i = 0; i < 3; ++i) {
      int64_t divisibility = int64_t(1) << pick(5);
      function.setArgAttr(i, tile::kArgDivisibility, builder.getI64IntegerAttr(divisibility));
      arguments.push_back(divisibility * (int64_t(pick(40)) - 15));
      if (arguments.back() >= 0 && pick(3) != 0)
        function.setArgAttr(i, tile::kArgNonNegative, builder.getUnitAttr());
    }
    for (unsigned i = 0; i < 4; ++i)
      samples.push_back(leaf());
  }

  unsigned pick(unsigned count) { return random() % count; }
  Location loc() { return builder.getUnknownLoc(); }
  void grow() {
    Sample made = pick(4) == 0 ? reshaped() : arithmetic();
    if (llvm::all_of(made.elements, [](int64_t e) { return llvm::isInt<32>(e); }))
      samples.push_back(made);
    else
      made.value.getDefiningOp()->erase();
  }

  std::mt19937 random;
  OpBuilder builder;
  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::vector<int64_t> arguments;
  std::vector<Sample> samples;

private:
  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }
  Sample constant(ArrayRef<int64_t> shape, int64_t number) {
    auto attribute = DenseElementsAttr::get(type(shape), builder.getI32IntegerAttr(number));
    return {arith::ConstantOp::create(builder, loc(), attribute),
            std::vector<int64_t>(attribute.getNumElements(), number)};
  }
  Sample leaf() {
    if (pick(3) != 0) {
      int64_t start = int64_t(pick(4)) * (1 << pick(5)) - (pick(3) == 0 ? 24 : 0);
      Sample made{
          tile::ArangeOp::create(builder, loc(), type({32}), int32_t(start), int32_t(start + 32)),
          {}};
      for (int64_t i = 0; i < 32; ++i)
        made.elements.push_back(start + i);
      return made;
    }
    unsigned i = pick(3);
    return {tile::SplatOp::create(builder, loc(), type({32}), function.getArgument(i)),
            std::vector<int64_t>(32, arguments[i])};
  }
  Sample splatLike(const Sample &sample) {
    if (pick(2) == 0)
      return constant(sample.shape(), int64_t(1) << pick(6));
    unsigned i = pick(3);
    return {tile::SplatOp::create(builder, loc(), type(sample.shape()), function.getArgument(i)),
            std::vector<int64_t>(sample.elements.size(), arguments[i])};
  }
  Sample reshaped();
  Sample arithmetic();
  Sample select(const Sample &lhs, const Sample &rhs);
  template <typename Op, typename Compute>
  Sample zip(const Sample &lhs, const Sample &rhs, Compute compute) {
    Sample made{Op::create(builder, loc(), lhs.value, rhs.value), {}};
    for (auto [left, right] : llvm::zip_equal(lhs.elements, rhs.elements))
      made.elements.push_back(compute(left, right));
    return made;
  }
};

/// A tile of two dimensions from one of one, or its transpose.
Sample Expressions::reshaped() {
  Sample from = samples[pick(samples.size())];
  if (from.shape().size() == 1) {
    unsigned axis = pick(2);
    int64_t other = int64_t(1) << (1 + pick(3)), extent = from.shape()[0];
    SmallVector<int64_t> thin = {extent, extent}, wide = thin;
    thin[axis] = 1;
    wide[axis] = other;
    Value expanded = tile::ExpandDimsOp::create(builder, loc(), type(thin), from.value, axis);
    Sample made{tile::BroadcastOp::create(builder, loc(), type(wide), expanded), {}};
    for (int64_t row = 0; row < wide[0]; ++row)
      for (int64_t column = 0; column < wide[1]; ++column)
        made.elements.push_back(from.elements[axis == 0 ? column : row]);
    return made;
  }
  SmallVector<int64_t> shape(from.shape()), swapped = {shape[1], shape[0]};
  Sample made{tile::TransOp::create(builder, loc(), type(swapped), from.value,
                                    builder.getDenseI32ArrayAttr({1, 0})),
              {}};
  for (int64_t column = 0; column < shape[1]; ++column)
    for (int64_t row = 0; row < shape[0]; ++row)
      made.elements.push_back(from.elements[row * shape[1] + column]);
  return made;
}

Sample Expressions::select(const Sample &lhs, const Sample &rhs) {
  using Predicate = arith::CmpIPredicate;
  auto predicate = Predicate(pick(6)); // eq, ne and the signed ones
  Value mask = arith::CmpIOp::create(builder, loc(), predicate, lhs.value, rhs.value);
  Sample made{arith::SelectOp::create(builder, loc(), mask, lhs.value, rhs.value), {}};
  for (auto [left, right] : llvm::zip_equal(lhs.elements, rhs.elements))
    made.elements.push_back(
        arith::applyCmpPredicate(predicate, APInt(64, left, true), APInt(64, right, true)) ? left
                                                                                           : right);
  return made;
}

Sample Expressions::arithmetic() {
  Sample lhs = samples[pick(samples.size())], rhs = splatLike(lhs);
  for (unsigned tries = 0; tries < 4; ++tries)
    if (const Sample &other = samples[pick(samples.size())]; other.shape() == lhs.shape()) {
      rhs = other;
      break;
    }
  int64_t power = int64_t(1) << pick(6);
  using L = int64_t;
  bool hasZero = llvm::is_contained(rhs.elements, 0);
  switch (pick(15)) {
  case 0:
    return zip<arith::SubIOp>(lhs, rhs, [](L a, L b) { return a - b; });
  case 1:
    return zip<arith::MulIOp>(lhs, splatLike(lhs), [](L a, L b) { return a * b; });
  case 2:
    return zip<arith::DivSIOp>(lhs, constant(lhs.shape(), power + pick(2)),
                               [](L a, L b) { return a / b; });
  case 3:
    return zip<arith::RemSIOp>(lhs, constant(lhs.shape(), power + pick(2)),
                               [](L a, L b) { return a % b; });
  case 4:
    return zip<arith::AndIOp>(lhs, constant(lhs.shape(), pick(2) ? power - 1 : -power),
                              [](L a, L b) { return a & b; });
  case 5:
    return zip<arith::ShRSIOp>(lhs, constant(lhs.shape(), pick(5)),
                               [](L a, L b) { return a >> b; });
  case 6:
    return zip<arith::MinSIOp>(lhs, rhs, [](L a, L b) { return std::min(a, b); });
  case 7:
    return select(lhs, rhs);
  case 8:
    return zip<arith::MaxSIOp>(lhs, rhs, [](L a, L b) { return std::max(a, b); });
  case 9:
    return zip<arith::OrIOp>(lhs, rhs, [](L a, L b) { return a | b; });
  case 10:
    return zip<arith::DivSIOp>(lhs, hasZero ? constant(lhs.shape(), 8) : rhs,
                               [](L a, L b) { return a / b; });
  case 11:
    return zip<arith::RemSIOp>(lhs, hasZero ? constant(lhs.shape(), 8) : rhs,
                               [](L a, L b) { return a % b; });
  case 12: {
    Sample rest =
        zip<arith::RemSIOp>(lhs, constant(lhs.shape(), power), [](L a, L b) { return a % b; });
    samples.push_back(rest);
    return zip<arith::SubIOp>(lhs, rest, [](L a, L b) { return a - b; });
  }
  default:
    return zip<arith::AddIOp>(lhs, rhs, [](L a, L b) { return a + b; });
  }
}

/// Checks one row of elements, `stride` apart, against the facts along their dimension.
void checkRow(const AxisAlignment &axis, const std::vector<int64_t> &elements, int64_t first,
              int64_t stride, int64_t extent) {
  auto at = [&](int64_t i) { return elements[first + i * stride]; };
  for (int64_t i = 0; i < extent; ++i) {
    if (i % axis.run == 0)
      EXPECT_EQ(at(i) % axis.divisibility, 0) << "first of a run at " << i;
    else
      EXPECT_EQ(at(i), at(i - 1) + 1) << "run at " << i;
    if (i % axis.constancy != 0)
      EXPECT_EQ(at(i), at(i - 1)) << "constancy at " << i;
  }
}

void check(const Alignment &alignment, const Sample &sample) {
  if (alignment.of(sample.value).isNonNegative)
    EXPECT_GE(*llvm::min_element(sample.elements), 0);
  int64_t stride = 1;
  ArrayRef<int64_t> shape = sample.shape();
  for (unsigned dim = shape.size(); dim-- > 0;) {
    for (int64_t first = 0; first < int64_t(sample.elements.size()); ++first)
      if (first / stride % shape[dim] == 0)
        checkRow(alignment.of(sample.value).axes[dim], sample.elements, first, stride, shape[dim]);
    stride *= shape[dim];
  }
}

/// The facts of %x, a tile or scalar of `type`, along `dim`.
AxisAlignment factsOf(const std::string &body, const std::string &type, unsigned dim = 0) {
  std::unique_ptr<MLIRContext> context = makeContext();
  std::string text = "func.func @f(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32,"
                     " %m: i32 {tile.divisibility = 16 : i64}) -> " +
                     type +
                     " {\n"
                     "%r = tile.arange 0 to 64 : tensor<64xi32>\n"
                     "%ns = tile.splat %n : i32 -> tensor<64xi32>\n"
                     "%ms = tile.splat %m : i32 -> tensor<64xi32>\n"
                     "%c8 = arith.constant dense<8> : tensor<64xi32>\n" +
                     body + "\nreturn %x : " + type + "\n}";
  auto module = parseSourceString<ModuleOp>(text, context.get());
  if (!module) {
    ADD_FAILURE() << "does not parse: " << text;
    return {};
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  return Alignment(function)
      .of(function.getBody().front().getTerminator()->getOperand(0))
      .axes[dim];
}

const std::string kTile = "tensor<64xi32>";
const std::string kIndices = "%pid = tile.program_id 0\n%c64 = arith.constant 64 : i32\n"
                             "%first = arith.muli %pid, %c64 : i32\n"
                             "%fs = tile.splat %first : i32 -> tensor<64xi32>\n"
                             "%i = arith.addi %fs, %r : tensor<64xi32>\n";
} // namespace

TEST(Alignment, BoundDivisibleBySixteenMasksGroupsOfSixteen) {
  std::string type = "tensor<64xi1>";
  auto masked = [&](const std::string &comparison) {
    return factsOf(kIndices + "%x = arith.cmpi " + comparison + " : tensor<64xi32>", type)
        .constancy;
  };
  EXPECT_EQ(masked("slt, %i, %ms"), 16);
  EXPECT_EQ(masked("sge, %i, %ms"), 16);
  EXPECT_EQ(masked("sgt, %ms, %i"), 16);
  EXPECT_EQ(masked("slt, %i, %ns"), 1);
  EXPECT_EQ(masked("sle, %i, %ms"), 1);
}

TEST(Alignment, PointersCountBytes) {
  AxisAlignment facts =
      factsOf(kIndices + "%ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>\n"
                         "%x = tile.addptr %ps, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>",
              "tensor<64x!tile.ptr<f32>>");
  EXPECT_EQ(facts.run, 64);
  EXPECT_EQ(facts.divisibility, 16);
}

TEST(Alignment, QuotientsOfRunsAreEqualAndRemaindersAreRuns) {
  EXPECT_EQ(factsOf(kIndices + "%x = arith.divsi %i, %c8 : tensor<64xi32>", kTile).constancy, 8);
  EXPECT_EQ(factsOf(kIndices + "%x = arith.remsi %i, %c8 : tensor<64xi32>", kTile).run, 8);
  EXPECT_EQ(factsOf(kIndices + "%x = arith.remsi %i, %ms : tensor<64xi32>", kTile).run, 16);
  // Of numbers that may be negative, the group before a multiple ends with it.
  std::string shifted = "%i = arith.addi %ms, %r : tensor<64xi32>\n";
  EXPECT_EQ(factsOf(shifted + "%x = arith.divsi %i, %c8 : tensor<64xi32>", kTile).constancy, 1);
  EXPECT_EQ(factsOf(shifted + "%x = arith.remsi %i, %c8 : tensor<64xi32>", kTile).run, 1);
}

TEST(Alignment, RemaindersOfIndicesOfGroupedProgramsAreRuns) {
  auto runOf = [&](const std::string &columns, const std::string &rest, const std::string &size) {
    return factsOf("%pid = tile.program_id 0\n%c4 = arith.constant 4 : i32\n"
                   "%c64 = arith.constant 64 : i32\n%rows = tile.num_programs 1\n"
                   "%columns = " +
                       columns +
                       "\n%group = arith.divsi %pid, %columns : i32\n"
                       "%first = arith.muli %group, %c4 : i32\n"
                       "%rest = arith.subi " +
                       rest + " : i32\n%size = arith.minsi %rest, " + size +
                       " : i32\n%column = arith.divsi %pid, %size : i32\n"
                       "%start = arith.muli %column, %c64 : i32\n"
                       "%ss = tile.splat %start : i32 -> tensor<64xi32>\n"
                       "%i = arith.addi %ss, %r : tensor<64xi32>\n"
                       "%x = arith.remsi %i, %ms : tensor<64xi32>",
                   kTile)
        .run;
  };
  const std::string known = "tile.num_programs 2", unknown = "arith.addi %n, %c4 : i32";
  EXPECT_EQ(runOf(known, "%rows, %first", "%c4"), 16);
  // By its form, whatever the signs of the numbers of rows and columns.
  EXPECT_EQ(runOf(unknown, "%rows, %first", "%c4"), 16);
  EXPECT_EQ(runOf(known, "%n, %first", "%c4"), 16);
  // Other differences may be negative.
  EXPECT_EQ(runOf(known, "%rows, %first", "%c64"), 1);
  EXPECT_EQ(runOf(known, "%rows, %columns", "%c4"), 1);
}

TEST(Alignment, WhatIsLeftOfAQuotientIsNotNegative) {
  auto runOf = [&](const std::string &whole) {
    return factsOf("%pid = tile.program_id 0\n%c64 = arith.constant 64 : i32\n"
                   "%q = arith.divsi %pid, %n : i32\n%whole = arith.muli " +
                       whole +
                       " : i32\n%rest = arith.subi %pid, %whole : i32\n"
                       "%start = arith.muli %rest, %c64 : i32\n"
                       "%ss = tile.splat %start : i32 -> tensor<64xi32>\n"
                       "%i = arith.addi %ss, %r : tensor<64xi32>\n"
                       "%x = arith.remsi %i, %ms : tensor<64xi32>",
                   kTile)
        .run;
  };
  EXPECT_EQ(runOf("%q, %n"), 16);
  EXPECT_EQ(runOf("%n, %q"), 16);
  EXPECT_EQ(runOf("%q, %m"), 1);
}

TEST(Alignment, NumbersOfProgramsThatAreNotNegative) {
  auto runOf = [&](const std::string &program) {
    return factsOf("%pid = tile.program_id 0\n%np = tile.num_programs 0\n"
                   "%others = tile.num_programs 1\n%c1 = arith.constant 1 : i32\n"
                   "%c64 = arith.constant 64 : i32\n" +
                       program +
                       "\n%start = arith.muli %own, %c64 : i32\n"
                       "%ss = tile.splat %start : i32 -> tensor<64xi32>\n"
                       "%i = arith.addi %ss, %r : tensor<64xi32>\n"
                       "%x = arith.remsi %i, %ms : tensor<64xi32>",
                   kTile)
        .run;
  };
  const std::string last = "%last = arith.subi %np, %c1 : i32\n";
  EXPECT_EQ(runOf(last + "%own = arith.subi %last, %pid : i32"), 16);
  EXPECT_EQ(runOf(last + "%own = arith.subi %others, %pid : i32"), 1);
  EXPECT_EQ(runOf(last + "%own = arith.subi %last, %others : i32"), 1);
  const std::string sum = last + "%sum = arith.addi %pid, %last : i32\n";
  EXPECT_EQ(runOf(sum + "%own = arith.divsi %sum, %np : i32"), 16);
  EXPECT_EQ(runOf(sum + "%own = arith.divsi %sum, %others : i32"), 1);
  EXPECT_EQ(runOf("%sum = arith.addi %n, %c64 : i32\n%own = arith.divsi %sum, %np : i32"), 1);
}

TEST(Alignment, LoopsThatTestAConditionKeepWhatTheirStepsKeep) {
  auto runOf = [&](const std::string &step) {
    return factsOf("%pid = tile.program_id 0\n%np = tile.num_programs 0\n"
                   "%z = arith.constant dense<0> : tensor<64xi32>\n"
                   "%c64 = arith.constant 64 : i32\n"
                   "%w:2 = scf.while (%t = %pid, %a = %z) : (i32, tensor<64xi32>) -> (i32, "
                   "tensor<64xi32>) {\n"
                   "%more = arith.cmpi slt, %t, %n : i32\n"
                   "scf.condition(%more) %t, %a : i32, tensor<64xi32>\n} do {\n"
                   "^bb0(%t: i32, %a: tensor<64xi32>):\n"
                   "%start = arith.muli %t, %c64 : i32\n"
                   "%ss = tile.splat %start : i32 -> tensor<64xi32>\n"
                   "%i = arith.addi %ss, %r : tensor<64xi32>\n"
                   "%b = arith.remsi %i, %ms : tensor<64xi32>\n"
                   "%u = " +
                       step +
                       " : i32\nscf.yield %u, %b : i32, tensor<64xi32>\n}\n"
                       "%one = arith.constant dense<1> : tensor<64xi32>\n"
                       "%start2 = arith.muli %w#0, %c64 : i32\n"
                       "%s2 = tile.splat %start2 : i32 -> tensor<64xi32>\n"
                       "%i2 = arith.addi %s2, %r : tensor<64xi32>\n"
                       "%x = arith.remsi %i2, %ms : tensor<64xi32>",
                   kTile)
        .run;
  };
  EXPECT_EQ(runOf("arith.addi %t, %np"), 16);
  EXPECT_EQ(runOf("arith.subi %t, %np"), 1);
  EXPECT_EQ(runOf("arith.addi %t, %n"), 1);
}

TEST(Alignment, ProductsThatAreMeantToWrapHaveNoSign) {
  auto runOf = [&](const std::string &factor) {
    return factsOf("%pid = tile.program_id 0\n%f = arith.constant " + factor +
                       " : i32\n%start = arith.muli %pid, %f : i32\n"
                       "%ss = tile.splat %start : i32 -> tensor<64xi32>\n"
                       "%i = arith.addi %ss, %r : tensor<64xi32>\n"
                       "%x = arith.remsi %i, %ms : tensor<64xi32>",
                   kTile)
        .run;
  };
  EXPECT_EQ(runOf("1024"), 16);
  EXPECT_EQ(runOf("1103515248"), 1);
}

TEST(Alignment, CarriedSumKeepsTheDivisibilityOfItsSteps) {
  auto carried = [](const std::string &step) {
    return factsOf("%z = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
                   "%s = arith.constant " +
                       step +
                       " : i32\n"
                       "%x = scf.for %k = %z to %n step %one iter_args(%a = %z) -> (i32) : i32 {\n"
                       "%b = arith.addi %a, %s : i32\nscf.yield %b : i32\n}",
                   "i32");
  };
  EXPECT_EQ(carried("32").divisibility, 32);
  EXPECT_EQ(carried("12").divisibility, 4);
}

TEST(Alignment, RowsOfAMatrixAreRunsAndItsColumnsAreNot) {
  std::string body = "%c = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>\n"
                     "%ms1 = tile.splat %m : i32 -> tensor<64x1xi32>\n"
                     "%s = arith.muli %c, %ms1 : tensor<64x1xi32>\n"
                     "%cb = tile.broadcast %s : tensor<64x1xi32> -> tensor<64x64xi32>\n"
                     "%e = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>\n"
                     "%eb = tile.broadcast %e : tensor<1x64xi32> -> tensor<64x64xi32>\n"
                     "%x = arith.addi %cb, %eb : tensor<64x64xi32>";
  EXPECT_EQ(factsOf(body, "tensor<64x64xi32>", 0).run, 1);
  EXPECT_EQ(factsOf(body, "tensor<64x64xi32>", 1).run, 64);
  EXPECT_EQ(factsOf(body, "tensor<64x64xi32>", 1).divisibility, 16);
}

TEST(Alignment, HintsRaiseFacts) {
  AxisAlignment facts = factsOf("%x = tile.hint %ns {divisibility = array<i64: 32>,"
                                " contiguity = array<i64: 8>} : tensor<64xi32>",
                                kTile);
  EXPECT_EQ(facts.run, 8);
  EXPECT_EQ(facts.divisibility, 32);
}

TEST(Alignment, TheLowestNumberIsAPowerOfTwo) {
  AxisAlignment facts = factsOf("%x = arith.constant -9223372036854775808 : i64", "i64");
  EXPECT_EQ(facts.divisibility, kMaxDivisibility);
}

TEST(Alignment, AssumptionsRaiseFacts) {
  const std::string constants = "%c0 = arith.constant 0 : i32\n%c32 = arith.constant 32 : i32\n"
                                "%c31 = arith.constant 31 : i32\n%c30 = arith.constant 30 : i32\n";
  auto divisibility = [&](const std::string &remainder, const std::string &predicate) {
    return factsOf(constants + "%rest = " + remainder + " : i32\n%is = arith.cmpi " + predicate +
                       ", %rest, %c0 : i32\ntile.assume %is\n%x = arith.muli %n, %c32 : i32",
                   "i32")
        .divisibility;
  };
  EXPECT_EQ(divisibility("arith.remsi %n, %c32", "eq"), 32 * 32);
  EXPECT_EQ(divisibility("arith.remui %n, %c32", "eq"), 32 * 32);
  EXPECT_EQ(divisibility("arith.andi %n, %c31", "eq"), 32 * 32);
  EXPECT_EQ(divisibility("arith.andi %n, %c30", "eq"), 32); // says nothing of the last bit
  EXPECT_EQ(divisibility("arith.remsi %n, %c32", "ne"), 32);
}

TEST(Alignment, AssumedSignTellsHowQuotientsRound) {
  auto constancy = [&](const std::string &assumption) {
    return factsOf("%c0 = arith.constant 0 : i32\n%is = arith.cmpi " + assumption +
                       ", %m, %c0 : i32\ntile.assume %is\n"
                       "%known = tile.splat %m : i32 -> tensor<64xi32>\n"
                       "%i = arith.addi %known, %r : tensor<64xi32>\n"
                       "%x = arith.divsi %i, %c8 : tensor<64xi32>",
                   kTile)
        .constancy;
  };
  EXPECT_EQ(constancy("sge"), 8);
  EXPECT_EQ(constancy("sgt"), 8);
  EXPECT_EQ(constancy("slt"), 1);
}

TEST(Alignment, AssumptionsInBranchesHoldThereOnly) {
  EXPECT_EQ(factsOf("%c0 = arith.constant 0 : i32\n%c32 = arith.constant 32 : i32\n"
                    "%rest = arith.remsi %n, %c32 : i32\n%is = arith.cmpi eq, %rest, %c0 : i32\n"
                    "scf.if %is {\ntile.assume %is\n}\n%x = arith.muli %n, %c32 : i32",
                    "i32")
                .divisibility,
            32);
}

TEST(Alignment, NeverContradictsRandomArithmetic) {
  unsigned seed = std::random_device()();
  std::unique_ptr<MLIRContext> context = makeContext();
  for (unsigned round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    Expressions expressions(seed + round, context.get());
    for (unsigned step = 0; step < 14; ++step)
      expressions.grow();
    Alignment alignment(expressions.function);
    for (const Sample &sample : expressions.samples)
      check(alignment, sample);
    if (testing::Test::HasFailure())
      expressions.function.dump();
    func::ReturnOp::create(expressions.builder, expressions.loc());
  }
}
