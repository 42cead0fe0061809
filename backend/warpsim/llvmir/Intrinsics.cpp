// Intrinsics that every machine has: mathematics, extrema, bits, saturation, overflow.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

/// The function of NamedFunctions.h, without its type, that an intrinsic without its type is.
static llvm::StringRef namedFloat(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "tanh"}, name)
      .Cases({"sqrt", "floor", "ceil", "trunc", "rint", "round", "pow", "copysign", "fabs"}, name)
      .Cases({"minnum", "maxnum", "minimum", "maximum", "canonicalize"}, name)
      .Cases({"nearbyint", "roundeven"}, "rint")
      .Case("minimumnum", "minnum")
      .Case("maximumnum", "maxnum")
      .Default("");
}

static llvm::StringRef namedInteger(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"umin", "umax", "smin", "smax", "abs", "ctpop", "ctlz", "cttz"}, name)
      .Cases({"bswap", "bitreverse", "fshl", "fshr"}, name)
      .Case("uadd.sat", "uaddsat")
      .Case("usub.sat", "usubsat")
      .Case("sadd.sat", "saddsat")
      .Case("ssub.sat", "ssubsat")
      .Default("");
}

static llvm::StringRef nameOf(const llvm::IntrinsicInst &call) {
  return llvm::Intrinsic::getBaseName(call.getIntrinsicID()).drop_front(strlen("llvm."));
}

/// Applies a function of f32 to a value of a narrower type, too.
Operand FunctionImporter::floatFunction(llvm::Type *type, const Operand &source,
                                        llvm::function_ref<Operand(const Operand &)> single) {
  if (!type->isHalfTy() && !type->isBFloatTy())
    return single(source);
  llvm::Type *wider = llvm::Type::getFloatTy(type->getContext());
  return convertFloat(type, wider, single(convertFloat(wider, type, source)));
}

bool FunctionImporter::importFloatIntrinsic(llvm::IntrinsicInst &call) {
  llvm::Type *type = call.getType()->getScalarType();
  llvm::StringRef name = nameOf(call);
  Operands results;
  size_t count = call.getType()->isVoidTy() || !call.getType()->isFPOrFPVectorTy()
                     ? 0
                     : numRegistersOf(call.getType());
  if (name == "arithmetic.fence") {
    define(call, read(call.getArgOperand(0)));
    return true;
  }
  if (name == "fma" || name == "fmuladd") {
    for (size_t i = 0; i < count; ++i) {
      Operand to = fresh(fileOf(type));
      emit(Op::Fma, floatType(type), {to},
           {read(call.getArgOperand(0))[i], read(call.getArgOperand(1))[i],
            read(call.getArgOperand(2))[i]})
          .rounding = Rounding::Rn;
      results.push_back(to);
    }
    define(call, results);
    return true;
  }
  if (name == "ldexp") {
    for (size_t i = 0; i < count; ++i) {
      Operand power = read(call.getArgOperand(1))[i];
      results.push_back(floatFunction(type, read(call.getArgOperand(0))[i], [&](const Operand &x) {
        return this->call(type->isDoubleTy() ? "ldexp.f64" : "ldexp.f32", fileOf(type), {x, power});
      }));
    }
    define(call, results);
    return true;
  }
  llvm::StringRef function = namedFloat(name);
  if (function.empty() || count == 0)
    return false;
  bool isDouble = type->isDoubleTy(), isNarrow = type->isHalfTy() || type->isBFloatTy();
  llvm::Type *wider = llvm::Type::getFloatTy(type->getContext());
  for (size_t i = 0; i < count; ++i) {
    Operands sources;
    for (llvm::Value *argument : call.args()) {
      Operand source = read(argument)[i];
      sources.push_back(isNarrow ? convertFloat(wider, type, source) : source);
    }
    Operand value = this->call((function + (isDouble ? ".f64" : ".f32")).str().c_str(),
                               isDouble ? RegisterFile::Double : RegisterFile::Word, sources);
    results.push_back(isNarrow ? convertFloat(type, wider, value) : value);
  }
  define(call, results);
  return true;
}

