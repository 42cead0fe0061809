// Builtins that read and write memory, and those that know the grid.
#include "frontend/emit/Descriptors.h"
#include "frontend/tiles/Operands.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

static ValueOr emitGrid(BuiltinCall &call) {
  FailureOr<int64_t> axis = call.integer(0);
  if (failed(axis))
    return failure();
  if (*axis < 0 || *axis > 2)
    return call.emitter.error(Code::BadOption, call.node(0),
                              call.name + " axis must be 0, 1, or 2 but got " +
                                  std::to_string(*axis),
                              "a grid has three dimensions; those that a launch leaves out are 1");
  return Value{call.name == "program_id" ? call.tiles().programId(int(*axis))
                                         : call.tiles().numPrograms(int(*axis))};
}

/// Bounds checks belong to block pointers, which know where their array ends; plain pointers use
/// masks.
static LogicalResult refuseBoundaryCheck(BuiltinCall &call, llvm::ArrayRef<size_t> positions) {
  for (size_t i : positions)
    if (call.has(i) && (!isStatic(call.value(i)) || truthOf(call.value(i))))
      return call.fail(operandError(Code::BoundaryCheck,
                                    "`boundary_check` and `padding_option` need a block pointer",
                                    "pass a mask: mask=offsets < size, other=0"),
                       {i});
  return success();
}

LogicalResult tw::readCacheHints(BuiltinCall &call, size_t cache, size_t evict, bool isStore,
                                 LoadOptions &options) {
  static constexpr llvm::StringLiteral kOfLoads[] = {"", ".ca", ".cg", ".cs", ".cv"};
  static constexpr llvm::StringLiteral kOfStores[] = {"", ".wb", ".cg", ".cs", ".wt"};
  llvm::ArrayRef<llvm::StringLiteral> modifiers = isStore ? kOfStores : kOfLoads;
  FailureOr<std::string> cacheText = call.text(cache, "");
  FailureOr<std::string> evictText = failed(cacheText) ? cacheText : call.text(evict, "");
  if (failed(cacheText) || failed(evictText))
    return failure();
  if (!llvm::is_contained(modifiers, *cacheText))
    return call.badOption(cache, "\"" + llvm::join(modifiers.drop_front(), "\", \"") + "\"");
  static constexpr llvm::StringLiteral kPolicies[] = {"", "evict_normal", "evict_first",
                                                      "evict_last"};
  if (!llvm::is_contained(kPolicies, *evictText))
    return call.badOption(evict, "\"evict_first\", \"evict_last\"");
  options.cache = *cacheText;
  options.evict = *evictText == "evict_normal" ? "" : *evictText;
  return success();
}

static ValueOr emitLoad(BuiltinCall &call) {
  LoadOptions options;
  if (failed(readCacheHints(call, 5, 6, /*isStore=*/false, options)))
    return failure();
  FailureOr<bool> isVolatile = call.flag(7, false);
  if (failed(isVolatile))
    return failure();
  options.isVolatile = *isVolatile;
  if (const Descriptor *block = call.value(0).as<Descriptor>())
    return loadBlock(call, *block, options);
  FailureOr<TypedValue> pointer = call.tile(0);
  if (failed(pointer))
    return failure();
  FailureOr<std::optional<TypedValue>> mask = call.optionalTile(1);
  if (failed(mask))
    return failure();
  FailureOr<std::optional<TypedValue>> other = call.optionalTile(2);
  if (failed(other) || failed(refuseBoundaryCheck(call, {3, 4})))
    return failure();
  return call.finish(call.tiles().load(*pointer, *mask, *other, options), {0, 1, 2});
}

static ValueOr emitStore(BuiltinCall &call) {
  LoadOptions options;
  if (failed(readCacheHints(call, 4, 5, /*isStore=*/true, options)))
    return failure();
  if (const Descriptor *block = call.value(0).as<Descriptor>())
    return storeBlock(call, *block, options);
  FailureOr<TypedValue> pointer = call.tile(0);
  FailureOr<TypedValue> value = failed(pointer) ? pointer : call.tile(1);
  if (failed(pointer) || failed(value))
    return failure();
  FailureOr<std::optional<TypedValue>> mask = call.optionalTile(2);
  if (failed(mask) || failed(refuseBoundaryCheck(call, {3})))
    return failure();
  return call.finish(call.tiles().store(*pointer, *value, *mask, options), {0, 1, 2});
}

