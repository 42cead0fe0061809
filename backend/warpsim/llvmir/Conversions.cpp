// Casts: between integers, floats and pointers, and of bits.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/IR/Instructions.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

Operand FunctionImporter::resizeInteger(unsigned toBits, unsigned fromBits, bool isSigned,
                                        const Operand &source) {
  RegisterFile file = toBits > 32 ? RegisterFile::Double : RegisterFile::Word;
  if (fromBits == 1) {
    uint64_t whenTrue = !isSigned ? 1 : toBits == 64 ? ~uint64_t(0) : (uint64_t(1) << toBits) - 1;
    return emitTo(file, Op::Selp, toBits > 32 ? Type::B64 : Type::B32,
                  {immediate(whenTrue), immediate(0), source});
  }
  if (toBits == 1) {
    bool isWide = fromBits > 32;
    Operand bit = emitTo(isWide ? RegisterFile::Double : RegisterFile::Word, Op::And,
                         isWide ? Type::B64 : Type::B32, {source, immediate(1)});
    return compare(Compare::Ne, isWide ? Type::U64 : Type::U32, bit, immediate(0));
  }
  Operand value = isSigned && toBits > fromBits ? signExtended(source, fromBits) : source;
  bool isFromWide = fromBits > 32, isToWide = toBits > 32;
  if (isFromWide != isToWide)
    value = convert(integerType(toBits, isSigned), integerType(fromBits, isSigned), value);
  bool isExact = !isSigned && toBits > fromBits;
  return isExact ? value : masked(value, toBits);
}

Operand FunctionImporter::convertFloat(llvm::Type *to, llvm::Type *from, const Operand &source,
                                       Rounding rounding) {
  if (to == from)
    return source;
  llvm::Type *single = llvm::Type::getFloatTy(to->getContext());
  bool isBrainAndDouble =
      (to->isBFloatTy() && from->isDoubleTy()) || (to->isDoubleTy() && from->isBFloatTy());
  bool isHalfAndBrain =
      (to->isBFloatTy() && from->isHalfTy()) || (to->isHalfTy() && from->isBFloatTy());
  if (isBrainAndDouble && from->isDoubleTy()) // rounded to odd, then once to nearest
    return convertFloat(to, single, call("narrow.odd", RegisterFile::Word, {source}), rounding);
  if (isBrainAndDouble || isHalfAndBrain)
    return convertFloat(to, single, convertFloat(single, from, source), rounding);
  bool isWidening = layout.getTypeSizeInBits(to) > layout.getTypeSizeInBits(from);
  return convert(floatType(to), floatType(from), source, isWidening ? Rounding::None : rounding);
}

Operand FunctionImporter::floatToInteger(llvm::Type *to, llvm::Type *from, bool isSigned,
                                         const Operand &source) {
  unsigned bits = scalarBits(layout, to);
  llvm::Type *single = llvm::Type::getFloatTy(to->getContext());
  if (from->isHalfTy() || from->isBFloatTy())
    return floatToInteger(to, single, isSigned, convertFloat(single, from, source));
  Operand value = convert(integerType(bits, isSigned), floatType(from), source, Rounding::Rzi);
  if (bits == 1)
    return resizeInteger(1, 32, false, value);
  return masked(value, bits);
}

Operand FunctionImporter::integerToFloat(llvm::Type *to, llvm::Type *from, bool isSigned,
                                         const Operand &source) {
  unsigned bits = scalarBits(layout, from);
  Operand value = source;
  if (bits == 1)
    value = resizeInteger(32, 1, isSigned, source);
  else if (isSigned)
    value = signExtended(source, bits);
  Type type = integerType(bits, isSigned);
  if (!to->isBFloatTy())
    return convert(floatType(to), type, value, Rounding::Rn);
  const char *name =
      bits > 32 ? (isSigned ? "brain.s64" : "brain.u64") : (isSigned ? "brain.s32" : "brain.u32");
  return call(name, RegisterFile::Word, {value});
}

