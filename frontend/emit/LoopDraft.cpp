// Carries names through run-time loops: entries, ends, and attempts until both have one type.
#include "frontend/emit/LoopDraft.h"
#include "frontend/emit/Aggregates.h"
#include "frontend/emit/Descriptors.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

// Each attempt settles at least one name or flag; more than a few mean that types chase each other.
static constexpr int kMaxAttempts = 8;

static void collectLeaves(const Value &value, std::vector<mlir::Value> &leaves) {
  if (const TypedValue *typed = value.as<TypedValue>())
    leaves.push_back(typed->value);
  if (const TupleContents *parts = partsOf(value))
    for (const Value &item : parts->items)
      collectLeaves(item, leaves);
  if (const Descriptor *descriptor = value.as<Descriptor>())
    for (const Value &part : (*descriptor)->parts)
      collectLeaves(part, leaves);
}

static Value withLeaves(const Value &value, mlir::ValueRange leaves, size_t &next) {
  if (const TypedValue *typed = value.as<TypedValue>())
    return {TypedValue{leaves[next++], typed->dtype}};
  std::vector<Value> items;
  if (const Descriptor *descriptor = value.as<Descriptor>()) {
    for (const Value &part : (*descriptor)->parts)
      items.push_back(withLeaves(part, leaves, next));
    return makeDescriptor((*descriptor)->type, std::move(items));
  }
  const TupleContents *contents = partsOf(value);
  if (!contents)
    return value;
  for (const Value &item : contents->items)
    items.push_back(withLeaves(item, leaves, next));
  return withParts(value, std::move(items));
}

/// Numbers among the parts of a descriptor become what its run-time integers are.
static FailureOr<Value> entryOf(Emitter &emitter, const DescriptorContents &descriptor,
                                const Node &site) {
  std::vector<Value> parts;
  for (const Value &part : descriptor.parts) {
    FailureOr<TypedValue> entry = part.isNumber()
                                      ? materialize(emitter, part, {findDType("int64"), {}}, site)
                                      : FailureOr<TypedValue>(*part.as<TypedValue>());
    if (failed(entry))
      return failure();
    parts.push_back({*entry});
  }
  return makeDescriptor(descriptor.type, std::move(parts));
}

/// The value at the loop's entry: numbers become run-time values, of the learned type if there is
/// one.
static FailureOr<Value> entryOf(Emitter &emitter, const Value &value, const Value *learned,
                                const Node &site) {
  if (const TupleContents *parts = partsOf(value)) {
    std::vector<Value> items;
    const TupleContents *types = learned ? partsOf(*learned) : nullptr;
    bool isAlike = types && types->items.size() == parts->items.size();
    for (auto [i, item] : llvm::enumerate(parts->items)) {
      FailureOr<Value> entry =
          isStaticField(value, i)
              ? FailureOr<Value>(item)
              : entryOf(emitter, item, isAlike ? &types->items[i] : nullptr, site);
      if (failed(entry))
        return failure();
      items.push_back(std::move(*entry));
    }
    return withParts(value, std::move(items));
  }
  if (const Descriptor *descriptor = value.as<Descriptor>())
    return entryOf(emitter, **descriptor, site);
  const TypedValue *type = learned ? learned->as<TypedValue>() : nullptr;
  if (value.isNumber()) {
    LeafType leaf = type ? leafTypeOf(*type) : leafTypeOf(value);
    FailureOr<TypedValue> entry = materialize(emitter, value, leaf, site);
    return failed(entry) ? FailureOr<Value>(failure()) : FailureOr<Value>(Value{*entry});
  }
  return value;
}

/// Zeros in the place of every leaf: what `.result` holds before anything is returned.
static Value zerosLike(Emitter &emitter, const Value &value) {
  if (const TypedValue *typed = value.as<TypedValue>())
    return {zeroOf(emitter, leafTypeOf(*typed))};
  std::vector<Value> items;
  if (const Descriptor *descriptor = value.as<Descriptor>()) {
    for (const Value &part : (*descriptor)->parts)
      items.push_back(zerosLike(emitter, part));
    return makeDescriptor((*descriptor)->type, std::move(items));
  }
  const TupleContents *contents = partsOf(value);
  if (!contents)
    return value;
  for (const Value &item : contents->items)
    items.push_back(zerosLike(emitter, item));
  return withParts(value, std::move(items));
}

