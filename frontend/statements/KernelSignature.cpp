// The kernel's parameters: constants become names, the rest arguments of the func.func.
#include "frontend/statements/KernelSignature.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/values/ValueText.h"
#include "ir/tile/ArgumentFacts.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;
namespace func = mlir::func;

/// A value of a tuple or an object that a launch passes: constants, and arguments by their place
/// behind the parameters.
static std::optional<PyValue> withArguments(const JsonObject &json,
                                            llvm::ArrayRef<PyValue> arguments) {
  if (json.getString("k") == llvm::StringRef("argument")) {
    std::optional<int64_t> place = json.getInteger("v");
    bool isKnown = place && *place >= 0 && *place < int64_t(arguments.size());
    return isKnown ? std::optional(arguments[*place]) : std::nullopt;
  }
  const JsonArray *items = json.getArray("v");
  const JsonObject *type = json.getObject("type"); // of an object
  bool isObject = json.getString("k") == llvm::StringRef("instance") && type;
  if ((json.getString("k") != llvm::StringRef("tuple") && !isObject) || !items)
    return fromJson(json);
  std::vector<PyValue> values;
  for (const JsonValue &item : *items) {
    const JsonObject *object = item.getAsObject();
    std::optional<PyValue> value = object ? withArguments(*object, arguments) : std::nullopt;
    if (!value)
      return std::nullopt;
    values.push_back(std::move(*value));
  }
  std::vector<std::string> fields;
  if (const JsonArray *names = json.getArray("fields"))
    for (const JsonValue &name : *names)
      fields.push_back(name.getAsString().value_or("").str());
  if (!fields.empty() && fields.size() != values.size())
    return std::nullopt;
  PyValue tuple = makeTuple(std::move(values), std::move(fields));
  return isObject ? PyValue{Aggregate{*tuple.as<Tuple>(), type}} : tuple;
}

/// The value of a constexpr argument. The text is parsed into the emitter, which keeps it alive.
static FailureOr<PyValue> constexprOf(Emitter &emitter, const ArgumentSpec &argument,
                                      llvm::ArrayRef<PyValue> parts) {
  OrReason<JsonValue> json = emitter.texts.readCopy(argument.constexprJson);
  const JsonObject *object = json ? json->getAsObject() : nullptr;
  if (std::optional<PyValue> value = object ? withArguments(*object, parts) : std::nullopt)
    return withDescriptors(emitter, *value);
  return emitter.error(Code::BadSignature, *emitter.program.entry->ast,
                       "the value of constexpr `" + argument.name + "` is malformed",
                       "report this as a bug");
}

static mlir::DictionaryAttr factsOf(mlir::OpBuilder &builder, const ArgumentSpec &argument) {
  llvm::SmallVector<mlir::NamedAttribute> facts;
  facts.push_back(builder.getNamedAttr(tile::kArgName, builder.getStringAttr(argument.name)));
  if (argument.divisibility > 1)
    facts.push_back(builder.getNamedAttr(tile::kArgDivisibility,
                                         builder.getI64IntegerAttr(argument.divisibility)));
  for (const ArgumentFact &fact : kArgumentFacts)
    if (argument.*fact.value)
      facts.push_back(builder.getNamedAttr(fact.attribute, builder.getUnitAttr()));
  return builder.getDictionaryAttr(facts);
}

static func::FuncOp createFunction(Emitter &emitter, mlir::ModuleOp module,
                                   llvm::ArrayRef<DType> dtypes,
                                   llvm::ArrayRef<mlir::DictionaryAttr> facts) {
  mlir::OpBuilder &builder = emitter.builder;
  llvm::SmallVector<mlir::Type> types;
  for (const DType &dtype : dtypes)
    types.push_back(dtype.irType(builder.getContext()));
  builder.setInsertionPointToEnd(module.getBody());
  emitter.locate(*emitter.program.entry->ast);
  auto function = func::FuncOp::create(builder, emitter.location(), emitter.program.entry->name,
                                       builder.getFunctionType(types, {}), {}, facts);
  if (emitter.options.debug)
    function->setAttr(tile::kChecksAccesses, builder.getUnitAttr());
  builder.setInsertionPointToEnd(function.addEntryBlock());
  return function;
}

/// The type of a run-time argument; the row is null for an unknown one.
static DType typeOf(const ArgumentSpec &argument, const Parameter *parameter) {
  bool isPointer = argument.kind == ArgumentSpec::Kind::Pointer;
  llvm::StringRef name = argument.type;
  bool isConst = isPointer && name.consume_front("k");
  DType dtype = findDType(name);
  dtype.isPointer = isPointer;
  dtype.isConst = isPointer && (isConst || (parameter && parameter->isConst));
  return dtype;
}

namespace {
/// The arguments of the func.func, in the order of the launch's.
struct RuntimeArguments {
  std::vector<DType> dtypes;
  std::vector<mlir::DictionaryAttr> facts;
  std::vector<int> sources;
};
} // namespace

static bool isPassed(const ArgumentSpec &argument) {
  return argument.kind != ArgumentSpec::Kind::Constexpr && !argument.isOne && !argument.equals;
}

