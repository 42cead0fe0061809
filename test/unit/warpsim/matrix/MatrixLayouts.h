// The fragment layouts of mma as the PTX ISA writes them, formula by formula.
#ifndef TEST_UNIT_WARPSIM_MATRIXLAYOUTS_H
#define TEST_UNIT_WARPSIM_MATRIXLAYOUTS_H
#include "backend/warpsim/core/matrix/MatrixForms.h"

namespace tw::warpsim {

struct Element {
  unsigned row = 0, column = 0;
  bool operator==(const Element &) const = default;
};

/// Element a_i, b_i or c_i of a lane (PTX ISA, "Matrix Fragments for mma.m8n8k4" and following).
Element elementOfA(MatrixShape shape, unsigned bits, unsigned lane, unsigned i);
Element elementOfB(MatrixShape shape, unsigned bits, unsigned lane, unsigned i);
Element elementOfC(MatrixShape shape, unsigned lane, unsigned i);

} // namespace tw::warpsim
#endif
