// Integers of 128 bits, saturating conversions and folds of vectors, by formulas of their own.
#include "test/unit/llvmir/IrHarness.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tw::warpsim;
using Whole = unsigned __int128;

/// Runs `code` with %x and %y as i64 of random words; gives i64 %low and %high.
static void checkWide(const std::string &code, Whole (*formula)(uint64_t, uint64_t)) {
  IrSimulation simulation;
  std::vector<uint32_t> *words[4];
  std::mt19937 random(7);
  for (auto &each : words) {
    each = &simulation.array({});
    for (unsigned lane = 0; lane < 64; ++lane) // some have all bits or none
      each->push_back(random() % 4 ? uint32_t(random()) : random() % 2 ? ~0u : 0);
  }
  std::vector<uint32_t> *out[4];
  for (auto &each : out)
    each = &simulation.array(std::vector<uint32_t>(64, 7));
  std::string body;
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    body += "  %w" + n + " = load i32, ptr addrspace(1) %at" + n + "\n  %v" + n + " = zext i32 %w" +
            n + " to i64\n";
  }
  body += "  %u = shl i64 %v1, 32\n  %x = or i64 %u, %v0\n"
          "  %t = shl i64 %v3, 32\n  %y = or i64 %t, %v2\n" +
          code +
          "  %s0 = trunc i128 %r to i32\n  %m1 = lshr i128 %r, 32\n  %s1 = trunc i128 %m1 to i32\n"
          "  %m2 = lshr i128 %r, 64\n  %s2 = trunc i128 %m2 to i32\n"
          "  %m3 = lshr i128 %r, 96\n  %s3 = trunc i128 %m3 to i32\n";
  for (int i = 0; i < 4; ++i)
    body += "  store i32 %s" + std::to_string(i) + ", ptr addrspace(1) %at" +
            std::to_string(i + 4) + "\n";
  EXPECT_EQ(kindsIn(simulation.run(body + "  ret void\n")), "") << code;
  for (unsigned lane = 0; lane < 64; ++lane) {
    uint64_t x = uint64_t((*words[1])[lane]) << 32 | (*words[0])[lane];
    uint64_t y = uint64_t((*words[3])[lane]) << 32 | (*words[2])[lane];
    Whole expected = formula(x, y), found = 0;
    for (int i = 3; i >= 0; --i)
      found = found << 32 | (*out[i])[lane];
    EXPECT_TRUE(found == expected) << code << " of " << x << " and " << y;
  }
}

const char *const kUnsigned = "  %a = zext i64 %x to i128\n  %b = zext i64 %y to i128\n";
const char *const kSigned = "  %a = sext i64 %x to i128\n  %b = sext i64 %y to i128\n";
static Whole extended(uint64_t x) { return Whole(__int128(int64_t(x))); }

TEST(Integers, Of128Bits) {
  checkWide(std::string(kUnsigned) + "  %r = mul i128 %a, %b\n",
            [](uint64_t x, uint64_t y) { return Whole(x) * y; });
  checkWide(std::string(kSigned) + "  %r = mul i128 %a, %b\n",
            [](uint64_t x, uint64_t y) { return extended(x) * extended(y); });
  checkWide(std::string(kUnsigned) + "  %c = mul i128 %a, %b\n  %r = add i128 %c, %a\n",
            [](uint64_t x, uint64_t y) { return Whole(x) * y + x; });
  checkWide(std::string(kSigned) + "  %r = sub i128 %a, %b\n",
            [](uint64_t x, uint64_t y) { return extended(x) - extended(y); });
  checkWide(std::string(kUnsigned) + "  %n = and i128 %b, 127\n  %r = shl i128 %a, %n\n",
            [](uint64_t x, uint64_t y) { return Whole(x) << (y & 127); });
  checkWide(std::string(kSigned) + "  %n = and i128 %b, 127\n  %r = ashr i128 %a, %n\n",
            [](uint64_t x, uint64_t y) { return Whole(__int128(extended(x)) >> (y & 127)); });
  checkWide(std::string(kSigned) + "  %n = and i128 %b, 127\n  %r = lshr i128 %a, %n\n",
            [](uint64_t x, uint64_t y) { return extended(x) >> (y & 127); });
  checkWide(std::string(kSigned) +
                "  %c = icmp slt i128 %a, %b\n  %r = select i1 %c, i128 %a, i128 %b\n",
            [](uint64_t x, uint64_t y) { return extended(int64_t(x) < int64_t(y) ? x : y); });
  checkWide(std::string(kUnsigned) +
                "  %p = mul i128 %a, %b\n  %q = shl i128 %b, 64\n  %c = icmp ugt i128 %p, %q\n"
                "  %r = select i1 %c, i128 %p, i128 340282366920938463463374607431768211455\n",
            [](uint64_t x, uint64_t y) {
              return Whole(x) * y > Whole(y) << 64 ? Whole(x) * y : ~Whole(0);
            });
  checkWide(std::string(kUnsigned) + "  %c = icmp eq i128 %a, %b\n  %r = zext i1 %c to i128\n",
            [](uint64_t x, uint64_t y) { return Whole(x == y); });
}

