// Which lane and register holds which element of the matrices of an mma instruction.
#ifndef BACKEND_WARPSIM_CORE_MATRIXFORMS_H
#define BACKEND_WARPSIM_CORE_MATRIXFORMS_H
#include "backend/warpsim/Instruction.h"
#include <span>

namespace tw::warpsim {

/// Columns of B and of the accumulator, in every shape.
constexpr unsigned kMatrixColumns = 8;
constexpr unsigned kMaxMatrixRows = 16, kMaxMatrixDepth = 64;

struct MatrixStep {
  uint8_t row = 0, column = 0;
};

/// Where the elements of a lane are in their matrix: a sum of steps. A lane is `4 * group +
/// member`, its elements are numbered through its registers from the low bits up; element number
/// `e` of a lane is at group * ofGroup + member * ofMember + the steps of the bits that are set in
/// `e`.
struct FragmentMap {
  uint8_t rows, columns;
  uint8_t bits; // of an element
  MatrixStep ofGroup, ofMember;
  uint8_t numElementBits; // a lane has 1 << numElementBits elements
  std::array<MatrixStep, 5> ofElementBit;

  unsigned numElements() const { return 1u << numElementBits; }
  unsigned numRegisters() const { return bits == 64 ? numElements() : numElements() * bits / 32; }
  unsigned elementsPerRegister() const { return bits == 64 ? 1 : 32 / bits; }
};
/// Row-major number of an element in its matrix.
constexpr unsigned positionOf(const FragmentMap &map, unsigned lane, unsigned element) {
  unsigned row = lane / 4 * map.ofGroup.row + lane % 4 * map.ofMember.row;
  unsigned column = lane / 4 * map.ofGroup.column + lane % 4 * map.ofMember.column;
  for (unsigned bit = 0; bit < map.numElementBits; ++bit)
    if (element >> bit & 1) {
      row += map.ofElementBit[bit].row;
      column += map.ofElementBit[bit].column;
    }
  return row * map.columns + column;
}

/// A shape with the width of its operands' elements. `c` is the accumulator's map, of 32-bit
/// elements (64 with f64); an f16 accumulator has the same elements, two in a register.
struct MatrixForm {
  MatrixShape shape;
  uint8_t elementBits;
  FragmentMap a, b, c;
};
std::span<const MatrixForm> matrixForms();

/// Positions of all elements of a fragment, in the order of the register file: for each register,
/// each lane, each element in it.
struct FragmentPositions {
  std::array<uint16_t, kMaxMatrixRows * kMaxMatrixDepth> at;
};
struct PreparedForm {
  const MatrixForm *form = nullptr;
  const FragmentPositions *a = nullptr, *b = nullptr, *c = nullptr;
};
/// The form of an mma instruction; `form` is null where there is none.
PreparedForm formOf(const Instruction &instruction);
PreparedForm formOf(MatrixShape shape, unsigned elementBits);

/// Bits of an element of an operand of mma; registers hold tf32 in 32 bits.
unsigned elementBitsOf(Type type);

} // namespace tw::warpsim
#endif
