// Addresses are read as multiples of strides along dimensions, and masks as limits of indices.
#include "passes/analysis/StridedTile.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/passes/TileContext.h"
#include <gtest/gtest.h>

using namespace tw;
using namespace mlir;

namespace {
/// "arg1" of an argument, "i" of a loop's counter or carried value, else the operation's name.
std::string nameOf(Value leaf) {
  if (auto argument = dyn_cast<BlockArgument>(leaf))
    return isOfLaunch(leaf) ? "arg" + std::to_string(argument.getArgNumber()) : "i";
  return leaf.getDefiningOp()->getName().stripDialect().str();
}

std::string textOf(const Monomial &monomial) {
  std::string text = std::to_string(monomial.factor);
  std::vector<std::string> names;
  for (Value leaf : monomial.leaves)
    names.push_back(nameOf(leaf));
  std::sort(names.begin(), names.end());
  for (const std::string &name : names)
    text += " " + name;
  return text + (monomial.isWide() ? " wide" : "");
}

std::string textOf(const Polynomial &polynomial) {
  std::vector<std::string> parts;
  for (const Monomial &monomial : polynomial.all())
    parts.push_back(textOf(monomial));
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : " + ") + part;
  return text.empty() ? "0" : text;
}

/// "0" of a limit along the first dimension, "all" of one that all elements have in common.
std::string dimOf(const IndexLimit &limit) {
  return limit.dim ? std::to_string(*limit.dim) : "all";
}

/// Parses a kernel whose last operation before the return makes what is asked for, and reads it.
class Kernel {
public:
  explicit Kernel(const std::string &body) {
    context = test::makeTileContext();
    std::string text =
        "func.func @f(%p: !tile.ptr<f32>, %n: i32 {tile.nonnegative}, %s: i32, %w: i64) {\n"
        "%r = tile.arange 0 to 16 : tensor<16xi32>\n"
        "%ns = tile.splat %n : i32 -> tensor<16xi32>\n"
        "%ss = tile.splat %s : i32 -> tensor<16xi32>\n"
        "%c4 = arith.constant dense<4> : tensor<16xi32>\n"
        "%pid = tile.program_id 0\n%c16 = arith.constant 16 : i32\n"
        "%first = arith.muli %pid, %c16 : i32\n"
        "%fs = tile.splat %first : i32 -> tensor<16xi32>\n"
        "%m = arith.addi %fs, %r : tensor<16xi32>\n" +
        body + "\nreturn\n}";
    module = parseSourceString<ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    function = *module->getOps<func::FuncOp>().begin();
    function.walk([&](Operation *op) {
      if (op->hasAttr("asked"))
        asked = op->getResult(0);
    });
  }
  std::string read() const {
    std::optional<StridedTile> tile = stridedTileOf(IndexFacts(function), asked);
    if (!tile)
      return "none";
    std::string text = textOf(tile->offset);
    for (const Polynomial &step : tile->steps)
      text += " | " + textOf(step);
    for (const IndexLimit &wrap : tile->wraps)
      text += " wraps " + dimOf(wrap) + ": " + textOf(wrap.index) + " at " + textOf(wrap.extent);
    return text;
  }
  std::string limits() const {
    llvm::SmallVector<IndexLimit> found;
    std::string text = collectLimits(IndexFacts(function), asked, found) ? "" : "and more";
    for (const IndexLimit &limit : found)
      text += "[" + dimOf(limit) + ": " + textOf(limit.index) + " < " + textOf(limit.extent) + "]";
    return text;
  }

private:
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Value asked;
};

const std::string kRows =
    "%row = tile.expand_dims %m axis 1 : tensor<16xi32> -> tensor<16x1xi32>\n"
    "%rows = tile.broadcast %row : tensor<16x1xi32> -> tensor<16x16xi32>\n"
    "%col = tile.expand_dims %r axis 0 : tensor<16xi32> -> tensor<1x16xi32>\n"
    "%cols = tile.broadcast %col : tensor<1x16xi32> -> tensor<16x16xi32>\n"
    "%ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>\n"
    "%st = tile.splat %s : i32 -> tensor<16x16xi32>\n"
    "%at = arith.muli %rows, %st : tensor<16x16xi32>\n"
    "%q = tile.addptr %ps, %at : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>\n";
} // namespace

