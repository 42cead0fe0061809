// Logic, shifts and bit fields against formulas that go bit by bit.
#include "test/unit/warpsim/execute/ExecuteHarness.h"

using namespace tw::warpsim;
using namespace tw::warpsim::test;

static bool bitOf(uint64_t value, uint64_t index) { return index < 64 && ((value >> index) & 1); }
static unsigned widthOf(Type type) { return bytesOf(type) * 8; }
static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }

static void addRow(std::vector<Row> &rows, const std::string &name, Instruction instruction,
                   std::vector<Type> sources, Type result, Formula expected,
                   std::vector<uint64_t> extra = {}) {
  rows.push_back(Row{name + "." + suffixOf(instruction.type), instruction, sources, result,
                     expected, 0, false, extra});
}

/// A result made of its bits: `bitAt(sources, index)`.
using BitAt = std::function<bool(const uint64_t *, unsigned)>;
static Formula bitwise(Type type, BitAt bitAt) {
  return [=](const uint64_t *sources) {
    uint64_t result = 0;
    for (unsigned index = 0; index < widthOf(type); ++index)
      result |= uint64_t(bitAt(sources, index)) << index;
    return result;
  };
}

static void addLogicRows(std::vector<Row> &rows) {
  for (Type type : {Type::Pred, Type::B16, Type::B32, Type::B64}) {
    auto all = [=](auto compute) -> Formula {
      return [=](const uint64_t *v) { return uint64_t(compute(v[0], v[1])) & maskOf(type); };
    };
    auto add = [&](const char *name, Op op, size_t arity, Formula expected) {
      addRow(rows, name, makeInstruction(op, type), std::vector<Type>(arity, type), type, expected);
    };
    add("and", Op::And, 2, all([](uint64_t a, uint64_t b) { return a & b; }));
    add("or", Op::Or, 2, all([](uint64_t a, uint64_t b) { return a | b; }));
    add("xor", Op::Xor, 2, all([](uint64_t a, uint64_t b) { return a ^ b; }));
    add("not", Op::Not, 1, [=](const uint64_t *v) { return ~v[0] & maskOf(type); });
    if (type != Type::Pred)
      add("cnot", Op::Cnot, 1, [](const uint64_t *v) -> uint64_t { return v[0] == 0; });
  }
}

static std::vector<uint64_t> shiftCounts() {
  std::vector<uint64_t> counts = {0xffffffff, 0x80000000, 256, 257};
  for (uint64_t count = 0; count <= 70; ++count)
    counts.push_back(count);
  return counts;
}

static void addShiftRows(std::vector<Row> &rows) {
  for (Type type : {Type::B16, Type::B32, Type::B64})
    addRow(rows, "shl", makeInstruction(Op::Shl, type), {type, Type::U32}, type,
           bitwise(type, [](const uint64_t *v,
                            unsigned i) { return i >= v[1] && bitOf(v[0], i - v[1]); }),
           shiftCounts());
  for (Type type : {Type::B16, Type::U16, Type::S16, Type::B32, Type::U32, Type::S32, Type::B64,
                    Type::U64, Type::S64}) {
    bool isSigned = isSignedType(type);
    unsigned width = widthOf(type);
    addRow(rows, "shr", makeInstruction(Op::Shr, type), {type, Type::U32}, type,
           bitwise(type,
                   [=](const uint64_t *v, unsigned i) {
                     uint64_t from = i + v[1];
                     return from < width ? bitOf(v[0], from) : isSigned && bitOf(v[0], width - 1);
                   }),
           shiftCounts());
  }
  for (Op op : {Op::ShfL, Op::ShfR}) {
    for (bool isWrapping : {false, true}) {
      Instruction instruction = makeInstruction(op, Type::B32);
      instruction.isWrapping = isWrapping;
      std::string name =
          std::string(op == Op::ShfL ? "shf.l" : "shf.r") + (isWrapping ? ".wrap" : ".clamp");
      addRow(rows, name, instruction, {Type::B32, Type::B32, Type::U32}, Type::B32,
             bitwise(Type::B32,
                     [=](const uint64_t *v, unsigned i) {
                       uint64_t both = (v[1] << 32) | v[0];
                       uint64_t n = isWrapping ? v[2] % 32 : std::min<uint64_t>(v[2], 32);
                       return bitOf(both, op == Op::ShfL ? i + 32 - n : i + n);
                     }),
             shiftCounts());
    }
  }
}

