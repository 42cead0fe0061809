// Comparisons, `and` and `or`: of values, of sequences element by element, and in chains.
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/operators/Operators.h"
#include "frontend/values/Parts.h"
#include "frontend/values/StaticOperators.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

/// `a and b`, `a or b` where the first is a run-time value and the second, as None, neither one nor
/// a number. It may decide at compile time, so that a branch is not emitted which needs another
/// value.
static FailureOr<PyValue> combineWithObject(Emitter &emitter, bool isAnd, const PyValue &lhs,
                                            const PyValue &rhs, const Node &lhsNode,
                                            const Node &rhsNode) {
  FailureOr<mlir::Value> left = toCondition(emitter, lhs, lhsNode);
  if (failed(left))
    return failure();
  FailureOr<bool> right = staticTruth(emitter, rhs, rhsNode);
  if (failed(right))
    return failure();
  return *right == isAnd ? PyValue{TypedValue{*left, findDType("int1")}} : PyValue{!isAnd};
}

/// `a and b`, `a or b` on values of which one is run-time: both are evaluated.
static FailureOr<PyValue> combineTruth(Emitter &emitter, bool isAnd, const PyValue &lhs,
                                       const PyValue &rhs, const Node &site, const Node &lhsNode,
                                       const Node &rhsNode) {
  if (isStatic(rhs) && !rhs.isNumber())
    return combineWithObject(emitter, isAnd, lhs, rhs, lhsNode, rhsNode);
  FailureOr<std::pair<TypedValue, TypedValue>> operands =
      toRuntime(emitter, lhs, lhsNode, rhs, rhsNode);
  if (failed(operands))
    return failure();
  emitter.locate(site);
  TileOr left = emitter.tiles.truth(operands->first);
  TileOr right = emitter.tiles.truth(operands->second);
  if (!left || !right)
    return emitter.error(left ? right.reason() : left.reason(), site, {left ? &rhsNode : &lhsNode});
  return orReport(emitter,
                  isAnd ? emitter.tiles.logicalAnd(*left, *right)
                        : emitter.tiles.logicalOr(*left, *right),
                  site, {&lhsNode, &rhsNode});
}

namespace {
/// Compares sequences that hold run-time values, element by element as Python does.
struct SequenceComparison {
  Emitter &emitter;
  const Node &site, &lhsNode, &rhsNode;

  /// Compares two elements: gives a compile-time answer, or one truth value at run time. A value is
  /// equal to itself, NaN too.
  FailureOr<PyValue> areEqual(const PyValue &lhs, const PyValue &rhs) {
    if (areIdentical(lhs, rhs))
      return PyValue{true};
    return single(emitComparison(emitter, Comparison::Eq, lhs, rhs, site, lhsNode, rhsNode));
  }
  FailureOr<PyValue> areAllEqual(llvm::ArrayRef<PyValue> lhs, llvm::ArrayRef<PyValue> rhs);
  FailureOr<PyValue> areOrdered(Comparison op, llvm::ArrayRef<PyValue> lhs,
                                llvm::ArrayRef<PyValue> rhs);
  FailureOr<PyValue> contains(llvm::ArrayRef<PyValue> items, const PyValue &wanted);

  FailureOr<PyValue> both(const PyValue &lhs, const PyValue &rhs) {
    return combine(true, lhs, rhs);
  }
  FailureOr<PyValue> either(const PyValue &lhs, const PyValue &rhs) {
    return combine(false, lhs, rhs);
  }

private:
  /// An answer about elements that are tiles is not one truth value.
  FailureOr<PyValue> single(FailureOr<PyValue> answer) {
    if (failed(answer) || isStatic(*answer))
      return answer;
    FailureOr<mlir::Value> condition = toCondition(emitter, *answer, site);
    if (failed(condition))
      return failure();
    return PyValue{TypedValue{*condition, findDType("int1")}};
  }
  FailureOr<PyValue> combine(bool isAnd, const PyValue &lhs, const PyValue &rhs) {
    for (const PyValue *side : {&lhs, &rhs})
      if (isStatic(*side))
        return truthOf(*side) == isAnd ? (side == &lhs ? rhs : lhs) : *side;
    return combineTruth(emitter, isAnd, lhs, rhs, site, lhsNode, rhsNode);
  }
};
} // namespace

