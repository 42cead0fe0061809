// Facts of index and pointer tiles: each case states what a line of Tile IR must be known to do.
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "passes/analysis/IndexFacts.h"
#include "test/unit/passes/TileContext.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
/// Parses a function body that ends in `return %x` and answers how %x changes along a dimension.
AxisChange changeOf(const std::string &body, const std::string &type, unsigned dim) {
  std::unique_ptr<mlir::MLIRContext> context = test::makeTileContext();
  std::string text = "func.func @f(%p: !tile.ptr<f32>, %n: i32) -> " + type + " {\n" + body +
                     "\n return %x : " + type + "\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module) {
    ADD_FAILURE() << "does not parse: " << text;
    return {};
  }
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  return IndexFacts(function).along(function.getBody().front().getTerminator()->getOperand(0), dim);
}

const std::string kRange = "%r = tile.arange 0 to 16 : tensor<16xi32>\n"
                           "%ns = tile.splat %n : i32 -> tensor<16xi32>\n";
} // namespace

TEST(IndexChanges, SumOfRangeAndScalarStepsByOne) {
  EXPECT_TRUE(
      changeOf(kRange + "%x = arith.addi %r, %ns : tensor<16xi32>", "tensor<16xi32>", 0).isUnit());
}

TEST(IndexChanges, DifferenceOfRangesDoesNotVary) {
  EXPECT_TRUE(changeOf(kRange + "%x = arith.subi %r, %r : tensor<16xi32>", "tensor<16xi32>", 0)
                  .isInvariant());
}

TEST(IndexChanges, ProductWithConstantScalesTheStep) {
  AxisChange change = changeOf(kRange + "%c = arith.constant dense<3> : tensor<16xi32>\n"
                                        "%x = arith.muli %c, %r : tensor<16xi32>",
                               "tensor<16xi32>", 0);
  EXPECT_EQ(change, AxisChange::constant(3));
}

TEST(IndexChanges, ProductWithScalarIsAffine) {
  AxisChange change =
      changeOf(kRange + "%x = arith.muli %r, %ns : tensor<16xi32>", "tensor<16xi32>", 0);
  EXPECT_EQ(change.kind, AxisChange::Affine);
}

TEST(IndexChanges, SquareIsUnknown) {
  EXPECT_EQ(changeOf(kRange + "%x = arith.muli %r, %r : tensor<16xi32>", "tensor<16xi32>", 0).kind,
            AxisChange::Unknown);
}

TEST(IndexChanges, RemainderWraps) {
  EXPECT_EQ(
      changeOf(kRange + "%x = arith.remsi %r, %ns : tensor<16xi32>", "tensor<16xi32>", 0).kind,
      AxisChange::WrappedUnit);
}

TEST(IndexChanges, DoubledWrapIsUnknown) {
  EXPECT_EQ(changeOf(kRange + "%w = arith.remsi %r, %ns : tensor<16xi32>\n"
                              "%x = arith.addi %w, %w : tensor<16xi32>",
                     "tensor<16xi32>", 0)
                .kind,
            AxisChange::Unknown);
}

TEST(IndexChanges, TwoDimensionalPointersKeepEachDimensionsStep) {
  std::string body = kRange + R"(
    %row = tile.expand_dims %r axis 1 : tensor<16xi32> -> tensor<16x1xi32>
    %n1 = tile.splat %n : i32 -> tensor<16x1xi32>
    %rows = arith.muli %row, %n1 : tensor<16x1xi32>
    %rb = tile.broadcast %rows : tensor<16x1xi32> -> tensor<16x16xi32>
    %col = tile.expand_dims %r axis 0 : tensor<16xi32> -> tensor<1x16xi32>
    %cb = tile.broadcast %col : tensor<1x16xi32> -> tensor<16x16xi32>
    %o = arith.addi %rb, %cb : tensor<16x16xi32>
    %ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
    %q = tile.addptr %ps, %o : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
    %x = tile.trans %q [1, 0] : tensor<16x16x!tile.ptr<f32>> -> tensor<16x16x!tile.ptr<f32>>)";
  std::string type = "tensor<16x16x!tile.ptr<f32>>";
  EXPECT_TRUE(changeOf(body, type, 0).isUnit());
  EXPECT_EQ(changeOf(body, type, 1).kind, AxisChange::Affine);
}

TEST(IndexChanges, PromisedContiguityCounts) {
  EXPECT_TRUE(changeOf(kRange + "%w = arith.remsi %r, %ns : tensor<16xi32>\n"
                                "%x = tile.hint %w {contiguity = array<i64: 16>} : tensor<16xi32>",
                       "tensor<16xi32>", 0)
                  .isUnit());
}