/// The value as its type has it; nothing where it does not fit.
static std::optional<llvm::APInt> valueOf(int64_t value, DType dtype) {
  if (!dtype.row || !dtype.isInt() || dtype.isBool() || dtype.isPointer)
    return std::nullopt;
  llvm::APInt wide(64, uint64_t(value));
  bool fits = dtype.bits() == 64 ||
              (dtype.isSigned() ? wide.isSignedIntN(dtype.bits()) : wide.isIntN(dtype.bits()));
  return fits ? std::optional(wide.trunc(dtype.bits())) : std::nullopt;
}

static LogicalResult collectArguments(Emitter &emitter, llvm::ArrayRef<ArgumentSpec> arguments,
                                      RuntimeArguments &runtime) {
  const FunctionSource &entry = *emitter.program.entry;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    const Parameter *parameter = i < entry.params.size() ? &entry.params[i] : nullptr;
    if (parameter && argument.name != parameter->name)
      return emitter.error(Code::BadSignature, *entry.ast,
                           "parameter `" + parameter->name + "` is described as `" + argument.name +
                               "`",
                           "describe every parameter, in order");
    DType dtype = typeOf(argument, parameter);
    if (argument.equals && !valueOf(*argument.equals, dtype))
      return emitter.error(Code::BadSignature, *entry.ast,
                           formatv("parameter `{0}` is described as the {1} {2}", argument.name,
                                   argument.type, *argument.equals)
                               .str(),
                           "describe integers by values of their type");
    if (!isPassed(argument))
      continue;
    if (!dtype.row)
      return emitter.error(Code::BadSignature, *entry.ast,
                           "parameter `" + argument.name + "` has the unknown type `" +
                               argument.type + "`",
                           "use a type of the language, as fp32 or i64");
    runtime.dtypes.push_back(dtype);
    runtime.facts.push_back(factsOf(emitter.builder, argument));
    runtime.sources.push_back(int(i));
  }
  return mlir::success();
}

/// The value of each argument, but of constexprs, which may refer to those of others. What is known
/// to equal a number is one of the run-time type that it would be passed as, so that a kernel means
/// the same with it: what wraps wraps, and what needs a constexpr is refused.
static std::vector<PyValue> valuesOf(Emitter &emitter, llvm::ArrayRef<ArgumentSpec> arguments,
                                     const RuntimeArguments &runtime, func::FuncOp function) {
  std::vector<PyValue> result;
  unsigned numPassed = 0;
  for (const ArgumentSpec &argument : arguments) {
    DType dtype = typeOf(argument, nullptr);
    if (argument.kind == ArgumentSpec::Kind::Constexpr) {
      result.push_back({None{}});
    } else if (argument.isOne) {
      result.push_back(makeInt(1));
    } else if (argument.equals) {
      auto value = mlir::IntegerAttr::get(dtype.irType(emitter.builder.getContext()),
                                          *valueOf(*argument.equals, dtype));
      mlir::Value constant =
          mlir::arith::ConstantOp::create(emitter.builder, emitter.location(), value);
      result.push_back({TypedValue{constant, dtype}});
    } else {
      mlir::Value passed = function.getArgument(numPassed);
      result.push_back({TypedValue{passed, runtime.dtypes[numPassed++]}});
    }
  }
  return result;
}

static LogicalResult bindParameters(Emitter &emitter, Frame &frame,
                                    llvm::ArrayRef<ArgumentSpec> arguments,
                                    llvm::ArrayRef<PyValue> values) {
  const FunctionSource &entry = *emitter.program.entry;
  llvm::ArrayRef<PyValue> parts = values.drop_front(entry.params.size()); // of tuples
  for (auto [parameter, argument, known] : llvm::zip(entry.params, arguments, values)) {
    Binding &binding = frame.names[argument.name];
    binding.where = spanOf(*entry.ast, entry);
    if (argument.kind == ArgumentSpec::Kind::Constexpr) {
      FailureOr<PyValue> value = constexprOf(emitter, argument, parts);
      if (failed(value))
        return failure();
      binding.value = *value;
      binding.isConstexpr = parameter.isConstexpr;
    } else {
      binding.value = known;
    }
  }
  return mlir::success();
}

FailureOr<func::FuncOp> tw::emitSignature(Emitter &emitter, mlir::ModuleOp module,
                                          llvm::ArrayRef<ArgumentSpec> arguments,
                                          std::vector<int> &parameterSources) {
  const FunctionSource &entry = *emitter.program.entry;
  auto frame = std::make_shared<Frame>();
  frame->source = &entry;
  frame->function = entry.ast;
  frame->name = entry.name;
  emitter.frames.push_back(frame);
  if (arguments.size() < entry.params.size())
    return emitter.error(Code::BadSignature, *entry.ast,
                         formatv("the kernel has {0} parameters, but {1} arguments are described",
                                 entry.params.size(), arguments.size())
                             .str(),
                         "describe every parameter, in order");
  RuntimeArguments runtime;
  if (failed(collectArguments(emitter, arguments, runtime)))
    return failure();
  func::FuncOp function = createFunction(emitter, module, runtime.dtypes, runtime.facts);
  std::vector<PyValue> values = valuesOf(emitter, arguments, runtime, function);
  if (failed(bindParameters(emitter, *frame, arguments, values)))
    return failure();
  parameterSources = std::move(runtime.sources);
  return function;
}
