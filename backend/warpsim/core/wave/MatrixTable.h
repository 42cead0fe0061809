// The matrix instructions of waves: where each element of their operands lies.
#ifndef BACKEND_WARPSIM_CORE_WAVEMATRIXTABLE_H
#define BACKEND_WARPSIM_CORE_WAVEMATRIXTABLE_H
#include "backend/warpsim/Program.h"
#include <memory>
#include <string_view>
#include <vector>

namespace tw::warpsim {

enum class MatrixElement : uint8_t { F16, BF16, F32, XF32, F64, I8, I4, Fp8, Bf8, Fp4 };
unsigned bitsOf(MatrixElement element);

/// One instruction. Layouts are bases over GF(2): for each bit of the element's number in a lane's
/// registers, then for each bit of the lane, the bit of row, column or depth that it stands for:
/// "k0 k1", "m0 m1 k2", "-" for a lane bit that copies. B is A with n for m, but for what is named.
struct MatrixRow {
  std::string_view intrinsic; // after llvm.amdgcn.; with formats of the operands behind it
  MatrixElement a, b, d;
  const char *aRegisters, *aLanes, *dRegisters, *dLanes;
  bool isSpread = false; // of D, every second element only: which, is an operand
  const char *bRegisters = nullptr, *bLanes = nullptr;
  const char *scaleLanes = nullptr; // of scales of A, if there may be any: k counts groups
  const char *scaleBytes = ""; // of the bytes of a word, where all count: else one byte is named
};
inline constexpr unsigned kScaledGroup = 32; // neighbours along the depth that have one scale
/// Flags of an instruction with scales, and where the two bits that name a byte begin in them.
enum : unsigned { kScaledProduct = 4, kScaleByteOfA = 3, kScaleByteOfB = 5 };
/// The number of an intrinsic's row, or -1.
int32_t findMatrixRow(std::string_view intrinsic);
/// The number of a product of Intel's subgroups, or -1: of A's elements, and of so many rows.
int32_t findSubgroupMatrix(MatrixElement element, unsigned lanes, unsigned rows);

/// A row as places: element e of lane l of A is at `aAt[e * lanes + l]`, which is row * depth + k;
/// of B at k * columns + n, of D at m * columns + n. Byte s of lane l, behind the byte that an
/// instruction names, is the scale at row, or column, * groups + group: `scaleAt[s * scaleLanes +
/// l]`.
struct MatrixLayout {
  static constexpr uint16_t kNowhere = 0xffff; // in `aAt`: the lane holds nothing of use
  const MatrixRow *row;
  unsigned rows = 1, columns = 1, depth = 1, lanes = 64, scaleLanes = 0;
  bool hasCopies = false; // the upper half of the lanes holds A and B again
  std::vector<uint16_t> aAt, bAt, dAt, scaleAt;
};
const MatrixLayout &matrixLayout(int32_t row);
/// SubgroupMatrix.cpp: the layouts that no row of bases describes.
std::vector<std::unique_ptr<MatrixLayout>> subgroupLayouts();

} // namespace tw::warpsim
#endif
