// The matrix instructions of AMD's GPUs: one table that says what they are called and where a wave
// holds their operands.
#ifndef BACKEND_AMD_MACHINE_AMDMATRICES_H
#define BACKEND_AMD_MACHINE_AMDMATRICES_H
#include "backend/amd/machine/AmdArch.h"
#include "ir/tile/Tile.h"

namespace tw::amd {

/// Types of elements that matrix instructions know.
enum class MatrixType : uint8_t {
  F16,
  BF16,
  F32,
  F64,
  XF32,
  I8,
  I32,
  E4M3,
  E5M2,
  E4M3Fnuz,
  E5M2Fnuz,
  E2M1
};

/// How an intrinsic wants the registers of an operand.
enum class OperandForm : uint8_t { Elements, BitsOf16, Words, Long };

struct MatrixInstruction {
  unsigned m, n, k;
  MatrixType a, b, sum;
  /// After "llvm.amdgcn.". Of mixed types it names that of B first, which is its first operand.
  llvm::StringLiteral intrinsic = "";
  /// Where lanes hold rows of A, as in #tile.mma; columns of B are held alike, but for `columns`.
  llvm::StringLiteral rows = "";
  /// Where they hold the sums. The intrinsic gets B before A, so that a lane holds neighbours along
  /// n: D^T = B^T A^T.
  llvm::StringLiteral sums = "";
  OperandForm form = OperandForm::Elements;
  llvm::StringLiteral columns = ""; // where lanes hold those of B, if that is named apart
  llvm::StringLiteral scales = "";  // where lanes hold the scales of A, if it takes any
};

/// Those of a machine, in the order of preference.
llvm::SmallVector<const MatrixInstruction *> matrixTable(const AmdArch &arch);
/// The same as passes see them; where `extent` is not 0, of those types that have instructions of
/// so many rows and columns, only these.
llvm::SmallVector<tile::MmaAttr> matrixInstructions(mlir::MLIRContext &context, const AmdArch &arch,
                                                    unsigned extent = 0);
/// The one that a pass has chosen; null when the machine has none such.
const MatrixInstruction *findMatrix(const AmdArch &arch, tile::MmaAttr instruction);

} // namespace tw::amd
#endif
