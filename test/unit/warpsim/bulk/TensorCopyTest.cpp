// Tensor copies against a plain walk over the tensor, and products whose operands they bring.
#include "test/unit/warpsim/bulk/BulkHarness.h"
#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

static TensorMap matrixMap(const std::vector<uint32_t> &array, uint64_t columns, uint64_t rows,
                           uint32_t boxColumns, uint32_t boxRows, TensorElement element,
                           uint8_t swizzle) {
  TensorMap map;
  map.element = element;
  map.rank = 2;
  map.base = reinterpret_cast<uint64_t>(array.data());
  map.extents = {columns, rows, 1, 1, 1};
  map.strides[0] = columns * bytesOf(element);
  map.box = {boxColumns, boxRows, 1, 1, 1};
  map.swizzleBytes = swizzle;
  return map;
}

TEST(WarpsimTensorMap, TheDriversChecks) {
  std::vector<uint32_t> array(1024);
  TensorMap right = matrixMap(array, 32, 32, 16, 8, TensorElement::F32, 64);
  EXPECT_EQ(validate(right), "");
  EXPECT_TRUE(decode(encode(right).data()));
  auto isRefused = [&](auto change) {
    TensorMap map = right;
    change(map);
    return !validate(map).empty();
  };
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.rank = 6; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.base += 8; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.extents[1] = 0; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.strides[0] = 24; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.box[1] = 257; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.box[0] = 3; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.box[0] = 32; }));
  EXPECT_TRUE(isRefused([](TensorMap &map) { map.elementStrides[1] = 9; }));
  std::array<uint8_t, 128> foreign = {};
  EXPECT_FALSE(decode(foreign.data()));
}

/// Loads a box, and has every thread write its words of it to the second array.
static std::string loadBox(const TensorMap &map, const std::vector<int> &start,
                           const std::string &to = "1024") {
  std::string coordinates;
  for (int each : start)
    coordinates += (coordinates.empty() ? "" : ", ") + std::to_string(each);
  std::string bytes = std::to_string(map.boxBytes());
  return "setp.eq.u32 %p0, %t, 0;\n@%p0 mbarrier.init.shared::cta.b64 [%s], 1;\n"
         "@%p0 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
         "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], " +
         bytes + ";\n@%p0 cp.async.bulk.tensor." + std::to_string(map.rank) +
         "d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%s+" + to + "], [%m0, {" +
         coordinates +
         "}], [%s];\nwait:\n"
         "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%s], 0;\n@!%p1 bra wait;\n";
}

static const std::string kWriteOut = R"(
shl.b32 %r1, %t, 2; add.u32 %r2, %s, %r1; cvt.u64.u32 %x1, %r1; add.u64 %x1, %g1, %x1;
mov.b32 %r4, 0;
out:
ld.shared.u32 %r3, [%r2+1024]; st.global.u32 [%x1], %r3;
add.u32 %r2, %r2, 128; add.u64 %x1, %x1, 128; add.u32 %r4, %r4, 128;
setp.lt.u32 %p2, %r4, )";

namespace {
struct RandomBox {
  TensorMap map;
  std::vector<int> start;
  std::vector<uint32_t> tensor;
};
} // namespace

static RandomBox randomBox(std::mt19937 &random) {
  RandomBox box;
  TensorMap &map = box.map;
  auto below = [&](uint32_t end) { return uint32_t(random() % end); };
  map.element = TensorElement(below(unsigned(TensorElement::TF32Ftz) + 1));
  uint32_t bytes = bytesOf(map.element);
  map.rank = uint8_t(1 + below(5));
  map.swizzleBytes = std::array<uint8_t, 4>{0, 32, 64, 128}[below(4)];
  map.fillsWithNan =
      (map.element == TensorElement::F32 || map.element == TensorElement::F16) && below(2);
  uint64_t stride = bytes;
  for (unsigned i = 0; i < map.rank; ++i) {
    map.extents[i] = 1 + below(i ? 6 : 40);
    map.box[i] =
        i ? 1 + below(4) : 16 / bytes * (1 + below(map.swizzleBytes ? map.swizzleBytes / 16 : 8));
    map.elementStrides[i] = i ? 1 + below(3) : 1;
    stride = (stride * map.extents[i] + 15) / 16 * 16;
    if (i < 4)
      map.strides[i] = stride;
    box.start.push_back(int(below(12)) - 5);
  }
  box.tensor.resize(stride / 4);
  for (uint32_t &word : box.tensor)
    word = uint32_t(random());
  return box;
}

/// Where an element of the box is in shared memory and in the tensor, in bytes, by a walk over all.
template <typename Visit> static void walk(const RandomBox &box, uint32_t offset, Visit visit) {
  const TensorMap &map = box.map;
  uint32_t bytes = bytesOf(map.element), total = map.boxBytes() / bytes;
  for (uint32_t number = 0; number < total; ++number) {
    uint64_t at = 0, rest = number;
    bool isInside = true;
    for (unsigned i = 0; i < map.rank; ++i) {
      int64_t x = box.start[i] + int64_t(rest % map.countOf(i)) * (i ? map.elementStrides[i] : 1);
      rest /= map.countOf(i);
      isInside &= x >= 0 && x < int64_t(map.extents[i]);
      at += uint64_t(x) * map.strideOf(i);
    }
    uint32_t address = 1024 + offset + number * bytes, parts = map.swizzleBytes / 16;
    if (parts)
      address ^= (address / 128 % parts) * 16;
    visit(address - 1024 - offset, isInside, isInside ? at : 0);
  }
}

