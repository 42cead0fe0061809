// Every matrix instruction of AMD's GPUs: LLVM takes it on the machine whose row it is, and its
// fragments have as many registers as it wants.
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/machine/AmdMatrices.h"
#include "backend/compile/Compiler.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/Fragment.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tw;
using simt::MmaOperand;

namespace {
/// The registers of an operand: their type, and how many a lane has.
struct Words {
  std::string type;
  unsigned count;
};
} // namespace

static Words wordsOf(tile::MmaAttr row, MmaOperand operand, Type element) {
  unsigned elements = simt::mmaFragment(row, operand).size(Place::Register);
  unsigned bits = tile::registerBits(element);
  if (bits < 32)
    return {"i32", elements * bits / 32};
  return {bits == 64 ? "f64" : isa<IntegerType>(element) ? "i32" : "f32", elements};
}

namespace {
/// A kernel that loads operands, multiplies them and stores the sums.
struct KernelText {
  std::string body, operands, types, results;
  unsigned number = 0;

  void load(const Words &words) {
    operands += "(";
    for (unsigned i = 0; i < words.count; ++i) {
      std::string name = "%v" + std::to_string(number++);
      body += name + " = simt.global_load %q : !llvm.ptr<1> -> " + words.type + "\n";
      operands += (i ? ", " : "") + name;
      types += (types.empty() ? "" : ", ") + words.type;
    }
    operands += ")";
  }
};
} // namespace

static std::string kernelOf(tile::MmaAttr row) {
  Words a = wordsOf(row, MmaOperand::A, row.getA()), b = wordsOf(row, MmaOperand::B, row.getB()),
        sum = wordsOf(row, MmaOperand::Accumulator, row.getAccumulator());
  KernelText text;
  for (const Words &words : {a, b, sum}) {
    text.operands += text.operands.empty() ? "" : ", ";
    text.load(words);
  }
  std::string results, stores;
  for (unsigned i = 0; i < sum.count; ++i) {
    results += (i ? ", " : "") + sum.type;
    stores += "%a" + std::to_string(i) + " = llvm.getelementptr %q[" + std::to_string(i) +
              "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f64\nsimt.global_store %a" + std::to_string(i) +
              ", %r#" + std::to_string(i) + " : !llvm.ptr<1>, " + sum.type + "\n";
  }
  std::string instruction;
  llvm::raw_string_ostream(instruction) << Attribute(row);
  return "module attributes {simt.num_warps = 1 : i32, simt.shared_bytes = 0 : i64} {\n"
         "llvm.func @k(%p: !llvm.ptr<1>) attributes {simt.kernel} {\n%t = simt.thread_id\n"
         "%q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f64\n" +
         text.body + "%r:" + std::to_string(sum.count) + " = simt.mma_fragment " + instruction +
         " " + text.operands + " : (" + text.types + ") -> (" + results + ")\n" + stores +
         "llvm.return\n}\n}";
}

static std::string assemblyOf(const AmdArch &arch, tile::MmaAttr row, std::string &error) {
  MLIRContext *context = row.getContext();
  std::string text = kernelOf(row);
  auto module = parseSourceString<ModuleOp>(text, context, "k.py");
  if (!module) {
    error = "does not parse: " + text;
    return "";
  }
  (*module)->setAttr(kTargetAttribute, describeAmd(*context, arch));
  PassManager passes(context);
  passes.addPass(createLowerAmd(arch));
  passes.addPass(createLowerToLlvm());
  Artifact artifact;
  artifact.symbol = "k";
  if (failed(passes.run(*module)) ||
      !makeAmdTarget(arch.name.str())->compile(*module, artifact, error))
    error += " " + text;
  return artifact.binary;
}

TEST(AmdMatrix, EveryRowIsAnInstructionOfItsMachine) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  for (const AmdArch &arch : amdArchTable())
    for (const amd::MatrixInstruction *row : amd::matrixTable(arch)) {
      tile::MmaAttr instruction;
      for (tile::MmaAttr other : amd::matrixInstructions(*context, arch))
        if (amd::findMatrix(arch, other) == row)
          instruction = other;
      ASSERT_TRUE(instruction) << row->intrinsic.str();
      std::string error, assembly = assemblyOf(arch, instruction, error);
      EXPECT_EQ(error, "") << arch.name.str() << " " << row->intrinsic.str();
      std::string name = row->intrinsic.starts_with("mfma") ? "v_mfma_" : "v_wmma_";
      size_t first = assembly.find(name);
      EXPECT_NE(first, std::string::npos) << arch.name.str() << " " << row->intrinsic.str();
      EXPECT_EQ(assembly.find(name, first + 1), std::string::npos) << row->intrinsic.str();
    }
}

TEST(AmdMatrix, SumsAreRowsOfTheNextProductWithoutAMove) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  for (const char *name : {"gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250"})
    for (tile::MmaAttr row : amd::matrixInstructions(*context, *findAmdArch(name))) {
      if (!row.getA().isF16())
        continue;
      // A product of M x N that is multiplied by another of N rows: K of that is N of this.
      int64_t extent = std::max<int64_t>(row.getN(), row.getK());
      LinearLayout sums =
          simt::mmaLayout(row, MmaOperand::Accumulator, {row.getM(), extent}, {1, 1});
      LinearLayout rows = simt::mmaLayout(row, MmaOperand::A, {row.getM(), extent}, {1, 1});
      EXPECT_TRUE(rows.registersFrom(sums).has_value()) << name << " " << row.getM();
    }
}
