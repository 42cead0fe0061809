// Run-time branches, and how the two arms' names become one.
#include "frontend/emit/Aggregates.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/Leaves.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;
namespace scf = mlir::scf;

// Emitting, verifying and lowering nested regions is recursive.
static constexpr int kMaxBranchDepth = 200;

//===-- Leaves -------------------------------------------------------------------------------===//

LeafType tw::leafTypeOf(const TypedValue &value) { return {value.dtype, value.shape().vec()}; }

LeafType tw::leafTypeOf(const Value &number) {
  if (number.is<bool>())
    return {findDType("int1"), {}};
  if (number.is<double>())
    return {findDType("float32"), {}};
  llvm::APSInt integer = toInteger(number);
  if (integer.isSignedIntN(32))
    return {findDType("int32"), {}};
  if (!integer.isNegative() && integer.isIntN(32))
    return {findDType("uint32"), {}};
  return {findDType(integer.isSignedIntN(64) ? "int64" : "uint64"), {}};
}

/// Whether a float type holds an integer without rounding: else it would be another number.
static bool isExact(const llvm::APSInt &integer, DType dtype) {
  const auto &semantics =
      *llvm::StringSwitch<const llvm::fltSemantics *>(dtype.row->Name)
           .Case("float64", &llvm::APFloat::IEEEdouble())
           .Case("float32", &llvm::APFloat::IEEEsingle())
           .Case("float16", &llvm::APFloat::IEEEhalf())
           .Case("bfloat16", &llvm::APFloat::BFloat())
           .Default(&llvm::APFloat::Float8E5M2()); // of the 8-bit floats the one of fewest digits
  return llvm::APFloat(semantics).convertFromAPInt(
             integer, /*IsSigned=*/true, llvm::APFloat::rmNearestTiesToEven) == llvm::APFloat::opOK;
}

bool tw::fits(const Value &number, const LeafType &type) {
  DType dtype = type.dtype;
  if (!number.isNumber() || dtype.isPointer)
    return false;
  if (dtype.isFloat() && number.is<double>())
    return true;
  if (dtype.isFloat())
    return isExact(toInteger(number), dtype);
  if (dtype.isBool() || number.is<double>())
    return number.is<bool>();
  llvm::APSInt integer = toInteger(number);
  return dtype.isSigned() ? integer.isSignedIntN(dtype.bits())
                          : !integer.isNegative() && integer.isIntN(dtype.bits());
}

FailureOr<TypedValue> tw::materialize(Emitter &emitter, const Value &number, const LeafType &type,
                                      const Node &site) {
  FailureOr<TypedValue> scalar = emitter.toRuntime(number, site);
  if (failed(scalar))
    return failure();
  TileBuilder::Value cast = emitter.tiles.cast(*scalar, type.dtype, false, "");
  if (cast && !type.shape.empty())
    cast = emitter.tiles.full(type.shape, *cast, type.dtype);
  if (!cast)
    return emitter.error(cast.error(), site, {&site});
  cast->isLiteral = false;
  return *cast;
}

TypedValue tw::zeroOf(Emitter &emitter, const LeafType &type) {
  mlir::OpBuilder &builder = emitter.builder;
  mlir::Type element = type.dtype.irType(builder.getContext());
  mlir::Value scalar;
  if (auto pointer = mlir::dyn_cast<tile::PtrType>(element)) {
    mlir::Value address =
        mlir::arith::ConstantOp::create(builder, emitter.location(), builder.getI64IntegerAttr(0));
    scalar = tile::IntToPtrOp::create(builder, emitter.location(), pointer, address);
  } else {
    scalar =
        mlir::arith::ConstantOp::create(builder, emitter.location(), builder.getZeroAttr(element));
  }
  if (!type.shape.empty())
    scalar = tile::SplatOp::create(builder, emitter.location(),
                                   mlir::RankedTensorType::get(type.shape, element), scalar);
  return {scalar, type.dtype};
}

//===-- Joining ------------------------------------------------------------------------------===//

namespace {
/// Joins the values of names at the ends of two arms; run-time leaves that differ become results.
struct Join {
  Emitter &emitter;
  const Node &site;
  mlir::Operation *ends[2];                 // terminators of the arms
  llvm::SmallVector<mlir::Value> yields[2]; // one per result
  bool isHiddenName = false;
  std::map<std::string, std::string> sameFlags = {}; // flags that hold what another one holds

