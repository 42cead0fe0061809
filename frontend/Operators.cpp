// Operators: Python's meaning at compile time, operations of the language at run time.
#include "frontend/Descriptors.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

//===-- Operators ----------------------------------------------------------------------------===//

/// Whether a value is an object that Python alone understands.
static bool isObject(const Value &value) {
  const Callable *callable = value.as<Callable>();
  return value.is<Opaque>() || (callable && callable->kind == Callable::Kind::Host);
}

static std::optional<BinaryOperator> binaryOperator(llvm::StringRef op) {
  return llvm::StringSwitch<std::optional<BinaryOperator>>(op)
      .Case("Add", BinaryOperator::Add)
      .Case("Sub", BinaryOperator::Sub)
      .Case("Mult", BinaryOperator::Mul)
      .Case("Div", BinaryOperator::Div)
      .Case("FloorDiv", BinaryOperator::FloorDiv)
      .Case("Mod", BinaryOperator::Mod)
      .Case("LShift", BinaryOperator::LShift)
      .Case("RShift", BinaryOperator::RShift)
      .Case("BitAnd", BinaryOperator::BitAnd)
      .Case("BitOr", BinaryOperator::BitOr)
      .Case("BitXor", BinaryOperator::BitXor)
      .Default(std::nullopt);
}

/// x ** n for a small n known at compile time, by multiplications: exact for integers, and for
/// floats up to the fourth power as good as the function.
static std::optional<int64_t> factorsOfPower(const TypedValue &base, const Value &exponent) {
  std::optional<int64_t> count = exponent.isInteger() ? toInt64(exponent) : std::nullopt;
  bool isFew = count && *count >= 1 && *count <= (base.dtype.isFloat() ? 4 : 64);
  return isFew && !base.dtype.isPointer ? count : std::nullopt;
}

static ValueOr emitPower(Emitter &emitter, TypedValue base, int64_t count, const Node &site,
                         const Node &baseNode) {
  std::optional<TypedValue> result;
  for (; count > 0; count >>= 1) {
    if (count & 1) {
      TileBuilder::Value next =
          result ? emitter.tiles.binary(BinaryOperator::Mul, *result, base) : base;
      if (!next)
        return emitter.error(next.error(), site, {&baseNode, &baseNode});
      result = *next;
    }
    TileBuilder::Value square = emitter.tiles.binary(BinaryOperator::Mul, base, base);
    if (!square)
      return emitter.error(square.error(), site, {&baseNode, &baseNode});
    base = *square;
  }
  return Value{*result};
}

ValueOr Emitter::binary(llvm::StringRef op, const Value &lhs, const Value &rhs, const Node &site,
                        const Node &lhsNode, const Node &rhsNode) {
  for (const auto &[operand, node] : {std::pair(&lhs, &lhsNode), std::pair(&rhs, &rhsNode)})
    if (operand->is<Descriptor>())
      return rejectDescriptor(*this, *operand, *node);
  if (!lhs.isRuntime() && !rhs.isRuntime() && !lhs.is<Absent>() && !rhs.is<Absent>()) {
    bool isFormatting = op == "Mod" && lhs.is<std::string>();
    return finish(isObject(lhs) || isObject(rhs) || isFormatting
                      ? pythonOperator(op, lhs, rhs, /*isComparison=*/false)
                      : staticBinary(op, lhs, rhs),
                  site);
  }
  FailureOr<TypedValue> left = toRuntime(lhs, lhsNode);
  FailureOr<TypedValue> right = failed(left) ? left : toRuntime(rhs, rhsNode);
  if (failed(left) || failed(right))
    return failure();
  locate(site);
  if (std::optional<int64_t> count = factorsOfPower(*left, rhs); count && op == "Pow")
    return emitPower(*this, *left, *count, site, lhsNode);
  if (op == "Pow")
    return finish(tiles.elementwise(*tile::findElementwise("pow"), {*left, *right}), site,
                  {&lhsNode, &rhsNode});
  if (op == "MatMult")
    return finish(tiles.dot(*left, *right, std::nullopt, "", std::nullopt), site,
                  {&lhsNode, &rhsNode});
  std::optional<BinaryOperator> known = binaryOperator(op);
  if (!known)
    return error(Code::MalformedBuffer, site, "unknown operator " + op, "report this as a bug");
  return finish(tiles.binary(*known, *left, *right), site, {&lhsNode, &rhsNode});
}

ValueOr Emitter::unary(llvm::StringRef op, const Value &operand, const Node &site,
                       const Node &node) {
  if (op == "Not" && operand.is<Opaque>()) {
    FailureOr<bool> truth = staticTruth(operand, node);
    return failed(truth) ? ValueOr(failure()) : ValueOr(Value{!*truth});
  }
  if (!operand.isRuntime() && !operand.is<Absent>() && !operand.is<Descriptor>())
    return finish(staticUnary(op, operand), site);
  FailureOr<TypedValue> typed = toRuntime(operand, node);
  if (failed(typed))
    return failure();
  locate(site);
  UnaryOperator known = llvm::StringSwitch<UnaryOperator>(op)
                            .Case("USub", UnaryOperator::USub)
                            .Case("UAdd", UnaryOperator::UAdd)
                            .Case("Not", UnaryOperator::Not)
                            .Default(UnaryOperator::Invert);
  return finish(tiles.unary(known, *typed), site, {&node});
}