LogicalResult LoopDraft::prepare() {
  emitter.frame().names = before;
  emitter.locate(node);
  carried.clear();
  mustRepeat = false;
  outside = emitter.builder.getInsertionBlock();
  std::set<std::string> names = assigned;
  if (hasExit)
    names.insert(kBroke.str());
  if (hasReturn)
    names.insert({kReturned.str(), kResult.str()});
  for (const std::string &name : names) {
    auto binding = before.find(name);
    auto known = learned.find(name);
    const Value *type = known == learned.end() ? nullptr : &known->second;
    bool isResult = name == kResult && type;
    if (binding == before.end() || binding->second.isConstexpr ||
        (binding->second.value.is<Absent>() && !isResult))
      continue;
    FailureOr<Value> entry = isResult ? FailureOr<Value>(zerosLike(emitter, *type))
                                      : entryOf(emitter, binding->second.value, type, node);
    if (failed(entry))
      return failure();
    carried.push_back({name, *entry, binding->second.where});
  }
  return success();
}

/// Sets the insertion point before the loop that is being built.
void LoopDraft::moveOutside() {
  mlir::Operation *op = emitter.builder.getInsertionBlock()->getParentOp();
  while (op->getBlock() != outside)
    op = op->getParentOp();
  emitter.builder.setInsertionPoint(op);
}

std::vector<mlir::Value> LoopDraft::entryValues() const {
  std::vector<mlir::Value> values;
  for (const Carried &name : carried)
    collectLeaves(name.entry, values);
  return values;
}

void LoopDraft::bindLeaves(mlir::ValueRange values) {
  size_t next = 0;
  for (const Carried &name : carried) {
    Binding &binding = emitter.frame().names[name.name];
    binding.value = withLeaves(name.entry, values, next);
    binding.where = name.where;
  }
}

/// True when the entry was a number, whose type the loop may still choose.
static bool isOpen(const Value &original) { return original.isNumber() || original.is<Absent>(); }

/// Whether a descriptor at the end of the body is of the entry's type: its parts then always are.
static bool conform(LoopDraft &loop, const DescriptorContents &entry, const Value &end,
                    std::vector<mlir::Value> &leaves) {
  const Descriptor *last = end.as<Descriptor>();
  if (!last || (*last)->type != entry.type)
    return false;
  for (auto [start, finish] : llvm::zip_equal(entry.parts, (*last)->parts)) {
    LeafType type = leafTypeOf(*start.as<TypedValue>());
    FailureOr<TypedValue> value = finish.isNumber()
                                      ? materialize(loop.emitter, finish, type, loop.node)
                                      : FailureOr<TypedValue>(*finish.as<TypedValue>());
    leaves.push_back(failed(value) ? start.as<TypedValue>()->value : value->value);
  }
  return true;
}

/// Brings the value at the end of the body to the entry's form. Answers false when it does not fit;
/// `learned` then holds the form that would, when the entry can still take it.
static bool conform(LoopDraft &loop, const Value &original, const Value &entry, const Value &end,
                    std::vector<mlir::Value> &leaves, std::optional<Value> &learned) {
  if (const TupleContents *parts = partsOf(entry)) {
    const TupleContents *ends = partsOf(end), *originals = partsOf(original);
    if (!ends || !isSameClass(entry, end) || ends->items.size() != parts->items.size())
      return false;
    std::vector<Value> types = parts->items;
    bool isAlike = true, canLearn = true;
    for (auto [i, item] : llvm::enumerate(parts->items)) {
      std::optional<Value> type;
      Value source = originals ? originals->items[i] : original;
      if (conform(loop, source, item, ends->items[i], leaves, type))
        continue;
      isAlike = false;
      canLearn = canLearn && type;
      if (type)
        types[i] = *type;
    }
    if (!isAlike && canLearn)
      learned = withParts(entry, std::move(types));
    return isAlike;
  }
  if (const Descriptor *descriptor = entry.as<Descriptor>())
    return conform(loop, **descriptor, end, leaves);
  const TypedValue *start = entry.as<TypedValue>(), *finish = end.as<TypedValue>();
  if (!start)
    return areIdentical(entry, end);
  if (finish && leafTypeOf(*finish) == leafTypeOf(*start)) {
    leaves.push_back(finish->value);
    return true;
  }
  if (!finish && fits(end, leafTypeOf(*start))) {
    FailureOr<TypedValue> value = materialize(loop.emitter, end, leafTypeOf(*start), loop.node);
    leaves.push_back(failed(value) ? start->value : value->value);
    return true;
  }
  if (!isOpen(original) || (!finish && !end.isNumber()))
    return false;
  LeafType wanted = finish ? leafTypeOf(*finish) : leafTypeOf(end);
  if (original.is<Absent>() || fits(original, wanted)) {
    mlir::OpBuilder::InsertionGuard guard(loop.emitter.builder);
    loop.moveOutside();
    learned = Value{zeroOf(loop.emitter, wanted)};
  }
  return false;
}

