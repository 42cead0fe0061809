// Conversions of pairs of 8-bit floats (PTX ISA, "cvt": sm_89 and later).
#include "backend/nvidia/LowerNvidia.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/math/ExpandArith.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

bool tw::nvidia::isFloat8Cast(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op) &&
         (isFloat8(getElementTypeOrSelf(op->getOperand(0).getType())) ||
          isFloat8(getElementTypeOrSelf(op->getResult(0).getType())));
}

/// Returns PTX's name for a pair of the type.
static const char *pairName(Type element) {
  return isa<Float8E5M2Type>(element) ? "e5m2x2" : "e4m3x2";
}

/// A pair of bytes as a pair of floats: f16, or what extends that (arith folds two extensions).
static Value extendPair(Lowering &lowering, Value source, VectorType to) {
  OpBuilder &b = lowering.builder;
  auto from = cast<VectorType>(source.getType());
  Type bytes = VectorType::get({2}, b.getI8Type());
  Value pair = arith::BitcastOp::create(b, lowering.loc, bytes, source);
  pair = LLVM::BitcastOp::create(b, lowering.loc, b.getI16Type(), pair);
  VectorType halves = to.clone(b.getF16Type());
  std::string name = std::string(pairName(from.getElementType())) + ".to.f16x2.rn";
  pair = callIntrinsic(lowering, name, halves, pair).getResults();
  return to == halves ? pair : Value(arith::ExtFOp::create(b, lowering.loc, to, pair));
}

/// Two elements from `first` on as two bytes in an i16.
static Value roundPair(Lowering &lowering, Value source, int64_t first, StringRef name) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Type word = b.getI16Type();
  Value lower = vector::ExtractOp::create(b, loc, source, first);
  Value upper = vector::ExtractOp::create(b, loc, source, first + 1);
  if (lower.getType().isBF16()) {
    lower = arith::ExtFOp::create(b, loc, b.getF32Type(), lower);
    upper = arith::ExtFOp::create(b, loc, b.getF32Type(), upper);
  }
  if (lower.getType().isF32()) // the first operand becomes the upper byte
    return callIntrinsic(lowering, "ff.to." + name + ".rn", word, {upper, lower}).getResults();
  auto halves = VectorType::get({2}, lower.getType());
  Value pair = vector::FromElementsOp::create(b, loc, halves, ValueRange{lower, upper});
  return callIntrinsic(lowering, "f16x2.to." + name + ".rn", word, pair).getResults();
}

void tw::nvidia::lowerFloat8Cast(Lowering &lowering, Operation *op) {
  OpBuilder &b = lowering.builder;
  Location loc = lowering.loc;
  Value source = op->getOperand(0);
  auto to = cast<VectorType>(op->getResult(0).getType());
  if (isa<arith::ExtFOp>(op))
    return op->getResult(0).replaceAllUsesWith(extendPair(lowering, source, to));
  StringRef name = pairName(to.getElementType());
  Value packed = roundPair(lowering, source, 0, name);
  if (to.getNumElements() == 4) {
    // One word, whose bytes LLVM need not put together to store them.
    Type word = b.getI32Type();
    Value lower = LLVM::ZExtOp::create(b, loc, word, packed);
    Value upper = LLVM::ZExtOp::create(b, loc, word, roundPair(lowering, source, 2, name));
    Value bits = LLVM::ConstantOp::create(b, loc, word, b.getI32IntegerAttr(16));
    packed = LLVM::OrOp::create(b, loc, lower, LLVM::ShlOp::create(b, loc, upper, bits));
  }
  packed = LLVM::BitcastOp::create(b, loc, to.clone(b.getI8Type()), packed);
  op->getResult(0).replaceAllUsesWith(arith::BitcastOp::create(b, loc, to, packed));
}
