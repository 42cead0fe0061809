// The seed of a test's random cases.
#ifndef TEST_UNIT_DRAWNSEED_H
#define TEST_UNIT_DRAWNSEED_H
#include "gtest/gtest.h"
#include <cstdio>
#include <random>

namespace tw::test {

/// Returns the seed that `--gtest_random_seed` gives, which repeats a run, else a fresh one, which
/// it prints once: every run of the tests draws other cases.
inline unsigned drawnSeed() {
  static const unsigned seed = [] {
    int chosen = GTEST_FLAG_GET(random_seed); // UnitTest's own is 0 without --gtest_shuffle
    unsigned drawn = chosen > 0 ? unsigned(chosen) : std::random_device()() % 99999 + 1;
    std::printf("[ values   ] --gtest_random_seed=%u repeats them\n", drawn);
    return drawn;
  }();
  return seed;
}

} // namespace tw::test
#endif
