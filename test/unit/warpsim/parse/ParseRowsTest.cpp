// Every row of the instruction table, with each of its words, is parsed, printed and parsed again.
#include "backend/warpsim/ptx/InstructionTable.h"
#include "backend/warpsim/ptx/Parse.h"
#include "test/unit/warpsim/parse/ParseText.h"
#include <gtest/gtest.h>
#include <set>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

using Role = OperandRule::Role;
using TypeRule = OperandRule::TypeRule;

namespace {
/// One choice of words for the groups of a row: ".rn.f32" and what it decides.
struct Spelling {
  std::string modifiers;
  Instruction meaning;
};
} // namespace

static std::string registerFor(Type type) {
  if (type == Type::Pred)
    return "%p1";
  if (type == Type::F32 || type == Type::F64)
    return type == Type::F32 ? "%f1" : "%d1";
  if (type == Type::E2M1x2)
    return "%b1";
  switch (bytesOf(type)) {
  case 1:
  case 2:
    return "%h1";
  case 4:
    return "%r1";
  case 8:
    return "%rd1";
  default:
    return "%q1";
  }
}

static Type typeOf(const OperandRule &rule, const Instruction &meaning) {
  if (rule.typeRule == TypeRule::Fixed)
    return rule.fixed;
  if (rule.typeRule == TypeRule::OfSource)
    return meaning.sourceType;
  if (rule.typeRule == TypeRule::DoubleWidth)
    return bytesOf(meaning.type) == 2 ? Type::B32 : Type::B64;
  return meaning.type;
}

static std::string vectorOf(const std::string &reg, unsigned width) {
  if (width == 1)
    return reg;
  std::string text = "{" + reg;
  for (unsigned i = 1; i < width; ++i)
    text += ", " + reg;
  return text + "}";
}

static std::string fragmentOf(const std::string &reg, unsigned count, unsigned vectorWidth) {
  std::string text = "{" + reg;
  for (unsigned i = 1; i < (count ? count : vectorWidth); ++i)
    text += ", " + reg;
  return text + "}";
}

static std::string operandFor(const OperandRule &rule, const Instruction &meaning) {
  switch (rule.role) {
  case Role::PredicateResult:
    return rule.isSecond ? "%p2" : "%p1";
  case Role::Predicate:
    return "%p2";
  case Role::Immediate:
    return meaning.op == Op::AsyncCopy ? "16" : "128";
  case Role::Address:
    if (meaning.space != Space::Param)
      return "[%rd2+16]";
    return meaning.op == Op::St ? "[outgoing+16]" : "[kernel_param_0]";
  case Role::Vector:
    return vectorOf(registerFor(meaning.type), meaning.vectorWidth);
  case Role::Fragment:
    return fragmentOf(registerFor(typeOf(rule, meaning)), rule.count, meaning.vectorWidth);
  case Role::Accumulator:
    return fragmentOf(registerFor(accumulatorRegisterType(meaning)),
                      numAccumulatorRegisters(meaning), 1);
  case Role::MatrixA:
    return meaning.columns % 16 ? "{%r1, %r2, %r3, %r4}" : "%rd1";
  case Role::Sign:
    return "-1";
  case Role::Major:
  case Role::MajorOfA:
    return "1";
  case Role::SourceAddress:
    return "[%rd4+32]";
  case Role::BarrierAddress:
    return "[%r4+8]";
  case Role::TensorPlace:
    return "[%rd4, " + fragmentOf("%r1", meaning.vectorWidth, 1) + "]";
  case Role::CopiedSize:
    return "%r3";
  case Role::CachePolicy:
    return "%rd3";
  case Role::Label:
    return "$there";
  case Role::BranchTargets:
    return "$targets";
  case Role::Callee:
    return "callee";
  case Role::Move:
    return registerFor(meaning.type) + ", " + registerFor(meaning.type);
  case Role::Result:
  case Role::Source:
    break;
  }
  return registerFor(typeOf(rule, meaning));
}

/// `withOptional`: whether optional operands are written.
static std::string statement(const InstructionRow &row, const Spelling &spelling,
                             bool withOptional) {
  std::string text = std::string(row.text.opcode) + spelling.modifiers, separator = " ";
  bool hasPolicy = spelling.modifiers.find("cache_hint") != std::string::npos;
  for (const OperandRule &rule : row.operands) {
    bool isLeftOut = rule.role == Role::MajorOfA && spelling.meaning.columns % 16;
    if (isLeftOut || (rule.isOptional && !withOptional) ||
        (rule.role == Role::CachePolicy && !hasPolicy))
      continue;
    text += (rule.isSecond ? "|" : separator) + operandFor(rule, spelling.meaning);
    separator = ", ";
  }
  return text + ";";
}

