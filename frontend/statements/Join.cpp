// Joins names: what is the same stays, leaves that differ become results, the rest is unusable.
#include "frontend/statements/Join.h"
#include "frontend/emit/Leaves.h"
#include "frontend/operators/Aggregates.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"

using namespace tw;
using llvm::failed;
using mlir::FailureOr;

//===-- Values -------------------------------------------------------------------------------===//

namespace {
/// Joins the values of one name.
struct Join {
  Emitter &emitter;
  const Node &site;
  BranchEnds &ends;
  bool isReturned; // what a function returns: nothing reads it where nothing was returned yet

  PyValue join(const PyValue &a, const PyValue &b);

private:
  PyValue joinOneSided(const PyValue &a, const PyValue &b);
  PyValue joinReturned(const PyValue &present, bool isFirst);
  PyValue joinItems(const PyValue &a, const PyValue &b);
  PyValue joinDescriptors(const Descriptor *a, const Descriptor *b);
  PyValue addResult(const PyValue &a, const PyValue &b, const LeafType &type);
  mlir::Value yieldOf(const PyValue &side, const LeafType &type);
};
} // namespace

static PyValue absentBecause(Absent::Reason reason) { return {Absent{reason, {}, {}, "", ""}}; }
static PyValue twoTypes(std::string first, std::string second) {
  return {Absent{Absent::Reason::TwoTypes, {}, {}, std::move(first), std::move(second)}};
}

/// The type that both leaves can take without a change of meaning.
static std::optional<LeafType> commonType(const PyValue &a, const PyValue &b) {
  const TypedValue *left = a.as<TypedValue>(), *right = b.as<TypedValue>();
  if (left && right)
    return leafTypeOf(*left) == leafTypeOf(*right) ? std::optional(leafTypeOf(*left))
                                                   : std::nullopt;
  if (left || right) {
    LeafType type = leafTypeOf(left ? *left : *right);
    return fits(left ? b : a, type) ? std::optional(type) : std::nullopt;
  }
  if (!a.isNumber() || !b.isNumber())
    return std::nullopt;
  for (const PyValue *candidate : {&a, &b})
    if (LeafType type = leafTypeOf(*candidate); fits(a, type) && fits(b, type))
      return type;
  LeafType wide{findDType("int64"), {}};
  return fits(a, wide) && fits(b, wide) ? std::optional(wide) : std::nullopt;
}

/// Returns the value that an arm yields for a result of a type. Nobody reads it where the arm has
/// no value.
mlir::Value Join::yieldOf(const PyValue &side, const LeafType &type) {
  if (const TypedValue *typed = side.as<TypedValue>())
    return typed->value;
  if (side.is<Absent>())
    return zeroOf(emitter, type).value;
  FailureOr<TypedValue> number = materialize(emitter, side, type, site);
  return failed(number) ? zeroOf(emitter, type).value : number->value;
}

/// A result whose IR value is filled in when the branch is complete.
PyValue Join::addResult(const PyValue &a, const PyValue &b, const LeafType &type) {
  const PyValue *sides[] = {&a, &b};
  for (auto [i, side] : llvm::enumerate(sides)) {
    mlir::OpBuilder::InsertionGuard guard(emitter.builder);
    emitter.builder.setInsertionPoint(ends.terminators[i]);
    ends.yields[i].push_back(yieldOf(*side, type));
  }
  return {TypedValue{mlir::Value(), type.dtype}};
}

/// One descriptor of two of the same type. A side that is absent is never read.
PyValue Join::joinDescriptors(const Descriptor *a, const Descriptor *b) {
  const DescriptorContents &present = **(a ? a : b);
  std::vector<PyValue> parts;
  for (size_t i = 0; i < present.parts.size(); ++i) {
    PyValue first = a ? (*a)->parts[i] : PyValue{}, second = b ? (*b)->parts[i] : PyValue{};
    bool isPointer = i == 0;
    LeafType type{isPointer ? present.base().dtype : findDType("int64"), {}};
    parts.push_back(areIdentical(first, second) ? first : addResult(first, second, type));
  }
  return makeDescriptor(present.type, std::move(parts));
}

/// The elements of two tuples, or fields of two objects of a class, that are equally many.
PyValue Join::joinItems(const PyValue &a, const PyValue &b) {
  std::vector<PyValue> items;
  for (auto [i, sides] : llvm::enumerate(llvm::zip(partsOf(a)->items, partsOf(b)->items))) {
    auto [first, second] = sides;
    bool isFixed = isStaticField(a, i) && !areIdentical(first, second);
    items.push_back(isFixed ? twoTypes(toText(first, /*isRepr=*/true), toText(second, true))
                            : join(first, second));
  }
  return withParts(a, std::move(items));
}

/// Joins a value that is returned at the end of one arm only: a flag tells whether it is.
PyValue Join::joinReturned(const PyValue &present, bool isFirst) {
  const PyValue none;
  if (const TupleContents *parts = partsOf(present)) {
    std::vector<PyValue> items;
    for (const PyValue &item : parts->items)
      items.push_back(isFirst ? join(item, none) : join(none, item));
    return withParts(present, std::move(items));
  }
  if (const Descriptor *descriptor = present.as<Descriptor>())
    return isFirst ? joinDescriptors(descriptor, nullptr) : joinDescriptors(nullptr, descriptor);
  const TypedValue *typed = present.as<TypedValue>();
  if (!typed)
    return present;
  LeafType type = leafTypeOf(*typed);
  return isFirst ? addResult(present, none, type) : addResult(none, present, type);
}

