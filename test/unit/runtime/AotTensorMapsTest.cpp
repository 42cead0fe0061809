// Packages compute the numbers of tensor maps as launches in this process do.
#include "runtime/Artifact.h"
#include "runtime/Device.h"
#include "runtime/TensorMaps.h"
#include "runtime/aot/TensorMaps.c"
#include <gtest/gtest.h>
#include <random>

using namespace tw;

namespace {
/// Integers of every type behind an array, and a map that two of them describe.
struct Described {
  static constexpr uint8_t kNumIntegers = 9;
  std::vector<ArtifactParameter> parameters = {
      {"x", "*fp16"}, {"a", "i1"},  {"b", "i8"},  {"c", "u8"},  {"d", "i16"},
      {"e", "u16"},   {"f", "i32"}, {"g", "u32"}, {"h", "i64"}, {"i", "u64"}};
  std::vector<int8_t> bits = {0, 1, 8, -8, 16, -16, 32, -32, 64, -64};
  uint8_t extent = 1, stride = 1;
  int64_t factor = 1;
  bool isOfBlocks = false;

  /// The numbers by the runtime; none where it refuses.
  std::optional<TensorMapNumbers> byRuntime(const std::vector<uint64_t> &values) const {
    const TensorMapRecipe recipe = {0,
                                    MapElement::F16,
                                    {{64, {}}, {factor, {extent}}, {1, {stride, extent}}},
                                    {{factor, {stride}}, {8, {extent, stride}}},
                                    isOfBlocks ? std::vector<uint32_t>()
                                               : std::vector<uint32_t>{64, 1, 1},
                                    isOfBlocks ? 16u : 128u};
    EXPECT_TRUE(isWellFormed(recipe, parameters));
    std::vector<LaunchArgument> arguments(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      arguments[i].bits = values[i];
    TensorMapNumbers numbers;
    if (TensorMapMaker({recipe}, parameters).compute(0, arguments, numbers))
      return std::nullopt;
    return numbers;
  }

  /// The same by a package.
  std::optional<TensorMapNumbers> byPackage(const std::vector<uint64_t> &values) const {
    const tw_factor factors[] = {
        {extent, bits[extent]}, {stride, bits[stride]}, {extent, bits[extent]}};
    const tw_map map = {0,
                        unsigned(MapElement::F16),
                        2,
                        isOfBlocks ? 16u : 128u,
                        3,
                        {{64, nullptr, 0}, {factor, &factors[0], 1}, {1, &factors[1], 2}},
                        {{factor, &factors[1], 1}, {8, &factors[0], 2}},
                        {isOfBlocks ? 0u : 64u, 1, 1}};
    tw_map_numbers found;
    if (!tw_compute_map(&map, values.data(), &found))
      return std::nullopt;
    TensorMapNumbers numbers;
    numbers.base = found.base;
    std::copy_n(found.extents, TW_MAX_RANK, numbers.extents.begin());
    std::copy_n(found.strides, TW_MAX_RANK - 1, numbers.strides.begin());
    return numbers;
  }
};
} // namespace

TEST(AotTensorMapsTest, PackagesHaveTheLimitsOfRecipes) {
  EXPECT_EQ(unsigned(TW_MAX_RANK), kMostMapDims);
  EXPECT_EQ(sizeof(tw_map_numbers), sizeof(TensorMapNumbers));
}

TEST(AotTensorMapsTest, PackagesComputeTheNumbersOfTheRuntime) {
  std::mt19937_64 random(20);
  const uint64_t chosen[] = {0,         1,          8,          16,         64,
                             100,       4096,       0x7fffffff, 0x80000000, 0xffffffff,
                             INT64_MAX, 1ull << 38, 1ull << 32, ~0ull,      ~0ull << 63};
  std::array<int, 2> numDescribed = {};
  for (int round = 0; round < 40000; ++round) {
    Described described;
    described.isOfBlocks = round % 2;
    described.extent = uint8_t(1 + random() % Described::kNumIntegers);
    described.stride = uint8_t(1 + random() % Described::kNumIntegers);
    described.factor = int64_t(chosen[random() % std::size(chosen)]);
    std::vector<uint64_t> values = {random() % 4 ? 0x1000 : random() % 64};
    while (values.size() < described.parameters.size())
      values.push_back(random() % 8 ? chosen[random() % std::size(chosen)] : random());
    std::optional<TensorMapNumbers> expected = described.byRuntime(values);
    numDescribed[round % 2] += expected.has_value();
    ASSERT_EQ(described.byPackage(values), expected) << "round " << round;
  }
  EXPECT_GT(numDescribed[0], 100);
  EXPECT_GT(numDescribed[1], 100);
}
