// Whole texts of real compilers are parsed; cut and changed ones never crash the parser.
#include "test/unit/DrawnSeed.h"
#include "test/unit/warpsim/parse/ParseText.h"
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace tw::warpsim;

static std::filesystem::path goldenFolder() {
  return std::filesystem::path(__FILE__).parent_path() / "../../../golden/ptx";
}

static std::string contents(const std::string &name) {
  std::ifstream file(goldenFolder() / name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

static constexpr const char *kTexts[] = {"reduce.ptx", "prints.ptx", "calls.ptx"};

/// What every decoded program promises to those who run it.
static void expectWellFormed(const Program &program) {
  int32_t size = int32_t(program.code.size());
  for (const Function &function : program.functions) {
    auto isInside = [&](int32_t index) { return index >= function.begin && index < function.end; };
    for (int32_t i = function.begin; i < function.end; ++i) {
      const Instruction &instruction = program.code[size_t(i)];
      EXPECT_TRUE(instruction.op != Op::Bra || isInside(instruction.target));
      EXPECT_TRUE(instruction.reconverge < 0 || isInside(instruction.reconverge));
      for (int32_t target : instruction.targets)
        EXPECT_TRUE(isInside(target));
      EXPECT_LT(instruction.location, int32_t(program.locations.size()));
      for (const std::vector<Operand> *operands : {&instruction.results, &instruction.sources})
        for (const Operand &operand : *operands)
          EXPECT_TRUE(operand.kind != Operand::Kind::Register ||
                      operand.reg.number < function.numRegisters[size_t(operand.reg.file)]);
    }
    EXPECT_LT(function.begin, function.end);
    EXPECT_LE(function.end, size);
    Op last = program.code[size_t(function.end) - 1].op;
    EXPECT_TRUE(last == Op::Ret || last == Op::Exit || last == Op::Bra || last == Op::BrxIdx);
  }
}

TEST(ParseCorpus, CompilersTextsAreDecoded) {
  for (const char *name : kTexts) {
    SCOPED_TRACE(name);
    Program program = parsed(contents(name));
    expectWellFormed(program);
    EXPECT_EQ(program.target, "sm_80");
    for (const Instruction &instruction : program.code)
      EXPECT_NE(printInstruction(program, instruction).back(), '?');
  }
}

TEST(ParseCorpus, ReduceHasItsParts) {
  Program program = parsed(contents("reduce.ptx"));
  const Function *reduce = program.findKernel("reduce");
  ASSERT_TRUE(reduce);
  EXPECT_EQ(program.findKernel("halved"), nullptr);
  size_t numShuffles = 0, numBarriers = 0, numDiverging = 0;
  for (int32_t i = reduce->begin; i < reduce->end; ++i) {
    const Instruction &instruction = program.code[size_t(i)];
    numShuffles += instruction.op == Op::Shfl;
    numBarriers += instruction.op == Op::BarSync;
    numDiverging += instruction.op == Op::Bra && instruction.guard.kind != Operand::Kind::None;
    bool isBranch = instruction.op == Op::Bra && instruction.guard.kind != Operand::Kind::None;
    EXPECT_TRUE(!isBranch || instruction.reconverge >= 0) << instruction.line;
  }
  EXPECT_EQ(numShuffles, 5u);
  EXPECT_GE(numBarriers, 3u);
  EXPECT_GE(numDiverging, 4u);
  EXPECT_TRUE(program.hasDynamicShared);
  EXPECT_FALSE(program.files.empty());
  EXPECT_EQ(program.constImage.size(), 16u);
}

TEST(ParseCorpus, HostCallsKeepTheirNames) {
  Program program = parsed(contents("prints.ptx"));
  std::vector<std::string> names;
  for (const Instruction &instruction : program.code)
    if (instruction.op == Op::Call)
      names.push_back(instruction.callee < 0 ? instruction.calleeName + "/" +
                                                   std::to_string(instruction.sources.size())
                                             : program.functions[size_t(instruction.callee)].name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"_Z4next4Pair", "__assertfail/5", "vprintf/2"}));
}

/// Parses a damaged text: it may be refused, with a line, or be decoded to a sound program.
static void tryDamaged(const std::string &text) {
  ParseError error;
  if (std::optional<Program> program = parsePtx(text, error)) {
    expectWellFormed(*program);
    return;
  }
  EXPECT_GT(error.line, 0);
  EXPECT_FALSE(error.message.empty());
}

TEST(ParseCorpus, TruncationsNeverCrash) {
  for (const char *name : kTexts) {
    std::string text = contents(name);
    for (size_t length = 0; length < text.size(); length += 7)
      tryDamaged(text.substr(0, length));
  }
}

TEST(ParseCorpus, MutationsNeverCrash) {
  unsigned seed = tw::test::drawnSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string alphabet = "abprx019%$._{}[]()<>,;:@!+-=|\"/*~ \n\0#";
  for (const char *name : kTexts) {
    const std::string text = contents(name);
    for (int round = 0; round < 1500; ++round) {
      std::string damaged = text;
      for (unsigned change = random() % 3 + 1; change-- > 0;) {
        size_t at = random() % damaged.size();
        if (random() % 3 == 0)
          damaged.erase(at, random() % 12 + 1);
        else
          damaged[at] = alphabet[random() % alphabet.size()];
      }
      tryDamaged(damaged);
    }
  }
}
