// Arithmetic of f32, f64, f16, bf16 and pairs against exact sums, products, quotients and roots.
#include "test/unit/warpsim/execute/ExactFloat.h"
#include "test/unit/warpsim/execute/ExecuteHarness.h"
#include <cmath>

using namespace tw::warpsim;
using namespace tw::warpsim::test;

static Layout layoutOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return kF16;
  case Type::BF16:
  case Type::BF16x2:
    return kBf16;
  case Type::F64:
    return kF64;
  default:
    return kF32;
  }
}
static bool isPair(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2 || type == Type::F32x2;
}

/// One value of the type; of a pair, applied to both halves.
using ValueFormula = std::function<uint64_t(const uint64_t *)>;
static Formula onEach(Type type, ValueFormula formula) {
  if (!isPair(type))
    return formula;
  return [=](const uint64_t *sources) {
    uint64_t result = 0;
    unsigned halfBits = bytesOf(type) * 4;
    for (unsigned shift : {0u, halfBits}) {
      uint64_t halves[3] = {};
      for (unsigned index = 0; index < 3; ++index)
        halves[index] = (sources[index] >> shift) & ((uint64_t(1) << halfBits) - 1);
      result |= formula(halves) << shift;
    }
    return result;
  };
}

static const char *nameOf(Rounding rounding) {
  static const char *const names[] = {"", ".rn", ".rz", ".rm", ".rp"};
  return names[static_cast<unsigned>(rounding)];
}

static std::string suffixOf(const Instruction &instruction) {
  std::string text = nameOf(instruction.rounding);
  text += instruction.isFtz ? ".ftz" : "";
  text += instruction.isNanMode ? ".NaN" : "";
  text += instruction.isXorsignAbs ? ".xorsign.abs" : "";
  text += instruction.isSaturating ? ".sat" : "";
  text += instruction.isRelu ? ".relu" : "";
  return text + "." + test::suffixOf(instruction.type);
}

static Modifiers modifiersOf(const Instruction &instruction) {
  Rounding rounding = instruction.rounding == Rounding::None ? Rounding::Rn : instruction.rounding;
  return {rounding, instruction.isFtz, instruction.isSaturating, instruction.isRelu};
}

static void addRow(std::vector<Row> &rows, const char *name, Instruction instruction, size_t arity,
                   ValueFormula formula) {
  Type type = instruction.type;
  // A source array of the harness has no third value for two operands.
  Formula padded = [=](const uint64_t *sources) {
    uint64_t values[3] = {};
    std::copy(sources, sources + arity, values);
    return onEach(type, formula)(values);
  };
  rows.push_back(Row{name + suffixOf(instruction),
                     instruction,
                     std::vector<Type>(arity, type),
                     type,
                     padded,
                     0,
                     false,
                     {}});
}

static void addSums(std::vector<Row> &rows, Instruction form) {
  Layout layout = layoutOf(form.type);
  Modifiers modifiers = modifiersOf(form);
  uint64_t sign = uint64_t(1) << (layout.exponentBits + layout.mantissaBits);
  auto with = [&](Op op) {
    Instruction instruction = form;
    instruction.op = op;
    return instruction;
  };
  if (!form.isRelu) {
    addRow(rows, "add", with(Op::Add), 2,
           [=](const uint64_t *v) { return expectedSum(layout, modifiers, v[0], v[1]); });
    addRow(rows, "sub", with(Op::Sub), 2,
           [=](const uint64_t *v) { return expectedSum(layout, modifiers, v[0], v[1] ^ sign); });
    addRow(rows, "mul", with(Op::Mul), 2,
           [=](const uint64_t *v) { return expectedProduct(layout, modifiers, v[0], v[1]); });
  }
  addRow(rows, "fma", with(Op::Fma), 3, [=](const uint64_t *v) {
    return expectedProductSum(layout, modifiers, v[0], v[1], v[2]);
  });
}

static void addQuotients(std::vector<Row> &rows, Instruction form) {
  Layout layout = layoutOf(form.type);
  Modifiers modifiers = modifiersOf(form);
  uint64_t one = layout.exponentBits == 8 ? 0x3f800000 : 0x3ff0000000000000;
  form.op = Op::Div;
  addRow(rows, "div", form, 2,
         [=](const uint64_t *v) { return expectedQuotient(layout, modifiers, v[0], v[1]); });
  form.op = Op::Rcp;
  addRow(rows, "rcp", form, 1,
         [=](const uint64_t *v) { return expectedQuotient(layout, modifiers, one, v[0]); });
  form.op = Op::Sqrt;
  addRow(rows, "sqrt", form, 1,
         [=](const uint64_t *v) { return expectedRoot(layout, modifiers, v[0]); });
}

