// The fragment maps of mma, from the figures of the PTX ISA ("Matrix Fragments for mma").
#include "backend/warpsim/core/matrix/MatrixForms.h"

using namespace tw::warpsim;

// clang-format off
static constexpr FragmentMap kC16 = {16, 8, 32, {1, 0}, {0, 2}, 2, {{{0, 1}, {8, 0}}}};
static constexpr FragmentMap kC8 = {8, 8, 32, {1, 0}, {0, 2}, 1, {{{0, 1}}}};
static constexpr FragmentMap kC16Double = {16, 8, 64, {1, 0}, {0, 2}, 2, {{{0, 1}, {8, 0}}}};
static constexpr FragmentMap kC8Double = {8, 8, 64, {1, 0}, {0, 2}, 1, {{{0, 1}}}};

static constexpr MatrixForm kForms[] = {
    // f16, bf16
    {MatrixShape::M16n8k8, 16,
     {16, 8, 16, {1, 0}, {0, 2}, 2, {{{0, 1}, {8, 0}}}},
     {8, 8, 16, {0, 1}, {2, 0}, 1, {{{1, 0}}}}, kC16},
    {MatrixShape::M16n8k16, 16,
     {16, 16, 16, {1, 0}, {0, 2}, 3, {{{0, 1}, {8, 0}, {0, 8}}}},
     {16, 8, 16, {0, 1}, {2, 0}, 2, {{{1, 0}, {8, 0}}}}, kC16},
    // tf32
    {MatrixShape::M16n8k4, 32,
     {16, 4, 32, {1, 0}, {0, 1}, 1, {{{8, 0}}}},
     {4, 8, 32, {0, 1}, {1, 0}, 0, {}}, kC16},
    {MatrixShape::M16n8k8, 32,
     {16, 8, 32, {1, 0}, {0, 1}, 2, {{{8, 0}, {0, 4}}}},
     {8, 8, 32, {0, 1}, {1, 0}, 1, {{{4, 0}}}}, kC16},
    // s8, u8, e4m3, e5m2
    {MatrixShape::M8n8k16, 8,
     {8, 16, 8, {1, 0}, {0, 4}, 2, {{{0, 1}, {0, 2}}}},
     {16, 8, 8, {0, 1}, {4, 0}, 2, {{{1, 0}, {2, 0}}}}, kC8},
    {MatrixShape::M16n8k16, 8,
     {16, 16, 8, {1, 0}, {0, 4}, 3, {{{0, 1}, {0, 2}, {8, 0}}}},
     {16, 8, 8, {0, 1}, {4, 0}, 2, {{{1, 0}, {2, 0}}}}, kC16},
    {MatrixShape::M16n8k32, 8,
     {16, 32, 8, {1, 0}, {0, 4}, 4, {{{0, 1}, {0, 2}, {8, 0}, {0, 16}}}},
     {32, 8, 8, {0, 1}, {4, 0}, 3, {{{1, 0}, {2, 0}, {16, 0}}}}, kC16},
    // s4, u4
    {MatrixShape::M8n8k32, 4,
     {8, 32, 4, {1, 0}, {0, 8}, 3, {{{0, 1}, {0, 2}, {0, 4}}}},
     {32, 8, 4, {0, 1}, {8, 0}, 3, {{{1, 0}, {2, 0}, {4, 0}}}}, kC8},
    {MatrixShape::M16n8k32, 4,
     {16, 32, 4, {1, 0}, {0, 8}, 4, {{{0, 1}, {0, 2}, {0, 4}, {8, 0}}}},
     {32, 8, 4, {0, 1}, {8, 0}, 3, {{{1, 0}, {2, 0}, {4, 0}}}}, kC16},
    {MatrixShape::M16n8k64, 4,
     {16, 64, 4, {1, 0}, {0, 8}, 5, {{{0, 1}, {0, 2}, {0, 4}, {8, 0}, {0, 32}}}},
     {64, 8, 4, {0, 1}, {8, 0}, 4, {{{1, 0}, {2, 0}, {4, 0}, {32, 0}}}}, kC16},
    // f64
    {MatrixShape::M8n8k4, 64,
     {8, 4, 64, {1, 0}, {0, 1}, 0, {}},
     {4, 8, 64, {0, 1}, {1, 0}, 0, {}}, kC8Double},
    {MatrixShape::M16n8k4, 64,
     {16, 4, 64, {1, 0}, {0, 1}, 1, {{{8, 0}}}},
     {4, 8, 64, {0, 1}, {1, 0}, 0, {}}, kC16Double},
    {MatrixShape::M16n8k8, 64,
     {16, 8, 64, {1, 0}, {0, 1}, 2, {{{8, 0}, {0, 4}}}},
     {8, 8, 64, {0, 1}, {1, 0}, 1, {{{4, 0}}}}, kC16Double},
    {MatrixShape::M16n8k16, 64,
     {16, 16, 64, {1, 0}, {0, 1}, 3, {{{8, 0}, {0, 4}, {0, 8}}}},
     {16, 8, 64, {0, 1}, {1, 0}, 2, {{{4, 0}, {8, 0}}}}, kC16Double},
};
// clang-format on

constexpr size_t kNumForms = std::size(kForms);

static consteval FragmentPositions prepare(const FragmentMap &map) {
  FragmentPositions positions = {};
  unsigned perRegister = map.bits == 64 ? 1 : 32 / map.bits, numElements = 1u << map.numElementBits;
  unsigned next = 0;
  for (unsigned first = 0; first < numElements; first += perRegister)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned element = first; element < first + perRegister; ++element)
        positions.at[next++] = uint16_t(positionOf(map, lane, element));
  return positions;
}

namespace {
struct FormPositions {
  FragmentPositions a, b, c;
};
} // namespace

static consteval std::array<FormPositions, kNumForms> prepareAll() {
  std::array<FormPositions, kNumForms> all = {};
  for (size_t i = 0; i < kNumForms; ++i)
    all[i] = {prepare(kForms[i].a), prepare(kForms[i].b), prepare(kForms[i].c)};
  return all;
}
static constexpr std::array<FormPositions, kNumForms> kPositions = prepareAll();

std::span<const MatrixForm> tw::warpsim::matrixForms() { return kForms; }

unsigned tw::warpsim::elementBitsOf(Type type) {
  switch (type) {
  case Type::S4:
  case Type::U4:
    return 4;
  case Type::TF32:
    return 32;
  default:
    return 8 * bytesOf(type);
  }
}

PreparedForm tw::warpsim::formOf(const Instruction &instruction) {
  return formOf(instruction.shape, elementBitsOf(instruction.sourceType));
}

PreparedForm tw::warpsim::formOf(MatrixShape shape, unsigned elementBits) {
  for (size_t i = 0; i < kNumForms; ++i)
    if (kForms[i].shape == shape && kForms[i].elementBits == elementBits)
      return {&kForms[i], &kPositions[i].a, &kPositions[i].b, &kPositions[i].c};
  return {};
}
