// The matrix instructions of AMD's GPUs. Sources: the instruction sets of CDNA 2, 3 and 4 and of
// RDNA 3 and 4, "Matrix Arithmetic Instructions" and "WMMA"; AMD's matrix instruction calculator.
#include "backend/amd/machine/AmdMatrices.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace tw;
using namespace tw::amd;
using enum MatrixType;
using enum OperandForm;

// A and B hold the depth alike, so that its bits may be named in any order. They are named such
// that the sums of one product can be the rows of another without a move where that is possible.
static constexpr llvm::StringLiteral kRows32x8 = "k0 k1 | m0 m1 m2 m3 m4 k2",
                                     kRows32x16 = "k0 k1 k3 | m0 m1 m2 m3 m4 k2",
                                     kRows32x32 = "k0 k1 k3 k4 | m0 m1 m2 m3 m4 k2",
                                     kRows16x16 = "k0 k1 | m0 m1 m2 m3 k2 k3",
                                     kRows16x32 = "k0 k1 k4 | m0 m1 m2 m3 k2 k3",
                                     kRows16x64 = "k0 k1 k4 k5 | m0 m1 m2 m3 k2 k3",
                                     kRows16x4 = "| m0 m1 m2 m3 k0 k1",
                                     kRows32x4 = "k0 | m0 m1 m2 m3 m4 k1",
                                     kRows16x8 = "k0 | m0 m1 m2 m3 k1 k2",
                                     kSums32 = "n0 n1 n3 n4 | m0 m1 m2 m3 m4 n2",
                                     kSums16 = "n0 n1 | m0 m1 m2 m3 n2 n3",
                                     kSums64 = "n2 n3 | m0 m1 m2 m3 n0 n1";
// Of RDNA 3 both halves of a wave hold A and B, and a lane has the sums of every other column:
// which column is which is free, and they are named such that lanes hold neighbours. RDNA 4 has
// halves of the depth in the halves of a wave.
static constexpr llvm::StringLiteral kRowsTwice = "k0 k1 k2 k3 | m0 m1 m2 m3 -",
                                     kColumnsTwice = "k0 k1 k2 k3 | n3 n0 n1 n2 -",
                                     kSumsTwice = "n0 n1 n2 | m0 m1 m2 m3 n3",
                                     kRowsHalf = "k0 k1 k2 | m0 m1 m2 m3 k3",
                                     kSumsHalf = "n0 n1 n2 | m0 m1 m2 m3 n3";

