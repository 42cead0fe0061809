// Finds builtins, binds their arguments by signature, and reads arguments with checks.
#include "frontend/builtins/Builtins.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

#define GET_ElementwiseBuiltinTable_IMPL
#include "ir/tile/Elementwise.inc"
static llvm::ArrayRef<BuiltinRow> elementwiseBuiltins() { return ElementwiseBuiltinTable; }

static constexpr llvm::ArrayRef<BuiltinRow> (*kTables[])() = {
    memoryBuiltins,  descriptorBuiltins, shapeBuiltins,       mathBuiltins,
    controlBuiltins, scaledBuiltins,     elementwiseBuiltins,
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
      signatures[row.name.str()] = row.signature.str();
  for (const BuiltinRow &row : descriptorMethods())
    signatures["tensor_descriptor." + row.name.str()] = row.signature.str();
  return signatures;
}

//===-- Binding ------------------------------------------------------------------------------===//

namespace {
struct Formal {
  llvm::StringRef name;
  bool isRequired = false, isRest = false, isPositionalOnly = false;
  bool isNamed = false; // takes every other keyword
};
} // namespace

/// The parameters of "pointer, mask=None, *rest"; those before a "/" have no keyword.
static llvm::SmallVector<Formal> formalsOf(llvm::StringRef signature) {
  llvm::SmallVector<Formal> formals;
  llvm::SmallVector<llvm::StringRef> parts;
  signature.split(parts, ", ", -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    if (part == "/") {
      for (Formal &formal : formals)
        formal.isPositionalOnly = true;
      continue;
    }
    auto [name, defaultText] = part.split('=');
    if (name.consume_front("**")) {
      formals.push_back({.name = name, .isNamed = true});
      continue;
    }
    bool isRest = name.consume_front("*");
    formals.push_back({name, !isRest && !part.contains('='), isRest});
  }
  return formals;
}

namespace {
/// Binds the arguments of one call to a signature.
struct SignatureBinder {
  Emitter &emitter;
  const Node &site;
  llvm::StringRef name, signature;
  llvm::SmallVector<Formal> formals;
  BoundArguments bound;
  Arguments *named; // takes what `**` of the signature does

  LogicalResult wrong(const Node &node, const llvm::Twine &message) {
    return emitter.error(Code::WrongArguments, node, "`" + name + "` " + message,
                         "it is " + name + "(" + signature + ")");
  }
  LogicalResult bindPositional(const Arguments &arguments);
  LogicalResult bindKeyword(const Argument &argument);
};
} // namespace

LogicalResult SignatureBinder::bindPositional(const Arguments &arguments) {
  size_t next = 0;
  std::vector<Value> rest;
  bound.resize(formals.size());
  for (const Argument &argument : arguments) {
    if (!argument.keyword.empty())
      continue;
    if (next < formals.size() && formals[next].isRest)
      rest.push_back(argument.value);
    else if (next < formals.size() && !formals[next].isNamed)
      bound[next++] = argument;
    else
      return wrong(*argument.node, "is given too many arguments");
  }
  for (auto [i, formal] : llvm::enumerate(formals))
    if (formal.isRest && !rest.empty())
      bound[i] = Argument{makeTuple(rest), &site, ""};
  return success();
}

LogicalResult SignatureBinder::bindKeyword(const Argument &argument) {
  for (auto [i, formal] : llvm::enumerate(formals)) {
    if (formal.isNamed && named) {
      named->push_back(argument);
      return success();
    }
    if (formal.name != argument.keyword || formal.isPositionalOnly)
      continue;
    if (bound[i])
      return wrong(*argument.node, "is given `" + argument.keyword + "` twice");
    bound[i] = argument;
    return success();
  }
  return wrong(*argument.node, "has no parameter `" + argument.keyword + "`");
}

FailureOr<BoundArguments> tw::bindToSignature(Emitter &emitter, llvm::StringRef name,
                                              llvm::StringRef signature, const Arguments &arguments,
                                              const Node &site, Arguments *named) {
  SignatureBinder binder{emitter, site, name, signature, formalsOf(signature), {}, named};
  if (failed(binder.bindPositional(arguments)))
    return failure();
  for (const Argument &argument : arguments)
    if (!argument.keyword.empty() && failed(binder.bindKeyword(argument)))
      return failure();
  for (auto [i, formal] : llvm::enumerate(binder.formals))
    if (formal.isRequired && !binder.bound[i])
      return binder.wrong(site, "needs an argument for `" + formal.name + "`");
  return std::move(binder.bound);
}

ValueOr Emitter::callBuiltin(const Callable &callee, Arguments &arguments, const Node &site) {
  llvm::StringRef name = callee.name;
  const BuiltinRow *row = findBuiltin(name);
  if (!row) {
    name.consume_front("unsupported:");
    if (name.consume_front("scope:"))
      return error(Code::UnknownScope, site, "`" + name + "` is a scope, not a function",
                   "write `with tw." + name + "(...):` before the statements that it is about");
    return error(Code::UnsupportedFunction, site, "`" + name + "` is not implemented",
                 callee.hint.empty() ? "use other functions of the language" : callee.hint);
  }
  return callRow(*this, *row, name, arguments, site);
}

