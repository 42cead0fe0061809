// The functions of the language that the frontend implements: name, signature and what they emit.
#ifndef FRONTEND_BUILTINS_H
#define FRONTEND_BUILTINS_H
#include "frontend/builtins/BuiltinSignature.h"
#include "frontend/operators/ArgumentBinding.h"

namespace tw {

/// One call of a builtin with its arguments in the order of the signature.
struct BuiltinCall {
  Emitter &emitter;
  const Node &site;
  llvm::StringRef name;
  const BuiltinSignature &signature;
  std::vector<std::optional<Argument>> bound;
  Arguments named; // what `**` of the signature takes

  TileBuilder &tiles() { return emitter.tiles; }
  bool has(size_t i) const { return bound[i] && !bound[i]->value.is<None>(); }
  const PyValue &value(size_t i) const { return bound[i]->value; }
  const Node &node(size_t i) const { return bound[i] ? *bound[i]->node : site; }

  /// Reads arguments, from the first one on, into places of the types that they must have. A flag,
  /// text or optional that is left out, or None, keeps what is in its place.
  template <typename... Places> mlir::LogicalResult read(Places &...places) {
    return readFrom(0, places...);
  }
  template <typename... Places> mlir::LogicalResult readFrom(size_t first, Places &...places) {
    return mlir::success((mlir::succeeded(readInto(first++, places)) && ...));
  }
  mlir::LogicalResult readInto(size_t i, TypedValue &place);
  mlir::LogicalResult readInto(size_t i, int64_t &place);
  mlir::LogicalResult readInto(size_t i, bool &place);
  mlir::LogicalResult readInto(size_t i, std::string &place);
  mlir::LogicalResult readInto(size_t i, DType &place);
  /// A tuple of integers, one integer, or all of them as arguments of their own (`*shape`).
  mlir::LogicalResult readInto(size_t i, std::vector<int64_t> &place);
  template <typename T> mlir::LogicalResult readInto(size_t i, std::optional<T> &place) {
    return has(i) ? readInto(i, place.emplace()) : mlir::success();
  }
  /// Reads how max and min treat NaN: a PropagateNan, its name in small letters, or a bool.
  mlir::FailureOr<bool> propagatesNan(size_t i);
  /// The items of a tuple at run time, or the one value that is given without one; none of what is
  /// left out.
  mlir::FailureOr<std::vector<TypedValue>> items(size_t i);

  mlir::LogicalResult notStatic(size_t i, llvm::StringRef what);
  mlir::LogicalResult badOption(size_t i, llvm::StringRef choices);
  /// The value, or the report of the reason. Its labels are at the arguments with these indices, or
  /// at all of them in their order.
  mlir::FailureOr<PyValue> orReport(TileOr result);
  mlir::FailureOr<PyValue> orReport(TileOr result, llvm::ArrayRef<size_t> operands);
  /// None, or the report of a problem.
  mlir::FailureOr<PyValue> orReport(std::optional<Reason> problem, llvm::ArrayRef<size_t> operands);
  mlir::LogicalResult report(const Reason &problem, llvm::ArrayRef<size_t> operands);
};

struct BuiltinRow {
  llvm::StringLiteral name;
  BuiltinSignature signature;
  mlir::FailureOr<PyValue> (*emit)(BuiltinCall &call);
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
llvm::ArrayRef<BuiltinRow> combiningBuiltins();
llvm::ArrayRef<BuiltinRow> controlBuiltins();
llvm::ArrayRef<BuiltinRow> scaledBuiltins();
mlir::FailureOr<PyValue> emitElementwise(BuiltinCall &call);
mlir::FailureOr<PyValue> emitInlineAsm(BuiltinCall &call);  // BuiltinsAssembly.cpp
mlir::FailureOr<PyValue> emitExternCall(BuiltinCall &call); // BuiltinsAssembly.cpp
mlir::FailureOr<PyValue> callRow(Emitter &emitter, const BuiltinRow &row, llvm::StringRef name,
                                 Arguments &arguments, const Node &site);
mlir::FailureOr<PyValue> callBuiltin(Emitter &emitter, const Callable &callee, Arguments &arguments,
                                     const Node &site);
/// A builtin of Python itself.
mlir::FailureOr<PyValue> callPythonBuiltin(Emitter &emitter, const Callable &callee,
                                           Arguments &arguments, const Node &site);
/// The cache modifier and eviction policy at these positions.
mlir::LogicalResult readCacheHints(BuiltinCall &call, size_t cache, size_t evict, bool isStore,
                                   LoadOptions &options);
/// Returns the one value of the results, or a tuple of them where `isTuple`.
PyValue packed(llvm::ArrayRef<TypedValue> results, bool isTuple);

/// Returns the function behind a method, which takes the descriptor first; null for other names.
const BuiltinRow *findDescriptorMethod(const DescriptorType &type, llvm::StringRef name);
/// Emits tw.load and tw.store of what may be a block pointer.
mlir::FailureOr<PyValue> loadBlock(BuiltinCall &call, const Descriptor &pointer,
                                   const LoadOptions &options);
mlir::FailureOr<PyValue> storeBlock(BuiltinCall &call, const Descriptor &pointer,
                                    const LoadOptions &options);

/// The builtin that a tile's method is under another name, or `name` itself.
std::string builtinOfMethod(llvm::StringRef name);
/// Returns true if a value has an attribute; reports nothing if it has none.
bool hasAttribute(const PyValue &base, llvm::StringRef name, Emitter &emitter);
/// isinstance(value, type) for a class of Python or of the language.
std::optional<bool> isInstance(const PyValue &value, const PyValue &type);

} // namespace tw
#endif
