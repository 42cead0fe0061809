// What is assumed of arguments: memory that 32-bit offsets do not reach all of.
#include "runtime/Specialization.h"
#include <gtest/gtest.h>

using namespace tw;

static bool isLarge(uint64_t bytes, const char *type, bool countsBytes) {
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::Pointer;
  spec.type = type;
  const MemorySpan memory{4096, 4096 + bytes};
  assumeDisjoint({&spec, 1}, {&memory, 1}, countsBytes);
  return spec.isLarge;
}

TEST(Specialization, MemoryIsLargeWhereOffsetsDoNotReachIt) {
  constexpr uint64_t kGiB = 1 << 30;
  EXPECT_FALSE(isLarge(2 * kGiB, "fp32", false));
  EXPECT_TRUE(isLarge(8 * kGiB, "fp32", false));
  EXPECT_TRUE(isLarge(2 * kGiB, "i8", false));
  EXPECT_FALSE(isLarge(kGiB, "fp32", true));
  EXPECT_TRUE(isLarge(2 * kGiB, "fp32", true)) << "the offsets count bytes";
  EXPECT_TRUE(isLarge(3 * kGiB, "fp64", true));
}
