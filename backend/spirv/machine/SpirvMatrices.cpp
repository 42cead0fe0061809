// The matrix instructions of Intel's GPUs. Sources: SPV_INTEL_subgroup_matrix_multiply_accumulate,
// and the tables of cl_intel_subgroup_matrix_multiply_accumulate and its tf32 sibling for subgroups
// of 8 and of 16.
#include "backend/spirv/machine/SpirvMatrices.h"
#include "ir/tile/Fragment.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::spirv;

/// Bytes of a row of A, and of a column of B.
static constexpr unsigned kDepthBytes = 32;
static constexpr unsigned kRows[] = {8, 4, 2, 1};

namespace {
enum class Element : uint8_t { F16, BF16, TF32, I8, U8 };
/// The types of a product, with its flags: signs of A 1 and B 2, and what the bits of the operands
/// are.
struct Types {
  Element a, b;
  unsigned operands;
};
} // namespace

static constexpr Types kTypes[] = {
    {Element::F16, Element::F16, 0x400 | 0x800},   {Element::BF16, Element::BF16, 0x1000 | 0x2000},
    {Element::I8, Element::I8, 0x10 | 0x20 | 3},   {Element::I8, Element::U8, 0x10 | 0x20 | 1},
    {Element::U8, Element::I8, 0x10 | 0x20 | 2},   {Element::U8, Element::U8, 0x10 | 0x20},
    {Element::TF32, Element::TF32, 0x100 | 0x200},
};

static Type typeOf(MLIRContext &context, Element element) {
  Builder b(&context);
  switch (element) {
  case Element::F16:
    return b.getF16Type();
  case Element::BF16:
    return b.getBF16Type();
  case Element::TF32:
    return FloatTF32Type::get(&context);
  case Element::I8:
    return b.getI8Type();
  case Element::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  }
  return {};
}

static bool isInteger(Element element) { return element == Element::I8 || element == Element::U8; }

std::string tw::spirv::bits(char dim, unsigned first, unsigned end) {
  std::string text;
  for (unsigned bit = first; bit < end; ++bit)
    text += (" " + Twine(dim) + Twine(bit)).str();
  return text;
}

static std::string fragment(StringRef registers, StringRef lanes) {
  return (Twine(registers.ltrim()) + (registers.empty() ? "|" : " |") + lanes).str();
}

/// A and B hold the depth alike, so that its bits may be named in any order. Lanes hold the lowest
/// bits and components the highest: then the sums of one product are the rows of the next without a
/// move, since lanes hold columns of the sums. Where blocks of arrays are loaded, components hold
/// neighbours, as memory does.
static MatrixInstruction makeInstruction(MLIRContext &context, const SpirvArch &arch,
                                         const Types &types, unsigned m) {
  Type a = typeOf(context, types.a), b = typeOf(context, types.b);
  unsigned elementBits = tile::registerBits(a), n = arch.warpSize;
  unsigned k = kDepthBytes * 8 / elementBits, depth = llvm::Log2_32(k), rows = llvm::Log2_32(m);
  unsigned componentBits = std::max(kDepthBytes * 8 / n, elementBits);
  unsigned packed = llvm::Log2_32(componentBits / elementBits); // bits of k in a component
  // Lanes beyond those of a row of components have the next row, or nothing of use.
  unsigned depthLanes = depth - packed, moreLanes = llvm::Log2_32(n) - depthLanes;
  unsigned rowLanes = std::min(moreLanes, rows);
  unsigned firstOfLanes = arch.loadsBlocks ? packed : 0;
  unsigned firstPacked = arch.loadsBlocks ? 0 : depthLanes;
  std::string inComponent = bits('k', firstPacked, firstPacked + packed);
  std::string acrossLanes = bits('k', firstOfLanes, firstOfLanes + depthLanes);
  std::string registersOfA = inComponent + bits('m', rowLanes, rows);
  std::string lanesOfA = acrossLanes + bits('m', 0, rowLanes);
  for (unsigned bit = rowLanes; bit < moreLanes; ++bit)
    lanesOfA += " -";
  if (m * componentBits < 32) // the upper half of a word
    registersOfA += " -";
  Builder builder(&context);
  Type sum = isInteger(types.a) ? Type(builder.getI32Type()) : builder.getF32Type();
  std::string lanes = bits('n', 0, llvm::Log2_32(n));
  auto attribute = tile::MmaAttr::get(
      &context, m, n, k, a, b, sum, fragment(registersOfA, lanesOfA),
      fragment(inComponent + acrossLanes, lanes), fragment(bits('m', 0, rows), lanes),
      /*fragment_scales=*/"");
  return {k, types.operands, componentBits, attribute};
}

static bool multiplies(const SpirvArch &arch, const Types &types) {
  return arch.matrixUnit != MatrixUnit::None &&
         (types.a != Element::TF32 || arch.matrixUnit == MatrixUnit::Tf32);
}

SmallVector<tile::MmaAttr> tw::spirv::matrixInstructions(MLIRContext &context,
                                                         const SpirvArch &arch) {
  SmallVector<tile::MmaAttr> instructions;
  for (const Types &types : kTypes)
    for (unsigned m : kRows)
      if (multiplies(arch, types))
        instructions.push_back(makeInstruction(context, arch, types, m).attribute);
  return instructions;
}

std::optional<MatrixInstruction> tw::spirv::findMatrix(const SpirvArch &arch,
                                                       tile::MmaAttr instruction) {
  MLIRContext &context = *instruction.getContext();
  for (const Types &types : kTypes) {
    if (!multiplies(arch, types) || instruction.getA() != typeOf(context, types.a) ||
        instruction.getB() != typeOf(context, types.b) ||
        !llvm::is_contained(kRows, instruction.getM()))
      continue;
    MatrixInstruction made = makeInstruction(context, arch, types, instruction.getM());
    if (made.attribute == instruction)
      return made;
  }
  return std::nullopt;
}