static std::vector<Row> arithmeticRows() {
  std::vector<Row> rows;
  for (Rounding rounding : {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp}) {
    for (unsigned flags = 0; flags < 4; ++flags) {
      Instruction form = makeInstruction(Op::Add, Type::F32);
      form.rounding = rounding;
      form.isFtz = flags & 1;
      form.isSaturating = flags & 2;
      addSums(rows, form);
      if (!form.isSaturating)
        addQuotients(rows, form);
    }
    for (bool isFtz : {false, true}) {
      Instruction form = makeInstruction(Op::Add, Type::F32x2);
      form.rounding = rounding;
      form.isFtz = isFtz;
      addSums(rows, form);
    }
    Instruction form = makeInstruction(Op::Add, Type::F64);
    form.rounding = rounding;
    addSums(rows, form);
    addQuotients(rows, form);
  }
  for (Type type : {Type::F16, Type::F16x2, Type::BF16, Type::BF16x2}) {
    Instruction form = makeInstruction(Op::Add, type);
    form.rounding = Rounding::Rn;
    addSums(rows, form);
    form.isRelu = true;
    addSums(rows, form);
    if (layoutOf(type).exponentBits == 8)
      continue;
    form.isFtz = true;
    addSums(rows, form);
    form.isRelu = false;
    addSums(rows, form);
    form.isSaturating = true;
    addSums(rows, form);
  }
  return rows;
}

/// Sums in f32 of operands that are f16 or bf16, but for the last.
static std::vector<Row> mixedRows() {
  std::vector<Row> rows;
  for (Type narrow : {Type::F16, Type::BF16})
    for (Rounding rounding : {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp})
      for (bool isSat : {false, true}) {
        Instruction form = makeInstruction(Op::Add, Type::F32, narrow);
        form.rounding = rounding;
        form.isSaturating = isSat;
        Modifiers modifiers = modifiersOf(form);
        std::string suffix = suffixOf(form) + "." + test::suffixOf(narrow);
        auto widen = [layout = layoutOf(narrow)](uint64_t code) -> uint64_t {
          return std::bit_cast<uint32_t>(float(toDouble(layout, code)));
        };
        auto row = [&](const char *name, Op op, std::vector<Type> sources, Formula expected) {
          form.op = op;
          rows.push_back({name + suffix, form, sources, Type::F32, expected, 0, false, {}});
        };
        row("add", Op::Add, {narrow, Type::F32},
            [=](const uint64_t *v) { return expectedSum(kF32, modifiers, widen(v[0]), v[1]); });
        row("sub", Op::Sub, {narrow, Type::F32}, [=](const uint64_t *v) {
          return expectedSum(kF32, modifiers, widen(v[0]), v[1] ^ 0x80000000);
        });
        row("fma", Op::Fma, {narrow, narrow, Type::F32}, [=](const uint64_t *v) {
          return expectedProductSum(kF32, modifiers, widen(v[0]), widen(v[1]), v[2]);
        });
      }
  return rows;
}

/// min and max by the order of real numbers, with -0 below +0.
static uint64_t expectedExtremum(const Instruction &instruction, uint64_t a, uint64_t b) {
  Layout layout = layoutOf(instruction.type);
  uint64_t sign = uint64_t(1) << (layout.exponentBits + layout.mantissaBits), resultSign = 0;
  if (instruction.isFtz) {
    a = flush(layout, a);
    b = flush(layout, b);
  }
  if (instruction.isXorsignAbs) {
    resultSign = (a ^ b) & sign;
    a &= ~sign;
    b &= ~sign;
  }
  bool isMin = instruction.op == Op::Min;
  if (isNan(layout, a) || isNan(layout, b)) {
    if (instruction.isNanMode || (isNan(layout, a) && isNan(layout, b)))
      return nanOf(layout);
    return (isNan(layout, a) ? b : a) | resultSign;
  }
  double left = toDouble(layout, a), right = toDouble(layout, b);
  bool isLeftLess = left < right || (left == right && std::signbit(left));
  return (isLeftLess == isMin ? a : b) | resultSign;
}

