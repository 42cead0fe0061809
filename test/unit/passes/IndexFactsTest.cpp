// Facts of groups of neighbours: single cases that wide accesses depend on are known as well as
// possible.
#include "passes/analysis/IndexFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/passes/TileContext.h"
#include <gtest/gtest.h>

using namespace tw;
using namespace mlir;

namespace {
/// The facts of %x, a tile or scalar of `type`, along `dim`.
AxisFacts factsOf(const std::string &body, const std::string &type, unsigned dim = 0) {
  std::unique_ptr<MLIRContext> context = test::makeTileContext();
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
  return IndexFacts(function)
      .of(function.getBody().front().getTerminator()->getOperand(0))
      .axes[dim];
}

const std::string kTile = "tensor<64xi32>";
const std::string kIndices = "%pid = tile.program_id 0\n%c64 = arith.constant 64 : i32\n"
                             "%first = arith.muli %pid, %c64 : i32\n"
                             "%fs = tile.splat %first : i32 -> tensor<64xi32>\n"
                             "%i = arith.addi %fs, %r : tensor<64xi32>\n";
} // namespace

TEST(IndexFacts, BoundDivisibleBySixteenMasksGroupsOfSixteen) {
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

TEST(IndexFacts, PointersCountBytes) {
  AxisFacts facts =
      factsOf(kIndices + "%ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>\n"
                         "%x = tile.addptr %ps, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>",
              "tensor<64x!tile.ptr<f32>>");
  EXPECT_EQ(facts.run, 64);
  EXPECT_EQ(facts.divisibility, 16);
}

TEST(IndexFacts, QuotientsOfRunsAreEqualAndRemaindersAreRuns) {
  EXPECT_EQ(factsOf(kIndices + "%x = arith.divsi %i, %c8 : tensor<64xi32>", kTile).constancy, 8);
  EXPECT_EQ(factsOf(kIndices + "%x = arith.remsi %i, %c8 : tensor<64xi32>", kTile).run, 8);
  EXPECT_EQ(factsOf(kIndices + "%x = arith.remsi %i, %ms : tensor<64xi32>", kTile).run, 16);
  // Of numbers that may be negative, the group before a multiple ends with it.
  std::string shifted = "%i = arith.addi %ms, %r : tensor<64xi32>\n";
  EXPECT_EQ(factsOf(shifted + "%x = arith.divsi %i, %c8 : tensor<64xi32>", kTile).constancy, 1);
  EXPECT_EQ(factsOf(shifted + "%x = arith.remsi %i, %c8 : tensor<64xi32>", kTile).run, 1);
}

TEST(IndexFacts, RemaindersOfIndicesOfGroupedProgramsAreRuns) {
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

TEST(IndexFacts, WhatIsLeftOfAQuotientIsNotNegative) {
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

TEST(IndexFacts, NumbersOfProgramsThatAreNotNegative) {
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

TEST(IndexFacts, LoopsThatTestAConditionKeepWhatTheirStepsKeep) {
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

TEST(IndexFacts, ProductsThatAreMeantToWrapHaveNoSign) {
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

TEST(IndexFacts, CarriedSumKeepsTheDivisibilityOfItsSteps) {
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

TEST(IndexFacts, RowsOfAMatrixAreRunsAndItsColumnsAreNot) {
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

TEST(IndexFacts, HintsRaiseFacts) {
  AxisFacts facts = factsOf("%x = tile.hint %ns {divisibility = array<i64: 32>,"
                            " contiguity = array<i64: 8>} : tensor<64xi32>",
                            kTile);
  EXPECT_EQ(facts.run, 8);
  EXPECT_EQ(facts.divisibility, 32);
}

TEST(IndexFacts, TheLowestNumberIsAPowerOfTwo) {
  AxisFacts facts = factsOf("%x = arith.constant -9223372036854775808 : i64", "i64");
  EXPECT_EQ(facts.divisibility, kMaxDivisibility);
}

TEST(IndexFacts, AssumptionsRaiseFacts) {
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

TEST(IndexFacts, AssumedSignTellsHowQuotientsRound) {
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

TEST(IndexFacts, AssumptionsInBranchesHoldThereOnly) {
  EXPECT_EQ(factsOf("%c0 = arith.constant 0 : i32\n%c32 = arith.constant 32 : i32\n"
                    "%rest = arith.remsi %n, %c32 : i32\n%is = arith.cmpi eq, %rest, %c0 : i32\n"
                    "scf.if %is {\ntile.assume %is\n}\n%x = arith.muli %n, %c32 : i32",
                    "i32")
                .divisibility,
            32);
}
