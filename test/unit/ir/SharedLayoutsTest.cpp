// Buffers in shared memory: bijections, vectors where there are any, no bank conflicts.
#include "RandomLayouts.h"
#include "test/unit/ir/SharedBanks.h"
#include <set>

using namespace tw;
using llvm::SmallVector;

using SharedLayouts = RandomLayouts;

using tw::test::kBanks;

static void expectBijection(const LinearLayout &buffer) {
  EXPECT_TRUE(buffer.isSurjective() && buffer.isInjective()) << buffer.text();
  EXPECT_EQ(buffer.numInputBits(), buffer.numBits(Place::Offset));
}

TEST_F(SharedLayouts, SwizzlesPermuteGroupsByRow) {
  for (int round = 0; round < 500; ++round) {
    int64_t rows = int64_t(1) << below(7), columns = int64_t(1) << below(7);
    unsigned vector = 1u << below(3), rowsPerPhase = 1u << below(3), phases = 1u << below(4);
    LinearLayout buffer = swizzledLayout({rows, columns}, {1, 0}, vector, rowsPerPhase, phases);
    expectBijection(buffer);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        int64_t moved = (column ^ (row / rowsPerPhase % phases * vector)) & (columns - 1);
        EXPECT_EQ(buffer.apply(Place::Offset, uint32_t(row * columns + column)),
                  row * columns + moved);
      }
    }
  }
}

TEST_F(SharedLayouts, OrderNamesTheFastestDimensionFirst) {
  LinearLayout buffer = sharedLayout({2, 4, 8}, {1, 2, 0});
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t k = 0; k < 8; ++k)
        EXPECT_EQ(buffer.apply(Place::Offset, uint32_t(j + 4 * k + 32 * i)),
                  buffer.elementAt({i, j, k}));
}

TEST_F(SharedLayouts, GroupsAreNeighboursInMemory) {
  unsigned numVectors = 0;
  for (int round = 0; round < 1000; ++round) {
    SmallVector<int64_t> extents = shape(9);
    LinearLayout registers = surjective(extents, 4, 1), other = surjective(extents, 4, 1);
    LinearLayout buffer = conflictFreeLayout(registers, other, 4, kBanks);
    expectBijection(buffer);
    SharedAccess access = sharedAccess(registers, buffer, 4);
    numVectors += access.vector > 1;
    BitMatrix offsets{buffer.numInputBits(), *buffer.rightInverse()};
    std::set<uint32_t> seen(access.registers.begin(), access.registers.end());
    ASSERT_EQ(seen.size(), registers.size(Place::Register));
    ASSERT_EQ(access.registers.size(), registers.size(Place::Register));
    for (uint32_t lane = 0; lane < 16; ++lane) {
      for (unsigned i = 0; i < access.registers.size(); ++i) {
        auto offsetOf = [&](unsigned index) {
          return offsets.apply(registers.element(access.registers[index], lane, lane & 1));
        };
        unsigned first = i / access.vector * access.vector;
        EXPECT_EQ(offsetOf(first) % access.vector, 0u);
        EXPECT_EQ(offsetOf(i), offsetOf(first) + i - first);
      }
    }
  }
  EXPECT_GT(numVectors, 50u);
}

TEST_F(SharedLayouts, VectorsAreAsWideAsAsked) {
  LinearLayout rows = blockedLayout({32, 32}, {1, 8}, {8, 4}, {4, 1}, {1, 0});
  LinearLayout buffer = sharedLayout({32, 32}, {1, 0});
  for (unsigned maxVector : {1u, 2u, 4u, 8u})
    EXPECT_EQ(sharedAccess(rows, buffer, maxVector).vector, maxVector);
  EXPECT_EQ(sharedAccess(rows, buffer, 16).vector, 8u);
  EXPECT_EQ(sharedAccess(rows, sharedLayout({32, 32}, {0, 1}), 4).vector, 1u);
}

TEST_F(SharedLayouts, ConflictsAreCounted) {
  LinearLayout columns = blockedLayout({32, 32}, {1, 1}, {32, 1}, {1, 32}, {0, 1});
  EXPECT_EQ(bankConflicts(columns, sharedLayout({32, 32}, {1, 0}), tw::SharedUse::Read, 4, kBanks),
            32.0);
  EXPECT_EQ(bankConflicts(columns, sharedLayout({32, 32}, {0, 1}), tw::SharedUse::Read, 4, kBanks),
            1.0);
  EXPECT_EQ(bankConflicts(columns, swizzledLayout({32, 32}, {1, 0}, 1, 1, 32), tw::SharedUse::Read,
                          4, kBanks),
            1.0);
  EXPECT_EQ(bankConflicts(columns, swizzledLayout({32, 32}, {1, 0}, 1, 1, 8), tw::SharedUse::Read,
                          4, kBanks),
            4.0);
  EXPECT_EQ(bankConflicts(columns, sharedLayout({32, 32}, {1, 0}), tw::SharedUse::Read, 8, kBanks),
            16.0);
  LinearLayout wide = blockedLayout({32, 32}, {1, 4}, {32, 1}, {1, 8}, {1, 0});
  EXPECT_EQ(bankConflicts(wide, sharedLayout({32, 32}, {1, 0}), tw::SharedUse::Read, 4, kBanks),
            8.0);
}

