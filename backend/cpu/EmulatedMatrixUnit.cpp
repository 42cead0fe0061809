// The instructions of a matrix unit (AMX) as functions, for tests on machines that have none.
//
// Meaning: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, the pages of
// LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBF16PS, TDPFP16PS and TDPB{SS,SU,US,UU}D. Where
// the processor would raise an exception, the process ends with a message.
#include "backend/cpu/EmulatedMatrixUnit.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
constexpr int kNumTiles = 8, kMostRows = 16, kRowBytes = 64;

struct Tile {
  int rows = 0, rowBytes = 0;
  alignas(64) unsigned char bytes[kMostRows][kRowBytes] = {};

  template <typename Element> Element &at(int row, int column) {
    return reinterpret_cast<Element *>(bytes[row])[column];
  }
};

struct Unit {
  unsigned char configuration[64] = {};
  std::array<Tile, kNumTiles> tiles;
};
thread_local Unit unit;

[[noreturn]] void fault(const char *why) {
  fprintf(stderr, "emulated matrix unit: %s\n", why);
  abort();
}

Tile &tileOf(int8_t number) {
  if (number < 0 || number >= kNumTiles || unit.tiles[number].rows == 0)
    fault("a tile that is not configured");
  return unit.tiles[number];
}

void configure(const void *from) {
  unit = Unit();
  memcpy(unit.configuration, from, sizeof(unit.configuration));
  const unsigned char *bytes = unit.configuration;
  if (bytes[0] > 1)
    fault("an unknown palette");
  for (int number = 0; bytes[0] && number < kNumTiles; ++number) {
    Tile &tile = unit.tiles[number];
    tile.rowBytes = bytes[16 + 2 * number] | bytes[17 + 2 * number] << 8;
    tile.rows = bytes[48 + number];
    if (tile.rows > kMostRows || tile.rowBytes > kRowBytes || !tile.rows != !tile.rowBytes)
      fault("extents that a tile cannot have");
  }
}

void releaseUnit() { unit = Unit(); }

void zero(int8_t number) { memset(tileOf(number).bytes, 0, sizeof(Tile::bytes)); }

void load(int8_t number, const char *from, int64_t stride) {
  Tile &tile = tileOf(number);
  zero(number);
  for (int row = 0; row < tile.rows; ++row)
    memcpy(tile.bytes[row], from + row * stride, tile.rowBytes);
}

void store(int8_t number, char *to, int64_t stride) {
  Tile &tile = tileOf(number);
  for (int row = 0; row < tile.rows; ++row)
    memcpy(to + row * stride, tile.bytes[row], tile.rowBytes);
}

/// The three tiles of a product, whose extents must agree.
struct Operands {
  Tile &sum, &a, &b;
  Operands(int8_t sumNumber, int8_t aNumber, int8_t bNumber)
      : sum(tileOf(sumNumber)), a(tileOf(aNumber)), b(tileOf(bNumber)) {
    if (sumNumber == aNumber || sumNumber == bNumber || aNumber == bNumber)
      fault("a product of a tile with itself");
    if (a.rows != sum.rows || b.rowBytes != sum.rowBytes || a.rowBytes != 4 * b.rows)
      fault("a product of tiles whose extents differ");
  }
};

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

struct Bfloat {
  static float widen(uint16_t bits) { return flushed(std::bit_cast<float>(uint32_t(bits) << 16)); }
};
struct Half { // its subnormal operands are exact
  static float widen(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                                 : std::ldexp(float(exponent ? fraction | 1024 : fraction),
                                              std::max(exponent, 1) - 25);
    return bits & 0x8000 ? -value : value;
  }
};

/// Even and odd neighbours are summed up apart, by fused steps that flush subnormal results, and
/// then together.
template <typename Element> void multiplyFloats(int8_t sumNumber, int8_t aNumber, int8_t bNumber) {
  Operands tiles(sumNumber, aNumber, bNumber);
  for (int row = 0; row < tiles.sum.rows; ++row)
    for (int column = 0; column < tiles.sum.rowBytes / 4; ++column) {
      float sums[2] = {};
      for (int step = 0; step < tiles.b.rows; ++step)
        for (int side = 0; side < 2; ++side) {
          float a = Element::widen(tiles.a.at<uint16_t>(row, 2 * step + side));
          float b = Element::widen(tiles.b.at<uint16_t>(step, 2 * column + side));
          sums[side] = flushed(std::fma(a, b, sums[side]));
        }
      float &sum = tiles.sum.at<float>(row, column);
      sum = flushed(flushed(sum) + flushed(sums[0] + sums[1]));
    }
}

template <typename A, typename B>
void multiplyBytes(int8_t sumNumber, int8_t aNumber, int8_t bNumber) {
  Operands tiles(sumNumber, aNumber, bNumber);
  for (int row = 0; row < tiles.sum.rows; ++row)
    for (int column = 0; column < tiles.sum.rowBytes / 4; ++column)
      for (int i = 0; i < tiles.a.rowBytes; ++i)
        tiles.sum.at<uint32_t>(row, column) +=
            uint32_t(int(tiles.a.at<A>(row, i)) * int(tiles.b.at<B>(i / 4, 4 * column + i % 4)));
}

template <typename Function> void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}
} // namespace

const tw::HostFunction *tw::emulatedMatrixFunctions() {
  static const HostFunction functions[] = {
      {"tw_emulated_ldtilecfg", address(configure)},
      {"tw_emulated_tilerelease", address(releaseUnit)},
      {"tw_emulated_tilezero", address(zero)},
      {"tw_emulated_tileloadd64", address(load)},
      {"tw_emulated_tilestored64", address(store)},
      {"tw_emulated_tdpbf16ps", address(multiplyFloats<Bfloat>)},
      {"tw_emulated_tdpfp16ps", address(multiplyFloats<Half>)},
      {"tw_emulated_tdpbssd", address(multiplyBytes<int8_t, int8_t>)},
      {"tw_emulated_tdpbsud", address(multiplyBytes<int8_t, uint8_t>)},
      {"tw_emulated_tdpbusd", address(multiplyBytes<uint8_t, int8_t>)},
      {"tw_emulated_tdpbuud", address(multiplyBytes<uint8_t, uint8_t>)},
      {nullptr, nullptr}};
  return functions;
}

void tw::callEmulatedMatrixUnit(llvm::Module &module) {
  static constexpr llvm::StringLiteral kIntrinsics = "llvm.x86.";
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = function.getName();
    if (!name.consume_front(kIntrinsics))
      continue;
    for (const HostFunction *known = emulatedMatrixFunctions(); known->name; ++known)
      if (llvm::StringRef(known->name) == ("tw_emulated_" + name).str()) {
        auto callee = module.getOrInsertFunction(known->name, function.getFunctionType());
        function.replaceAllUsesWith(callee.getCallee());
        function.eraseFromParent();
        break;
      }
  }
}

void tw::storeEmulatedConfiguration(void *to) {
  memcpy(to, unit.configuration, sizeof(unit.configuration));
}

void tw::loadEmulatedConfiguration(const void *from) {
  if (memcmp(from, unit.configuration, sizeof(unit.configuration)) != 0)
    configure(from);
}
