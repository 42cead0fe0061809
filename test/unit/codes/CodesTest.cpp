// The catalogue of report codes is whole.
#include "runtime/codes/Codes.h"
#include <gtest/gtest.h>
#include <set>

using namespace tw;

TEST(CodesTest, EveryCodeHasOneRowAndOneName) {
  std::set<std::string> names;
  for (const CodeRow &row : codeRows()) {
    EXPECT_EQ(&rowOfCode(row.code), &row);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  EXPECT_EQ(names.size(), codeRows().size());
}

TEST(CodesTest, NumbersAreShownInFourDigits) {
  EXPECT_EQ(codeName(Code::UnknownName), "TW0101");
  EXPECT_EQ(codeName(Code::CompilerFault), "TW0901");
}
