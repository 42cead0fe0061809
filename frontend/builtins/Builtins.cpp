// Finds builtins, binds their arguments by signature, and reads arguments with checks.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/values/ValueText.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

#define GET_ElementwiseBuiltinTable_IMPL
#include "ir/tile/Elementwise.inc"
#include "runtime/codes/Codes.h"
static llvm::ArrayRef<BuiltinRow> elementwiseBuiltins() { return ElementwiseBuiltinTable; }

static constexpr llvm::ArrayRef<BuiltinRow> (*kTables[])() = {
    memoryBuiltins,    descriptorBuiltins, shapeBuiltins,  mathBuiltins,
    combiningBuiltins, controlBuiltins,    scaledBuiltins, elementwiseBuiltins,
};

const BuiltinRow *tw::findBuiltin(llvm::StringRef name) {
  for (auto *table : kTables)
    for (const BuiltinRow &row : table())
      if (row.name == name)
        return &row;
  return nullptr;
}

std::vector<std::string> tw::builtinNames() {
  std::vector<std::string> names;
  for (auto *table : kTables)
    for (const BuiltinRow &row : table())
      names.push_back(row.name.str());
  return names;
}

std::map<std::string, std::string> tw::builtinSignatures() {
  std::map<std::string, std::string> signatures;
  for (auto *table : kTables)
    for (const BuiltinRow &row : table())
      signatures[row.name.str()] = row.signature.text().str();
  for (const BuiltinRow &row : descriptorMethods())
    signatures["tensor_descriptor." + row.name.str()] = row.signature.text().str();
  return signatures;
}

//===-- Calling ------------------------------------------------------------------------------===//

FailureOr<PyValue> tw::callBuiltin(Emitter &emitter, const Callable &callee, Arguments &arguments,
                                   const Node &site) {
  llvm::StringRef name = callee.name;
  const BuiltinRow *row = findBuiltin(name);
  if (row)
    return callRow(emitter, *row, name, arguments, site);
  name.consume_front("unsupported:");
  if (name.consume_front("scope:"))
    return emitter.error(Code::UnknownScope, site, "`" + name + "` is a scope, not a function",
                         "write `with tw." + name +
                             "(...):` before the statements that it is about");
  return emitter.error(Code::UnsupportedFunction, site, "`" + name + "` is not implemented",
                       callee.hint.empty() ? "use other functions of the language" : callee.hint);
}

/// Returns true if a call reads or writes memory, or is seen outside of the kernel.
static bool hasEffect(llvm::StringRef name, const FrontendOptions &options) {
  return name.starts_with("atomic_") || name == "load" || name == "store" ||
         name == "device_print" || name == "debug_barrier" || name.starts_with("gdc_") ||
         (name == "device_assert" && options.debug);
}

FailureOr<PyValue> tw::callRow(Emitter &emitter, const BuiltinRow &row, llvm::StringRef name,
                               Arguments &arguments, const Node &site) {
  // Names with an underscore belong to the host's own machinery.
  llvm::erase_if(arguments, [](const Argument &argument) {
    return llvm::StringRef(argument.keyword).starts_with("_");
  });
  Signature signature{name, row.signature.params(), row.signature.text().str()};
  FailureOr<BoundArguments> bound = bindArguments(emitter, signature, arguments, site);
  if (failed(bound))
    return failure();
  if (hasEffect(name, emitter.options) && failed(emitter.refuseInCombine(site, "`" + name + "`")))
    return failure();
  emitter.locate(site);
  BuiltinCall call{
      emitter, site, name, row.signature, std::move(bound->places), std::move(bound->named)};
  return row.emit(call);
}

//===-- Reading arguments --------------------------------------------------------------------===//

LogicalResult BuiltinCall::readInto(size_t i, TypedValue &place) {
  FailureOr<TypedValue> tile = toRuntime(emitter, value(i), node(i));
  emitter.locate(site);
  if (succeeded(tile))
    place = *tile;
  return tile;
}

LogicalResult BuiltinCall::readInto(size_t i, int64_t &place) {
  std::optional<int64_t> number = toInt64(value(i));
  if (!number)
    return notStatic(i, "an integer");
  place = *number;
  return success();
}

LogicalResult BuiltinCall::readInto(size_t i, bool &place) {
  if (!has(i))
    return success();
  if (!isStatic(value(i)))
    return notStatic(i, "True or False");
  place = truthOf(value(i));
  return success();
}

LogicalResult BuiltinCall::readInto(size_t i, std::string &place) {
  if (!has(i))
    return success();
  const std::string *text = value(i).as<std::string>();
  if (!text)
    return notStatic(i, "a text");
  place = *text;
  return success();
}

