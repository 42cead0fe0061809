// The builtins `inline_asm_elementwise` and `extern_call`: read their arguments.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/tiles/AssemblyBuilder.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/MathExtras.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

static constexpr size_t kArgs = 2, kDType = 3, kIsPure = 4, kPack = 5;
static constexpr int64_t kMostPacked = 32;

/// The element types of the results, of which there is at least one.
static FailureOr<std::vector<DType>> dtypesOf(BuiltinCall &call) {
  Argument whole = *call.bound[kDType];
  const Tuple *tuple = whole.value.as<Tuple>();
  std::vector<DType> dtypes;
  for (const PyValue &item : tuple ? (*tuple)->items : std::vector<PyValue>{whole.value}) {
    call.bound[kDType]->value = item;
    if (failed(call.readInto(kDType, dtypes.emplace_back())))
      return failure();
  }
  call.bound[kDType] = whole;
  if (!dtypes.empty())
    return dtypes;
  return call.emitter.error(Code::BadOption, call.node(kDType),
                            "`" + call.name + "` needs the element type of at least one result",
                            "text without a result of its own can yield a number that nobody uses");
}

FailureOr<PyValue> tw::emitInlineAsm(BuiltinCall &call) {
  AssemblyText assembly;
  if (failed(call.read(assembly.text, assembly.constraints)))
    return failure();
  FailureOr<std::vector<TypedValue>> sources = call.items(kArgs);
  if (failed(sources))
    return failure();
  FailureOr<std::vector<DType>> dtypes = dtypesOf(call);
  if (failed(dtypes) || failed(call.readFrom(kIsPure, assembly.isPure, assembly.pack)))
    return failure();
  if (assembly.pack < 1 || assembly.pack > kMostPacked || !llvm::isPowerOf2_64(assembly.pack))
    return call.badOption(kPack, "1, 2, 4, 8, 16 and 32");
  AssemblyBuilder builder(call.emitter.builder, call.emitter.location());
  TilesOr results = builder.inlineAsm(assembly, *sources, *dtypes);
  if (!results) {
    std::vector<size_t> operands = {0, 1};
    operands.resize(2 + sources->size(), kArgs);
    return call.report(results.reason(), operands);
  }
  return packed(*results, call.value(kDType).is<Tuple>());
}

FailureOr<PyValue> tw::emitExternCall(BuiltinCall &call) {
  std::string symbol;
  if (failed(call.read(symbol)))
    return failure();
  if (symbol.empty())
    return call.badOption(0, "names of functions");
  FailureOr<std::vector<TypedValue>> sources = call.items(1);
  DType dtype;
  bool isPure = true;
  if (failed(sources) || failed(call.readFrom(2, dtype, isPure)))
    return failure();
  AssemblyBuilder builder(call.emitter.builder, call.emitter.location());
  return call.orReport(builder.externCall(symbol, isPure, *sources, dtype),
                       std::vector<size_t>(sources->size(), 1));
}