static std::vector<Row> extremumRows() {
  std::vector<Row> rows;
  for (Type type : {Type::F32, Type::F64, Type::F16, Type::F16x2, Type::BF16, Type::BF16x2}) {
    for (unsigned flags = 0; flags < 16; ++flags) {
      Instruction instruction = makeInstruction(flags & 1 ? Op::Min : Op::Max, type);
      instruction.isFtz = flags & 2;
      instruction.isNanMode = flags & 4;
      instruction.isXorsignAbs = flags & 8;
      bool isPlain = flags < 2, isBrain = type == Type::BF16 || type == Type::BF16x2;
      if ((type == Type::F64 && !isPlain) || (isBrain && instruction.isFtz))
        continue;
      addRow(rows, flags & 1 ? "min" : "max", instruction, 2,
             [=](const uint64_t *v) { return expectedExtremum(instruction, v[0], v[1]); });
    }
    for (unsigned flags = 0; flags < 4; ++flags) {
      Instruction instruction = makeInstruction(flags & 1 ? Op::Abs : Op::Neg, type);
      instruction.isFtz = flags & 2;
      Layout layout = layoutOf(type);
      bool isBrain = type == Type::BF16 || type == Type::BF16x2;
      if (instruction.isFtz && (type == Type::F64 || isBrain))
        continue;
      uint64_t sign = uint64_t(1) << (layout.exponentBits + layout.mantissaBits);
      addRow(rows, flags & 1 ? "abs" : "neg", instruction, 1, [=](const uint64_t *v) {
        uint64_t value = instruction.isFtz ? flush(layout, v[0]) : v[0];
        return instruction.op == Op::Abs ? value & ~sign : value ^ sign;
      });
    }
  }
  return rows;
}

/// Functions that PTX calls approximate: the long double result, give or take a unit.
static std::vector<Row> functionRows() {
  struct Function {
    const char *name;
    Op op;
    long double (*compute)(long double);
    bool isOfHalves;
  };
  static const Function functions[] = {
      {"ex2.approx", Op::Ex2, [](long double x) { return std::exp2(x); }, true},
      {"tanh.approx", Op::Tanh, [](long double x) { return std::tanh(x); }, true},
      {"lg2.approx", Op::Lg2, [](long double x) { return std::log2(x); }, false},
      {"sin.approx", Op::Sin, [](long double x) { return std::sin(x); }, false},
      {"cos.approx", Op::Cos, [](long double x) { return std::cos(x); }, false},
      {"rcp.approx", Op::Rcp, [](long double x) { return 1 / x; }, false},
      {"sqrt.approx", Op::Sqrt, [](long double x) { return std::sqrt(x); }, false},
      {"rsqrt.approx", Op::Rsqrt, [](long double x) { return 1 / std::sqrt(x); }, false}};
  std::vector<Row> rows;
  for (const Function &function : functions) {
    for (Type type : {Type::F32, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2}) {
      for (bool isFtz : {false, true}) {
        if (type != Type::F32 && !function.isOfHalves)
          continue;
        Instruction instruction = makeInstruction(function.op, type);
        instruction.isApproximate = true;
        instruction.isFtz = isFtz;
        Layout layout = layoutOf(type);
        addRow(rows, function.name, instruction, 1, [=](const uint64_t *v) {
          uint64_t bits = isFtz ? flush(layout, v[0]) : v[0];
          double value = static_cast<double>(function.compute(toDouble(layout, bits)));
          return expectedNarrowing(kF64, layout, {Rounding::Rn, isFtz, false, false},
                                   std::bit_cast<uint64_t>(value));
        });
        rows.back().maxUlp = isPair(type) ? 0 : 1;
      }
    }
  }
  return rows;
}

class FloatArithmetic : public ScalarInstruction {};
TEST_P(FloatArithmetic, IsRoundedOnce) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, FloatArithmetic, testing::ValuesIn(arithmeticRows()), nameOfRow);

class MixedArithmetic : public ScalarInstruction {};
TEST_P(MixedArithmetic, IsThatOfTheWidenedOperands) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, MixedArithmetic, testing::ValuesIn(mixedRows()), nameOfRow);

class FloatExtremum : public ScalarInstruction {};
TEST_P(FloatExtremum, OrdersNumbersAndNan) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, FloatExtremum, testing::ValuesIn(extremumRows()), nameOfRow);

class FloatFunction : public ScalarInstruction {};
TEST_P(FloatFunction, IsWithinOneUnit) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Execute, FloatFunction, testing::ValuesIn(functionRows()), nameOfRow);

