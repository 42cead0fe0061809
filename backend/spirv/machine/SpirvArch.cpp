// The machines behind OpenCL that Tilewright compiles for, as rows of facts.
#include "backend/spirv/machine/SpirvArch.h"
#include "backend/spirv/machine/SpirvBlocks.h"
#include "backend/spirv/machine/SpirvMatrices.h"
#include "ir/tile/Tile.h"

using namespace tw;

/// Returns the version with which a generation of Intel's GPUs begins, as drivers number them.
static constexpr uint32_t versionOf(uint32_t major, uint32_t minor) {
  return major << 22 | minor << 14;
}

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
     .largeRegisters = 256,
     .maxThreadsOfLarge = 512,
     .lineBytes = 64,
     .dividesCorrectly = true,
     .splitsBarriers = true,
     .matrixUnit = MatrixUnit::Halves,
     .firstVersion = versionOf(12, 55),
     .lastVersion = versionOf(12, 60) - 1},
    {.name = "xe2",
     .warpSize = 16,
     .sharedBytes = 128 * 1024,
     .maxThreads = 1024,
     .registers = 128,
     .largeRegisters = 256,
     .maxThreadsOfLarge = 512,
     .lineBytes = 64,
     .dividesCorrectly = true,
     .splitsBarriers = true,
     .loadsBlocks = true,
     .matrixUnit = MatrixUnit::Tf32,
     .firstVersion = versionOf(20, 0),
     .lastVersion = versionOf(21, 0) - 1},
    {.name = "xe-hpc",
     .warpSize = 16,
     .sharedBytes = 128 * 1024,
     .maxThreads = 1024,
     .registers = 128,
     .largeRegisters = 256,
     .maxThreadsOfLarge = 512,
     .lineBytes = 64,
     .dividesCorrectly = true,
     .splitsBarriers = true,
     .loadsBlocks = true,
     .matrixUnit = MatrixUnit::Tf32,
     .firstVersion = versionOf(12, 60),
     .lastVersion = versionOf(12, 62) - 1},
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
  unsigned registers = choices.hasLargeRegisters ? arch.largeRegisters : arch.registers;
  unsigned threads = choices.hasLargeRegisters ? arch.maxThreadsOfLarge : arch.maxThreads;
  return tile::TargetAttr::get(
      &context, arch.warpSize, arch.sharedBytes, registers,
      /*spare_registers=*/registers / 4,
      /*max_warps=*/threads / arch.warpSize,
      /*vector_bits=*/128, arch.lineBytes, /*sector_bytes=*/arch.lineBytes,
      /*banks=*/32, /*bank_bytes=*/4, /*phases=*/{}, spirv::matrixInstructions(context, arch),
      /*async_mma=*/{}, /*copies=*/{},
      choices.loadsBlocks ? spirv::blockLoads(context, arch) : llvm::SmallVector<tile::BlockAttr>(),
      features);
}
