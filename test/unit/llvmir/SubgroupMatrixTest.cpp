// Products of Intel's subgroups against the emulation in the text of OpenCL's extension: each row
// of a result adds up broadcasts of A's lanes times components of B.
#include "backend/warpsim/exec/Float.h"
#include "test/unit/llvmir/IrHarness.h"
#include <functional>
#include <gtest/gtest.h>

using namespace tw::warpsim;

namespace {
struct Form {
  const char *arch;
  int lanes, rows, bits, depth, operands;
  std::function<uint32_t(int)> encode; // small integers, negative ones too
  bool isInteger = false;
  int least = -4; // of the numbers that are drawn
};
} // namespace

static uint32_t brain(int value) { return brainFromFloat(float(value)); }
static uint32_t half(int value) { return halfFromFloat(float(value)); }
static uint32_t single(int value) { return std::bit_cast<uint32_t>(float(value)); }
static uint32_t byte(int value) { return uint32_t(value) & 0xff; }

static std::string vectorOf(int count, const std::string &element) {
  return count == 1 ? element : "<" + std::to_string(count) + " x " + element + ">";
}

static std::string loadOf(const std::string &name, unsigned array, size_t words,
                          const std::string &type) {
  return "  %" + name + "i = mul i32 %tid, " + std::to_string(words) + "\n  %" + name +
         "p = getelementptr i32, ptr addrspace(1) %p" + std::to_string(array) + ", i32 %" + name +
         "i\n  %" + name + " = load " + type + ", ptr addrspace(1) %" + name + "p, align 2\n";
}

static constexpr const char *kFunction = "_Z45__spirv_SubgroupMatrixMultiplyAccumulateINTELiiiii";

static std::string bodyOf(const Form &form, size_t wordsOfA, int componentBits, int componentsOfA) {
  std::string element = form.bits == 32 ? "float" : "i" + std::to_string(componentBits);
  std::string a = vectorOf(componentsOfA, element), sum = form.isInteger ? "i32" : "float";
  std::string b = form.bits == 32 ? "<8 x float>" : "<8 x i32>", c = vectorOf(form.rows, sum);
  std::string body = loadOf("a", 0, wordsOfA, a) + loadOf("b", 1, 8, b) +
                     loadOf("c", 2, size_t(form.rows), c) + "  %d = call " + c + " @" + kFunction +
                     "(i32 " + std::to_string(form.depth) + ", " + a + " %a, " + b + " %b, " + c +
                     " %c, i32 " + std::to_string(form.operands) + ")\n  store " + c +
                     " %d, ptr addrspace(1) %cp, align 2\n  ret void\n}\n";
  return body + "declare " + c + " @" + kFunction + "(i32, " + a + ", " + b + ", " + c +
         ", i32)\ndefine void @rest() {\n  ret void\n";
}

static void setBits(std::vector<uint32_t> &words, size_t firstBit, uint32_t bits) {
  words[firstBit / 32] |= bits << firstBit % 32;
}

static int drawn(const Form &form, int row, int k) { return (row * 7 + k * 5) % 9 + form.least; }

static void checkProduct(const Form &form) {
  const int componentBits = std::max(256 / form.lanes, form.bits),
            packed = componentBits / form.bits;
  // With tf32 in subgroups of 16, the lanes from 8 on have every other row.
  const int rowsAtOnce = form.lanes * packed / form.depth;
  const int componentsOfA = std::max(1, form.rows / rowsAtOnce);
  const size_t wordsOfA = size_t(componentsOfA * componentBits + 31) / 32;
  IrSimulation simulation(form.arch, unsigned(form.lanes));
  auto &a = simulation.array(std::vector<uint32_t>(size_t(form.lanes) * wordsOfA));
  auto &b = simulation.array(std::vector<uint32_t>(size_t(form.lanes) * 8));
  auto &c = simulation.array(std::vector<uint32_t>(size_t(form.lanes * form.rows)));
  for (int m = 0; m < form.rows; ++m)
    for (int k = 0; k < form.depth; ++k) {
      int lane = k / packed + m % rowsAtOnce * 8, component = m / rowsAtOnce;
      setBits(a,
              size_t(lane) * wordsOfA * 32 +
                  size_t(component * componentBits + k % packed * form.bits),
              form.encode(drawn(form, m, k)));
    }
  for (int k = 0; k < form.depth; ++k)
    for (int n = 0; n < form.lanes; ++n)
      setBits(b, size_t(n) * 256 + size_t(k * form.bits), form.encode(drawn(form, n + 3, k)));
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = form.isInteger ? uint32_t(i) : single(int(i));
  ASSERT_EQ(kindsIn(simulation.run(bodyOf(form, wordsOfA, componentBits, componentsOfA))), "");
  for (int m = 0; m < form.rows; ++m)
    for (int n = 0; n < form.lanes; ++n) {
      int expected = n * form.rows + m;
      for (int k = 0; k < form.depth; ++k)
        expected += drawn(form, m, k) * drawn(form, n + 3, k);
      EXPECT_EQ(c[size_t(n * form.rows + m)],
                form.isInteger ? uint32_t(expected) : single(expected))
          << form.arch << " " << form.bits << " bits, " << form.rows << " rows, at " << m << ", "
          << n;
    }
}

