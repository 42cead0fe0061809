// The pass expand-simt-math: math functions of one lane as formulas, and arith without undefined
// cases.
#include "passes/simt/math/ExpandSimtMath.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_EXPANDSIMTMATH
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
/// How one operation is computed. Without formula, LLVM selects it natively in f32 and f64.
struct LaneOperation {
  StringLiteral operation;
  LaneFormulaFunction *formula;
};
#define GET_SimtFunctionTable_IMPL
#include "ir/tile/Elementwise.inc"

class ExpandLaneOperation : public RewritePattern {
public:
  ExpandLaneOperation(const LaneOperation &row, MLIRContext *context)
      : RewritePattern(row.operation, /*benefit=*/1, context), row(row) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    bool isNarrow = type.isF16() || type.isBF16();
    if (!isNarrow && !type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "not a scalar of f16, bf16, f32 or f64");
    if (!isNarrow && !row.formula)
      return rewriter.notifyMatchFailure(op, "LLVM selects it as it is");
    LaneFormula f(rewriter, op->getLoc(), isNarrow ? Type(rewriter.getF32Type()) : type);
    SmallVector<Value> operands(op->getOperands());
    if (isNarrow)
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(rewriter, op->getLoc(), f.floatType, operand);
    Value result = compute(op, f, operands);
    if (isNarrow)
      result = arith::TruncFOp::create(rewriter, op->getLoc(), type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  Value compute(Operation *op, LaneFormula &f, ArrayRef<Value> operands) const {
    if (row.formula)
      return row.formula(f, operands);
    OperationState state(f.location, op->getName(), operands, {f.floatType}, op->getAttrs());
    return f.builder.create(state)->getResult(0);
  }

  const LaneOperation &row;
};

struct ExpandSimtMath : tw::impl::ExpandSimtMathBase<ExpandSimtMath> {
  using ExpandSimtMathBase::ExpandSimtMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    for (const LaneOperation &row : SimtFunctionTable)
      patterns.add<ExpandLaneOperation>(row, &getContext());
    populateSimtArithPatterns(patterns);
    populateSimtFloat8Patterns(patterns);
    populateSimtBytePatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