static void addFieldRows(std::vector<Row> &rows) {
  for (Type type : {Type::U32, Type::S32, Type::U64, Type::S64}) {
    unsigned width = widthOf(type);
    addRow(rows, "bfe", makeInstruction(Op::Bfe, type), {type, Type::U32, Type::U32}, type,
           bitwise(type,
                   [=](const uint64_t *v, unsigned i) {
                     uint64_t position = v[1] & 0xff, length = v[2] & 0xff;
                     if (i < length && position + i < width)
                       return bitOf(v[0], position + i);
                     uint64_t last = std::min<uint64_t>(position + length - 1, width - 1);
                     return isSignedType(type) && length != 0 && bitOf(v[0], last);
                   }),
           shiftCounts());
    for (bool isShiftAmount : {false, true}) {
      Instruction instruction = makeInstruction(Op::Bfind, type);
      instruction.isShiftAmount = isShiftAmount;
      addRow(rows, isShiftAmount ? "bfind.shiftamt" : "bfind", instruction, {type}, Type::U32,
             [=](const uint64_t *v) -> uint64_t {
               bool sign = isSignedType(type) && bitOf(v[0], width - 1);
               for (unsigned i = width; i-- > 0;)
                 if (bitOf(v[0], i) != sign)
                   return isShiftAmount ? width - 1 - i : i;
               return 0xffffffff;
             });
    }
  }
  for (Type type : {Type::B32, Type::B64}) {
    unsigned width = widthOf(type);
    addRow(rows, "bfi", makeInstruction(Op::Bfi, type), {type, type, Type::U32, Type::U32}, type,
           bitwise(type,
                   [](const uint64_t *v, unsigned i) {
                     uint64_t position = v[2] & 0xff, length = v[3] & 0xff;
                     bool isInside = i >= position && i < position + length;
                     return isInside ? bitOf(v[0], i - position) : bitOf(v[1], i);
                   }),
           shiftCounts());
    addRow(
        rows, "brev", makeInstruction(Op::Brev, type), {type}, type,
        bitwise(type, [=](const uint64_t *v, unsigned i) { return bitOf(v[0], width - 1 - i); }));
    addRow(rows, "clz", makeInstruction(Op::Clz, type), {type}, Type::U32, [=](const uint64_t *v) {
      uint64_t count = 0;
      while (count < width && !bitOf(v[0], width - 1 - count))
        ++count;
      return count;
    });
    addRow(rows, "popc", makeInstruction(Op::Popc, type), {type}, Type::U32, [](const uint64_t *v) {
      uint64_t count = 0;
      for (unsigned i = 0; i < 64; ++i)
        count += bitOf(v[0], i);
      return count;
    });
  }
}

static uint64_t nthSet(uint64_t mask, uint64_t base, int32_t offset) {
  if (base > 31)
    return 0xffffffff;
  if (offset == 0)
    return bitOf(mask, base) ? base : 0xffffffff;
  int64_t count = std::abs(int64_t(offset)) - 1;
  for (int64_t position = int64_t(base); position >= 0 && position < 32;
       position += offset > 0 ? 1 : -1)
    if (bitOf(mask, uint64_t(position)) && count-- == 0)
      return uint64_t(position);
  return 0xffffffff;
}

static void addMaskRows(std::vector<Row> &rows) {
  addRow(rows, "fns", makeInstruction(Op::Fns, Type::B32), {Type::B32, Type::B32, Type::S32},
         Type::B32,
         [](const uint64_t *v) { return nthSet(v[0], v[1], static_cast<int32_t>(v[2])); },
         {0, 1, 2, 3, 4, 5, 9, 15, 30, 31, 0xffffffff, 0xfffffffe, 0xfffffff8});
  for (bool isWrapping : {false, true}) {
    Instruction mask = makeInstruction(Op::Bmsk, Type::B32);
    mask.isWrapping = isWrapping;
    addRow(rows, isWrapping ? "bmsk.wrap" : "bmsk.clamp", mask, {Type::B32, Type::B32}, Type::B32,
           bitwise(Type::B32,
                   [=](const uint64_t *v, unsigned i) {
                     uint64_t from = isWrapping ? v[0] % 32 : v[0];
                     uint64_t width = isWrapping ? v[1] % 32 : v[1];
                     return i >= from && i < from + width;
                   }),
           shiftCounts());
    for (Type type : {Type::U32, Type::S32}) {
      Instruction extend = makeInstruction(Op::Szext, type);
      extend.isWrapping = isWrapping;
      addRow(rows, isWrapping ? "szext.wrap" : "szext.clamp", extend, {type, Type::U32}, type,
             bitwise(type,
                     [=](const uint64_t *v, unsigned i) {
                       uint64_t count = isWrapping ? v[1] % 32 : v[1];
                       if (i < count)
                         return bitOf(v[0], i);
                       return type == Type::S32 && count > 0 && bitOf(v[0], count - 1);
                     }),
             shiftCounts());
    }
  }
}

