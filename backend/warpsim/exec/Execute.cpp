// Finds the code of a scalar instruction by its operation, types and modifiers.
#include "backend/warpsim/exec/Execute.h"
#include "backend/warpsim/exec/Handlers.h"

using namespace tw::warpsim;

bool tw::warpsim::hasVectorUnit() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("x86-64-v3");
  return has;
#else
  return false;
#endif
}

bool tw::warpsim::isFloat(Type type) { return type == Type::F32 || type == Type::F64; }

bool tw::warpsim::isHalf(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2;
}

bool tw::warpsim::isInteger(Type type) {
  return type >= Type::B8 && type <= Type::S64 && type != Type::B128;
}

bool tw::warpsim::isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }

static Handler findArithmetic(const Instruction &instruction) {
  if (isFloat(instruction.type) || instruction.type == Type::F32x2)
    return findFloatArithmetic(instruction);
  if (isHalf(instruction.type))
    return findHalfArithmetic(instruction);
  bool isCarryOp = instruction.op >= Op::Addc && instruction.op <= Op::MadcHi;
  if (isCarryOp || instruction.writesCarry || instruction.readsCarry)
    return findCarryArithmetic(instruction);
  if (Handler handler = findIntegerMultiply(instruction))
    return handler;
  return findIntegerArithmetic(instruction);
}

Handler tw::warpsim::findHandler(const Instruction &instruction) {
  Op op = instruction.op;
  if (op >= Op::FirstOfCore)
    return nullptr;
  if (op == Op::Function)
    return instruction.function;
  if (op == Op::Mov || op == Op::Cvta || op == Op::Isspacep || op == Op::Nop)
    return findMove(instruction);
  if (op <= Op::MadcHi || op == Op::Dp4a || op == Op::Dp2a || op == Op::Fma)
    return findArithmetic(instruction);
  if (op <= Op::Szext)
    return findBitOperation(instruction);
  if (op >= Op::Set && op <= Op::Slct)
    return findComparison(instruction);
  if (op == Op::Cvt || op == Op::CvtPack)
    return findConversion(instruction);
  return findFloatFunction(instruction);
}

void tw::warpsim::executeScalar(const Instruction &instruction, WarpRegisters &registers,
                                LaneMask active) {
  if (Handler handler = findHandler(instruction))
    handler(instruction, registers, active);
}
