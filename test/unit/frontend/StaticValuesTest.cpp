// Compile-time values behave as Python's: each case was written down with what Python answers.
#include "frontend/values/Parts.h"
#include "frontend/values/StaticOperators.h"
#include "frontend/values/ValueText.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tw;

static std::string textOf(OrReason<PyValue> result) {
  return result ? toText(*result, /*isRepr=*/true) : "error: " + result.reason().message;
}
static std::string binary(const char *op, const PyValue &a, const PyValue &b) {
  return textOf(staticBinary(*findOperator<BinaryOperator>(op), a, b));
}
static std::string unary(const char *op, const PyValue &a) {
  return textOf(staticUnary(*findOperator<UnaryOperator>(op), a));
}
static std::string compare(const char *op, const PyValue &a, const PyValue &b) {
  return textOf(staticCompare(*findOperator<Comparison>(op), a, b));
}
static PyValue fromText(const char *text) {
  JsonDocument document;
  OrReason<JsonValue> json = document.read(text);
  EXPECT_TRUE(bool(json));
  std::optional<PyValue> value = fromJson(*json->getAsObject());
  EXPECT_TRUE(value.has_value()) << text;
  return value.value_or(PyValue{});
}

TEST(StaticValues, IntegerDivisionRoundsDown) {
  EXPECT_EQ(binary("FloorDiv", makeInt(-7), makeInt(2)), "-4");
  EXPECT_EQ(binary("Mod", makeInt(-7), makeInt(3)), "2");
  EXPECT_EQ(binary("FloorDiv", makeInt(7), makeInt(-2)), "-4");
  EXPECT_EQ(binary("Mod", makeInt(7), makeInt(-3)), "-2");
  EXPECT_EQ(binary("Mod", makeInt(-6), makeInt(3)), "0");
  EXPECT_EQ(binary("Div", makeInt(7), makeInt(2)), "3.5");
  EXPECT_EQ(binary("FloorDiv", makeInt(INT64_MIN), makeInt(-1)), "9223372036854775808");
  EXPECT_EQ(binary("Mod", makeInt(1), makeInt(0)), "error: division by zero");
}

TEST(StaticValues, QuotientsOfFloatsAreThoseOfExactMultiples) {
  EXPECT_EQ(binary("FloorDiv", {4503599627370497.0}, {1.0}), "4503599627370497.0");
  EXPECT_EQ(binary("FloorDiv", {-1.0}, {HUGE_VAL}), "-1.0");
  EXPECT_EQ(binary("Mod", {-1.0}, {HUGE_VAL}), "inf");
  EXPECT_EQ(binary("FloorDiv", {-0.0}, {3.0}), "-0.0");
  EXPECT_EQ(binary("Mod", {6.0}, {-3.0}), "-0.0");
  EXPECT_EQ(binary("FloorDiv", {1.0}, {0.1}), "9.0");
}

TEST(StaticValues, LargeIntegersAreComparedExactly) {
  PyValue large = makeInt((1ll << 53) + 1);
  EXPECT_EQ(compare("Eq", large, {0x1p53}), "False");
  EXPECT_EQ(compare("Gt", large, {0x1p53}), "True");
  EXPECT_EQ(compare("Lt", {HUGE_VAL}, large), "False");
  EXPECT_EQ(compare("GtE", makeInt(0), {-0.0}), "True");
  EXPECT_EQ(compare("Eq", makeInt(1), {std::nan("")}), "False");
}

TEST(StaticValues, CharactersAreNotBytes) {
  EXPECT_EQ(elementsOf({std::string("a\u00e9\u65e5")})->size(), 3u);
}

TEST(StaticValues, UnknownOperatorsOnZeroAreErrors) {
  EXPECT_EQ(binary("MatMult", makeInt(1), makeInt(0)), "error: `@` does not take int and int");
}

TEST(StaticValues, IntegersGrowAsNeeded) {
  PyValue large = *staticBinary(BinaryOperator::Pow, makeInt(2), makeInt(100));
  EXPECT_EQ(toText(large, true), "1267650600228229401496703205376");
  EXPECT_EQ(binary("Sub", large, large), "0");
  EXPECT_EQ(binary("RShift", large, makeInt(99)), "2");
  EXPECT_EQ(binary("LShift", makeInt(-3), makeInt(70)), "-3541774862152233910272");
  EXPECT_EQ(binary("Mult", makeInt(INT64_MAX), makeInt(INT64_MAX)),
            "85070591730234615847396907784232501249");
  EXPECT_EQ(unary("USub", makeInt(INT64_MIN)), "9223372036854775808");
  EXPECT_EQ(unary("Invert", makeInt(5)), "-6");
  EXPECT_EQ(binary("RShift", makeInt(-1), makeInt(500)), "-1");
}

TEST(StaticValues, AbsurdSizesAreErrorsNotExhaustion) {
  EXPECT_EQ(binary("LShift", makeInt(1), makeInt(1ll << 40)),
            "error: an integer of more than 4096 bits");
  EXPECT_EQ(binary("Pow", makeInt(10), makeInt(1ll << 40)),
            "error: an integer of more than 4096 bits");
  EXPECT_EQ(binary("Pow", makeInt(-1), makeInt((1ll << 40) + 1)), "-1");
  EXPECT_EQ(binary("Pow", makeInt(0), makeInt(0)), "1");
  EXPECT_EQ(binary("Mult", {std::string("ab")}, makeInt(1ll << 40)),
            "error: a sequence of more than 65536 elements");
  EXPECT_EQ(binary("LShift", makeInt(1), makeInt(-1)), "error: negative shift count");
}

