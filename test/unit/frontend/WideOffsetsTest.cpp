// Offsets into arrays beyond 32 bits: computed in 64 bits from where their numbers begin, and only
// those.
#include "frontend/tiles/WideOffsets.h"
#include "ir/RegisterDialects.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace tw;

namespace {
/// A kernel of text, widened.
struct Widened {
  explicit Widened(llvm::StringRef body, llvm::StringRef fact = "{tile.large}")
      : context([] {
          mlir::DialectRegistry registry;
          registerTileDialects(registry);
          return registry;
        }()) {
    std::string source = ("func.func @k(%p: !tile.ptr<f32> " + fact +
                          ", %q: !tile.ptr<f32>, %n: i32, %c: i1) {\n" + body + "\nreturn\n}")
                             .str();
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    if (!module)
      return;
    widenOffsets(*module->getOps<mlir::func::FuncOp>().begin());
    isValid = mlir::succeeded(mlir::verify(*module));
    llvm::raw_string_ostream stream(text);
    module->print(stream);
  }
  bool has(llvm::StringRef part) const { return llvm::StringRef(text).contains(part); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  bool isValid = false;
  std::string text;
};
} // namespace

static constexpr llvm::StringLiteral kProduct = R"(
  %i = tile.program_id 0
  %o = arith.muli %i, %n : i32
  %a = tile.addptr %p, %o : !tile.ptr<f32>, i32
  tile.store %a, %zero : !tile.ptr<f32>, f32)";

static std::string withZero(llvm::StringRef body) {
  return ("%zero = arith.constant 0.0 : f32\n" + body).str();
}

TEST(WideOffsetsTest, AProductIsOfWideFactors) {
  Widened kernel(withZero(kProduct));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has("arith.extsi") && kernel.has("i32 to i64")) << kernel.text;
  EXPECT_TRUE(kernel.has("!tile.ptr<f32>, i64")) << kernel.text;
  EXPECT_FALSE(kernel.has("!tile.ptr<f32>, i32")) << kernel.text;
}

TEST(WideOffsetsTest, WithoutALargeArgumentNothingChanges) {
  Widened kernel(withZero(kProduct), "");
  ASSERT_TRUE(kernel.isValid);
  EXPECT_FALSE(kernel.has("i64")) << kernel.text;
}

TEST(WideOffsetsTest, OffsetsOfOtherArgumentsStay) {
  Widened kernel(R"(
    %a = tile.addptr %q, %n : !tile.ptr<f32>, i32
    %v = tile.load %a : !tile.ptr<f32> -> f32
    %b = tile.addptr %p, %n : !tile.ptr<f32>, i32
    tile.store %b, %v : !tile.ptr<f32>, f32)");
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has("tile.addptr %arg1, %arg2 : !tile.ptr<f32>, i32")) << kernel.text;
  EXPECT_TRUE(kernel.has("!tile.ptr<f32>, i64")) << kernel.text;
}

TEST(WideOffsetsTest, ALoopCarriesAWideOffset) {
  Widened kernel(withZero(R"(
    %one = arith.constant 1 : i32
    %from = arith.constant 0 : i32
    %end = scf.for %j = %from to %n step %one iter_args(%o = %from) -> (i32) : i32 {
      %a = tile.addptr %p, %o : !tile.ptr<f32>, i32
      tile.store %a, %zero : !tile.ptr<f32>, f32
      %next = arith.addi %o, %n : i32
      scf.yield %next : i32
    })"));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has("-> (i64)")) << kernel.text;
  EXPECT_TRUE(kernel.has("!tile.ptr<f32>, i64")) << kernel.text;
}

TEST(WideOffsetsTest, OtherUsesOfACarriedOffsetKeepTheirBits) {
  Widened kernel(withZero(R"(
    %o = scf.if %c -> (i32) {
      %m = arith.addi %n, %n : i32
      scf.yield %m : i32
    } else {
      scf.yield %n : i32
    }
    %a = tile.addptr %p, %o : !tile.ptr<f32>, i32
    %f = arith.sitofp %o : i32 to f32
    tile.store %a, %f : !tile.ptr<f32>, f32)"));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has("scf.if %arg3 -> (i64)")) << kernel.text;
  EXPECT_TRUE(kernel.has("arith.trunci")) << kernel.text;
  EXPECT_TRUE(kernel.has("arith.sitofp") && kernel.has("i32 to f32")) << kernel.text;
}

TEST(WideOffsetsTest, APointerThatMayBeLargeCounts) {
  Widened kernel(withZero(R"(
    %either = arith.select %c, %p, %q : !tile.ptr<f32>
    %a = tile.addptr %either, %n : !tile.ptr<f32>, i32
    tile.store %a, %zero : !tile.ptr<f32>, f32)"));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has("!tile.ptr<f32>, i64")) << kernel.text;
}

TEST(WideOffsetsTest, NarrowArithmeticWrapsAsBefore) {
  Widened kernel(withZero(R"(
    %b = arith.trunci %n : i32 to i8
    %d = arith.addi %b, %b : i8
    %o = arith.extsi %d : i8 to i32
    %a = tile.addptr %p, %o : !tile.ptr<f32>, i32
    tile.store %a, %zero : !tile.ptr<f32>, f32)"));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has(": i8\n") && kernel.has("i8 to i32")) << kernel.text;
  EXPECT_TRUE(kernel.has("i32 to i64")) << kernel.text;
}

TEST(WideOffsetsTest, FlagsOfOverflowAreOfTheNarrowSum) {
  Widened kernel(withZero(R"(
    %o = arith.addi %n, %n overflow<nsw, nuw> : i32
    %a = tile.addptr %p, %o : !tile.ptr<f32>, i32
    tile.store %a, %zero : !tile.ptr<f32>, f32)"));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has(": i64")) << kernel.text;
  EXPECT_FALSE(kernel.has("overflow<nsw, nuw> : i64")) << kernel.text;
}

TEST(WideOffsetsTest, TilesOfOffsetsWidenWhole) {
  Widened kernel(withZero(R"(
    %r = tile.arange 0 to 8 : tensor<8xi32>
    %s = tile.splat %n : i32 -> tensor<8xi32>
    %o = arith.muli %r, %s : tensor<8xi32>
    %t = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %a = tile.addptr %t, %o : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    %z = tile.splat %zero : f32 -> tensor<8xf32>
    tile.store %a, %z : tensor<8x!tile.ptr<f32>>, tensor<8xf32>)"));
  ASSERT_TRUE(kernel.isValid) << kernel.text;
  EXPECT_TRUE(kernel.has("arith.muli") && kernel.has("tensor<8xi64>")) << kernel.text;
  EXPECT_TRUE(kernel.has("tensor<8x!tile.ptr<f32>>, tensor<8xi64>")) << kernel.text;
}
