// Copies of rows of arrays by descriptors: their fields, what lies outside, waits, and what is
// reported.
#include "backend/warpsim/core/access/TensorRows.h"
#include "test/unit/llvmir/IrHarness.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;

namespace {
/// The numbers of a descriptor, of words.
struct Numbers {
  unsigned count = 1, type = 2, offset = 0;
  unsigned width = 16, height = 4, columns = 8, rows = 4, pitch = 16;
  unsigned form = 2u << 16; // elements of 4 bytes
  unsigned third = 0;       // columns of a third dimension
};
} // namespace

static std::string vectorOf(const std::vector<std::string> &words, const std::string &name) {
  std::string type = "<" + std::to_string(words.size()) + " x i32>", text, before = "poison";
  for (size_t i = 0; i < words.size(); ++i) {
    std::string to = name + (i + 1 < words.size() ? "." + std::to_string(i) : "");
    text += "  " + to + " = insertelement " + type + " " + before + ", i32 " + words[i] + ", i32 " +
            std::to_string(i) + "\n";
    before = to;
  }
  return text;
}

/// A copy of the first array to shared memory.
static std::string copyOf(const Numbers &of, const std::string &name = "%d") {
  auto number = [](unsigned value) { return std::to_string(int32_t(value)); };
  std::string place = name + "p", form = name + "f";
  return "  " + name + "a = ptrtoint ptr addrspace(1) %p0 to i64\n  " + name + "lo = trunc i64 " +
         name + "a to i32\n  " + name + "up = lshr i64 " + name + "a, 32\n  " + name +
         "hi = trunc i64 " + name + "up to i32\n  " + name + "ty = or i32 " + name + "hi, " +
         number(of.type << 30) + "\n  " + name + "to = ptrtoint ptr addrspace(3) @lds to i32\n  " +
         name + "at = add i32 " + name + "to, " + number(of.offset) + "\n" +
         vectorOf({number(of.count), name + "at", name + "lo", name + "ty"}, place) +
         vectorOf({number(of.form), number(of.width << 16),
                   number(of.width >> 16 | of.height << 16),
                   number(of.height >> 16 | of.columns << 16), number(of.rows | of.third << 16),
                   number(of.pitch), "0", "0"},
                  form) +
         "  call void @llvm.amdgcn.tensor.load.to.lds.d2(<4 x i32> " + place + ", <8 x i32> " +
         form + ", i32 0)\n";
}

/// A wait for all but `left` copies, and each lane's word of shared memory behind `offset` bytes
/// in the second array.
static std::string readBehind(unsigned left, unsigned offset = 0) {
  return "  call void @llvm.amdgcn.s.wait.tensorcnt(i16 " + std::to_string(left) +
         ")\n  fence syncscope(\"wavefront\") release\n  call void @llvm.amdgcn.wave.barrier()\n"
         "  fence syncscope(\"wavefront\") acquire\n"
         "  %mine = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
         "  %from = getelementptr i8, ptr addrspace(3) %mine, i32 " +
         std::to_string(offset) +
         "\n  %v = load i32, ptr addrspace(3) %from, align 4\n"
         "  store i32 %v, ptr addrspace(1) %at1, align 4\n";
}

static const std::string kEnd = "  call void @llvm.amdgcn.s.wait.tensorcnt(i16 0)\n  ret void\n";

namespace {
struct Outcome {
  std::string kinds;
  std::vector<uint32_t> out;
};
} // namespace

static Outcome run(const std::string &body,
                   LaunchOptions::Completion completion = LaunchOptions::Completion::Late) {
  IrSimulation simulation("gfx1250", 32);
  simulation.launch.options.completion = completion;
  simulation.array(iota(64));
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(32, 99));
  std::string kinds = kindsIn(simulation.run(body));
  return {kinds, out};
}

TEST(TensorCopy, RowsFollowEachOther) {
  for (auto completion : {LaunchOptions::Completion::Late, LaunchOptions::Completion::Early,
                          LaunchOptions::Completion::Random}) {
    Outcome result = run(copyOf({}) + readBehind(0) + kEnd, completion);
    EXPECT_EQ(result.kinds, "");
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(result.out[i], i / 8 * 16 + i % 8) << i;
  }
}

TEST(TensorCopy, IsZeroBeyondTheArray) {
  Outcome result = run(copyOf({.width = 5, .height = 3}) + readBehind(0) + kEnd);
  EXPECT_EQ(result.kinds, "");
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(result.out[i], i / 8 < 3 && i % 8 < 5 ? i / 8 * 16 + i % 8 : 0) << i;
}

