// Algebra over GF(2), by its laws on random matrices.
#include "RandomLayouts.h"
#include <set>

using namespace tw;

class BitMatrices : public RandomLayouts {
protected:
  BitMatrix matrix(unsigned numRows, unsigned numColumns) {
    BitMatrix result{numRows, {}};
    uint64_t mask = numRows == 64 ? ~uint64_t(0) : (uint64_t(1) << numRows) - 1;
    // Sparse and repeated columns make low ranks common.
    for (unsigned column = 0; column < numColumns; ++column)
      result.columns.push_back(random() & random() & mask & (below(4) ? ~uint64_t(0) : 0));
    return result;
  }
};

TEST_F(BitMatrices, KernelAndImageFillTheDomain) {
  for (int round = 0; round < 1000; ++round) {
    BitMatrix a = matrix(below(8) + 1, below(10) + 1);
    std::set<uint64_t> images;
    uint64_t numZeros = 0;
    for (uint64_t x = 0; x < uint64_t(1) << a.columns.size(); ++x) {
      images.insert(a.apply(x));
      numZeros += a.apply(x) == 0;
    }
    EXPECT_EQ(images.size(), uint64_t(1) << a.rank());
    EXPECT_EQ(numZeros, uint64_t(1) << a.kernel().size());
    BitMatrix kernel{unsigned(a.columns.size()), a.kernel()};
    EXPECT_EQ(kernel.rank(), kernel.columns.size());
    for (uint64_t x : kernel.columns)
      EXPECT_EQ(a.apply(x), 0u);
    for (uint64_t image = 0; image < uint64_t(1) << a.numRows; ++image)
      EXPECT_EQ(a.solve(image).has_value(), images.count(image) == 1);
  }
}

TEST_F(BitMatrices, SolveFindsAPreimage) {
  for (int round = 0; round < 2000; ++round) {
    BitMatrix a = matrix(below(64) + 1, below(63) + 1);
    uint64_t image = a.apply(random() >> 1);
    std::optional<uint64_t> x = a.solve(image);
    ASSERT_TRUE(x.has_value());
    EXPECT_EQ(a.apply(*x), image);
  }
}

TEST_F(BitMatrices, ProductsAreCompositionsAndAssociate) {
  for (int round = 0; round < 2000; ++round) {
    unsigned n = below(20) + 1, m = below(20) + 1, k = below(20) + 1;
    BitMatrix a = matrix(n, m), b = matrix(m, k), c = matrix(k, below(20) + 1);
    uint64_t x = below(uint64_t(1) << c.columns.size());
    EXPECT_EQ((a * (b * c)).apply(x), a.apply(b.apply(c.apply(x))));
    EXPECT_EQ((a * (b * c)).columns, ((a * b) * c).columns);
  }
}

TEST_F(BitMatrices, InversesUndo) {
  unsigned numInvertible = 0;
  for (int round = 0; round < 4000; ++round) {
    unsigned n = below(8) + 1;
    BitMatrix a{n, {}};
    for (unsigned column = 0; column < n; ++column)
      a.columns.push_back(below(uint64_t(1) << n));
    std::optional<BitMatrix> inverse = a.inverse();
    ASSERT_EQ(inverse.has_value(), a.rank() == n);
    if (!inverse)
      continue;
    ++numInvertible;
    for (unsigned bit = 0; bit < n; ++bit) {
      EXPECT_EQ((a * *inverse).columns[bit], uint64_t(1) << bit);
      EXPECT_EQ((*inverse * a).columns[bit], uint64_t(1) << bit);
    }
  }
  EXPECT_GT(numInvertible, 100u);
}

TEST_F(BitMatrices, OnlySquareMatricesHaveInverses) {
  EXPECT_FALSE((BitMatrix{2, {1}}).inverse().has_value());
  EXPECT_FALSE((BitMatrix{1, {1, 1}}).inverse().has_value());
}