static LogicalResult reportChange(LoopDraft &loop, const Carried &name, const Value &original,
                                  const Binding &end) {
  Emitter &emitter = loop.emitter;
  if (const Absent *reason = end.value.as<Absent>())
    return emitter.absent(*reason, name.name, loop.node);
  std::string first = typeName(original), last = typeName(end.value);
  if (isHidden(name.name))
    return emitter.error(Code::BadReturn, loop.node,
                         "the returns of this loop have different types: " + first + " and " + last,
                         "convert them to one type with .to(...)");
  return emitter.error(
      Code::LoopTypeChanges, loop.node,
      "`" + name.name + "` is " + first + " before the loop, but " + last + " after an iteration",
      "convert one of them with .to(...), start with a value of the final type and shape, or use "
      "another name inside the loop",
      {{name.where, "this is " + first}, {end.where, "this is " + last}});
}

static bool isPossible(const Value &flag) { return flag.isRuntime() || truthOf(flag); }

FailureOr<std::vector<mlir::Value>> LoopDraft::endValues() {
  emitter.locate(node);
  Names &end = emitter.frame().names;
  std::vector<mlir::Value> leaves;
  if (isPossible(end[kBroke.str()].value) && !hasExit)
    hasExit = mustRepeat = true;
  if (isPossible(end[kReturned.str()].value) && !hasReturn)
    hasReturn = mustRepeat = true;
  const Binding &result = end[kResult.str()];
  if (hasReturn && !learned.count(kResult.str()) && !result.value.is<Absent>()) {
    mlir::OpBuilder::InsertionGuard guard(emitter.builder);
    moveOutside();
    FailureOr<Value> type = entryOf(emitter, result.value, nullptr, node);
    if (failed(type))
      return failure();
    learned[kResult.str()] = zerosLike(emitter, *type);
    mustRepeat = true;
  }
  for (const Carried &name : carried) {
    const Binding &binding = end[name.name];
    const Value &original = before[name.name].value;
    std::optional<Value> type;
    if (conform(*this, original, name.entry, binding.value, leaves, type))
      continue;
    if (!type)
      return reportChange(*this, name, original, binding);
    learned[name.name] = *type;
    mustRepeat = true;
  }
  for (const std::string &name : assigned)
    if (auto old = before.find(name); old != before.end() && old->second.isConstexpr &&
                                      !areIdentical(old->second.value, end[name].value))
      return emitter.error(Code::ConstexprChanges, node,
                           "`" + name + "` is a constexpr, but the loop changes it at run time",
                           "leave out the constexpr annotation, or loop with tw.static_range",
                           {{end[name].where, "changed here"}});
  return leaves;
}

void LoopDraft::finish(mlir::ValueRange results) {
  Names end = std::exchange(emitter.frame().names, before);
  Names &names = emitter.frame().names;
  bindLeaves(results);
  for (const auto &[name, binding] : end)
    if (auto old = before.find(name);
        !isHidden(name) &&
        (old == before.end() || (old->second.value.is<Absent>() && assigned.count(name))))
      names[name].value = {Absent{Absent::Reason::LoopBody, binding.where, {}, "", ""}};
  // No iteration may have bound the target.
  for (const std::string &name : targetNames(node.child("target")))
    if (!assigned.count(name) && end.count(name))
      names[name].value = {Absent{Absent::Reason::LoopBody, end[name].where, {}, "", ""}};
  broke = emitter.flag(kBroke);
  emitter.leaveLoop();
}