TEST(StaticValues, FloatsFollowPython) {
  EXPECT_EQ(binary("Mod", {-7.5}, {2.0}), "0.5");
  EXPECT_EQ(binary("FloorDiv", {-7.5}, {2.0}), "-4.0");
  EXPECT_EQ(binary("Mod", {5.0}, {-3.0}), "-1.0");
  EXPECT_EQ(binary("Pow", makeInt(2), makeInt(-1)), "0.5");
  EXPECT_EQ(binary("Div", {1.0}, {0.0}), "error: division by zero");
  EXPECT_EQ(binary("Add", {0.1}, {0.2}), "0.30000000000000004");
  EXPECT_EQ(floatText(1e16), "1e+16");
  EXPECT_EQ(floatText(123456789.0), "123456789.0");
  EXPECT_EQ(floatText(1e-5), "1e-05");
  EXPECT_EQ(floatText(0.0001), "0.0001");
  EXPECT_EQ(floatText(-HUGE_VAL), "-inf");
}

TEST(StaticValues, BoolsAreIntegers) {
  EXPECT_EQ(binary("Add", {true}, {true}), "2");
  EXPECT_EQ(binary("BitAnd", {true}, {false}), "False");
  EXPECT_EQ(binary("BitOr", {true}, makeInt(2)), "3");
  EXPECT_EQ(compare("Eq", {true}, makeInt(1)), "True");
  EXPECT_EQ(compare("Is", {true}, makeInt(1)), "False");
}

TEST(StaticValues, SequencesCompareAndConcatenate) {
  PyValue pair = makeTuple({makeInt(1), {2.5}});
  EXPECT_EQ(binary("Add", pair, makeTuple({{None{}}})), "(1, 2.5, None)");
  EXPECT_EQ(binary("Mult", makeTuple({makeInt(1)}), makeInt(3)), "(1, 1, 1)");
  EXPECT_EQ(binary("Mult", makeInt(-2), pair), "()");
  EXPECT_EQ(compare("Lt", pair, makeTuple({makeInt(1), makeInt(3)})), "True");
  EXPECT_EQ(compare("In", makeInt(1), pair), "True");
  EXPECT_EQ(compare("NotIn", {std::string("x")}, {std::string("abc")}), "True");
  EXPECT_EQ(compare("Lt", {std::nan("")}, makeInt(1)), "False");
  EXPECT_EQ(compare("GtE", {std::nan("")}, makeInt(1)), "False");
  EXPECT_EQ(compare("Lt", {None{}}, makeInt(1)), "error: None and int cannot be ordered");
}

TEST(StaticValues, RangesCountAsInPython) {
  auto length = [](int64_t start, int64_t stop, int64_t step) {
    return lengthOf({share(makeInt(start)), share(makeInt(stop)), share(makeInt(step)), true, {}});
  };
  EXPECT_EQ(length(0, 10, 3), 4);
  EXPECT_EQ(length(10, 0, -3), 4);
  EXPECT_EQ(length(0, 10, -1), 0);
  EXPECT_EQ(length(0, 10, 0), std::nullopt);
  EXPECT_EQ(length(INT64_MIN, INT64_MAX, INT64_MAX), 3);
  EXPECT_EQ(length(INT64_MIN, INT64_MAX, 1), std::nullopt);
}

TEST(StaticValues, ValuesSurviveTheBuffer) {
  for (const char *text :
       {R"({"k":"none"})", R"({"k":"bool","v":true})",
        R"({"k":"int","v":"-123456789012345678901234"})", R"({"k":"str","v":"a'b"})",
        R"({"k":"dtype","v":"float32"})", R"({"k":"pointer_type","v":{"k":"dtype","v":"int8"}})",
        R"({"fields":["a"],"k":"tuple","v":[{"k":"float","v":"inf"}]})"}) {
    PyValue value = fromText(text);
    std::optional<llvm::json::Value> json = toJson(value);
    ASSERT_TRUE(json.has_value()) << text;
    EXPECT_EQ(*json, llvm::cantFail(llvm::json::parse(text)));
  }
  EXPECT_EQ(*fromText(R"({"k":"float","v":"0x1.8p+1"})").as<double>(), 3.0);
  EXPECT_EQ(*fromText(R"({"k":"constexpr","v":{"k":"int","v":"7"}})").as<llvm::APSInt>(), 7);
}

TEST(StaticValues, MalformedValuesAreRefused) {
  for (const char *text :
       {R"({})", R"({"k":"int","v":"12x"})", R"({"k":"int","v":""})", R"({"k":"int","v":3})",
        R"({"k":"float","v":"zz"})", R"({"k":"tuple","v":[1]})", R"({"k":"pointer_type","v":{}})",
        R"({"k":"tuple","v":[],"fields":["a"]})", R"({"k":"what","v":"x"})"}) {
    JsonDocument document;
    EXPECT_FALSE(fromJson(*document.read(text)->getAsObject()).has_value()) << text;
  }
}

TEST(StaticValues, LeavesKeepTheirOrder) {
  PyValue nested = makeTuple({makeInt(1), makeTuple({makeInt(2), {true}}), {2.5}});
  std::vector<std::string> seen;
  forEachLeaf(nested, [&](const PyValue &leaf) { seen.push_back(toText(leaf, true)); });
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "2", "True", "2.5"}));
  int64_t next = 0;
  PyValue counted = mapLeaves(nested, [&](const PyValue &) { return makeInt(next++); });
  EXPECT_EQ(toText(counted, true), "(0, (1, 2), 3)");
}
