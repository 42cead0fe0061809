// mma.sync: every shape and type against sums in higher precision, roundings, and misuse.
#include "backend/warpsim/exec/Float.h"
#include "backend/warpsim/ptx/InstructionTable.h"
#include "test/unit/DrawnSeed.h"
#include "test/unit/warpsim/SimulationHarness.h"
#include "test/unit/warpsim/matrix/MatrixLayouts.h"
#include "test/unit/warpsim/matrix/WarpgroupHarness.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

namespace {
struct MmaCase {
  const char *shape;
  MatrixShape number;
  unsigned rows, depth;
  Type result, a, b;
  bool isSaturating = false;

  unsigned bits() const { return elementBitsOf(a); }
  unsigned numRegisters(unsigned numElements) const {
    return numElements / 32 * bits() / (bits() == 64 ? 64 : 32);
  }
  unsigned numA() const { return numRegisters(rows * depth); }
  unsigned numB() const { return numRegisters(depth * 8); }
  unsigned numC() const { return rows * 8 / 32 / (result == Type::F16 ? 2 : 1); }
  std::string mnemonic() const {
    auto dot = [](Type type) { return "." + std::string(typeName(type)); };
    return std::string("mma.sync.aligned.") + shape + ".row.col" +
           (isSaturating ? ".satfinite" : "") + dot(result) + dot(a) + dot(b) + dot(result);
  }
};

/// Row-major values.
struct Matrices {
  std::vector<double> a, b, c;
};
} // namespace

static std::vector<MmaCase> allCases() {
  using enum MatrixShape;
  std::vector<MmaCase> cases;
  for (Type result : {Type::F16, Type::F32}) {
    cases.push_back({"m16n8k8", M16n8k8, 16, 8, result, Type::F16, Type::F16});
    cases.push_back({"m16n8k16", M16n8k16, 16, 16, result, Type::F16, Type::F16});
    for (Type a : {Type::E4M3, Type::E5M2})
      for (Type b : {Type::E4M3, Type::E5M2}) {
        cases.push_back({"m16n8k16", M16n8k16, 16, 16, result, a, b});
        cases.push_back({"m16n8k32", M16n8k32, 16, 32, result, a, b});
      }
  }
  cases.push_back({"m16n8k8", M16n8k8, 16, 8, Type::F32, Type::BF16, Type::BF16});
  cases.push_back({"m16n8k16", M16n8k16, 16, 16, Type::F32, Type::BF16, Type::BF16});
  cases.push_back({"m16n8k4", M16n8k4, 16, 4, Type::F32, Type::TF32, Type::TF32});
  cases.push_back({"m16n8k8", M16n8k8, 16, 8, Type::F32, Type::TF32, Type::TF32});
  for (bool isSaturating : {false, true}) {
    for (Type a : {Type::S8, Type::U8})
      for (Type b : {Type::S8, Type::U8}) {
        cases.push_back({"m8n8k16", M8n8k16, 8, 16, Type::S32, a, b, isSaturating});
        cases.push_back({"m16n8k16", M16n8k16, 16, 16, Type::S32, a, b, isSaturating});
        cases.push_back({"m16n8k32", M16n8k32, 16, 32, Type::S32, a, b, isSaturating});
      }
    for (Type a : {Type::S4, Type::U4})
      for (Type b : {Type::S4, Type::U4}) {
        cases.push_back({"m8n8k32", M8n8k32, 8, 32, Type::S32, a, b, isSaturating});
        cases.push_back({"m16n8k32", M16n8k32, 16, 32, Type::S32, a, b, isSaturating});
        cases.push_back({"m16n8k64", M16n8k64, 16, 64, Type::S32, a, b, isSaturating});
      }
  }
  cases.push_back({"m8n8k4", M8n8k4, 8, 4, Type::F64, Type::F64, Type::F64});
  cases.push_back({"m16n8k4", M16n8k4, 16, 4, Type::F64, Type::F64, Type::F64});
  cases.push_back({"m16n8k8", M16n8k8, 16, 8, Type::F64, Type::F64, Type::F64});
  cases.push_back({"m16n8k16", M16n8k16, 16, 16, Type::F64, Type::F64, Type::F64});
  return cases;
}

