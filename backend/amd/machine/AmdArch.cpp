// The AMD GPUs that Tilewright compiles for, as rows of facts.
#include "backend/amd/machine/AmdArch.h"
#include "backend/amd/machine/AmdMatrices.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"

using namespace tw;

// Sources: the instruction sets of CDNA 2, 3 and 4 and of RDNA 3 and 4, "Buffer Resource
// Descriptor", "VGPRs", "Wavefronts" and "LDS", of RDNA's work-group processors; LLVM, "User Guide
// for AMDGPU Backend", and for gfx1250 its features and what it makes of
// llvm.amdgcn.make.buffer.rsrc.
static constexpr AmdArch kArchs[] = {
    {.name = "gfx90a",
     .warpSize = 64,
     .sharedBytes = 64 * 1024,
     .matrix = AmdMatrix::Mfma2,
     .generation = 9,
     .bufferFlags = 0x27000,
     .streamPolicy = 3,
     .simdRegisters = 512,
     .simdWaves = 8,
     .processorBytes = 64 * 1024,
     .hasAccumulationRegisters = true},
    {.name = "gfx942",
     .warpSize = 64,
     .sharedBytes = 64 * 1024,
     .matrix = AmdMatrix::Mfma3,
     .generation = 9,
     .numDies = 8,
     .bufferFlags = 0x27000,
     .streamPolicy = 2,
     .simdRegisters = 512,
     .simdWaves = 8,
     .processorBytes = 64 * 1024,
     .hasAccumulationRegisters = true},
    {.name = "gfx950",
     .warpSize = 64,
     .sharedBytes = 160 * 1024,
     .matrix = AmdMatrix::Mfma4,
     .generation = 9,
     .numDies = 8,
     .bufferFlags = 0x27000,
     .streamPolicy = 2,
     .simdRegisters = 512,
     .simdWaves = 8,
     .processorBytes = 160 * 1024,
     .hasAccumulationRegisters = true,
     .hasRowExchange = true,
     .roundsToBf16 = true,
     .turningLanes = 16,
     .copyBytes = 16},
    {.name = "gfx1100",
     .warpSize = 32,
     .sharedBytes = 64 * 1024,
     .matrix = AmdMatrix::Wmma3,
     .generation = 11,
     .bufferFlags = 0x31027000,
     .streamPolicy = 6,
     .simdRegisters = 1536,
     .registerGranule = 24,
     .simdWaves = 16,
     .processorBytes = 128 * 1024},
    {.name = "gfx1201",
     .warpSize = 32,
     .sharedBytes = 64 * 1024,
     .matrix = AmdMatrix::Wmma4,
     .generation = 12,
     .bufferFlags = 0x31027000,
     .streamPolicy = 1,
     .simdRegisters = 1536,
     .registerGranule = 24,
     .simdWaves = 16,
     .processorBytes = 128 * 1024},
    {.name = "gfx1250",
     .warpSize = 32,
     .sharedBytes = 320 * 1024,
     .matrix = AmdMatrix::Wmma5,
     .generation = 12,
     .bufferFlags = 0,
     .boundsShift = 7,
     .streamPolicy = 1,
     .namedRegisters = 1024,
     .simdRegisters = 1024,
     .registerGranule = 16,
     .simdWaves = 16,
     .processorBytes = 320 * 1024,
     .roundsToBf16 = true,
     .turningLanes = 8,
     .copyBytes = 16,
     .copiesArrays = true},
};

llvm::ArrayRef<AmdArch> tw::amdArchTable() { return kArchs; }

const AmdArch *tw::findAmdArch(llvm::StringRef name) {
  for (const AmdArch &arch : kArchs)
    if (arch.name == name)
      return &arch;
  return nullptr;
}

std::vector<std::string> tw::amdArchs() {
  std::vector<std::string> names;
  for (const AmdArch &arch : kArchs)
    names.push_back(arch.name.str());
  return names;
}

// Lanes of a phase by the numbers that span them. Of 16-byte reads on gfx950 and 8-byte accesses,
// measured (HipKittens, analysis/paper_experiments/phases); of 16-byte reads before it, published
// (Composable Kernel, "LDS bank conflicts"). All else is 128 bytes of neighbours at a time.
static constexpr SharedPhase kCdna3[] = {
    {SharedUse::Read, 16, 32, {1, 2, 20}},
    {SharedUse::Write, 16, 32, {1, 2, 4}},
};
static constexpr SharedPhase kCdna4[] = {
    {SharedUse::Read, 8, 64, {1, 2, 4, 8, 16}},
    {SharedUse::Write, 8, 32, {1, 2, 4, 8}},
    {SharedUse::Read, 16, 64, {1, 2, 12, 20}},
    {SharedUse::Write, 16, 32, {1, 2, 4}},
};

static llvm::ArrayRef<SharedPhase> phasesOf(const AmdArch &arch) {
  if (arch.matrix == AmdMatrix::Mfma4)
    return kCdna4;
  if (arch.generation == 9)
    return kCdna3;
  return {};
}

static unsigned mostWarps(const AmdArch &arch) { return 1024 / arch.warpSize; }

/// Registers that instructions can name, if the four SIMDs that share memory have as many for each
/// warp of a program (CDNA3 ISA, "VGPRs"; RDNA3 ISA, "VGPR Allocation"; of gfx1250 as LLVM hands
/// them out).
static unsigned registersOf(const AmdArch &arch, unsigned numWarps) {
  unsigned simds = arch.processor().simds;
  unsigned warpsOfSimd = std::max(1u, llvm::divideCeil(std::min(numWarps, mostWarps(arch)), simds));
  return std::min(arch.allRegisters(), arch.simdRegisters / warpsOfSimd);
}

tile::TargetAttr tw::describeAmd(mlir::MLIRContext &context, const AmdArch &arch,
                                 const AmdChoices &choices) {
  llvm::SmallVector<tile::Feature> features;
  if (choices.roundsSeparately)
    features.push_back(tile::Feature::SeparateRounding);
  if (arch.turningLanes)
    features.push_back(arch.turningLanes == 8 ? tile::Feature::LoadTransposed8x8
                                              : tile::Feature::LoadTransposed);
  // Copies of 4 bytes a lane exist as well; through registers, as many instructions move as much.
  llvm::SmallVector<tile::CopyAttr> copies;
  if (arch.copyBytes)
    copies.push_back(tile::CopyAttr::get(&context, tile::CopyKind::LaneAfterLane, {arch.copyBytes},
                                         tile::WaitKind::Counts));
  if (arch.copiesArrays)
    copies.push_back(
        tile::CopyAttr::get(&context, tile::CopyKind::Boxes, {1, 2, 4, 8}, tile::WaitKind::Counts));
  return tile::TargetAttr::get(&context, arch.warpSize, arch.sharedBytes,
                               registersOf(arch, choices.numWarps),
                               /*spare_registers=*/64, /*max_warps=*/mostWarps(arch),
                               /*vector_bits=*/128, /*line_bytes=*/128, /*sector_bytes=*/64,
                               /*banks=*/32, /*bank_bytes=*/4, phasesOf(arch),
                               amd::matrixInstructions(context, arch, choices.matrixExtent),
                               /*async_mma=*/{}, copies, /*blocks=*/{}, features);
}
