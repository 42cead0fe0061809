// Matrix instructions against the formulas of "AMD matrix instruction calculator", which are not
// the tables that the simulator has.
#include "backend/warpsim/core/wave/MatrixTable.h"
#include "backend/warpsim/exec/Float.h"
#include "test/unit/llvmir/IrHarness.h"
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace tw::warpsim;

namespace {
/// Where the calculator says that an element is: its lane, and its number in the lane's registers.
struct Spot {
  int lane, element;
};
struct Shape {
  int rows, depth, perLane, results;
  std::function<Spot(int m, int k)> a;
  std::function<Spot(int m, int n)> d;
};
} // namespace

static float valueOf(int row, int k, bool isA) { return float((row * 5 + k * 3 + isA) % 9 - 4); }

static uint32_t codeOf(float value, const std::string &type) {
  if (type == "half")
    return halfFromFloat(value);
  if (type == "bfloat")
    return brainFromFloat(value);
  return std::bit_cast<uint32_t>(value);
}

/// Runs `d = a * b + 1` on one wave: the arrays hold each lane's elements.
static void checkProduct(const std::string &arch, const std::string &call, const std::string &type,
                         const Shape &shape, int copies = 1) {
  int lanes = arch.starts_with("gfx9") ? 64 : 32;
  IrSimulation simulation(arch, unsigned(lanes));
  size_t inputs = size_t(lanes) * size_t(shape.perLane);
  std::vector<uint32_t> &a = simulation.array(std::vector<uint32_t>(inputs));
  std::vector<uint32_t> &b = simulation.array(std::vector<uint32_t>(inputs));
  std::vector<uint32_t> &d = simulation.array(std::vector<uint32_t>(size_t(lanes * shape.results)));
  for (int row = 0; row < shape.rows; ++row)
    for (int k = 0; k < shape.depth; ++k)
      for (int copy = 0; copy < copies; ++copy) {
        Spot spot = shape.a(row, k);
        size_t at = size_t((spot.lane + 16 * copy) * shape.perLane + spot.element);
        a[at] = codeOf(valueOf(row, k, true), type);
        b[at] = codeOf(valueOf(row, k, false), type);
      }
  std::string body;
  for (const char *name : {"a", "b"}) {
    std::string n = name, vector = "<" + std::to_string(shape.perLane) + " x ";
    body += "  %" + n + "i = mul i32 %tid, " + std::to_string(shape.perLane) + "\n  %" + n +
            "p = getelementptr i32, ptr addrspace(1) %p" + (n == "a" ? "0" : "1") + ", i32 %" + n +
            "i\n  %" + n + "w = load " + vector + "i32>, ptr addrspace(1) %" + n + "p, align 4\n";
    if (type == "float")
      body += "  %" + n + "v = bitcast " + vector + "i32> %" + n + "w to " + vector + "float>\n";
    else
      body += "  %" + n + "t = trunc " + vector + "i32> %" + n + "w to " + vector + "i16>\n  %" +
              n + "v = bitcast " + vector + "i16> %" + n + "t to " + vector +
              (type == "half" ? "half" : "i16") + ">\n";
    if (shape.perLane == 1)
      body += "  %" + n + " = extractelement " + vector + type + "> %" + n + "v, i32 0\n";
    else
      body +=
          "  %" + n + " = freeze " + vector + (type == "bfloat" ? "i16" : type) + "> %" + n + "v\n";
  }
  std::string result = "<" + std::to_string(shape.results) + " x float>";
  body += "  %di = mul i32 %tid, " + std::to_string(shape.results) +
          "\n  %dp = getelementptr i32, ptr addrspace(1) %p2, i32 %di\n  %d = call " + result +
          " @llvm.amdgcn." + call + "\n  store " + result +
          " %d, ptr addrspace(1) %dp, align 4\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "") << call;
  for (int m = 0; m < shape.rows; ++m)
    for (int n = 0; n < shape.rows; ++n) {
      float expected = 1;
      for (int k = 0; k < shape.depth; ++k)
        expected += valueOf(m, k, true) * valueOf(n, k, false);
      Spot spot = shape.d(m, n);
      EXPECT_EQ(std::bit_cast<float>(d[size_t(spot.lane * shape.results + spot.element)]), expected)
          << call << " " << m << " " << n;
    }
}

