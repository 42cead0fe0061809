// Functions of float32 by the machine's approximations. Those instructions take subnormal numbers
// for 0 and give 0 for them ("Transcendental instructions" of the instruction sets), so that
// functions which keep them scale their operands.
#include "backend/amd/LowerAmd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

namespace {
/// Builds operations on float32 at the lowering's place.
struct FloatCode {
  Lowering &lowering;

  OpBuilder &builder() { return lowering.builder; }
  Type f32() { return lowering.builder.getF32Type(); }
  Value call(const Twine &name, ValueRange operands) {
    return callIntrinsic(lowering, name, f32(), operands);
  }
  Value integer(const Twine &name, Value x) {
    return callIntrinsic(lowering, name, lowering.builder.getI32Type(), x);
  }
  Value constant(double value) {
    return LLVM::ConstantOp::create(builder(), lowering.loc, f32(),
                                    builder().getF32FloatAttr(float(value)));
  }
  template <typename Op> Value create(Value a, Value b) {
    return Op::create(builder(), lowering.loc, a, b);
  }
  Value isBelow(Value x, double limit) {
    return LLVM::FCmpOp::create(builder(), lowering.loc, LLVM::FCmpPredicate::olt, x,
                                constant(limit));
  }
  Value select(Value condition, Value yes, Value no) {
    return LLVM::SelectOp::create(builder(), lowering.loc, condition, yes, no);
  }
  /// x * 2^n, where n is below the limit of neither.
  Value scaled(Value x, Value n) { return call("ldexp.f32.i32", {x, n}); }
};
} // namespace

/// 2^x with results below 2^-126: half of the exponent is applied afterwards.
static Value exp2(FloatCode f, Value x) {
  Value isSmall = f.isBelow(x, -126.0);
  Value shifted = f.create<LLVM::FAddOp>(x, f.select(isSmall, f.constant(64.0), f.constant(0.0)));
  Value factor = f.select(isSmall, f.constant(0x1p-64), f.constant(1.0));
  return f.create<LLVM::FMulOp>(f.call("amdgcn.exp2.f32", shifted), factor);
}

static Value log2(FloatCode f, Value x) {
  Value isSmall = f.isBelow(x, 0x1p-126);
  Value factor = f.select(isSmall, f.constant(0x1p32), f.constant(1.0));
  Value log = f.call("amdgcn.log.f32", f.create<LLVM::FMulOp>(x, factor));
  return f.create<LLVM::FSubOp>(log, f.select(isSmall, f.constant(32.0), f.constant(0.0)));
}

/// Mantissa and exponent apart, so that neither operand nor result of the instruction is subnormal.
static Value reciprocal(FloatCode f, Value x) {
  Value near = f.call("amdgcn.rcp.f32", f.call("amdgcn.frexp.mant.f32", x));
  Value exponent = f.integer("amdgcn.frexp.exp.i32.f32", x);
  return f.scaled(near, f.create<LLVM::SubOp>(constantI32(f.lowering, 0), exponent));
}

/// A root of operands times 2^(2 `shift`) where they are small; the result times 2^`undo`.
static Value scaledRoot(FloatCode f, Value x, const char *instruction, int shift, int undo) {
  Value isSmall = f.isBelow(x, 0x1p-96), none = constantI32(f.lowering, 0);
  Value by = f.select(isSmall, constantI32(f.lowering, 2 * shift), none);
  Value root = f.call(instruction, f.scaled(x, by));
  return f.scaled(root, f.select(isSmall, constantI32(f.lowering, undo), none));
}

/// 1 - 2 / (e^2|x| + 1), and x itself where that is nearer: the error stays below 2^-14.
static Value tanh(FloatCode f, Value x) {
  Value size = f.call("fabs.f32", x);
  Value power =
      f.call("amdgcn.exp2.f32", f.create<LLVM::FMulOp>(size, f.constant(2.885390081777927)));
  Value part = f.call("amdgcn.rcp.f32", f.create<LLVM::FAddOp>(power, f.constant(1.0)));
  Value twice = f.create<LLVM::FMulOp>(part, f.constant(2.0));
  Value result = f.create<LLVM::FSubOp>(f.constant(1.0), twice);
  result = f.select(f.isBelow(size, 0x1p-7), size, result);
  return f.call("copysign.f32", {result, x});
}

