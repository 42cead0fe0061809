// set, setp, selp and slct: every comparison and type, unordered forms, bool operations,
// definedness.
#include "test/unit/warpsim/execute/ExactFloat.h"
#include "test/unit/warpsim/execute/ExecuteHarness.h"
#include <cmath>

using namespace tw::warpsim;
using namespace tw::warpsim::test;

static bool isFloatType(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64;
}
static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }
static Layout layoutOf(Type type) {
  return type == Type::F16 ? kF16 : type == Type::BF16 ? kBf16 : type == Type::F32 ? kF32 : kF64;
}

/// -1, 0, 1, or 2 where a NaN makes the values unordered.
static int orderOf(Type type, uint64_t a, uint64_t b) {
  if (isFloatType(type)) {
    double left = toDouble(layoutOf(type), a), right = toDouble(layoutOf(type), b);
    return std::isnan(left) || std::isnan(right) ? 2 : left < right ? -1 : left > right;
  }
  if (isSignedType(type)) { // moving the sign bit makes the order unsigned
    a ^= maskOf(type) / 2 + 1;
    b ^= maskOf(type) / 2 + 1;
  }
  return a < b ? -1 : a > b;
}

struct Comparison {
  Compare compare;
  const char *name;
  bool less, equal, greater, unordered;
};
static const Comparison kComparisons[] = {
    {Compare::Eq, "eq", false, true, false, false},
    {Compare::Ne, "ne", true, false, true, false},
    {Compare::Lt, "lt", true, false, false, false},
    {Compare::Le, "le", true, true, false, false},
    {Compare::Gt, "gt", false, false, true, false},
    {Compare::Ge, "ge", false, true, true, false},
    {Compare::Lo, "lo", true, false, false, false},
    {Compare::Ls, "ls", true, true, false, false},
    {Compare::Hi, "hi", false, false, true, false},
    {Compare::Hs, "hs", false, true, true, false},
    {Compare::Equ, "equ", false, true, false, true},
    {Compare::Neu, "neu", true, false, true, true},
    {Compare::Ltu, "ltu", true, false, false, true},
    {Compare::Leu, "leu", true, true, false, true},
    {Compare::Gtu, "gtu", false, false, true, true},
    {Compare::Geu, "geu", false, true, true, true},
    {Compare::Num, "num", true, true, true, false},
    {Compare::Nan, "nan", false, false, false, true},
};

static bool holds(const Comparison &comparison, int order) {
  return order == 2   ? comparison.unordered
         : order == 0 ? comparison.equal
         : order < 0  ? comparison.less
                      : comparison.greater;
}

/// Which comparisons PTX has for a type.
static bool isLegal(Compare compare, Type type) {
  bool isUnsignedName = compare >= Compare::Lo && compare <= Compare::Hs;
  if (isFloatType(type))
    return !isUnsignedName;
  if (type == Type::B16 || type == Type::B32 || type == Type::B64)
    return compare == Compare::Eq || compare == Compare::Ne;
  return compare <= Compare::Ge || (isUnsignedName && !isSignedType(type));
}

static const Type kTypes[] = {Type::B16,  Type::B32, Type::B64, Type::U16, Type::U32,
                              Type::U64,  Type::S16, Type::S32, Type::S64, Type::F16,
                              Type::BF16, Type::F32, Type::F64};

static bool outcomeOf(const Instruction &instruction, const Comparison &comparison, Type type,
                      const uint64_t *v) {
  uint64_t a = v[0], b = v[1];
  if (instruction.isFtz) {
    a = flush(layoutOf(type), a);
    b = flush(layoutOf(type), b);
  }
  bool outcome = holds(comparison, orderOf(type, a, b));
  switch (instruction.combine) {
  case Bool::And:
    return outcome && v[2];
  case Bool::Or:
    return outcome || v[2];
  case Bool::Xor:
    return outcome != (v[2] != 0);
  default:
    return outcome;
  }
}

static const char *nameOf(Bool operation) {
  static const char *const names[] = {"", ".and", ".or", ".xor"};
  return names[static_cast<unsigned>(operation)];
}