static uint64_t encode(double value, Type type) {
  if (type == Type::F64)
    return std::bit_cast<uint64_t>(value);
  if (type == Type::S4 || type == Type::U4)
    return uint64_t(int64_t(value)) & 0xf;
  return codeOf(value, type);
}

static double decode(uint64_t code, Type type) {
  if (type == Type::F16)
    return valueOfCode(uint32_t(code), kHalf);
  if (type == Type::F32)
    return double(std::bit_cast<float>(uint32_t(code)));
  return type == Type::F64 ? std::bit_cast<double>(code) : double(int32_t(code));
}

/// The bits of element `i` of a fragment of all lanes: registers in order, 32 lanes each.
static void putElement(std::vector<uint32_t> &words, unsigned bits, unsigned lane, unsigned i,
                       uint64_t code) {
  if (bits == 64) {
    memcpy(&words[2 * (i * 32 + lane)], &code, 8);
    return;
  }
  unsigned perRegister = 32 / bits;
  words[i / perRegister * 32 + lane] |= uint32_t(code << i % perRegister * bits);
}

static uint64_t getElement(const std::vector<uint32_t> &words, unsigned bits, unsigned lane,
                           unsigned i) {
  uint64_t code = 0;
  if (bits == 64) {
    memcpy(&code, &words[2 * (i * 32 + lane)], 8);
    return code;
  }
  unsigned perRegister = 32 / bits;
  return words[i / perRegister * 32 + lane] >> i % perRegister * bits & ((uint64_t(1) << bits) - 1);
}

static std::string registerList(const char *prefix, unsigned count) {
  std::string list;
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", " : "{") + std::string(prefix) + std::to_string(i);
  return list + "}";
}

/// Loads or stores registers `prefix`0, 1, ... at %rdBase + 32 * width * i.
static std::string transfer(const char *opcode, unsigned width, const char *prefix, unsigned count,
                            const char *base) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    std::string place = std::string("[") + base + "+" + std::to_string(32 * width * i) + "]";
    std::string reg = prefix + std::to_string(i);
    bool isLoad = opcode[0] == 'l';
    text += std::string("  ") + opcode + ".global.b" + std::to_string(8 * width) + " " +
            (isLoad ? reg + ", " + place : place + ", " + reg) + ";\n";
  }
  return text;
}

static std::string mmaText(const MmaCase &mma, unsigned arch) {
  bool isDouble = mma.result == Type::F64;
  unsigned width = isDouble ? 8 : 4;
  std::string file = isDouble ? ".f64" : ".b32";
  std::string body = "  .reg " + file + " %a<8>; .reg " + file + " %b<4>; .reg " + file +
                     " %c<4>; .reg " + file + " %d<4>;\n  mov.u32 %r0, %laneid;\n" +
                     "  mul.wide.u32 %rd10, %r0, " + std::to_string(width) + ";\n";
  for (unsigned i = 0; i < 4; ++i)
    body += "  add.s64 %rd1" + std::to_string(i + 1) + ", %rd" + std::to_string(i) + ", %rd10;\n";
  body += transfer("ld", width, "%a", mma.numA(), "%rd11") +
          transfer("ld", width, "%b", mma.numB(), "%rd12") +
          transfer("ld", width, "%c", mma.numC(), "%rd13") + "  " + mma.mnemonic() + " " +
          registerList("%d", mma.numC()) + ", " + registerList("%a", mma.numA()) + ", " +
          registerList("%b", mma.numB()) + ", " + registerList("%c", mma.numC()) + ";\n" +
          transfer("st", width, "%d", mma.numC(), "%rd14");
  std::string text = kernelText(body, 4);
  text.replace(text.find("8.0"), 3, "8.7");
  return text.replace(text.find("sm_80"), 5, "sm_" + std::to_string(arch));
}

