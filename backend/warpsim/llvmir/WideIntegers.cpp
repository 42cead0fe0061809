// Integers of 128 bits, as two words of 64: the low one first. Products of 64 bits by 64 are what
// compilers make of them, in random numbers and in the reduction of angles.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/IR/InstrTypes.h"

using namespace tw::warpsim;
using llvm::CmpInst;

bool FunctionImporter::isWide(llvm::Type *type) { return type->isIntegerTy(128); }

Operands FunctionImporter::wideProduct(const Operands &a, const Operands &b) {
  Operand high = call("mulhi.64", RegisterFile::Double, {a[0], b[0]});
  Operand left = wide(Op::Mul, Type::U64, {a[0], b[1]});
  Operand right = wide(Op::Mul, Type::U64, {a[1], b[0]});
  high = wide(Op::Add, Type::U64, {wide(Op::Add, Type::U64, {high, left}), right});
  return {wide(Op::Mul, Type::U64, {a[0], b[0]}), high};
}

/// The carry or borrow out of the low words goes to the high ones.
Operands FunctionImporter::wideSum(bool isDifference, const Operands &a, const Operands &b) {
  Op op = isDifference ? Op::Sub : Op::Add;
  Operand low = wide(op, Type::U64, {a[0], b[0]});
  Operand carries = isDifference ? compare(Compare::Lt, Type::U64, a[0], b[0])
                                 : compare(Compare::Lt, Type::U64, low, a[0]);
  Operand carry = select(carries, immediate(1), immediate(0), RegisterFile::Double);
  return {low, wide(op, Type::U64, {wide(op, Type::U64, {a[1], b[1]}), carry})};
}

/// Amounts of 128 and more are poison.
Operands FunctionImporter::wideShift(unsigned opcode, const Operands &a, const Operand &amount) {
  std::string name = opcode == llvm::Instruction::Shl    ? "shl128"
                     : opcode == llvm::Instruction::LShr ? "lshr128"
                                                         : "ashr128";
  auto half = [&](const char *which) {
    return call((name + which).c_str(), RegisterFile::Double, {a[0], a[1], amount});
  };
  return {half(".low"), half(".high")};
}

Operand FunctionImporter::compareWide(unsigned predicate, const Operands &a, const Operands &b) {
  if (predicate == CmpInst::ICMP_EQ || predicate == CmpInst::ICMP_NE) {
    Operand differs =
        wide(Op::Or, Type::B64,
             {wide(Op::Xor, Type::B64, {a[0], b[0]}), wide(Op::Xor, Type::B64, {a[1], b[1]})});
    return compareIntegers(predicate, 64, differs, immediate(0));
  }
  CmpInst::Predicate whole = CmpInst::Predicate(predicate);
  if (llvm::ICmpInst::isSigned(whole))
    whole = llvm::ICmpInst::getUnsignedPredicate(whole);
  Operand ofLow = compareIntegers(whole, 64, a[0], b[0]);
  Operand ofHigh = compareIntegers(predicate, 64, a[1], b[1]);
  Operand isSame = compare(Compare::Eq, Type::U64, a[1], b[1]);
  return select(isSame, ofLow, ofHigh, RegisterFile::Predicate);
}

/// Nothing where it is neither a sum, a product, a shift nor logic.
Operands FunctionImporter::wideBinary(unsigned opcode, const Operands &a, const Operands &b) {
  switch (opcode) {
  case llvm::Instruction::Add:
  case llvm::Instruction::Sub:
    return wideSum(opcode == llvm::Instruction::Sub, a, b);
  case llvm::Instruction::Mul:
    return wideProduct(a, b);
  case llvm::Instruction::Shl:
  case llvm::Instruction::LShr:
  case llvm::Instruction::AShr:
    return wideShift(opcode, a, b[0]);
  case llvm::Instruction::And:
  case llvm::Instruction::Or:
  case llvm::Instruction::Xor:
    return {integerBinary(opcode, 64, a[0], b[0]), integerBinary(opcode, 64, a[1], b[1])};
  default:
    return {};
  }
}

