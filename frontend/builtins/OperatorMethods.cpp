// Operators by the names of their methods in Python: `x.__add__(y)`.
#include "frontend/builtins/OperatorMethods.h"
#include "frontend/operators/Operators.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using mlir::FailureOr;

namespace {
/// The operator that a method stands for: one of the three kinds.
struct OperatorMethod {
  std::variant<BinaryOperator, UnaryOperator, Comparison> op;
  bool isReflected = false; // `__radd__`, whose operands stand the other way around
};
} // namespace

template <typename Operator> static std::optional<Operator> operatorOf(llvm::StringRef method) {
  for (const OperatorRow<Operator> &row : operatorRows<Operator>())
    if (!row.method.empty() && row.method == method)
      return row.op;
  return std::nullopt;
}

static std::optional<OperatorMethod> findOperatorMethod(llvm::StringRef name) {
  if (!name.consume_front("__") || !name.consume_back("__"))
    return std::nullopt;
  if (std::optional<BinaryOperator> op = operatorOf<BinaryOperator>(name))
    return OperatorMethod{*op};
  if (std::optional<UnaryOperator> op = operatorOf<UnaryOperator>(name))
    return OperatorMethod{*op};
  if (std::optional<Comparison> op = operatorOf<Comparison>(name))
    return OperatorMethod{*op};
  if (name.consume_front("r"))
    if (std::optional<BinaryOperator> op = operatorOf<BinaryOperator>(name))
      return OperatorMethod{*op, /*isReflected=*/true};
  return std::nullopt;
}

bool tw::isOperatorMethod(llvm::StringRef name) { return findOperatorMethod(name).has_value(); }

FailureOr<PyValue> tw::callOperatorMethod(Emitter &emitter, llvm::StringRef name,
                                          const Arguments &arguments, const Node &site) {
  OperatorMethod method = *findOperatorMethod(name);
  const UnaryOperator *unary = std::get_if<UnaryOperator>(&method.op);
  size_t numOperands = unary ? 1 : 2;
  if (arguments.size() != numOperands || !arguments.back().keyword.empty())
    return emitter.error(Code::WrongArguments, site,
                         "`" + name + "` takes " + (unary ? "no argument" : "one argument"),
                         "write the operator itself");
  const Argument &self = arguments.front(), &other = arguments.back();
  if (unary)
    return emitUnary(emitter, *unary, self.value, site, *self.node);
  const Argument &left = method.isReflected ? other : self,
                 &right = method.isReflected ? self : other;
  if (const Comparison *comparison = std::get_if<Comparison>(&method.op))
    return emitComparison(emitter, *comparison, left.value, right.value, site, *left.node,
                          *right.node);
  return emitBinary(emitter, std::get<BinaryOperator>(method.op), left.value, right.value, site,
                    *left.node, *right.node);
}