TEST(SubgroupMatrix, ProductsAreThoseOfTheExtensionsEmulation) {
  for (int rows : {1, 2, 4, 8}) {
    for (auto [arch, lanes] : {std::pair("xe-hpg", 8), {"xe2", 16}, {"xe-hpc", 16}}) {
      checkProduct({arch, lanes, rows, 16, 16, 0xc00, half});
      checkProduct({arch, lanes, rows, 16, 16, 0x3000, brain});
      checkProduct({arch, lanes, rows, 8, 32, 0x30 | 3, byte, true});
      checkProduct({arch, lanes, rows, 8, 32, 0x30, byte, true, 250 - 8});
    }
    checkProduct({"xe-hpc", 16, rows, 32, 8, 0x300, single});
  }
}

/// One of the operands has its sign: 0x1 is that of A, and 200 is -56 with a sign.
TEST(SubgroupMatrix, SignsAreThoseOfEachOperand) {
  for (auto [operands, expected] : {std::pair(0x30 | 1, -56 * 200 * 32),
                                    {0x30 | 2, 200 * -56 * 32},
                                    {0x30 | 3, 56 * 56 * 32},
                                    {0x30, 200 * 200 * 32}}) {
    Form form = {"xe-hpg", 8, 1, 8, 32, operands, byte, true};
    IrSimulation simulation(form.arch, 8);
    simulation.array(std::vector<uint32_t>(8, 0xc8c8c8c8));
    simulation.array(std::vector<uint32_t>(64, 0xc8c8c8c8));
    auto &c = simulation.array(std::vector<uint32_t>(8));
    ASSERT_EQ(kindsIn(simulation.run(bodyOf(form, 1, 32, 1))), "");
    EXPECT_EQ(c[5], uint32_t(expected)) << operands;
  }
}

TEST(SubgroupMatrix, WhatNoMachineHasIsRefused) {
  auto refusal = [](const Form &form, size_t words, int bits, int components) {
    return refusalOf(bodyOf(form, words, bits, components), form.arch);
  };
  EXPECT_NE(refusal({"generic16", 16, 8, 16, 16, 0xc00, half}, 4, 16, 8), "");
  EXPECT_NE(refusal({"xe-hpg", 8, 8, 32, 8, 0x300, single}, 8, 32, 8), "");  // no tf32
  EXPECT_NE(refusal({"xe-hpc", 16, 8, 16, 32, 0xc00, half}, 4, 16, 8), "");  // twice as deep
  EXPECT_NE(refusal({"xe-hpc", 16, 8, 16, 16, 0xc00, half}, 8, 32, 8), "");  // words of A
  EXPECT_NE(refusal({"xe-hpc", 16, 8, 16, 16, 0x1c00, half}, 4, 16, 8), ""); // two types at once
}

TEST(SubgroupMatrix, AllLanesMustTakePart) {
  IrSimulation simulation("xe-hpc", 16);
  for (size_t words : {size_t(16 * 4), size_t(16 * 8), size_t(16 * 8)})
    simulation.array(std::vector<uint32_t>(words));
  std::string body = bodyOf({"xe-hpc", 16, 8, 16, 16, 0xc00, half}, 4, 16, 8);
  size_t call = body.find("  %d = call"), end = body.find("  store");
  body.insert(end,
              "  br label %after\nafter:\n  %e = phi <8 x float> [ %d, %some ], [ %c, %entry ]\n");
  body.insert(call,
              "  %few = icmp ult i32 %tid, 9\n  br i1 %few, label %some, label %after\nsome:\n");
  size_t stored = body.rfind("%d, ptr");
  body.replace(stored, 2, "%e");
  EXPECT_EQ(kindsIn(simulation.run(body)), "divergent-collective uninit-register");
}