static constexpr MatrixInstruction kF32[] = {
    {16, 16, 4, F32, F32, F32, "mfma.f32.16x16x4f32", kRows16x4, kSums16, Elements},
    {16, 16, 4, F64, F64, F64, "mfma.f64.16x16x4f64", kRows16x4, kSums64, Elements},
};
static constexpr MatrixInstruction kHalves[] = {
    {32, 32, 8, F16, F16, F32, "mfma.f32.32x32x8f16", kRows32x8, kSums32, Elements},
    {16, 16, 16, F16, F16, F32, "mfma.f32.16x16x16f16", kRows16x16, kSums16, Elements},
    {32, 32, 8, BF16, BF16, F32, "mfma.f32.32x32x8bf16.1k", kRows32x8, kSums32, BitsOf16},
    {16, 16, 16, BF16, BF16, F32, "mfma.f32.16x16x16bf16.1k", kRows16x16, kSums16, BitsOf16},
};
static constexpr MatrixInstruction kBytesOfCdna2[] = {
    {16, 16, 16, I8, I8, I32, "mfma.i32.16x16x16i8", kRows16x16, kSums16, Words},
};
static constexpr MatrixInstruction kBytes[] = {
    {32, 32, 16, I8, I8, I32, "mfma.i32.32x32x16.i8", kRows32x16, kSums32, Long},
    {16, 16, 32, I8, I8, I32, "mfma.i32.16x16x32.i8", kRows16x32, kSums16, Long},
};
static constexpr MatrixInstruction kRounded[] = {
    {32, 32, 4, XF32, XF32, F32, "mfma.f32.32x32x4.xf32", kRows32x4, kSums32, Elements},
    {16, 16, 8, XF32, XF32, F32, "mfma.f32.16x16x8.xf32", kRows16x8, kSums16, Elements},
};
static constexpr MatrixInstruction kFnuz[] = {
    {32, 32, 16, E4M3Fnuz, E4M3Fnuz, F32, "mfma.f32.32x32x16.fp8.fp8", kRows32x16, kSums32, Long},
    {16, 16, 32, E4M3Fnuz, E4M3Fnuz, F32, "mfma.f32.16x16x32.fp8.fp8", kRows16x32, kSums16, Long},
    {32, 32, 16, E4M3Fnuz, E5M2Fnuz, F32, "mfma.f32.32x32x16.bf8.fp8", kRows32x16, kSums32, Long},
    {16, 16, 32, E4M3Fnuz, E5M2Fnuz, F32, "mfma.f32.16x16x32.bf8.fp8", kRows16x32, kSums16, Long},
    {32, 32, 16, E5M2Fnuz, E4M3Fnuz, F32, "mfma.f32.32x32x16.fp8.bf8", kRows32x16, kSums32, Long},
    {16, 16, 32, E5M2Fnuz, E4M3Fnuz, F32, "mfma.f32.16x16x32.fp8.bf8", kRows16x32, kSums16, Long},
    {32, 32, 16, E5M2Fnuz, E5M2Fnuz, F32, "mfma.f32.32x32x16.bf8.bf8", kRows32x16, kSums32, Long},
    {16, 16, 32, E5M2Fnuz, E5M2Fnuz, F32, "mfma.f32.16x16x32.bf8.bf8", kRows16x32, kSums16, Long},
};
static constexpr MatrixInstruction kFloat8[] = {
    {32, 32, 16, E4M3, E4M3, F32, "mfma.f32.32x32x16.fp8.fp8", kRows32x16, kSums32, Long},
    {16, 16, 32, E4M3, E4M3, F32, "mfma.f32.16x16x32.fp8.fp8", kRows16x32, kSums16, Long},
    {32, 32, 16, E4M3, E5M2, F32, "mfma.f32.32x32x16.bf8.fp8", kRows32x16, kSums32, Long},
    {16, 16, 32, E4M3, E5M2, F32, "mfma.f32.16x16x32.bf8.fp8", kRows16x32, kSums16, Long},
    {32, 32, 16, E5M2, E4M3, F32, "mfma.f32.32x32x16.fp8.bf8", kRows32x16, kSums32, Long},
    {16, 16, 32, E5M2, E4M3, F32, "mfma.f32.16x16x32.fp8.bf8", kRows16x32, kSums16, Long},
    {32, 32, 16, E5M2, E5M2, F32, "mfma.f32.32x32x16.bf8.bf8", kRows32x16, kSums32, Long},
    {16, 16, 32, E5M2, E5M2, F32, "mfma.f32.16x16x32.bf8.bf8", kRows16x32, kSums16, Long},
};
static constexpr MatrixInstruction kWideOfCdna4[] = {
    {32, 32, 16, F16, F16, F32, "mfma.f32.32x32x16.f16", kRows32x16, kSums32, Elements},
    {16, 16, 32, F16, F16, F32, "mfma.f32.16x16x32.f16", kRows16x32, kSums16, Elements},
    {32, 32, 16, BF16, BF16, F32, "mfma.f32.32x32x16.bf16", kRows32x16, kSums32, Elements},
    {16, 16, 32, BF16, BF16, F32, "mfma.f32.16x16x32.bf16", kRows16x32, kSums16, Elements},
    {32, 32, 32, I8, I8, I32, "mfma.i32.32x32x32.i8", kRows32x32, kSums32, Words},
    {16, 16, 64, I8, I8, I32, "mfma.i32.16x16x64.i8", kRows16x64, kSums16, Words},
};

