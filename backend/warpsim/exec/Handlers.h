// The families of operations that findHandler looks through, one file each.
#ifndef BACKEND_WARPSIM_EXEC_HANDLERS_H
#define BACKEND_WARPSIM_EXEC_HANDLERS_H
#include "backend/warpsim/exec/LaneLoop.h"

namespace tw::warpsim {

// Each returns null where it does not know the operation with these types and modifiers.
Handler findMove(const Instruction &instruction);              // mov, cvta, isspacep, nop
Handler findIntegerArithmetic(const Instruction &instruction); // add .. max, sad, mul24
Handler findIntegerMultiply(const Instruction &instruction);   // mul and mad, dp4a, dp2a
Handler findCarryArithmetic(const Instruction &instruction);   // add.cc .. madc.hi
Handler findBitOperation(const Instruction &instruction);      // and .. szext
Handler findFloatArithmetic(const Instruction &instruction);   // f32, f64, f32x2: add .. max
Handler findHalfArithmetic(const Instruction &instruction);    // f16, bf16 and their pairs
Handler findFloatFunction(const Instruction &instruction);     // rcp .. tanh, copysign, testp
Handler findComparison(const Instruction &instruction);        // set, setp, selp, slct
Handler findConversion(const Instruction &instruction);        // cvt, cvt.pack

bool isFloat(Type type);   // f32, f64
bool isHalf(Type type);    // f16, bf16 and their pairs
bool isInteger(Type type); // u, s and b of 8 to 64 bits
bool isSigned(Type type);  // s8 .. s64

/// Calls `select.operator()<T>()` with the C++ type of an integer type of 16 to 64 bits.
template <typename Select> Handler forInteger(Type type, Select select) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return select.template operator()<uint16_t>();
  case Type::S16:
    return select.template operator()<int16_t>();
  case Type::U32:
  case Type::B32:
    return select.template operator()<uint32_t>();
  case Type::S32:
    return select.template operator()<int32_t>();
  case Type::U64:
  case Type::B64:
    return select.template operator()<uint64_t>();
  case Type::S64:
    return select.template operator()<int64_t>();
  default:
    return nullptr;
  }
}

/// Calls `select.operator()<value>()` with a flag known at compile time.
template <typename Select> Handler forFlag(bool flag, Select select) {
  return flag ? select.template operator()<true>() : select.template operator()<false>();
}

/// The same with a rounding of arithmetic; none is to nearest even.
template <typename Select> Handler forRounding(Rounding rounding, Select select) {
  switch (rounding) {
  case Rounding::None:
  case Rounding::Rn:
    return select.template operator()<Rounding::Rn>();
  case Rounding::Rz:
    return select.template operator()<Rounding::Rz>();
  case Rounding::Rm:
    return select.template operator()<Rounding::Rm>();
  case Rounding::Rp:
    return select.template operator()<Rounding::Rp>();
  default:
    return nullptr;
  }
}

} // namespace tw::warpsim
#endif