  Value join(const Value &a, const Value &b);
  Value joinParts(const Descriptor *a, const Descriptor *b);
  Value result(const Value &a, const Value &b, const LeafType &type);
};
} // namespace

/// The type that both leaves can take without a change of meaning.
static std::optional<LeafType> commonType(const Value &a, const Value &b) {
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
  for (const Value *candidate : {&a, &b})
    if (LeafType type = leafTypeOf(*candidate); fits(a, type) && fits(b, type))
      return type;
  LeafType wide{findDType("int64"), {}};
  return fits(a, wide) && fits(b, wide) ? std::optional(wide) : std::nullopt;
}

/// A result whose IR value is filled in when the branch is complete.
Value Join::result(const Value &a, const Value &b, const LeafType &type) {
  const Value *sides[] = {&a, &b};
  for (auto [i, side] : llvm::enumerate(sides)) {
    mlir::OpBuilder::InsertionGuard guard(emitter.builder);
    emitter.builder.setInsertionPoint(ends[i]);
    if (const TypedValue *typed = side->as<TypedValue>()) {
      yields[i].push_back(typed->value);
    } else if (side->is<Absent>()) {
      yields[i].push_back(zeroOf(emitter, type).value);
    } else {
      FailureOr<TypedValue> number = materialize(emitter, *side, type, site);
      yields[i].push_back(failed(number) ? zeroOf(emitter, type).value : number->value);
    }
  }
  return {TypedValue{mlir::Value(), type.dtype}};
}

/// One descriptor of two of the same type. A side that is absent is never read.
Value Join::joinParts(const Descriptor *a, const Descriptor *b) {
  const DescriptorContents &present = **(a ? a : b);
  std::vector<Value> parts;
  for (size_t i = 0; i < present.parts.size(); ++i) {
    Value first = a ? (*a)->parts[i] : Value{}, second = b ? (*b)->parts[i] : Value{};
    bool isPointer = i == 0;
    LeafType type{isPointer ? present.base().dtype : findDType("int64"), {}};
    parts.push_back(areIdentical(first, second) ? first : result(first, second, type));
  }
  return makeDescriptor(present.type, std::move(parts));
}

Value Join::join(const Value &a, const Value &b) {
  bool isAbsentA = a.is<Absent>(), isAbsentB = b.is<Absent>();
  if ((isAbsentA && isAbsentB) || areIdentical(a, b))
    return a;
  const TupleContents *left = partsOf(a), *right = partsOf(b);
  if (isHiddenName && (isAbsentA || isAbsentB)) {
    // The absent side is never read: its flag tells.
    const Value &present = isAbsentA ? b : a;
    if (const TupleContents *parts = partsOf(present)) {
      std::vector<Value> items;
      for (const Value &item : parts->items)
        items.push_back(isAbsentA ? join(Value{}, item) : join(item, Value{}));
      return withParts(present, std::move(items));
    }
    if (present.is<Descriptor>())
      return joinParts(a.as<Descriptor>(), b.as<Descriptor>());
    return present.isRuntime() ? result(a, b, leafTypeOf(*present.as<TypedValue>())) : present;
  }
  if (isAbsentA || isAbsentB)
    return isAbsentA && a.as<Absent>()->reason != Absent::Reason::Never ? a
           : isAbsentB && b.as<Absent>()->reason != Absent::Reason::Never
               ? b
               : Value{Absent{Absent::Reason::OnePath, {}, {}, "", ""}};
  if (left && right && isSameClass(a, b) && left->items.size() == right->items.size()) {
    std::vector<Value> items;
    for (auto [i, x] : llvm::enumerate(left->items)) {
      bool isFixed = isStaticField(a, i) && !areIdentical(x, right->items[i]);
      items.push_back(isFixed ? Value{Absent{Absent::Reason::TwoTypes,
                                             {},
                                             {},
                                             toText(x, true),
                                             toText(right->items[i], true)}}
                              : join(x, right->items[i]));
    }
    return withParts(a, std::move(items));
  }
  if (const Descriptor *one = a.as<Descriptor>(), *other = b.as<Descriptor>();
      one && other && (*one)->type == (*other)->type)
    return joinParts(one, other);
  if (std::optional<LeafType> type = commonType(a, b))
    return result(a, b, *type);
  return {Absent{Absent::Reason::TwoTypes, {}, {}, typeName(a), typeName(b)}};
}

