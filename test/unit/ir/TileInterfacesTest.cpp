// What operations answer through their interfaces, which is all that most passes ask of them.
#include "ir/RegisterDialects.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tw::tile;
using mlir::Operation;

namespace {
/// A function of one operation after some that make its operands.
struct TileInterfaces : testing::Test {
  TileInterfaces() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    tw::registerTileDialects(registry);
    return registry;
  }

  /// The last operation of a body.
  Operation *last(const std::string &body) {
    std::string text =
        "func.func @f(%p: !tile.ptr<f32>, %q: !tile.ptr<i32>, %x: f32, %i: i32, %c: i1,"
        " %t: tensor<4x8xf32>) {\n" +
        body + "\n return\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "does not parse: " << text;
      return nullptr;
    }
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return function.getBody().front().getTerminator()->getPrevNode();
  }

  std::optional<llvm::SmallVector<int>> sourceDims(const std::string &op) {
    return llvm::cast<ShapeOp>(last(op)).getSourceDims();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Dims = llvm::SmallVector<int>;
} // namespace

TEST_F(TileInterfaces, LoadsReadAndNothingElse) {
  auto access =
      llvm::cast<MemoryAccess>(last("%r = tile.load %p mask %c : i1 : !tile.ptr<f32> -> f32"));
  EXPECT_TRUE(access.readsMemory() && !access.writesMemory() && !access.isAtomic());
  EXPECT_FALSE(access.isOrdered());
  EXPECT_EQ(access.getPointers(), access->getOperand(0));
  EXPECT_EQ(access.getAccessMask(), access->getOperand(1));
  EXPECT_FALSE(access.getWrittenValue());
}

TEST_F(TileInterfaces, StoresWriteAndNothingElse) {
  auto access = llvm::cast<MemoryAccess>(last("tile.store %p, %x : !tile.ptr<f32>, f32"));
  EXPECT_TRUE(!access.readsMemory() && access.writesMemory() && !access.isAtomic());
  EXPECT_TRUE(access.isOrdered());
  EXPECT_EQ(access.getWrittenValue(), access->getOperand(1));
  EXPECT_FALSE(access.getAccessMask());
}

TEST_F(TileInterfaces, AtomicsReadAndWriteUnlessTheyOnlyLoad) {
  auto add = llvm::cast<MemoryAccess>(
      last("%r = tile.atomic_rmw add, %q, %i {order = 0 : i32} : !tile.ptr<i32>, i32 -> i32"));
  EXPECT_TRUE(add.readsMemory() && add.writesMemory() && add.isAtomic());
  EXPECT_EQ(add.getAtomicOrder(), MemoryOrder::Relaxed);
  auto load = llvm::cast<MemoryAccess>(
      last("%r = tile.atomic_rmw load, %q, %i : !tile.ptr<i32>, i32 -> i32"));
  EXPECT_TRUE(load.readsMemory() && !load.writesMemory());
  EXPECT_TRUE(load.isAtomic() && load.isOrdered());
  auto cas =
      llvm::cast<MemoryAccess>(last("%r = tile.atomic_cas %q, %i, %i : !tile.ptr<i32>, i32"));
  EXPECT_TRUE(cas.readsMemory() && cas.writesMemory() && cas.isAtomic());
  EXPECT_EQ(cas.getAtomicOrder(), MemoryOrder::AcqRel);
}

TEST_F(TileInterfaces, AtomicsSayWhatTheyStoreAndWhen) {
  auto add = llvm::cast<MemoryAccess>(
      last("%r = tile.atomic_rmw umax, %q, %i {scope = 0 : i32} : !tile.ptr<i32>, i32 -> i32"));
  EXPECT_EQ(add.getAtomicKind(), AtomicKind::UMax);
  EXPECT_EQ(add.getAtomicScope(), MemoryScope::CTA);
  EXPECT_FALSE(add.getExpectedValue());
  auto cas = llvm::cast<MemoryAccess>(
      last("%j = arith.addi %i, %i : i32\n%r = tile.atomic_cas %q, %j, %i : !tile.ptr<i32>, i32"));
  EXPECT_EQ(cas.getAtomicKind(), AtomicKind::Xchg);
  EXPECT_EQ(cas.getAtomicScope(), MemoryScope::GPU);
  EXPECT_EQ(cas.getExpectedValue(), cas->getOperand(1));
  EXPECT_EQ(cas.getWrittenValue(), cas->getOperand(2));
}

TEST_F(TileInterfaces, ShapesSayWhereIndicesComeFrom) {
  EXPECT_EQ(sourceDims("%r = tile.splat %x : f32 -> tensor<4x2xf32>"), Dims({-1, -1}));
  EXPECT_EQ(sourceDims("%r = tile.expand_dims %t axis 1 : tensor<4x8xf32> -> tensor<4x1x8xf32>"),
            Dims({0, -1, 1}));
  EXPECT_EQ(sourceDims("%u = tile.expand_dims %t axis 1 : tensor<4x8xf32> -> tensor<4x1x8xf32>\n"
                       "%r = tile.broadcast %u : tensor<4x1x8xf32> -> tensor<4x2x8xf32>"),
            Dims({0, -1, 2}));
  EXPECT_EQ(sourceDims("%r = tile.trans %t [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>"),
            Dims({1, 0}));
}

TEST_F(TileInterfaces, ReshapesHandOnIndicesWhereOnlyExtentsOfOneComeOrGo) {
  EXPECT_EQ(sourceDims("%r = tile.reshape %t : tensor<4x8xf32> -> tensor<1x4x1x8xf32>"),
            Dims({-1, 0, -1, 1}));
  EXPECT_EQ(sourceDims("%u = tile.reshape %t : tensor<4x8xf32> -> tensor<1x32x1xf32>\n"
                       "%r = tile.reshape %u : tensor<1x32x1xf32> -> tensor<32xf32>"),
            Dims({1}));
  EXPECT_EQ(sourceDims("%r = tile.reshape %t : tensor<4x8xf32> -> tensor<8x4xf32>"), std::nullopt);
  EXPECT_EQ(sourceDims("%r = tile.reshape %t : tensor<4x8xf32> -> tensor<32xf32>"), std::nullopt);
}

TEST_F(TileInterfaces, FoldsCommuteByPromiseOrByWhatTheyDo) {
  auto fold = [&](const std::string &promise, const std::string &combine) {
    return llvm::cast<CombiningRegion>(
               last("%r = tile.reduce(%t) axis 1 " + promise + "{\n^bb0(%a: f32, %b: f32):\n" +
                    combine + "\n tile.yield %s : f32\n} : (tensor<4x8xf32>) -> tensor<4xf32>"))
        .isCommutative();
  };
  EXPECT_TRUE(fold("", "%s = arith.addf %a, %b : f32"));
  EXPECT_TRUE(fold("", "%s = arith.maxnumf %b, %a : f32"));
  EXPECT_FALSE(fold("", "%s = arith.subf %a, %b : f32"));
  EXPECT_FALSE(fold("", "%s = arith.addf %a, %a : f32"));
  EXPECT_TRUE(fold("commutative ", "%s = arith.subf %a, %b : f32"));
}
