// What names stand for, and values on their way from compile time to run time.
#include "frontend/emit/Descriptors.h"
#include "frontend/values/Parts.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

//===-- Names --------------------------------------------------------------------------------===//

static const Binding *findLocal(const Frame *frame, const std::string &name) {
  for (; frame; frame = frame->enclosing.get()) {
    if (auto found = frame->names.find(name); found != frame->names.end())
      return &found->second;
    if (frame->locals.count(name)) // assigned later, as in Python
      return nullptr;
  }
  return nullptr;
}

static const llvm::json::Object *findCaptured(const Frame &frame, llvm::StringRef name) {
  return frame.source->names ? frame.source->names->getObject(name) : nullptr;
}

static ValueOr readCaptured(Emitter &emitter, const llvm::json::Object &json, const Node &node) {
  std::optional<Value> value = fromJson(json);
  if (!value)
    return emitter.error(Code::MalformedBuffer, node, "a captured value is malformed",
                         "report this as a bug of the capture");
  return *value;
}

ValueOr Emitter::readName(const Node &node) {
  std::string name = node.text("id").str();
  if (const Binding *binding = findLocal(&frame(), name)) {
    if (const Absent *reason = binding->value.as<Absent>())
      return absent(*reason, name, node);
    return binding->value;
  }
  if (const llvm::json::Object *json = findCaptured(frame(), name))
    return readCaptured(*this, *json, node);
  std::vector<std::string> known;
  for (const Frame *scope = &frame(); scope; scope = scope->enclosing.get())
    for (const auto &[candidate, binding] : scope->names)
      known.push_back(candidate);
  if (frame().source->names)
    for (const auto &[candidate, value] : *frame().source->names)
      known.push_back(candidate.str());
  llvm::sort(known);
  std::string nearest = nearestName(name, known);
  return error(Code::UnknownName, node, "name `" + name + "` is not defined",
               nearest.empty() ? "assign it before this line, or define it outside the kernel"
                               : "did you mean `" + nearest + "`?");
}

std::optional<ValueOr> Emitter::readChain(const Node &node) {
  std::string chain = dottedName(node);
  llvm::StringRef root = llvm::StringRef(chain).split('.').first;
  // A chain from a captured name was resolved by the capture; local names hide captured ones.
  if (chain.empty() || findLocal(&frame(), root.str()))
    return std::nullopt;
  const llvm::json::Object *json = findCaptured(frame(), chain);
  return json ? std::optional(readCaptured(*this, *json, node)) : std::nullopt;
}

void Emitter::bind(llvm::StringRef name, Value value, const Node &site, bool isConstexpr) {
  frame().names[name.str()] = {std::move(value), spanOf(site, *frame().source), isConstexpr};
}

Value Emitter::flag(llvm::StringRef name) { return frame().names[name.str()].value; }
void Emitter::setFlag(llvm::StringRef name, Value value) {
  frame().names[name.str()] = {std::move(value), {}, false};
}

//===-- Between compile time and run time -----------------------------------------------------===//

mlir::LogicalResult Emitter::rejectAbsent(const Value &value, const Node &node) {
  return absent(*value.as<Absent>(), kResult, node);
}

static TileBuilder::Value literalOf(TileBuilder &tiles, const Value &number) {
  if (const bool *isTrue = number.as<bool>())
    return tiles.boolLiteral(*isTrue);
  if (const double *value = number.as<double>())
    return tiles.floatLiteral(*value);
  llvm::APSInt integer = toInteger(number);
  return tiles.intLiteral(integer, integer.isNegative());
}

FailureOr<TypedValue> Emitter::toRuntime(const Value &value, const Node &node) {
  if (const TypedValue *typed = value.as<TypedValue>())
    return *typed;
  if (value.is<Absent>())
    return rejectAbsent(value, node);
  locate(node);
  if (value.isNumber()) {
    TileBuilder::Value literal = literalOf(tiles, value);
    if (!literal)
      return error(literal.error(), node, {&node});
    literal->isNamed = value.isNamed;
    return *literal;
  }
  if (value.is<Descriptor>())
    return rejectDescriptor(*this, value, node);
  return error(Code::WrongType, node, "a number or a tile is needed here, not " + typeName(value),
               "use a scalar, a tile or a Python number");
}

mlir::LogicalResult Emitter::refusePointer(const TypedValue &condition, const Node &node) {
  if (!condition.dtype.isPointer)
    return mlir::success();
  return error(tiles.truth(condition).error(), node, {&node});
}

FailureOr<mlir::Value> Emitter::toCondition(const Value &value, const Node &node) {
  FailureOr<TypedValue> typed = toRuntime(value, node);
  if (failed(typed))
    return failure();
  locate(node);
  if (typed->isTile() && tile::numElementsOf(typed->value.getType()) == 1)
    typed = *tiles.reshape(*typed, {}, /*allowReorder=*/false);
  if (typed->isTile())
    return error(Code::BadCondition, node,
                 "a condition must be one truth value, but this is a tile of many",
                 "use tw.where(...) to choose per element, or reduce the tile to a scalar",
                 {label(node, "this is " + typed->str())});
  locate(node);
  TileBuilder::Value truth = tiles.truth(*typed);
  if (!truth)
    return error(truth.error(), node, {&node});
  return truth->value;
}

ValueOr Emitter::finish(TileBuilder::Value result, const Node &site,
                        llvm::ArrayRef<const Node *> operands) {
  if (!result)
    return error(result.error(), site, operands);
  return Value{*result};
}

ValueOr Emitter::finish(StaticResult result, const Node &site) {
  if (result.value)
    return *result.value;
  return error(Code::StaticEvaluation, site, "this compile-time expression fails: " + result.error,
               "the values are known at compile time, so Python's rules hold");
}

FailureOr<std::vector<Value>> Emitter::elements(const Value &value, const Node &node) {
  if (std::optional<std::vector<Value>> items = elementsOf(value))
    return *items;
  std::string reason;
  if (value.is<Opaque>())
    if (std::optional<Value> items = pythonCall("tuple", {value}, reason))
      return (*items->as<Tuple>())->items;
  if (value.isRuntime())
    return error(Code::NotIterable, node, "a tile cannot be iterated or unpacked",
                 "use tw.split(...) or reductions; only tuples and ranges can be iterated",
                 {label(node, "this is " + value.as<TypedValue>()->str())});
  if (value.is<RangeValue>() && isStatic(value))
    return error(Code::LimitExceeded, node, "this range is too long to be unrolled",
                 "use range(...) or tw.range(...), which run the loop on the device");
  if (value.is<RangeValue>())
    return error(Code::NotStatic, node, "the bounds of this range must be known at compile time",
                 "pass them as tw.constexpr, or use a `for` statement");
  return error(Code::NotIterable, node, typeName(value) + " cannot be iterated or unpacked",
               "only tuples, lists and ranges can");
}
