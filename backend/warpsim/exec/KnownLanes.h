// In which lanes a source has a value, for handlers that know its type.
#ifndef BACKEND_WARPSIM_EXEC_KNOWNLANES_H
#define BACKEND_WARPSIM_EXEC_KNOWNLANES_H
#include "backend/warpsim/exec/LaneOperands.h"

namespace tw::warpsim {

/// Lanes where a source is set.
template <typename S>
[[gnu::always_inline]] inline LaneMask setOfSource(const Operand &operand,
                                                   const WarpRegisters &registers) {
  constexpr RegisterFile file = sizeof(S) == 8 ? RegisterFile::Double : RegisterFile::Word;
  if (operand.kind == Operand::Kind::Register && operand.reg.file == file) {
    if constexpr (sizeof(S) == 8)
      return registers.doublesSet[operand.reg.number];
    else
      return registers.wordsSet[operand.reg.number];
  }
  return setLanes(operand, registers);
}

/// Lanes where each byte of a source is set.
template <typename S>
[[gnu::always_inline]] inline LaneMask wholeOfSource(const Operand &operand,
                                                     const WarpRegisters &registers) {
  constexpr RegisterFile file = sizeof(S) == 8 ? RegisterFile::Double : RegisterFile::Word;
  if (operand.kind != Operand::Kind::Register || operand.reg.file != file)
    return wholeLanes(operand, registers);
  uint32_t number = operand.reg.number;
  if constexpr (sizeof(S) == 8)
    return registers.doublesSet[number] & ~registers.doublesPartial[number];
  else
    return registers.wordsSet[number] & ~registers.wordsPartial[number];
}

/// The known lanes of a source of type T; of T's of 8 or 16 bits those bytes count.
template <typename T>
[[gnu::always_inline]] inline LaneMask setOfArgument(const Operand &operand,
                                                     const WarpRegisters &registers) {
  if constexpr (sizeof(T) == 8)
    return wholeOfSource<Storage<T>>(operand, registers);
  LaneMask set = setOfSource<Storage<T>>(operand, registers);
  if constexpr (sizeof(T) <= 2)
    if (wholeLanes(operand, registers) != set) {
      MissingBytes missing = missingBytes(operand, registers);
      set &= ~(sizeof(T) == 2 ? missing[0] | missing[1] : missing[0]);
    }
  return set;
}

} // namespace tw::warpsim
#endif
