// Reads and writes the operands of an instruction as arrays of 32 lanes that loops can work on.
#ifndef BACKEND_WARPSIM_EXEC_LANEOPERANDS_H
#define BACKEND_WARPSIM_EXEC_LANEOPERANDS_H
#include "backend/warpsim/exec/Execute.h"
#include <bit>
#include <cstring>
#include <type_traits>

namespace tw::warpsim {

/// Values that live in 16 bits of a 32-bit register, told apart by type.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

constexpr LaneMask kAllLanes = ~LaneMask(0);

/// How a register file stores one lane of T.
template <typename T> using Storage = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T> [[gnu::always_inline]] inline T decode(Storage<T> bits) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(bits);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(bits);
  else
    return T{static_cast<uint16_t>(bits)};
}

template <typename T> [[gnu::always_inline]] inline Storage<T> encode(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<Storage<T>>(value);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::make_unsigned_t<T>>(value);
  else
    return value.bits;
}

/// One value per lane. Without a constructor that clears it: every lane is written before use.
template <typename S> struct LaneValues {
  LaneValues() {} // NOLINT: uninitialized on purpose
  S lanes[kWarpSize];
};

/// The general way to read or write operands, for registers wider than the type.
template <typename S>
void gatherLanes(const Operand &operand, const WarpRegisters &registers, LaneValues<S> &values);
template <typename S>
void scatterLanes(const Operand &operand, WarpRegisters &registers, LaneMask active,
                  const S *values, LaneMask set, bool isSigned);

template <typename S>
[[gnu::always_inline]] inline const S *
readLanes(const Operand &operand, const WarpRegisters &registers, LaneValues<S> &buffer) {
  constexpr RegisterFile file = sizeof(S) == 8 ? RegisterFile::Double : RegisterFile::Word;
  if (operand.kind == Operand::Kind::Register && operand.reg.file == file) {
    if constexpr (sizeof(S) == 8)
      return registers.doubles[operand.reg.number].data();
    else
      return registers.words[operand.reg.number].data();
  }
  if (operand.kind == Operand::Kind::Register)
    gatherLanes(operand, registers, buffer);
  else
    for (S &lane : buffer.lanes)
      lane = static_cast<S>(operand.bits);
  return buffer.lanes;
}

/// `first` in the lanes of `mask`, else `second`; arithmetic, so that loops of it become vectors.
template <typename S>
[[gnu::always_inline]] inline S blend(LaneMask mask, unsigned lane, S first, S second) {
  S takesFirst = S(0) - static_cast<S>((mask >> lane) & 1);
  return (first & takesFirst) | (second & ~takesFirst);
}

/// Writes the active lanes of a result; `isSigned` says how a wider register is filled.
template <typename S>
[[gnu::always_inline]] inline void writeLanes(const Operand &operand, WarpRegisters &registers,
                                              LaneMask active, const LaneValues<S> &values,
                                              LaneMask set, bool isSigned = false) {
  constexpr RegisterFile file = sizeof(S) == 8 ? RegisterFile::Double : RegisterFile::Word;
  if (operand.kind != Operand::Kind::Register || operand.reg.file != file) {
    LaneValues<S> copy = values; // the caller's array must not escape, or its loops are not vectors
    return scatterLanes(operand, registers, active, copy.lanes, set, isSigned);
  }
  S *lanes;
  LaneMask *setLanes;
  if constexpr (sizeof(S) == 8) {
    lanes = registers.doubles[operand.reg.number].data();
    setLanes = &registers.doublesSet[operand.reg.number];
    registers.doublesPartial[operand.reg.number] &= ~active;
  } else {
    lanes = registers.words[operand.reg.number].data();
    setLanes = &registers.wordsSet[operand.reg.number];
    registers.wordsPartial[operand.reg.number] &= ~active;
  }
  *setLanes = (*setLanes & ~active) | (set & active);
  if (active == kAllLanes) {
    std::memcpy(lanes, values.lanes, sizeof(values.lanes));
    return;
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    lanes[lane] = blend(active, lane, values.lanes[lane], lanes[lane]);
}

/// Lanes where all sources are known, and where each of their bytes is set.
LaneMask setOfSources(const Instruction &instruction, const WarpRegisters &registers);
LaneMask wholeOfSources(const Instruction &instruction, const WarpRegisters &registers);

} // namespace tw::warpsim
#endif
