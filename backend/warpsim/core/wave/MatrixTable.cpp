// The matrix instructions as data (LLVM, IntrinsicsAMDGPU.td; layouts: "AMD matrix instruction
// calculator" and the instruction set manuals of CDNA3, CDNA4, RDNA3 and RDNA4; of gfx1250, the
// emulator rocjitsu, isa/arch/amdgpu/shared/mma/layout.h, which cites section 7.12.2 of CDNA5's).
#include "backend/warpsim/core/wave/MatrixTable.h"
#include <algorithm>

using namespace tw::warpsim;
using enum MatrixElement;

// Layouts that many share: A's registers and lanes, then D's.
#define TW_MFMA32_SUMS(registers, lanes) registers, lanes, "m0 m1 m3 m4", "n0 n1 n2 n3 n4 m2"
#define TW_MFMA16_SUMS(registers, lanes) registers, lanes, "m0 m1", "n0 n1 n2 n3 m2 m3"
#define TW_MFMA32(registers, lanes) TW_MFMA32_SUMS(registers, "m0 m1 m2 m3 m4 " lanes)
#define TW_MFMA16(registers, lanes) TW_MFMA16_SUMS(registers, "m0 m1 m2 m3 " lanes)
#define TW_WMMA11 "k0 k1 k2 k3", "m0 m1 m2 m3 -", "m1 m2 m3", "n0 n1 n2 n3 m0"
#define TW_WMMA12(registers, lanes) registers, "m0 m1 m2 m3 " lanes, "m0 m1 m2", "n0 n1 n2 n3 m3"

