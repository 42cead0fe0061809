// Blocked layouts and repeated fragments hold what their parameters say.
#include "RandomLayouts.h"

using namespace tw;
using llvm::SmallVector;

using DistributedLayouts = RandomLayouts;

TEST_F(DistributedLayouts, BlockedNeighboursShareALane) {
  LinearLayout layout = blockedLayout({32, 64}, {1, 4}, {4, 8}, {2, 1}, {1, 0});
  EXPECT_EQ(layout.text(), "register = [[0, 1], [0, 2], [0, 32], [8, 0], [16, 0]] "
                           "lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]] warp = [[4, 0]]");
}

TEST_F(DistributedLayouts, BlockedHoldsCopiesOfSmallTiles) {
  LinearLayout layout = blockedLayout({2, 4}, {1, 8}, {4, 8}, {2, 1}, {1, 0});
  EXPECT_EQ(layout.text(), "register = [[0, 1], [0, 2]] "
                           "lane = [[0, 0], [0, 0], [0, 0], [1, 0], [0, 0]] warp = [[0, 0]]");
}

TEST_F(DistributedLayouts, BlockedHoldsEveryElementInCanonicalRegisters) {
  for (int round = 0; round < 1000; ++round) {
    SmallVector<int64_t> extents = shape(12);
    unsigned rank = extents.size();
    SmallVector<int64_t> perLane(rank, 1), lanes(rank, 1), warps(rank, 1);
    SmallVector<int32_t> order;
    for (unsigned dim = 0; dim < rank; ++dim)
      order.push_back(dim);
    std::shuffle(order.begin(), order.end(), random);
    auto scatter = [&](SmallVector<int64_t> &counts, unsigned bits) {
      for (unsigned bit = 0; bit < bits; ++bit)
        counts[below(rank)] *= 2;
    };
    scatter(perLane, below(5));
    scatter(lanes, 5);
    scatter(warps, 2);
    LinearLayout layout = blockedLayout(extents, perLane, lanes, warps, order);
    EXPECT_TRUE(layout.isSurjective());
    EXPECT_EQ(layout.freeBits(Place::Register), 0u);
    EXPECT_EQ(layout.numBits(Place::Lane), 5u);
    EXPECT_EQ(layout.numBits(Place::Warp), 2u);
  }
}

TEST_F(DistributedLayouts, FragmentsRepeatOverWarpsThenRegisters) {
  // The accumulator of a 16 x 8 matrix instruction: PTX ISA, "Matrix Fragments for mma.m16n8k16".
  LinearLayout fragment({16, 8}, {LinearLayout::Bases{1, 64}, {2, 4, 8, 16, 32}, {}, {}, {}});
  LinearLayout layout = tiledLayout(fragment, {64, 32}, {2, 2});
  EXPECT_EQ(layout.text(),
            "register = [[0, 1], [8, 0], [0, 16], [32, 0]] "
            "lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[0, 8], [16, 0]]");
  EXPECT_TRUE(layout.isSurjective() && layout.isInjective());
  LinearLayout batched = tiledLayout(fragment, {4, 16, 8}, {1, 2, 1});
  EXPECT_EQ(batched.text(),
            "register = [[0, 0, 1], [0, 8, 0], [1, 0, 0], [2, 0, 0]] "
            "lane = [[0, 0, 2], [0, 0, 4], [0, 1, 0], [0, 2, 0], [0, 4, 0]] warp = [[0, 0, 0]]");
  EXPECT_TRUE(layout.dividedBy(fragment).has_value());
}
