// Layouts against the definitions they compute, on random maps.
#include "RandomLayouts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

using namespace tw;
using llvm::SmallVector;

using LinearLayoutTest = RandomLayouts;

/// Calls `visit(register, lane, warp, cta)` for every coordinate.
template <typename Visit> static void forEachCoordinate(const LinearLayout &layout, Visit visit) {
  for (uint32_t cta = 0; cta < layout.size(Place::Cta); ++cta)
    for (uint32_t warp = 0; warp < layout.size(Place::Warp); ++warp)
      for (uint32_t lane = 0; lane < layout.size(Place::Lane); ++lane)
        for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg)
          visit(reg, lane, warp, cta);
}

static std::map<uint32_t, unsigned> copiesOf(const LinearLayout &layout) {
  std::map<uint32_t, unsigned> copies;
  forEachCoordinate(layout, [&](uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) {
    ++copies[layout.element(reg, lane, warp, cta)];
  });
  return copies;
}

TEST_F(LinearLayoutTest, ElementsAreNamedRowMajor) {
  LinearLayout layout({4, 8, 2}, {});
  EXPECT_EQ(layout.numElements(), 64u);
  EXPECT_EQ(layout.elementAt({3, 5, 1}), 3u * 16 + 5 * 2 + 1);
  EXPECT_EQ(layout.coordinatesOf(59), (SmallVector<int64_t>{3, 5, 1}));
  EXPECT_EQ(layout.firstBitOf(0), 4u);
  EXPECT_EQ(layout.numBitsOf(1), 3u);
  EXPECT_EQ(layout.maskOf(1), 0b001110u);
  for (uint32_t element = 0; element < 64; ++element)
    EXPECT_EQ(layout.elementAt(layout.coordinatesOf(element)), element);
}

TEST_F(LinearLayoutTest, SurjectiveAndInjectiveCountCopies) {
  for (int round = 0; round < 1000; ++round) {
    LinearLayout layout = anyMap(shape(8));
    std::map<uint32_t, unsigned> copies = copiesOf(layout);
    EXPECT_EQ(layout.isSurjective(), copies.size() == layout.numElements());
    EXPECT_EQ(layout.isInjective(), copies.begin()->second == 1);
  }
}

TEST_F(LinearLayoutTest, OwnersHoldEachElementOnce) {
  for (int round = 0; round < 1000; ++round) {
    LinearLayout layout = round % 2 ? anyMap(shape(8)) : surjective(shape(8), 5, 2);
    uint32_t freeReg = layout.freeBits(Place::Register), freeLane = layout.freeBits(Place::Lane);
    uint32_t freeWarp = layout.freeBits(Place::Warp), freeCta = layout.freeBits(Place::Cta);
    std::map<uint32_t, unsigned> owners;
    forEachCoordinate(layout, [&](uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) {
      if (!(reg & freeReg) && !(lane & freeLane) && !(warp & freeWarp) && !(cta & freeCta))
        ++owners[layout.element(reg, lane, warp, cta)];
    });
    EXPECT_EQ(owners.size(), copiesOf(layout).size());
    for (auto [element, count] : owners)
      EXPECT_EQ(count, 1u) << layout.text();
  }
}

TEST_F(LinearLayoutTest, ShapesChangeAsElementsDo) {
  for (int round = 0; round < 500; ++round) {
    LinearLayout layout = anyMap(shape(8));
    auto order = llvm::to_vector(llvm::seq<int32_t>(0, layout.rank()));
    std::shuffle(order.begin(), order.end(), random);
    LinearLayout transposed = layout.transposed(order);
    unsigned dim = below(layout.rank());
    LinearLayout collapsed = layout.withDimCollapsed(dim), dropped = layout.withoutDim(dim);
    LinearLayout flat = layout.reshaped({int64_t(layout.numElements())});
    forEachCoordinate(layout, [&](uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) {
      uint32_t element = layout.element(reg, lane, warp, cta);
      SmallVector<int64_t> at = layout.coordinatesOf(element), moved;
      for (int32_t from : order)
        moved.push_back(at[from]);
      EXPECT_EQ(transposed.element(reg, lane, warp, cta), transposed.elementAt(moved));
      EXPECT_EQ(flat.element(reg, lane, warp, cta), element);
      at[dim] = 0;
      EXPECT_EQ(collapsed.element(reg, lane, warp, cta), collapsed.elementAt(at));
      at.erase(at.begin() + dim);
      EXPECT_EQ(dropped.element(reg, lane, warp, cta), dropped.elementAt(at));
    });
    EXPECT_EQ(collapsed.shape()[dim], 1);
    EXPECT_EQ(dropped.rank(), layout.rank() - 1);
  }
}

