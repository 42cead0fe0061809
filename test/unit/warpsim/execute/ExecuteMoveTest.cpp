// Moves, packs, carries, addresses and registers: what has no formula of one result per lane.
#include "test/unit/warpsim/execute/ExecuteHarness.h"

using namespace tw::warpsim;
using namespace tw::warpsim::test;

static std::vector<Row> moveRows() {
  std::vector<Row> rows;
  for (Type type :
       {Type::Pred, Type::B16, Type::B32, Type::B64, Type::U32, Type::S64, Type::F32, Type::F64})
    rows.push_back(Row{std::string("mov.") + suffixOf(type),
                       makeInstruction(Op::Mov, type),
                       {type},
                       type,
                       [](const uint64_t *v) { return v[0]; },
                       0,
                       false,
                       {}});
  struct Pack {
    Type whole, part;
    unsigned count;
  };
  for (Pack pack : {Pack{Type::B32, Type::B16, 2}, Pack{Type::B64, Type::B32, 2},
                    Pack{Type::B64, Type::B16, 4}, Pack{Type::B32, Type::B8, 4}}) {
    unsigned bits = bytesOf(pack.part) * 8;
    rows.push_back(Row{std::string("mov.") + suffixOf(pack.whole) + "_" + suffixOf(pack.part),
                       makeInstruction(Op::Mov, pack.whole),
                       std::vector<Type>(pack.count, pack.part),
                       pack.whole,
                       [=](const uint64_t *v) {
                         uint64_t whole = 0;
                         for (unsigned part = 0; part < pack.count; ++part)
                           whole |= v[part] << (part * bits);
                         return whole;
                       },
                       0,
                       true, // parts may be without a value
                       {}});
  }
  for (Space space : {Space::Global, Space::Const, Space::Shared, Space::Local, Space::Param}) {
    uint64_t window = space == Space::Shared  ? uint64_t(7) << 56
                      : space == Space::Local ? uint64_t(6) << 56
                      : space == Space::Param ? uint64_t(5) << 56
                                              : 0;
    for (bool toSpace : {false, true}) {
      Instruction instruction = makeInstruction(Op::Cvta, Type::U64);
      instruction.space = space;
      instruction.toSpace = toSpace;
      char name[32];
      std::snprintf(name, sizeof(name), "cvta%s.%d", toSpace ? ".to" : "", static_cast<int>(space));
      rows.push_back(Row{name,
                         instruction,
                         {Type::B64},
                         Type::B64,
                         [=](const uint64_t *v) {
                           if (!toSpace)
                             return v[0] | window;
                           return window ? v[0] % (uint64_t(1) << 56) : v[0];
                         },
                         0,
                         false,
                         {}});
    }
  }
  return rows;
}

class MoveInstruction : public ScalarInstruction {};
TEST_P(MoveInstruction, MatchesFormula) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, MoveInstruction, testing::ValuesIn(moveRows()), nameOfRow);

static Operand word(uint32_t number) { return registerOperand(Type::B32, number); }
static Operand wide(uint32_t number) { return registerOperand(Type::B64, number); }

TEST(Unpack, CutsIntoPartsAndSkipsSinks) {
  Operand sink;
  sink.kind = Operand::Kind::Sink;
  WarpRegisters registers({0, 5, 1});
  writeLane(wide(0), registers, 3, 0x1122334455667788, true);
  Instruction instruction = makeInstruction(Op::Mov, Type::B64);
  instruction.sources = {wide(0)};
  instruction.results = {word(0), word(1)};
  executeScalar(instruction, registers, 1u << 3);
  EXPECT_EQ(registers.words[0][3], 0x55667788u);
  EXPECT_EQ(registers.words[1][3], 0x11223344u);
  EXPECT_EQ(registers.wordsSet[1], 1u << 3);
  instruction.results = {word(0), sink, word(2), sink};
  executeScalar(instruction, registers, 1u << 3);
  EXPECT_EQ(registers.words[0][3], 0x7788u);
  EXPECT_EQ(registers.words[2][3], 0x3344u);
  instruction.type = Type::B32;
  instruction.sources = {word(1)};
  instruction.results = {word(3), word(4)};
  executeScalar(instruction, registers, ~0u);
  EXPECT_EQ(registers.words[3][3], 0x3344u);
  EXPECT_EQ(registers.words[4][3], 0x1122u);
  EXPECT_EQ(registers.wordsSet[4], 1u << 3);
}

