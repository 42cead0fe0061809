// Carries names through run-time loops: entries, ends, and attempts until both have one type.
#include "frontend/statements/LoopDraft.h"
#include "frontend/operators/Aggregates.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

// Each attempt settles at least one name or flag; more than a few mean that types chase each other.
static constexpr int kMaxAttempts = 8;

/// A number or run-time value as a run-time value of a type.
static FailureOr<PyValue> atRunTime(Emitter &emitter, const PyValue &value, const LeafType &type,
                                    const Node &site) {
  if (!value.isNumber())
    return value;
  FailureOr<TypedValue> number = materialize(emitter, value, type, site);
  if (failed(number))
    return failure();
  return PyValue{*number};
}

/// A descriptor at the loop's entry: its numbers become what its run-time integers are.
static FailureOr<PyValue> entryOf(Emitter &emitter, const DescriptorContents &descriptor,
                                  const Node &site) {
  std::vector<PyValue> parts;
  for (const PyValue &part : descriptor.parts) {
    FailureOr<PyValue> entry = atRunTime(emitter, part, {findDType("int64"), {}}, site);
    if (failed(entry))
      return failure();
    parts.push_back(std::move(*entry));
  }
  return makeDescriptor(descriptor.type, std::move(parts));
}

/// The value at the loop's entry: numbers become run-time values, of the types in `form` where an
/// earlier attempt found one.
static FailureOr<PyValue> entryOf(Emitter &emitter, const PyValue &value, const PyValue *form,
                                  const Node &site) {
  if (const Descriptor *descriptor = value.as<Descriptor>())
    return entryOf(emitter, **descriptor, site);
  const TupleContents *parts = partsOf(value);
  if (!parts) {
    const TypedValue *type = form ? form->as<TypedValue>() : nullptr;
    return value.isNumber()
               ? atRunTime(emitter, value, type ? leafTypeOf(*type) : leafTypeOf(value), site)
               : FailureOr<PyValue>(value);
  }
  const TupleContents *forms = form ? partsOf(*form) : nullptr;
  bool isAlike = forms && forms->items.size() == parts->items.size();
  std::vector<PyValue> items;
  for (auto [i, item] : llvm::enumerate(parts->items)) {
    FailureOr<PyValue> entry = item;
    if (!isStaticField(value, i))
      entry = entryOf(emitter, item, isAlike ? &forms->items[i] : nullptr, site);
    if (failed(entry))
      return failure();
    items.push_back(std::move(*entry));
  }
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
    auto known = forms.find(name);
    const PyValue *form = known == forms.end() ? nullptr : &known->second;
    bool isResult = name == kResult && form;
    if (binding == before.end() || binding->second.isConstexpr ||
        (binding->second.value.is<Absent>() && !isResult))
      continue;
    FailureOr<PyValue> entry = isResult ? FailureOr<PyValue>(zerosLike(emitter, *form))
                                        : entryOf(emitter, binding->second.value, form, node);
    if (failed(entry))
      return failure();
    carried.push_back({name, *entry, binding->second.where});
  }
  return success();
}

void LoopDraft::moveOutside() {
  mlir::Operation *op = emitter.builder.getInsertionBlock()->getParentOp();
  while (op->getBlock() != outside)
    op = op->getParentOp();
  emitter.builder.setInsertionPoint(op);
}

std::vector<mlir::Value> LoopDraft::entryValues() const {
  std::vector<mlir::Value> values;
  for (const Carried &name : carried)
    llvm::append_range(values, leavesOf(name.entry));
  return values;
}

void LoopDraft::bindLeaves(mlir::ValueRange values) {
  for (const Carried &name : carried) {
    Binding &binding = emitter.frame().names[name.name];
    binding.value = withLeaves(name.entry, values);
    binding.where = name.where;
  }
}

//===-- The end of an iteration --------------------------------------------------------------===//

/// Returns true if the loop may still choose the type that a name has at its entry.
static bool mayChooseType(const PyValue &original) {
  return original.isNumber() || original.is<Absent>();
}

