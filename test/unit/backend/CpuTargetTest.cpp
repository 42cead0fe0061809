// The levels of a CPU target, and the conversions that narrow levels call.
#include "backend/cpu/CpuTarget.h"
#include "backend/cpu/NarrowFloats.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tw;

TEST(CpuLevels, EachIsATargetOfItsOwn) {
  std::string host = makeCpuTarget()->describe();
  for (const std::string &level : cpuLevels()) {
    std::unique_ptr<Target> target = makeCpuTarget(level);
    EXPECT_EQ(target->name(), "cpu:" + level);
    EXPECT_NE(target->describe(), host) << level;
  }
}

TEST(CpuLevels, WiderLevelsListWhatTheyImply) {
  std::string features = makeCpuTarget("x86-64-v4")->describe();
  EXPECT_TRUE(llvm::StringRef(features).contains("+avx512f")) << features;
  EXPECT_FALSE(llvm::StringRef(makeCpuTarget("x86-64-v3")->describe()).contains("+avx512f"));
}

template <typename Function> static Function find(const char *name) {
  for (const HostFunction *function = narrowFloatFunctions(); function->name; ++function)
    if (llvm::StringRef(function->name) == name)
      return reinterpret_cast<Function>(function->address);
  ADD_FAILURE() << name;
  return nullptr;
}

TEST(NarrowFloats, RoundOnceToNearestEven) {
  auto toHalf = find<_Float16 (*)(float)>("__truncsfhf2");
  auto toBfloat = find<__bf16 (*)(float)>("__truncsfbf2");
  auto fromHalf = find<float (*)(_Float16)>("__extendhfsf2");
  EXPECT_EQ(fromHalf(toHalf(1.0f + 0x1p-11f)), 1.0f);             // a tie goes to even
  EXPECT_EQ(fromHalf(toHalf(1.0f + 0x1.8p-10f)), 1.0f + 0x1p-9f); // and up
  EXPECT_EQ(fromHalf(toHalf(0x1p-24f)), 0x1p-24f);                // subnormals are kept
  EXPECT_TRUE(std::isinf(fromHalf(toHalf(65520.0f))));
  EXPECT_TRUE(std::isnan(fromHalf(toHalf(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(std::bit_cast<uint16_t>(toBfloat(1.0f + 0x1p-8f)), 0x3F80);
  EXPECT_EQ(std::bit_cast<uint16_t>(toBfloat(0x1p-133f)), 0x0001);
}

TEST(NarrowFloats, DoublesAreNotRoundedTwice) {
  auto toHalf = find<_Float16 (*)(double)>("__truncdfhf2");
  // Through float this would be a tie; in double it lies above it.
  double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(std::bit_cast<uint16_t>(toHalf(above)), 0x3C01);
}
