// Registers that one access covers: their addresses are consecutive, and no wider groups are
// claimed than the facts allow.
#include "passes/simt/layout/Coalescing.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "passes/simt/LayoutRules.h"
#include "test/unit/passes/TileContext.h"
#include <gtest/gtest.h>

using namespace tw;
using namespace tw::simt;
using namespace mlir;

namespace {
/// The groups of an access to row-major f16 tiles of 8 x 64 whose rows are `stride` elements apart.
VectorAccess accessWith(const LinearLayout &layout, int64_t stride, int64_t addressDivisibility) {
  std::unique_ptr<MLIRContext> context = test::makeTileContext();
  std::string text = R"(
    func.func @f(%p: !tile.ptr<f16> {tile.divisibility = DIV : i64}) -> tensor<8x64x!tile.ptr<f16>> {
      %r = tile.arange 0 to 8 : tensor<8xi32>
      %c = tile.arange 0 to 64 : tensor<64xi32>
      %r2 = tile.expand_dims %r axis 1 : tensor<8xi32> -> tensor<8x1xi32>
      %c2 = tile.expand_dims %c axis 0 : tensor<64xi32> -> tensor<1x64xi32>
      %s = arith.constant dense<STRIDE> : tensor<8x1xi32>
      %rs = arith.muli %r2, %s : tensor<8x1xi32>
      %rb = tile.broadcast %rs : tensor<8x1xi32> -> tensor<8x64xi32>
      %cb = tile.broadcast %c2 : tensor<1x64xi32> -> tensor<8x64xi32>
      %i = arith.addi %rb, %cb : tensor<8x64xi32>
      %ps = tile.splat %p : !tile.ptr<f16> -> tensor<8x64x!tile.ptr<f16>>
      %x = tile.addptr %ps, %i : tensor<8x64x!tile.ptr<f16>>, tensor<8x64xi32>
      return %x : tensor<8x64x!tile.ptr<f16>>
    })";
  text.replace(text.find("DIV"), 3, std::to_string(addressDivisibility));
  text.replace(text.find("STRIDE"), 6, std::to_string(stride));
  auto module = parseSourceString<ModuleOp>(text, context.get());
  auto function = *module->getOps<func::FuncOp>().begin();
  Value ptr = function.getBody().front().getTerminator()->getOperand(0);
  return vectorAccess(IndexFacts(function), ptr, {}, layout, 128);
}

LinearLayout rows(unsigned vector, llvm::ArrayRef<int32_t> order) {
  return accessLayout({8, 64}, {order, vector, 8, std::nullopt}, Threads{32, 1});
}
} // namespace

TEST(Coalescing, GroupsAreNeighboursInMemory) {
  LinearLayout layout = rows(8, {1, 0});
  VectorAccess access = accessWith(layout, 64, 16);
  ASSERT_EQ(access.vector, 8u);
  ASSERT_EQ(access.registers.size(), layout.size(Place::Register));
  for (unsigned i = 0; i < access.registers.size(); ++i)
    for (uint32_t lane : {0u, 5u, 31u}) {
      uint32_t first = layout.element(access.registers[i / 8 * 8], lane, 0);
      EXPECT_EQ(first % 8, 0u);
      EXPECT_EQ(layout.element(access.registers[i], lane, 0), first + i % 8);
    }
}

TEST(Coalescing, OddStrideAllowsSingleElements) {
  EXPECT_EQ(accessWith(rows(8, {1, 0}), 65, 16).vector, 1u);
  EXPECT_EQ(accessWith(rows(8, {1, 0}), 68, 16).vector, 4u);
}

TEST(Coalescing, AlignmentOfTheAddressCountsInBytes) {
  EXPECT_EQ(accessWith(rows(8, {1, 0}), 64, 8).vector, 4u);
  EXPECT_EQ(accessWith(rows(8, {1, 0}), 64, 1).vector, 1u);
}

TEST(Coalescing, RegistersAlongColumnsAreNoNeighbours) {
  EXPECT_EQ(accessWith(rows(8, {0, 1}), 64, 16).vector, 1u);
}

TEST(Coalescing, WarpCoversWholeLines) {
  // 8 lanes of 16 bytes each fill a line of 128 bytes before the next row begins.
  LinearLayout layout = rows(8, {1, 0});
  for (uint32_t lane = 0; lane < 8; ++lane)
    EXPECT_EQ(layout.element(0, lane, 0), lane * 8);
  EXPECT_EQ(layout.element(0, 8, 0), 64u);
}
