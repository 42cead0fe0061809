// Folds of a vector's elements to one (`llvm.vector.reduce.*`), from the first to the last. Sums
// and products of floats begin with a number of their own; what is reassociated may as well be in
// order.
#include "backend/warpsim/llvmir/FunctionImporter.h"

using namespace tw::warpsim;
using namespace llvm::Intrinsic;

static unsigned binaryOf(ID id) {
  switch (id) {
  case vector_reduce_add:
    return llvm::Instruction::Add;
  case vector_reduce_mul:
    return llvm::Instruction::Mul;
  case vector_reduce_and:
    return llvm::Instruction::And;
  case vector_reduce_or:
    return llvm::Instruction::Or;
  case vector_reduce_xor:
    return llvm::Instruction::Xor;
  case vector_reduce_fadd:
    return llvm::Instruction::FAdd;
  case vector_reduce_fmul:
    return llvm::Instruction::FMul;
  default:
    return 0;
  }
}

/// Null for the others.
static const char *extremumOf(ID id) {
  switch (id) {
  case vector_reduce_smin:
    return "smin";
  case vector_reduce_smax:
    return "smax";
  case vector_reduce_umin:
    return "umin";
  case vector_reduce_umax:
    return "umax";
  case vector_reduce_fmin:
    return "minnum";
  case vector_reduce_fmax:
    return "maxnum";
  case vector_reduce_fminimum:
    return "minimum";
  case vector_reduce_fmaximum:
    return "maximum";
  default:
    return nullptr;
  }
}

Operand FunctionImporter::foldStep(ID id, llvm::Type *type, const Operand &a, const Operand &b) {
  unsigned opcode = binaryOf(id), bits = scalarBits(layout, type);
  if (opcode)
    return type->isFloatingPointTy() ? floatBinary(opcode, type, a, b)
                                     : integerBinary(opcode, bits, a, b);
  RegisterFile file = fileOf(type);
  if (type->isIntegerTy()) {
    bool isSigned = id == vector_reduce_smin || id == vector_reduce_smax;
    std::string name = std::string(extremumOf(id)) + (bits > 32 ? ".64" : ".32");
    Operand left = isSigned ? signExtended(a, bits) : a,
            right = isSigned ? signExtended(b, bits) : b;
    return masked(call(name.c_str(), file, {left, right, immediate(0), immediate(bits)}), bits);
  }
  std::string name = std::string(extremumOf(id)) + (type->isDoubleTy() ? ".f64" : ".f32");
  llvm::Type *wider = type->isDoubleTy() ? type : llvm::Type::getFloatTy(type->getContext());
  Operand best = call(name.c_str(), fileOf(wider),
                      {convertFloat(wider, type, a), convertFloat(wider, type, b)});
  return convertFloat(type, wider, best);
}

bool FunctionImporter::importFold(llvm::IntrinsicInst &call) {
  ID id = call.getIntrinsicID();
  unsigned opcode = binaryOf(id);
  llvm::Type *type = call.getType();
  if (!opcode && !extremumOf(id))
    return false;
  if (type->isIntegerTy() && type->getIntegerBitWidth() == 1 && !opcode)
    return false;
  bool hasStart = opcode == llvm::Instruction::FAdd || opcode == llvm::Instruction::FMul;
  Operands elements = read(call.getArgOperand(hasStart));
  Operand value = hasStart ? readOne(call.getArgOperand(0)) : elements[0];
  for (size_t i = !hasStart; i < elements.size(); ++i)
    value = foldStep(id, type, value, elements[i]);
  define(call, {value});
  return true;
}
