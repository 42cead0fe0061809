// Layouts drawn as text.
#include "ir/layout/LayoutDiagram.h"
#include "gtest/gtest.h"

using namespace tw;

TEST(LayoutDiagram, NamesThreadAndRegister) {
  LinearLayout layout = blockedLayout({2, 4}, {1, 2}, {2, 2}, {1, 1}, {1, 0});
  EXPECT_EQ(layoutDiagram(layout), "l0 r0  l0 r1  l1 r0  l1 r1\n"
                                   "l2 r0  l2 r1  l3 r0  l3 r1\n");
}

TEST(LayoutDiagram, CountsCopies) {
  EXPECT_EQ(layoutDiagram(blockedLayout({2}, {1}, {4}, {2}, {0})), "w0 l0 x4  w0 l1 x4\n");
}

TEST(LayoutDiagram, SaysWhatIsLeftOut) {
  LinearLayout layout = sharedLayout({2, 4, 4}, {2, 1, 0});
  EXPECT_EQ(layoutDiagram(layout, 2, 2), "o0  o1  ...\n"
                                         "o4  o5  ...\n"
                                         "(2 more rows, 2 more columns)\n"
                                         "(the first of 2 pieces)\n");
}

TEST(LayoutDiagram, DrawsTilesOfOneElement) {
  EXPECT_EQ(layoutDiagram(LinearLayout({}, {})), "all\n");
}