TEST(StridedTile, ReadsAMatrix) {
  EXPECT_EQ(Kernel(kRows + "%x = tile.addptr %q, %cols {asked} : tensor<16x16x!tile.ptr<f32>>, "
                           "tensor<16x16xi32>")
                .read(),
            "16 arg2 program_id | 1 arg2 | 1");
  EXPECT_EQ(Kernel(kRows + "%x = tile.trans %at [1, 0] {asked} : tensor<16x16xi32> -> "
                           "tensor<16x16xi32>")
                .read(),
            "16 arg2 program_id | 0 | 1 arg2");
}

TEST(StridedTile, ReadsDifferencesAndConstants) {
  EXPECT_EQ(Kernel("%x = arith.subi %m, %c4 {asked} : tensor<16xi32>").read(),
            "-4 + 16 program_id | 1");
  EXPECT_EQ(Kernel("%y = arith.subi %m, %m : tensor<16xi32>\n"
                   "%x = arith.addi %y, %c4 {asked} : tensor<16xi32>")
                .read(),
            "4 | 0");
}

TEST(StridedTile, TellsProductsOf64Bits) {
  EXPECT_EQ(Kernel("%l = arith.extsi %pid : i32 to i64\n%c8 = arith.constant 8 : i64\n"
                   "%x = arith.muli %l, %c8 {asked} : i64")
                .read(),
            "8 program_id wide");
  EXPECT_EQ(Kernel("%l = arith.extsi %pid : i32 to i64\n"
                   "%x = arith.muli %l, %w {asked} : i64")
                .read(),
            "1 arg3 program_id");
  EXPECT_EQ(Kernel("%l = arith.extsi %n : i32 to i64\n%c8 = arith.constant 8 : i64\n"
                   "%x = arith.muli %l, %c8 {asked} : i64")
                .read(),
            "8 arg1 wide");
}

TEST(StridedTile, DividesProductsOf64Bits) {
  Monomial product{/*factor=*/48, {}, /*wideFactor=*/16};
  EXPECT_FALSE(product.dividedBy(Monomial{16})->isWide());
  EXPECT_FALSE(product.dividedBy(Monomial{48})->isWide());
  EXPECT_TRUE(product.dividedBy(Monomial{3})->isWide());
  EXPECT_EQ(product.dividedBy(Monomial{24})->wideFactor, 2);
}

TEST(StridedTile, ReadsWhatALoopAddsAsAMultipleOfItsCounter) {
  auto carried = [](const std::string &step, const std::string &added) {
    return Kernel("%c0 = arith.constant 0 : i32\n%step = arith.constant " + step +
                  " : i32\n%by = arith.muli %s, %c16 : i32\n"
                  "%z = scf.for %i = %c0 to %n step %step iter_args(%at = %c0) -> (i32) : i32 {\n"
                  "%x = tile.splat %at {asked} : i32 -> tensor<16xi32>\n"
                  "%next = arith.addi %at, " +
                  added + " : i32\nscf.yield %next : i32\n}")
        .read();
  };
  EXPECT_EQ(carried("1", "%by"), "16 arg2 i | 0");
  EXPECT_EQ(carried("16", "%by"), "1 arg2 i | 0");
  // 16 is not a multiple of 3, and the counter is not the same in all iterations.
  EXPECT_EQ(carried("3", "%by"), "1 i | 0");
  EXPECT_EQ(carried("1", "%i"), "1 i | 0");
}