// Operands of the instructions with scales, by their type. A lane has two runs of 16 bytes of 8-bit
// floats, or one of 32 4-bit floats: k counts bytes. Its scale is of 32 neighbours along k, which
// other lanes hold half of where they are 8-bit floats.
struct ScaledOperand {
  MatrixType type;
  llvm::StringLiteral rows32, columns32, rows16, columns16;
};
static constexpr ScaledOperand kScaledOperands[] = {
    {E4M3, "k0 k1 k2 k3 k5 | m0 m1 m2 m3 m4 k4", "k0 k1 k2 k3 k5 | n0 n1 n2 n3 n4 k4",
     "k0 k1 k2 k3 k6 | m0 m1 m2 m3 k4 k5", "k0 k1 k2 k3 k6 | n0 n1 n2 n3 k4 k5"},
    {E5M2, "k0 k1 k2 k3 k5 | m0 m1 m2 m3 m4 k4", "k0 k1 k2 k3 k5 | n0 n1 n2 n3 n4 k4",
     "k0 k1 k2 k3 k6 | m0 m1 m2 m3 k4 k5", "k0 k1 k2 k3 k6 | n0 n1 n2 n3 k4 k5"},
    {E2M1, "k0 k1 k2 k3 | m0 m1 m2 m3 m4 k4", "k0 k1 k2 k3 | n0 n1 n2 n3 n4 k4",
     "k0 k1 k2 k3 | m0 m1 m2 m3 k4 k5", "k0 k1 k2 k3 | n0 n1 n2 n3 k4 k5"},
};

/// Each pair of types, with 32 and with 16 rows and columns.
static constexpr auto scaledInstructions() {
  constexpr size_t count = std::size(kScaledOperands);
  std::array<MatrixInstruction, 2 * count * count> rows = {};
  size_t next = 0;
  for (const ScaledOperand &a : kScaledOperands)
    for (const ScaledOperand &b : kScaledOperands) {
      rows[next++] = {32,
                      32,
                      64,
                      a.type,
                      b.type,
                      F32,
                      "mfma.scale.f32.32x32x64.f8f6f4",
                      a.rows32,
                      kSums32,
                      Words,
                      b.columns32,
                      "| m0 m1 m2 m3 m4 k0"};
      rows[next++] = {16,
                      16,
                      128,
                      a.type,
                      b.type,
                      F32,
                      "mfma.scale.f32.16x16x128.f8f6f4",
                      a.rows16,
                      kSums16,
                      Words,
                      b.columns16,
                      "| m0 m1 m2 m3 k0 k1"};
    }
  return rows;
}
static constexpr auto kScaled = scaledInstructions();

static constexpr MatrixInstruction kRdna3[] = {
    {16, 16, 16, F16, F16, F32, "wmma.f32.16x16x16.f16", kRowsTwice, kSumsTwice, Elements,
     kColumnsTwice},
    {16, 16, 16, BF16, BF16, F32, "wmma.f32.16x16x16.bf16", kRowsTwice, kSumsTwice, BitsOf16,
     kColumnsTwice},
    {16, 16, 16, I8, I8, I32, "wmma.i32.16x16x16.iu8", kRowsTwice, kSumsTwice, Words,
     kColumnsTwice},
};
static constexpr MatrixInstruction kRdna4[] = {
    {16, 16, 16, F16, F16, F32, "wmma.f32.16x16x16.f16", kRowsHalf, kSumsHalf, Elements},
    {16, 16, 16, BF16, BF16, F32, "wmma.f32.16x16x16.bf16", kRowsHalf, kSumsHalf, BitsOf16},
    {16, 16, 16, I8, I8, I32, "wmma.i32.16x16x16.iu8", kRowsHalf, kSumsHalf, Words},
    {16, 16, 16, E4M3, E4M3, F32, "wmma.f32.16x16x16.fp8.fp8", kRowsHalf, kSumsHalf, Words},
    {16, 16, 16, E4M3, E5M2, F32, "wmma.f32.16x16x16.bf8.fp8", kRowsHalf, kSumsHalf, Words},
    {16, 16, 16, E5M2, E4M3, F32, "wmma.f32.16x16x16.fp8.bf8", kRowsHalf, kSumsHalf, Words},
    {16, 16, 16, E5M2, E5M2, F32, "wmma.f32.16x16x16.bf8.bf8", kRowsHalf, kSumsHalf, Words},
};