/// Gives the results of a branch to the leaves that wait for them, in the order they were made.
static Value filled(const Value &value, mlir::ValueRange results, size_t &next) {
  if (const TypedValue *typed = value.as<TypedValue>(); typed && !typed->value)
    return {TypedValue{results[next++], typed->dtype}};
  std::vector<Value> items;
  if (const Descriptor *descriptor = value.as<Descriptor>()) {
    for (const Value &part : (*descriptor)->parts)
      items.push_back(filled(part, results, next));
    return makeDescriptor((*descriptor)->type, std::move(items));
  }
  const TupleContents *contents = partsOf(value);
  if (!contents)
    return value;
  for (const Value &item : contents->items)
    items.push_back(filled(item, results, next));
  return withParts(value, std::move(items));
}

/// The first element that is not joined, so that a tuple with such an element reads as not joined.
static const Absent *findAbsent(const Value &value) {
  if (const Absent *absent = value.as<Absent>())
    return absent;
  if (const TupleContents *parts = partsOf(value))
    for (const Value &item : parts->items)
      if (const Absent *absent = findAbsent(item))
        return absent;
  return nullptr;
}

/// Flags that one jump sets share a result, so that knowing one of them tells the others.
static std::optional<std::string> sameFlag(llvm::StringRef name, const Names &thenNames,
                                           const Names &elseNames) {
  static constexpr llvm::StringLiteral kFlags[] = {kJumped, kBroke, kReturned};
  const llvm::StringLiteral *self = llvm::find(kFlags, name);
  for (const llvm::StringLiteral *other = kFlags; other < self && self != std::end(kFlags);
       ++other) {
    auto value = [](const Names &names, llvm::StringRef flag) -> const Value & {
      return names.find(flag.str())->second.value;
    };
    if (areIdentical(value(thenNames, name), value(thenNames, *other)) &&
        areIdentical(value(elseNames, name), value(elseNames, *other)))
      return other->str();
  }
  return std::nullopt;
}

static Names joinNames(Join &join, const Names &thenNames, const Names &elseNames) {
  Names joined;
  std::set<std::string> all;
  for (const Names *names : {&thenNames, &elseNames})
    for (const auto &[name, binding] : *names)
      all.insert(name);
  for (const std::string &name : all) {
    auto first = thenNames.find(name), second = elseNames.find(name);
    const Binding none;
    const Binding &a = first == thenNames.end() ? none : first->second;
    const Binding &b = second == elseNames.end() ? none : second->second;
    if (std::optional<std::string> other = sameFlag(name, thenNames, elseNames)) {
      join.sameFlags[name] = *other;
      continue;
    }
    join.isHiddenName = name == kResult;
    Binding &binding = joined[name];
    size_t numBefore = join.yields[0].size();
    binding = {join.join(a.value, b.value), a.where.isKnown() ? a.where : b.where,
               a.isConstexpr && b.isConstexpr};
    if ((a.isConstexpr || b.isConstexpr) && !isStatic(binding.value) && isStatic(a.value) &&
        isStatic(b.value)) {
      for (auto &yields : join.yields)
        yields.resize(numBefore);
      binding.value = {
          Absent{Absent::Reason::TwoConstexprs, a.where, b.where, "", typeName(b.value)}};
      continue;
    }
    const Absent *reason = findAbsent(binding.value);
    if (reason) // leaves of a tuple with an absent element have no reader
      for (auto &yields : join.yields)
        yields.resize(numBefore);
    if (!reason || reason == a.value.as<Absent>() || reason->first.isKnown())
      continue;
    Absent located = *reason;
    located.first = a.where.isKnown() ? a.where : b.where;
    if (reason->reason == Absent::Reason::TwoTypes)
      located.second = b.where;
    binding.value = {located};
  }
  return joined;
}