static LogicalResult readAtomicOptions(BuiltinCall &call, size_t order, size_t scope,
                                       AtomicOptions &options) {
  FailureOr<std::string> orderText = call.text(order, options.order);
  FailureOr<std::string> scopeText =
      failed(orderText) ? orderText : call.text(scope, options.scope);
  if (failed(orderText) || failed(scopeText))
    return failure();
  static constexpr llvm::StringLiteral kOrders[] = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr llvm::StringLiteral kScopes[] = {"gpu", "cta", "sys"};
  if (!llvm::is_contained(kOrders, *orderText))
    return call.badOption(order, "\"relaxed\", \"acquire\", \"release\", \"acq_rel\"");
  if (!llvm::is_contained(kScopes, *scopeText))
    return call.badOption(scope, "\"gpu\", \"cta\", \"sys\"");
  options.order = *orderText;
  options.scope = *scopeText;
  return success();
}

static ValueOr emitAtomic(BuiltinCall &call) {
  FailureOr<TypedValue> pointer = call.tile(0);
  FailureOr<TypedValue> value = failed(pointer) ? pointer : call.tile(1);
  if (failed(pointer) || failed(value))
    return failure();
  FailureOr<std::optional<TypedValue>> mask = call.optionalTile(2);
  AtomicOptions options;
  if (failed(mask) || failed(readAtomicOptions(call, 3, 4, options)))
    return failure();
  llvm::StringRef kind = call.name;
  kind.consume_front("atomic_");
  return call.finish(call.tiles().atomic(kind, *pointer, *value, *mask, options), {0, 1, 2});
}

/// A load may acquire and a store may release; what the other one does has no meaning for it.
static ValueOr emitAtomicLoad(BuiltinCall &call) {
  FailureOr<TypedValue> pointer = call.tile(0);
  if (failed(pointer))
    return failure();
  FailureOr<std::optional<TypedValue>> mask = call.optionalTile(1);
  AtomicOptions options;
  options.order = "acquire";
  if (failed(mask) || failed(readAtomicOptions(call, 2, 3, options)))
    return failure();
  if (options.order != "acquire" && options.order != "relaxed")
    return call.badOption(2, "\"acquire\", \"relaxed\"");
  return call.finish(call.tiles().atomicLoad(*pointer, *mask, options), {0, 1});
}

static ValueOr emitAtomicStore(BuiltinCall &call) {
  FailureOr<TypedValue> pointer = call.tile(0);
  FailureOr<TypedValue> value = failed(pointer) ? pointer : call.tile(1);
  if (failed(pointer) || failed(value))
    return failure();
  FailureOr<std::optional<TypedValue>> mask = call.optionalTile(2);
  AtomicOptions options;
  options.order = "release";
  if (failed(mask) || failed(readAtomicOptions(call, 3, 4, options)))
    return failure();
  if (options.order != "release" && options.order != "relaxed")
    return call.badOption(3, "\"release\", \"relaxed\"");
  TileBuilder::Value old = call.tiles().atomic("store", *pointer, *value, *mask, options);
  if (!old)
    return call.fail(old.error(), {0, 1, 2});
  return Value{None{}};
}

static ValueOr emitAtomicCas(BuiltinCall &call) {
  FailureOr<TypedValue> pointer = call.tile(0);
  FailureOr<TypedValue> compare = failed(pointer) ? pointer : call.tile(1);
  FailureOr<TypedValue> value = failed(compare) ? compare : call.tile(2);
  AtomicOptions options;
  if (failed(pointer) || failed(compare) || failed(value) ||
      failed(readAtomicOptions(call, 3, 4, options)))
    return failure();
  return call.finish(call.tiles().atomicCas(*pointer, *compare, *value, options), {0, 1, 2});
}

static constexpr llvm::StringLiteral kAtomicSignature =
    "pointer, val, mask=None, sem=None, scope=None";

static constexpr BuiltinRow kRows[] = {
    {"program_id", "axis", emitGrid},
    {"num_programs", "axis", emitGrid},
    {"load",
     "pointer, mask=None, other=None, boundary_check=(), padding_option=\"\", "
     "cache_modifier=\"\", eviction_policy=\"\", volatile=False",
     emitLoad},
    {"store",
     "pointer, value, mask=None, boundary_check=(), cache_modifier=\"\", eviction_policy=\"\"",
     emitStore},
    {"atomic_add", kAtomicSignature, emitAtomic},
    {"atomic_max", kAtomicSignature, emitAtomic},
    {"atomic_min", kAtomicSignature, emitAtomic},
    {"atomic_and", kAtomicSignature, emitAtomic},
    {"atomic_or", kAtomicSignature, emitAtomic},
    {"atomic_xor", kAtomicSignature, emitAtomic},
    {"atomic_xchg", kAtomicSignature, emitAtomic},
    {"atomic_load", "pointer, mask=None, sem=None, scope=None", emitAtomicLoad},
    {"atomic_store", kAtomicSignature, emitAtomicStore},
    {"atomic_cas", "pointer, cmp, val, sem=None, scope=None", emitAtomicCas},
};

llvm::ArrayRef<BuiltinRow> tw::memoryBuiltins() { return kRows; }
