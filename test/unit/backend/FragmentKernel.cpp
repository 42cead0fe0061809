// A kernel with one matrix instruction, as the stage lowered has it.
#include "test/unit/backend/FragmentKernel.h"
#include "ir/simt/MmaLayouts.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/Fragment.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

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
/// A kernel that loads operands, and scales where the instruction has them, multiplies and stores
/// the sums.
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

std::string tw::fragmentKernel(tile::MmaAttr row) {
  Words a = wordsOf(row, MmaOperand::A, row.getA()), b = wordsOf(row, MmaOperand::B, row.getB()),
        sum = wordsOf(row, MmaOperand::Accumulator, row.getAccumulator());
  KernelText text;
  for (const Words &words : {a, b, sum}) {
    text.operands += text.operands.empty() ? "" : ", ";
    text.load(words);
  }
  if (!row.getFragmentScales().empty()) {
    text.operands += " scaled";
    text.load({"i32", 2});
    text.operands += " [0, 0]";
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

std::string tw::codeOfFragment(tile::MmaAttr instruction, Attribute machine,
                               std::unique_ptr<Pass> lower, const Target &target,
                               std::string &error) {
  std::string text = fragmentKernel(instruction);
  auto module = parseSourceString<ModuleOp>(text, instruction.getContext(), "k.py");
  if (!module) {
    error = "does not parse: " + text;
    return "";
  }
  (*module)->setAttr(kTargetAttribute, machine);
  PassManager passes(instruction.getContext());
  passes.addPass(std::move(lower));
  passes.addPass(createLowerToLlvm());
  Artifact artifact;
  artifact.symbol = "k";
  if (failed(passes.run(*module)) || !target.compile(*module, artifact, error))
    error += " " + text;
  return artifact.binary;
}
