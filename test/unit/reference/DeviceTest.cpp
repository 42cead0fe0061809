// Loading and launching on the reference device: what is refused, and what every operation needs.
#include "backend/reference/Interpreter.h"
#include "ir/RegisterDialects.h"
#include "ir/tile/Tables.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/codes/Codes.h"
#include "test/unit/reference/ReferenceHarness.h"
#include <thread>

using namespace tw;
using namespace tw::test;

namespace {
// Operations that no kernel on this device can contain, with the reason.
const std::map<std::string, std::string> kNeverInKernels = {
    {"arith.scaling_extf", "dot_scaled decomposes without it"},
    {"arith.scaling_truncf", "dot_scaled decomposes without it"},
    {"func.call_indirect", "functions are not run-time values"},
    {"func.constant", "functions are not run-time values"},
    {"scf.forall", "made by passes after Tile IR"},
    {"scf.forall.in_parallel", "made by passes after Tile IR"},
    {"scf.parallel", "made by passes after Tile IR"},
    {"scf.reduce", "made by passes after Tile IR"},
    {"scf.reduce.return", "made by passes after Tile IR"},
    {"tile.extern_call", "refused: the reference device links no bitcode"},
    {"tile.inline_asm", "refused: the reference device has no instructions"},
    {"ub.unreachable", "ends blocks of unstructured control flow"},
};
const char *const kNothing = "func.func @kernel(%x: i32) {\n  return\n}";
} // namespace

TEST(EveryOpTest, EveryOperationOfAKernelHasAMeaning) {
  mlir::DialectRegistry registry;
  registerTileDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  reference::MeaningTable meanings;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    // `simt` comes with layouts, after what this device interprets.
    if (name.getDialectNamespace() == "builtin" || name.getDialectNamespace() == "simt" ||
        kNeverInKernels.contains(name.getStringRef().str()))
      continue;
    reference::Meaning meaning = meanings.find(name);
    EXPECT_TRUE(meaning.structured || meaning.elementwise)
        << name.getStringRef().str() << " has no meaning on the reference device";
  }
  for (const auto &entry : meanings.all())
    EXPECT_TRUE(mlir::RegisteredOperationName::lookup(entry.first(), &context))
        << entry.first().str() << " is not an operation";
}

TEST(EveryOpTest, EveryElementwiseRowHasAMeaning) {
  reference::MeaningTable meanings;
  for (const tile::ElementwiseRow &row : tile::elementwiseFunctions())
    for (const char *op : {row.FloatOp, row.SIntOp, row.UIntOp})
      EXPECT_TRUE(!*op || meanings.all().lookup(op).elementwise) << op;
}

TEST(LoadTest, WhatIsUnknownIsRefusedByName) {
  runExpectingError("module {\nfunc.func @kernel() {\n  cf.br ^bb1\n^bb1:\n  return\n}\n}", {},
                    Code::MalformedArtifact, {"malformed"});
  runExpectingError("func.func @kernel(%x: i128) {\n  %y = arith.addi %x, %x : i128\n  return\n}",
                    {}, Code::UnknownMeaning, {"i128"});
  runExpectingError("func.func @kernel(%x: vector<4xi32>) {\n  return\n}", {}, Code::UnknownMeaning,
                    {"vector<4xi32>"});
  runExpectingError("func.func @kernel(%x: !tile.ptr<index>) {\n  return\n}", {},
                    Code::MalformedArtifact,
                    {"malformed", "a pointer is to numbers or to pointers"});
  runExpectingError("func.func @kernel(%x: tensor<3x0xf32>) {\n  return\n}", {},
                    Code::UnknownMeaning, {"tensor<3x0xf32>"});
  runExpectingError("func.func @other() {\n  return\n}", {}, Code::UnknownMeaning, {"'kernel'"});
  runExpectingError("func.func @kernel() {\n  %m = scf.parallel (%i) = (%c) to (%c) step (%c)", {},
                    Code::MalformedArtifact, {"malformed"});
  runExpectingError(std::string("ML\xefR\x01garbage", 12), {}, Code::MalformedArtifact,
                    {"malformed"});
  runExpectingError("", {}, Code::UnknownMeaning, {"'kernel'"});
}

TEST(LaunchTest, ArgumentsAndGridAreChecked) {
  runExpectingError(kNothing, {}, Code::LaunchArguments,
                    {"takes 1 run-time arguments, 0 were given"});
  runExpectingError(kNothing, {scalarOf(1)}, Code::BadGrid, {"(1, -2, 1)"}, {{1, -2, 1}});
  std::optional<RuntimeError> error = runText(kNothing, {}, {});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, RuntimeError::Kind::Launch);
}

TEST(LaunchTest, SeveralThreadsMayLaunchOneKernel) {
  std::shared_ptr<Device> device = makeReferenceDevice();
  EXPECT_EQ(device->name(), "reference");
  Artifact artifact;
  artifact.symbol = "kernel";
  artifact.binary = "func.func @kernel(%p: !tile.ptr<i32>) {\n  %c = arith.constant 1 : i32\n"
                    "  %r = tile.atomic_rmw add, %p, %c : !tile.ptr<i32>, i32 -> i32\n"
                    "  return\n}";
  RuntimeError error;
  std::shared_ptr<LoadedKernel> kernel = device->load(artifact, error);
  ASSERT_TRUE(kernel) << error.message;
  std::vector<int32_t> counter = {0};
  std::vector<LaunchArgument> arguments = {bufferOf(counter)};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat)
        EXPECT_FALSE(device->launch(*kernel, {{5, 1, 1}}, arguments));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(counter[0], 4 * 50 * 5);
}

TEST(LaunchTest, ScalarsUseOnlyTheirLowBits) {
  std::vector<int64_t> out = {0};
  LaunchArgument dirty = scalarOf(uint64_t(0xFFFFFFFF00000005));
  runExpectingSuccess("func.func @kernel(%p: !tile.ptr<i64>, %x: i32) {\n"
                      "  %y = arith.extui %x : i32 to i64\n"
                      "  tile.store %p, %y : !tile.ptr<i64>, i64\n  return\n}",
                      {bufferOf(out), dirty});
  EXPECT_EQ(out[0], 5);
}
