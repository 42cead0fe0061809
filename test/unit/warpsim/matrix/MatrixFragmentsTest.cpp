// The fragment maps of mma: each a bijection, and what the PTX ISA's formulas say.
#include "backend/warpsim/core/matrix/MatrixForms.h"
#include "backend/warpsim/ptx/InstructionTable.h"
#include "test/unit/warpsim/matrix/MatrixLayouts.h"
#include <gtest/gtest.h>
#include <set>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

static void expectBijection(const FragmentMap &map) {
  std::set<unsigned> positions;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned element = 0; element < map.numElements(); ++element)
      EXPECT_TRUE(positions.insert(positionOf(map, lane, element)).second);
  EXPECT_EQ(positions.size(), size_t(map.rows) * map.columns);
  EXPECT_LT(*positions.rbegin(), unsigned(map.rows) * map.columns);
}

template <typename Formula> static void expectFormula(const FragmentMap &map, Formula formula) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned element = 0; element < map.numElements(); ++element) {
      unsigned at = positionOf(map, lane, element);
      EXPECT_EQ((Element{at / map.columns, at % map.columns}), formula(lane, element))
          << "lane " << lane << ", element " << element;
    }
}

TEST(MatrixFragments, EveryElementIsInOnePlace) {
  EXPECT_EQ(matrixForms().size(), 14u);
  for (const MatrixForm &form : matrixForms())
    for (const FragmentMap &map : {form.a, form.b, form.c})
      expectBijection(map);
}

TEST(MatrixFragments, AreThoseOfThePtxIsa) {
  for (const MatrixForm &form : matrixForms()) {
    SCOPED_TRACE("shape " + std::to_string(int(form.shape)) + ", " +
                 std::to_string(form.elementBits) + " bits");
    expectFormula(form.a, [&](unsigned lane, unsigned i) {
      return elementOfA(form.shape, form.elementBits, lane, i);
    });
    expectFormula(form.b, [&](unsigned lane, unsigned i) {
      return elementOfB(form.shape, form.elementBits, lane, i);
    });
    expectFormula(form.c,
                  [&](unsigned lane, unsigned i) { return elementOfC(form.shape, lane, i); });
  }
}

TEST(MatrixFragments, EveryInstructionHasAFormOfItsRegisters) {
  size_t numRows = 0;
  for (const InstructionRow &row : InstructionTable::get().rows()) {
    if (row.text.op != Op::Mma)
      continue;
    ++numRows;
    Instruction meaning;
    meaning.op = Op::Mma;
    for (const ModifierGroup &group : row.groups)
      setModifier(meaning, group.kind, group.words.front());
    PreparedForm prepared = formOf(meaning);
    ASSERT_TRUE(prepared.form) << row.text.modifiers;
    unsigned numC = prepared.form->c.numRegisters() / (meaning.type == Type::F16 ? 2 : 1);
    ASSERT_EQ(row.operands.size(), 4u);
    EXPECT_EQ(row.operands[0].count, numC) << row.text.modifiers;
    EXPECT_EQ(row.operands[1].count, prepared.form->a.numRegisters()) << row.text.modifiers;
    EXPECT_EQ(row.operands[2].count, prepared.form->b.numRegisters()) << row.text.modifiers;
    EXPECT_EQ(row.operands[3].count, numC) << row.text.modifiers;
  }
  EXPECT_EQ(numRows, 22u);
}
