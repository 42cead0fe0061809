// Integer arithmetic of every type against formulas in 128 bits.
#include "test/unit/warpsim/execute/ExecuteHarness.h"

using namespace tw::warpsim;
using namespace tw::warpsim::test;

using Integer = __int128;

static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }

static Integer valueOf(Type type, uint64_t bits) {
  bits &= maskOf(type);
  Integer value = bits;
  bool isNegative = isSignedType(type) && bits > maskOf(type) / 2;
  return isNegative ? value - Integer(maskOf(type)) - 1 : value;
}

static Integer clamp(Integer value, Integer least, Integer greatest) {
  return value < least ? least : value > greatest ? greatest : value;
}

using Calculation = std::function<Integer(const Integer *)>;

/// A row whose result is the low bits of `calculate` on the values of the sources.
static Row rowOf(std::string name, Instruction instruction, std::vector<Type> sources, Type result,
                 Calculation calculate) {
  Formula expected = [sources, result, calculate](const uint64_t *bits) {
    Integer values[4] = {};
    for (size_t index = 0; index < sources.size(); ++index)
      values[index] = valueOf(sources[index], bits[index]);
    return static_cast<uint64_t>(calculate(values)) & maskOf(result);
  };
  name += std::string(".") + suffixOf(instruction.type);
  return Row{name, instruction, sources, result, expected, 0, false, {}};
}

static const Type kTypes[] = {Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64};

static Integer divide(Integer a, Integer b) { return b == 0 ? Integer(-1) : a / b; }
static Integer remainderOf(Integer a, Integer b) { return b == 0 ? a : a % b; }

static void addSimpleRows(std::vector<Row> &rows, Type type) {
  auto add = [&](const char *name, Op op, size_t arity, Calculation calculate) {
    rows.push_back(
        rowOf(name, makeInstruction(op, type), std::vector<Type>(arity, type), type, calculate));
  };
  add("add", Op::Add, 2, [](const Integer *v) { return v[0] + v[1]; });
  add("sub", Op::Sub, 2, [](const Integer *v) { return v[0] - v[1]; });
  add("mul.lo", Op::Mul, 2, [](const Integer *v) {
    return Integer(static_cast<unsigned __int128>(v[0]) * static_cast<unsigned __int128>(v[1]));
  });
  add("mad.lo", Op::Mad, 3, [](const Integer *v) {
    return Integer(static_cast<unsigned __int128>(v[0]) * static_cast<unsigned __int128>(v[1]) +
                   static_cast<unsigned __int128>(v[2]));
  });
  add("div", Op::Div, 2, [](const Integer *v) { return divide(v[0], v[1]); });
  add("rem", Op::Rem, 2, [](const Integer *v) { return remainderOf(v[0], v[1]); });
  add("min", Op::Min, 2, [](const Integer *v) { return std::min(v[0], v[1]); });
  add("max", Op::Max, 2, [](const Integer *v) { return std::max(v[0], v[1]); });
  add("sad", Op::Sad, 3,
      [](const Integer *v) { return v[2] + std::max(v[0], v[1]) - std::min(v[0], v[1]); });
  if (isSignedType(type)) {
    add("abs", Op::Abs, 1, [](const Integer *v) { return v[0] < 0 ? -v[0] : v[0]; });
    add("neg", Op::Neg, 1, [](const Integer *v) { return -v[0]; });
  }
}

static Integer shiftedDown(Integer product, Type type) { return product >> (bytesOf(type) * 8); }

static void addProductRows(std::vector<Row> &rows, Type type) {
  auto high = [type](const Integer *v) {
    if (type == Type::U64) // the product needs all 128 bits
      return Integer(
          (static_cast<unsigned __int128>(v[0]) * static_cast<unsigned __int128>(v[1])) >> 64);
    return shiftedDown(v[0] * v[1], type);
  };
  rows.push_back(rowOf("mul.hi", makeInstruction(Op::MulHi, type), {type, type}, type, high));
  rows.push_back(rowOf("mad.hi", makeInstruction(Op::MadHi, type), {type, type, type}, type,
                       [high](const Integer *v) { return high(v) + v[2]; }));
  if (bytesOf(type) == 8)
    return;
  Type wide = type == Type::U16   ? Type::U32
              : type == Type::S16 ? Type::S32
              : type == Type::U32 ? Type::U64
                                  : Type::S64;
  rows.push_back(rowOf("mul.wide", makeInstruction(Op::MulWide, type), {type, type}, wide,
                       [](const Integer *v) { return v[0] * v[1]; }));
  rows.push_back(rowOf("mad.wide", makeInstruction(Op::MadWide, type), {type, type, wide}, wide,
                       [](const Integer *v) { return v[0] * v[1] + v[2]; }));
}

static Integer low24(Integer value, bool isSigned) {
  Integer low = value & 0xffffff;
  return isSigned && low >= 0x800000 ? low - 0x1000000 : low;
}

static void add24Rows(std::vector<Row> &rows, Type type) {
  bool isSigned = type == Type::S32;
  for (bool isHigh : {false, true}) {
    auto product = [=](const Integer *v) {
      Integer all = low24(v[0], isSigned) * low24(v[1], isSigned);
      return isHigh ? all >> 16 : all;
    };
    Instruction multiply = makeInstruction(Op::Mul24, type), add = makeInstruction(Op::Mad24, type);
    multiply.isHigh = add.isHigh = isHigh;
    rows.push_back(rowOf(isHigh ? "mul24.hi" : "mul24.lo", multiply, {type, type}, type, product));
    rows.push_back(rowOf(isHigh ? "mad24.hi" : "mad24.lo", add, {type, type, type}, type,
                         [=](const Integer *v) { return product(v) + v[2]; }));
  }
}

