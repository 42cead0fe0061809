// The levels of a CPU target, and the conversions that narrow levels call.
#include "backend/cpu/CpuTarget.h"
#include "backend/cpu/EmulatedMatrixUnit.h"
#include "backend/cpu/HostMachine.h"
#include "backend/cpu/MatrixUnit.h"
#include "backend/cpu/NarrowFloats.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
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

static llvm::FeatureBitset bitsOf(const LlvmMachine &machine, llvm::StringRef features) {
  machine.initialize();
  llvm::Triple triple(machine.triple);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  std::unique_ptr<llvm::MCSubtargetInfo> described(
      target->createMCSubtargetInfo(triple, machine.cpu, features));
  return described->getFeatureBits();
}

TEST(CpuFeatures, ThoseBesideTheNameMeanWhatAllMean) {
  LlvmMachine machine = hostMachine();
  const std::string ofHost = machine.features;
  for (const char *cpu : {machine.cpu.c_str(), "x86-64", "x86-64-v3", "sapphirerapids", "znver5"})
    for (const char *features : {ofHost.c_str(), "", "-avx", "+avx512f,-avx", "-avx,+avx512f",
                                 "+avx512f,-avx512f,+avx2", "-sse2,+avx512bf16"}) {
      LlvmMachine other = machine;
      other.cpu = std::string(cpu), other.features = features;
      EXPECT_EQ(bitsOf(other, featuresBesideName(other)), bitsOf(other, features))
          << cpu << " " << features;
    }
}

TEST(CpuFeatures, ThoseThatTheNameTellsAreLeftOut) {
  LlvmMachine machine = hostMachine();
  EXPECT_LT(featuresBesideName(machine).size(), machine.features.size() / 2) << machine.features;
  machine.cpu = "x86-64-v3";
  machine.features = "+avx,-avx512f,+avx2,+sha,+fma";
  EXPECT_EQ(featuresBesideName(machine), "+sha");
}

template <typename Function> static Function find(const char *name) {
  for (const HostFunction *table : {narrowFloatFunctions(), emulatedMatrixFunctions()})
    for (const HostFunction *function = table; function->name; ++function)
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

namespace {
/// Configures 3 x 5 sums of 2 groups, and multiplies two matrices of bytes.
struct ByteProduct {
  static constexpr int kRows = 3, kColumns = 5, kGroups = 2;
  unsigned char a[kRows][kGroups * 4], b[kGroups][kColumns * 4];
  int32_t sums[kRows][kColumns];

  explicit ByteProduct(const char *instruction) {
    unsigned seed = 7;
    for (unsigned char &byte : llvm::MutableArrayRef(&a[0][0], sizeof(a)))
      byte = seed = seed * 1103515245 + 12345;
    for (unsigned char &byte : llvm::MutableArrayRef(&b[0][0], sizeof(b)))
      byte = seed = seed * 1103515245 + 12345;
    unsigned char configuration[64] = {1};
    const int rows[] = {kRows, kRows, kGroups}, lanes[] = {kColumns, kGroups, kColumns};
    for (int i = 0; i < 3; ++i) {
      configuration[48 + i] = rows[i];
      configuration[16 + 2 * i] = 4 * lanes[i];
    }
    find<void (*)(const void *)>("tw_emulated_ldtilecfg")(configuration);
    auto load = find<void (*)(int8_t, const void *, int64_t)>("tw_emulated_tileloadd64");
    find<void (*)(int8_t)>("tw_emulated_tilezero")(0);
    load(1, a, sizeof(a[0]));
    load(2, b, sizeof(b[0]));
    find<void (*)(int8_t, int8_t, int8_t)>(instruction)(0, 1, 2);
    find<void (*)(int8_t, void *, int64_t)>("tw_emulated_tilestored64")(0, sums, sizeof(sums[0]));
    find<void (*)()>("tw_emulated_tilerelease")();
  }

  int expected(int row, int column, bool isASigned, bool isBSigned) const {
    int sum = 0;
    for (int k = 0; k < kGroups * 4; ++k) {
      unsigned char x = a[row][k], y = b[k / 4][4 * column + k % 4];
      sum += (isASigned ? int(int8_t(x)) : int(x)) * (isBSigned ? int(int8_t(y)) : int(y));
    }
    return sum;
  }
};
} // namespace

TEST(EmulatedMatrixUnit, MultipliesBytesOfAllSigns) {
  for (const char *signs : {"ss", "su", "us", "uu"}) {
    ByteProduct product((llvm::Twine("tw_emulated_tdpb") + signs + "d").str().c_str());
    for (int row = 0; row < ByteProduct::kRows; ++row)
      for (int column = 0; column < ByteProduct::kColumns; ++column)
        EXPECT_EQ(product.sums[row][column],
                  product.expected(row, column, signs[0] == 's', signs[1] == 's'))
            << signs;
  }
}

TEST(EmulatedMatrixUnitDeathTest, RefusesWhatTheProcessorDoes) {
  EXPECT_DEATH(find<void (*)(int8_t)>("tw_emulated_tilezero")(0), "not configured");
  unsigned char unknown[64] = {2};
  EXPECT_DEATH(find<void (*)(const void *)>("tw_emulated_ldtilecfg")(unknown), "palette");
}

TEST(MatrixUnit, SaysWhyItMustNotBeUsed) {
  std::string reason = "unset";
  bool mayUse = mayUseMatrixUnit(&reason);
  if (mayUse)
    EXPECT_EQ(reason, "");
  EXPECT_EQ(llvm::StringRef(makeCpuTarget()->describe()).contains("+amx-"), mayUse);
}

TEST(CpuLevels, ProcessorsAreNamedAsLlvmDoes) {
  EXPECT_TRUE(llvm::StringRef(makeCpuTarget("sapphirerapids")->describe()).contains("+amx-bf16"));
  EXPECT_TRUE(llvm::StringRef(makeCpuTarget("graniterapids")->describe()).contains("+amx-fp16"));
  EXPECT_FALSE(llvm::StringRef(makeCpuTarget("x86-64-v4")->describe()).contains("+amx"));
}