static constexpr MatrixRow kRows[] = {
    {"mfma.f32.32x32x8f16", F16, F16, F32, TW_MFMA32("k0 k1", "k2")},
    {"mfma.f32.32x32x8bf16.1k", BF16, BF16, F32, TW_MFMA32("k0 k1", "k2")},
    {"mfma.f32.16x16x16f16", F16, F16, F32, TW_MFMA16("k0 k1", "k2 k3")},
    {"mfma.f32.16x16x16bf16.1k", BF16, BF16, F32, TW_MFMA16("k0 k1", "k2 k3")},
    {"mfma.f32.32x32x16.f16", F16, F16, F32, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.f32.32x32x16.bf16", BF16, BF16, F32, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.f32.16x16x32.f16", F16, F16, F32, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"mfma.f32.16x16x32.bf16", BF16, BF16, F32, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"mfma.f32.32x32x2f32", F32, F32, F32, TW_MFMA32("", "k0")},
    {"mfma.f32.16x16x4f32", F32, F32, F32, TW_MFMA16("", "k0 k1")},
    {"mfma.f32.32x32x4.xf32", XF32, XF32, F32, TW_MFMA32("k0", "k1")},
    {"mfma.f32.16x16x8.xf32", XF32, XF32, F32, TW_MFMA16("k0", "k1 k2")},
    {"mfma.f64.16x16x4f64", F64, F64, F64, "", "m0 m1 m2 m3 k0 k1", "m2 m3", "n0 n1 n2 n3 m0 m1"},
    {"mfma.i32.32x32x8i8", I8, I8, I8, TW_MFMA32("k0 k1", "k2")},
    {"mfma.i32.16x16x16i8", I8, I8, I8, TW_MFMA16("k0 k1", "k2 k3")},
    {"mfma.i32.32x32x16.i8", I8, I8, I8, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.i32.16x16x32.i8", I8, I8, I8, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"mfma.i32.32x32x32.i8", I8, I8, I8, TW_MFMA32("k0 k1 k2 k3", "k4")},
    {"mfma.i32.16x16x64.i8", I8, I8, I8, TW_MFMA16("k0 k1 k2 k3", "k4 k5")},
    {"mfma.f32.32x32x16.fp8.fp8", Fp8, Fp8, F32, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.f32.32x32x16.fp8.bf8", Fp8, Bf8, F32, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.f32.32x32x16.bf8.fp8", Bf8, Fp8, F32, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.f32.32x32x16.bf8.bf8", Bf8, Bf8, F32, TW_MFMA32("k0 k1 k2", "k3")},
    {"mfma.f32.16x16x32.fp8.fp8", Fp8, Fp8, F32, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"mfma.f32.16x16x32.fp8.bf8", Fp8, Bf8, F32, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"mfma.f32.16x16x32.bf8.fp8", Bf8, Fp8, F32, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"mfma.f32.16x16x32.bf8.bf8", Bf8, Bf8, F32, TW_MFMA16("k0 k1 k2", "k3 k4")},
    {"wmma.f32.16x16x16.f16.v8f32.v16f16", F16, F16, F32, TW_WMMA11},
    {"wmma.f32.16x16x16.bf16.v8f32.v16i16", BF16, BF16, F32, TW_WMMA11},
    {"wmma.f16.16x16x16.f16.v16f16.v16f16", F16, F16, F16, TW_WMMA11, true},
    {"wmma.bf16.16x16x16.bf16.v16i16.v16i16", BF16, BF16, BF16, TW_WMMA11, true},
    {"wmma.i32.16x16x16.iu8.v8i32.v4i32", I8, I8, I8, TW_WMMA11},
    {"wmma.i32.16x16x16.iu4.v8i32.v2i32", I4, I4, I8, TW_WMMA11},
    {"wmma.f32.16x16x16.f16.v8f32.v8f16", F16, F16, F32, TW_WMMA12("k0 k1 k3", "k2")},
    {"wmma.f32.16x16x16.bf16.v8f32.v8i16", BF16, BF16, F32, TW_WMMA12("k0 k1 k3", "k2")},
    {"wmma.f32.16x16x16.bf16.v8f32.v8bf16", BF16, BF16, F32, TW_WMMA12("k0 k1 k3", "k2")},
    {"wmma.f16.16x16x16.f16.v8f16.v8f16", F16, F16, F16, TW_WMMA12("k0 k1 k3", "k2")},
    {"wmma.bf16.16x16x16.bf16.v8i16.v8i16", BF16, BF16, BF16, TW_WMMA12("k0 k1 k3", "k2")},
    {"wmma.bf16.16x16x16.bf16.v8bf16.v8bf16", BF16, BF16, BF16, TW_WMMA12("k0 k1 k3", "k2")},
    {"wmma.i32.16x16x16.iu8.v8i32.v2i32", I8, I8, I8, TW_WMMA12("k0 k1 k2", "k3")},
    {"wmma.f32.16x16x16.fp8.fp8.v8f32.v2i32", Fp8, Fp8, F32, TW_WMMA12("k0 k1 k2", "k3")},
    {"wmma.f32.16x16x16.fp8.bf8.v8f32.v2i32", Fp8, Bf8, F32, TW_WMMA12("k0 k1 k2", "k3")},
    {"wmma.f32.16x16x16.bf8.fp8.v8f32.v2i32", Bf8, Fp8, F32, TW_WMMA12("k0 k1 k2", "k3")},
    {"wmma.f32.16x16x16.bf8.bf8.v8f32.v2i32", Bf8, Bf8, F32, TW_WMMA12("k0 k1 k2", "k3")},
    {"wmma.f32.16x16x4.f32.v8f32.v2f32", F32, F32, F32, TW_WMMA12("k0", "k1")},
    {"wmma.f32.16x16x32.f16.v8f32.v16f16", F16, F16, F32, TW_WMMA12("k0 k1 k2 k4", "k3")},
    {"wmma.f32.16x16x32.bf16.v8f32.v16bf16", BF16, BF16, F32, TW_WMMA12("k0 k1 k2 k4", "k3")},
    {"wmma.i32.16x16x64.iu8.v8i32.v8i32", I8, I8, I8, TW_WMMA12("k0 k1 k2 k3 k5", "k4")},
    {"wmma.f32.16x16x64.fp8.fp8.v8f32.v8i32", Fp8, Fp8, F32, TW_WMMA12("k0 k1 k2 k3 k5", "k4")},
    {"wmma.f32.16x16x64.fp8.bf8.v8f32.v8i32", Fp8, Bf8, F32, TW_WMMA12("k0 k1 k2 k3 k5", "k4")},
    {"wmma.f32.16x16x64.bf8.fp8.v8f32.v8i32", Bf8, Fp8, F32, TW_WMMA12("k0 k1 k2 k3 k5", "k4")},
    {"wmma.f32.16x16x64.bf8.bf8.v8f32.v8i32", Bf8, Bf8, F32, TW_WMMA12("k0 k1 k2 k3 k5", "k4")},
    {"wmma.f32.16x16x128.fp8.fp8.v8f32.v16i32", Fp8, Fp8, F32,
     TW_WMMA12("k0 k1 k2 k3 k5 k6", "k4")},
    {"wmma.f32.16x16x128.fp8.bf8.v8f32.v16i32", Fp8, Bf8, F32,
     TW_WMMA12("k0 k1 k2 k3 k5 k6", "k4")},
    {"wmma.f32.16x16x128.bf8.fp8.v8f32.v16i32", Bf8, Fp8, F32,
     TW_WMMA12("k0 k1 k2 k3 k5 k6", "k4")},
    {"wmma.f32.16x16x128.bf8.bf8.v8f32.v16i32", Bf8, Bf8, F32,
     TW_WMMA12("k0 k1 k2 k3 k5 k6", "k4")},
};
#undef TW_MFMA32
#undef TW_MFMA16
#undef TW_WMMA11
#undef TW_WMMA12

namespace {
/// An operand of the instructions with scales, of 32 and of 16 rows: a lane has two runs of 16
/// neighbours of 8 bits, or 32 neighbours of 4 bits.
struct ScaledOperand {
  const char *name;
  MatrixElement element;
  const char *registers32, *lanes32, *registers16, *lanes16;
  const char *registersOfWmma, *lanesOfWmma;
};
} // namespace
static constexpr ScaledOperand kScaledOperands[] = {
    {".fp8", Fp8, "k0 k1 k2 k3 k5", "m0 m1 m2 m3 m4 k4", "k0 k1 k2 k3 k6", "m0 m1 m2 m3 k4 k5",
     "k0 k1 k2 k3 k5 k6", "m0 m1 m2 m3 k4"},
    {".bf8", Bf8, "k0 k1 k2 k3 k5", "m0 m1 m2 m3 m4 k4", "k0 k1 k2 k3 k6", "m0 m1 m2 m3 k4 k5",
     "k0 k1 k2 k3 k5 k6", "m0 m1 m2 m3 k4"},
    {".fp4", Fp4, "k0 k1 k2 k3 k4", "m0 m1 m2 m3 m4 k5", "k0 k1 k2 k3 k4", "m0 m1 m2 m3 k5 k6",
     "k0 k1 k2 k3 k4 k6", "m0 m1 m2 m3 k5"},
};

/// All rows: those above, and those with scales for each pair of formats.
static const std::vector<MatrixRow> &allRows() {
  static std::vector<std::string> names; // which the rows point into
  static const std::vector<MatrixRow> all = [] {
    std::vector<MatrixRow> rows(std::begin(kRows), std::end(kRows));
    names.reserve(3 * std::size(kScaledOperands) * std::size(kScaledOperands));
    auto nameOf = [&](const char *shape, const ScaledOperand &a, const ScaledOperand &b) {
      names.push_back(std::string(shape) + ".f8f6f4" + a.name + b.name);
      return std::string_view(names.back());
    };
    for (const ScaledOperand &a : kScaledOperands)
      for (const ScaledOperand &b : kScaledOperands) {
        rows.push_back({nameOf("mfma.scale.f32.32x32x64", a, b), a.element, b.element, F32,
                        TW_MFMA32_SUMS(a.registers32, a.lanes32), false, b.registers32, b.lanes32,
                        "m0 m1 m2 m3 m4 k0"});
        rows.push_back({nameOf("mfma.scale.f32.16x16x128", a, b), a.element, b.element, F32,
                        TW_MFMA16_SUMS(a.registers16, a.lanes16), false, b.registers16, b.lanes16,
                        "m0 m1 m2 m3 k0 k1"});
        rows.push_back({nameOf("wmma.scale.f32.16x16x128", a, b), a.element, b.element, F32,
                        a.registersOfWmma, a.lanesOfWmma, "m0 m1 m2", "n0 n1 n2 n3 m3", false,
                        b.registersOfWmma, b.lanesOfWmma, "m0 m1 m2 m3", "k0 k1"});
      }
    return rows;
  }();
  return all;
}
#undef TW_MFMA32_SUMS
#undef TW_MFMA16_SUMS

unsigned tw::warpsim::bitsOf(MatrixElement element) {
  switch (element) {
  case I4:
  case Fp4:
    return 4;
  case I8:
  case Fp8:
  case Bf8:
    return 8;
  case F16:
  case BF16:
    return 16;
  case F64:
    return 64;
  default:
    return 32;
  }
}

int32_t tw::warpsim::findMatrixRow(std::string_view intrinsic) {
  const std::vector<MatrixRow> &rows = allRows();
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].intrinsic == intrinsic)
      return int32_t(i);
  return -1;
}