/// One lane of an instruction with the given source bits.
static uint64_t runOnce(Instruction instruction, const std::vector<uint64_t> &sources) {
  WarpRegisters registers({8, 8, 8});
  instruction.results = {registerOperand(instruction.type, 0)};
  for (uint32_t index = 0; index < sources.size(); ++index) {
    instruction.sources.push_back(registerOperand(instruction.type, index + 1));
    writeLane(instruction.sources.back(), registers, 0, sources[index], true);
  }
  executeScalar(instruction, registers, 1);
  return readLane(instruction.results[0], registers, 0);
}

TEST(FloatNan, IsCanonicalInSinglePrecision) {
  for (Op op : {Op::Add, Op::Mul, Op::Min, Op::Max, Op::Div})
    EXPECT_EQ(runOnce(makeInstruction(op, Type::F32), {0xffc12345, 0x7fc54321}), 0x7fffffffu);
  EXPECT_EQ(runOnce(makeInstruction(Op::Fma, Type::F32), {0x7f800000, 0, 0}), 0x7fffffffu);
  EXPECT_EQ(runOnce(makeInstruction(Op::Sqrt, Type::F32), {0xbf800000}), 0x7fffffffu);
  EXPECT_EQ(runOnce(makeInstruction(Op::Add, Type::F16), {0xfe00, 0}), 0x7fffu);
  EXPECT_EQ(runOnce(makeInstruction(Op::Add, Type::BF16), {0xffc0, 0}), 0x7fffu);
}

TEST(FloatSelect3, TakesTheLeastOfThree) {
  Instruction instruction = makeInstruction(Op::Min, Type::F32);
  EXPECT_EQ(runOnce(instruction, {0x40000000, 0x3f800000, 0x40400000}), 0x3f800000u);
  EXPECT_EQ(runOnce(instruction, {0x7fc00000, 0x40400000, 0x40000000}), 0x40000000u);
  instruction.isNanMode = true;
  EXPECT_EQ(runOnce(instruction, {0x3f800000, 0x40400000, 0x7fc00000}), 0x7fffffffu);
}

TEST(FloatUpperWord, ReciprocalsOfF64HaveTheUpperWordOnly) {
  Instruction instruction = makeInstruction(Op::Rcp, Type::F64);
  instruction.isApproximate = instruction.isFtz = true;
  EXPECT_EQ(runOnce(instruction, {std::bit_cast<uint64_t>(3.0)}), 0x3fd5555500000000u);
  EXPECT_EQ(runOnce(instruction, {0x8000000000000001}), 0xfff0000000000000u);
  EXPECT_EQ(runOnce(instruction, {0x7ff8000000000000}), 0x7fffffff00000000u);
  instruction.op = Op::Rsqrt;
  EXPECT_EQ(runOnce(instruction, {std::bit_cast<uint64_t>(16.0)}), 0x3fd0000000000000u);
  instruction.isFtz = false;
  EXPECT_EQ(runOnce(instruction, {std::bit_cast<uint64_t>(16.0)}), 0x3fd0000000000000u);
}

TEST(FloatCopysign, TakesTheSignOfTheFirst) {
  EXPECT_EQ(runOnce(makeInstruction(Op::Copysign, Type::F32), {0x80000000, 0x3f800000}),
            0xbf800000u);
  EXPECT_EQ(runOnce(makeInstruction(Op::Copysign, Type::F64), {1, 0xbff0000000000000}),
            0x3ff0000000000000u);
}

TEST(FloatTest, TestpTellsClasses) {
  static const uint64_t values[] = {0,          1,          0x00800000, 0x3f800000,
                                    0x7f800000, 0x7fc00000, 0x80000001};
  // For each kind, which of the values have it.
  static const struct {
    TestpKind kind;
    LaneMask holds;
  } cases[] = {{TestpKind::Finite, 0b1001111}, {TestpKind::Infinite, 0b0010000},
               {TestpKind::Number, 0b1011111}, {TestpKind::NotANumber, 0b0100000},
               {TestpKind::Normal, 0b0001100}, {TestpKind::Subnormal, 0b1000010}};
  for (const auto &test : cases) {
    Instruction instruction = makeInstruction(Op::Testp, Type::F32);
    instruction.testp = test.kind;
    instruction.results = {registerOperand(Type::Pred, 0)};
    instruction.sources = {registerOperand(Type::F32, 0)};
    WarpRegisters registers({1, 1, 0});
    for (unsigned lane = 0; lane < 7; ++lane)
      writeLane(instruction.sources[0], registers, lane, values[lane], lane != 2);
    executeScalar(instruction, registers, 0x7f);
    EXPECT_EQ(registers.predicates[0], test.holds) << static_cast<int>(test.kind);
    EXPECT_EQ(registers.predicatesSet[0], 0b1111011u);
  }
}
