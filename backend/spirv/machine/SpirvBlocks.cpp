// The blocks of arrays that subgroups of Intel's GPUs load. Sources: SPV_INTEL_2d_block_io
// ("Mapping Block Data to Invocations"), cl_intel_subgroup_2d_block_io, and "Supported 2D block I/O
// variants" of the Intel Graphics Compiler.
#include "backend/spirv/machine/SpirvBlocks.h"
#include "backend/spirv/machine/SpirvMatrices.h"
#include "ir/tile/Fragment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::spirv;
using tile::BlockUse;

namespace {
/// Loads of one form, for operands of elements of so many bits: of all heights and counts.
struct Loads {
  BlockUse use;
  unsigned bits;
  BlockForm form;
  unsigned elementBytes, width;
  unsigned leastRows, mostRows, mostCount;
};
} // namespace

/// The larger ones of a kind are preferred. For A a lane has one or two elements of a row; for B it
/// has a column, of which 32 bits are a word.
static constexpr Loads kLoads[] = {
    {BlockUse::A, 8, BlockForm::Plain, 1, 32, 1, 32, 2},
    {BlockUse::A, 16, BlockForm::Plain, 2, 16, 1, 32, 2},
    {BlockUse::A, 32, BlockForm::Plain, 4, 8, 2, 32, 2},
    {BlockUse::B, 8, BlockForm::Transformed, 1, 16, 32, 32, 4},
    {BlockUse::B, 16, BlockForm::Transformed, 2, 16, 16, 32, 2},
    {BlockUse::B, 32, BlockForm::Plain, 4, 16, 8, 32, 1},
    {BlockUse::B, 8, BlockForm::Transposed, 4, 8, 16, 16, 1},
    {BlockUse::B, 16, BlockForm::Transposed, 4, 8, 16, 16, 1},
    {BlockUse::B, 32, BlockForm::Transposed, 4, 8, 16, 16, 1},
};

/// Elements go to the lanes row after row, in groups of as many neighbours as lanes have of a row.
/// Transposed, lanes have a row each.
static BlockInstruction makeInstruction(MLIRContext &context, const SpirvArch &arch,
                                        const Loads &loads, unsigned height, unsigned count) {
  unsigned columns = loads.width * loads.elementBytes * 8 / loads.bits; // of one block
  unsigned lanes = llvm::Log2_32(arch.warpSize), m = llvm::Log2_32(height),
           n = llvm::Log2_32(columns);
  unsigned group = n > lanes ? n - lanes : 0, rowLanes = n < lanes ? lanes - n : 0;
  std::string ofRegisters = bits('n', 0, group) + bits('m', rowLanes, m),
              ofLanes = bits('n', group, n) + bits('m', 0, rowLanes);
  if (loads.form == BlockForm::Transposed)
    ofRegisters = bits('n', 0, n), ofLanes = bits('m', 0, m);
  ofRegisters += bits('n', n, n + llvm::Log2_32(count));
  std::string fragment = StringRef(ofRegisters).ltrim().str() + " |" + ofLanes;
  auto attribute =
      tile::BlockAttr::get(&context, height, columns * count, loads.bits, loads.use, fragment);
  return {loads.form, loads.elementBytes, loads.width, height, count, attribute};
}

/// Calls `take` with each load that gives lanes whole words, until it returns true.
static void forEach(MLIRContext &context, const SpirvArch &arch,
                    llvm::function_ref<bool(const BlockInstruction &)> take) {
  if (!arch.loadsBlocks)
    return;
  for (const Loads &loads : kLoads)
    for (unsigned height = loads.mostRows; height >= loads.leastRows; height /= 2)
      for (unsigned count = loads.mostCount; count >= 1; count /= 2) {
        unsigned bytes = loads.elementBytes * loads.width * height * count;
        if (bytes % (4 * arch.warpSize) == 0 &&
            take(makeInstruction(context, arch, loads, height, count)))
          return;
      }
}

SmallVector<tile::BlockAttr> tw::spirv::blockLoads(MLIRContext &context, const SpirvArch &arch) {
  SmallVector<tile::BlockAttr> loads;
  forEach(context, arch, [&](const BlockInstruction &load) {
    loads.push_back(load.attribute);
    return false;
  });
  return loads;
}

std::optional<BlockInstruction> tw::spirv::findBlock(const SpirvArch &arch, tile::BlockAttr block) {
  std::optional<BlockInstruction> found;
  forEach(*block.getContext(), arch, [&](const BlockInstruction &load) {
    if (load.attribute == block)
      found = load;
    return found.has_value();
  });
  return found;
}
