// The pass expand-math: math functions as formulas or library calls, and arith without undefined
// cases.
#include "passes/math/ExpandMath.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

namespace {
/// How one operation is computed: by the formula, on float32 only where there is a library's
/// function as well. Without either, LLVM selects it natively in f32 and f64.
struct MathFunction {
  StringLiteral operation;
  VectorFormulaFunction *formula;
  StringLiteral library;
};
#define GET_SimdFunctionTable_IMPL
#include "ir/tile/Elementwise.inc"
} // namespace

/// The same elements as one dimension; scalars stay.
static Value flatten(OpBuilder &builder, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || type.getRank() == 1)
    return value;
  auto flat = VectorType::get(type.getNumElements(), type.getElementType());
  return vector::ShapeCastOp::create(builder, value.getLoc(), flat, value);
}

namespace {
class ExpandFunction : public RewritePattern {
public:
  ExpandFunction(const MathFunction &function, const MathMachine &machine, MLIRContext *context)
      : RewritePattern(function.operation, /*benefit=*/1, context), function(function),
        machine(machine) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    Type element = getElementTypeOrSelf(type);
    if (auto vector = dyn_cast<VectorType>(type); vector && vector.isScalable())
      return rewriter.notifyMatchFailure(op, "the number of lanes is not known");
    bool isNarrow = element.isF16() || element.isBF16();
    if (!isNarrow && !element.isF32() && !element.isF64())
      return rewriter.notifyMatchFailure(op, "not f16, bf16, f32 or f64");
    if (!isNarrow && !function.formula && function.library.empty())
      return rewriter.notifyMatchFailure(op, "LLVM selects it as it is");
    rewriter.replaceOp(op, expand(op, isNarrow ? rewriter.getF32Type() : element, rewriter));
    return success();
  }

private:
  /// The operation's value in its own type, computed on one-dimensional values of `element`.
  Value expand(Operation *op, Type element, PatternRewriter &rewriter) const {
    Location location = op->getLoc();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value flat = flatten(rewriter, operand);
      Type type = Formula(rewriter, location, flat.getType(), false).typeOf(element);
      operands.push_back(emitFloatCast(rewriter, location, flat, type));
    }
    Formula f(rewriter, location, operands.front().getType(), machine.hasScale);
    f.hasFma = machine.hasFma;
    Value result = compute(op, f, operands);
    Type type = op->getResult(0).getType();
    Type narrowed = f.typeOf(getElementTypeOrSelf(type));
    result = emitFloatCast(rewriter, location, result, narrowed);
    if (narrowed == type)
      return result;
    return vector::ShapeCastOp::create(rewriter, location, type, result);
  }

  Value compute(Operation *op, Formula &f, ArrayRef<Value> operands) const {
    if (function.formula && (function.library.empty() || !f.isDouble()))
      return function.formula(f, operands.front());
    if (!function.library.empty())
      return emitLibraryCall(f, machine, function.library, operands);
    OperationState state(f.location, op->getName(), operands, {f.floatType}, op->getAttrs());
    return f.builder.create(state)->getResult(0);
  }

  const MathFunction &function;
  const MathMachine machine;
};
} // namespace

void tw::populateExpandMathPatterns(RewritePatternSet &patterns, const MathMachine &machine) {
  for (const MathFunction &function : SimdFunctionTable)
    patterns.add<ExpandFunction>(function, machine, patterns.getContext());
}

namespace {
struct ExpandMath : tw::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    tile::SimdAttr machine = simdMachineOf(getOperation());
    populateExpandMathPatterns(
        patterns, {machine.getVectorBytes(), hasFeature(machine, tile::Feature::FMA),
                   hasFeature(machine, tile::Feature::ScaleByPower), hasVectorLibrary});
    populateDefinedArithPatterns(patterns);
    bool hasError = false;
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // the next handler reports it
    });
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    if (hasError)
      signalPassFailure();
  }
};
} // namespace
