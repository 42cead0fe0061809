// Signatures of builtins are read as Python means them.
#include "frontend/builtins/BuiltinSignature.h"
#include "gtest/gtest.h"

using namespace tw;
using Kind = Parameter::Kind;

static constexpr BuiltinSignature kNone = "";
static constexpr BuiltinSignature kAll = "a, /, b, c=None, *rest, d, e=None, **named";

TEST(BuiltinSignature, NoParameters) { EXPECT_TRUE(kNone.params().empty()); }

TEST(BuiltinSignature, KindsOfParameters) {
  struct {
    const char *name;
    Kind kind;
    bool isRequired, takesKeyword;
  } const rows[] = {
      {"a", Kind::PositionalOnly, true, false},  {"b", Kind::Positional, true, true},
      {"c", Kind::Positional, false, true},      {"rest", Kind::VarPositional, false, true},
      {"d", Kind::KeywordOnly, true, true},      {"e", Kind::KeywordOnly, false, true},
      {"named", Kind::VarKeyword, false, false},
  };
  ASSERT_EQ(kAll.params().size(), std::size(rows));
  for (auto [param, row] : llvm::zip(kAll.params(), rows)) {
    EXPECT_EQ(param.name, row.name);
    EXPECT_EQ(param.kind, row.kind) << row.name;
    EXPECT_EQ(param.isRequired(), row.isRequired) << row.name;
    EXPECT_EQ(param.takesKeyword(), row.takesKeyword) << row.name;
  }
}
