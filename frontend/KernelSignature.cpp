// The kernel's parameters: constants become names, the rest arguments of the func.func.
#include "frontend/KernelSignature.h"
#include "ir/tile/ArgumentFacts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
namespace func = mlir::func;

/// The value of a constexpr argument. The text is parsed into the emitter, which keeps it alive.
static FailureOr<Value> constexprOf(Emitter &emitter, const KernelArgument &argument) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(argument.constexprJson);
  if (json) {
    const llvm::json::Object *object = emitter.keep(std::move(*json)).getAsObject();
    if (std::optional<Value> value = object ? fromJson(*object) : std::nullopt)
      return *value;
  } else {
    llvm::consumeError(json.takeError());
  }
  return emitter.error(Code::BadSignature, *emitter.program.entry->ast,
                       "the value of constexpr `" + argument.name + "` is malformed",
                       "report this as a bug");
}

static mlir::DictionaryAttr factsOf(mlir::OpBuilder &builder, const KernelArgument &argument) {
  llvm::SmallVector<mlir::NamedAttribute> facts;
  facts.push_back(builder.getNamedAttr(tile::kArgName, builder.getStringAttr(argument.name)));
  if (argument.divisibility > 1)
    facts.push_back(builder.getNamedAttr(tile::kArgDivisibility,
                                         builder.getI64IntegerAttr(argument.divisibility)));
  if (argument.isNonNegative)
    facts.push_back(builder.getNamedAttr(tile::kArgNonNegative, builder.getUnitAttr()));
  if (argument.isStreaming)
    facts.push_back(builder.getNamedAttr(tile::kArgStreaming, builder.getUnitAttr()));
  if (argument.isDisjoint)
    facts.push_back(builder.getNamedAttr(tile::kArgDisjoint, builder.getUnitAttr()));
  if (argument.isLarge)
    facts.push_back(builder.getNamedAttr(tile::kArgLarge, builder.getUnitAttr()));
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
  builder.setInsertionPointToEnd(function.addEntryBlock());
  return function;
}

FailureOr<func::FuncOp> tw::emitSignature(Emitter &emitter, mlir::ModuleOp module,
                                          llvm::ArrayRef<KernelArgument> arguments,
                                          std::vector<int> &parameterSources) {
  const FunctionSource &entry = *emitter.program.entry;
  auto frame = std::make_shared<Frame>();
  frame->source = &entry;
  frame->function = entry.ast;
  frame->name = entry.name;
  emitter.frames.push_back(frame);
  std::vector<DType> dtypes;
  std::vector<mlir::DictionaryAttr> facts;
  if (arguments.size() != entry.params.size())
    return emitter.error(Code::BadSignature, *entry.ast,
                         formatv("the kernel has {0} parameters, but {1} arguments are described",
                                 entry.params.size(), arguments.size())
                             .str(),
                         "describe every parameter, in order");
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    Binding &binding = frame->names[argument.name];
    binding.where = spanOf(*entry.ast, entry);
    if (argument.name != entry.params[i].name)
      return emitter.error(Code::BadSignature, *entry.ast,
                           "parameter `" + entry.params[i].name + "` is described as `" +
                               argument.name + "`",
                           "describe every parameter, in order");
    if (argument.kind == KernelArgument::Kind::Constexpr) {
      FailureOr<Value> value = constexprOf(emitter, argument);
      if (failed(value))
        return failure();
      binding.value = *value;
      binding.isConstexpr = entry.params[i].isConstexpr;
      continue;
    }
    if (argument.isOne) {
      binding.value = makeInt(1);
      continue;
    }
    DType dtype = findDType(argument.type);
    if (!dtype.row)
      return emitter.error(Code::BadSignature, *entry.ast,
                           "parameter `" + argument.name + "` has the unknown type `" +
                               argument.type + "`",
                           "use a type of the language, as fp32 or i64");
    dtype.isPointer = argument.kind == KernelArgument::Kind::Pointer;
    binding.value = {TypedValue{mlir::Value(), dtype}};
    dtypes.push_back(dtype);
    facts.push_back(factsOf(emitter.builder, argument));
    parameterSources.push_back(int(i));
  }
  func::FuncOp function = createFunction(emitter, module, dtypes, facts);
  for (auto [source, value, dtype] : llvm::zip(parameterSources, function.getArguments(), dtypes))
    frame->names[arguments[source].name].value = {TypedValue{value, dtype}};
  return function;
}
