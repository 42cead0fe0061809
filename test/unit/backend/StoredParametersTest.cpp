// A parameter counts as stored exactly when some path leads its address into a store or an atomic.
#include "backend/compile/StoredParameters.h"
#include "backend/compile/Compiler.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tw;

/// For each parameter of the function: s (stored) or - (not).
static std::string storedOf(const std::string &parameters, const std::string &body) {
  std::unique_ptr<mlir::MLIRContext> context = makeCompilerContext();
  std::string text = "func.func @k(" + parameters + ") {\n" + body + "\nreturn\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module)
    return "does not parse";
  std::string result;
  for (mlir::Value argument : (*module->getOps<mlir::func::FuncOp>().begin()).getArguments())
    result += isStoredThrough(argument) ? 's' : '-';
  return result;
}

static const std::string kTwoPointers = "%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32, %c: i1";

TEST(StoredParametersTest, LoadsAreNoStores) {
  EXPECT_EQ(storedOf(kTwoPointers, R"(
    %v = tile.load %x : !tile.ptr<f32> -> f32
    tile.store %y, %v : !tile.ptr<f32>, f32)"),
            "-s--");
}

TEST(StoredParametersTest, ThroughPointerArithmeticOnTiles) {
  EXPECT_EQ(storedOf(kTwoPointers, R"(
    %i = tile.arange 0 to 8 : tensor<8xi32>
    %b = tile.addptr %y, %n : !tile.ptr<f32>, i32
    %s = tile.splat %b : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %p = tile.addptr %s, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    %t = tile.splat %x : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
    %v = tile.load %t : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
    tile.store %p, %v : tensor<8x!tile.ptr<f32>>, tensor<8xf32>)"),
            "-s--");
}

TEST(StoredParametersTest, ThroughLoopsAndBranches) {
  EXPECT_EQ(storedOf(kTwoPointers, R"(
    %f = arith.constant 1.0 : f32
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %8 = arith.constant 8 : index
    %r = scf.for %i = %0 to %8 step %1 iter_args(%p = %y) -> (!tile.ptr<f32>) {
      %q = tile.addptr %p, %n : !tile.ptr<f32>, i32
      scf.yield %q : !tile.ptr<f32>
    }
    %z = scf.if %c -> (!tile.ptr<f32>) {
      scf.yield %r : !tile.ptr<f32>
    } else {
      scf.yield %y : !tile.ptr<f32>
    }
    tile.store %z, %f : !tile.ptr<f32>, f32)"),
            "-s--");
}

TEST(StoredParametersTest, AtomicsAndSelectsStore) {
  EXPECT_EQ(storedOf(kTwoPointers, R"(
    %f = arith.constant 1.0 : f32
    %p = arith.select %c, %x, %y : !tile.ptr<f32>
    %o = tile.atomic_rmw fadd, %p, %f : !tile.ptr<f32>, f32 -> f32)"),
            "ss--");
}

TEST(StoredParametersTest, ThroughIntegers) {
  EXPECT_EQ(storedOf(kTwoPointers, R"(
    %f = arith.constant 1.0 : f32
    %a = tile.ptr_to_int %y : !tile.ptr<f32> -> i64
    %b = arith.addi %a, %a : i64
    %p = tile.int_to_ptr %b : i64 -> !tile.ptr<f32>
    tile.store %p, %f : !tile.ptr<f32>, f32)"),
            "-s--");
}

TEST(StoredParametersTest, StoringAnAddressStoresNotThroughIt) {
  EXPECT_EQ(storedOf("%x: !tile.ptr<i64>, %y: !tile.ptr<f32>", R"(
    %a = tile.ptr_to_int %y : !tile.ptr<f32> -> i64
    tile.store %x, %a : !tile.ptr<i64>, i64)"),
            "s-");
}