FailureOr<PyValue> SequenceComparison::areAllEqual(llvm::ArrayRef<PyValue> lhs,
                                                   llvm::ArrayRef<PyValue> rhs) {
  PyValue result{lhs.size() == rhs.size()};
  for (size_t i = 0; i < lhs.size() && !(isStatic(result) && !truthOf(result)); ++i) {
    FailureOr<PyValue> link = areEqual(lhs[i], rhs[i]);
    if (failed(link))
      return failure();
    FailureOr<PyValue> next = both(result, *link);
    if (failed(next))
      return failure();
    result = *next;
  }
  return result;
}

/// The first elements that differ decide, else the lengths.
FailureOr<PyValue> SequenceComparison::areOrdered(Comparison op, llvm::ArrayRef<PyValue> lhs,
                                                  llvm::ArrayRef<PyValue> rhs) {
  if (lhs.empty() || rhs.empty())
    return orReport(emitter, staticCompare(op, makeInt(lhs.size()), makeInt(rhs.size())), site);
  FailureOr<PyValue> isSame = areEqual(lhs.front(), rhs.front());
  if (failed(isSame))
    return failure();
  if (isStatic(*isSame) && truthOf(*isSame))
    return areOrdered(op, lhs.drop_front(), rhs.drop_front());
  FailureOr<PyValue> first =
      single(emitComparison(emitter, op, lhs.front(), rhs.front(), site, lhsNode, rhsNode));
  if (failed(first) || isStatic(*isSame))
    return first;
  FailureOr<PyValue> rest = areOrdered(op, lhs.drop_front(), rhs.drop_front());
  if (failed(rest))
    return failure();
  FailureOr<PyValue> differ = emitUnary(emitter, UnaryOperator::Not, *isSame, site, site);
  if (failed(differ))
    return failure();
  FailureOr<PyValue> whenSame = both(*isSame, *rest);
  if (failed(whenSame))
    return failure();
  FailureOr<PyValue> otherwise = both(*differ, *first);
  if (failed(otherwise))
    return failure();
  return either(*whenSame, *otherwise);
}

FailureOr<PyValue> SequenceComparison::contains(llvm::ArrayRef<PyValue> items,
                                                const PyValue &wanted) {
  PyValue result{false};
  for (const PyValue &item : items) {
    FailureOr<PyValue> link = areEqual(wanted, item);
    if (failed(link))
      return failure();
    FailureOr<PyValue> next = either(result, *link);
    if (failed(next))
      return failure();
    result = *next;
    if (isStatic(result) && truthOf(result))
      break;
  }
  return result;
}

static FailureOr<PyValue> compareTuples(Emitter &emitter, Comparison op, const TupleContents &lhs,
                                        const TupleContents &rhs, const Node &site,
                                        const Node &lhsNode, const Node &rhsNode) {
  SequenceComparison comparison{emitter, site, lhsNode, rhsNode};
  if (op != Comparison::Eq && op != Comparison::NotEq)
    return comparison.areOrdered(op, lhs.items, rhs.items);
  FailureOr<PyValue> areSame = comparison.areAllEqual(lhs.items, rhs.items);
  return failed(areSame) || op == Comparison::Eq
             ? areSame
             : emitUnary(emitter, UnaryOperator::Not, *areSame, site, site);
}

/// `x in items` where x or an item is known only at run time.
static FailureOr<PyValue> compareMembership(Emitter &emitter, bool isNegated, const PyValue &wanted,
                                            const PyValue &container, const Node &site,
                                            const Node &wantedNode, const Node &containerNode) {
  const Tuple *items = container.as<Tuple>();
  if (!items)
    return emitter.error(Code::NotStatic, site,
                         "`in` looks for a run-time value in tuples and lists only, not in " +
                             typeName(container),
                         "compare with ==, < and &",
                         {emitter.label(containerNode, "this is " + typeName(container))});
  FailureOr<PyValue> found = SequenceComparison{emitter, site, wantedNode, containerNode}.contains(
      (*items)->items, wanted);
  return failed(found) || !isNegated ? found
                                     : emitUnary(emitter, UnaryOperator::Not, *found, site, site);
}

