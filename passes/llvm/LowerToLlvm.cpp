// The pass `lower-to-llvm`: what lower-simd leaves (scf, arith, math, vector) becomes the LLVM
// dialect.
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "passes/Passes.h"
#include "passes/llvm/CountedLoops.h"
#include "passes/llvm/ExternCalls.h"

namespace tw {
#define GEN_PASS_DEF_LOWERTOLLVM
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;

static void populateAll(LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  populateSCFToControlFlowConversionPatterns(patterns);
  tw::populateCountedLoopPatterns(patterns);
  tw::populateExternCallPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
}

namespace {
struct LowerToLlvm : tw::impl::LowerToLlvmBase<LowerToLlvm> {
  void runOnOperation() override {
    LowerToLLVMOptions options(&getContext());
    LLVMTypeConverter converter(&getContext(), options);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    RewritePatternSet patterns(&getContext());
    populateAll(converter, patterns);
    ConversionConfig config;
    // LLVM folds as it builds its own IR.
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
