// The instructions that work on small matrices across the lanes of a warp.
#ifndef BACKEND_WARPSIM_CORE_MATRIXOPERATIONS_H
#define BACKEND_WARPSIM_CORE_MATRIXOPERATIONS_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

// MatrixMultiply.cpp, MatrixMoves.cpp.
void executeMma(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);
void executeLdmatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                     LaneMask active);
void executeStmatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                     LaneMask active);
void executeMovmatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                      LaneMask active);
/// Reports lanes that do not take part: a matrix instruction needs all 32, none exited (PTX ISA:
/// the behavior is undefined otherwise).
void checkWholeWarp(Cta &cta, Warp &warp, int32_t pc, LaneMask active);

} // namespace tw::warpsim
#endif
