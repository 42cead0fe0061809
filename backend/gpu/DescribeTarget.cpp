// The pass `describe-target`, with which the passes of every GPU begin.
#include "backend/gpu/DescribeTarget.h"
#include "backend/compile/Compiler.h"
#include "ir/Diagnostic.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

unsigned tw::gpu::numWarpsOf(const CompileOptions &options) {
  return unsigned(std::max(options.numWarps, 0));
}

std::optional<unsigned> tw::gpu::numberOf(const CompileOptions &options,
                                          const LimitOption &option) {
  std::optional<StringRef> text = extraOption(options, option.name);
  unsigned number = 0;
  if (!text)
    return number;
  if (text->getAsInteger(10, number) ||
      (number != 0 && (number < option.least || number > option.most)))
    return std::nullopt;
  return number;
}

LogicalResult tw::gpu::checkLimit(const CompileOptions &options, const LimitOption &option,
                                  Operation *kernel) {
  if (numberOf(options, option))
    return success();
  InFlightDiagnostic error = emitCoded(kernel, Code::RegisterLimit)
                             << option.name << "=" << *extraOption(options, option.name)
                             << " cannot be kept: " << option.meaning << " " << option.least
                             << " to " << option.most << " " << option.unit;
  error.attachNote(kernel->getLoc()) << "choose a number from " << option.least << " to "
                                     << option.most << ", or leave " << option.name << " out";
  return error;
}

/// "1, 2, 4, 8 or 16": the powers of two up to one of them.
static std::string powersUpTo(unsigned most) {
  std::string text = "1";
  for (unsigned power = 2; power <= most; power *= 2)
    text += (power * 2 <= most ? ", " : " or ") + std::to_string(power);
  return text;
}

static LogicalResult describeTarget(ModuleOp module, const TargetDescription &description) {
  tile::TargetAttr target = description.describe(*module.getContext());
  module->setAttr(kTargetAttribute, target);
  if (description.describeLarger)
    module->setAttr(kLargerTargetAttribute, description.describeLarger(*module.getContext()));
  if (description.processor)
    module->setAttr(kProcessorAttribute,
                    processorAttribute(*module.getContext(), *description.processor));
  if (description.cluster != std::array<int64_t, 3>{1, 1, 1})
    module->setAttr(simt::kCluster,
                    DenseI64ArrayAttr::get(module.getContext(), description.cluster));
  Operation *place = module;
  for (auto kernel : module.getOps<func::FuncOp>())
    place = kernel;
  unsigned numWarps = description.numWarps;
  if (!llvm::isPowerOf2_32(numWarps) || numWarps > target.getMaxWarps())
    return emitCoded(place, Code::TooManyWarps)
           << "a program cannot have " << numWarps << " warps on " << description.machine
           << ": num_warps is " << powersUpTo(unsigned(target.getMaxWarps()));
  return description.checkOptions ? description.checkOptions(place) : success();
}

namespace {
struct DescribeTarget : PassWrapper<DescribeTarget, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DescribeTarget)
  explicit DescribeTarget(TargetDescription description) : description(std::move(description)) {}
  StringRef getArgument() const override { return "describe-target"; }
  StringRef getDescription() const override { return "sets the facts of a GPU"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<tile::TileDialect>();
  }
  void runOnOperation() override {
    if (failed(describeTarget(getOperation(), description)))
      signalPassFailure();
  }
  TargetDescription description;
};
} // namespace

std::unique_ptr<Pass> tw::gpu::createDescribeTarget(TargetDescription description) {
  return std::make_unique<DescribeTarget>(std::move(description));
}