/// The product by the simulator, row-major.
static std::vector<double> multiply(const MmaCase &mma, const Matrices &matrices,
                                    LaunchOptions::Arithmetic arithmetic, unsigned arch = 90) {
  unsigned cBits = mma.result == Type::F16 ? 16 : mma.result == Type::F64 ? 64 : 32;
  unsigned wordsPerLane = mma.result == Type::F64 ? 64 : 32;
  Simulation simulation;
  auto &a = simulation.array("a", std::vector<uint32_t>(mma.numA() * wordsPerLane));
  auto &b = simulation.array("b", std::vector<uint32_t>(mma.numB() * wordsPerLane));
  auto &c = simulation.array("c", std::vector<uint32_t>(mma.numC() * wordsPerLane));
  auto &d = simulation.array("d", std::vector<uint32_t>(mma.numC() * wordsPerLane));
  unsigned numA = mma.rows * mma.depth / 32, numB = mma.depth * 8 / 32, numC = mma.rows * 8 / 32;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < numA; ++i) {
      Element at = elementOfA(mma.number, mma.bits(), lane, i);
      putElement(a, mma.bits(), lane, i, encode(matrices.a[at.row * mma.depth + at.column], mma.a));
    }
    for (unsigned i = 0; i < numB; ++i) {
      Element at = elementOfB(mma.number, mma.bits(), lane, i);
      putElement(b, mma.bits(), lane, i, encode(matrices.b[at.row * 8 + at.column], mma.b));
    }
    for (unsigned i = 0; i < numC; ++i) {
      Element at = elementOfC(mma.number, lane, i);
      putElement(c, cBits, lane, i, encode(matrices.c[at.row * 8 + at.column], mma.result));
    }
  }
  simulation.launch.options.arithmetic = arithmetic;
  SimulationReport report = simulation.runText(mmaText(mma, arch));
  EXPECT_EQ(kindsIn(report), "") << mma.mnemonic();
  std::vector<double> result(mma.rows * 8);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < numC; ++i) {
      Element at = elementOfC(mma.number, lane, i);
      result[at.row * 8 + at.column] = decode(getElement(d, cBits, lane, i), mma.result);
    }
  return result;
}

static Matrices randomMatrices(const MmaCase &mma, std::mt19937 &generator) {
  bool isInteger = mma.result == Type::S32;
  auto element = [&](Type type) {
    unsigned bits = elementBitsOf(type);
    bool isUnsigned = type == Type::U8 || type == Type::U4;
    int low = isUnsigned ? 0 : isInteger ? -(1 << (bits - 1)) : -4;
    int high = isUnsigned ? (1 << bits) - 1 : isInteger ? (1 << (bits - 1)) - 1 : 4;
    return double(std::uniform_int_distribution<int>(low, high)(generator));
  };
  Matrices matrices;
  for (unsigned i = 0; i < mma.rows * mma.depth; ++i)
    matrices.a.push_back(element(mma.a));
  for (unsigned i = 0; i < mma.depth * 8; ++i)
    matrices.b.push_back(element(mma.b));
  std::uniform_int_distribution<int> small(-100, 100);
  for (unsigned i = 0; i < mma.rows * 8; ++i) {
    double c = small(generator);
    // Near the ends of the range, where integers wrap or are clamped.
    if (isInteger && i % 3 == 0)
      c = double(i % 2 ? INT32_MAX : INT32_MIN) + (i % 2 ? -c - 100 : c + 100);
    matrices.c.push_back(c);
  }
  return matrices;
}