TEST(Pack, PartsWithoutAValueLeaveTheOthersTheirs) {
  Operand sink;
  sink.kind = Operand::Kind::Sink;
  WarpRegisters registers({0, 6, 4});
  auto run = [&](Type type, std::vector<Operand> results, std::vector<Operand> sources) {
    Instruction instruction = makeInstruction(Op::Mov, type);
    instruction.results = std::move(results);
    instruction.sources = std::move(sources);
    executeScalar(instruction, registers, 1);
  };
  writeLane(word(0), registers, 0, 7, true);
  run(Type::B64, {wide(0)}, {word(0), word(1)});
  EXPECT_EQ(missingBytes(wide(0), registers)[3] & 1, 0u);
  EXPECT_EQ(missingBytes(wide(0), registers)[4] & 1, 1u);
  run(Type::B64, {wide(1)}, {wide(0)}); // a copy
  run(Type::B64, {word(2), word(3)}, {wide(1)});
  EXPECT_EQ(wholeLanes(word(2), registers) & 1, 1u);
  EXPECT_EQ(setLanes(word(3), registers) & 1, 0u);
  run(Type::B64, {sink, sink, word(4), sink}, {wide(1)}); // of 16 bits each
  EXPECT_EQ(setLanes(word(4), registers) & 1, 0u);
  run(Type::B128, {wide(2)}, {wide(1), wide(3)});
  run(Type::B128, {word(2), word(3), sink, word(4)}, {wide(2)});
  EXPECT_EQ(wholeLanes(word(2), registers) & 1, 1u);
  EXPECT_EQ((setLanes(word(3), registers) | setLanes(word(4), registers)) & 1, 0u);
  writeLane(wide(2), registers, 0, 7, true); // whole again
  EXPECT_EQ(wholeLanes(wide(2), registers) & 1, 1u);
}

TEST(Move128, IsTwoRegistersOf64) {
  WarpRegisters registers({0, 0, 6});
  writeLane(wide(0), registers, 0, 1, true);
  writeLane(wide(1), registers, 0, 2, true);
  Instruction instruction = makeInstruction(Op::Mov, Type::B128);
  instruction.sources = {wide(0)};
  instruction.results = {wide(2)};
  executeScalar(instruction, registers, 1);
  EXPECT_EQ(registers.doubles[3][0], 2u);
  instruction.sources = {wide(3), wide(2)};
  instruction.results = {wide(4)};
  executeScalar(instruction, registers, 1);
  EXPECT_EQ(registers.doubles[4][0], 2u);
  EXPECT_EQ(registers.doubles[5][0], 1u);
  instruction.sources = {wide(4)};
  instruction.results = {wide(0), wide(1)};
  executeScalar(instruction, registers, 3);
  EXPECT_EQ(registers.doubles[0][0], 2u);
  EXPECT_EQ(registers.doubles[1][0], 1u);
  EXPECT_EQ(registers.doublesSet[1], 1u);
}

TEST(Isspacep, LooksAtTheWindow) {
  static const uint64_t addresses[] = {0x1000, (7ull << 56) | 4, (6ull << 56) | 4,
                                       (5ull << 56) | 4};
  WarpRegisters registers({1, 0, 1});
  Instruction instruction = makeInstruction(Op::Isspacep, Type::None);
  instruction.results = {registerOperand(Type::Pred, 0)};
  instruction.sources = {wide(0)};
  for (unsigned lane = 0; lane < 4; ++lane)
    writeLane(wide(0), registers, lane, addresses[lane], true);
  Space spaces[] = {Space::Global, Space::Shared, Space::Local, Space::Param};
  for (unsigned index = 0; index < 4; ++index) {
    instruction.space = spaces[index];
    executeScalar(instruction, registers, 0xf);
    EXPECT_EQ(registers.predicates[0], 1u << index);
  }
  instruction.space = Space::Const;
  EXPECT_EQ(findHandler(instruction), nullptr);
}

