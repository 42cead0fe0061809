// Operators by the names of their methods in Python: `x.__add__(y)`.
#include "frontend/emit/OperatorMethods.h"

using namespace tw;

namespace {
struct OperatorMethod {
  llvm::StringLiteral name, op;
  enum Kind { Binary, Comparison, Unary } kind = Binary;
};
} // namespace

static constexpr OperatorMethod kOperatorMethods[] = {
    {"add", "Add"},
    {"sub", "Sub"},
    {"mul", "Mult"},
    {"truediv", "Div"},
    {"floordiv", "FloorDiv"},
    {"mod", "Mod"},
    {"pow", "Pow"},
    {"matmul", "MatMult"},
    {"lshift", "LShift"},
    {"rshift", "RShift"},
    {"and", "BitAnd"},
    {"or", "BitOr"},
    {"xor", "BitXor"},
    {"lt", "Lt", OperatorMethod::Comparison},
    {"le", "LtE", OperatorMethod::Comparison},
    {"gt", "Gt", OperatorMethod::Comparison},
    {"ge", "GtE", OperatorMethod::Comparison},
    {"eq", "Eq", OperatorMethod::Comparison},
    {"ne", "NotEq", OperatorMethod::Comparison},
    {"neg", "USub", OperatorMethod::Unary},
    {"pos", "UAdd", OperatorMethod::Unary},
    {"invert", "Invert", OperatorMethod::Unary},
};

/// `__add__`, or `__radd__`, whose operands stand the other way around.
static const OperatorMethod *findOperatorMethod(llvm::StringRef name, bool &isReflected) {
  isReflected = false;
  if (!name.consume_front("__") || !name.consume_back("__"))
    return nullptr;
  auto find = [](llvm::StringRef wanted) {
    return llvm::find_if(kOperatorMethods, [&](const auto &row) { return row.name == wanted; });
  };
  const OperatorMethod *row = find(name), *none = std::end(kOperatorMethods);
  if (row == none && name.consume_front("r")) {
    row = find(name);
    isReflected = row != none && row->kind == OperatorMethod::Binary;
    return isReflected ? row : nullptr;
  }
  return row == none ? nullptr : row;
}

bool tw::isOperatorMethod(llvm::StringRef name) {
  bool isReflected;
  return findOperatorMethod(name, isReflected) != nullptr;
}

ValueOr tw::callOperatorMethod(Emitter &emitter, llvm::StringRef name, const Arguments &arguments,
                               const Node &site) {
  bool isReflected;
  const OperatorMethod &method = *findOperatorMethod(name, isReflected);
  size_t numOperands = method.kind == OperatorMethod::Unary ? 1 : 2;
  if (arguments.size() != numOperands || !arguments.back().keyword.empty())
    return emitter.error(Code::WrongArguments, site,
                         "`" + name + "` takes " +
                             (numOperands == 1 ? "no argument" : "one argument"),
                         "write the operator itself");
  const Argument &self = arguments.front(), &other = arguments.back();
  if (method.kind == OperatorMethod::Unary)
    return emitter.unary(method.op, self.value, site, *self.node);
  const Argument &left = isReflected ? other : self, &right = isReflected ? self : other;
  return method.kind == OperatorMethod::Comparison
             ? emitter.compare(method.op, left.value, right.value, site, *left.node, *right.node)
             : emitter.binary(method.op, left.value, right.value, site, *left.node, *right.node);
}