static std::vector<double> reference(const MmaCase &mma, const Matrices &matrices) {
  std::vector<double> result = matrices.c;
  for (unsigned row = 0; row < mma.rows; ++row)
    for (unsigned n = 0; n < 8; ++n) {
      double &sum = result[row * 8 + n];
      for (unsigned k = 0; k < mma.depth; ++k)
        sum += matrices.a[row * mma.depth + k] * matrices.b[k * 8 + n];
      if (mma.result == Type::S32)
        sum = mma.isSaturating ? std::clamp(sum, double(INT32_MIN), double(INT32_MAX))
                               : double(int32_t(uint32_t(int64_t(sum))));
    }
  return result;
}

TEST(WarpsimMma, EveryShapeAndTypeMultipliesExactly) {
  unsigned seed = tw::test::drawnSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  for (const MmaCase &mma : allCases()) {
    SCOPED_TRACE(mma.mnemonic());
    Matrices matrices = randomMatrices(mma, generator);
    std::vector<double> expected = reference(mma, matrices);
    EXPECT_EQ(multiply(mma, matrices, LaunchOptions::Arithmetic::Fast), expected);
    EXPECT_EQ(multiply(mma, matrices, LaunchOptions::Arithmetic::Exact), expected);
  }
}

static constexpr MmaCase kHalfCase = {
    "m16n8k16", MatrixShape::M16n8k16, 16, 16, Type::F32, Type::F16, Type::F16};

/// c + the sum of a_k * b_k, for all elements alike.
static double sumOf(const MmaCase &mma, double c, std::vector<std::pair<double, double>> products,
                    LaunchOptions::Arithmetic arithmetic, unsigned arch) {
  Matrices matrices;
  matrices.a.resize(mma.rows * mma.depth);
  matrices.b.resize(mma.depth * 8);
  matrices.c.assign(mma.rows * 8, c);
  for (size_t k = 0; k < products.size(); ++k) {
    for (unsigned row = 0; row < mma.rows; ++row)
      matrices.a[row * mma.depth + k] = products[k].first;
    for (unsigned n = 0; n < 8; ++n)
      matrices.b[k * 8 + n] = products[k].second;
  }
  std::vector<double> result = multiply(mma, matrices, arithmetic, arch);
  for (double element : result)
    EXPECT_TRUE(element == result[0] || (std::isnan(element) && std::isnan(result[0])));
  return result[0];
}

TEST(WarpsimMma, FastArithmeticIsAChainOfFusedMultiplyAdds) {
  const auto fast = LaunchOptions::Arithmetic::Fast;
  // 2^24 + 1 rounds to even, twice.
  EXPECT_EQ(sumOf(kHalfCase, 0, {{4096, 4096}, {1, 1}, {1, 1}}, fast, 80), 0x1p24);
  EXPECT_EQ(sumOf(kHalfCase, 0, {{1, 1}, {1, 1}, {4096, 4096}}, fast, 80), 0x1p24 + 2);
}