/// The same branch with results: regions are moved, not copied.
static scf::IfOp withResults(Emitter &emitter, scf::IfOp draft, Join &join) {
  mlir::OpBuilder &builder = emitter.builder;
  builder.setInsertionPoint(draft);
  auto op = scf::IfOp::create(builder, draft.getLoc(), mlir::ValueRange(join.yields[0]).getTypes(),
                              draft.getCondition(), /*addThenBlock=*/false,
                              /*addElseBlock=*/false);
  op.getThenRegion().takeBody(draft.getThenRegion());
  op.getElseRegion().takeBody(draft.getElseRegion());
  for (int i : {0, 1}) {
    builder.setInsertionPoint(join.ends[i]);
    scf::YieldOp::create(builder, join.ends[i]->getLoc(), join.yields[i]);
    join.ends[i]->erase();
  }
  draft.erase();
  return op;
}

LogicalResult Emitter::branch(mlir::Value condition, const Node &site, Emit thenArm, Emit elseArm) {
  if (branchDepth >= kMaxBranchDepth)
    return error(Code::LimitExceeded, site,
                 llvm::formatv("branches are nested more than {0} deep", kMaxBranchDepth).str(),
                 "each run-time return, break or continue nests what follows it: use a run-time "
                 "loop instead of many of them");
  llvm::SaveAndRestore<int> deeper(branchDepth, branchDepth + 1);
  locate(site);
  mlir::Location here = location();
  auto draft = scf::IfOp::create(builder, here, condition, /*withElseRegion=*/true);
  Names before = frame().names;
  builder.setInsertionPoint(draft.thenYield());
  if (failed(thenArm()))
    return failure();
  Names thenNames = std::exchange(frame().names, std::move(before));
  builder.setInsertionPoint(draft.elseYield());
  if (failed(elseArm()))
    return failure();
  tiles.setLocation(here);
  Join join{*this, site, {draft.thenYield(), draft.elseYield()}, {}};
  Names joined = joinNames(join, thenNames, frame().names);
  scf::IfOp op = join.yields[0].empty() ? draft : withResults(*this, draft, join);
  builder.setInsertionPointAfter(op);
  std::vector<mlir::Value> results(op.getResults().begin(), op.getResults().end());
  size_t next = 0;
  for (auto &[name, binding] : joined)
    binding.value = filled(binding.value, results, next);
  for (const auto &[name, other] : join.sameFlags)
    joined[name] = joined[join.sameFlags.count(other) ? join.sameFlags.at(other) : other];
  frame().names = std::move(joined);
  return hasFailed() ? failure() : success();
}

LogicalResult Emitter::unlessSet(llvm::StringRef flagName, const Node &site, Emit body) {
  Value isSet = flag(flagName);
  if (!isSet.isRuntime())
    return truthOf(isSet) ? success() : body();
  auto guarded = [&]() -> LogicalResult {
    for (llvm::StringRef name : {kJumped, kBroke, kReturned})
      setFlag(name, {false});
    setFlag(kResult, {});
    return body();
  };
  auto left = [&]() -> LogicalResult {
    for (llvm::StringRef name : {kJumped, kBroke, kReturned})
      if (areIdentical(flag(name), isSet))
        setFlag(name, {true});
    return success();
  };
  return branch(isSet.as<TypedValue>()->value, site, left, guarded);
}

LogicalResult Emitter::emitIf(const Node &node, llvm::ArrayRef<const Node *> rest,
                              bool &hasEmittedRest) {
  const Node &test = node.child("test");
  ValueOr value = eval(test);
  if (failed(value))
    return failure();
  if (!value->isRuntime() && !value->is<Absent>()) {
    FailureOr<bool> truth = staticTruth(*value, test);
    return failed(truth) ? failure() : emitBlock(node.list(*truth ? "body" : "orelse"));
  }
  FailureOr<mlir::Value> condition = toCondition(*value, test);
  if (failed(condition))
    return failure();
  // When one arm always leaves the block, the rest belongs to the other arm: no flag is needed.
  bool thenJumps = alwaysJumps(node.list("body")), elseJumps = alwaysJumps(node.list("orelse"));
  hasEmittedRest = thenJumps != elseJumps;
  auto arm = [&](llvm::StringRef field, bool hasRest) -> LogicalResult {
    std::vector<const Node *> body = node.list(field).vec();
    if (hasRest)
      llvm::append_range(body, rest);
    return emitBlock(body);
  };
  return branch(
      *condition, node, [&] { return arm("body", elseJumps && !thenJumps); },
      [&] { return arm("orelse", thenJumps && !elseJumps); });
}
