// What is assumed of arguments: of integers, of addresses, of memory that others meet or that
// 32-bit offsets do not reach all of.
#include "runtime/Specialization.h"
#include "test/unit/runtime/TemporaryDirectory.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tw;

static bool isLarge(uint64_t bytes, const char *type, bool countsBytes) {
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::Pointer;
  spec.type = type;
  const MemorySpan memory{4096, 4096 + bytes, countsBytes};
  assumeDisjoint({&spec, 1}, {&memory, 1});
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

TEST(Specialization, IntegersOverTheEdgesOfTypes) {
  auto facts = [](uint64_t bits, unsigned width) {
    ArgumentFacts found = integerFacts(bits, width);
    return std::tuple(found.divisibility, found.isOne, found.isNonNegative);
  };
  EXPECT_EQ(facts(0, 32), std::tuple(16, false, true));
  EXPECT_EQ(facts(1, 32), std::tuple(1, true, true));
  EXPECT_EQ(facts(uint64_t(-16), 32), std::tuple(16, false, false));
  EXPECT_EQ(facts(0x7FFFFFFF, 32), std::tuple(1, false, true));
  EXPECT_EQ(facts(0x80000000, 32), std::tuple(16, false, false)) << "of u32";
  EXPECT_EQ(facts(0x80000000, 64), std::tuple(16, false, true));
  EXPECT_EQ(facts(200, 8), std::tuple(1, false, false)) << "of u8";
  EXPECT_EQ(facts(uint64_t(1) << 63, 64), std::tuple(16, false, false));
}

TEST(Specialization, PointersByAddressAndSize) {
  EXPECT_EQ(pointerFacts(4096, 99, 100).divisibility, 16);
  EXPECT_EQ(pointerFacts(4104, 99, 100).divisibility, 1);
  EXPECT_FALSE(pointerFacts(0, 99, 100).isStreaming);
  EXPECT_TRUE(pointerFacts(0, 100, 100).isStreaming);
}

TEST(Specialization, TheLastLevelCacheIsTheLargest) {
  TemporaryDirectory directory;
  EXPECT_EQ(lastLevelCacheBytes(directory.path + "/absent"), 32u << 20);
  for (const auto &[index, size] :
       {std::pair("/index0", "48K"), {"/index1", "1G"}, {"/index2", "2M"}}) {
    std::filesystem::create_directory(directory.path + index);
    std::ofstream(directory.path + index + "/size") << size << "\n";
  }
  EXPECT_EQ(lastLevelCacheBytes(directory.path), 1u << 30);
  for (const char *index : {"/index0", "/index1", "/index2"})
    std::ofstream(directory.path + index + "/size") << "nonsense";
  EXPECT_EQ(lastLevelCacheBytes(directory.path), 32u << 20);
}