/// Rows of lop3 with tables that matter and drawn ones.
static void addTableRows(std::vector<Row> &rows) {
  for (uint64_t table : {0x00u, 0x80u, 0xfeu, 0x96u, 0xcau, 0xe8u, 0x1bu, 0xffu}) {
    char name[32];
    std::snprintf(name, sizeof(name), "lop3_%02llx", static_cast<unsigned long long>(table));
    Instruction instruction = makeInstruction(Op::Lop3, Type::B32);
    Row row{name, instruction, {Type::B32, Type::B32, Type::B32}, Type::B32, nullptr, 0, false, {}};
    row.trailing = {immediateOperand(table)};
    row.expected = bitwise(Type::B32, [=](const uint64_t *v, unsigned i) {
      return bitOf(table, bitOf(v[0], i) * 4u + bitOf(v[1], i) * 2u + bitOf(v[2], i));
    });
    rows.push_back(row);
  }
}

static uint64_t permuted(const uint64_t *v, const unsigned (&bytes)[4]) {
  uint64_t both = (v[1] << 32) | v[0], result = 0;
  for (unsigned index = 0; index < 4; ++index)
    result |= ((both >> (bytes[index] * 8)) & 0xff) << (index * 8);
  return result;
}

static uint64_t permutedByMode(PrmtMode mode, const uint64_t *v) {
  unsigned c = v[2] & 3;
  switch (mode) {
  case PrmtMode::F4e:
    return permuted(v, {c, c + 1, c + 2, c + 3});
  case PrmtMode::B4e:
    return permuted(v, {c, (c + 7) % 8, (c + 6) % 8, (c + 5) % 8});
  case PrmtMode::Rc8:
    return permuted(v, {c, c, c, c});
  case PrmtMode::Ecl:
    return permuted(v, {c, std::max(c, 1u), std::max(c, 2u), 3});
  case PrmtMode::Ecr:
    return permuted(v, {0, std::min(c, 1u), std::min(c, 2u), std::min(c, 3u)});
  case PrmtMode::Rc16:
    return permuted(v, {c % 2 * 2, c % 2 * 2 + 1, c % 2 * 2, c % 2 * 2 + 1});
  default:
    break;
  }
  uint64_t both = (v[1] << 32) | v[0], result = 0;
  for (unsigned index = 0; index < 4; ++index) {
    uint64_t selector = v[2] >> (index * 4);
    uint64_t byte = (both >> ((selector & 7) * 8)) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (index * 8);
  }
  return result;
}

static void addPermuteRows(std::vector<Row> &rows) {
  static const char *const names[] = {"prmt",     "prmt.f4e", "prmt.b4e", "prmt.rc8",
                                      "prmt.ecl", "prmt.ecr", "prmt.rc16"};
  for (unsigned mode = 0; mode < 7; ++mode) {
    Instruction instruction = makeInstruction(Op::Prmt, Type::B32);
    instruction.prmt = static_cast<PrmtMode>(mode);
    addRow(rows, names[mode], instruction, {Type::B32, Type::B32, Type::B32}, Type::B32,
           [=](const uint64_t *v) { return permutedByMode(static_cast<PrmtMode>(mode), v); });
    // Which sources must have a value depends on the selector (EdgeCasesTest.cpp).
    rows.back().isSetChosen = mode == 0;
  }
}

static std::vector<Row> bitRows() {
  std::vector<Row> rows;
  addLogicRows(rows);
  addShiftRows(rows);
  addFieldRows(rows);
  addMaskRows(rows);
  addTableRows(rows);
  addPermuteRows(rows);
  return rows;
}

class BitInstruction : public ScalarInstruction {};
TEST_P(BitInstruction, MatchesFormula) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, BitInstruction, testing::ValuesIn(bitRows()), nameOfRow);

TEST(Lop3Predicate, CombinesWhetherTheResultIsNotZero) {
  for (Bool operation : {Bool::And, Bool::Or}) {
    Instruction instruction = makeInstruction(Op::Lop3, Type::B32);
    instruction.combine = operation;
    instruction.results = {registerOperand(Type::B32, 0), registerOperand(Type::Pred, 0)};
    instruction.sources = {registerOperand(Type::B32, 1), registerOperand(Type::B32, 2),
                           registerOperand(Type::B32, 3), immediateOperand(0x80),
                           registerOperand(Type::Pred, 1)};
    WarpRegisters registers({4, 4, 0});
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned source = 1; source < 4; ++source)
        writeLane(registerOperand(Type::B32, source), registers, lane, lane & 1 ? 6 : source, true);
    writePredicate(registerOperand(Type::Pred, 1), registers, ~0u, 0xffff0000, 0x7fffffff);
    executeScalar(instruction, registers, 0x0fffffff);
    LaneMask isNonzero = 0xaaaaaaaa; // 6 & 6 & 6, while 1 & 2 & 3 is 0
    LaneMask expected = operation == Bool::And ? isNonzero & 0xffff0000 : isNonzero | 0xffff0000;
    EXPECT_EQ(registers.predicates[0], expected & 0x0fffffff);
    EXPECT_EQ(registers.predicatesSet[0], 0x0fffffffu);
    EXPECT_EQ(registers.wordsSet[0], 0x0fffffffu);
    EXPECT_EQ(registers.words[0][1], 6u);
    EXPECT_EQ(registers.words[0][2], 0u);
  }
}