namespace {
/// The place of one element: a row and a depth for A, a row and a column for D.
struct Place {
  unsigned m = 0, n = 0, k = 0;
};
/// The bit that each bit of an element's or a lane's number stands for.
using Bases = std::vector<Place>;
} // namespace

static Bases parseBases(std::string_view text) {
  Bases bases;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    Place place;
    unsigned bit = word.size() == 2 ? 1u << (word[1] - '0') : 0;
    (word[0] == 'm' ? place.m : word[0] == 'n' ? place.n : place.k) = bit;
    bases.push_back(place);
  }
  return bases;
}

static Place placeOf(const Bases &registers, const Bases &lanes, unsigned element, unsigned lane) {
  Place place;
  auto add = [&](const Bases &bases, unsigned number) {
    for (size_t bit = 0; bit < bases.size(); ++bit)
      if (number >> bit & 1) {
        place.m |= bases[bit].m;
        place.n |= bases[bit].n;
        place.k |= bases[bit].k;
      }
  };
  add(registers, element);
  add(lanes, lane);
  return place;
}

static std::unique_ptr<MatrixLayout> layOut(const MatrixRow &row) {
  auto layout = std::make_unique<MatrixLayout>();
  layout->row = &row;
  Bases aRegisters = parseBases(row.aRegisters), aLanes = parseBases(row.aLanes);
  Bases bRegisters = row.bRegisters ? parseBases(row.bRegisters) : aRegisters;
  Bases bLanes = row.bLanes ? parseBases(row.bLanes) : aLanes;
  Bases dRegisters = parseBases(row.dRegisters), dLanes = parseBases(row.dLanes);
  layout->lanes = 1u << aLanes.size();
  layout->hasCopies = std::string_view(row.aLanes).ends_with('-');
  for (const Bases *bases : {&aRegisters, &aLanes})
    for (const Place &place : *bases) {
      layout->rows <<= place.m != 0;
      layout->depth <<= place.k != 0;
    }
  layout->columns = layout->rows;
  for (unsigned element = 0; element < 1u << aRegisters.size(); ++element)
    for (unsigned lane = 0; lane < layout->lanes; ++lane) {
      Place place = placeOf(aRegisters, aLanes, element, lane);
      layout->aAt.push_back(uint16_t(place.m * layout->depth + place.k));
      place = placeOf(bRegisters, bLanes, element, lane);
      layout->bAt.push_back(uint16_t(place.k * layout->columns + place.m));
    }
  if (row.scaleLanes) {
    Bases bytes = parseBases(row.scaleBytes), lanes = parseBases(row.scaleLanes);
    layout->scaleLanes = 1u << lanes.size();
    for (unsigned byte = 0; byte < 1u << bytes.size(); ++byte)
      for (unsigned lane = 0; lane < layout->scaleLanes; ++lane) {
        Place place = placeOf(bytes, lanes, byte, lane);
        layout->scaleAt.push_back(uint16_t(place.m * (layout->depth / kScaledGroup) + place.k));
      }
  }
  for (unsigned element = 0; element < 1u << dRegisters.size(); ++element)
    for (unsigned lane = 0; lane < layout->lanes; ++lane) {
      Place place = placeOf(dRegisters, dLanes, element, lane);
      layout->dAt.push_back(uint16_t(place.m * layout->columns + place.n));
    }
  return layout;
}

/// Those of the rows, and behind them those of Intel's subgroups.
static const std::vector<std::unique_ptr<MatrixLayout>> &allLayouts() {
  static const std::vector<std::unique_ptr<MatrixLayout>> layouts = [] {
    std::vector<std::unique_ptr<MatrixLayout>> all;
    for (const MatrixRow &each : allRows())
      all.push_back(layOut(each));
    for (std::unique_ptr<MatrixLayout> &each : subgroupLayouts())
      all.push_back(std::move(each));
    return all;
  }();
  return layouts;
}

const MatrixLayout &tw::warpsim::matrixLayout(int32_t row) { return *allLayouts()[size_t(row)]; }

int32_t tw::warpsim::findSubgroupMatrix(MatrixElement element, unsigned lanes, unsigned rows) {
  const auto &layouts = allLayouts();
  for (size_t i = allRows().size(); i < layouts.size(); ++i)
    if (layouts[i]->row->a == element && layouts[i]->lanes == lanes && layouts[i]->rows == rows)
      return int32_t(i);
  return -1;
}