/// Joins names that have a value at the end of one arm only. A reason that is known already is
/// kept.
PyValue Join::joinOneSided(const PyValue &a, const PyValue &b) {
  const PyValue &absent = a.is<Absent>() ? a : b;
  if (isReturned)
    return joinReturned(a.is<Absent>() ? b : a, /*isFirst=*/b.is<Absent>());
  bool isKnown = absent.as<Absent>()->reason != Absent::Reason::Never;
  return isKnown ? absent : absentBecause(Absent::Reason::OnePath);
}

PyValue Join::join(const PyValue &a, const PyValue &b) {
  bool areAbsent = a.is<Absent>() && b.is<Absent>();
  if (areAbsent || areIdentical(a, b))
    return a;
  if (a.is<Absent>() || b.is<Absent>())
    return joinOneSided(a, b);
  const TupleContents *left = partsOf(a), *right = partsOf(b);
  if (left && right && isSameClass(a, b) && left->items.size() == right->items.size())
    return joinItems(a, b);
  if (const Descriptor *one = a.as<Descriptor>(), *other = b.as<Descriptor>();
      one && other && (*one)->type == (*other)->type)
    return joinDescriptors(one, other);
  if (std::optional<LeafType> type = commonType(a, b))
    return addResult(a, b, *type);
  return twoTypes(typeName(a), typeName(b));
}

//===-- Names --------------------------------------------------------------------------------===//

/// The first element that is not joined, so that a tuple with such an element reads as not joined.
static const Absent *findAbsent(const PyValue &value) {
  if (const Absent *absent = value.as<Absent>())
    return absent;
  if (const TupleContents *parts = partsOf(value))
    for (const PyValue &item : parts->items)
      if (const Absent *absent = findAbsent(item))
        return absent;
  return nullptr;
}

/// Why a joined name has no usable value, and where that comes from; nullopt where it has one.
static std::optional<Absent> whyUnusable(const Binding &a, const Binding &b,
                                         const PyValue &joined) {
  bool wasConstexpr = (a.isConstexpr || b.isConstexpr) && isStatic(a.value) && isStatic(b.value);
  if (wasConstexpr && !isStatic(joined))
    return Absent{Absent::Reason::TwoConstexprs, a.where, b.where, "", typeName(b.value)};
  const Absent *found = findAbsent(joined);
  if (!found)
    return std::nullopt;
  Absent reason = *found;
  if (reason.first.isKnown())
    return reason;
  reason.first = a.where.isKnown() ? a.where : b.where;
  if (reason.reason == Absent::Reason::TwoTypes)
    reason.second = b.where;
  return reason;
}

static Binding joinBindings(Join join, const Binding &a, const Binding &b) {
  size_t numResults = join.ends.numResults();
  Binding joined{join.join(a.value, b.value), a.where.isKnown() ? a.where : b.where,
                 a.isConstexpr && b.isConstexpr};
  if (std::optional<Absent> reason = whyUnusable(a, b, joined.value)) {
    join.ends.dropResultsAfter(numResults); // nobody reads leaves of what is unusable
    joined.value = {*reason};
  }
  return joined;
}

static Binding bindingOf(const Names &names, const std::string &name) {
  auto found = names.find(name);
  return found == names.end() ? Binding() : found->second;
}

/// Flags that one jump sets share a result, so that knowing one of them tells the others.
static std::optional<std::string> sameFlag(llvm::StringRef name, const Names &thenNames,
                                           const Names &elseNames) {
  static constexpr llvm::StringLiteral kFlags[] = {kJumped, kBroke, kReturned};
  if (!llvm::is_contained(kFlags, name))
    return std::nullopt;
  auto isSame = [&](const Names &names, llvm::StringRef other) {
    return areIdentical(bindingOf(names, name.str()).value, bindingOf(names, other.str()).value);
  };
  for (llvm::StringRef other : kFlags) {
    if (other == name)
      break;
    if (isSame(thenNames, other) && isSame(elseNames, other))
      return other.str();
  }
  return std::nullopt;
}

JoinedNames tw::joinNames(Emitter &emitter, const Node &site, BranchEnds &ends,
                          const Names &thenNames, const Names &elseNames) {
  std::set<std::string> all;
  for (const Names *names : {&thenNames, &elseNames})
    for (const auto &[name, binding] : *names)
      all.insert(name);
  JoinedNames joined;
  for (const std::string &name : all) {
    if (std::optional<std::string> other = sameFlag(name, thenNames, elseNames))
      joined.sameFlags[name] = *other;
    else
      joined.names[name] = joinBindings({emitter, site, ends, /*isReturned=*/name == kResult},
                                        bindingOf(thenNames, name), bindingOf(elseNames, name));
  }
  return joined;
}

Names tw::withResults(JoinedNames joined, mlir::ValueRange results) {
  for (auto &[name, binding] : joined.names)
    binding.value = mapLeaves(binding.value, [&](const PyValue &leaf) -> PyValue {
      const TypedValue *typed = leaf.as<TypedValue>();
      if (!typed || typed->value)
        return leaf;
      mlir::Value next = results.front();
      results = results.drop_front();
      return {TypedValue{next, typed->dtype}};
    });
  for (const auto &[name, other] : joined.sameFlags)
    joined.names[name] = joined.names[other];
  return std::move(joined.names);
}
