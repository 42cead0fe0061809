// Integer and floating-point arithmetic, comparison and selection, element by element.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Operator.h"

using namespace tw::warpsim;
using llvm::CmpInst;

static bool isTooWide(llvm::Type *type) {
  return type->getScalarType()->isIntegerTy() && type->getScalarSizeInBits() > 64;
}

void FunctionImporter::importInstruction(llvm::Instruction &instruction) {
  bool hasWide = llvm::any_of(instruction.operands(), [](const llvm::Use &operand) {
    return isTooWide(operand->getType());
  });
  if (hasWide || isTooWide(instruction.getType())) {
    if (!importWide(instruction))
      unsupported(instruction, "integers of more than 64 bits");
    return;
  }
  if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
    return importCall(*call);
  if (auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
    if (!importCast(*cast))
      unsupported(instruction);
    return;
  }
  if (!importArithmetic(instruction) && !importVector(instruction) && !importMemory(instruction))
    unsupported(instruction);
}

static Op integerOp(unsigned opcode) {
  switch (opcode) {
  case llvm::Instruction::Add:
    return Op::Add;
  case llvm::Instruction::Sub:
    return Op::Sub;
  case llvm::Instruction::Mul:
    return Op::Mul;
  case llvm::Instruction::UDiv:
  case llvm::Instruction::SDiv:
    return Op::Div;
  case llvm::Instruction::URem:
  case llvm::Instruction::SRem:
    return Op::Rem;
  case llvm::Instruction::Shl:
    return Op::Shl;
  case llvm::Instruction::LShr:
  case llvm::Instruction::AShr:
    return Op::Shr;
  case llvm::Instruction::And:
    return Op::And;
  case llvm::Instruction::Or:
    return Op::Or;
  default:
    return Op::Xor;
  }
}

/// Arithmetic of single bits is logic.
Operand FunctionImporter::logic(unsigned opcode, const Operand &a, const Operand &b) {
  switch (opcode) {
  case llvm::Instruction::And:
  case llvm::Instruction::Mul:
    return predicate(Op::And, Type::Pred, {a, b});
  case llvm::Instruction::Or:
    return predicate(Op::Or, Type::Pred, {a, b});
  case llvm::Instruction::Xor:
  case llvm::Instruction::Add:
  case llvm::Instruction::Sub:
    return predicate(Op::Xor, Type::Pred, {a, b});
  default: // shifts and divisions that are defined change nothing
    return a;
  }
}

/// Narrow integers are computed as words, extended where their sign matters.
Operand FunctionImporter::integerBinary(unsigned opcode, unsigned bits, const Operand &a,
                                        const Operand &b) {
  using llvm::Instruction;
  if (bits == 1)
    return logic(opcode, a, b);
  RegisterFile file = bits > 32 ? RegisterFile::Double : RegisterFile::Word;
  bool isSigned =
      opcode == Instruction::SDiv || opcode == Instruction::SRem || opcode == Instruction::AShr;
  bool isBitwise = opcode == Instruction::And || opcode == Instruction::Or ||
                   opcode == Instruction::Xor || opcode == Instruction::Shl;
  Operand left = isSigned ? signExtended(a, bits) : a, right = b;
  if (isSigned && opcode != Instruction::AShr)
    right = signExtended(b, bits);
  Type type = isBitwise ? (bits > 32 ? Type::B64 : Type::B32) : integerType(bits, isSigned);
  Operand value = emitTo(file, integerOp(opcode), type, {left, right});
  bool mayOverflow = !isBitwise || opcode == Instruction::Shl;
  return mayOverflow && opcode != Instruction::LShr ? masked(value, bits) : value;
}

Operand FunctionImporter::floatBinary(unsigned opcode, llvm::Type *type, const Operand &a,
                                      const Operand &b) {
  RegisterFile file = fileOf(type);
  Op op = opcode == llvm::Instruction::FAdd   ? Op::Add
          : opcode == llvm::Instruction::FSub ? Op::Sub
          : opcode == llvm::Instruction::FMul ? Op::Mul
                                              : Op::Div;
  bool isNarrow = !type->isFloatTy() && !type->isDoubleTy();
  bool isInWords = opcode == llvm::Instruction::FDiv || opcode == llvm::Instruction::FRem;
  if (isNarrow && isInWords) {
    llvm::Type *single = llvm::Type::getFloatTy(type->getContext());
    Operand value =
        floatBinary(opcode, single, convertFloat(single, type, a), convertFloat(single, type, b));
    return convertFloat(type, single, value);
  }
  if (opcode == llvm::Instruction::FRem)
    return call(type->isDoubleTy() ? "fmod.f64" : "fmod.f32", file, {a, b});
  Operand to = fresh(file);
  emit(op, floatType(type), {to}, {a, b}).rounding = Rounding::Rn;
  return to;
}

