// Runs one instruction on many values and compares every lane with a formula: a table of rows makes
// a parameterized test.
#ifndef TEST_UNIT_WARPSIM_EXECUTEHARNESS_H
#define TEST_UNIT_WARPSIM_EXECUTEHARNESS_H
#include "backend/warpsim/exec/Execute.h"
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace tw::warpsim::test {

/// The bits of a lane's result from those of its sources, each zero-extended from its type.
using Formula = std::function<uint64_t(const uint64_t *sources)>;

struct Row {
  std::string name;          // as PTX writes it
  Instruction instruction;   // without operands
  std::vector<Type> sources; // types of the operands
  Type result = Type::None;  // of the first result; NaNs of a float type are all equal
  Formula expected;
  unsigned maxUlp = 0;                // distance allowed, in units of the result's bits
  bool isSetChosen = false;           // definedness depends on values and is checked elsewhere
  std::vector<uint64_t> extra;        // edge values besides those of the types
  std::vector<Operand> trailing = {}; // operands after the sources: the table of lop3
};

void PrintTo(const Row &row, std::ostream *stream);
std::string nameOfRow(const testing::TestParamInfo<Row> &info);

class ScalarInstruction : public testing::TestWithParam<Row> {};

/// The body of the test: thousands of values, partial masks, immediates, results that overwrite a
/// source, lanes without values.
void checkRow(const Row &row);

std::mt19937_64 &randomBits();
uint64_t drawValue(Type type, const std::vector<uint64_t> &extra = {});
const std::vector<uint64_t> &edgesOf(Type type);
uint64_t maskOf(Type type); // the bits of a value
const char *suffixOf(Type type);
bool isNanOf(Type type, uint64_t bits);

Operand registerOperand(Type type, uint32_t number); // in the file that holds the type
Operand immediateOperand(uint64_t bits);

/// An instruction with its type.
Instruction makeInstruction(Op op, Type type, Type sourceType = Type::None);

} // namespace tw::warpsim::test
#endif
