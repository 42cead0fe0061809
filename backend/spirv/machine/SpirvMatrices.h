// The matrix instructions of Intel's GPUs: which a machine has, and where a subgroup holds their
// operands.
#ifndef BACKEND_SPIRV_MACHINE_SPIRVMATRICES_H
#define BACKEND_SPIRV_MACHINE_SPIRVMATRICES_H
#include "backend/spirv/machine/SpirvArch.h"
#include "ir/tile/Tile.h"
#include <optional>

namespace tw::spirv {

/// One form of OpSubgroupMatrixMultiplyAccumulateINTEL.
struct MatrixInstruction {
  unsigned k;
  unsigned operands;      // its flags, "Matrix Multiply Accumulate Operands"
  unsigned componentBits; // of what a lane's vector for A is made of
  tile::MmaAttr attribute;
};

/// " k0 k1": bits [first, end) of a dimension, as fragments have them.
std::string bits(char dim, unsigned first, unsigned end);

/// Those of a machine as passes see them, in the order of preference.
llvm::SmallVector<tile::MmaAttr> matrixInstructions(mlir::MLIRContext &context,
                                                    const SpirvArch &arch);
/// The one that a pass has chosen; nothing when the machine has none such.
std::optional<MatrixInstruction> findMatrix(const SpirvArch &arch, tile::MmaAttr instruction);

} // namespace tw::spirv
#endif
