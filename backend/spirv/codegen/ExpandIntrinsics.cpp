// Intrinsics that LLVM 22 has no SPIR-V for, or another meaning: maxima and minima would be
// OpenCL's fmax and fmin, which may lose NaN and the sign of zero, and saturating conversions give
// no 0 for NaN on the drivers that were tried.
#include "backend/spirv/codegen/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace tw;

namespace {
/// The larger or smaller of two floats, -0 below +0.
struct Extremum {
  bool isMaximum;
  bool prefersNumbers; // to NaN; else NaN wins
};
} // namespace

static llvm::Value *emitExtremum(llvm::IRBuilder<> &b, Extremum kind, llvm::Value *left,
                                 llvm::Value *right) {
  llvm::Type *type = left->getType();
  llvm::Type *bits = type->getWithNewType(b.getIntNTy(type->getScalarSizeInBits()));
  llvm::Value *isLeft =
      kind.isMaximum ? b.CreateFCmpOGT(left, right) : b.CreateFCmpOLT(left, right);
  llvm::Value *leftBits = b.CreateBitCast(left, bits), *rightBits = b.CreateBitCast(right, bits);
  llvm::Value *both =
      kind.isMaximum ? b.CreateAnd(leftBits, rightBits) : b.CreateOr(leftBits, rightBits);
  llvm::Value *chosen = b.CreateSelect(b.CreateFCmpOEQ(left, right), b.CreateBitCast(both, type),
                                       b.CreateSelect(isLeft, left, right));
  if (kind.prefersNumbers)
    return b.CreateSelect(b.CreateFCmpUNO(right, right), left, chosen);
  return b.CreateSelect(b.CreateFCmpUNO(left, right), b.CreateFAdd(left, right), chosen);
}

/// 0 where the source is NaN.
static llvm::Value *zeroForNan(llvm::IntrinsicInst &call) {
  llvm::IRBuilder<> b(call.getNextNode());
  llvm::Value *source = call.getArgOperand(0);
  llvm::Value *isNan = b.CreateFCmpUNO(source, source);
  return b.CreateSelect(isNan, llvm::Constant::getNullValue(call.getType()), &call);
}

/// Exchanges neighbours of 1 bit, then of 2, 4 and so on.
static llvm::Value *reverseBits(llvm::IRBuilder<> &b, llvm::Value *value) {
  unsigned width = value->getType()->getScalarSizeInBits();
  for (unsigned step = 1; step < width; step *= 2) {
    llvm::APInt lower = llvm::APInt::getSplat(width, llvm::APInt::getLowBitsSet(2 * step, step));
    llvm::Value *mask = llvm::ConstantInt::get(value->getType(), lower);
    llvm::Value *up = b.CreateShl(b.CreateAnd(value, mask), step);
    llvm::Value *down = b.CreateAnd(b.CreateLShr(value, step), mask);
    value = b.CreateOr(up, down);
  }
  return value;
}

/// LLVM finds reversals of any number of bits, and makes integers of as many. They are cut out of
/// wider ones and extended to such again, which stay in their place.
static llvm::Value *reverseAnyBits(llvm::IntrinsicInst &call) {
  llvm::IRBuilder<> b(&call);
  llvm::Value *source = call.getArgOperand(0);
  llvm::Type *type = call.getType();
  unsigned bits = type->getScalarSizeInBits(),
           width = std::max(8u, unsigned(llvm::PowerOf2Ceil(bits)));
  if (bits == width)
    return reverseBits(b, source);
  if (auto *cut = llvm::dyn_cast<llvm::TruncInst>(source))
    source = cut->getOperand(0);
  llvm::Value *wide = b.CreateZExtOrTrunc(source, type->getWithNewType(b.getIntNTy(width)));
  wide = b.CreateLShr(reverseBits(b, wide), width - bits);
  for (llvm::User *user : llvm::make_early_inc_range(call.users()))
    if (auto *extension = llvm::dyn_cast<llvm::ZExtInst>(user)) {
      extension->replaceAllUsesWith(b.CreateZExtOrTrunc(wide, extension->getType()));
      extension->eraseFromParent();
    }
  return call.use_empty() ? wide : b.CreateTrunc(wide, type);
}

static llvm::Value *expand(llvm::IntrinsicInst &call) {
  llvm::IRBuilder<> b(&call);
  auto extremum = [&](Extremum kind) {
    return emitExtremum(b, kind, call.getArgOperand(0), call.getArgOperand(1));
  };
  switch (call.getIntrinsicID()) {
  case llvm::Intrinsic::maximum:
    return extremum({.isMaximum = true, .prefersNumbers = false});
  case llvm::Intrinsic::minimum:
    return extremum({.isMaximum = false, .prefersNumbers = false});
  case llvm::Intrinsic::maxnum:
    return extremum({.isMaximum = true, .prefersNumbers = true});
  case llvm::Intrinsic::minnum:
    return extremum({.isMaximum = false, .prefersNumbers = true});
  case llvm::Intrinsic::bitreverse:
    return reverseAnyBits(call);
  case llvm::Intrinsic::fptosi_sat:
  case llvm::Intrinsic::fptoui_sat:
    return zeroForNan(call);
  default:
    return nullptr;
  }
}

void tw::spirv::expandIntrinsics(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> calls;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        calls.push_back(call);
  for (llvm::IntrinsicInst *call : calls)
    if (llvm::Value *expanded = expand(*call)) {
      call->replaceUsesWithIf(expanded, [&](llvm::Use &use) { return use.getUser() != expanded; });
      if (!call->use_empty())
        continue;
      llvm::Value *source = call->getArgOperand(0);
      call->eraseFromParent();
      llvm::RecursivelyDeleteTriviallyDeadInstructions(source);
    }
}

/// Returns true if SPIR-V has the integers of a type.
static bool isLegal(llvm::Type *type) {
  auto *integer = llvm::dyn_cast<llvm::IntegerType>(type->getScalarType());
  return !integer || llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer->getBitWidth());
}

void tw::spirv::checkIntegers(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (!isLegal(instruction.getType()))
        return module.getContext().emitError(&instruction,
                                             "SPIR-V has no integers of this many bits");
}