/// Too wide for a register pair: `.v8.b64`.
static bool isPossible(const Instruction &meaning) {
  unsigned bytes = meaning.vectorWidth * bytesOf(meaning.type);
  return meaning.vectorWidth == 1 || bytes <= 16 || (bytes == 32 && meaning.vectorWidth >= 4);
}

/// Group `varied` takes each of its words (and none if it may), the others their first word; those
/// that are optional are left out, or all there.
static std::vector<Spelling> spellings(const InstructionRow &row, size_t varied,
                                       bool withOptional) {
  std::vector<Spelling> made;
  size_t numWords = row.groups.empty() ? 1 : row.groups[varied].words.size();
  for (size_t word = 0; word < numWords; ++word) {
    Spelling spelling;
    spelling.meaning.op = row.text.op;
    for (size_t g = 0; g < row.groups.size(); ++g) {
      const ModifierGroup &group = row.groups[g];
      if (g != varied && group.isOptional && !withOptional)
        continue;
      std::string_view text = group.words[g == varied ? word : 0];
      spelling.modifiers += "." + std::string(text);
      setModifier(spelling.meaning, group.kind, text);
    }
    if (isPossible(spelling.meaning))
      made.push_back(spelling);
  }
  return made;
}

static std::set<std::string> statementsOf(const InstructionRow &row) {
  std::set<std::string> statements;
  for (size_t varied = 0; varied < std::max<size_t>(row.groups.size(), 1); ++varied)
    for (bool withOptional : {false, true})
      for (const Spelling &spelling : spellings(row, varied, withOptional))
        for (bool withOperands : {false, true})
          statements.insert(statement(row, spelling, withOperands));
  return statements;
}

static std::string surrounded(const std::string &statement, const char *target = "sm_100") {
  std::string text = ptxText("$targets: .branchtargets $there, $there;\n"
                             ".param .align 16 .b8 outgoing[64];\n" +
                             statement + "\ncall taker, (outgoing);\n$there: ret;\n");
  return text.replace(text.find("sm_80"), 5, target);
}

/// A target that has the instruction.
static const char *targetOf(const InstructionRow &row) {
  return row.text.isSpecific ? "sm_90a" : "sm_100";
}

static const Instruction &instructionOf(const Program &program) {
  return program.code[size_t(program.functions.back().begin)];
}

TEST(ParseRows, EveryRowIsParsedAndPrintedInItsOwnWords) {
  size_t numStatements = 0;
  for (const InstructionRow &row : InstructionTable::get().rows())
    for (const std::string &text : statementsOf(row)) {
      SCOPED_TRACE(text);
      ParseError error;
      std::optional<Program> program = parsePtx(surrounded(text, targetOf(row)), error);
      ASSERT_TRUE(program) << error.line << ": " << error.message;
      const Instruction &instruction = instructionOf(*program);
      EXPECT_EQ(instruction.op, row.text.op);
      std::string printed = printInstruction(*program, instruction);
      ++numStatements;
      bool isBranch = row.text.op == Op::Bra || row.text.op == Op::BrxIdx;
      if (isBranch)
        continue; // printed with lines, not labels
      // The policy is checked, but not kept.
      bool hasPolicy = text.find("cache_hint") != std::string::npos;
      std::optional<Program> again =
          parsePtx(surrounded(printed + (hasPolicy ? ", %rd3;" : ";"), targetOf(row)), error);
      ASSERT_TRUE(again) << printed << ": " << error.message;
      EXPECT_EQ(printInstruction(*again, instructionOf(*again)), printed);
      EXPECT_EQ(instructionOf(*again).columns, instruction.columns);
      EXPECT_EQ(instructionOf(*again).depth, instruction.depth);
      EXPECT_EQ(instructionOf(*again).type, instruction.type);
      EXPECT_EQ(instructionOf(*again).sources.size(), instruction.sources.size());
      EXPECT_EQ(instructionOf(*again).order, instruction.order);
      EXPECT_EQ(instructionOf(*again).isAligned, instruction.isAligned);
    }
  EXPECT_GT(numStatements, 1500u);
}

TEST(ParseRows, AnUnknownWordAnywhereInARowIsRefused) {
  for (const InstructionRow &row : InstructionTable::get().rows()) {
    for (size_t at = 0; at <= row.groups.size(); ++at) {
      std::string text(row.text.opcode);
      for (size_t g = 0; g <= row.groups.size(); ++g) {
        if (g == at)
          text += ".bogus";
        if (g < row.groups.size())
          text += "." + std::string(row.groups[g].words.front());
      }
      ParseError error;
      ASSERT_FALSE(parsePtx(surrounded(text + " %r1;"), error)) << text;
      EXPECT_EQ(error.message, "unknown modifier .bogus of " + std::string(row.text.opcode));
    }
  }
}