namespace {
/// The values at the end of an iteration, compared with those at the loop's entry.
struct IterationEnd {
  LoopDraft &loop;
  std::vector<mlir::Value> leaves = {}; // brought to the types of the entry

  /// Returns true if a value at the end has the form of the entry. If it has not, but the entry
  /// could have the form of the end, `form` is set to that form. `original` is the value before the
  /// loop.
  bool add(const PyValue &original, const PyValue &entry, const PyValue &end,
           std::optional<PyValue> &form);

private:
  bool addItems(const PyValue &original, const PyValue &entry, const PyValue &end,
                std::optional<PyValue> &form);
  bool addDescriptor(const DescriptorContents &entry, const PyValue &end);
  bool addLeaf(const PyValue &original, const TypedValue &entry, const PyValue &end,
               std::optional<PyValue> &form);
  void addNumber(const PyValue &number, const TypedValue &entry);
};
} // namespace

void IterationEnd::addNumber(const PyValue &number, const TypedValue &entry) {
  FailureOr<TypedValue> value = materialize(loop.emitter, number, leafTypeOf(entry), loop.node);
  leaves.push_back(failed(value) ? entry.value : value->value);
}

/// A descriptor of the entry's type always has parts of the entry's types.
bool IterationEnd::addDescriptor(const DescriptorContents &entry, const PyValue &end) {
  const Descriptor *last = end.as<Descriptor>();
  if (!last || (*last)->type != entry.type)
    return false;
  for (auto [start, finish] : llvm::zip_equal(entry.parts, (*last)->parts)) {
    if (const TypedValue *typed = finish.as<TypedValue>())
      leaves.push_back(typed->value);
    else
      addNumber(finish, *start.as<TypedValue>());
  }
  return true;
}

bool IterationEnd::addItems(const PyValue &original, const PyValue &entry, const PyValue &end,
                            std::optional<PyValue> &form) {
  const TupleContents *parts = partsOf(entry), *ends = partsOf(end), *originals = partsOf(original);
  if (!ends || !isSameClass(entry, end) || ends->items.size() != parts->items.size())
    return false;
  std::vector<PyValue> forms = parts->items;
  bool isAlike = true, hasForm = true;
  for (auto [i, item] : llvm::enumerate(parts->items)) {
    std::optional<PyValue> formOfItem;
    if (add(originals ? originals->items[i] : original, item, ends->items[i], formOfItem))
      continue;
    isAlike = false;
    hasForm = hasForm && formOfItem;
    if (formOfItem)
      forms[i] = *formOfItem;
  }
  if (!isAlike && hasForm)
    form = withParts(entry, std::move(forms));
  return isAlike;
}

bool IterationEnd::addLeaf(const PyValue &original, const TypedValue &entry, const PyValue &end,
                           std::optional<PyValue> &form) {
  const TypedValue *typed = end.as<TypedValue>();
  LeafType type = leafTypeOf(entry);
  if (typed && leafTypeOf(*typed) == type) {
    leaves.push_back(typed->value);
    return true;
  }
  if (!typed && fits(end, type)) {
    addNumber(end, entry);
    return true;
  }
  if (!mayChooseType(original) || (!typed && !end.isNumber()))
    return false;
  LeafType wanted = typed ? leafTypeOf(*typed) : leafTypeOf(end);
  if (original.is<Absent>() || fits(original, wanted)) {
    mlir::OpBuilder::InsertionGuard guard(loop.emitter.builder);
    loop.moveOutside();
    form = PyValue{zeroOf(loop.emitter, wanted)};
  }
  return false;
}

bool IterationEnd::add(const PyValue &original, const PyValue &entry, const PyValue &end,
                       std::optional<PyValue> &form) {
  if (partsOf(entry))
    return addItems(original, entry, end, form);
  if (const Descriptor *descriptor = entry.as<Descriptor>())
    return addDescriptor(**descriptor, end);
  if (const TypedValue *typed = entry.as<TypedValue>())
    return addLeaf(original, *typed, end, form);
  return areIdentical(entry, end);
}

