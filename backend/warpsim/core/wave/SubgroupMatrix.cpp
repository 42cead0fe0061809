// The products of Intel's subgroups, as OpenCL describes them: where each element of their operands
// lies (cl_intel_subgroup_matrix_multiply_accumulate, "Matrix Multiply Accumulate", and its tf32
// sibling).
#include "backend/warpsim/core/wave/MatrixTable.h"
#include <algorithm>

using namespace tw::warpsim;
using enum MatrixElement;

static constexpr MatrixRow kTypes[] = {
    {"subgroup.f16", F16, F16, F32, "", "", "", ""},
    {"subgroup.bf16", BF16, BF16, F32, "", "", "", ""},
    {"subgroup.tf32", XF32, XF32, F32, "", "", "", ""},
    {"subgroup.i8", I8, I8, I8, "", "", "", ""},
};
static constexpr unsigned kSubgroups[] = {8, 16}, kMostRows = 8;
/// Bits of a row of A and of a column of B.
static constexpr unsigned kDepthBits = 256;

/// Row after row, A fills the components of one lane after the other, and then the next component
/// of all lanes. A lane has one column of B, C and the result.
static std::unique_ptr<MatrixLayout> layOut(const MatrixRow &row, unsigned lanes, unsigned rows) {
  auto layout = std::make_unique<MatrixLayout>();
  unsigned bits = bitsOf(row.a), componentBits = std::max(kDepthBits / lanes, bits);
  unsigned packed = componentBits / bits, across = lanes * packed;
  layout->row = &row;
  layout->lanes = lanes;
  layout->rows = rows;
  layout->columns = lanes;
  layout->depth = kDepthBits / bits;
  unsigned perLane = std::max(1u, rows * layout->depth / across) * packed;
  for (unsigned element = 0; element < perLane; ++element)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      unsigned number = element / packed * across + lane * packed + element % packed;
      bool isThere = number < rows * layout->depth;
      layout->aAt.push_back(isThere ? uint16_t(number) : MatrixLayout::kNowhere);
    }
  for (unsigned k = 0; k < layout->depth; ++k)
    for (unsigned lane = 0; lane < lanes; ++lane)
      layout->bAt.push_back(uint16_t(k * lanes + lane));
  for (unsigned m = 0; m < rows; ++m)
    for (unsigned lane = 0; lane < lanes; ++lane)
      layout->dAt.push_back(uint16_t(m * lanes + lane));
  return layout;
}

std::vector<std::unique_ptr<MatrixLayout>> tw::warpsim::subgroupLayouts() {
  std::vector<std::unique_ptr<MatrixLayout>> layouts;
  for (const MatrixRow &row : kTypes)
    for (unsigned lanes : kSubgroups)
      for (unsigned rows = 1; rows <= kMostRows; rows *= 2)
        layouts.push_back(layOut(row, lanes, rows));
  return layouts;
}
