// The catalogue of codes as data.
#include "runtime/codes/Codes.h"
#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>

using namespace tw;

static constexpr CodeRow kRows[] = {
#define TW_CODE(number, name, kind, title, meaning, example, fix)                                  \
  {Code::name, #name, DiagnosticKind::kind, title, meaning, example, fix},
#include "runtime/codes/Codes.def"
#undef TW_CODE
};

static constexpr bool isBefore(const CodeRow &row, Code code) { return row.code < code; }

static_assert(std::ranges::adjacent_find(kRows, std::greater_equal<>(), &CodeRow::code) ==
                  std::end(kRows),
              "rows stand in the order of their numbers, each once");

std::span<const CodeRow> tw::codeRows() { return kRows; }

const CodeRow &tw::rowOfCode(Code code) {
  const CodeRow *row = std::lower_bound(std::begin(kRows), std::end(kRows), code, isBefore);
  assert(row != std::end(kRows) && row->code == code && "every code has a row");
  return *row;
}

const CodeRow *tw::rowNamed(const std::string &name) {
  const CodeRow *row =
      std::ranges::find(kRows, name, [](const CodeRow &row) { return codeName(row.code); });
  return row == std::end(kRows) ? nullptr : row;
}