TEST(WarpsimTensorCopy, RandomBoxesAreClippedFilledAndSwizzled) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    RandomBox box = randomBox(random);
    box.map.base = reinterpret_cast<uint64_t>(box.tensor.data());
    uint32_t bytes = box.map.boxBytes();
    std::vector<uint32_t> result(bytes / 4 + 32);
    BulkLaunch launch;
    launch.maps = {box.map};
    launch.arrays = {&box.tensor, &result};
    launch.sharedBytes = 1024 + bytes + 128;
    launch.options.completion = Completion(seed % 3);
    launch.options.completionSeed = seed;
    std::string body =
        loadBox(box.map, box.start) + kWriteOut + std::to_string(bytes) + ";\n@%p2 bra out;\n";
    launch.options.checksInitialized = bytes % 128 == 0; // the last words are beside the box
    EXPECT_EQ(kindsIn(launch.run(body)), "");
    walk(box, 1024, [&](uint32_t place, bool isInside, uint64_t at) {
      uint64_t value = 0, expected = 0;
      uint32_t size = bytesOf(box.map.element);
      memcpy(&value, reinterpret_cast<const char *>(result.data()) + place, size);
      if (isInside)
        memcpy(&expected, reinterpret_cast<const char *>(box.tensor.data()) + at, size);
      else if (box.map.fillsWithNan)
        expected = size == 2 ? 0x7fff : 0x7fffffff;
      EXPECT_EQ(value, expected) << place;
    });
  }
}

TEST(WarpsimTensorCopy, MapsAndDestinationsAreChecked) {
  std::vector<uint32_t> tensor(1024), result(256);
  BulkLaunch launch;
  launch.maps = {matrixMap(tensor, 32, 32, 16, 8, TensorElement::F32, 64)};
  launch.arrays = {&tensor, &result};
  std::string end = kWriteOut + "512;\n@%p2 bra out;\n";
  EXPECT_EQ(kindsIn(launch.run(loadBox(launch.maps[0], {0, 0}) + end)), "");
  // Half an atom of the swizzle; a dimension too many; no map.
  std::string wrong = kindsIn(launch.run(loadBox(launch.maps[0], {0, 0}, "1152")));
  EXPECT_NE(wrong.find("misaligned"), std::string::npos) << wrong;
  TensorMap other = launch.maps[0];
  other.rank = 3;
  wrong = kindsIn(launch.run(loadBox(other, {0, 0, 0})));
  EXPECT_NE(wrong.find("tensor-map-misuse"), std::string::npos) << wrong;
  wrong = kindsIn(launch.run("mov.u64 %m0, %g0;\n" + loadBox(launch.maps[0], {0, 0})));
  EXPECT_NE(wrong.find("tensor-map-misuse"), std::string::npos) << wrong;
}

TEST(WarpsimTensorCopy, MapsMayLieInGlobalMemory) {
  std::vector<uint32_t> tensor = iota(1024), result(128), memory(48);
  BulkLaunch launch;
  launch.maps = {matrixMap(tensor, 32, 32, 16, 8, TensorElement::U32, 0)};
  launch.arrays = {&tensor, &result, &memory};
  uint64_t before = -reinterpret_cast<uint64_t>(memory.data()) % 64;
  std::array<uint8_t, 128> bytes = encode(launch.maps[0]);
  memcpy(reinterpret_cast<char *>(memory.data()) + before, bytes.data(), bytes.size());
  auto body = [&](uint64_t from) {
    return "add.u64 %m0, %g2, " + std::to_string(from) + ";\n" + loadBox(launch.maps[0], {16, 8}) +
           kWriteOut + "512;\n@%p2 bra out;\n";
  };
  EXPECT_EQ(kindsOf(launch, body(before)), "");
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(result[i], (8 + i / 16) * 32 + 16 + i % 16);
  std::string wrong = kindsIn(launch.run(body(before + 16)));
  EXPECT_NE(wrong.find("tensor-map-misuse"), std::string::npos) << wrong;
}

// Threads write 1, 2, ... to a box of 16 x 8 words in rows of 64 bytes, and one stores it.
TEST(WarpsimTensorCopy, StoresDropWhatIsOutside) {
  std::vector<uint32_t> tensor(20 * 10, 9);
  BulkLaunch launch;
  launch.maps = {matrixMap(tensor, 20, 10, 16, 8, TensorElement::U32, 0)};
  launch.arrays = {&tensor};
  launch.numThreads = 128;
  for (std::string kind : {"", "add"}) {
    std::fill(tensor.begin(), tensor.end(), 9);
    std::string opcode = kind.empty()
                             ? "cp.async.bulk.tensor.2d.global.shared::cta.tile"
                             : "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile";
    std::string body = "shl.b32 %r1, %t, 2; add.u32 %r1, %r1, %s; add.u32 %r2, %t, 1;\n"
                       "st.shared.u32 [%r1], %r2;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
                       "setp.eq.u32 %p0, %t, 0;\n@%p0 " +
                       opcode +
                       ".bulk_group [%m0, {12, -3}], [%s];\n"
                       "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\n";
    EXPECT_EQ(kindsOf(launch, body), "");
    for (int y = 0; y < 10 && kind.empty(); ++y)
      for (int x = 0; x < 20; ++x) {
        bool isInBox = x >= 12 && y < 5;
        EXPECT_EQ(tensor[y * 20 + x], isInBox ? uint32_t((y + 3) * 16 + x - 12 + 1) : 9u);
      }
    if (!kind.empty()) { // kindsOf has run it six times
      EXPECT_EQ(tensor[12], 9 + 6 * 49u);
      EXPECT_EQ(tensor[11], 9u);
    }
  }
}
