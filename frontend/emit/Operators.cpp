// Operators: Python's meaning at compile time, operations of the language at run time.
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/Emitter.h"
#include "frontend/emit/Scopes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

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

/// Whether a double cannot hold an integer: Python divides such integers without rounding them.
static bool isLargeInteger(const Value &value) {
  return value.is<llvm::APSInt>() && value.as<llvm::APSInt>()->getSignificantBits() > 54;
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
    if (count == 1)
      break;
    TileBuilder::Value square = emitter.tiles.binary(BinaryOperator::Mul, base, base);
    if (!square)
      return emitter.error(square.error(), site, {&baseNode, &baseNode});
    base = *square;
  }
  return Value{*result};
}

bool Emitter::checksOverflowHere() {
  return options.checksOverflow && !mayWrap && combineDepth == 0 && !frame().source->isLibrary;
}

ValueOr Emitter::binary(llvm::StringRef op, const Value &lhs, const Value &rhs, const Node &site,
                        const Node &lhsNode, const Node &rhsNode) {
  for (const auto &[operand, node] : {std::pair(&lhs, &lhsNode), std::pair(&rhs, &rhsNode)})
    if (operand->is<Descriptor>())
      return rejectDescriptor(*this, *operand, *node);
  if (!lhs.isRuntime() && !rhs.isRuntime() && !lhs.is<Absent>() && !rhs.is<Absent>()) {
    bool isFormatting = op == "Mod" && lhs.is<std::string>();
    bool isRounded = op == "Div" && (isLargeInteger(lhs) || isLargeInteger(rhs));
    ValueOr result = finish(isObject(lhs) || isObject(rhs) || isFormatting || isRounded
                                ? pythonOperator(op, lhs, rhs, /*isComparison=*/false)
                                : staticBinary(op, lhs, rhs),
                            site);
    if (!failed(result))
      result->isNamed = (lhs.isNamed || rhs.isNamed) && result->isNumber();
    return result;
  }
  FailureOr<TypedValue> left = toRuntime(lhs, lhsNode);
  FailureOr<TypedValue> right = failed(left) ? left : toRuntime(rhs, rhsNode);
  if (failed(left) || failed(right))
    return failure();
  locate(site);
  llvm::SaveAndRestore checks(tiles.checksOverflow, checksOverflowHere());
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
  if (!operand.isRuntime() && !operand.is<Absent>() && !operand.is<Descriptor>()) {
    ValueOr result = finish(staticUnary(op, operand), site);
    if (!failed(result))
      result->isNamed = operand.isNamed && result->isNumber();
    return result;
  }
  FailureOr<TypedValue> typed = toRuntime(operand, node);
  if (failed(typed))
    return failure();
  locate(site);
  llvm::SaveAndRestore checks(tiles.checksOverflow, checksOverflowHere());
  UnaryOperator known = llvm::StringSwitch<UnaryOperator>(op)
                            .Case("USub", UnaryOperator::USub)
                            .Case("UAdd", UnaryOperator::UAdd)
                            .Case("Not", UnaryOperator::Not)
                            .Default(UnaryOperator::Invert);
  return finish(tiles.unary(known, *typed), site, {&node});
}

//===-- Comparisons --------------------------------------------------------------------------===//

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

namespace {
/// Compares sequences that hold run-time values, element by element as Python does.
struct SequenceComparison {
  Emitter &emitter;
  const Node &site, &lhsNode, &rhsNode;

  /// Whether two elements are equal: a compile-time answer, or one truth value at run time. What is
  /// one and the same value is equal to itself, NaN too.
  ValueOr areEqual(const Value &lhs, const Value &rhs) {
    if (areIdentical(lhs, rhs))
      return Value{true};
    return single(emitter.compare("Eq", lhs, rhs, site, lhsNode, rhsNode));
  }
  ValueOr areAllEqual(llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs);
  ValueOr areOrdered(llvm::StringRef op, llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs);
  ValueOr contains(llvm::ArrayRef<Value> items, const Value &wanted);

  ValueOr both(const Value &lhs, const Value &rhs) { return combine(true, lhs, rhs); }
  ValueOr either(const Value &lhs, const Value &rhs) { return combine(false, lhs, rhs); }

private:
  /// An answer about elements that are tiles is not one truth value.
  ValueOr single(ValueOr answer) {
    if (failed(answer) || isStatic(*answer))
      return answer;
    FailureOr<mlir::Value> condition = emitter.toCondition(*answer, site);
    return failed(condition) ? ValueOr(failure())
                             : ValueOr(Value{TypedValue{*condition, findDType("int1")}});
  }
  ValueOr combine(bool isAnd, const Value &lhs, const Value &rhs) {
    for (const Value *side : {&lhs, &rhs})
      if (isStatic(*side))
        return truthOf(*side) == isAnd ? (side == &lhs ? rhs : lhs) : *side;
    return combineTruth(emitter, isAnd, lhs, rhs, site, lhsNode, rhsNode);
  }
};
} // namespace