static std::vector<Row> setpRows() {
  std::vector<Row> rows;
  for (Type type : kTypes) {
    for (const Comparison &comparison : kComparisons) {
      if (!isLegal(comparison.compare, type))
        continue;
      for (Bool operation : {Bool::None, Bool::And, Bool::Or, Bool::Xor}) {
        for (bool isFtz : {false, true}) {
          if (isFtz && type != Type::F32 && type != Type::F16)
            continue;
          Instruction instruction = makeInstruction(Op::Setp, type);
          instruction.compare = comparison.compare;
          instruction.combine = operation;
          instruction.isFtz = isFtz;
          std::vector<Type> sources = {type, type};
          if (operation != Bool::None)
            sources.push_back(Type::Pred);
          std::string name = std::string("setp.") + comparison.name + nameOf(operation) +
                             (isFtz ? ".ftz." : ".") + suffixOf(type);
          rows.push_back(Row{name,
                             instruction,
                             sources,
                             Type::Pred,
                             [=](const uint64_t *v) {
                               return uint64_t(outcomeOf(instruction, comparison, type, v));
                             },
                             0,
                             false,
                             {}});
        }
      }
    }
  }
  return rows;
}

static std::vector<Row> setRows() {
  std::vector<Row> rows;
  for (Type source : kTypes) {
    for (Type result : {Type::U32, Type::S32, Type::F32, Type::U16, Type::F16, Type::BF16}) {
      bool isHalf = source == Type::F16 || source == Type::BF16;
      bool isNarrow = bytesOf(result) == 2;
      if (isNarrow && (!isHalf || (isFloatType(result) && result != source)))
        continue;
      for (const Comparison &comparison : kComparisons) {
        if (!isLegal(comparison.compare, source))
          continue;
        Instruction instruction = makeInstruction(Op::Set, result, source);
        instruction.compare = comparison.compare;
        uint64_t whenTrue = result == Type::F32    ? 0x3f800000
                            : result == Type::F16  ? 0x3c00
                            : result == Type::BF16 ? 0x3f80
                                                   : maskOf(result);
        rows.push_back(Row{std::string("set.") + comparison.name + "." + suffixOf(result) + "." +
                               suffixOf(source),
                           instruction,
                           {source, source},
                           result,
                           [=](const uint64_t *v) {
                             return outcomeOf(instruction, comparison, source, v) ? whenTrue : 0;
                           },
                           0,
                           false,
                           {}});
      }
    }
  }
  return rows;
}

/// set of pairs: both halves at once.
static std::vector<Row> pairRows() {
  std::vector<Row> rows;
  for (Type pair : {Type::F16x2, Type::BF16x2}) {
    Type half = pair == Type::F16x2 ? Type::F16 : Type::BF16;
    for (Type result : {pair, Type::U32}) {
      for (const Comparison &comparison : kComparisons) {
        if (!isLegal(comparison.compare, half))
          continue;
        Instruction instruction = makeInstruction(Op::Set, result, pair);
        instruction.compare = comparison.compare;
        uint64_t whenTrue = result == Type::U32 ? 0xffff : half == Type::F16 ? 0x3c00 : 0x3f80;
        rows.push_back(Row{
            std::string("set.") + comparison.name + "." + suffixOf(result) + "." + suffixOf(pair),
            instruction,
            {pair, pair},
            Type::B32,
            [=](const uint64_t *v) {
              uint64_t bits = 0;
              for (unsigned shift : {0, 16}) {
                uint64_t parts[] = {(v[0] >> shift) & 0xffff, (v[1] >> shift) & 0xffff};
                if (outcomeOf(instruction, comparison, half, parts))
                  bits |= whenTrue << shift;
              }
              return bits;
            },
            0,
            false,
            {}});
      }
    }
  }
  return rows;
}

static std::vector<Row> selectRows() {
  std::vector<Row> rows;
  for (Type type : {Type::B16, Type::B32, Type::B64, Type::U16, Type::S32, Type::F32, Type::F64}) {
    rows.push_back(Row{std::string("selp.") + suffixOf(type),
                       makeInstruction(Op::Selp, type),
                       {type, type, Type::Pred},
                       type,
                       [](const uint64_t *v) { return v[2] ? v[0] : v[1]; },
                       0,
                       true,
                       {}});
    for (Type key : {Type::S32, Type::F32}) {
      for (bool isFtz : {false, true}) {
        if (isFtz && key == Type::S32)
          continue;
        Instruction instruction = makeInstruction(Op::Slct, type, key);
        instruction.isFtz = isFtz;
        Formula expected = [=](const uint64_t *v) {
          if (key == Type::S32)
            return v[2] < 0x80000000 ? v[0] : v[1];
          uint64_t bits = isFtz ? flush(kF32, v[2]) : v[2];
          return toDouble(kF32, bits) >= 0 ? v[0] : v[1];
        };
        rows.push_back(
            Row{std::string("slct.") + (isFtz ? "ftz." : "") + suffixOf(type) + "." + suffixOf(key),
                instruction,
                {type, type, key},
                type,
                expected,
                0,
                true,
                {}});
      }
    }
  }
  return rows;
}

