// Launches fill in tensor maps, and refuse the arrays that none describes.
#include "runtime/TensorMaps.h"
#include "runtime/Artifact.h"
#include "runtime/Device.h"
#include "runtime/codes/Codes.h"
#include <gtest/gtest.h>

using namespace tw;

namespace {
/// A matrix of `rows` rows, `stride` elements apart, one in each of `batch` arrays.
struct Launched {
  uint64_t base = 0x1000;
  int64_t rows = 100, stride = 64, batch = 4096;

  std::optional<RuntimeError> compute(TensorMapNumbers &numbers) const {
    const std::vector<ArtifactParameter> parameters = {
        {"x", "*fp16"}, {"rows", "i32"}, {"stride", "i64"}, {"batch", "u32"}};
    const TensorMapRecipe recipe = {0,
                                    MapElement::F16,
                                    {{int64_t(1) << 31, {}}, {1, {1}}, {8, {}}},
                                    {{1, {2}}, {2, {3, 2}}},
                                    {64, 128, 1},
                                    128};
    EXPECT_TRUE(isWellFormed(recipe, parameters));
    std::vector<LaunchArgument> arguments(4);
    arguments[0].bits = base;
    // Only the low bits count.
    arguments[1].bits = uint64_t(rows) | uint64_t(7) << 32;
    arguments[2].bits = uint64_t(stride);
    arguments[3].bits = uint64_t(batch);
    return TensorMapMaker({recipe}, parameters).compute(0, arguments, numbers);
  }
};
} // namespace

TEST(TensorMapsTest, ComputesProductsOfArguments) {
  TensorMapNumbers numbers;
  ASSERT_FALSE(Launched().compute(numbers));
  TensorMapNumbers expected;
  expected.base = 0x1000;
  expected.extents = {uint64_t(1) << 31, 100, 8};
  expected.strides = {128, 2 * 4096 * 64 * 2};
  EXPECT_EQ(numbers, expected);
}

TEST(TensorMapsTest, RefusalsNameTheGuardItsValueAndWhatItNeeds) {
  struct Case {
    Launched launched;
    const char *words;
  };
  for (const auto &[launched, words] :
       {Case{{.base = 0x1008}, "(guard x.address) is 4104, and has to be a multiple of 16"},
        Case{{.rows = 0}, "(guard x.extent[1]) is rows, where rows is 0, and has to be from 1"},
        Case{{.stride = 65}, "(guard x.stride[1]) is 2 * stride, where stride is 65, and has"},
        Case{{.stride = -64}, "(guard x.stride[1]) is 2 * stride, where stride is -64,"}}) {
    TensorMapNumbers numbers;
    std::optional<RuntimeError> error = launched.compute(numbers);
    ASSERT_TRUE(error) << words;
    EXPECT_NE(error->message.find(words), std::string::npos) << error->message;
  }
}

TEST(TensorMapsTest, RefusesWhatNoMapDescribes) {
  const Launched refused[] = {
      {.base = 0x1008},      {.base = 0},          {.rows = 0},    {.rows = -1},
      {.stride = 0},         {.stride = -64},      {.stride = 65}, {.stride = int64_t(1) << 39},
      {.stride = INT64_MAX}, {.stride = INT64_MIN}};
  for (const Launched &launched : refused) {
    TensorMapNumbers numbers;
    std::optional<RuntimeError> error = launched.compute(numbers);
    ASSERT_TRUE(error) << launched.base << " " << launched.rows << " " << launched.stride;
    EXPECT_EQ(error->code, Code::TensorMapRefused);
    EXPECT_NE(error->message.find("`x`"), std::string::npos);
  }
  // A number of 32 bits without a sign is far, but not too far.
  TensorMapNumbers numbers;
  EXPECT_FALSE((Launched{.stride = 8, .batch = UINT32_MAX}).compute(numbers));
}

namespace {
/// A matrix of `rows` rows of `columns` halves, `stride` of them apart, one in each of a batch.
struct Loaded {
  uint64_t base = 0x1000;
  int64_t columns = 40, rows = 100, stride = 48, batch = 4800;
  uint32_t span = 16;

  std::optional<RuntimeError> compute(TensorMapNumbers &numbers) const {
    const std::vector<ArtifactParameter> parameters = {
        {"x", "*fp16"}, {"columns", "i32"}, {"rows", "i32"}, {"stride", "i64"}, {"batch", "i64"}};
    const TensorMapRecipe recipe = {
        0, MapElement::F16, {{1, {1}}, {1, {2}}, {1, {}}}, {{1, {3}}, {1, {4}}}, {}, span};
    EXPECT_TRUE(isWellFormed(recipe, parameters));
    std::vector<LaunchArgument> arguments(5);
    int64_t values[] = {int64_t(base), columns, rows, stride, batch};
    for (size_t i = 0; i < arguments.size(); ++i)
      arguments[i].bits = uint64_t(values[i]);
    return TensorMapMaker({recipe}, parameters).compute(0, arguments, numbers);
  }
};
} // namespace

TEST(TensorMapsTest, ArraysOfBlocksHaveTheLimitsOfTheirLoads) {
  const Loaded taken[] = {{},
                          {.columns = 32},
                          {.stride = 40},
                          {.batch = 0},
                          {.stride = 64, .span = 64},
                          {.columns = (1 << 23) - 16, .stride = (1 << 23) - 16}};
  for (const Loaded &loaded : taken) {
    TensorMapNumbers numbers;
    std::optional<RuntimeError> error = loaded.compute(numbers);
    EXPECT_FALSE(error) << error->message;
    EXPECT_EQ(numbers.extents[0], uint64_t(loaded.columns));
    EXPECT_EQ(numbers.strides[0], uint64_t(2 * loaded.stride));
  }
  struct Case {
    Loaded loaded;
    const char *guard;
  };
  for (const auto &[loaded, guard] :
       {Case{{.base = 0x1020}, "x.address"}, Case{{.base = 0}, "x.address"},
        Case{{.columns = 30}, "x.extent[0]"}, Case{{.columns = 41}, "x.extent[0]"},
        Case{{.columns = 1 << 23, .stride = 1 << 23}, "x.extent[0]"},
        Case{{.rows = 0}, "x.extent[1]"}, Case{{.rows = 1 << 24}, "x.extent[1]"},
        Case{{.stride = 32}, "x.stride[1]"}, Case{{.stride = 52}, "x.stride[1]"},
        Case{{.stride = 48, .span = 64}, "x.stride[1]"}, Case{{.stride = 1 << 23}, "x.stride[1]"},
        Case{{.batch = 4808}, "x.stride[2]"}, Case{{.batch = -4800}, "x.stride[2]"}}) {
    TensorMapNumbers numbers;
    std::optional<RuntimeError> error = loaded.compute(numbers);
    ASSERT_TRUE(error) << guard;
    EXPECT_EQ(error->code, Code::TensorMapRefused);
    EXPECT_NE(error->message.find(std::string("(guard ") + guard + ")"), std::string::npos)
        << error->message;
  }
}