TEST_F(LinearLayoutTest, FreeRegistersOnlyRepeat) {
  for (int round = 0; round < 500; ++round) {
    LinearLayout layout = anyMap(shape(5)), reduced = layout.withoutFreeRegisters();
    EXPECT_EQ(reduced.freeBits(Place::Register), 0u);
    std::set<uint32_t> before, after;
    for (uint32_t reg = 0; reg < layout.size(Place::Register); ++reg)
      before.insert(layout.apply(Place::Register, reg));
    for (uint32_t reg = 0; reg < reduced.size(Place::Register); ++reg)
      EXPECT_TRUE(after.insert(reduced.apply(Place::Register, reg)).second);
    EXPECT_EQ(before, after);
  }
}

/// registersFrom by trying every register; the layouts have the same lanes and warps.
static bool hasRegisters(const LinearLayout &result, const LinearLayout &source) {
  for (uint32_t reg = 0; reg < result.size(Place::Register); ++reg) {
    bool found = false;
    for (uint32_t from = 0; from < source.size(Place::Register) && !found; ++from) {
      found = true;
      forEachCoordinate(result, [&](uint32_t, uint32_t lane, uint32_t warp, uint32_t cta) {
        found &= result.element(reg, lane, warp, cta) == source.element(from, lane, warp, cta);
      });
    }
    if (!found)
      return false;
  }
  return true;
}

TEST_F(LinearLayoutTest, RegistersFromIsWhatASearchFinds) {
  unsigned numFound = 0;
  for (int round = 0; round < 2000; ++round) {
    SmallVector<int64_t> extents = shape(4);
    LinearLayout source = surjective(extents, 2, 1);
    LinearLayout result = source.withPlace(Place::Register, bases(below(3), source.numElements()));
    if (below(4) == 0)
      result = result.withPlace(Place::Lane, bases(2, source.numElements()));
    std::optional<SmallVector<uint32_t>> registers = result.registersFrom(source);
    ASSERT_EQ(registers.has_value(), hasRegisters(result, source))
        << result.text() << " from " << source.text();
    if (!registers)
      continue;
    ++numFound;
    ASSERT_EQ(registers->size(), result.size(Place::Register));
    forEachCoordinate(result, [&](uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) {
      EXPECT_EQ(result.element(reg, lane, warp, cta),
                source.element((*registers)[reg], lane, warp, cta));
    });
  }
  EXPECT_GT(numFound, 100u);
}

TEST_F(LinearLayoutTest, WithinWarpIsWhatASearchFinds) {
  unsigned numWithin = 0;
  for (int round = 0; round < 2000; ++round) {
    SmallVector<int64_t> extents = shape(5);
    LinearLayout source = surjective(extents, 2, 2), result = surjective(extents, 2, 2);
    if (below(2))
      result =
          source
              .withPlace(Place::Register, source.withPlace(Place::Register, {}).isSurjective()
                                              ? LinearLayout::Bases()
                                              : LinearLayout::Bases(source.bases(Place::Register)))
              .withPlace(Place::Lane, bases(2, source.numElements()));
    std::map<uint32_t, std::set<uint32_t>> heldBy;
    forEachCoordinate(source, [&](uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) {
      heldBy[warp].insert(source.element(reg, lane, warp, cta));
    });
    bool within = true;
    forEachCoordinate(result, [&](uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) {
      within &= heldBy[warp].count(result.element(reg, lane, warp, cta)) == 1;
    });
    EXPECT_EQ(result.isWithinWarpOf(source), within) << result.text() << " of " << source.text();
    numWithin += within;
  }
  EXPECT_GT(numWithin, 100u);
  EXPECT_LT(numWithin, 1900u);
}

/// The element at a packed coordinate.
static uint32_t elementAtPacked(const LinearLayout &layout, uint64_t packed) {
  uint32_t element = 0;
  for (unsigned place = 0; place < kNumPlaces; ++place) {
    element ^= layout.apply(Place(place), uint32_t(packed) & (layout.size(Place(place)) - 1));
    packed >>= layout.numBits(Place(place));
  }
  return element;
}