/// The element type that a value names in any of the ways that kernels write one.
static std::optional<DType> dtypeOf(const PyValue &value) {
  if (const DType *dtype = value.as<DType>())
    return *dtype;
  if (const TileType *type = value.as<TileType>())
    return type->element;
  const std::string *name = value.as<std::string>();
  DType dtype = findDType(name ? *name : "");
  return dtype.row ? std::optional(dtype) : std::nullopt;
}

LogicalResult BuiltinCall::readInto(size_t i, DType &place) {
  std::optional<DType> dtype = dtypeOf(value(i));
  if (const Opaque *opaque = value(i).as<Opaque>())
    return emitter.error(
        Code::UnsupportedFunction, node(i), opaque->text + " is not implemented",
        "use float8e4nv, float8e5, float16, bfloat16, float32 or another type of the "
        "language");
  if (!dtype)
    return notStatic(i, "an element type");
  place = *dtype;
  return success();
}

LogicalResult BuiltinCall::readInto(size_t i, std::vector<int64_t> &place) {
  if (!bound[i])
    return success();
  const Tuple *tuple = value(i).as<Tuple>();
  if (!tuple)
    return readInto(i, place.emplace_back());
  if ((*tuple)->items.size() == 1 && (*tuple)->items[0].is<Tuple>())
    tuple = (*tuple)->items[0].as<Tuple>();
  for (const PyValue &item : (*tuple)->items) {
    std::optional<int64_t> number = toInt64(item);
    if (!number)
      return notStatic(i, "integers");
    place.push_back(*number);
  }
  return success();
}

FailureOr<bool> BuiltinCall::propagatesNan(size_t i) {
  if (!has(i))
    return false;
  if (!isStatic(value(i)))
    return notStatic(i, "a PropagateNan");
  std::optional<int64_t> number = toInt64(value(i)); // what an enum of the host is here
  if (number && (*number == 0 || *number == 0xFFFF || value(i).is<bool>()))
    return *number != 0;
  const std::string *text = value(i).as<std::string>();
  if (text && (*text == "all" || *text == "none"))
    return *text == "all";
  return badOption(i, "tw.PropagateNan.ALL and tw.PropagateNan.NONE");
}

FailureOr<std::vector<TypedValue>> BuiltinCall::items(size_t i) {
  std::vector<TypedValue> tiles;
  if (!bound[i])
    return tiles;
  const Tuple *tuple = value(i).as<Tuple>();
  for (const PyValue &item : tuple ? (*tuple)->items : std::vector<PyValue>{value(i)}) {
    FailureOr<TypedValue> tile = toRuntime(emitter, item, node(i));
    if (failed(tile))
      return failure();
    tiles.push_back(*tile);
  }
  emitter.locate(site);
  return tiles;
}

//===-- Reporting ----------------------------------------------------------------------------===//

LogicalResult BuiltinCall::notStatic(size_t i, llvm::StringRef what) {
  const PyValue &given = value(i);
  bool isRuntime = !isStatic(given);
  return emitter.error(isRuntime ? Code::NotStatic : Code::WrongType, node(i),
                       "`" + name + "` needs " + what +
                           (isRuntime ? " known at compile time" : ", not " + typeName(given)),
                       isRuntime ? "use a constant or a tw.constexpr parameter"
                                 : "it is " + name + "(" + signature.text() + ")",
                       {emitter.label(node(i), "this is " + typeName(given))});
}

LogicalResult BuiltinCall::badOption(size_t i, llvm::StringRef choices) {
  return emitter.error(Code::BadOption, node(i),
                       "`" + name + "` does not know the option " + toText(value(i), true),
                       "use one of " + choices);
}

LogicalResult BuiltinCall::report(const Reason &problem, llvm::ArrayRef<size_t> operands) {
  llvm::SmallVector<const Node *> nodes;
  for (size_t i : operands)
    if (i < bound.size())
      nodes.push_back(&node(i));
  return emitter.error(problem, site, nodes);
}

FailureOr<PyValue> BuiltinCall::orReport(TileOr result, llvm::ArrayRef<size_t> operands) {
  if (!result)
    return report(result.reason(), operands);
  return PyValue{*result};
}

FailureOr<PyValue> BuiltinCall::orReport(TileOr result) {
  return orReport(std::move(result), llvm::to_vector(llvm::seq<size_t>(0, bound.size())));
}

FailureOr<PyValue> BuiltinCall::orReport(std::optional<Reason> problem,
                                         llvm::ArrayRef<size_t> operands) {
  if (problem)
    return report(*problem, operands);
  return PyValue{None{}};
}

PyValue tw::packed(llvm::ArrayRef<TypedValue> results, bool isTuple) {
  if (!isTuple)
    return {results.front()};
  std::vector<PyValue> items;
  for (const TypedValue &result : results)
    items.push_back({result});
  return makeTuple(std::move(items));
}
