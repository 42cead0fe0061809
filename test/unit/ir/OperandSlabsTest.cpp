// Slabs are bijections that put each element where the formulas of their readers look for it.
#include "ir/layout/OperandSlabs.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
struct SlabCase {
  int64_t rows, columns; // of the tile
  unsigned dim, elementBytes, span;
};
constexpr SlabCase kSlabCases[] = {
    {64, 64, 1, 2, 128},   {128, 32, 1, 2, 64}, {64, 16, 1, 2, 32},   {16, 8, 1, 2, 16},
    {64, 128, 0, 2, 128},  {32, 64, 0, 2, 64},  {64, 256, 1, 1, 128}, {64, 32, 1, 4, 128},
    {256, 128, 1, 2, 128}, {8, 16, 0, 2, 16},
};

/// Address a lies at a ^ (((a >> 7) & (pieces of a span - 1)) << 4).
uint64_t swizzled(uint64_t address, unsigned span) {
  return address ^ ((address >> 7 & (span / 16 - 1)) << 4);
}
} // namespace

TEST(OperandSlabs, PutsEachElementWhereItIsRead) {
  for (const SlabCase &each : kSlabCases) {
    int64_t shape[] = {each.rows, each.columns};
    auto slabs = slabsFor(shape, each.dim, each.elementBytes, 128);
    ASSERT_TRUE(slabs);
    EXPECT_EQ(slabs->spanBytes, each.span);
    EXPECT_EQ(slabs->slabBytes, uint64_t(shape[1 - each.dim]) * each.span);
    LinearLayout buffer = bufferOf(*slabs, shape);
    for (int64_t row = 0; row < shape[1 - each.dim]; ++row)
      for (int64_t column = 0; column < shape[each.dim]; ++column) {
        uint64_t at = swizzled(slabs->offsetOf(row, column), each.span);
        ASSERT_EQ(at % each.elementBytes, 0u);
        int64_t coordinates[2];
        coordinates[each.dim] = column;
        coordinates[1 - each.dim] = row;
        ASSERT_EQ(buffer.apply(Place::Offset, uint32_t(at / each.elementBytes)),
                  buffer.elementAt(coordinates));
      }
  }
}

TEST(OperandSlabs, RecognizesItsBuffersAndNoOthers) {
  for (const SlabCase &each : kSlabCases) {
    int64_t shape[] = {each.rows, each.columns};
    LinearLayout buffer = bufferOf(*slabsFor(shape, each.dim, each.elementBytes, 128), shape);
    auto found = slabsOf(buffer, each.elementBytes, 128);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->dim, each.dim);
    EXPECT_EQ(found->spanBytes, each.span);
    LinearLayout::Bases offsets(buffer.bases(Place::Offset));
    std::swap(offsets[0], offsets.back());
    EXPECT_FALSE(slabsOf(buffer.withPlace(Place::Offset, offsets), each.elementBytes, 128));
  }
}

TEST(OperandSlabs, NeedEightRowsOfAPiece) {
  EXPECT_FALSE(slabsFor({4, 64}, 1, 2, 128));
  EXPECT_FALSE(slabsFor({64, 4}, 1, 2, 128));
  EXPECT_FALSE(slabsFor({2, 64, 64}, 1, 2, 128));
}