ValueOr SequenceComparison::areAllEqual(llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
  Value result{lhs.size() == rhs.size()};
  for (size_t i = 0; i < lhs.size() && !(isStatic(result) && !truthOf(result)); ++i) {
    ValueOr link = areEqual(lhs[i], rhs[i]);
    ValueOr next = failed(link) ? link : both(result, *link);
    if (failed(next))
      return failure();
    result = *next;
  }
  return result;
}

/// The first elements that differ decide, else the lengths.
ValueOr SequenceComparison::areOrdered(llvm::StringRef op, llvm::ArrayRef<Value> lhs,
                                       llvm::ArrayRef<Value> rhs) {
  if (lhs.empty() || rhs.empty())
    return emitter.finish(staticCompare(op, makeInt(lhs.size()), makeInt(rhs.size())), site);
  ValueOr isSame = areEqual(lhs.front(), rhs.front());
  if (failed(isSame))
    return failure();
  if (isStatic(*isSame) && truthOf(*isSame))
    return areOrdered(op, lhs.drop_front(), rhs.drop_front());
  ValueOr first = single(emitter.compare(op, lhs.front(), rhs.front(), site, lhsNode, rhsNode));
  if (failed(first) || isStatic(*isSame))
    return first;
  ValueOr rest = areOrdered(op, lhs.drop_front(), rhs.drop_front());
  ValueOr differ = failed(rest) ? rest : emitter.unary("Not", *isSame, site, site);
  ValueOr whenSame = failed(differ) ? differ : both(*isSame, *rest);
  ValueOr otherwise = failed(whenSame) ? whenSame : both(*differ, *first);
  return failed(otherwise) ? otherwise : either(*whenSame, *otherwise);
}

ValueOr SequenceComparison::contains(llvm::ArrayRef<Value> items, const Value &wanted) {
  Value result{false};
  for (const Value &item : items) {
    ValueOr link = areEqual(wanted, item);
    ValueOr next = failed(link) ? link : either(result, *link);
    if (failed(next))
      return failure();
    result = *next;
    if (isStatic(result) && truthOf(result))
      break;
  }
  return result;
}

static ValueOr compareTuples(Emitter &emitter, llvm::StringRef op, const TupleContents &lhs,
                             const TupleContents &rhs, const Node &site, const Node &lhsNode,
                             const Node &rhsNode) {
  SequenceComparison comparison{emitter, site, lhsNode, rhsNode};
  if (op != "Eq" && op != "NotEq")
    return comparison.areOrdered(op, lhs.items, rhs.items);
  ValueOr areSame = comparison.areAllEqual(lhs.items, rhs.items);
  return failed(areSame) || op == "Eq" ? areSame : emitter.unary("Not", *areSame, site, site);
}

/// `x in items` where x or an item is known only at run time.
static ValueOr compareMembership(Emitter &emitter, bool isNegated, const Value &wanted,
                                 const Value &container, const Node &site, const Node &wantedNode,
                                 const Node &containerNode) {
  const Tuple *items = container.as<Tuple>();
  if (!items)
    return emitter.error(Code::NotStatic, site,
                         "`in` looks for a run-time value in tuples and lists only, not in " +
                             typeName(container),
                         "compare with ==, < and &",
                         {emitter.label(containerNode, "this is " + typeName(container))});
  ValueOr found = SequenceComparison{emitter, site, wantedNode, containerNode}.contains(
      (*items)->items, wanted);
  return failed(found) || !isNegated ? found : emitter.unary("Not", *found, site, site);
}

/// `a is b`. A run-time value is never None, a type or a text. Whether it is the same object as a
/// number or another value is a question that has no meaning on a device.
static ValueOr compareIdentity(Emitter &emitter, llvm::StringRef op, const Value &lhs,
                               const Value &rhs, const Node &site) {
  auto isMeantAsNumber = [](const Value &v) { return v.isRuntime() || v.isNumber(); };
  if ((lhs.isRuntime() || rhs.isRuntime()) && isMeantAsNumber(lhs) && isMeantAsNumber(rhs))
    return emitter.error(Code::WrongType, site,
                         "`is` asks whether two names are one object, which values on a device "
                         "are not",
                         op == "Is" ? "compare with ==" : "compare with !=");
  bool isSame = isStatic(lhs) && isStatic(rhs) ? *staticCompare("Is", lhs, rhs).value->as<bool>()
                                               : areIdentical(lhs, rhs);
  return Value{isSame == (op == "Is")};
}