Operand FunctionImporter::castOne(llvm::CastInst &cast, llvm::Type *to, llvm::Type *from,
                                  const Operand &source) {
  using llvm::Instruction;
  unsigned toBits = scalarBits(layout, to), fromBits = scalarBits(layout, from);
  switch (cast.getOpcode()) {
  case Instruction::ZExt:
  case Instruction::Trunc:
  case Instruction::PtrToInt:
  case Instruction::IntToPtr:
    return toBits == fromBits ? source : resizeInteger(toBits, fromBits, false, source);
  case Instruction::SExt:
    return resizeInteger(toBits, fromBits, true, source);
  case Instruction::FPTrunc:
  case Instruction::FPExt:
    return convertFloat(to, from, source);
  case Instruction::FPToSI:
    return floatToInteger(to, from, true, source);
  case Instruction::FPToUI:
    return floatToInteger(to, from, false, source);
  case Instruction::SIToFP:
    return integerToFloat(to, from, true, source);
  case Instruction::UIToFP:
    return integerToFloat(to, from, false, source);
  default:
    break;
  }
  // Between address spaces: global, constant and flat addresses are the same.
  Space toSpace = spaceOf(to->getPointerAddressSpace()),
        fromSpace = spaceOf(from->getPointerAddressSpace());
  auto hasOwnAddresses = [](Space space) {
    return space == Space::Shared || space == Space::Local;
  };
  bool isToOwn = hasOwnAddresses(toSpace), isFromOwn = hasOwnAddresses(fromSpace);
  if (isToOwn == isFromOwn)
    return source;
  // Those have 32 bits on AMD's machines, and 64 on OpenCL's.
  Operand value = fromBits == 32 ? convert(Type::U64, Type::U32, source) : source;
  Operand moved = fresh(RegisterFile::Double);
  auto &made = emit(Op::Cvta, Type::U64, {moved}, {value});
  made.space = isFromOwn ? fromSpace : toSpace;
  made.toSpace = isToOwn;
  return toBits == 32 ? convert(Type::U32, Type::U64, moved) : moved;
}

Operands FunctionImporter::repackPredicates(const Operands &sources, unsigned fromBits,
                                            unsigned toBits) {
  Operands results;
  if (fromBits == 1) {
    for (size_t i = 0; i < sources.size(); i += toBits) {
      Operand value = immediate(0);
      for (unsigned bit = 0; bit < toBits; ++bit) {
        Operand part = toBits > 32
                           ? wide(Op::Selp, Type::B64,
                                  {immediate(uint64_t(1) << bit), immediate(0), sources[i + bit]})
                           : word(Op::Selp, Type::B32,
                                  {immediate(uint64_t(1) << bit), immediate(0), sources[i + bit]});
        value = bit == 0      ? part
                : toBits > 32 ? wide(Op::Or, Type::B64, {value, part})
                              : word(Op::Or, Type::B32, {value, part});
      }
      results.push_back(value);
    }
    return results;
  }
  for (const Operand &source : sources)
    for (unsigned bit = 0; bit < fromBits; ++bit) {
      Operand shifted = fromBits > 32 ? wide(Op::Shr, Type::U64, {source, immediate(bit)})
                                      : word(Op::Shr, Type::U32, {source, immediate(bit)});
      results.push_back(resizeInteger(1, fromBits, false, shifted));
    }
  return results;
}

/// The same bits in elements of another width.
Operands FunctionImporter::repack(const Operands &sources, unsigned fromBits, unsigned toBits) {
  if (fromBits == toBits)
    return sources;
  if (fromBits == 1 || toBits == 1)
    return repackPredicates(sources, fromBits, toBits);
  if ((fromBits == 8 && toBits == 64) || (fromBits == 64 && toBits == 8))
    return repack(repack(sources, fromBits, 32), 32, toBits);
  unsigned greater = std::max(fromBits, toBits), ratio = greater / std::min(fromBits, toBits);
  if (greater > 64 || (ratio != 2 && ratio != 4)) {
    refuse("a cast of elements of " + llvm::Twine(fromBits) + " bits to " + llvm::Twine(toBits));
    return sources;
  }
  Type type = greater == 64 ? Type::B64 : greater == 32 ? Type::B32 : Type::B16;
  Operands results;
  if (toBits > fromBits) {
    for (size_t i = 0; i + ratio <= sources.size(); i += ratio)
      results.push_back(emitTo(greater == 64 ? RegisterFile::Double : RegisterFile::Word, Op::Mov,
                               type, Operands(&sources[i], &sources[i] + ratio)));
    return results;
  }
  for (const Operand &source : sources) {
    Operands parts;
    for (unsigned i = 0; i < ratio; ++i)
      parts.push_back(fresh(RegisterFile::Word));
    emit(Op::Mov, type, parts, {source});
    results.insert(results.end(), parts.begin(), parts.end());
  }
  return results;
}

bool FunctionImporter::importCast(llvm::CastInst &cast) {
  llvm::Type *to = cast.getDestTy()->getScalarType(), *from = cast.getSrcTy()->getScalarType();
  Operands sources = read(cast.getOperand(0)), results;
  if (cast.getOpcode() == llvm::Instruction::BitCast) {
    define(cast, repack(sources, scalarBits(layout, from), scalarBits(layout, to)));
    return true;
  }
  bool isResource = (to->isPointerTy() && to->getPointerAddressSpace() >= 7) ||
                    (from->isPointerTy() && from->getPointerAddressSpace() >= 7);
  if (isResource)
    return false;
  for (const Operand &source : sources)
    results.push_back(castOne(cast, to, from, source));
  define(cast, results);
  return true;
}
