// Operations on tiles of random layouts become what the stage scheduled allows, whatever the
// layouts.
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/unit/ir/RandomLayouts.h"
#include "test/unit/passes/TileContext.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
class StageRandomLayouts : public RandomLayouts {
protected:
  std::unique_ptr<MLIRContext> context = test::makeTileContext();

  std::string text(Type type) {
    std::string result;
    llvm::raw_string_ostream(result) << type;
    return result;
  }
  RankedTensorType tile(ArrayRef<int64_t> shape, Type element) {
    return withLayout(RankedTensorType::get(shape, element), surjective(shape));
  }
  /// Runs the passes to the stage scheduled over a kernel with this body.
  void expectScheduled(const std::string &arguments, const std::string &body) {
    std::string source = "module attributes {simt.num_warps = 4 : i32} {\nfunc.func @kernel(" +
                         arguments + ") {\n" + body + "return\n}\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, context.get());
    ASSERT_TRUE(module) << source;
    PassManager passes(context.get());
    passes.addPass(createStageThroughShared());
    passes.addPass(createAllocateShared());
    passes.addPass(createInsertBarriers());
    VerifyStageOptions stage;
    stage.stage = "scheduled";
    passes.addPass(createVerifyStage(stage));
    ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        ADD_FAILURE() << diagnostic.str() << "\n" << source;
      return success();
    });
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }
  static std::string combine(StringRef element, bool inOrder) {
    std::string type = element.str();
    return " {\n^bb0(%l: " + type + ", %r: " + type + "):\n" +
           (inOrder ? "tile.yield %l : " + type
                    : "%t = arith.addi %l, %r : " + type + "\ntile.yield %t : " + type) +
           "\n} : ";
  }
};
} // namespace

TEST_F(StageRandomLayouts, Reduce) {
  for (int round = 0; round < 200; ++round) {
    RankedTensorType type = tile(shape(), IntegerType::get(context.get(), 32));
    unsigned axis = below(type.getRank());
    expectScheduled("%x: " + text(type), "%s = tile.reduce (%x) axis " + std::to_string(axis) +
                                             combine("i32", below(2)) + "(" + text(type) + ") -> " +
                                             text(reducedType(type, axis)) + "\n");
  }
}

TEST_F(StageRandomLayouts, Scan) {
  for (int round = 0; round < 200; ++round) {
    RankedTensorType type = tile(shape(), IntegerType::get(context.get(), 16));
    expectScheduled("%x: " + text(type),
                    "%s = tile.scan (%x) axis " + std::to_string(below(type.getRank())) +
                        combine("i16", below(2)) + "(" + text(type) + ") -> " + text(type) + "\n");
  }
}

TEST_F(StageRandomLayouts, ConvertJoinAndSplit) {
  Type element = Float16Type::get(context.get());
  for (int round = 0; round < 200; ++round) {
    SmallVector<int64_t> extents = shape(8, 2), pairs = extents;
    pairs.push_back(2);
    std::string a = text(tile(extents, element)), b = text(tile(extents, element));
    std::string both = text(tile(pairs, element));
    expectScheduled("%x: " + a + ", %y: " + a + ", %z: " + both,
                    "%c = simt.convert_layout %x : " + a + " -> " + b +
                        "\n%j = tile.join %x, %y : " + a + " -> " + both +
                        "\n%l, %r = tile.split %z : " + both + " -> " + b + "\n");
  }
}

TEST_F(StageRandomLayouts, GatherDotAndAtomics) {
  Type f32 = Float32Type::get(context.get()), i32 = IntegerType::get(context.get(), 32);
  for (int round = 0; round < 100; ++round) {
    int64_t m = 16 << below(3), n = 16 << below(3), k = 16 << below(3);
    std::string a = text(tile({m, k}, f32)), b = text(tile({k, n}, f32));
    RankedTensorType acc = tile({m, n}, f32), indices = tile({m, n}, i32);
    std::string source = text(tile({m, k}, f32)), index = text(indices);
    std::string gathered = text(tile::withElementType(indices, f32));
    std::string pointers = text(tile::withElementType(indices, tile::PtrType::get(i32)));
    expectScheduled("%a: " + a + ", %b: " + b + ", %c: " + text(acc) + ", %x: " + source +
                        ", %i: " + index + ", %p: " + pointers,
                    "%d = tile.dot %a, %b, %c : " + a + ", " + b + " -> " + text(acc) +
                        "\n%g = tile.gather %x[%i] axis 1 : " + source + ", " + index + " -> " +
                        gathered + "\n%old = tile.atomic_rmw add, %p, %i : " + pointers + ", " +
                        index + " -> " + index + "\n%used = arith.addi %old, %i : " + index + "\n");
  }
}
