// Operands of matrix instructions in the registers of a warp, as matrices.
#ifndef BACKEND_WARPSIM_CORE_MATRIXFRAGMENTS_H
#define BACKEND_WARPSIM_CORE_MATRIXFRAGMENTS_H
#include "backend/warpsim/core/matrix/MatrixElements.h"
#include "backend/warpsim/core/matrix/MatrixForms.h"
#include "backend/warpsim/exec/LaneOperands.h"

namespace tw::warpsim {

/// The registers of one operand, among an instruction's sources.
struct Fragment {
  const FragmentMap &map;
  const FragmentPositions &positions;
  const Operand *registers;
};
/// Bits of the elements of one register of all lanes; 4-bit elements are 8 a lane.
constexpr unsigned kMaxPerRegister = 8;

/// Reads a fragment into a row-major matrix.
template <typename T>
void gatherMatrix(const Fragment &fragment, Type type, const WarpRegisters &registers, T *matrix) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  LaneValues<Word> buffer;
  alignas(32) T values[kWarpSize * kMaxPerRegister];
  bool isHalf = type == Type::F16 && fragment.map.bits == 32; // an accumulator
  unsigned perRegister = kWarpSize * (isHalf ? 2 : fragment.map.elementsPerRegister());
  unsigned count = fragment.map.numRegisters() / (isHalf ? 2 : 1);
  const uint16_t *at = fragment.positions.at.data();
  for (unsigned i = 0; i < count; ++i, at += perRegister) {
    const Word *words = readLanes<Word>(fragment.registers[i], registers, buffer);
    if constexpr (sizeof(T) == 8)
      memcpy(values, words, kWarpSize * sizeof(T));
    else
      decodeElements(type, words, perRegister, values);
    if (!isHalf) {
      for (unsigned k = 0; k < perRegister; ++k)
        matrix[at[k]] = values[k];
      continue;
    }
    // Two elements in one register; the map has them in two.
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      matrix[at[lane]] = values[2 * lane];
      matrix[at[kWarpSize + lane]] = values[2 * lane + 1];
    }
  }
}

/// Marks the rows (of A) or columns (of B) of elements that have no value.
void addUnset(const Fragment &fragment, const WarpRegisters &registers, bool byColumn,
              uint32_t &unset);

} // namespace tw::warpsim
#endif
