// Every instruction on registers that the parser accepts can be executed, but for a few named ones.
#include "backend/warpsim/ptx/InstructionTable.h"
#include "test/unit/warpsim/execute/ExecuteHarness.h"

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;
using namespace tw::warpsim::test;

using Role = OperandRule::Role;
using TypeRule = OperandRule::TypeRule;

static Type typeOfOperand(const OperandRule &rule, const Instruction &meaning) {
  switch (rule.typeRule) {
  case TypeRule::Fixed:
    return rule.fixed;
  case TypeRule::OfSource:
    return meaning.sourceType;
  case TypeRule::DoubleWidth:
    return bytesOf(meaning.type) == 2 ? Type::B32 : Type::B64;
  default:
    return meaning.type;
  }
}

static void addOperand(Instruction &instruction, const OperandRule &rule) {
  Operand value = registerOperand(typeOfOperand(rule, instruction), 0);
  switch (rule.role) {
  case Role::Result:
    return instruction.results.push_back(value);
  case Role::PredicateResult:
    return instruction.results.push_back(registerOperand(Type::Pred, 0));
  case Role::Predicate:
    return instruction.sources.push_back(registerOperand(Type::Pred, 0));
  case Role::Immediate:
    return instruction.sources.push_back(immediateOperand(0));
  case Role::Move:
    instruction.results.push_back(value);
    return instruction.sources.push_back(value);
  default:
    return instruction.sources.push_back(value);
  }
}

/// All choices of words for the groups from `group` on, as instructions without operands.
static void spell(const InstructionRow &row, size_t group, Instruction meaning, std::string text,
                  std::vector<std::pair<std::string, Instruction>> &spelled) {
  if (group == row.groups.size())
    return spelled.emplace_back(text, meaning), void();
  const ModifierGroup &choices = row.groups[group];
  if (choices.isOptional)
    spell(row, group + 1, meaning, text, spelled);
  for (std::string_view word : choices.words) {
    Instruction chosen = meaning;
    setModifier(chosen, choices.kind, word);
    spell(row, group + 1, chosen, text + "." + std::string(word), spelled);
  }
}

/// What has no meaning in the simulator's address space, and is refused with a report.
static bool isRefused(const Instruction &instruction) {
  return (instruction.op == Op::Cvta && instruction.type == Type::U32) ||
         (instruction.op == Op::Isspacep && instruction.space == Space::Const);
}

TEST(ExecuteCoverage, EveryInstructionOnRegistersHasAHandler) {
  size_t numForms = 0;
  for (const InstructionRow &row : InstructionTable::get().rows()) {
    if (row.text.op >= Op::FirstOfCore)
      continue;
    std::vector<std::pair<std::string, Instruction>> spelled;
    spell(row, 0, makeInstruction(row.text.op, Type::None), std::string(row.text.opcode), spelled);
    for (auto &[text, instruction] : spelled) {
      for (const OperandRule &rule : row.operands)
        addOperand(instruction, rule);
      EXPECT_EQ(findHandler(instruction) == nullptr, isRefused(instruction)) << text;
      ++numForms;
    }
  }
  EXPECT_GT(numForms, 2000u);
}
