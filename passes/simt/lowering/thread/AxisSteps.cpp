// Finds the registers and lanes that lie along an axis.
#include "passes/simt/lowering/thread/AxisSteps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/ThreadBits.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

SmallVector<AxisStep> tw::simt::axisSteps(const LinearLayout &layout, unsigned axis) {
  XorBasis held;
  unsigned numRegisterBits = layout.numBits(Place::Register);
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Place::Register)))
    held.insert(basis, uint64_t(1) << bit);
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Place::Lane)))
    held.insert(basis, uint64_t(1) << (numRegisterBits + bit));
  SmallVector<AxisStep> steps;
  for (unsigned bit = 0; bit < layout.numBitsOf(axis); ++bit) {
    uint32_t element = 1u << (layout.firstBitOf(axis) + bit);
    XorBasis::Entry step = held.reduce(element);
    if (step.vector != 0)
      continue;
    uint64_t inRegisters = step.combination & (layout.size(Place::Register) - 1);
    steps.push_back(
        {element, uint32_t(inRegisters), uint32_t(step.combination >> numRegisterBits)});
  }
  return steps;
}

Value tw::simt::axisFlips(SimtFunction &f, const LinearLayout &layout, const AxisStep &step) {
  auto bitsOf = [&](Place place) {
    uint32_t mask = 0;
    for (auto [bit, basis] : llvm::enumerate(layout.bases(place)))
      if (basis & step.elementBit)
        mask |= 1u << bit;
    return mask;
  };
  return isOddParity(f, bitsOf(Place::Lane), bitsOf(Place::Warp));
}

AxisHalf tw::simt::halfOf(const LinearLayout &layout, const AxisStep &step, Value flips,
                          uint32_t reg) {
  return {(layout.apply(Place::Register, reg) & step.elementBit) != 0, flips};
}

Value tw::simt::isHighHalf(SimtFunction &f, const AxisHalf &half) {
  Value constant = f.constantOf(f.builder.getI1Type(), half.isHigh);
  if (!half.flips)
    return constant;
  return half.isHigh ? xorOf(f, half.flips, constant) : half.flips;
}

RegisterClasses::RegisterClasses(ArrayRef<Registers> tiles) {
  for (uint32_t reg = 0; reg < tiles.front().size(); ++reg)
    for (const Registers &tile : tiles)
      values[reg].push_back(tile[reg]);
}

SmallVector<uint32_t> RegisterClasses::representatives() const {
  SmallVector<uint32_t> result;
  for (const auto &entry : values)
    result.push_back(entry.first);
  return result;
}

void RegisterClasses::merge(uint32_t step) {
  taken.insert(step);
  std::map<uint32_t, Registers> merged;
  for (auto &[reg, value] : values)
    if (classOf(reg) == reg)
      merged[reg] = value;
  values = std::move(merged);
}
