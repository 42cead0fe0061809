// The blocks of arrays that subgroups of Intel's GPUs load: which a machine has, and where a
// subgroup holds them.
#ifndef BACKEND_SPIRV_MACHINE_SPIRVBLOCKS_H
#define BACKEND_SPIRV_MACHINE_SPIRVBLOCKS_H
#include "backend/spirv/machine/SpirvArch.h"
#include "ir/tile/Tile.h"
#include <optional>

namespace tw::spirv {

/// A load leaves a block as it is, packs elements of several rows into words of 32 bits, or
/// exchanges rows and columns.
enum class BlockForm : uint8_t { Plain, Transformed, Transposed };

/// One load of SPV_INTEL_2d_block_io: `count` blocks side by side.
struct BlockInstruction {
  BlockForm form;
  unsigned elementBytes, width, height, count;
  tile::BlockAttr attribute;
};

/// Those of a machine as passes see them, in the order of preference.
llvm::SmallVector<tile::BlockAttr> blockLoads(mlir::MLIRContext &context, const SpirvArch &arch);
/// The one that a pass has chosen; nothing when the machine has none such.
std::optional<BlockInstruction> findBlock(const SpirvArch &arch, tile::BlockAttr block);

} // namespace tw::spirv
#endif