static void checkCast(const char *name, unsigned bits, double least, double most) {
  IrSimulation simulation;
  std::vector<uint32_t> &in = simulation.array({});
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64, 7));
  for (int lane = 0; lane < 64; ++lane)
    in.push_back(std::bit_cast<uint32_t>(lane == 9 ? NAN
                                         : lane == 10
                                             ? INFINITY
                                             : float((lane - 30) * std::pow(2.2, lane % 20))));
  std::string type = "i" + std::to_string(bits);
  std::string asWord = bits == 64   ? "  %h = lshr i64 %n, 32\n  %r = trunc i64 %h to i32\n"
                       : bits == 32 ? "  %r = add i32 %n, 0\n"
                                    : "  %r = zext " + type + " %n to i32\n";
  std::string body = "  %f = load float, ptr addrspace(1) %at0\n  %n = call " + type + " @llvm." +
                     name + ".sat." + type + ".f32(float %f)\n" + asWord +
                     "  store i32 %r, ptr addrspace(1) %at1\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "");
  for (size_t lane = 0; lane < 64; ++lane) {
    double x = std::bit_cast<float>(in[lane]);
    double value = x != x ? 0 : std::trunc(std::fmin(std::fmax(x, least), most));
    uint64_t whole = value < 0        ? uint64_t(int64_t(value))
                     : value < 0x1p64 ? uint64_t(value)
                                      : ~0ull;
    if (value >= 0x1p63 && least < 0)
      whole = ~0ull >> 1;
    uint32_t expected = bits == 64 ? uint32_t(whole >> 32) : uint32_t(whole & ((1ull << bits) - 1));
    EXPECT_EQ(out[lane], expected) << name << " to " << type << " of " << x;
  }
}

TEST(Integers, ConversionsSaturate) {
  checkCast("fptosi", 8, -128, 127);
  checkCast("fptoui", 8, 0, 255);
  checkCast("fptosi", 16, -32768, 32767);
  checkCast("fptoui", 16, 0, 65535);
  checkCast("fptosi", 32, -0x1p31, 0x1p31 - 1);
  checkCast("fptoui", 32, 0, 0x1p32 - 1);
  checkCast("fptosi", 64, -0x1p63, 0x1p63);
  checkCast("fptoui", 64, 0, 0x1p64);
}

static void checkOrder(bool isSigned, unsigned bits, unsigned resultBits) {
  IrSimulation simulation;
  std::vector<uint32_t> &in = simulation.array({});
  std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64, 7));
  for (uint32_t lane = 0; lane < 64; ++lane)
    in.push_back(lane % 3 ? lane * 0x9e3779b9 : 0x80808080);
  std::string from = "i" + std::to_string(bits), to = "i" + std::to_string(resultBits);
  std::string narrow = bits == 64   ? "  %w = zext i32 %x to i64\n  %n = shl i64 %w, 32\n"
                       : bits == 32 ? "  %n = add i32 %x, 0\n"
                                    : "  %n = trunc i32 %x to " + from + "\n";
  std::string asWord = resultBits == 64   ? "  %r = trunc i64 %o to i32\n"
                       : resultBits == 32 ? "  %r = add i32 %o, 0\n"
                                          : "  %r = sext " + to + " %o to i32\n";
  uint64_t least = uint64_t(1) << (bits - 1); // as a signed number; else half of the largest
  std::string body = "  %x = load i32, ptr addrspace(1) %at0\n" + narrow + "  %o = call " + to +
                     " @llvm." + (isSigned ? "scmp." : "ucmp.") + to + "." + from + "(" + from +
                     " %n, " + from + " " + std::to_string(int64_t(isSigned ? 0 : least)) + ")\n" +
                     asWord + "  store i32 %r, ptr addrspace(1) %at1\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "");
  for (size_t lane = 0; lane < 64; ++lane) {
    uint64_t n = bits == 64 ? uint64_t(in[lane]) << 32 : in[lane] & ((uint64_t(1) << bits) - 1);
    int expected = isSigned ? (n >= least ? -1 : n > 0) : (n < least ? -1 : n > least);
    EXPECT_EQ(int32_t(out[lane]), expected) << from << " of lane " << lane;
  }
}

TEST(Integers, ThreeWayComparisons) {
  for (bool isSigned : {false, true}) {
    checkOrder(isSigned, 8, 8);
    checkOrder(isSigned, 32, 8);
    checkOrder(isSigned, 64, 32);
    checkOrder(isSigned, 32, 64);
  }
}

TEST(Integers, FoldsOfVectors) {
  struct Fold {
    const char *name;
    uint32_t (*formula)(uint32_t, uint32_t);
  };
  const Fold folds[] = {
      {"add", [](uint32_t a, uint32_t b) { return a + b; }},
      {"mul", [](uint32_t a, uint32_t b) { return a * b; }},
      {"xor", [](uint32_t a, uint32_t b) { return a ^ b; }},
      {"smin", [](uint32_t a, uint32_t b) { return int32_t(a) < int32_t(b) ? a : b; }},
      {"umax", [](uint32_t a, uint32_t b) { return a > b ? a : b; }},
  };
  for (const Fold &fold : folds) {
    IrSimulation simulation;
    std::vector<uint32_t> &in = simulation.array({});
    std::vector<uint32_t> &out = simulation.array(std::vector<uint32_t>(64, 7));
    for (uint32_t lane = 0; lane < 64; ++lane)
      in.push_back(lane * 0x9e3779b9);
    std::string body = "  %x = load i32, ptr addrspace(1) %at0\n"
                       "  %v0 = insertelement <3 x i32> poison, i32 %x, i32 0\n"
                       "  %v1 = insertelement <3 x i32> %v0, i32 1000000, i32 1\n"
                       "  %v = insertelement <3 x i32> %v1, i32 -77, i32 2\n"
                       "  %r = call i32 @llvm.vector.reduce." +
                       std::string(fold.name) +
                       ".v3i32(<3 x i32> %v)\n"
                       "  store i32 %r, ptr addrspace(1) %at1\n  ret void\n";
    EXPECT_EQ(kindsIn(simulation.run(body)), "") << fold.name;
    for (size_t lane = 0; lane < 64; ++lane)
      EXPECT_EQ(out[lane], fold.formula(fold.formula(in[lane], 1000000), uint32_t(-77)))
          << fold.name;
  }
}
