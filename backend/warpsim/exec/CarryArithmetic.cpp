// Extended-precision arithmetic: additions and products that read and write the carry of each lane.
#include "backend/warpsim/exec/Handlers.h"

using namespace tw::warpsim;

template <typename T> struct WithCarry {
  T value;
  bool carry;
};

/// a + b + carry.
template <typename T> static WithCarry<T> addWithCarry(T a, T b, bool carry) {
  T partial = a + b, sum = partial + carry;
  return {sum, partial < a || sum < partial};
}
/// a - (b + borrow); the carry out is the borrow.
template <typename T> static WithCarry<T> subtractWithBorrow(T a, T b, bool borrow) {
  return {static_cast<T>(a - b - borrow), a < b || (a == b && borrow)};
}

template <typename T> static T productHalf(const Instruction &instruction, T a, T b) {
  using Wide = unsigned __int128;
  bool isHigh = instruction.op == Op::MadHi || instruction.op == Op::MadcHi;
  if (!isHigh)
    return a * b;
  T high = static_cast<T>((static_cast<Wide>(a) * b) >> (sizeof(T) * 8));
  if (isSigned(instruction.type)) { // as two's complement a negative factor stands for itself + 2^n
    using Signed = std::make_signed_t<T>;
    high -= (static_cast<Signed>(a) < 0 ? b : 0) + (static_cast<Signed>(b) < 0 ? a : 0);
  }
  return high;
}

template <typename T>
static WithCarry<T> computeLane(const Instruction &instruction, const WarpRegisters &registers,
                                unsigned lane, bool carry) {
  auto source = [&](unsigned index) {
    return static_cast<T>(readLane(instruction.sources[index], registers, lane));
  };
  switch (instruction.op) {
  case Op::Add:
  case Op::Addc:
    return addWithCarry<T>(source(0), source(1), carry);
  case Op::Sub:
  case Op::Subc:
    return subtractWithBorrow<T>(source(0), source(1), carry);
  default:
    return addWithCarry<T>(productHalf<T>(instruction, source(0), source(1)), source(2), carry);
  }
}

static bool usesCarry(const Instruction &instruction) {
  return instruction.readsCarry || (instruction.op >= Op::Addc && instruction.op <= Op::MadcHi);
}

template <typename T>
static void runCarry(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  bool readsCarry = usesCarry(instruction);
  LaneMask carry = readsCarry ? registers.carry : 0, carryOut = 0;
  LaneMask set = setOfSources(instruction, registers);
  if (readsCarry)
    set &= registers.carrySet;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (!((active >> lane) & 1))
      continue;
    WithCarry<T> result = computeLane<T>(instruction, registers, lane, (carry >> lane) & 1);
    carryOut |= LaneMask(result.carry) << lane;
    writeLane(instruction.results[0], registers, lane, result.value, (set >> lane) & 1);
  }
  if (!instruction.writesCarry)
    return;
  registers.carry = (registers.carry & ~active) | carryOut;
  registers.carrySet = (registers.carrySet & ~active) | (set & active);
}

Handler tw::warpsim::findCarryArithmetic(const Instruction &instruction) {
  Op op = instruction.op;
  bool isProduct = op == Op::Mad || op == Op::MadHi || op == Op::Madc || op == Op::MadcHi;
  bool isSum = op == Op::Add || op == Op::Sub || op == Op::Addc || op == Op::Subc;
  if ((!isProduct && !isSum) || instruction.isSaturating || instruction.isRelu ||
      instruction.sources.size() != (isProduct ? 3 : 2) || instruction.results.size() != 1)
    return nullptr;
  switch (instruction.type) {
  case Type::U32:
  case Type::S32:
    return runCarry<uint32_t>;
  case Type::U64:
  case Type::S64:
    return runCarry<uint64_t>;
  default:
    return nullptr;
  }
}