// Of CDNA 5 (gfx1250) neighbours along the depth come in groups of 8 elements, in turn from both
// halves of a wave. Of bytes, groups of 16 would do as well (MMA layouts of rocjitsu; Triton's
// wmmaDotOperandToLinearLayout).
static constexpr llvm::StringLiteral kRowsBy4 = "k0 | m0 m1 m2 m3 k1",
                                     kRowsBy32 = "k0 k1 k2 k4 | m0 m1 m2 m3 k3",
                                     kRowsBy64 = "k0 k1 k2 k4 k5 | m0 m1 m2 m3 k3",
                                     kRowsBy128 = "k0 k1 k2 k4 k5 k6 | m0 m1 m2 m3 k3";
static constexpr MatrixInstruction kCdna5[] = {
    {16, 16, 32, F16, F16, F32, "wmma.f32.16x16x32.f16", kRowsBy32, kSumsHalf, Elements},
    {16, 16, 32, BF16, BF16, F32, "wmma.f32.16x16x32.bf16", kRowsBy32, kSumsHalf, Elements},
    {16, 16, 64, I8, I8, I32, "wmma.i32.16x16x64.iu8", kRowsBy64, kSumsHalf, Words},
    {16, 16, 128, E4M3, E4M3, F32, "wmma.f32.16x16x128.fp8.fp8", kRowsBy128, kSumsHalf, Words},
    {16, 16, 64, E4M3, E4M3, F32, "wmma.f32.16x16x64.fp8.fp8", kRowsBy64, kSumsHalf, Words},
    {16, 16, 128, E4M3, E5M2, F32, "wmma.f32.16x16x128.bf8.fp8", kRowsBy128, kSumsHalf, Words},
    {16, 16, 64, E4M3, E5M2, F32, "wmma.f32.16x16x64.bf8.fp8", kRowsBy64, kSumsHalf, Words},
    {16, 16, 128, E5M2, E4M3, F32, "wmma.f32.16x16x128.fp8.bf8", kRowsBy128, kSumsHalf, Words},
    {16, 16, 64, E5M2, E4M3, F32, "wmma.f32.16x16x64.fp8.bf8", kRowsBy64, kSumsHalf, Words},
    {16, 16, 128, E5M2, E5M2, F32, "wmma.f32.16x16x128.bf8.bf8", kRowsBy128, kSumsHalf, Words},
    {16, 16, 64, E5M2, E5M2, F32, "wmma.f32.16x16x64.bf8.bf8", kRowsBy64, kSumsHalf, Words},
    {16, 16, 4, F32, F32, F32, "wmma.f32.16x16x4.f32", kRowsBy4, kSumsHalf, Elements},
};
// With scales neighbours come in groups of 16 bytes, and a lane has the four scales of its row in a
// word; the upper half of a wave is not asked for them (chooseScaledWmmaScaleLayout of Triton).
static constexpr llvm::StringLiteral kRowsOfBytes = "k0 k1 k2 k3 k5 k6 | m0 m1 m2 m3 k4",
                                     kRowsOfPairs = "k0 k1 k2 k3 k5 | m0 m1 m2 m3 k4",
                                     kColumnsOfBytes = "k0 k1 k2 k3 k5 k6 | n0 n1 n2 n3 k4",
                                     kColumnsOfPairs = "k0 k1 k2 k3 k5 | n0 n1 n2 n3 k4";

static constexpr auto scaledOfCdna5() {
  constexpr MatrixType types[] = {E4M3, E5M2, E2M1};
  std::array<MatrixInstruction, std::size(types) * std::size(types)> rows = {};
  size_t next = 0;
  for (MatrixType a : types)
    for (MatrixType b : types)
      rows[next++] = {16,
                      16,
                      128,
                      a,
                      b,
                      F32,
                      "wmma.scale.f32.16x16x128.f8f6f4",
                      a == E2M1 ? kRowsOfPairs : kRowsOfBytes,
                      kSumsHalf,
                      Words,
                      b == E2M1 ? kColumnsOfPairs : kColumnsOfBytes,
                      "k0 k1 | m0 m1 m2 m3 -"};
  return rows;
}
static constexpr auto kScaledOfCdna5 = scaledOfCdna5();