/// Where not both values are numbers or run-time values.
static ValueOr compareObjects(Emitter &emitter, llvm::StringRef op, const Value &lhs,
                              const Value &rhs, const Node &site, const Node &lhsNode,
                              const Node &rhsNode) {
  if (op == "Is" || op == "IsNot")
    return compareIdentity(emitter, op, lhs, rhs, site);
  bool areStatic = isStatic(lhs) && isStatic(rhs);
  if (areStatic && (isObject(lhs) || isObject(rhs)))
    return emitter.finish(emitter.pythonOperator(op, lhs, rhs, /*isComparison=*/true), site);
  if (areStatic)
    return emitter.finish(staticCompare(op, lhs, rhs), site);
  if (op == "In" || op == "NotIn")
    return compareMembership(emitter, op == "NotIn", lhs, rhs, site, lhsNode, rhsNode);
  const Tuple *left = lhs.as<Tuple>(), *right = rhs.as<Tuple>();
  if (left && right)
    return compareTuples(emitter, op, **left, **right, site, lhsNode, rhsNode);
  const Value &runtime = lhs.isRuntime() ? lhs : rhs, &other = lhs.isRuntime() ? rhs : lhs;
  bool isQuestion = op == "Eq" || op == "NotEq";
  bool isTile = runtime.isRuntime() && runtime.as<TypedValue>()->isTile();
  if (!isQuestion || (isTile && !other.is<None>()) || lhs.is<RangeValue>() || rhs.is<RangeValue>())
    return emitter.error(Code::WrongType, site,
                         typeName(lhs) + " and " + typeName(rhs) + " cannot be compared",
                         "compare numbers and tiles with numbers and tiles",
                         {emitter.label(lhsNode, "this is " + typeName(lhs)),
                          emitter.label(rhsNode, "this is " + typeName(rhs))});
  return Value{op == "NotEq"}; // a run-time number is not None, a text, a type or a tuple
}

ValueOr Emitter::compare(llvm::StringRef op, const Value &lhs, const Value &rhs, const Node &site,
                         const Node &lhsNode, const Node &rhsNode) {
  if ((lhs.is<Aggregate>() || rhs.is<Aggregate>()) && op != "Is" && op != "IsNot")
    return error(
        Code::WrongType, site,
        "a " + typeName(lhs.is<Aggregate>() ? lhs : rhs) + " cannot be compared",
        "compare its fields",
        {label(lhsNode, "this is " + typeName(lhs)), label(rhsNode, "this is " + typeName(rhs))});
  if (lhs.is<Absent>() || rhs.is<Absent>())
    return rejectAbsent(lhs.is<Absent>() ? lhs : rhs, site);
  if (op != "Is" && op != "IsNot")
    for (const auto &[operand, node] : {std::pair(&lhs, &lhsNode), std::pair(&rhs, &rhsNode)})
      if (operand->is<Descriptor>())
        return rejectDescriptor(*this, *operand, *node);
  std::optional<Comparison> known = llvm::StringSwitch<std::optional<Comparison>>(op)
                                        .Case("Lt", Comparison::Lt)
                                        .Case("LtE", Comparison::LtE)
                                        .Case("Gt", Comparison::Gt)
                                        .Case("GtE", Comparison::GtE)
                                        .Case("Eq", Comparison::Eq)
                                        .Case("NotEq", Comparison::NotEq)
                                        .Default(std::nullopt);
  auto isPlain = [](const Value &v) { return v.isRuntime() || v.isNumber(); };
  bool areStatic = isStatic(lhs) && isStatic(rhs);
  if (!known || areStatic || !isPlain(lhs) || !isPlain(rhs))
    return compareObjects(*this, op, lhs, rhs, site, lhsNode, rhsNode);
  FailureOr<TypedValue> left = toRuntime(lhs, lhsNode);
  FailureOr<TypedValue> right = failed(left) ? left : toRuntime(rhs, rhsNode);
  if (failed(left) || failed(right))
    return failure();
  locate(site);
  return finish(tiles.compare(*known, *left, *right), site, {&lhsNode, &rhsNode});
}

//===-- and, or, chains ----------------------------------------------------------------------===//

/// Python leaves out an operand whose value no longer matters. At run time it is evaluated, so that
/// it must not bind names.
static mlir::LogicalResult refuseBinding(Emitter &emitter, const Node &operand) {
  if (assignedNames({&operand}).empty())
    return mlir::success();
  return emitter.unsupported(operand, "`:=` in an operand that Python may leave out",
                             "assign the name in a statement of its own");
}

ValueOr Emitter::evalBoolOp(const Node &node) {
  bool isAnd = node.text("op") == "And";
  llvm::ArrayRef<const Node *> operands = node.list("values");
  if (operands.empty())
    return error(Code::MalformedBuffer, node, "an empty and/or", "report this as a bug");
  const Node *previous = operands.front();
  ValueOr result = eval(*previous);
  for (const Node *operand : operands.drop_front()) {
    if (failed(result))
      return failure();
    if (isStatic(*result) || result->is<Tuple>()) {
      FailureOr<bool> truth = staticTruth(*result, *previous);
      if (failed(truth))
        return failure();
      if (*truth != isAnd)
        return result;
      result = eval(*operand);
      previous = operand;
      continue;
    }
    ValueOr next = failed(refuseBinding(*this, *operand)) ? ValueOr(failure()) : eval(*operand);
    if (failed(next))
      return failure();
    result = combineTruth(*this, isAnd, *result, *next, node, *previous, *operand);
    previous = operand;
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
    bool isSkippable = i > 0 && !isStatic(*result);
    if (failed(lhs) || (isSkippable && failed(refuseBinding(*this, *operands[i]))))
      return failure();
    ValueOr rhs = eval(*operands[i]);
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