/// 128-bit arithmetic in two steps of 64 bits, or 64-bit arithmetic in two of 32.
template <typename Half>
static unsigned __int128 runWide(Op low, Op high, unsigned __int128 a, unsigned __int128 b) {
  constexpr unsigned bits = sizeof(Half) * 8;
  Type type = bits == 64 ? Type::U64 : Type::U32;
  WarpRegisters registers({0, 8, 8});
  auto operand = [&](uint32_t number) { return registerOperand(type, number); };
  writeLane(operand(0), registers, 5, static_cast<Half>(a), true);
  writeLane(operand(1), registers, 5, static_cast<Half>(a >> bits), true);
  writeLane(operand(2), registers, 5, static_cast<Half>(b), true);
  writeLane(operand(3), registers, 5, static_cast<Half>(b >> bits), true);
  Instruction first = makeInstruction(low, type), second = makeInstruction(high, type);
  first.writesCarry = true;
  first.results = {operand(4)};
  first.sources = {operand(0), operand(2)};
  second.results = {operand(5)};
  second.sources = {operand(1), operand(3)};
  executeScalar(first, registers, 1u << 5);
  executeScalar(second, registers, 1u << 5);
  EXPECT_EQ(setLanes(operand(5), registers), 1u << 5);
  unsigned __int128 result = readLane(operand(5), registers, 5);
  return (result << bits) | readLane(operand(4), registers, 5);
}

TEST(Carry, ChainsSumsAndDifferences) {
  for (unsigned count = 0; count < 4000; ++count) {
    auto draw = [] { return (unsigned __int128)drawValue(Type::U64) << 64 | drawValue(Type::U64); };
    unsigned __int128 a = draw(), b = draw();
    ASSERT_TRUE(runWide<uint64_t>(Op::Add, Op::Addc, a, b) == a + b);
    ASSERT_TRUE(runWide<uint64_t>(Op::Sub, Op::Subc, a, b) == a - b);
    uint64_t c = static_cast<uint64_t>(a), d = static_cast<uint64_t>(b);
    ASSERT_EQ(uint64_t(runWide<uint32_t>(Op::Add, Op::Addc, c, d)), c + d);
    ASSERT_EQ(uint64_t(runWide<uint32_t>(Op::Sub, Op::Subc, c, d)), c - d);
  }
}

/// One instruction with .cc; gives the result and the carry out.
static std::pair<uint64_t, bool> runStep(Op op, Type type, bool carry,
                                         const std::vector<uint64_t> &v) {
  WarpRegisters registers({0, 4, 4});
  Instruction instruction = makeInstruction(op, type);
  instruction.writesCarry = true;
  instruction.results = {registerOperand(type, 0)};
  for (uint32_t index = 0; index < v.size(); ++index) {
    instruction.sources.push_back(registerOperand(type, index + 1));
    writeLane(instruction.sources.back(), registers, 0, v[index], true);
  }
  registers.carry = carry;
  registers.carrySet = 1;
  executeScalar(instruction, registers, 1);
  EXPECT_EQ(registers.carrySet, 1u);
  return {readLane(instruction.results[0], registers, 0), registers.carry & 1};
}

TEST(Carry, SumsAndDifferencesCarryOut) {
  const std::vector<uint64_t> edges = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  for (uint64_t a : edges) {
    for (uint64_t b : edges) {
      for (bool carry : {false, true}) {
        auto [sum, carryOut] = runStep(Op::Addc, Type::U32, carry, {a, b});
        EXPECT_EQ(sum + (uint64_t(carryOut) << 32), a + b + carry);
        auto [difference, borrowOut] = runStep(Op::Subc, Type::S32, carry, {a, b});
        EXPECT_EQ(difference - (uint64_t(borrowOut) << 32), a - b - carry);
        uint64_t x = a | (a << 32), y = b | (b << 32);
        auto [wideSum, wideCarry] = runStep(Op::Addc, Type::U64, carry, {x, y});
        EXPECT_EQ(wideCarry, ((static_cast<unsigned __int128>(x) + y + carry) >> 64) != 0);
        EXPECT_EQ(wideSum, x + y + carry);
        auto [rest, wideBorrow] = runStep(Op::Subc, Type::U64, carry, {x, y});
        EXPECT_EQ(wideBorrow, static_cast<unsigned __int128>(y) + carry > x);
        EXPECT_EQ(rest, x - y - carry);
      }
    }
  }
}