static LogicalResult reportChange(LoopDraft &loop, const Carried &name, const PyValue &original,
                                  const Binding &end) {
  Emitter &emitter = loop.emitter;
  if (const Absent *reason = end.value.as<Absent>())
    return emitter.reportAbsent(*reason, name.name, loop.node);
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

static bool maySet(const Names &names, llvm::StringRef flag) {
  const PyValue &value = names.find(flag.str())->second.value;
  return value.isRuntime() || truthOf(value);
}

/// Finds out whether the body may leave the loop, and what it then returns.
LogicalResult LoopDraft::findExits(const Names &end) {
  if (maySet(end, kBroke) && !hasExit)
    hasExit = mustRepeat = true;
  if (maySet(end, kReturned) && !hasReturn)
    hasReturn = mustRepeat = true;
  const PyValue &result = end.find(kResult.str())->second.value;
  if (!hasReturn || forms.count(kResult.str()) || result.is<Absent>())
    return success();
  mlir::OpBuilder::InsertionGuard guard(emitter.builder);
  moveOutside();
  FailureOr<PyValue> form = entryOf(emitter, result, nullptr, node);
  if (failed(form))
    return failure();
  forms[kResult.str()] = zerosLike(emitter, *form);
  mustRepeat = true;
  return success();
}

LogicalResult LoopDraft::refuseChangedConstexprs(Names &end) {
  for (const std::string &name : assigned) {
    auto old = before.find(name);
    const Binding &last = end[name];
    if (old == before.end() || !old->second.isConstexpr ||
        areIdentical(old->second.value, last.value))
      continue;
    return emitter.error(Code::ConstexprChanges, node,
                         "`" + name + "` is a constexpr, but the loop changes it at run time",
                         "leave out the constexpr annotation, or loop with tw.static_range",
                         {{last.where, "changed here"}});
  }
  return success();
}

FailureOr<std::vector<mlir::Value>> LoopDraft::endValues() {
  emitter.locate(node);
  Names &end = emitter.frame().names;
  if (failed(findExits(end)))
    return failure();
  IterationEnd values{*this};
  for (const Carried &name : carried) {
    const PyValue &original = before[name.name].value;
    std::optional<PyValue> form;
    if (values.add(original, name.entry, end[name.name].value, form))
      continue;
    if (!form)
      return reportChange(*this, name, original, end[name.name]);
    forms[name.name] = *form;
    mustRepeat = true;
  }
  if (failed(refuseChangedConstexprs(end)))
    return failure();
  return std::move(values.leaves);
}

void LoopDraft::bindResults(mlir::ValueRange results) {
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
  broke = emitter.frame().flag(kBroke);
  emitter.frame().leaveLoop();
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
  for (const auto &[name, known] : loop.facts.forms) {
    std::vector<mlir::Value> zeros;
    for (const LeafType &type : known.leaves)
      zeros.push_back(zeroOf(loop.emitter, type).value);
    mlir::ValueRange leaves = zeros;
    loop.forms[name] = withLeaves(known.shape, leaves);
  }
}

/// Keeps what was found out for the next attempt at the loop around this one.
static void remember(LoopDraft &loop) {
  LoopFacts *around = loop.emitter.loopFacts;
  if (!around)
    return;
  loop.facts.node = &loop.node;
  loop.facts.hasExit = loop.hasExit;
  loop.facts.hasReturn = loop.hasReturn;
  loop.facts.forms.clear();
  for (const auto &[name, value] : loop.forms) {
    LoopFacts::Form &known = loop.facts.forms[name];
    known.shape = value;
    forEachLeaf(value, [&](const PyValue &leaf) {
      if (const TypedValue *typed = leaf.as<TypedValue>())
        known.leaves.push_back(leafTypeOf(*typed));
    });
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

LogicalResult
tw::emitUntilStable(LoopDraft &loop,
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
      loop.bindResults((*op)->getResults().take_back(loop.entryValues().size()));
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
