// Loads of blocks of an array by a subgroup of 16, against where SPV_INTEL_2d_block_io puts each
// element of a block; and what is found in loads that the extension does not allow.
#include "test/unit/llvmir/IrHarness.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tw::warpsim;

namespace {
constexpr int kLanes = 16;
enum class Form { Plain, Transformed, Transposed };

/// One load, of an array whose bytes all differ from their neighbours.
struct Load {
  Form form;
  int elementBytes, width, height, count;
  int x = 0, y = 0;
  int rowBytes = 128, rows = 64, pitch = 144;

  int words() const { return elementBytes * width * height * count / kLanes / 4; }
};
} // namespace

static constexpr const char *kNames[] = {
    "_Z32__spirv_Subgroup2DBlockLoadINTELiiiiPU3AS1KviiiDv2_iPv",
    "_Z41__spirv_Subgroup2DBlockLoadTransformINTELiiiiPU3AS1KviiiDv2_iPv",
    "_Z41__spirv_Subgroup2DBlockLoadTransposeINTELiiiiPU3AS1KviiiDv2_iPv"};

static std::string number(int64_t value) { return std::to_string(value); }

/// Loads from the first multiple of 64 bytes of %p0, plus `shift`, and stores each lane's words to
/// %p1.
static std::string bodyOf(const Load &load, int shift = 0, const std::string &x = "") {
  std::string name = kNames[int(load.form)];
  std::string types = "i32, i32, i32, i32, ptr addrspace(1), i32, i32, i32, <2 x i32>, ptr "
                      "addrspace(5)";
  std::string column = x.empty() ? number(load.x) : x;
  std::string body = "  %words = alloca [" + number(load.words()) +
                     " x i32], align 64, addrspace(5)\n"
                     "  %start = ptrtoint ptr addrspace(1) %p0 to i64\n"
                     "  %over = add i64 %start, 63\n  %line = and i64 %over, -64\n"
                     "  %shifted = add i64 %line, " +
                     number(shift) +
                     "\n"
                     "  %base = inttoptr i64 %shifted to ptr addrspace(1)\n"
                     "  %at = insertelement <2 x i32> poison, i32 " +
                     column +
                     ", i32 0\n"
                     "  %place = insertelement <2 x i32> %at, i32 " +
                     number(load.y) +
                     ", i32 1\n"
                     "  call void @" +
                     name + "(i32 " + number(load.elementBytes) + ", i32 " + number(load.width) +
                     ", i32 " + number(load.height) + ", i32 " + number(load.count) +
                     ", ptr addrspace(1) %base, i32 " + number(load.rowBytes) + ", i32 " +
                     number(load.rows) + ", i32 " + number(load.pitch) +
                     ", <2 x i32> %place, ptr addrspace(5) %words)\n"
                     "  %first = mul i32 %tid, " +
                     number(load.words()) + "\n";
  for (int word = 0; word < load.words(); ++word) {
    std::string own = number(word);
    body += "  %from" + own + " = getelementptr i32, ptr addrspace(5) %words, i32 " + own +
            "\n  %v" + own + " = load i32, ptr addrspace(5) %from" + own + ", align 4\n  %i" + own +
            " = add i32 %first, " + own + "\n  %to" + own +
            " = getelementptr i32, ptr addrspace(1) %p1, i32 %i" + own + "\n  store i32 %v" + own +
            ", ptr addrspace(1) %to" + own + ", align 4\n";
  }
  return body + "  ret void\n}\ndeclare void @" + name + "(" + types +
         ")\ndefine void @rest() {\n  ret void\n";
}

/// The bytes of the array from its first multiple of 64 on.
static std::vector<uint32_t> arrayOf(const Load &load) {
  std::vector<uint32_t> words(size_t(load.pitch * load.rows / 4) + 16);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = uint32_t(i * 2654435761u + 12345);
  return words;
}

/// The lane and the place among its elements of the element of a block.
static std::pair<int, int> placeOf(const Load &load, int block, int row, int column) {
  int ofBlock = load.width * load.height / kLanes;
  if (load.form == Form::Transformed)
    return {column, block * ofBlock + row};
  if (load.form == Form::Transposed)
    return {row, column};
  int group = std::max(1, load.width / kLanes), element = row * load.width + column;
  return {element / group % kLanes,
          block * ofBlock + element / (kLanes * group) * group + element % group};
}