TEST(StridedTile, KeepsWhereIndicesBeginAgain) {
  EXPECT_EQ(Kernel("%x = arith.remsi %m, %ns {asked} : tensor<16xi32>").read(),
            "16 program_id | 1 wraps 0: 16 program_id at 1 arg1");
  EXPECT_EQ(Kernel("%y = arith.remsi %m, %ns : tensor<16xi32>\n"
                   "%z = tile.expand_dims %y axis 0 : tensor<16xi32> -> tensor<1x16xi32>\n"
                   "%x = tile.trans %z [1, 0] {asked} : tensor<1x16xi32> -> tensor<16x1xi32>")
                .read(),
            "16 program_id | 1 | 0 wraps 0: 16 program_id at 1 arg1");
  EXPECT_EQ(Kernel("%y = arith.muli %m, %c4 : tensor<16xi32>\n"
                   "%x = arith.remsi %y, %ns {asked} : tensor<16xi32>")
                .read(),
            "none");
}

TEST(StridedTile, ReadsOtherTilesAsNone) {
  EXPECT_EQ(Kernel("%x = arith.divsi %m, %ns {asked} : tensor<16xi32>").read(), "none");
  EXPECT_EQ(Kernel("%x = arith.muli %m, %r {asked} : tensor<16xi32>").read(), "none");
}

TEST(StridedTile, ReadsMasksAsLimits) {
  auto limits = [](const std::string &comparison) {
    return Kernel("%x = arith.cmpi " + comparison + " {asked} : tensor<16xi32>").limits();
  };
  EXPECT_EQ(limits("slt, %m, %ns"), "[0: 16 program_id < 1 arg1]");
  EXPECT_EQ(limits("ugt, %ns, %m"), "[0: 16 program_id < 1 arg1]");
  EXPECT_EQ(limits("slt, %m, %c4"), "[0: 16 program_id < 4]");
  EXPECT_EQ(limits("sle, %m, %ns"), "and more");
  EXPECT_EQ(limits("ult, %ss, %ns"), "and more");
  EXPECT_EQ(limits("slt, %fs, %ns"), "[all: 16 program_id < 1 arg1]");
  EXPECT_EQ(limits("slt, %m, %r"), "and more");
  // n - 16 pid is what is left.
  EXPECT_EQ(Kernel("%l = arith.subi %ns, %fs : tensor<16xi32>\n"
                   "%x = arith.cmpi slt, %r, %l {asked} : tensor<16xi32>")
                .limits(),
            "[0: 16 program_id < 1 arg1]");
  EXPECT_EQ(Kernel("%a = arith.cmpi slt, %m, %ns : tensor<16xi32>\n"
                   "%b = arith.cmpi sge, %m, %c4 : tensor<16xi32>\n"
                   "%x = arith.andi %a, %b {asked} : tensor<16xi1>")
                .limits(),
            "and more[0: 16 program_id < 1 arg1]");
  EXPECT_EQ(Kernel("%a = arith.cmpi slt, %m, %ns : tensor<16xi32>\n"
                   "%x = tile.expand_dims %a axis 0 {asked} : tensor<16xi1> -> tensor<1x16xi1>")
                .limits(),
            "[1: 16 program_id < 1 arg1]");
  // Unsigned numbers are not below 0.
  EXPECT_EQ(Kernel("%l = arith.subi %ns, %c4 : tensor<16xi32>\n"
                   "%x = arith.cmpi ult, %m, %l {asked} : tensor<16xi32>")
                .limits(),
            "and more");
  EXPECT_EQ(Kernel("%l = arith.subi %m, %c4 : tensor<16xi32>\n"
                   "%x = arith.cmpi ult, %l, %ns {asked} : tensor<16xi32>")
                .limits(),
            "and more");
  // Dimensions are those of the whole mask, also where there is more.
  EXPECT_EQ(Kernel("%a = arith.cmpi slt, %m, %ns : tensor<16xi32>\n"
                   "%b = arith.cmpi ne, %m, %c4 : tensor<16xi32>\n"
                   "%both = arith.andi %a, %b : tensor<16xi1>\n"
                   "%x = tile.expand_dims %both axis 0 {asked} : tensor<16xi1> -> tensor<1x16xi1>")
                .limits(),
            "and more[1: 16 program_id < 1 arg1]");
}
