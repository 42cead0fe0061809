// Functions of float32 by OpenCL's, and arithmetic on bf16 by that of float32.
#include "backend/spirv/LowerSpirv.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/math/ExpandArith.h"
#include "passes/math/ExpandMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

/// OpenCL C, "Relative Error as ULPs": exp2 and log2 3, rsqrt 2, sin, cos 4 and tanh 5 units. They
/// keep subnormal numbers where the device does.
static StringLiteral functionOf(simt::ApproxKind kind) {
  switch (kind) {
  case simt::ApproxKind::Exp2:
  case simt::ApproxKind::Exp2Flushed:
    return "_Z4exp2f";
  case simt::ApproxKind::Log2:
    return "_Z4log2f";
  case simt::ApproxKind::Sqrt:
    return "_Z4sqrtf";
  case simt::ApproxKind::Rsqrt:
    return "_Z5rsqrtf";
  case simt::ApproxKind::Sin:
    return "_Z3sinf";
  case simt::ApproxKind::Cos:
    return "_Z3cosf";
  case simt::ApproxKind::Tanh:
    return "_Z4tanhf";
  case simt::ApproxKind::Reciprocal:
  case simt::ApproxKind::ReciprocalFlushed:
    break; // a division
  }
  return "";
}

Value tw::spirv::divideNearly(Lowering &lowering, Value above, Value below) {
  return LLVM::FDivOp::create(lowering.builder, lowering.loc, above, below,
                              LLVM::FastmathFlags::afn);
}

Value tw::spirv::lowerApprox(Lowering &lowering, simt::ApproxOp op) {
  OpBuilder &b = lowering.builder;
  StringLiteral function = functionOf(op.getKind());
  if (!function.empty())
    return callBuiltin(lowering, {function}, b.getF32Type(), op.getSource());
  Value one = LLVM::ConstantOp::create(b, lowering.loc, b.getF32Type(), b.getF32FloatAttr(1.0f));
  return divideNearly(lowering, one, op.getSource());
}

/// Returns true if an operation computes with bf16, beyond moving and choosing their bits, which
/// carry-bf16-as-bits sees to.
static bool computesBf16(Operation *op) {
  auto isBf16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
  StringRef dialect = op->getName().getDialectNamespace();
  bool isArithmetic = dialect == "arith" || dialect == "math" ||
                      isa<LLVM::MaxNumOp, LLVM::MinNumOp, LLVM::MaximumOp, LLVM::MinimumOp>(op);
  return isArithmetic && !isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op) &&
         (llvm::any_of(op->getOperandTypes(), isBf16) ||
          llvm::any_of(op->getResultTypes(), isBf16));
}

static Type withoutBf16(Type type) {
  return getElementTypeOrSelf(type).isBF16()
             ? withElement(type, Float32Type::get(type.getContext()))
             : type;
}

/// Computes in float32. Conversions from it and to it are arithmetic on bits.
static void expandBf16(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto cast = [&](Value value, Type type) {
    return value.getType() == type ? value : emitFloatCast(builder, loc, value, type);
  };
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    op->getResult(0).replaceAllUsesWith(cast(op->getOperand(0), op->getResult(0).getType()));
    return op->erase();
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(cast(operand, withoutBf16(operand.getType())));
  OperationState state(loc, op->getName(), operands, withoutBf16(op->getResult(0).getType()),
                       op->getAttrs());
  Value wide = builder.create(state)->getResult(0);
  op->getResult(0).replaceAllUsesWith(cast(wide, op->getResult(0).getType()));
  op->erase();
}

void tw::spirv::expandBf16(Lowering &lowering) {
  SmallVector<Operation *> operations;
  lowering.kernel->walk([&](Operation *op) {
    if (computesBf16(op))
      operations.push_back(op);
  });
  for (Operation *op : operations)
    ::expandBf16(op);
}

/// A product of 128 bits is its lower half and OpenCL's mul_hi: SPIR-V has no such integers.
template <typename Op> static void expandWideProduct(Lowering &lowering, Op op) {
  if (op.getLow().getType() != lowering.builder.getI64Type())
    return;
  lowering.builder.setInsertionPoint(op);
  lowering.loc = op.getLoc();
  Value low = arith::MulIOp::create(lowering.builder, lowering.loc, op.getLhs(), op.getRhs());
  bool isSigned = std::is_same_v<Op, arith::MulSIExtendedOp>;
  Value high = isSigned ? callBuiltin(lowering, {"_Z6mul_hill"}, low.getType(), op->getOperands())
                        : callBuiltin(lowering, {"_Z6mul_himm"}, low.getType(), op->getOperands());
  op->replaceAllUsesWith(ValueRange{low, high});
  op->erase();
}

void tw::spirv::expandWideProducts(Lowering &lowering) {
  lowering.kernel->walk([&](Operation *op) {
    if (auto product = dyn_cast<arith::MulUIExtendedOp>(op))
      expandWideProduct(lowering, product);
    else if (auto product = dyn_cast<arith::MulSIExtendedOp>(op))
      expandWideProduct(lowering, product);
  });
}