static std::vector<uint32_t> expectedOf(const Load &load, const uint8_t *array) {
  std::vector<uint32_t> out(size_t(kLanes * load.words()));
  for (int block = 0; block < load.count; ++block)
    for (int row = 0; row < load.height; ++row)
      for (int column = 0; column < load.width; ++column) {
        auto [lane, place] = placeOf(load, block, row, column);
        int x = load.x + block * load.width + column, y = load.y + row;
        bool isInside = x >= 0 && y >= 0 && x * load.elementBytes < load.rowBytes && y < load.rows;
        if (isInside)
          memcpy(reinterpret_cast<uint8_t *>(out.data()) + lane * load.words() * 4 +
                     place * load.elementBytes,
                 array + y * load.pitch + x * load.elementBytes, size_t(load.elementBytes));
      }
  return out;
}

static std::string findingsOf(const Load &load, int shift = 0, const std::string &x = "") {
  IrSimulation simulation("xe2", kLanes);
  simulation.array(arrayOf(load));
  simulation.array(std::vector<uint32_t>(size_t(kLanes * load.words())));
  return kindsIn(simulation.run(bodyOf(load, shift, x)));
}

TEST(BlockLoads, LanesHaveTheElementsThatTheExtensionSays) {
  std::vector<Load> loads;
  for (int height : {2, 8, 16, 32})
    for (int count : {1, 2})
      for (auto [bytes, width] : {std::pair(1, 32), std::pair(2, 16), std::pair(4, 8)})
        loads.push_back({Form::Plain, bytes, width, height, count});
  loads.push_back({Form::Plain, 2, 32, 8, 1});
  for (int height : {8, 16, 32})
    loads.push_back({Form::Plain, 4, 16, height, 1});
  for (int count : {1, 2}) {
    loads.push_back({Form::Transformed, 2, 16, 32, count});
    loads.push_back({Form::Transformed, 1, 16, 32, 2 * count});
  }
  loads.push_back({Form::Transposed, 4, 8, 16, 1});
  for (Load load : loads)
    for (auto [x, y] : {std::pair(0, 0), std::pair(8, 50), std::pair(28, 3), std::pair(-4, -5)}) {
      load.x = x, load.y = y;
      IrSimulation simulation("xe2", kLanes);
      std::vector<uint32_t> &array = simulation.array(arrayOf(load));
      auto *bytes = reinterpret_cast<const uint8_t *>(array.data());
      bytes += -reinterpret_cast<uintptr_t>(bytes) % 64;
      std::vector<uint32_t> &out =
          simulation.array(std::vector<uint32_t>(size_t(kLanes * load.words())));
      EXPECT_EQ(kindsIn(simulation.run(bodyOf(load))), "");
      EXPECT_EQ(out, expectedOf(load, bytes))
          << int(load.form) << " " << load.elementBytes << " x " << load.width << " x "
          << load.height << " x " << load.count << " at " << x << ", " << y;
    }
}

TEST(BlockLoads, ArraysThatTheExtensionDoesNotAllowAreFound) {
  const Load load{Form::Plain, 2, 16, 8, 1};
  EXPECT_EQ(findingsOf(load), "");
  EXPECT_EQ(findingsOf(load, /*shift=*/16), "tensor-map-misuse");
  auto changed = [&](auto member, int value) {
    Load other = load;
    other.*member = value;
    return findingsOf(other);
  };
  EXPECT_EQ(changed(&Load::rowBytes, 60), "tensor-map-misuse");
  EXPECT_EQ(changed(&Load::rowBytes, 66), "tensor-map-misuse");
  EXPECT_EQ(changed(&Load::rowBytes, 160), "tensor-map-misuse"); // more than the pitch
  EXPECT_EQ(changed(&Load::pitch, 136), "tensor-map-misuse");
  EXPECT_EQ(changed(&Load::rows, 0), "tensor-map-misuse");
  EXPECT_EQ(changed(&Load::x, 3), "tensor-map-misuse");
  EXPECT_EQ(findingsOf(load, 0, "%tid"), "tensor-map-misuse"); // differs from lane to lane
}

TEST(BlockLoads, BlocksThatNoMachineHasAreRefused) {
  for (const Load &load : {Load{Form::Plain, 2, 16, 3, 1}, Load{Form::Plain, 2, 64, 8, 1},
                           Load{Form::Plain, 2, 16, 8, 4}, Load{Form::Transformed, 4, 16, 8, 1},
                           Load{Form::Transposed, 2, 8, 16, 1}})
    EXPECT_NE(refusalOf(bodyOf(load), "xe2"), "");
  EXPECT_EQ(refusalOf(bodyOf({Form::Plain, 2, 16, 8, 1}), "xe2"), "");
  EXPECT_NE(refusalOf(bodyOf({Form::Plain, 2, 16, 8, 1}), "xe-hpg"), "");
  EXPECT_NE(refusalOf(bodyOf({Form::Plain, 2, 16, 8, 1}), "generic16"), "");
}
