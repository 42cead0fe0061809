// Every matrix instruction of Intel's GPUs: LLVM makes it on the machine whose row it is, and
// products of products need no move.
#include "backend/compile/Compiler.h"
#include "backend/spirv/LowerSpirv.h"
#include "backend/spirv/SpirvTarget.h"
#include "backend/spirv/machine/SpirvMatrices.h"
#include "ir/simt/MmaLayouts.h"
#include "test/unit/backend/FragmentKernel.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tw;
using simt::MmaOperand;

static constexpr uint32_t kProduct = 6237; // OpSubgroupMatrixMultiplyAccumulateINTEL

/// The operands of each product in a module.
static std::vector<std::vector<uint32_t>> productsIn(const std::string &module) {
  std::vector<uint32_t> words(module.size() / 4);
  memcpy(words.data(), module.data(), words.size() * 4);
  std::vector<std::vector<uint32_t>> products;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16)
    if ((words[at] & 0xffff) == kProduct)
      products.emplace_back(words.begin() + at + 1, words.begin() + at + (words[at] >> 16));
  return products;
}

static std::string moduleOf(const SpirvArch &arch, tile::MmaAttr row, std::string &error) {
  return codeOfFragment(row, describeSpirv(*row.getContext(), arch), createLowerSpirv(arch),
                        *makeSpirvTarget(arch.name.str()), error);
}

TEST(SpirvMatrix, EveryRowIsAnInstructionOfItsMachine) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  size_t numRows = 0;
  for (const SpirvArch &arch : spirvArchTable())
    for (tile::MmaAttr row : spirv::matrixInstructions(*context, arch)) {
      ++numRows;
      std::optional<spirv::MatrixInstruction> made = spirv::findMatrix(arch, row);
      ASSERT_TRUE(made.has_value()) << arch.name.str();
      std::string error, module = moduleOf(arch, row, error);
      EXPECT_EQ(error, "") << arch.name.str();
      std::vector<std::vector<uint32_t>> products = productsIn(module);
      ASSERT_EQ(products.size(), 1u) << arch.name.str();
      // Type, result, K, A, B, C, flags.
      ASSERT_EQ(products[0].size(), 7u);
      EXPECT_EQ(products[0][6], made->operands);
    }
  EXPECT_EQ(numRows, 6u * 4 + 2 * 7 * 4);
}

TEST(SpirvMatrix, InstructionsOfOtherMachinesAreNotTaken) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  const SpirvArch &small = *findSpirvArch("xe-hpg"), &large = *findSpirvArch("xe-hpc");
  for (tile::MmaAttr row : spirv::matrixInstructions(*context, large)) {
    EXPECT_FALSE(spirv::findMatrix(small, row).has_value());
    EXPECT_FALSE(spirv::findMatrix(*findSpirvArch("generic16"), row).has_value());
  }
}

TEST(SpirvMatrix, SumsAreRowsOfTheNextProductWithoutAMove) {
  std::shared_ptr<MLIRContext> context = acquireThreadContext();
  context->loadDialect<tile::TileDialect, simt::SimtDialect>();
  for (const char *name : {"xe-hpg", "xe2", "xe-hpc"})
    for (tile::MmaAttr row : spirv::matrixInstructions(*context, *findSpirvArch(name))) {
      if (!row.getA().isF16() || row.getM() == 1)
        continue;
      int64_t extent = std::max<int64_t>(row.getN(), row.getK());
      LinearLayout sums =
          simt::mmaLayout(row, MmaOperand::Accumulator, {row.getM(), extent}, {1, 1});
      LinearLayout rows = simt::mmaLayout(row, MmaOperand::A, {row.getM(), extent}, {1, 1});
      EXPECT_TRUE(rows.registersFrom(sums).has_value()) << name << " " << row.getM();
    }
}