ValueOr tw::callRow(Emitter &emitter, const BuiltinRow &row, llvm::StringRef name,
                    Arguments &arguments, const Node &site) {
  // Names with an underscore belong to the host's own machinery.
  llvm::erase_if(arguments, [](const Argument &argument) {
    return llvm::StringRef(argument.keyword).starts_with("_");
  });
  Arguments named;
  FailureOr<BoundArguments> bound =
      bindToSignature(emitter, name, row.signature, arguments, site, &named);
  if (failed(bound))
    return failure();
  bool hasEffect = name.starts_with("atomic_") || name == "load" || name == "store" ||
                   name == "device_print" || name == "debug_barrier" ||
                   (name == "device_assert" && emitter.options.debug);
  if (hasEffect && failed(emitter.refuseInCombine(site, "`" + name + "`")))
    return failure();
  BuiltinCall call{emitter, site, name, row.signature, std::move(*bound), std::move(named)};
  emitter.locate(site);
  return row.emit(call);
}

//===-- Reading arguments --------------------------------------------------------------------===//

FailureOr<TypedValue> BuiltinCall::tile(size_t i) {
  FailureOr<TypedValue> result = emitter.toRuntime(value(i), node(i));
  emitter.locate(site);
  return result;
}

FailureOr<std::optional<TypedValue>> BuiltinCall::optionalTile(size_t i) {
  if (!has(i))
    return std::optional<TypedValue>();
  FailureOr<TypedValue> result = tile(i);
  if (failed(result))
    return failure();
  return std::optional<TypedValue>(*result);
}

LogicalResult BuiltinCall::notStatic(size_t i, llvm::StringRef what) {
  const Value &given = value(i);
  bool isRuntime = !isStatic(given);
  return emitter.error(isRuntime ? Code::NotStatic : Code::WrongType, node(i),
                       "`" + name + "` needs " + what +
                           (isRuntime ? " known at compile time" : ", not " + typeName(given)),
                       isRuntime ? "use a constant or a tw.constexpr parameter"
                                 : "it is " + name + "(" + signature + ")",
                       {emitter.label(node(i), "this is " + typeName(given))});
}

LogicalResult BuiltinCall::badOption(size_t i, llvm::StringRef choices) {
  return emitter.error(Code::BadOption, node(i),
                       "`" + name + "` does not know the option " + toText(value(i), true),
                       "use one of " + choices);
}

FailureOr<int64_t> BuiltinCall::integer(size_t i) {
  if (std::optional<int64_t> number = toInt64(value(i)))
    return *number;
  return notStatic(i, "an integer");
}

FailureOr<bool> BuiltinCall::flag(size_t i, bool absent) {
  if (!has(i))
    return absent;
  if (!isStatic(value(i)))
    return notStatic(i, "True or False");
  return truthOf(value(i));
}

FailureOr<std::string> BuiltinCall::text(size_t i, llvm::StringRef absent) {
  if (!has(i))
    return absent.str();
  if (const std::string *text = value(i).as<std::string>())
    return *text;
  return notStatic(i, "a text");
}

FailureOr<DType> BuiltinCall::dtype(size_t i) {
  if (const DType *dtype = value(i).as<DType>())
    return *dtype;
  if (const TileType *type = value(i).as<TileType>())
    return type->element;
  if (const std::string *name = value(i).as<std::string>())
    if (DType dtype = findDType(*name); dtype.row)
      return dtype;
  if (const Opaque *opaque = value(i).as<Opaque>())
    return emitter.error(
        Code::UnsupportedFunction, node(i), opaque->text + " is not implemented",
        "use float8e4nv, float8e5, float16, bfloat16, float32 or another type of the "
        "language");
  return notStatic(i, "an element type");
}

FailureOr<std::vector<int64_t>> BuiltinCall::integers(size_t i) {
  std::vector<int64_t> numbers;
  const Tuple *tuple = bound[i] ? value(i).as<Tuple>() : nullptr;
  if (tuple && (*tuple)->items.size() == 1 && (*tuple)->items[0].is<Tuple>())
    tuple = (*tuple)->items[0].as<Tuple>();
  if (!bound[i])
    return numbers;
  if (!tuple) {
    FailureOr<int64_t> number = integer(i);
    if (failed(number))
      return failure();
    return std::vector<int64_t>{*number};
  }
  for (const Value &item : (*tuple)->items) {
    std::optional<int64_t> number = toInt64(item);
    if (!number)
      return notStatic(i, "integers");
    numbers.push_back(*number);
  }
  return numbers;
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

LogicalResult BuiltinCall::fail(const OperandError &problem, llvm::ArrayRef<size_t> operands) {
  llvm::SmallVector<const Node *> nodes;
  for (size_t i : operands)
    if (i < bound.size())
      nodes.push_back(&node(i));
  return emitter.error(problem, site, nodes);
}

ValueOr BuiltinCall::finish(TileBuilder::Value result, llvm::ArrayRef<size_t> operands) {
  if (!result)
    return fail(result.error(), operands);
  return Value{*result};
}

ValueOr BuiltinCall::finish(std::optional<OperandError> problem, llvm::ArrayRef<size_t> operands) {
  if (problem)
    return fail(*problem, operands);
  return Value{None{}};
}
