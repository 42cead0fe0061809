// Intrinsics that every machine has: mathematics, extrema, bits, saturation, overflow.
#include "backend/warpsim/llvmir/FunctionImporter.h"

using namespace tw::warpsim;
using namespace llvm::Intrinsic;

namespace {
/// A function of f32 and f64 by its name in exec/NamedFunctions; narrower floats are widened.
struct NamedRow {
  ID id;
  const char *single, *wide;
};
constexpr NamedRow kNamed[] = {
    {exp, "exp.f32", "exp.f64"},       {exp2, "exp2.f32", "exp2.f64"},
    {exp10, "exp10.f32", "exp10.f64"}, {log, "log.f32", "log.f64"},
    {log2, "log2.f32", "log2.f64"},    {log10, "log10.f32", "log10.f64"},
    {sin, "sin.f32", "sin.f64"},       {cos, "cos.f32", "cos.f64"},
    {tan, "tan.f32", "tan.f64"},       {tanh, "tanh.f32", "tanh.f64"},
    {sqrt, "sqrt.f32", "sqrt.f64"},    {floor, "floor.f32", "floor.f64"},
    {ceil, "ceil.f32", "ceil.f64"},    {trunc, "trunc.f32", "trunc.f64"},
    {rint, "rint.f32", "rint.f64"},    {nearbyint, "rint.f32", "rint.f64"},
    {roundeven, "rint.f32", "rint.f64"}, {round, "round.f32", "round.f64"},
    {pow, "pow.f32", "pow.f64"},       {minnum, "minnum.f32", "minnum.f64"},
    {maxnum, "maxnum.f32", "maxnum.f64"}, {minimum, "minimum.f32", "minimum.f64"},
    {maximum, "maximum.f32", "maximum.f64"}, {minimumnum, "minnum.f32", "minnum.f64"},
    {maximumnum, "maxnum.f32", "maxnum.f64"}, {copysign, "copysign.f32", "copysign.f64"},
    {fabs, "fabs.f32", "fabs.f64"},    {canonicalize, "canonicalize.f32", "canonicalize.f64"},
};
} // namespace

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
  ID id = call.getIntrinsicID();
  Operands results;
  size_t count = call.getType()->isVoidTy() || !call.getType()->isFPOrFPVectorTy()
                     ? 0
                     : numRegistersOf(call.getType());
  if (id == fma || id == fmuladd) {
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
  if (id == ldexp) {
    for (size_t i = 0; i < count; ++i) {
      Operand power = read(call.getArgOperand(1))[i];
      results.push_back(floatFunction(type, read(call.getArgOperand(0))[i], [&](const Operand &x) {
        return this->call(type->isDoubleTy() ? "ldexp.f64" : "ldexp.f32", fileOf(type),
                          {x, power});
      }));
    }
    define(call, results);
    return true;
  }
  const auto *row = std::ranges::find(kNamed, id, &NamedRow::id);
  if (row == std::end(kNamed) || count == 0)
    return false;
  bool isDouble = type->isDoubleTy(), isNarrow = type->isHalfTy() || type->isBFloatTy();
  llvm::Type *wider = llvm::Type::getFloatTy(type->getContext());
  for (size_t i = 0; i < count; ++i) {
    Operands sources;
    for (llvm::Value *argument : call.args()) {
      Operand source = read(argument)[i];
      sources.push_back(isNarrow ? convertFloat(wider, type, source) : source);
    }
    Operand value = this->call(isDouble ? row->wide : row->single,
                               isDouble ? RegisterFile::Double : RegisterFile::Word, sources);
    results.push_back(isNarrow ? convertFloat(type, wider, value) : value);
  }
  define(call, results);
  return true;
}

bool FunctionImporter::importIntegerIntrinsic(llvm::IntrinsicInst &call) {
  ID id = call.getIntrinsicID();
  if (id == is_fpclass || id == fptosi_sat || id == fptoui_sat) {
    llvm::Type *from = call.getArgOperand(0)->getType()->getScalarType();
    llvm::Type *to = call.getType()->getScalarType();
    Operands results;
    for (const Operand &source : Operands(read(call.getArgOperand(0))))
      if (id == is_fpclass) {
        llvm::Type *wider = llvm::Type::getFloatTy(from->getContext());
        bool isDouble = from->isDoubleTy();
        results.push_back(this->call(isDouble ? "class.f64" : "class.f32", RegisterFile::Predicate,
                                     {isDouble ? source : convertFloat(wider, from, source),
                                      readOne(call.getArgOperand(1))}));
      } else {
        if (scalarBits(layout, to) < 32)
          return false;
        results.push_back(floatToInteger(to, from, id == fptosi_sat, source));
      }
    define(call, results);
    return true;
  }
  llvm::Type *type = call.getType()->getScalarType();
  if (!type->isIntegerTy() || call.arg_empty() || !call.getArgOperand(0)->getType()->isIntOrIntVectorTy())
    return false;
  unsigned bits = type->getIntegerBitWidth();
  std::string width = bits > 32 ? ".64" : ".32";
  bool isSigned = id == smin || id == smax || id == abs || id == sadd_sat || id == ssub_sat;
  const char *name = nullptr;
  switch (id) {
  case umin:
  case smin:
    name = isSigned ? "smin" : "umin";
    break;
  case umax:
  case smax:
    name = isSigned ? "smax" : "umax";
    break;
  case abs:
    name = "abs";
    break;
  case ctpop:
    name = "ctpop";
    break;
  case ctlz:
    name = "ctlz";
    break;
  case cttz:
    name = "cttz";
    break;
  case bswap:
    name = "bswap";
    break;
  case bitreverse:
    name = "bitreverse";
    break;
  case fshl:
    name = "fshl";
    break;
  case fshr:
    name = "fshr";
    break;
  case uadd_sat:
    name = "uaddsat";
    break;
  case usub_sat:
    name = "usubsat";
    break;
  case sadd_sat:
    name = "saddsat";
    break;
  case ssub_sat:
    name = "ssubsat";
    break;
  default:
    return false;
  }
  RegisterFile file = bits > 32 ? RegisterFile::Double : RegisterFile::Word;
  bool hasFlag = id == abs || id == ctlz || id == cttz; // whether an edge case is poison
  Operands results;
  for (size_t i = 0; i < numRegistersOf(call.getType()); ++i) {
    Operands sources;
    for (unsigned k = 0; k < call.arg_size() - hasFlag; ++k) {
      Operand source = read(call.getArgOperand(k))[i];
      sources.push_back(isSigned ? signExtended(source, bits) : source);
    }
    sources.resize(3, immediate(0));
    sources.push_back(immediate(bits));
    results.push_back(masked(this->call((name + width).c_str(), file, sources), bits));
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
