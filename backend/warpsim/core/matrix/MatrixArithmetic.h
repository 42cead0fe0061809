// Products of the small matrices of one instruction: fast, or bit by bit as tensor cores round.
#ifndef BACKEND_WARPSIM_CORE_MATRIXARITHMETIC_H
#define BACKEND_WARPSIM_CORE_MATRIXARITHMETIC_H
#include "backend/warpsim/core/matrix/MatrixForms.h"
#include "backend/warpsim/exec/Float.h"

namespace tw::warpsim {

constexpr unsigned kMaxMatrixElements = kMaxMatrixRows * kMaxMatrixDepth;

/// Row-major: `a` rows x depth, `b` depth x 8, `c` rows x 8, which is read and written.
template <typename T> struct MatrixProduct {
  unsigned rows = 0, depth = 0;
  alignas(32) T a[kMaxMatrixElements];
  alignas(32) T b[kMaxMatrixDepth * kMatrixColumns];
  alignas(32) T c[kMaxMatrixRows * kMatrixColumns];
};

/// A chain of fused multiply-adds along the depth, from c on.
void multiplyFast(MatrixProduct<float> &product);
void multiplyFast(MatrixProduct<double> &product);
/// Exact sums; wrapped to 32 bits, or clamped.
void multiplyIntegers(MatrixProduct<int32_t> &product, bool isSaturating);

/// How a tensor core adds (MMA-Sim, arXiv 2511.10909; compare Fasi et al., PeerJ CS 330): the
/// exact products of `block` steps of the depth and the accumulator are aligned to the largest
/// exponent among them, cut to `fractionBits` bits after the point, added exactly, and the sum is
/// cut to the accumulator's format (f16: rounded to nearest even); then the next block.
struct TensorCoreRule {
  unsigned block = 0, fractionBits = 0;
  unsigned resultBits = 23; // of the mantissa of an f32 accumulator
  int minExponent = 0;      // of the operands' formats: smaller values are subnormal
  int minExponentOfB = 0;
  bool isHalf = false; // the accumulator is f16
};
/// The rule of a GPU `arch` (80, 90, ...) for these types.
TensorCoreRule ruleOf(const Instruction &instruction, unsigned arch);
void multiplyExactly(MatrixProduct<float> &product, const TensorCoreRule &rule);

} // namespace tw::warpsim
#endif