/// A word, or as much as a lane accesses, behind each row: the next one begins in other banks.
TEST_F(SharedLayouts, PaddingKeepsRowsApart) {
  LinearLayout rows = sharedLayout({32, 32}, {1, 0});
  LinearLayout columns = blockedLayout({32, 32}, {1, 1}, {32, 1}, {1, 32}, {0, 1});
  EXPECT_EQ(bankConflicts(columns, rows, tw::SharedUse::Read, 4, kBanks, {128, 4}), 1.0);
  EXPECT_EQ(bankConflicts(columns, rows, tw::SharedUse::Read, 4, kBanks, {256, 4}), 2.0);
  LinearLayout wide = blockedLayout({32, 32}, {1, 4}, {32, 1}, {1, 8}, {1, 0});
  EXPECT_EQ(bankConflicts(wide, rows, tw::SharedUse::Read, 4, kBanks, {128, 16}), 1.0);
  EXPECT_EQ(tw::SharedPadding{}.apply(1000), 1000u);
  EXPECT_EQ((tw::SharedPadding{128, 16}.apply(127)), 127u);
  EXPECT_EQ((tw::SharedPadding{128, 16}.apply(260)), 260u + 2 * 16);
}

TEST_F(SharedLayouts, ConversionsBetweenRowsAndColumnsAreFreeOfConflicts) {
  for (unsigned bytes : {1u, 2u, 4u, 8u}) {
    for (int64_t rows = 1; rows <= 128; rows *= 2) {
      for (int64_t columns = 1; columns <= 128; columns *= 2) {
        int64_t perLane = 16 / bytes;
        for (int64_t wide : {int64_t(1), perLane}) {
          LinearLayout byRow = blockedLayout({rows, columns}, {1, wide}, {4, 8}, {2, 2}, {1, 0});
          LinearLayout byColumn =
              blockedLayout({rows, columns}, {perLane, 1}, {16, 2}, {1, 4}, {0, 1});
          LinearLayout buffer = conflictFreeLayout(byRow, byColumn, bytes, kBanks);
          expectBijection(buffer);
          EXPECT_EQ(bankConflicts(byRow, buffer, tw::SharedUse::Write, bytes, kBanks), 1.0)
              << rows << " x " << columns << " of " << bytes << " bytes: " << buffer.text();
          EXPECT_EQ(bankConflicts(byColumn, buffer, tw::SharedUse::Read, bytes, kBanks), 1.0)
              << rows << " x " << columns << " of " << bytes << " bytes: " << buffer.text();
        }
      }
    }
  }
}

/// Lanes 0-3 and 12-15 and 20-27 are read together over 64 banks, eight in a row written over 32.
static constexpr tw::SharedPhase kPhases[] = {
    {tw::SharedUse::Read, 16, 64, {1, 2, 12, 20}},
    {tw::SharedUse::Write, 16, 32, {1, 2, 4}},
};

TEST_F(SharedLayouts, ConflictsDependOnTheLanesThatAreServedTogether) {
  tw::SharedBanks plain = {64, 4, 16}, phased = {64, 4, 16, kPhases};
  LinearLayout rows = blockedLayout({64, 64}, {1, 8}, {8, 8}, {1, 1}, {1, 0});
  // Lane 8 and lane 16 read pieces that this buffer puts into the same banks.
  LinearLayout columns = blockedLayout({64, 64}, {1, 8}, {64, 1}, {1, 1}, {0, 1})
                             .withPlace(tw::Place::Lane, {64, 128, 256, 512, 24 * 64, 32 * 64});
  LinearLayout buffer = swizzledLayout({64, 64}, {1, 0}, 8, 2, 8);
  EXPECT_EQ(bankConflicts(columns, buffer, tw::SharedUse::Read, 2, plain), 1.0);
  EXPECT_EQ(bankConflicts(columns, buffer, tw::SharedUse::Read, 2, phased), 2.0);
  buffer = conflictFreeLayout(rows, columns, 2, phased);
  expectBijection(buffer);
  EXPECT_EQ(bankConflicts(rows, buffer, tw::SharedUse::Write, 2, phased), 1.0);
  EXPECT_EQ(bankConflicts(columns, buffer, tw::SharedUse::Read, 2, phased), 1.0);
}

TEST_F(SharedLayouts, OneLayoutOnBothSidesIsAccessedInItsWidestVectors) {
  LinearLayout layout = blockedLayout({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  LinearLayout buffer = conflictFreeLayout(layout, layout, 2, kBanks);
  EXPECT_EQ(sharedAccess(layout, buffer, 8).vector, 8u);
  EXPECT_EQ(bankConflicts(layout, buffer, tw::SharedUse::Write, 2, kBanks), 1.0);
}