ValueOr Emitter::compare(llvm::StringRef op, const Value &lhs, const Value &rhs, const Node &site,
                         const Node &lhsNode, const Node &rhsNode) {
  bool areStatic = isStatic(lhs) && isStatic(rhs);
  if (op != "Is" && op != "IsNot")
    for (const auto &[operand, node] : {std::pair(&lhs, &lhsNode), std::pair(&rhs, &rhsNode)})
      if (operand->is<Descriptor>())
        return rejectDescriptor(*this, *operand, *node);
  auto isPlain = [](const Value &v) { return v.isRuntime() || v.isNumber() || v.is<Absent>(); };
  // A run-time value is never None, a text or a type: such questions have compile-time answers.
  if (areStatic || op == "Is" || op == "IsNot" || !isPlain(lhs) || !isPlain(rhs)) {
    if (lhs.is<Absent>() || rhs.is<Absent>())
      return rejectAbsent(lhs.is<Absent>() ? lhs : rhs, site);
    if (op == "Is" || op == "IsNot") {
      bool isSame = lhs.isRuntime() || rhs.isRuntime()
                        ? areIdentical(lhs, rhs)
                        : *staticCompare("Is", lhs, rhs).value->as<bool>();
      return Value{isSame == (op == "Is")};
    }
    if ((op == "In" || op == "NotIn") && !areStatic)
      return error(Code::NotStatic, site, "`in` needs values known at compile time",
                   "compare with == and combine with |");
    return finish(areStatic && (isObject(lhs) || isObject(rhs))
                      ? pythonOperator(op, lhs, rhs, /*isComparison=*/true)
                      : staticCompare(op, lhs, rhs),
                  site);
  }
  FailureOr<TypedValue> left = toRuntime(lhs, lhsNode);
  FailureOr<TypedValue> right = failed(left) ? left : toRuntime(rhs, rhsNode);
  if (failed(left) || failed(right))
    return failure();
  std::optional<Comparison> known = llvm::StringSwitch<std::optional<Comparison>>(op)
                                        .Case("Lt", Comparison::Lt)
                                        .Case("LtE", Comparison::LtE)
                                        .Case("Gt", Comparison::Gt)
                                        .Case("GtE", Comparison::GtE)
                                        .Case("Eq", Comparison::Eq)
                                        .Case("NotEq", Comparison::NotEq)
                                        .Default(std::nullopt);
  if (!known)
    return error(Code::NotStatic, site, "`in` needs values known at compile time",
                 "compare with == and combine with |");
  locate(site);
  return finish(tiles.compare(*known, *left, *right), site, {&lhsNode, &rhsNode});
}

/// `a and b`, `a or b` on values of which one is run-time: both are evaluated.
static ValueOr combineTruth(Emitter &emitter, bool isAnd, const Value &lhs, const Value &rhs,
                            const Node &site, const Node &lhsNode, const Node &rhsNode) {
  FailureOr<TypedValue> operands[2] = {emitter.toRuntime(lhs, lhsNode), failure()};
  if (failed(operands[0]))
    return failure();
  operands[1] = emitter.toRuntime(rhs, rhsNode);
  if (failed(operands[1]))
    return failure();
  emitter.locate(site);
  TileBuilder::Value left = emitter.tiles.truth(*operands[0]);
  TileBuilder::Value right = emitter.tiles.truth(*operands[1]);
  if (!left || !right)
    return emitter.error(left ? right.error() : left.error(), site, {left ? &rhsNode : &lhsNode});
  return emitter.finish(isAnd ? emitter.tiles.logicalAnd(*left, *right)
                              : emitter.tiles.logicalOr(*left, *right),
                        site, {&lhsNode, &rhsNode});
}

ValueOr Emitter::evalBoolOp(const Node &node) {
  bool isAnd = node.text("op") == "And";
  llvm::ArrayRef<const Node *> operands = node.list("values");
  if (operands.empty())
    return error(Code::MalformedBuffer, node, "an empty and/or", "report this as a bug");
  ValueOr result = eval(*operands.front());
  for (const Node *operand : operands.drop_front()) {
    if (failed(result))
      return failure();
    if (isStatic(*result) || result->is<Tuple>()) {
      FailureOr<bool> truth = staticTruth(*result, *operands.front());
      if (failed(truth))
        return failure();
      if (*truth != isAnd)
        return result;
      result = eval(*operand);
      continue;
    }
    ValueOr next = eval(*operand);
    if (failed(next))
      return failure();
    result = combineTruth(*this, isAnd, *result, *next, node, *operands.front(), *operand);
  }
  return result;
}

ValueOr Emitter::evalCompare(const Node &node) {
  std::vector<llvm::StringRef> ops = node.texts("ops");
  llvm::ArrayRef<const Node *> operands = node.list("comparators");
  const Node *lhsNode = &node.child("left");
  ValueOr lhs = eval(*lhsNode);
  ValueOr result = failure();
  for (size_t i = 0; i < operands.size() && i < ops.size(); ++i) {
    ValueOr rhs = failed(lhs) ? ValueOr(failure()) : eval(*operands[i]);
    if (failed(rhs))
      return failure();
    ValueOr link = compare(ops[i], *lhs, *rhs, node, *lhsNode, *operands[i]);
    if (failed(link))
      return failure();
    bool isFirst = i == 0;
    if (isFirst || (isStatic(*result) && truthOf(*result)))
      result = link;
    else
      result = combineTruth(*this, true, *result, *link, node, *lhsNode, *operands[i]);
    if (failed(result) || (isStatic(*result) && !truthOf(*result)))
      return result;
    lhs = rhs;
    lhsNode = operands[i];
  }
  if (failed(result))
    return error(Code::MalformedBuffer, node, "a comparison without operands",
                 "report this as a bug");
  return result;
}
