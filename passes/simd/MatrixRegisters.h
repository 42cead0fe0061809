// Registers for matrices: their shape is configured once for a whole kernel.
#ifndef PASSES_SIMD_MATRIXREGISTERS_H
#define PASSES_SIMD_MATRIXREGISTERS_H
#include <cstdint>

namespace tw::simd {
struct SimdFunction;

/// The shape of the contents of matrix registers, in rows and lanes of 32 bits: accumulators are
/// rows x lanes, operands A rows x groups, operands B groups x lanes. A group is the elements of a
/// lane, which are neighbours along k.
struct MatrixShape {
  int64_t rows, lanes, groups;
  bool operator==(const MatrixShape &) const = default;
};

/// At the kernel's start: chooses the shape that most products want, and configures the registers.
void configureMatrixRegisters(SimdFunction &f);
/// At its end.
void releaseMatrixRegisters(SimdFunction &f);

} // namespace tw::simd
#endif