TEST(WarpsimMma, ExactArithmeticAlignsAndCutsLikeATensorCore) {
  const auto exact = LaunchOptions::Arithmetic::Exact;
  // Added together whatever the order.
  EXPECT_EQ(sumOf(kHalfCase, 0, {{4096, 4096}, {1, 1}, {1, 1}}, exact, 80), 0x1p24 + 2);
  // Four halves below 24 bits after the point of 2^24: gone on Ampere, kept on Hopper.
  std::vector<std::pair<double, double>> halves(5, {0.5, 1});
  halves[0] = {4096, 4096};
  EXPECT_EQ(sumOf(kHalfCase, 0, halves, exact, 80), 0x1p24);
  EXPECT_EQ(sumOf(kHalfCase, 0, halves, exact, 90), 0x1p24 + 2);
  // The depth in halves on Ampere: 2^24 is gone when the small ones come.
  std::vector<std::pair<double, double>> apart(13, {0, 0});
  apart[0] = {4096, 4096};
  apart[1] = {-4096, 4096};
  for (size_t k = 8; k < 13; ++k)
    apart[k] = {0x1p-2, 0x1p-2};
  EXPECT_EQ(sumOf(kHalfCase, 0, apart, exact, 80), 5 * 0x1p-4);
  EXPECT_EQ(sumOf(kHalfCase, 0, apart, exact, 90), 0);
  // The result is cut toward zero, not rounded.
  EXPECT_EQ(sumOf(kHalfCase, 0x1p24 - 1, {{0.75, 1}}, exact, 90), 0x1p24 - 1);
  EXPECT_EQ(sumOf(kHalfCase, -(0x1p24 - 1), {{-0.75, 1}}, exact, 90), -(0x1p24 - 1));
  EXPECT_EQ(sumOf(kHalfCase, 0x1p24 - 1, {{0.75, 1}}, LaunchOptions::Arithmetic::Fast, 90), 0x1p24);
  // An f16 accumulator is rounded to nearest even.
  MmaCase narrow = kHalfCase;
  narrow.result = Type::F16;
  EXPECT_EQ(sumOf(narrow, 2048, {{1, 1}}, exact, 90), 2048);
  EXPECT_EQ(sumOf(narrow, 2048, {{1, 1}, {1, 0.5}}, exact, 90), 2050);
  // fp8 of Ada: 13 bits.
  MmaCase quarter = {"m16n8k32", MatrixShape::M16n8k32, 16, 32, Type::F32, Type::E4M3, Type::E4M3};
  EXPECT_EQ(sumOf(quarter, 0, {{256, 64}, {1, 1}}, exact, 89), 16384);
  EXPECT_EQ(sumOf(quarter, 0, {{256, 64}, {1, 1}}, exact, 90), 16385);
}

TEST(WarpsimMma, InfinitiesAndNanPropagate) {
  for (auto arithmetic : {LaunchOptions::Arithmetic::Fast, LaunchOptions::Arithmetic::Exact}) {
    double infinity = INFINITY;
    EXPECT_EQ(sumOf(kHalfCase, 1, {{infinity, 2}}, arithmetic, 80), infinity);
    EXPECT_EQ(sumOf(kHalfCase, -infinity, {{3, 2}}, arithmetic, 80), -infinity);
    EXPECT_TRUE(std::isnan(sumOf(kHalfCase, -infinity, {{infinity, 2}}, arithmetic, 80)));
    EXPECT_TRUE(std::isnan(sumOf(kHalfCase, 1, {{NAN, 2}}, arithmetic, 80)));
    EXPECT_EQ(sumOf(kHalfCase, 0x1p-149, {{0x1p-24, 0}}, arithmetic, 80), 0x1p-149);
  }
}

TEST(WarpsimMma, ExactArithmeticOverflowsAndReachesSubnormals) {
  const auto exact = LaunchOptions::Arithmetic::Exact;
  MmaCase wide = {"m16n8k16", MatrixShape::M16n8k16, 16, 16, Type::F32, Type::BF16, Type::BF16};
  // Two passes on Ampere: the second cannot bring an infinity back.
  std::vector<std::pair<double, double>> products(9, {0, 0});
  products[0] = {0x1p127, 2};
  products[8] = {-0x1p127, 2};
  EXPECT_EQ(sumOf(wide, 0, products, exact, 80), INFINITY);
  EXPECT_EQ(sumOf(wide, 0, products, exact, 90), 0);
  EXPECT_EQ(sumOf(wide, 0, {{0x1p-100, 0x1p-49}}, exact, 80), 0x1p-149);
  EXPECT_EQ(sumOf(wide, 0, {{0x1p-100, 0x1p-50}}, exact, 80), 0);
  // Subnormal halves are not flushed.
  EXPECT_EQ(sumOf(kHalfCase, 0, {{0x1.8p-23, 0x1p-24}}, exact, 80), 0x1.8p-47);
}