void Emitter::leaveLoop() {
  Value returned = flag(kReturned);
  setFlag(kJumped, returned);
  setFlag(kBroke, frame().loopDepth > 0 ? returned : Value{false});
}

/// Begins with what an earlier emission of this loop found out, if there was one.
static void recall(LoopDraft &loop) {
  LoopFacts *around = loop.emitter.loopFacts;
  if (!around || around->next >= around->inner.size() ||
      around->inner[around->next].node != &loop.node)
    return;
  loop.facts = std::move(around->inner[around->next]);
  loop.hasExit = loop.facts.hasExit;
  loop.hasReturn = loop.facts.hasReturn;
  for (const auto &[name, known] : loop.facts.learned) {
    std::vector<mlir::Value> zeros;
    for (const LeafType &type : known.leaves)
      zeros.push_back(zeroOf(loop.emitter, type).value);
    size_t next = 0;
    loop.learned[name] = withLeaves(known.form, zeros, next);
  }
}

static void collectLeafTypes(const Value &value, std::vector<LeafType> &leaves) {
  if (const TypedValue *typed = value.as<TypedValue>())
    leaves.push_back(leafTypeOf(*typed));
  if (const Tuple *tuple = value.as<Tuple>())
    for (const Value &item : (*tuple)->items)
      collectLeafTypes(item, leaves);
  if (const Descriptor *descriptor = value.as<Descriptor>())
    for (const Value &part : (*descriptor)->parts)
      collectLeafTypes(part, leaves);
}

/// Keeps what was found out for the next attempt at the loop around this one.
static void remember(LoopDraft &loop) {
  LoopFacts *around = loop.emitter.loopFacts;
  if (!around)
    return;
  loop.facts.node = &loop.node;
  loop.facts.hasExit = loop.hasExit;
  loop.facts.hasReturn = loop.hasReturn;
  loop.facts.learned.clear();
  for (const auto &[name, value] : loop.learned) {
    LoopFacts::Learned &known = loop.facts.learned[name];
    known.form = value;
    collectLeafTypes(value, known.leaves);
  }
  around->inner.resize(std::max(around->inner.size(), around->next + 1));
  around->inner[around->next++] = std::move(loop.facts);
}

/// One attempt, in which the loops inside begin with what they know.
static FailureOr<mlir::Operation *>
attemptOnce(LoopDraft &loop,
            llvm::function_ref<FailureOr<mlir::Operation *>(LoopDraft &)> attempt) {
  Emitter &emitter = loop.emitter;
  LoopFacts *around = std::exchange(emitter.loopFacts, &loop.facts);
  loop.facts.next = 0;
  ++emitter.frame().loopDepth;
  FailureOr<mlir::Operation *> op = attempt(loop);
  --emitter.frame().loopDepth;
  emitter.loopFacts = around;
  return op;
}

LogicalResult tw::settle(LoopDraft &loop,
                         llvm::function_ref<FailureOr<mlir::Operation *>(LoopDraft &)> attempt) {
  Emitter &emitter = loop.emitter;
  size_t numReports = emitter.numReports();
  int64_t numUnrolled = emitter.numUnrolled, numInlined = emitter.numInlined,
          numOperations = emitter.operations.count;
  recall(loop);
  for (int i = 0; i < kMaxAttempts; ++i) {
    if (failed(loop.prepare()))
      return failure();
    FailureOr<mlir::Operation *> op = attemptOnce(loop, attempt);
    if (failed(op))
      return failure();
    emitter.builder.setInsertionPointAfter(*op);
    emitter.locate(loop.node);
    if (!loop.mustRepeat) {
      remember(loop);
      loop.finish((*op)->getResults().take_back(loop.entryValues().size()));
      return success();
    }
    (*op)->erase();
    emitter.dropReportsAfter(numReports);
    emitter.numUnrolled = numUnrolled;
    emitter.numInlined = numInlined;
    emitter.operations.count = numOperations;
  }
  return emitter.error(Code::LoopTypeChanges, loop.node,
                       "the types of the names that this loop changes do not settle",
                       "give them their final types before the loop");
}