/// 4 words of padding behind every 8.
TEST(TensorCopy, PadsRows) {
  Numbers padded{.form = 2u << 16 | 1u << 20 | 2u << 22 | 3u << 25};
  Outcome result = run("  %all = getelementptr i32, ptr addrspace(3) @lds, i32 %tid\n"
                       "  store i32 77, ptr addrspace(3) %all, align 4\n"
                       "  %more = getelementptr i8, ptr addrspace(3) %all, i32 128\n"
                       "  store i32 77, ptr addrspace(3) %more, align 4\n"
                       "  fence syncscope(\"wavefront\") release\n"
                       "  call void @llvm.amdgcn.wave.barrier()\n"
                       "  fence syncscope(\"wavefront\") acquire\n" +
                       copyOf(padded) + readBehind(0, 16) + kEnd);
  EXPECT_EQ(result.kinds, "");
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t word = i + 4;
    EXPECT_EQ(result.out[i], word % 12 < 8 ? word / 12 * 16 + word % 12 : 77) << i;
  }
}

/// A copy without a tile is counted, and writes nothing.
TEST(TensorCopy, WaitsCountAllCopies) {
  Numbers none{.count = 0, .offset = 1024}, other{.offset = 1024};
  for (unsigned left : {0u, 1u, 2u}) {
    Outcome result =
        run(copyOf({}) + copyOf(other, "%e") + copyOf(none, "%f") + readBehind(left) + kEnd);
    EXPECT_EQ(result.kinds, "") << left;
  }
  EXPECT_NE(run(copyOf({}) + copyOf(other, "%e") + readBehind(2) + kEnd).kinds.find("async-race"),
            std::string::npos);
  // The counter of other copies is another one.
  std::string otherCounter = readBehind(0);
  otherCounter.replace(otherCounter.find("tensorcnt"), 9, "asynccnt");
  EXPECT_NE(run(copyOf({}) + otherCounter + kEnd).kinds.find("async-race"), std::string::npos);
  EXPECT_EQ(run(copyOf({}) + "  ret void\n").kinds, "async-leak");
}

TEST(TensorCopy, StaysInItsArrayAndInSharedMemory) {
  EXPECT_EQ(run(copyOf({.height = 5, .rows = 5}) + readBehind(0) + kEnd).kinds,
            "out-of-bounds-global");
  EXPECT_EQ(run(copyOf({.offset = 4096 - 64}) + kEnd).kinds, "out-of-bounds-shared");
}

TEST(TensorCopy, DescriptorsThatContradictThemselves) {
  const Numbers wrong[] = {{.type = 1},
                           {.columns = 0},
                           {.rows = 0},
                           {.third = 1},
                           {.form = 2u << 16 | 2u << 22},
                           {.form = 2u << 16 | 1u << 18},
                           {.offset = 2}};
  for (const Numbers &each : wrong)
    EXPECT_EQ(run(copyOf(each) + kEnd).kinds, "tensor-map-misuse");
  // Another descriptor in each lane.
  std::string differs = copyOf({});
  size_t at = differs.find("i32 16, i32 5"); // the pitch
  ASSERT_NE(at, std::string::npos);
  differs.replace(at, 6, "i32 %tid");
  EXPECT_EQ(run(differs + kEnd).kinds, "tensor-map-misuse");
}

TEST(TensorCopy, ReadsTheFieldsOfADescriptor) {
  TensorWords words = {1,
                       0x120,
                       0x89abcdf0,
                       2u << 30 | 0x1234567,
                       1u << 16 | 1u << 20 | 3u << 22 | 7u << 25,
                       0x5678u << 16,
                       0x1234u | 0x3210u << 16,
                       0x7654u | 64u << 16,
                       32,
                       0xfedcba98,
                       0x7654,
                       0};
  std::string mistake;
  std::optional<TensorRows> rows = decodeTensor(words, mistake);
  ASSERT_TRUE(rows) << mistake;
  EXPECT_EQ(rows->shared, 0x120u);
  EXPECT_EQ(rows->address, 0x123456789abcdf0u);
  EXPECT_EQ(rows->elementBytes, 2u);
  EXPECT_EQ(rows->interval, 64u);
  EXPECT_EQ(rows->pad, 32u);
  EXPECT_EQ(rows->width, 0x12345678u);
  EXPECT_EQ(rows->height, 0x76543210u);
  EXPECT_EQ(rows->columns, 64u);
  EXPECT_EQ(rows->rows, 32u);
  EXPECT_EQ(rows->pitch, 0x7654fedcba98u);
  EXPECT_EQ(rows->placeOf(130), 130u + 2 * 32);
}