static llvm::SmallVector<llvm::ArrayRef<MatrixInstruction>> tablesOf(AmdMatrix family) {
  switch (family) {
  case AmdMatrix::Mfma2:
    return {kHalves, kBytesOfCdna2, kF32};
  case AmdMatrix::Mfma3:
    return {kHalves, kBytes, kFnuz, kRounded, kF32};
  case AmdMatrix::Mfma4:
    return {kWideOfCdna4, kHalves, kBytes, kScaled, kFloat8, kF32};
  case AmdMatrix::Wmma3:
    return {kRdna3};
  case AmdMatrix::Wmma4:
    return {kRdna4};
  case AmdMatrix::Wmma5:
    return {kCdna5, kScaledOfCdna5};
  }
  return {};
}

llvm::SmallVector<const MatrixInstruction *> tw::amd::matrixTable(const AmdArch &arch) {
  llvm::SmallVector<const MatrixInstruction *> rows;
  for (llvm::ArrayRef<MatrixInstruction> table : tablesOf(arch.matrix))
    for (const MatrixInstruction &row : table)
      rows.push_back(&row);
  return rows;
}

static mlir::Type typeOf(mlir::MLIRContext &context, MatrixType type) {
  mlir::Builder b(&context);
  switch (type) {
  case F16:
    return b.getF16Type();
  case BF16:
    return b.getBF16Type();
  case F32:
    return b.getF32Type();
  case F64:
    return b.getF64Type();
  case XF32:
    return mlir::FloatTF32Type::get(&context);
  case I8:
    return b.getI8Type();
  case I32:
    return b.getI32Type();
  case E4M3:
    return mlir::Float8E4M3FNType::get(&context);
  case E5M2:
    return mlir::Float8E5M2Type::get(&context);
  case E4M3Fnuz:
    return mlir::Float8E4M3FNUZType::get(&context);
  case E5M2Fnuz:
    return mlir::Float8E5M2FNUZType::get(&context);
  case E2M1:
    return mlir::Float4E2M1FNType::get(&context);
  }
  return {};
}

/// The rows' text as that of columns, where these are not named apart.
static std::string columnsOf(const MatrixInstruction &row) {
  if (!row.columns.empty())
    return row.columns.str();
  std::string text = row.rows.str();
  std::replace(text.begin(), text.end(), 'm', 'n');
  return text;
}

static tile::MmaAttr attributeOf(mlir::MLIRContext &context, const MatrixInstruction &row) {
  return tile::MmaAttr::get(&context, row.m, row.n, row.k, typeOf(context, row.a),
                            typeOf(context, row.b), typeOf(context, row.sum), row.rows,
                            columnsOf(row), row.sums, row.scales);
}

/// Returns true if the table has a row with the types of `row` and with `extent` rows and columns.
static bool hasExtent(llvm::ArrayRef<const MatrixInstruction *> table, const MatrixInstruction &row,
                      unsigned extent) {
  return llvm::any_of(table, [&](const MatrixInstruction *other) {
    return other->m == extent && other->a == row.a && other->b == row.b && other->sum == row.sum;
  });
}

llvm::SmallVector<tile::MmaAttr> tw::amd::matrixInstructions(mlir::MLIRContext &context,
                                                             const AmdArch &arch, unsigned extent) {
  llvm::SmallVector<tile::MmaAttr> instructions;
  llvm::SmallVector<const MatrixInstruction *> table = matrixTable(arch);
  for (const MatrixInstruction *row : table)
    if (extent == 0 || row->m == extent || !hasExtent(table, *row, extent))
      instructions.push_back(attributeOf(context, *row));
  return instructions;
}

const MatrixInstruction *tw::amd::findMatrix(const AmdArch &arch, tile::MmaAttr instruction) {
  for (const MatrixInstruction *row : matrixTable(arch))
    if (attributeOf(*instruction.getContext(), *row) == instruction)
      return row;
  return nullptr;
}
