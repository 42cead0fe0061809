// Whatever the binary depends on changes the key; nothing else does.
#include "backend/api/CacheKey.h"
#include "backend/api/Compile.h"
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace tw;
using namespace tw::api;

static std::string buffer(const std::string &file, int line, const std::string &source,
                          const std::string &place, const std::string &value,
                          const std::string &function = "store") {
  return R"({"version":1,"entry":"f0","functions":{"f0":{"name":"k","file":")" + file +
         R"(","line":)" + std::to_string(line) + R"(,"source":")" + source +
         R"(","ast":{"_":"Constant","@":)" + place + R"(,"value":{"k":"int","v":")" + value +
         R"("}},"params":[],"names":{"line":{"k":"int","v":")" + value +
         R"("},"f":{"k":"builtin","v":")" + function + R"("}}}}})";
}

TEST(CacheKeyTest, PlacesInFilesAreNoPart) {
  std::string digest = digestSource(buffer("/a.py", 1, "x = 1", "[1,1,1,2]", "1"));
  EXPECT_EQ(digest, digestSource(buffer("/b.py", 1, "x = 1", "[1,1,1,2]", "1"))) << "path";
  EXPECT_EQ(digest, digestSource(buffer("/a.py", 9, "x = 1", "[9,1,9,2]", "1"))) << "line";
  EXPECT_EQ(digest, digestSource(buffer("/a.py", 1, "x = 1 # why", "[1,1,1,2]", "1"))) << "comment";
  EXPECT_NE(digest, digestSource(buffer("/a.py", 1, "x = 1", "[1,1,1,2]", "2"))) << "value";
}

TEST(CacheKeyTest, AssertionsNameTheirLines) {
  std::string digest = digestSource(buffer("/a.py", 1, "x", "[1,1,1,2]", "1", "device_assert"));
  EXPECT_NE(digest, digestSource(buffer("/a.py", 2, "x", "[2,1,2,2]", "1", "device_assert")));
}

TEST(CacheKeyTest, OrderOfMembersIsNoPart) {
  EXPECT_EQ(digestSource(R"({"version":1,"functions":{},"entry":"f"})"),
            digestSource(R"({"entry":"f", "functions":{},"version":1})"));
}

TEST(CacheKeyTest, MalformedBuffersHaveDigestsToo) {
  std::set<std::string> digests;
  for (const char *text : {"", "{", "[]", "{}", "null", R"({"functions":3})"})
    digests.insert(digestSource(text));
  EXPECT_EQ(digests.size(), 6u);
}

TEST(CacheKeyTest, EveryInputIsAPart) {
  ArgumentSpec scalar;
  scalar.name = "n";
  scalar.type = "i32";
  Specialization base;
  base.arguments = {scalar};
  std::vector<std::function<void(Specialization &)>> changes = {
      [](Specialization &s) { s.options.numWarps = 8; },
      [](Specialization &s) { s.options.numStages = 1; },
      [](Specialization &s) { s.options.debug = true; },
      [](Specialization &s) { s.options.extra = "x"; },
      [](Specialization &s) { s.arguments.clear(); },
      [](Specialization &s) { s.arguments.push_back(s.arguments[0]); },
      [](Specialization &s) { s.arguments[0].kind = ArgumentSpec::Kind::Pointer; },
      [](Specialization &s) { s.arguments[0].kind = ArgumentSpec::Kind::Constexpr; },
      [](Specialization &s) { s.arguments[0].name = "m"; },
      [](Specialization &s) { s.arguments[0].type = "i64"; },
      [](Specialization &s) { s.arguments[0].name = "", s.arguments[0].type = "ni32"; },
      [](Specialization &s) { s.arguments[0].constexprJson = "1"; },
      [](Specialization &s) { s.arguments[0].divisibility = 16; },
      [](Specialization &s) { s.arguments[0].equals = 0; },
      [](Specialization &s) { s.arguments[0].equals = 1; }};
  for (const ArgumentFact &fact : kArgumentFacts)
    changes.push_back([&](Specialization &s) { s.arguments[0].*fact.value = true; });
  std::set<std::string> keys = {
      makeKey("source", base, "cpu", "build"), makeKey("other", base, "cpu", "build"),
      makeKey("source", base, "gpu", "build"), makeKey("source", base, "cpu", "other build")};
  for (const auto &change : changes) {
    Specialization changed = base;
    change(changed);
    keys.insert(makeKey("source", changed, "cpu", "build"));
  }
  EXPECT_EQ(keys.size(), changes.size() + 4);
  EXPECT_EQ(keys.begin()->size(), 64u);
  EXPECT_EQ(makeKey("source", base, "cpu", "build"), makeKey("source", base, "cpu", "build"));
}

TEST(CacheKeyTest, BuildIsIdentified) {
  EXPECT_GE(buildId().size(), 40u);
  EXPECT_EQ(buildId(), buildId());
}
