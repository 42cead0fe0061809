// JSON that is read in place means what LLVM's own reader says, for whatever bytes a text has.
#include "frontend/values/Json.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"
#include <random>

using namespace tw;

static bool isSame(const JsonValue &mine, const llvm::json::Value &other) {
  if (const llvm::json::Object *fields = other.getAsObject()) {
    const JsonObject *object = mine.getAsObject();
    return object && llvm::all_of(*fields, [&](const auto &field) {
             const JsonValue *value = object->get(field.first);
             return value && isSame(*value, field.second);
           });
  }
  if (const llvm::json::Array *items = other.getAsArray()) {
    const JsonArray *array = mine.getAsArray();
    return array && array->size() == items->size() &&
           llvm::all_of(llvm::zip(*array, *items), [](const auto &pair) {
             return isSame(std::get<0>(pair), std::get<1>(pair));
           });
  }
  if (other.kind() == llvm::json::Value::Number)
    return !mine.getAsInteger() || mine.getAsInteger() == other.getAsInteger();
  return mine.getAsString() == other.getAsString() && mine.getAsBoolean() == other.getAsBoolean();
}

/// LLVM's reader joins two surrogates by `|`, which is wrong where both have bit 16 of the
/// character.
static bool hasMisreadSurrogates(llvm::StringRef text) {
  return llvm::Regex("\\\\u[dD][89aAbB][4-7c-fC-F]").match(text);
}

/// What is wrong with the reading of a text; empty where both read the same, or nothing.
static std::string difference(llvm::StringRef text) {
  JsonDocument document;
  OrReason<JsonValue> mine = document.readCopy(text);
  llvm::Expected<llvm::json::Value> other = llvm::json::parse(text);
  if (!other) {
    llvm::consumeError(other.takeError());
    return mine ? "only LLVM refuses it" : "";
  }
  if (!mine)
    return "only LLVM takes it: " + mine.reason().message;
  return isSame(*mine, *other) || hasMisreadSurrogates(text) ? "" : "the values differ";
}

static std::string problemOf(llvm::StringRef text) {
  JsonDocument document;
  OrReason<JsonValue> value = document.readCopy(text);
  return value ? "none" : value.reason().message;
}

static constexpr llvm::StringLiteral kTexts[] = {
    R"({"a": 1, "b": [true, false, null, -7, 9223372036854775807], "c": {"d": "", "e": {}}})",
    R"(["\"\\\/\b\f\n\r\t", "\u00e9\u65E5 \ud83d\ude00", "\ud83d", "\ude00x", "\ud83d\u0041"])",
    R"([ 1.5 , -2e10, 18446744073709551615, 1E400, [[]], [{}], "é日" ])",
    R"({"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"i":8,"j":9,"k":10,"l":11,"m":12,"n":13,)"
    R"("o":14,"p":15,"q":16,"a.b":17,"a.c":{"r":18}})",
    " \t\r\n\"x\" \n",
    "7"};

TEST(Json, ReadsWhatIsWritten) {
  for (llvm::StringRef text : kTexts)
    EXPECT_EQ(difference(text), "") << text.str();
  JsonDocument document;
  OrReason<JsonValue> value = document.read(R"({"k": [5], "n": {"x": "\u0041y"} })");
  ASSERT_TRUE(bool(value));
  const JsonObject *object = value->getAsObject();
  EXPECT_EQ((*object->getArray("k"))[0].getAsInteger(), 5);
  EXPECT_EQ(object->getObject("n")->getString("x"), llvm::StringRef("Ay"));
  EXPECT_EQ(object->getObject("n")->text(), R"({"x": "\u0041y"})");
  EXPECT_EQ(document.read(R"("\ud84d\ude00")")->getAsString(), llvm::StringRef("\U00023600"));
  EXPECT_EQ(object->get("x"), nullptr);
  EXPECT_EQ(object->getString("k"), std::nullopt);
  EXPECT_EQ(llvm::json::Value(copyOf(*object)), llvm::cantFail(llvm::json::parse(object->text())));
}

TEST(Json, NumbersThatAreNoIntegersAreNothing) {
  JsonDocument document;
  OrReason<JsonValue> value = document.read("[1.5, 18446744073709551615]");
  ASSERT_TRUE(bool(value));
  for (const JsonValue &item : *value->getAsArray())
    EXPECT_EQ(item.getAsInteger(), std::nullopt);
}

TEST(Json, SaysWhereATextIsMalformed) {
  EXPECT_EQ(problemOf("[1,"), "it is not JSON: byte 3: the text ends early");
  EXPECT_EQ(problemOf("[1 2]"), "it is not JSON: byte 3: `,` or `]` is expected");
  EXPECT_EQ(problemOf("{\"a\" 1}"), "it is not JSON: byte 5: `:` is expected");
  EXPECT_EQ(problemOf("{1: 2}"), "it is not JSON: byte 1: a name is expected");
  EXPECT_EQ(problemOf("nil"), "it is not JSON: byte 0: a value is expected");
  EXPECT_EQ(problemOf("\"\\x\""), "it is not JSON: byte 3: an unknown escape");
  EXPECT_EQ(problemOf("\"\\u12g4\""), "it is not JSON: byte 3: an escape has no four digits");
  EXPECT_EQ(problemOf("\"a\nb\""), "it is not JSON: byte 2: a string does not end");
  EXPECT_EQ(problemOf("{} x"), "it is not JSON: byte 3: text after the end");
  EXPECT_EQ(problemOf("\"\xff\""), "it is not JSON: byte 1: not UTF-8");
  EXPECT_EQ(problemOf(std::string(900, '[')), "it is nested more than 800 deep");
}

TEST(Json, EveryTruncationIsRefused) {
  for (llvm::StringRef text : kTexts)
    for (size_t size = 0; size < text.size(); ++size)
      EXPECT_EQ(difference(text.take_front(size)), "") << text.take_front(size).str();
}

TEST(Json, ChangedBytesMeanTheSameToBoth) {
  std::mt19937 random(7);
  static constexpr llvm::StringLiteral kBytes =
      "{}[]\",:\\u0123456789abcdef+-.eEntrl \n\x01\xc3\xa9";
  for (llvm::StringRef text : kTexts)
    for (int trial = 0; trial < 4000; ++trial) {
      std::string changed = text.str();
      for (int count = 1 + int(random() % 3); count > 0; --count) {
        size_t place = random() % changed.size();
        switch (random() % 3) {
        case 0:
          changed[place] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          changed.insert(place, 1, kBytes[random() % kBytes.size()]);
          break;
        default:
          changed.erase(place, 1);
        }
        if (changed.empty())
          break;
      }
      ASSERT_EQ(difference(changed), "") << changed;
    }
}