/// `a is b`. A run-time value is never None, a type or a text. Whether it is the same object as a
/// number or another value is a question that has no meaning on a device.
static FailureOr<PyValue> compareIdentity(Emitter &emitter, Comparison op, const PyValue &lhs,
                                          const PyValue &rhs, const Node &site) {
  auto isMeantAsNumber = [](const PyValue &v) { return v.isRuntime() || v.isNumber(); };
  if ((lhs.isRuntime() || rhs.isRuntime()) && isMeantAsNumber(lhs) && isMeantAsNumber(rhs))
    return emitter.error(Code::WrongType, site,
                         "`is` asks whether two names are one object, which values on a device "
                         "are not",
                         op == Comparison::Is ? "compare with ==" : "compare with !=");
  bool isSame = isStatic(lhs) && isStatic(rhs)
                    ? *staticCompare(Comparison::Is, lhs, rhs)->as<bool>()
                    : areIdentical(lhs, rhs);
  return PyValue{isSame == (op == Comparison::Is)};
}

/// Returns true if a comparison is about objects, not about their numbers.
static bool asksAboutObjects(Comparison op) {
  return op == Comparison::Is || op == Comparison::IsNot || op == Comparison::In ||
         op == Comparison::NotIn;
}

/// Returns true if an object is compared, by itself or in a tuple: as its class says.
static bool holdsObject(const PyValue &value) {
  bool isFound = false;
  forEachLeaf(value, [&](const PyValue &leaf) { isFound = isFound || isObject(leaf); });
  return isFound;
}

/// Where not both values are numbers or run-time values.
static FailureOr<PyValue> compareObjects(Emitter &emitter, Comparison op, const PyValue &lhs,
                                         const PyValue &rhs, const Node &site, const Node &lhsNode,
                                         const Node &rhsNode) {
  if (op == Comparison::Is || op == Comparison::IsNot)
    return compareIdentity(emitter, op, lhs, rhs, site);
  bool areStatic = isStatic(lhs) && isStatic(rhs);
  if (areStatic && (holdsObject(lhs) || holdsObject(rhs)))
    return orReport(emitter, pythonComparison(emitter, op, lhs, rhs), site);
  if (areStatic)
    return orReport(emitter, staticCompare(op, lhs, rhs), site);
  if (op == Comparison::In || op == Comparison::NotIn)
    return compareMembership(emitter, op == Comparison::NotIn, lhs, rhs, site, lhsNode, rhsNode);
  const Tuple *left = lhs.as<Tuple>(), *right = rhs.as<Tuple>();
  if (left && right)
    return compareTuples(emitter, op, **left, **right, site, lhsNode, rhsNode);
  const PyValue &runtime = lhs.isRuntime() ? lhs : rhs, &other = lhs.isRuntime() ? rhs : lhs;
  bool isQuestion = op == Comparison::Eq || op == Comparison::NotEq;
  bool isTile = runtime.isRuntime() && runtime.as<TypedValue>()->isTile();
  if (!isQuestion || (isTile && !other.is<None>()) || lhs.is<RangeValue>() || rhs.is<RangeValue>())
    return emitter.error(Code::WrongType, site,
                         typeName(lhs) + " and " + typeName(rhs) + " cannot be compared",
                         "compare numbers and tiles with numbers and tiles",
                         {emitter.label(lhsNode, "this is " + typeName(lhs)),
                          emitter.label(rhsNode, "this is " + typeName(rhs))});
  return PyValue{op ==
                 Comparison::NotEq}; // a run-time number is not None, a text, a type or a tuple
}

