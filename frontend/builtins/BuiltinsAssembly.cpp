// The builtins `inline_asm_elementwise` and `extern_call`: read their arguments.
#include "frontend/builtins/Builtins.h"
#include "frontend/tiles/AssemblyBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

static constexpr size_t kArgs = 2, kDType = 3, kPack = 5;
static constexpr int64_t kMostPacked = 32;

/// The items of a tuple, or the one value that is given without one.
static std::vector<Value> itemsOf(const Value &value) {
  const Tuple *tuple = value.as<Tuple>();
  return tuple ? (*tuple)->items : std::vector<Value>{value};
}

/// The values of argument `position`.
static FailureOr<std::vector<TypedValue>> sourcesOf(BuiltinCall &call, size_t position) {
  std::vector<TypedValue> sources;
  for (const Value &item : itemsOf(call.value(position))) {
    FailureOr<TypedValue> source = call.emitter.toRuntime(item, call.node(position));
    if (failed(source))
      return failure();
    sources.push_back(*source);
  }
  call.emitter.locate(call.site);
  return sources;
}

static FailureOr<std::vector<DType>> dtypesOf(BuiltinCall &call) {
  std::vector<DType> dtypes;
  Argument whole = *call.bound[kDType];
  for (const Value &item : itemsOf(whole.value)) {
    call.bound[kDType]->value = item;
    FailureOr<DType> dtype = call.dtype(kDType);
    if (failed(dtype))
      return failure();
    dtypes.push_back(*dtype);
  }
  call.bound[kDType] = whole;
  if (!dtypes.empty())
    return dtypes;
  return call.emitter.error(Code::BadOption, call.node(kDType),
                            "`" + call.name + "` needs the element type of at least one result",
                            "text without a result of its own can yield a number that nobody uses");
}

static FailureOr<int64_t> packOf(BuiltinCall &call) {
  FailureOr<int64_t> pack = call.integer(kPack);
  if (failed(pack) || (*pack >= 1 && *pack <= kMostPacked && llvm::isPowerOf2_64(*pack)))
    return pack;
  return call.badOption(kPack, "1, 2, 4, 8, 16 and 32");
}

ValueOr tw::emitInlineAsm(BuiltinCall &call) {
  FailureOr<std::string> text = call.text(0, "");
  FailureOr<std::string> constraints = failed(text) ? text : call.text(1, "");
  if (failed(constraints))
    return failure();
  FailureOr<std::vector<TypedValue>> sources = sourcesOf(call, kArgs);
  FailureOr<std::vector<DType>> dtypes =
      failed(sources) ? FailureOr<std::vector<DType>>(failure()) : dtypesOf(call);
  FailureOr<bool> isPure = failed(dtypes) ? FailureOr<bool>(failure()) : call.flag(4, true);
  FailureOr<int64_t> pack = failed(isPure) ? FailureOr<int64_t>(failure()) : packOf(call);
  if (failed(pack))
    return failure();
  AssemblyBuilder builder(call.emitter.builder, call.emitter.location());
  AssemblyBuilder::Values results =
      builder.inlineAsm({*text, *constraints, *isPure, *pack}, *sources, *dtypes);
  if (!results) {
    std::vector<size_t> operands = {0, 1};
    operands.resize(2 + sources->size(), kArgs);
    return call.fail(results.error(), operands);
  }
  std::vector<Value> items;
  for (TypedValue &result : *results)
    items.push_back({result});
  if (!call.value(kDType).is<Tuple>())
    return items.front();
  return makeTuple(std::move(items));
}

ValueOr tw::emitExternCall(BuiltinCall &call) {
  FailureOr<std::string> symbol = call.text(0, "");
  if (failed(symbol))
    return failure();
  if (symbol->empty())
    return call.badOption(0, "names of functions");
  FailureOr<std::vector<TypedValue>> sources = sourcesOf(call, 1);
  if (failed(sources))
    return failure();
  FailureOr<DType> dtype = call.dtype(2);
  if (failed(dtype))
    return failure();
  FailureOr<bool> isPure = call.flag(3, true);
  if (failed(isPure))
    return failure();
  AssemblyBuilder builder(call.emitter.builder, call.emitter.location());
  AssemblyBuilder::Value result = builder.externCall(*symbol, *isPure, *sources, *dtype);
  if (!result)
    return call.fail(result.error(), std::vector<size_t>(sources->size(), 1));
  return Value{*result};
}