TEST_F(LinearLayoutTest, InversesFindOwners) {
  for (int round = 0; round < 1000; ++round) {
    LinearLayout layout = round % 4 ? surjective(shape(8)) : anyMap(shape(8));
    std::optional<SmallVector<uint64_t>> images = layout.rightInverse();
    ASSERT_EQ(images.has_value(), layout.isSurjective());
    if (!images)
      continue;
    BitMatrix inverse{layout.numInputBits(), *images};
    uint64_t free = 0;
    unsigned position = 0;
    for (unsigned place = 0; place < kNumPlaces; ++place) {
      free |= uint64_t(layout.freeBits(Place(place))) << position;
      position += layout.numBits(Place(place));
    }
    for (uint32_t element = 0; element < layout.numElements(); ++element) {
      EXPECT_EQ(elementAtPacked(layout, inverse.apply(element)), element);
      EXPECT_EQ(inverse.apply(element) & free, 0u);
    }
  }
}

TEST_F(LinearLayoutTest, CompositionLeadsToTheSameElement) {
  for (int round = 0; round < 1000; ++round) {
    SmallVector<int64_t> extents = shape(8);
    LinearLayout here = anyMap(extents), there = surjective(extents);
    std::optional<SmallVector<uint64_t>> images = here.composedWithInverseOf(there);
    ASSERT_TRUE(images.has_value());
    ASSERT_EQ(images->size(), here.numInputBits());
    BitMatrix map{there.numInputBits(), *images};
    uint64_t packed = below(uint64_t(1) << here.numInputBits());
    EXPECT_EQ(elementAtPacked(there, map.apply(packed)), elementAtPacked(here, packed));
  }
  LinearLayout constant({2}, {});
  EXPECT_FALSE(constant.composedWithInverseOf(constant).has_value());
}

TEST_F(LinearLayoutTest, ProductsDivide) {
  for (int round = 0; round < 1000; ++round) {
    SmallVector<int64_t> inner = shape(5), outer(inner.size(), 1), extents;
    for (uint64_t bits = below(4); bits > 0; --bits)
      outer[below(outer.size())] *= 2;
    for (auto [a, b] : llvm::zip(inner, outer))
      extents.push_back(a * b);
    LinearLayout divisor = anyMap(inner), quotient = anyMap(outer), whole(extents, {});
    LinearLayout product = whole;
    for (unsigned place = 0; place < kNumPlaces; ++place) {
      LinearLayout::Bases bases;
      for (uint32_t basis : divisor.bases(Place(place)))
        bases.push_back(whole.elementAt(divisor.coordinatesOf(basis)));
      for (uint32_t basis : quotient.bases(Place(place))) {
        SmallVector<int64_t> at = quotient.coordinatesOf(basis);
        for (auto [coordinate, extent] : llvm::zip(at, inner))
          coordinate *= extent;
        bases.push_back(whole.elementAt(at));
      }
      product = product.withPlace(Place(place), bases);
    }
    EXPECT_EQ(product.dividedBy(divisor), quotient);
  }
}

TEST_F(LinearLayoutTest, OtherMapsDoNotDivide) {
  LinearLayout pairs({2, 2}, {LinearLayout::Bases{1}, {2}, {}, {}, {}});
  LinearLayout rows({4, 2}, {LinearLayout::Bases{1}, {2, 4}, {}, {}, {}});
  LinearLayout columns({4, 2}, {LinearLayout::Bases{2}, {1, 4}, {}, {}, {}});
  LinearLayout mixed({4, 2}, {LinearLayout::Bases{1}, {2, 5}, {}, {}, {}});
  EXPECT_EQ(rows.dividedBy(pairs), LinearLayout({2, 1}, {LinearLayout::Bases{}, {1}, {}, {}, {}}));
  EXPECT_FALSE(columns.dividedBy(pairs).has_value());
  EXPECT_FALSE(mixed.dividedBy(pairs).has_value());
  EXPECT_FALSE(pairs.dividedBy(rows).has_value());
}

TEST_F(LinearLayoutTest, TextGivesCoordinates) {
  LinearLayout layout({8, 4}, {LinearLayout::Bases{1, 2}, {4, 8, 16}, {0}, {}, {}});
  EXPECT_EQ(layout.text(),
            "register = [[0, 1], [0, 2]] lane = [[1, 0], [2, 0], [4, 0]] warp = [[0, 0]]");
  EXPECT_EQ(LinearLayout({}, {LinearLayout::Bases{}, {0}, {}, {}, {}}).text(), "lane = [[]]");
  EXPECT_EQ(sharedLayout({2, 2}, {0, 1}).text(), "offset = [[1, 0], [0, 1]]");
}