static std::string ones(int count) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += std::string(i ? ", " : "") + "float 1.0";
  return "<" + std::to_string(count) + " x float> <" + list + ">";
}

static Spot accumulator32(int i, int j) { return {(32 * (i / 4)) % 64 + j, 4 * (i / 8) + i % 4}; }
static Spot accumulator16(int i, int j) { return {16 * (i / 4) + j, i % 4}; }

TEST(Matrix, MatrixCoreInstructions) {
  std::string zeros = ", i32 0, i32 0, i32 0)";
  Shape wide = {32,           8, 4, 16, [](int i, int k) { return Spot{32 * (k / 4) + i, k % 4}; },
                accumulator32};
  checkProduct("gfx942", "mfma.f32.32x32x8f16(<4 x half> %a, <4 x half> %b, " + ones(16) + zeros,
               "half", wide);
  checkProduct("gfx90a", "mfma.f32.32x32x8bf16.1k(<4 x i16> %a, <4 x i16> %b, " + ones(16) + zeros,
               "bfloat", wide);
  Shape narrow = {
      16, 16, 4, 4, [](int i, int k) { return Spot{16 * (k / 4) + i, k % 4}; }, accumulator16};
  checkProduct("gfx942", "mfma.f32.16x16x16f16(<4 x half> %a, <4 x half> %b, " + ones(4) + zeros,
               "half", narrow);
  Shape deep = {32,           16, 8, 16, [](int i, int k) { return Spot{32 * (k / 8) + i, k % 8}; },
                accumulator32};
  checkProduct("gfx950", "mfma.f32.32x32x16.f16(<8 x half> %a, <8 x half> %b, " + ones(16) + zeros,
               "half", deep);
  Shape single = {32, 2, 1, 16, [](int i, int k) { return Spot{32 * k + i, 0}; }, accumulator32};
  checkProduct("gfx942", "mfma.f32.32x32x2f32(float %a, float %b, " + ones(16) + zeros, "float",
               single);
  Shape single16 = {16, 4, 1, 4, [](int i, int k) { return Spot{16 * k + i, 0}; }, accumulator16};
  checkProduct("gfx942", "mfma.f32.16x16x4f32(float %a, float %b, " + ones(4) + zeros, "float",
               single16);
}

TEST(Matrix, WaveMatrixInstructions) {
  Shape third = {16,
                 16,
                 16,
                 8,
                 [](int i, int k) { return Spot{i, k}; },
                 [](int i, int j) { return Spot{16 * (i % 2) + j, i / 2}; }};
  checkProduct("gfx1100",
               "wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %b, " + ones(8) +
                   ")",
               "half", third, /*copies=*/2);
  Shape fourth = {16,
                  16,
                  8,
                  8,
                  [](int i, int k) { return Spot{16 * (k / 4 % 2) + i, k % 4 + 4 * (k / 8)}; },
                  [](int i, int j) { return Spot{16 * (i / 8) + j, i % 8}; }};
  checkProduct("gfx1201",
               "wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %b, " + ones(8) + ")",
               "half", fourth);
}