static Compare compareOf(unsigned predicate) {
  switch (predicate) {
  case CmpInst::ICMP_EQ:
  case CmpInst::FCMP_OEQ:
    return Compare::Eq;
  case CmpInst::ICMP_NE:
  case CmpInst::FCMP_ONE:
    return Compare::Ne;
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SGT:
  case CmpInst::FCMP_OGT:
    return Compare::Gt;
  case CmpInst::ICMP_UGE:
  case CmpInst::ICMP_SGE:
  case CmpInst::FCMP_OGE:
    return Compare::Ge;
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SLT:
  case CmpInst::FCMP_OLT:
    return Compare::Lt;
  case CmpInst::ICMP_ULE:
  case CmpInst::ICMP_SLE:
  case CmpInst::FCMP_OLE:
    return Compare::Le;
  case CmpInst::FCMP_ORD:
    return Compare::Num;
  case CmpInst::FCMP_UNO:
    return Compare::Nan;
  case CmpInst::FCMP_UEQ:
    return Compare::Equ;
  case CmpInst::FCMP_UNE:
    return Compare::Neu;
  case CmpInst::FCMP_UGT:
    return Compare::Gtu;
  case CmpInst::FCMP_UGE:
    return Compare::Geu;
  case CmpInst::FCMP_ULT:
    return Compare::Ltu;
  default:
    return Compare::Leu;
  }
}

Operand FunctionImporter::compareIntegers(unsigned predicate, unsigned bits, Operand a, Operand b) {
  bool isSigned = CmpInst::isSigned(CmpInst::Predicate(predicate));
  if (bits == 1) { // true is the greater one of unsigned bits, and -1 of signed ones
    a = word(Op::Selp, Type::B32, {immediate(isSigned ? ~0u : 1), immediate(0), a});
    b = word(Op::Selp, Type::B32, {immediate(isSigned ? ~0u : 1), immediate(0), b});
    bits = 32;
  }
  if (isSigned && bits < 32) {
    a = signExtended(a, bits);
    b = signExtended(b, bits);
  }
  return compare(compareOf(predicate), integerType(bits, isSigned), a, b);
}

Operand FunctionImporter::compareFloats(unsigned predicate, llvm::Type *type, const Operand &a,
                                        const Operand &b) {
  if (predicate == CmpInst::FCMP_TRUE || predicate == CmpInst::FCMP_FALSE)
    return immediate(predicate == CmpInst::FCMP_TRUE);
  return compare(compareOf(predicate), floatType(type), a, b);
}

Operand FunctionImporter::binary(llvm::Instruction &instruction, const Operand &a,
                                 const Operand &b) {
  llvm::Type *type = instruction.getOperand(0)->getType()->getScalarType();
  unsigned opcode = instruction.getOpcode();
  if (auto *comparison = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
    if (type->isFloatingPointTy())
      return compareFloats(comparison->getPredicate(), type, a, b);
    return compareIntegers(comparison->getPredicate(), scalarBits(layout, type), a, b);
  }
  if (type->isFloatingPointTy())
    return floatBinary(opcode, type, a, b);
  return integerBinary(opcode, scalarBits(layout, type), a, b);
}

bool FunctionImporter::importArithmetic(llvm::Instruction &instruction) {
  if (llvm::isa<llvm::BinaryOperator, llvm::CmpInst>(instruction)) {
    Operands a = read(instruction.getOperand(0)), b = read(instruction.getOperand(1)), results;
    for (size_t i = 0; i < a.size(); ++i)
      results.push_back(binary(instruction, a[i], b[i]));
    define(instruction, results);
    return true;
  }
  llvm::Type *type = instruction.getType()->getScalarType();
  if (instruction.getOpcode() == llvm::Instruction::FNeg) {
    Operands results;
    for (const Operand &source : Operands(read(instruction.getOperand(0))))
      results.push_back(emitTo(fileOf(type), Op::Neg, floatType(type), {source}));
    define(instruction, results);
    return true;
  }
  if (llvm::isa<llvm::SelectInst>(instruction)) {
    Operands conditions = read(instruction.getOperand(0)), a = read(instruction.getOperand(1)),
             b = read(instruction.getOperand(2)), to = result(instruction.getType()), results;
    for (size_t i = 0; i < a.size(); ++i)
      results.push_back(
          select(conditions[conditions.size() > 1 ? i : 0], a[i], b[i], to[i].reg.file));
    define(instruction, results);
    return true;
  }
  if (llvm::isa<llvm::FreezeInst>(instruction)) {
    Operands to = result(instruction.getType()), results;
    Operands from = read(instruction.getOperand(0));
    for (size_t i = 0; i < from.size(); ++i)
      results.push_back(call(to[i].reg.file == RegisterFile::Double      ? "freeze.64"
                             : to[i].reg.file == RegisterFile::Predicate ? "freeze.1"
                                                                         : "freeze.32",
                             to[i].reg.file, {from[i]}));
    define(instruction, results);
    return true;
  }
  return false;
}