class ComparisonInstruction : public ScalarInstruction {};
TEST_P(ComparisonInstruction, MatchesOrder) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Setp, ComparisonInstruction, testing::ValuesIn(setpRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Set, ComparisonInstruction, testing::ValuesIn(setRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(SetPair, ComparisonInstruction, testing::ValuesIn(pairRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Select, ComparisonInstruction, testing::ValuesIn(selectRows()), nameOfRow);

static Operand predicate(uint32_t number, bool isNegated = false) {
  Operand operand = registerOperand(Type::Pred, number);
  operand.isNegated = isNegated;
  return operand;
}

TEST(SetpPair, SecondResultIsTheOppositeCombinedToo) {
  Instruction instruction = makeInstruction(Op::Setp, Type::U32);
  instruction.compare = Compare::Lt;
  instruction.combine = Bool::And;
  instruction.results = {predicate(0), predicate(1)};
  instruction.sources = {registerOperand(Type::B32, 0), immediateOperand(16), predicate(2, true)};
  WarpRegisters registers({3, 1, 0});
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    writeLane(instruction.sources[0], registers, lane, lane, true);
  writePredicate(predicate(2), registers, ~0u, 0x0000ff00, 0x7fffffff);
  registers.predicates[0] = 0x80000000;
  executeScalar(instruction, registers, 0xfffffffe & 0x7fffffff);
  EXPECT_EQ(registers.predicates[0], 0x800000feu); // lanes 1..7 are below 16 and have !p2
  EXPECT_EQ(registers.predicates[1], 0x7fff0000u);
  EXPECT_EQ(registers.predicatesSet[0], 0x7ffffffeu);
}

TEST(SetpPair, HalvesOfAPairGoToTwoPredicates) {
  Instruction instruction = makeInstruction(Op::Setp, Type::F16x2);
  instruction.compare = Compare::Gtu;
  instruction.results = {predicate(0), predicate(1)};
  instruction.sources = {registerOperand(Type::B32, 0), registerOperand(Type::B32, 1)};
  WarpRegisters registers({2, 2, 0});
  static const uint32_t left[] = {0x3c004000, 0x7e003c00, 0x00000001, 0x80000000};
  static const uint32_t right[] = {0x40003c00, 0x3c003c00, 0x00000000, 0x00000000};
  for (unsigned lane = 0; lane < 4; ++lane) {
    writeLane(instruction.sources[0], registers, lane, left[lane], true);
    writeLane(instruction.sources[1], registers, lane, right[lane], true);
  }
  executeScalar(instruction, registers, 0xf);
  EXPECT_EQ(registers.predicates[0], 0b0101u); // 2 > 1 and a subnormal > 0
  EXPECT_EQ(registers.predicates[1], 0b0010u); // a NaN
  instruction.isFtz = true;
  executeScalar(instruction, registers, 0xf);
  EXPECT_EQ(registers.predicates[0], 0b0001u);
}

TEST(Selp, OnlyTheChosenSourceMustBeSet) {
  Instruction instruction = makeInstruction(Op::Selp, Type::B32);
  instruction.results = {registerOperand(Type::B32, 0)};
  instruction.sources = {registerOperand(Type::B32, 1), registerOperand(Type::B32, 2),
                         predicate(0)};
  WarpRegisters registers({1, 3, 0});
  registers.wordsSet = {0, 0x0000ffff, 0xffff0000};
  writePredicate(predicate(0), registers, ~0u, 0x00ffff00, 0xfffffffe);
  executeScalar(instruction, registers, ~0u);
  EXPECT_EQ(registers.wordsSet[0], 0xff00ff00u);
  instruction.op = Op::Slct;
  instruction.sourceType = Type::S32;
  instruction.sources[2] = immediateOperand(0xffffffff);
  executeScalar(instruction, registers, ~0u);
  EXPECT_EQ(registers.wordsSet[0], 0xffff0000u);
}
