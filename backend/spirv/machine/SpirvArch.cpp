// The machines behind OpenCL that Tilewright compiles for, as rows of facts.
#include "backend/spirv/machine/SpirvArch.h"
#include "backend/spirv/machine/SpirvMatrices.h"
#include "ir/tile/Tile.h"

using namespace tw;

// Sources: README.md of this folder, "Machines".
static constexpr SpirvArch kArchs[] = {
    {.name = "generic16",
     .warpSize = 16,
     .sharedBytes = 64 * 1024,
     .maxThreads = 256,
     .registers = 128,
     .lineBytes = 64},
    {.name = "generic32",
     .warpSize = 32,
     .sharedBytes = 64 * 1024,
     .maxThreads = 256,
     .registers = 128,
     .lineBytes = 64},
    {.name = "xe-hpg",
     .warpSize = 8,
     .sharedBytes = 64 * 1024,
     .maxThreads = 512,
     .registers = 128,
     .lineBytes = 64,
     .dividesCorrectly = true,
     .splitsBarriers = true,
     .matrixUnit = MatrixUnit::Halves},
    {.name = "xe2",
     .warpSize = 16,
     .sharedBytes = 128 * 1024,
     .maxThreads = 1024,
     .registers = 128,
     .lineBytes = 64,
     .dividesCorrectly = true,
     .splitsBarriers = true,
     .matrixUnit = MatrixUnit::Tf32},
    {.name = "xe-hpc",
     .warpSize = 16,
     .sharedBytes = 128 * 1024,
     .maxThreads = 1024,
     .registers = 128,
     .lineBytes = 64,
     .dividesCorrectly = true,
     .splitsBarriers = true,
     .matrixUnit = MatrixUnit::Tf32},
};

llvm::ArrayRef<SpirvArch> tw::spirvArchTable() { return kArchs; }

const SpirvArch *tw::findSpirvArch(llvm::StringRef name) {
  for (const SpirvArch &arch : kArchs)
    if (arch.name == name)
      return &arch;
  return nullptr;
}

tile::TargetAttr tw::describeSpirv(mlir::MLIRContext &context, const SpirvArch &arch,
                                   const SpirvChoices &choices) {
  llvm::SmallVector<tile::Feature> features;
  if (choices.roundsSeparately)
    features.push_back(tile::Feature::SeparateRounding);
  return tile::TargetAttr::get(&context, arch.warpSize, arch.sharedBytes, arch.registers,
                               /*spare_registers=*/arch.registers / 4,
                               /*max_warps=*/arch.maxThreads / arch.warpSize,
                               /*vector_bits=*/128, arch.lineBytes, /*sector_bytes=*/arch.lineBytes,
                               /*banks=*/32, /*bank_bytes=*/4, /*phases=*/{},
                               spirv::matrixInstructions(context, arch),
                               /*async_mma=*/{}, /*copies=*/{}, features);
}