Value tw::amd::lowerApprox(Lowering &lowering, simt::ApproxOp op) {
  FloatCode f{lowering};
  Value x = op.getSource();
  auto revolutions = [&] { return f.create<LLVM::FMulOp>(x, f.constant(0.15915494309189535)); };
  switch (op.getKind()) {
  case simt::ApproxKind::Exp2:
    return exp2(f, x);
  case simt::ApproxKind::Exp2Flushed:
    return f.call("amdgcn.exp2.f32", x);
  case simt::ApproxKind::Log2:
    return log2(f, x);
  case simt::ApproxKind::Reciprocal:
    return reciprocal(f, x);
  case simt::ApproxKind::ReciprocalFlushed:
    return f.call("amdgcn.rcp.f32", x);
  case simt::ApproxKind::Sqrt:
    return scaledRoot(f, x, "amdgcn.sqrt.f32", 16, -16);
  case simt::ApproxKind::Rsqrt:
    return scaledRoot(f, x, "amdgcn.rsq.f32", 16, 16);
  case simt::ApproxKind::Sin:
    return f.call("amdgcn.sin.f32", revolutions());
  case simt::ApproxKind::Cos:
    return f.call("amdgcn.cos.f32", revolutions());
  case simt::ApproxKind::Tanh:
    return tanh(f, x);
  }
  return Value();
}

/// Mantissas and exponents apart: an error of 1 ulp of the reciprocal, half of one of the product.
Value tw::amd::lowerDivide(Lowering &lowering, simt::DivideOp op) {
  FloatCode f{lowering};
  Value above = op.getLhs(), below = op.getRhs();
  Value near = f.call("amdgcn.rcp.f32", f.call("amdgcn.frexp.mant.f32", below));
  near = f.create<LLVM::FMulOp>(f.call("amdgcn.frexp.mant.f32", above), near);
  Value exponent = f.create<LLVM::SubOp>(f.integer("amdgcn.frexp.exp.i32.f32", above),
                                         f.integer("amdgcn.frexp.exp.i32.f32", below));
  return f.scaled(near, exponent);
}

/// The upper half of a float32 rounded to nearest even, or of NaN. LLVM would keep the digits of
/// NaN, by one instruction more.
static Value roundedToBf16(OpBuilder &b, Location loc, Value x) {
  Type word = b.getI32Type();
  auto constant = [&](int64_t number) {
    return LLVM::ConstantOp::create(b, loc, word, b.getI32IntegerAttr(int32_t(number)));
  };
  Value bits = LLVM::BitcastOp::create(b, loc, word, x);
  Value isOdd =
      LLVM::AndOp::create(b, loc, LLVM::LShrOp::create(b, loc, bits, constant(16)), constant(1));
  Value half = LLVM::AddOp::create(b, loc, isOdd, constant(0x7fff));
  Value rounded = LLVM::AddOp::create(b, loc, bits, half);
  Value isNan = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::uno, x, x);
  Value result = LLVM::SelectOp::create(b, loc, isNan, constant(0x7fff0000), rounded);
  Value upper = LLVM::TruncOp::create(b, loc, b.getI16Type(),
                                      LLVM::LShrOp::create(b, loc, result, constant(16)));
  return LLVM::BitcastOp::create(b, loc, b.getBF16Type(), upper);
}

void tw::amd::roundToBf16(LLVM::LLVMFuncOp kernel) {
  SmallVector<arith::TruncFOp> roundings;
  kernel.walk([&](arith::TruncFOp op) {
    if (op.getType().isBF16() && op.getIn().getType().isF32())
      roundings.push_back(op);
  });
  for (arith::TruncFOp op : roundings) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(roundedToBf16(builder, op.getLoc(), op.getIn()));
    op.erase();
  }
}
