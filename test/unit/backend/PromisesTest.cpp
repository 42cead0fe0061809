// What decides a kernel's promises is the part of it that they depend on, and nothing where they
// are proven.
#include "backend/compile/Promises.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/Stages.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tw;

static bool mentions(const std::string &text, const char *word) {
  return text.find(word) != std::string::npos;
}

/// The texts of all forms that decide the promises of a kernel with this body.
static std::vector<std::string> formsOf(const std::string &body) {
  std::unique_ptr<mlir::MLIRContext> context = makeCompilerContext();
  std::string text = "func.func @k(%x: !tile.ptr<f32>, %y: !tile.ptr<i32>, %n: i32, %c: i1) {\n" +
                     body + "\nreturn\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module)
    return {"does not parse"};
  std::vector<std::string> texts;
  for (const std::string &form : promisesOf(*module, "k"))
    texts.push_back(printModule(*mlir::parseSourceString<mlir::ModuleOp>(form, context.get()),
                                /*withLocations=*/false));
  return texts;
}

TEST(PromisesTest, KernelsWithoutUnprovenPromisesHaveNone) {
  EXPECT_TRUE(formsOf("%v = tile.load %x : !tile.ptr<f32> -> f32").empty());
  EXPECT_TRUE(formsOf("%h = tile.hint %n {contiguity = array<i64: 4>} : i32").empty());
  EXPECT_TRUE(formsOf(R"(
    %8 = arith.constant 8 : i32
    %a = arith.muli %n, %8 : i32
    %h = tile.hint %a {divisibility = array<i64: 4>} : i32)")
                  .empty());
  EXPECT_EQ(formsOf("%h = tile.hint %n {divisibility = array<i64: 4>} : i32").size(), 1u);
}

// A fact that follows from an assumption does not prove a promise that comes before it.
TEST(PromisesTest, AssumptionsProveNoOtherPromise) {
  std::vector<std::string> forms = formsOf(R"(
    %0 = arith.constant 0 : i32
    %8 = arith.constant 8 : i32
    %h = tile.hint %n {divisibility = array<i64: 8>} : i32
    %r = arith.remsi %n, %8 : i32
    %is = arith.cmpi eq, %r, %0 : i32
    tile.assume %is)");
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_TRUE(mentions(forms[0], "tile.hint"));
}

TEST(PromisesTest, WhatLoopsCarryForOthersIsLeftOut) {
  std::vector<std::string> forms = formsOf(R"(
    %0 = arith.constant 0 : i32
    %f = arith.constant 0.0 : f32
    %r:2 = scf.for %i = %0 to %n step %n iter_args(%a = %f, %b = %n) -> (f32, i32) : i32 {
      %h = tile.hint %b {divisibility = array<i64: 8>} : i32
      %v = tile.load %x : !tile.ptr<f32> -> f32
      %s = arith.addf %a, %v : f32
      %next = arith.addi %b, %i : i32
      scf.yield %s, %next : f32, i32
    }
    tile.store %x, %r#0 : !tile.ptr<f32>, f32)");
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_TRUE(mentions(forms[0], "arith.addi"));
  for (const char *left : {"tile.load", "tile.store", "arith.addf"})
    EXPECT_FALSE(mentions(forms[0], left));
}

TEST(PromisesTest, StoresMatterWhereMemoryIsRead) {
  std::vector<std::string> forms = formsOf(R"(
    %v = tile.load %x : !tile.ptr<f32> -> f32
    %e = arith.addf %v, %v : f32
    tile.store %x, %e : !tile.ptr<f32>, f32
    %m = tile.load %y : !tile.ptr<i32> -> i32
    %h = tile.hint %m {divisibility = array<i64: 8>} : i32)");
  ASSERT_EQ(forms.size(), 2u) << "without what is written, and with it";
  EXPECT_TRUE(mentions(forms[0], "tile.store"));
  EXPECT_FALSE(mentions(forms[0], "arith.addf"));
  EXPECT_TRUE(mentions(forms[1], "arith.addf"));
}

TEST(PromisesTest, AssertionsComeAlongUnlessTheyCheckOtherArithmetic) {
  std::vector<std::string> forms = formsOf(R"(
    %p = tile.program_id 0
    tile.assert %c, "own" : i1
    tile.assert %c, "of n" of %n, %n : i32, i32 {joint = "+"} : i1
    tile.assert %c, "of p" of %n, %p : i32, i32 {joint = "+"} : i1
    %v = tile.load %y : !tile.ptr<i32> -> i32
    %is = arith.cmpi eq, %v, %n : i32
    tile.assert %is, "of memory" : i1
    %h = tile.hint %n {divisibility = array<i64: 8>} : i32)");
  ASSERT_EQ(forms.size(), 1u);
  for (const char *kept : {"\"own\"", "\"of n\""})
    EXPECT_TRUE(mentions(forms[0], kept)) << kept;
  for (const char *left : {"of p", "of memory", "program_id"})
    EXPECT_FALSE(mentions(forms[0], left)) << left;
}

TEST(PromisesTest, WhatOnlyTheMachineKnowsIsLeftOut) {
  std::vector<std::string> forms = formsOf(R"(
    %t = tile.machine clock
    %a = tile.hint %t {divisibility = array<i64: 8>} : i64
    tile.assume %c)");
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_TRUE(mentions(forms[0], "tile.assume"));
  EXPECT_FALSE(mentions(forms[0], "tile.hint"));
}