FailureOr<PyValue> tw::emitComparison(Emitter &emitter, Comparison op, const PyValue &lhs,
                                      const PyValue &rhs, const Node &site, const Node &lhsNode,
                                      const Node &rhsNode) {
  if ((lhs.is<Aggregate>() || rhs.is<Aggregate>()) && op != Comparison::Is &&
      op != Comparison::IsNot)
    return emitter.error(Code::WrongType, site,
                         "a " + typeName(lhs.is<Aggregate>() ? lhs : rhs) + " cannot be compared",
                         "compare its fields",
                         {emitter.label(lhsNode, "this is " + typeName(lhs)),
                          emitter.label(rhsNode, "this is " + typeName(rhs))});
  if (lhs.is<Absent>() || rhs.is<Absent>())
    return emitter.rejectAbsent(lhs.is<Absent>() ? lhs : rhs, site);
  if (op != Comparison::Is && op != Comparison::IsNot)
    for (const auto &[operand, node] : {std::pair(&lhs, &lhsNode), std::pair(&rhs, &rhsNode)})
      if (operand->is<Descriptor>())
        return rejectDescriptor(emitter, *operand, *node);
  auto isPlain = [](const PyValue &v) { return v.isRuntime() || v.isNumber(); };
  bool areStatic = isStatic(lhs) && isStatic(rhs);
  if (asksAboutObjects(op) || areStatic || !isPlain(lhs) || !isPlain(rhs))
    return compareObjects(emitter, op, lhs, rhs, site, lhsNode, rhsNode);
  FailureOr<std::pair<TypedValue, TypedValue>> operands =
      toRuntime(emitter, lhs, lhsNode, rhs, rhsNode);
  if (failed(operands))
    return failure();
  emitter.locate(site);
  return orReport(emitter, emitter.tiles.compare(op, operands->first, operands->second), site,
                  {&lhsNode, &rhsNode});
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

FailureOr<PyValue> tw::evalBoolOp(Emitter &emitter, const Node &node) {
  bool isAnd = node.isAnd;
  llvm::ArrayRef<const Node *> operands = node.list("values");
  if (operands.empty())
    return emitter.error(Code::MalformedBuffer, node, "an empty and/or", "report this as a bug");
  const Node *previous = operands.front();
  FailureOr<PyValue> result = eval(emitter, *previous);
  for (const Node *operand : operands.drop_front()) {
    if (failed(result))
      return failure();
    if (isStatic(*result) || result->is<Tuple>()) {
      FailureOr<bool> truth = staticTruth(emitter, *result, *previous);
      if (failed(truth))
        return failure();
      if (*truth != isAnd)
        return result;
      result = eval(emitter, *operand);
      previous = operand;
      continue;
    }
    if (failed(refuseBinding(emitter, *operand)))
      return failure();
    FailureOr<PyValue> next = eval(emitter, *operand);
    if (failed(next))
      return failure();
    result = combineTruth(emitter, isAnd, *result, *next, node, *previous, *operand);
    previous = operand;
  }
  return result;
}

FailureOr<PyValue> tw::evalCompare(Emitter &emitter, const Node &node) {
  llvm::ArrayRef<Comparison> ops = node.comparisons;
  llvm::ArrayRef<const Node *> operands = node.list("comparators");
  const Node *lhsNode = &node.child("left");
  FailureOr<PyValue> lhs = eval(emitter, *lhsNode);
  FailureOr<PyValue> result = failure();
  for (size_t i = 0; i < operands.size() && i < ops.size(); ++i) {
    bool isSkippable = i > 0 && !isStatic(*result);
    if (failed(lhs) || (isSkippable && failed(refuseBinding(emitter, *operands[i]))))
      return failure();
    FailureOr<PyValue> rhs = eval(emitter, *operands[i]);
    if (failed(rhs))
      return failure();
    FailureOr<PyValue> link =
        emitComparison(emitter, ops[i], *lhs, *rhs, node, *lhsNode, *operands[i]);
    if (failed(link))
      return failure();
    bool isFirst = i == 0;
    if (isFirst || (isStatic(*result) && truthOf(*result)))
      result = link;
    else
      result = combineTruth(emitter, true, *result, *link, node, *lhsNode, *operands[i]);
    if (failed(result) || (isStatic(*result) && !truthOf(*result)))
      return result;
    lhs = rhs;
    lhsNode = operands[i];
  }
  if (failed(result))
    return emitter.error(Code::MalformedBuffer, node, "a comparison without operands",
                         "report this as a bug");
  return result;
}
