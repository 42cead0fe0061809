// Python's operators, a row for each with all of its names.
#ifndef FRONTEND_OPERATORTABLE_H
#define FRONTEND_OPERATORTABLE_H
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tw {

enum class BinaryOperator {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  LShift,
  RShift,
  BitAnd,
  BitOr,
  BitXor
};
enum class UnaryOperator { USub, UAdd, Not, Invert };
enum class Comparison { Lt, LtE, Gt, GtE, Eq, NotEq, Is, IsNot, In, NotIn };

template <typename Operator> struct OperatorRow {
  llvm::StringLiteral name; // of its class in Python's `ast` module
  Operator op;
  llvm::StringLiteral symbol;      // as kernels write it
  llvm::StringLiteral method = ""; // "add": it is also x.__add__(y)
};

inline constexpr OperatorRow<BinaryOperator> kBinaryOperators[] = {
    {"Add", BinaryOperator::Add, "+", "add"},
    {"Sub", BinaryOperator::Sub, "-", "sub"},
    {"Mult", BinaryOperator::Mul, "*", "mul"},
    {"Div", BinaryOperator::Div, "/", "truediv"},
    {"FloorDiv", BinaryOperator::FloorDiv, "//", "floordiv"},
    {"Mod", BinaryOperator::Mod, "%", "mod"},
    {"Pow", BinaryOperator::Pow, "**", "pow"},
    {"MatMult", BinaryOperator::MatMul, "@", "matmul"},
    {"LShift", BinaryOperator::LShift, "<<", "lshift"},
    {"RShift", BinaryOperator::RShift, ">>", "rshift"},
    {"BitAnd", BinaryOperator::BitAnd, "&", "and"},
    {"BitOr", BinaryOperator::BitOr, "|", "or"},
    {"BitXor", BinaryOperator::BitXor, "^", "xor"},
};
inline constexpr OperatorRow<UnaryOperator> kUnaryOperators[] = {
    {"USub", UnaryOperator::USub, "-", "neg"},
    {"UAdd", UnaryOperator::UAdd, "+", "pos"},
    {"Not", UnaryOperator::Not, "not"},
    {"Invert", UnaryOperator::Invert, "~", "invert"},
};
inline constexpr OperatorRow<Comparison> kComparisons[] = {
    {"Lt", Comparison::Lt, "<", "lt"},  {"LtE", Comparison::LtE, "<=", "le"},
    {"Gt", Comparison::Gt, ">", "gt"},  {"GtE", Comparison::GtE, ">=", "ge"},
    {"Eq", Comparison::Eq, "==", "eq"}, {"NotEq", Comparison::NotEq, "!=", "ne"},
    {"Is", Comparison::Is, "is"},       {"IsNot", Comparison::IsNot, "is not"},
    {"In", Comparison::In, "in"},       {"NotIn", Comparison::NotIn, "not in"},
};

template <typename Operator> llvm::ArrayRef<OperatorRow<Operator>> operatorRows();
template <> inline llvm::ArrayRef<OperatorRow<BinaryOperator>> operatorRows() {
  return kBinaryOperators;
}
template <> inline llvm::ArrayRef<OperatorRow<UnaryOperator>> operatorRows() {
  return kUnaryOperators;
}
template <> inline llvm::ArrayRef<OperatorRow<Comparison>> operatorRows() { return kComparisons; }

template <typename Operator> const OperatorRow<Operator> &rowOf(Operator op) {
  return *llvm::find_if(operatorRows<Operator>(), [&](const auto &row) { return row.op == op; });
}
/// The operator of a class of Python's `ast` module.
template <typename Operator> std::optional<Operator> findOperator(llvm::StringRef name) {
  for (const OperatorRow<Operator> &row : operatorRows<Operator>())
    if (row.name == name)
      return row.op;
  return std::nullopt;
}

} // namespace tw
#endif