TEST(WarpsimMma, Tf32IgnoresTheLowBits) {
  MmaCase mma = {"m16n8k8", MatrixShape::M16n8k8, 16, 8, Type::F32, Type::TF32, Type::TF32};
  double low = 1 + 0x1.ffcp-11; // all 13 low bits set
  for (auto arithmetic : {LaunchOptions::Arithmetic::Fast, LaunchOptions::Arithmetic::Exact})
    EXPECT_EQ(sumOf(mma, 0, {{low, 1}}, arithmetic, 80), 1);
}

static const char kMmaOfParts[] = R"(
  mov.u32 %r0, %laneid;
  mul.wide.u32 %rd10, %r0, 4;
  add.s64 %rd11, %rd0, %rd10;
  mov.b32 %r1, 0;
  mov.b32 %r2, 0;
  mov.b32 %r3, 0;
  mov.f32 %f1, 0f00000000;
  setp.ne.u32 %p0, %r0, 9;
)";
static const char kSmallMma[] =
    "  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r1, %r2}, {%r3}, "
    "{%f1, %f1, %f1, %f1};\n";

/// Which lanes' result `number` has a value: stores of others are reported and counted.
static uint64_t countUnset(const std::string &setup, unsigned number) {
  Simulation simulation;
  simulation.array("out", std::vector<uint32_t>(32));
  SimulationReport report =
      simulation.run(kMmaOfParts + setup + kSmallMma + "  mov.u32 %r40, 0;\nLOOP:\n" +
                     "  setp.ne.u32 %p5, %r0, %r40;\n  @!%p5 st.global.f32 [%rd11], %f" +
                     std::to_string(4 + number) +
                     ";\n  add.u32 %r40, %r40, 1;\n  setp.lt.u32 %p6, %r40, 32;\n  @%p6 bra LOOP;");
  uint64_t count = 0;
  for (const Finding &finding : report.findings) {
    EXPECT_EQ(finding.kind, Kind::UninitRegister);
    count += finding.count;
  }
  return count;
}

TEST(WarpsimMma, OutputsOfInputsWithoutAValueHaveNone) {
  EXPECT_EQ(countUnset("", 0), 0u);
  // Lane 9 (group 2) has row 2 of A in %r20 here: the four lanes of row 2, in c0 and not in c2.
  const std::string a = "  @%p0 mov.b32 %r20, 0;\n  mov.b32 %r1, %r20;\n";
  EXPECT_EQ(countUnset(a, 0), 4u);
  EXPECT_EQ(countUnset(a, 1), 4u);
  EXPECT_EQ(countUnset(a, 2), 0u);
  // Column 2 of B: c0 of the lanes of member 1, in all groups, above and below.
  const std::string b = "  @%p0 mov.b32 %r20, 0;\n  mov.b32 %r3, %r20;\n";
  EXPECT_EQ(countUnset(b, 0), 8u);
  EXPECT_EQ(countUnset(b, 1), 0u);
  EXPECT_EQ(countUnset(b, 2), 8u);
  const std::string c = "  @%p0 mov.f32 %f20, 0f00000000;\n  mov.f32 %f1, %f20;\n";
  EXPECT_EQ(countUnset(c, 3), 1u);
}

TEST(WarpsimMma, NeedsTheWholeWarp) {
  auto kindsOf = [](const std::string &body, uint32_t numThreads) {
    Simulation simulation;
    simulation.array("out", {0});
    simulation.launch.block = {numThreads, 1, 1};
    return kindsIn(simulation.run(kMmaOfParts + body));
  };
  EXPECT_EQ(kindsOf(kSmallMma, 32), "");
  EXPECT_EQ(kindsOf(kSmallMma, 40), "divergent-collective");
  EXPECT_EQ(kindsOf("  @%p0 " + std::string(kSmallMma), 32), "divergent-collective");
  EXPECT_EQ(kindsOf("  @!%p0 exit;\n" + std::string(kSmallMma), 32), "divergent-collective");
}