/// Addresses of 57 bits with 45 bits of bounds above them, and flags in the last four (LLVM,
/// FeatureGFX12's "45-bit-num-records-buffer-resource").
void FunctionImporter::defineWideResource(llvm::CastInst &cast, const Operands &words) {
  auto mask = [](unsigned bits) { return immediate((uint64_t(1) << bits) - 1); };
  Operand address = wide(Op::And, Type::B64, {words[0], mask(57)});
  Operand low = wide(Op::Shr, Type::U64, {words[0], immediate(57)});
  Operand high =
      wide(Op::Shl, Type::B64, {wide(Op::And, Type::B64, {words[1], mask(38)}), immediate(7)});
  Operand flags =
      convert(Type::U32, Type::U64, wide(Op::Shr, Type::U64, {words[1], immediate(60)}));
  define(cast, {address, wide(Op::Or, Type::B64, {high, low}), flags});
}

/// The words of a buffer resource: its first byte, its bytes and flags. The bits above an address
/// are a stride, which stays with the address here: any access then goes where no memory is.
bool FunctionImporter::importResource(llvm::CastInst &cast) {
  if (cast.getOpcode() != llvm::Instruction::IntToPtr ||
      cast.getDestTy()->getPointerAddressSpace() != 8 || !isWide(cast.getSrcTy()))
    return false;
  Operands words = read(cast.getOperand(0));
  if (program.target == "gfx1250")
    return defineWideResource(cast, words), true;
  Operand bytes = wide(Op::And, Type::B64, {words[1], immediate(0xffffffff)});
  Operand flags =
      convert(Type::U32, Type::U64, wide(Op::Shr, Type::U64, {words[1], immediate(32)}));
  define(cast, {move(words[0]), bytes, flags});
  return true;
}

bool FunctionImporter::importWideCast(llvm::CastInst &cast) {
  llvm::Type *from = cast.getSrcTy(), *to = cast.getDestTy();
  if (to->isPointerTy())
    return importResource(cast);
  if (!from->isIntegerTy() || !to->isIntegerTy())
    return false;
  Operands source = read(cast.getOperand(0));
  if (cast.getOpcode() == llvm::Instruction::Trunc) {
    unsigned bits = scalarBits(layout, to);
    define(cast, {bits == 64 ? source[0] : resizeInteger(bits, 64, false, source[0])});
    return true;
  }
  unsigned bits = scalarBits(layout, from);
  bool isSigned = cast.getOpcode() == llvm::Instruction::SExt;
  if (bits > 64 || (!isSigned && cast.getOpcode() != llvm::Instruction::ZExt))
    return false;
  Operand low = bits == 64 ? source[0] : resizeInteger(64, bits, isSigned, source[0]);
  define(cast, {low, isSigned ? wide(Op::Shr, Type::S64, {low, immediate(63)})
                              : wide(Op::Mov, Type::B64, {immediate(0)})});
  return true;
}

/// False for what is not known: vectors, divisions, conversions to floats, memory.
bool FunctionImporter::importWide(llvm::Instruction &instruction) {
  for (const llvm::Use &operand : instruction.operands())
    if (operand->getType()->getScalarSizeInBits() > 64 && !isWide(operand->getType()))
      return false;
  if (auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction))
    return importWideCast(*cast);
  if (llvm::isa<llvm::SelectInst, llvm::FreezeInst>(instruction) && isWide(instruction.getType()))
    return importArithmetic(instruction);
  if (!llvm::isa<llvm::BinaryOperator, llvm::ICmpInst>(instruction) ||
      !isWide(instruction.getOperand(0)->getType()))
    return false;
  Operands a = read(instruction.getOperand(0)), b = read(instruction.getOperand(1));
  if (auto *comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
    define(instruction, {compareWide(comparison->getPredicate(), a, b)});
    return true;
  }
  Operands value = wideBinary(instruction.getOpcode(), a, b);
  if (value.empty())
    return false;
  define(instruction, value);
  return true;
}
