// The functions of the language that the frontend implements: name, signature and what they emit.
#ifndef FRONTEND_BUILTINS_H
#define FRONTEND_BUILTINS_H
#include "frontend/emit/Emitter.h"

namespace tw {

using BoundArguments = std::vector<std::optional<Argument>>;
/// The arguments in the order of a signature such as "pointer, mask=None, *rest, key=None", or the
/// report of what is missing, given twice or unknown. Those before a "/" take no keyword;
/// `named` takes the keywords of a last parameter "**fields".
mlir::FailureOr<BoundArguments> bindToSignature(Emitter &emitter, llvm::StringRef name,
                                                llvm::StringRef signature,
                                                const Arguments &arguments, const Node &site,
                                                Arguments *named = nullptr);

/// One call of a builtin with its arguments in the order of the signature.
struct BuiltinCall {
  Emitter &emitter;
  const Node &site;
  llvm::StringRef name, signature;
  BoundArguments bound = {};
  Arguments named = {}; // what `**` of the signature takes

  TileBuilder &tiles() { return emitter.tiles; }
  bool has(size_t i) const { return bound[i] && !bound[i]->value.is<None>(); }
  const Value &value(size_t i) const { return bound[i]->value; }
  const Node &node(size_t i) const { return bound[i] ? *bound[i]->node : site; }

  mlir::FailureOr<TypedValue> tile(size_t i);
  mlir::FailureOr<std::optional<TypedValue>> optionalTile(size_t i);
  mlir::FailureOr<int64_t> integer(size_t i);
  mlir::FailureOr<bool> flag(size_t i, bool absent);
  mlir::FailureOr<std::string> text(size_t i, llvm::StringRef absent);
  mlir::FailureOr<DType> dtype(size_t i);
  /// A tuple of integers, one integer, or all of them as arguments of their own (`*shape`).
  mlir::FailureOr<std::vector<int64_t>> integers(size_t i);
  /// What max and min do with NaN: a PropagateNan, its name in small letters, or a bool.
  mlir::FailureOr<bool> propagatesNan(size_t i);

  mlir::LogicalResult notStatic(size_t i, llvm::StringRef what);
  mlir::LogicalResult badOption(size_t i, llvm::StringRef choices);
  /// Reports errors at the arguments with these indices.
  ValueOr finish(TileBuilder::Value result, llvm::ArrayRef<size_t> operands);
  ValueOr finish(std::optional<OperandError> problem, llvm::ArrayRef<size_t> operands);
  mlir::LogicalResult fail(const OperandError &problem, llvm::ArrayRef<size_t> operands);
};

struct BuiltinRow {
  llvm::StringLiteral name;
  llvm::StringLiteral signature; // "pointer, mask=None, *rest, **named"
  ValueOr (*emit)(BuiltinCall &call);
};

/// The row of a name, or null.
const BuiltinRow *findBuiltin(llvm::StringRef name);
std::vector<std::string> builtinNames();
/// The parameters of every builtin; those of a descriptor's methods under "tensor_descriptor.load".
std::map<std::string, std::string> builtinSignatures();
llvm::ArrayRef<BuiltinRow> memoryBuiltins();
llvm::ArrayRef<BuiltinRow> descriptorBuiltins();
llvm::ArrayRef<BuiltinRow> descriptorMethods();
llvm::ArrayRef<BuiltinRow> shapeBuiltins();
llvm::ArrayRef<BuiltinRow> mathBuiltins();
llvm::ArrayRef<BuiltinRow> controlBuiltins();
llvm::ArrayRef<BuiltinRow> scaledBuiltins();
ValueOr emitElementwise(BuiltinCall &call);
ValueOr emitInlineAsm(BuiltinCall &call); // BuiltinsAssembly.cpp
ValueOr emitExternCall(BuiltinCall &call);
ValueOr callRow(Emitter &emitter, const BuiltinRow &row, llvm::StringRef name, Arguments &arguments,
                const Node &site);
/// The cache modifier and eviction policy at these positions.
mlir::LogicalResult readCacheHints(BuiltinCall &call, size_t cache, size_t evict, bool isStore,
                                   LoadOptions &options);

/// What print is asked to write: the values and the texts between and behind them.
struct PrintForm {
  std::vector<Value> values;
  std::string separator, end;
};
/// Of the arguments "*values, sep, end, file, flush".
mlir::FailureOr<PrintForm> printFormOf(Emitter &emitter, const BoundArguments &bound);
/// The text in front of printed values, set apart from what stands before and behind it, as Triton
/// 3.9 does: " x: " for "x".
std::string devicePrefix(llvm::StringRef text, bool hasValues);
ValueOr printAtCompileTime(Emitter &emitter, const BoundArguments &bound, const Node &site);

/// `is_floating`, `is_int`, ... of an element type; nullopt for other names.
std::optional<bool> dtypePredicate(DType dtype, llvm::StringRef name);
/// The builtin that a tile's method is under another name, or `name` itself.
std::string builtinOfMethod(llvm::StringRef name);
/// `x.type.get_block_shapes()`, `x.dtype.get_int_max_value()`, ... of a type that has the method.
ValueOr callTypeMethod(Emitter &emitter, const Value &type, llvm::StringRef name,
                       const Arguments &arguments, const Node &site);
/// isinstance(value, type) for a class of Python or of the language.
std::optional<bool> isInstance(const Value &value, const Value &type);

} // namespace tw
#endif