/// Where CDNA 5's matrices are, as rocjitsu's formula says (mma/layout.h, wmma_input_loc and
/// wmma_output_loc_32).
TEST(Matrix, WaveMatrixInstructionsOfCdna5) {
  auto sums = [](int i, int j) { return Spot{16 * (i / 8) + j, i % 8}; };
  Shape halves = {
      16,  32, 16, 8, [](int i, int k) { return Spot{16 * (k / 8 % 2) + i, k % 8 + 8 * (k / 16)}; },
      sums};
  std::string hints = ", i1 false, i1 false)";
  checkProduct("gfx1250",
               "wmma.f32.16x16x32.f16.v8f32.v16f16(i1 false, <16 x half> %a, i1 false, <16 x half> "
               "%b, i16 0, " +
                   ones(8) + hints,
               "half", halves);
  Shape singles = {16, 4, 2, 8, [](int i, int k) { return Spot{16 * (k / 2) + i, k % 2}; }, sums};
  checkProduct("gfx1250",
               "wmma.f32.16x16x4.f32.v8f32.v2f32(i1 false, <2 x float> %a, i1 false, <2 x float> "
               "%b, i16 0, " +
                   ones(8) + hints,
               "float", singles);
  IrSimulation negated("gfx1250", 32);
  EXPECT_NE(refusalOf("  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x4.f32.v8f32.v2f32(i1 "
                      "true, <2 x float> zeroinitializer, i1 false, <2 x float> zeroinitializer, "
                      "i16 0, " +
                      ones(8) + hints + "\n  ret void\n")
                .find("negations"),
            std::string::npos);
}

/// Every element of an operand has a place, and no two the same one but for copies.
TEST(Matrix, LayoutsAreOneToOne) {
  int32_t row = 0;
  for (const char *name :
       {"mfma.f32.32x32x8f16", "mfma.f32.16x16x32.fp8.fp8", "mfma.f64.16x16x4f64",
        "mfma.i32.16x16x64.i8", "wmma.i32.16x16x16.iu8.v8i32.v2i32", "mfma.f32.16x16x8.xf32",
        "wmma.i32.16x16x64.iu8.v8i32.v8i32", "wmma.f32.16x16x128.fp8.bf8.v8f32.v16i32",
        "wmma.scale.f32.16x16x128.f8f6f4.fp4.fp4", "mfma.scale.f32.32x32x64.f8f6f4.fp8.bf8"}) {
    row = findMatrixRow(name);
    ASSERT_GE(row, 0) << name;
    const MatrixLayout &layout = matrixLayout(row);
    std::set<uint16_t> a(layout.aAt.begin(), layout.aAt.end());
    std::set<uint16_t> d(layout.dAt.begin(), layout.dAt.end());
    EXPECT_EQ(a.size(), layout.rows * layout.depth) << name;
    EXPECT_EQ(a.size(), layout.aAt.size()) << name;
    EXPECT_EQ(d.size(), layout.rows * layout.columns) << name;
    EXPECT_EQ(d.size(), layout.dAt.size()) << name;
  }
  EXPECT_LT(findMatrixRow("mfma.f32.7x7x7f16"), 0);
}

TEST(Matrix, CopiesThatDifferAreReported) {
  IrSimulation simulation("gfx1100", 32);
  simulation.array(iota(64));
  std::string body =
      "  %f = uitofp i32 %tid to half\n"
      "  %a = insertelement <16 x half> zeroinitializer, half %f, i32 0\n"
      "  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x "
      "half> %a, <16 x half> zeroinitializer, <8 x float> zeroinitializer)\n"
      "  %e = extractelement <8 x float> %d, i32 0\n"
      "  store float %e, ptr addrspace(1) %at0, align 4\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "matrix-misuse");
}

TEST(Matrix, AllLanesMustTakePart) {
  IrSimulation simulation("gfx942", 64);
  simulation.array(iota(64));
  std::string body = "  %c = icmp ult i32 %tid, 40\n  br i1 %c, label %yes, label %done\n"
                     "yes:\n  %d = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(float 1.0, "
                     "float 1.0, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)\n"
                     "  br label %done\ndone:\n  ret void\n";
  EXPECT_EQ(kindsIn(simulation.run(body)), "divergent-collective");
}