/// Classes of floats, too. The machine's own conversion saturates at 32 and 64 bits; to narrower
/// integers its result is clamped.
bool FunctionImporter::importSaturatingCast(llvm::IntrinsicInst &call) {
  llvm::Intrinsic::ID id = call.getIntrinsicID();
  bool isClass = id == llvm::Intrinsic::is_fpclass, isSigned = id == llvm::Intrinsic::fptosi_sat;
  if (!isClass && !isSigned && id != llvm::Intrinsic::fptoui_sat)
    return false;
  llvm::Type *from = call.getArgOperand(0)->getType()->getScalarType();
  llvm::Type *to = call.getType()->getScalarType(),
             *wider = llvm::Type::getFloatTy(to->getContext());
  unsigned bits = scalarBits(layout, to);
  Operands results;
  for (const Operand &source : Operands(read(call.getArgOperand(0)))) {
    if (isClass) {
      bool isDouble = from->isDoubleTy();
      results.push_back(this->call(
          isDouble ? "class.f64" : "class.f32", RegisterFile::Predicate,
          {isDouble ? source : convertFloat(wider, from, source), readOne(call.getArgOperand(1))}));
      continue;
    }
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
      return false;
    llvm::Type *whole = bits < 32 ? llvm::Type::getInt32Ty(to->getContext()) : to;
    Operand value = floatToInteger(whole, from, isSigned, source);
    if (bits < 32) {
      uint32_t most = (1u << (bits - isSigned)) - 1;
      Operand zero = immediate(0), width = immediate(32);
      value = this->call(isSigned ? "smin.32" : "umin.32", RegisterFile::Word,
                         {value, immediate(most), zero, width});
      if (isSigned)
        value = this->call("smax.32", RegisterFile::Word, {value, immediate(~most), zero, width});
    }
    // Of NaN it is 0 here, which the simulator's conversion, PTX's, does not give for all types.
    Operand isNumber = compareFloats(llvm::CmpInst::FCMP_ORD, from, source, source);
    RegisterFile file = bits > 32 ? RegisterFile::Double : RegisterFile::Word;
    results.push_back(select(isNumber, masked(value, bits), immediate(0), file));
  }
  define(call, results);
  return true;
}

bool FunctionImporter::importIntegerIntrinsic(llvm::IntrinsicInst &call) {
  llvm::StringRef id = nameOf(call);
  llvm::Type *type = call.getType()->getScalarType();
  if (!type->isIntegerTy() || call.arg_empty() ||
      !call.getArgOperand(0)->getType()->isIntOrIntVectorTy())
    return false;
  unsigned bits = type->getIntegerBitWidth();
  std::string width = bits > 32 ? ".64" : ".32";
  llvm::StringRef name = namedInteger(id);
  if (name.empty())
    return false;
  bool isSigned = id.starts_with("s") || id == "abs";
  RegisterFile file = bits > 32 ? RegisterFile::Double : RegisterFile::Word;
  bool hasFlag = id == "abs" || id == "ctlz" || id == "cttz"; // whether an edge case is poison
  Operands results;
  for (size_t i = 0; i < numRegistersOf(call.getType()); ++i) {
    Operands sources;
    for (unsigned k = 0; k < call.arg_size() - hasFlag; ++k) {
      Operand source = read(call.getArgOperand(k))[i];
      sources.push_back(isSigned ? signExtended(source, bits) : source);
    }
    sources.resize(3, immediate(0));
    sources.push_back(immediate(bits));
    results.push_back(masked(this->call((name + width).str().c_str(), file, sources), bits));
  }
  define(call, results);
  return true;
}

/// Three-way comparisons: -1, 0 or 1.
bool FunctionImporter::importOrder(llvm::IntrinsicInst &call) {
  llvm::Intrinsic::ID id = call.getIntrinsicID();
  if (id != llvm::Intrinsic::scmp && id != llvm::Intrinsic::ucmp)
    return false;
  llvm::Type *type = call.getType()->getScalarType();
  llvm::Type *compared = call.getArgOperand(0)->getType()->getScalarType();
  if (isWide(type) || isWide(compared))
    return false;
  bool isSigned = id == llvm::Intrinsic::scmp;
  unsigned less = isSigned ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
  unsigned greater = isSigned ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
  unsigned bits = compared->getIntegerBitWidth(), resultBits = type->getIntegerBitWidth();
  uint64_t minusOne = ~uint64_t(0) >> (64 - resultBits);
  Operands results;
  for (unsigned i = 0; i < numRegistersOf(call.getType()); ++i) {
    Operand a = read(call.getArgOperand(0))[i], b = read(call.getArgOperand(1))[i];
    Operand above =
        select(compareIntegers(greater, bits, a, b), immediate(1), immediate(0), fileOf(type));
    results.push_back(
        select(compareIntegers(less, bits, a, b), immediate(minusOne), above, fileOf(type)));
  }
  define(call, results);
  return true;
}

bool FunctionImporter::importOverflow(llvm::IntrinsicInst &call) {
  auto *overflow = llvm::dyn_cast<llvm::WithOverflowInst>(&call);
  unsigned bits = overflow ? call.getArgOperand(0)->getType()->getScalarSizeInBits() : 0;
  if (!overflow || call.getArgOperand(0)->getType()->isVectorTy() || (bits != 32 && bits != 64))
    return false;
  Operand a = readOne(call.getArgOperand(0)), b = readOne(call.getArgOperand(1));
  Operand value = integerBinary(overflow->getBinaryOp(), bits, a, b);
  const char *sign = overflow->isSigned() ? "s" : "u";
  const char *operation = overflow->getBinaryOp() == llvm::Instruction::Add   ? "add"
                          : overflow->getBinaryOp() == llvm::Instruction::Sub ? "sub"
                                                                              : "mul";
  std::string name = std::string(sign) + operation + "overflow" + (bits > 32 ? ".64" : ".32");
  define(call, {value, this->call(name.c_str(), RegisterFile::Predicate, {a, b})});
  return true;
}