TEST(Carry, ProductsAddAndCarryOut) {
  for (unsigned count = 0; count < 8000; ++count) {
    Type type = count & 1 ? Type::U32 : Type::S32;
    Type wideType = count & 1 ? Type::U64 : Type::S64;
    std::vector<uint64_t> v = {drawValue(type), drawValue(type), drawValue(type)};
    std::vector<uint64_t> w = {drawValue(wideType), drawValue(wideType), drawValue(wideType)};
    bool carry = count & 2;
    auto narrow = [&](uint64_t bits) {
      return count & 1 ? __int128(bits) : __int128(static_cast<int32_t>(bits));
    };
    __int128 product = narrow(v[0]) * narrow(v[1]);
    for (bool isHigh : {false, true}) {
      uint64_t half = static_cast<uint32_t>(isHigh ? product >> 32 : product);
      for (bool readsCarry : {false, true}) {
        Op op = readsCarry ? (isHigh ? Op::MadcHi : Op::Madc) : (isHigh ? Op::MadHi : Op::Mad);
        uint64_t sum = half + v[2] + (readsCarry && carry);
        auto [value, carryOut] = runStep(op, type, carry, v);
        ASSERT_EQ(value, static_cast<uint32_t>(sum));
        ASSERT_EQ(carryOut, sum >> 32 != 0);
      }
    }
    unsigned __int128 bits = count & 1
                                 ? (unsigned __int128)w[0] * w[1]
                                 : (unsigned __int128)((__int128)int64_t(w[0]) * int64_t(w[1]));
    unsigned __int128 sum = (bits >> 64) + w[2] + carry;
    auto [value, carryOut] = runStep(Op::MadcHi, wideType, carry, w);
    ASSERT_EQ(value, static_cast<uint64_t>(sum));
    ASSERT_EQ(carryOut, ((sum >> 64) & 1) != 0);
  }
}

TEST(Carry, BelongsToTheLaneAndMustBeSet) {
  WarpRegisters registers({0, 3, 0});
  registers.wordsSet = {0, ~0u, ~0u};
  registers.words[1].fill(0xffffffff);
  registers.words[2].fill(1);
  Instruction instruction = makeInstruction(Op::Add, Type::U32);
  instruction.writesCarry = true;
  instruction.results = {word(0)};
  instruction.sources = {word(1), word(2)};
  executeScalar(instruction, registers, 0x0000ffff);
  EXPECT_EQ(registers.carry, 0x0000ffffu);
  instruction.op = Op::Addc;
  instruction.writesCarry = false;
  executeScalar(instruction, registers, 0x00ffff00);
  EXPECT_EQ(registers.words[0][8], 1u);
  EXPECT_EQ(registers.words[0][16], 0u);
  EXPECT_EQ(registers.wordsSet[0], 0x0000ffffu);
  EXPECT_EQ(registers.carry, 0x0000ffffu);
}

TEST(FindHandler, RefusesWhatItCannotExecute) {
  auto find = [](Op op, Type type, size_t arity, auto change) {
    Instruction instruction = makeInstruction(op, type);
    instruction.results = {registerOperand(type, 0)};
    instruction.sources.assign(arity, registerOperand(type, 1));
    change(instruction);
    return findHandler(instruction);
  };
  auto nothing = [](Instruction &) {};
  EXPECT_EQ(find(Op::Ld, Type::U32, 1, nothing), nullptr);
  EXPECT_EQ(find(Op::Add, Type::U32, 3, nothing), nullptr);
  EXPECT_EQ(find(Op::Add, Type::E4M3x2, 2, nothing), nullptr);
  EXPECT_EQ(find(Op::Neg, Type::U32, 1, nothing), nullptr);
  EXPECT_EQ(find(Op::Lg2, Type::F16, 1, nothing), nullptr);
  EXPECT_EQ(find(Op::Add, Type::U32, 2, [](Instruction &i) { i.isSaturating = true; }), nullptr);
  EXPECT_EQ(find(Op::Add, Type::F64, 2, [](Instruction &i) { i.isFtz = true; }), nullptr);
  EXPECT_EQ(find(Op::Add, Type::F16, 2, [](Instruction &i) { i.rounding = Rounding::Rz; }),
            nullptr);
  EXPECT_EQ(find(Op::Add, Type::F32, 2, [](Instruction &i) { i.rounding = Rounding::Rni; }),
            nullptr);
  EXPECT_EQ(find(Op::Cvta, Type::U32, 1, [](Instruction &i) { i.space = Space::Shared; }), nullptr);
  EXPECT_NE(find(Op::Add, Type::F32, 2, nothing), nullptr);
}
