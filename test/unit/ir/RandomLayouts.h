// Random matrices and layouts for tests of algebraic properties.
#ifndef TEST_UNIT_IR_RANDOMLAYOUTS_H
#define TEST_UNIT_IR_RANDOMLAYOUTS_H
#include "ir/layout/LinearLayout.h"
#include "test/unit/DrawnSeed.h"
#include "gtest/gtest.h"
#include <random>

namespace tw {

/// A fresh seed per test; a failure prints it.
class RandomLayouts : public ::testing::Test {
protected:
  unsigned seed = test::drawnSeed();
  std::mt19937_64 random{seed};
  ::testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};

  uint64_t below(uint64_t bound) { return random() % bound; }
  llvm::SmallVector<int64_t> shape(unsigned maxBits = 10, unsigned maxRank = 3) {
    llvm::SmallVector<int64_t> extents(below(maxRank) + 1, 1);
    for (uint64_t bits = below(maxBits + 1); bits > 0; --bits)
      extents[below(extents.size())] *= 2;
    return extents;
  }
  LinearLayout::Bases bases(unsigned count, uint32_t numElements) {
    LinearLayout::Bases result;
    for (unsigned bit = 0; bit < count; ++bit)
      result.push_back(uint32_t(below(numElements)));
    return result;
  }
  /// Any map of registers, lanes and warps.
  LinearLayout anyMap(llvm::ArrayRef<int64_t> shape) {
    uint32_t numElements = LinearLayout(shape, {}).numElements();
    return LinearLayout(shape, {bases(below(5), numElements),
                                bases(below(6), numElements),
                                bases(below(4), numElements),
                                bases(below(2), numElements),
                                {}});
  }
  /// A map that holds every element: registers are added for what lanes and warps leave out.
  LinearLayout surjective(llvm::ArrayRef<int64_t> shape, unsigned lanes = 5, unsigned warps = 2) {
    LinearLayout whole(shape, {});
    uint32_t numElements = whole.numElements();
    LinearLayout::Bases ofLane = bases(lanes, numElements), ofWarp = bases(warps, numElements);
    LinearLayout::Bases ofRegister;
    auto held = [&] {
      BitMatrix matrix{32, {}};
      for (const LinearLayout::Bases *part : {&ofRegister, &ofLane, &ofWarp})
        matrix.columns.append(part->begin(), part->end());
      return matrix;
    };
    while (1u << held().rank() < numElements) {
      uint32_t basis = uint32_t(below(numElements));
      if (!held().solve(basis))
        ofRegister.push_back(basis);
    }
    return LinearLayout(shape, {ofRegister, ofLane, ofWarp, {}, {}});
  }
};

} // namespace tw
#endif
