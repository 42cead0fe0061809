// The pass expand-math: math functions as formulas or library calls, and arith without undefined
// cases.
#include "passes/math/ExpandMath.h"
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
/// How one operation is computed. Without formula and library, LLVM selects it natively in f32 and
/// f64.
struct MathFunction {
  StringLiteral operation;
  Value (*formula)(Formula &, Value) = nullptr; // float32 only, unless `anyWidth`
  StringLiteral library = "";
  bool anyWidth = false;
};
} // namespace

static constexpr MathFunction kFunctions[] = {
    {"math.exp", emitExp, "exp"},
    {"math.exp2", emitExp2, "exp2"},
    {"math.expm1", emitExpm1, "expm1"},
    {"math.log", emitLog, "log"},
    {"math.log2", emitLog2, "log2"},
    {"math.log1p", emitLog1p, "log1p"},
    {"math.log10", nullptr, "log10"},
    {"math.tanh", emitTanh, "tanh"},
    {"math.erf", emitErf, "erf"},
    {"math.erfc", nullptr, "erfc"},
    {"math.sin", emitSin, "sin"},
    {"math.cos", emitCos, "cos"},
    {"math.tan", nullptr, "tan"},
    {"math.asin", nullptr, "asin"},
    {"math.acos", nullptr, "acos"},
    {"math.atan", nullptr, "atan"},
    {"math.sinh", nullptr, "sinh"},
    {"math.cosh", nullptr, "cosh"},
    {"math.asinh", nullptr, "asinh"},
    {"math.acosh", nullptr, "acosh"},
    {"math.atanh", nullptr, "atanh"},
    {"math.cbrt", nullptr, "cbrt"},
    {"math.powf", nullptr, "pow"},
    {"math.atan2", nullptr, "atan2"},
    {"math.rsqrt", emitRsqrt, "", /*anyWidth=*/true},
    {"math.sqrt"},
    {"math.fma"},
    {"math.floor"},
    {"math.ceil"},
    {"math.trunc"},
    {"math.round"},
    {"math.roundeven"},
};

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
    Formula f(rewriter, location, operands.front().getType(), machine.hasScale());
    Value result = compute(op, f, operands);
    Type type = op->getResult(0).getType();
    Type narrowed = f.typeOf(getElementTypeOrSelf(type));
    result = emitFloatCast(rewriter, location, result, narrowed);
    if (narrowed == type)
      return result;
    return vector::ShapeCastOp::create(rewriter, location, type, result);
  }

  Value compute(Operation *op, Formula &f, ArrayRef<Value> operands) const {
    if (function.formula && (function.anyWidth || getElementTypeOrSelf(f.floatType).isF32()))
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
  for (const MathFunction &function : kFunctions)
    patterns.add<ExpandFunction>(function, machine, patterns.getContext());
}

namespace {
struct ExpandMath : tw::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns, {vectorBytes, hasVectorLibrary});
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