static void addSaturatingRows(std::vector<Row> &rows) {
  constexpr Integer least = INT32_MIN, greatest = INT32_MAX;
  auto add = [&](const char *name, Op op, size_t arity, bool isHigh, Calculation calculate) {
    Instruction instruction = makeInstruction(op, Type::S32);
    instruction.isSaturating = true;
    instruction.isHigh = isHigh;
    rows.push_back(rowOf(name, instruction, std::vector<Type>(arity, Type::S32), Type::S32,
                         [=](const Integer *v) { return clamp(calculate(v), least, greatest); }));
  };
  add("add.sat", Op::Add, 2, false, [](const Integer *v) { return v[0] + v[1]; });
  add("sub.sat", Op::Sub, 2, false, [](const Integer *v) { return v[0] - v[1]; });
  add("mad.hi.sat", Op::MadHi, 3, false,
      [](const Integer *v) { return ((v[0] * v[1]) >> 32) + v[2]; });
  add("mad24.hi.sat", Op::Mad24, 3, true,
      [](const Integer *v) { return ((low24(v[0], true) * low24(v[1], true)) >> 16) + v[2]; });
  for (Op op : {Op::Min, Op::Max}) {
    Instruction instruction = makeInstruction(op, Type::S32);
    instruction.isRelu = true;
    bool isMin = op == Op::Min;
    rows.push_back(rowOf(isMin ? "min.relu" : "max.relu", instruction, {Type::S32, Type::S32},
                         Type::S32, [=](const Integer *v) {
                           Integer best = isMin ? std::min(v[0], v[1]) : std::max(v[0], v[1]);
                           return std::max(best, Integer(0));
                         }));
  }
}

/// add, min and max of pairs: each half by itself.
static void addPairRows(std::vector<Row> &rows, Type pair) {
  Type half = pair == Type::S16x2 ? Type::S16 : Type::U16;
  for (Op op : {Op::Add, Op::Min, Op::Max}) {
    for (bool isRelu : {false, true}) {
      if (isRelu && (op == Op::Add || pair == Type::U16x2))
        continue;
      Instruction instruction = makeInstruction(op, pair);
      instruction.isRelu = isRelu;
      Formula expected = [=](const uint64_t *bits) {
        uint64_t result = 0;
        for (unsigned shift : {0, 16}) {
          Integer a = valueOf(half, bits[0] >> shift), b = valueOf(half, bits[1] >> shift);
          Integer value = op == Op::Add ? a + b : op == Op::Min ? std::min(a, b) : std::max(a, b);
          value = isRelu ? std::max(value, Integer(0)) : value;
          result |= (static_cast<uint64_t>(value) & 0xffff) << shift;
        }
        return result;
      };
      std::string name = op == Op::Add ? "add" : op == Op::Min ? "min" : "max";
      rows.push_back(Row{name + (isRelu ? ".relu." : ".") + suffixOf(pair),
                         instruction,
                         {pair, pair},
                         pair,
                         expected,
                         0,
                         false,
                         {}});
    }
  }
}

static Integer partOf(uint64_t word, unsigned bits, unsigned index, bool isSigned) {
  Integer value = (word >> (bits * index)) & ((1u << bits) - 1);
  return isSigned && value >> (bits - 1) ? value - (Integer(1) << bits) : value;
}

static void addDotRows(std::vector<Row> &rows) {
  for (Type a : {Type::U32, Type::S32}) {
    for (Type b : {Type::U32, Type::S32}) {
      for (unsigned form = 0; form < 3; ++form) { // dp4a, dp2a.lo, dp2a.hi
        unsigned bits = form == 0 ? 8 : 16, first = form == 2 ? 2 : 0;
        Instruction instruction = makeInstruction(form == 0 ? Op::Dp4a : Op::Dp2a, a, b);
        instruction.isHigh = form == 2;
        Formula expected = [=](const uint64_t *v) {
          Integer sum = Integer(v[2]);
          for (unsigned index = 0; index < 32 / bits; ++index)
            sum += partOf(v[0], bits, index, a == Type::S32) *
                   partOf(v[1], 8, first + index, b == Type::S32);
          return static_cast<uint64_t>(sum) & 0xffffffff;
        };
        std::string name = form == 0 ? "dp4a." : form == 1 ? "dp2a.lo." : "dp2a.hi.";
        rows.push_back(Row{name + suffixOf(a) + "." + suffixOf(b),
                           instruction,
                           {Type::B32, Type::B32, Type::B32},
                           Type::B32,
                           expected,
                           0,
                           false,
                           {}});
      }
    }
  }
}

static std::vector<Row> integerRows() {
  std::vector<Row> rows;
  for (Type type : kTypes) {
    addSimpleRows(rows, type);
    addProductRows(rows, type);
  }
  add24Rows(rows, Type::U32);
  add24Rows(rows, Type::S32);
  addSaturatingRows(rows);
  addPairRows(rows, Type::U16x2);
  addPairRows(rows, Type::S16x2);
  addDotRows(rows);
  return rows;
}

class IntegerInstruction : public ScalarInstruction {};
TEST_P(IntegerInstruction, MatchesFormula) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, IntegerInstruction, testing::ValuesIn(integerRows()), nameOfRow);
