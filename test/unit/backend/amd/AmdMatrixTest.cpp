// Every matrix instruction of AMD's GPUs: LLVM takes it on the machine whose row it is, and its
// fragments have as many registers as it wants.
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/machine/AmdMatrices.h"
#include "backend/compile/Compiler.h"
#include "ir/simt/MmaLayouts.h"
#include "test/unit/backend/FragmentKernel.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tw;
using simt::MmaOperand;

static std::string assemblyOf(const AmdArch &arch, tile::MmaAttr row, std::string &error) {
  return codeOfFragment(row, describeAmd(*row.getContext(), arch), createLowerAmd(arch),
                        *makeAmdTarget(arch.name.str()), error);
}

TEST(AmdMatrix, EveryRowIsAnInstructionOfItsMachine) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  for (const AmdArch &arch : amdArchTable())
    for (const amd::MatrixInstruction *row : amd::matrixTable(arch)) {
      tile::MmaAttr instruction;
      for (tile::MmaAttr other : amd::matrixInstructions(*context, arch))
        if (amd::findMatrix(arch, other) == row)
          instruction = other;
      ASSERT_TRUE(instruction) << row->intrinsic.str();
      std::string error, assembly = assemblyOf(arch, instruction, error);
      EXPECT_EQ(error, "") << arch.name.str() << " " << row->intrinsic.str();
      std::string name = row->intrinsic.starts_with("mfma") ? "v_mfma_" : "v_wmma_";
      size_t first = assembly.find(name);
      EXPECT_NE(first, std::string::npos) << arch.name.str() << " " << row->intrinsic.str();
      EXPECT_EQ(assembly.find(name, first + 1), std::string::npos) << row->intrinsic.str();
    }
}

TEST(AmdMatrix, SumsAreRowsOfTheNextProductWithoutAMove) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  for (const char *name : {"gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250"})
    for (tile::MmaAttr row : amd::matrixInstructions(*context, *findAmdArch(name))) {
      if (!row.getA().isF16())
        continue;
      // A product of M x N that is multiplied by another of N rows: K of that is N of this.
      int64_t extent = std::max<int64_t>(row.getN(), row.getK());
      LinearLayout sums =
          simt::mmaLayout(row, MmaOperand::Accumulator, {row.getM(), extent}, {1, 1});
      LinearLayout rows = simt::mmaLayout(row, MmaOperand::A, {row.getM(), extent}, {1, 1});
      EXPECT_TRUE(rows.registersFrom(sums).has_value()) << name << " " << row.getM();
    }
}
