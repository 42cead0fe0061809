// Builtins that read and write memory, and those that know the grid.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

static FailureOr<PyValue> emitGrid(BuiltinCall &call) {
  int64_t axis = 0;
  if (failed(call.read(axis)))
    return failure();
  if (axis < 0 || axis > 2)
    return call.emitter.error(Code::BadOption, call.node(0),
                              call.name + " axis must be 0, 1, or 2 but got " +
                                  std::to_string(axis),
                              "a grid has three dimensions; those that a launch leaves out are 1");
  return PyValue{call.name == "program_id" ? call.tiles().programId(int(axis))
                                           : call.tiles().numPrograms(int(axis))};
}

/// Bounds checks belong to block pointers, which know where their array ends; plain pointers use
/// masks.
static LogicalResult refuseBoundaryCheck(BuiltinCall &call, llvm::ArrayRef<size_t> positions) {
  for (size_t i : positions)
    if (call.has(i) && (!isStatic(call.value(i)) || truthOf(call.value(i))))
      return call.report(operandError(Code::BoundaryCheck,
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
  std::string cacheText, evictText;
  if (failed(call.readFrom(cache, cacheText)) || failed(call.readFrom(evict, evictText)))
    return failure();
  if (!llvm::is_contained(modifiers, cacheText))
    return call.badOption(cache, "\"" + llvm::join(modifiers.drop_front(), "\", \"") + "\"");
  static constexpr llvm::StringLiteral kPolicies[] = {"", "evict_normal", "evict_first",
                                                      "evict_last"};
  if (!llvm::is_contained(kPolicies, evictText))
    return call.badOption(evict, "\"evict_first\", \"evict_last\"");
  options.cache = cacheText;
  options.evict = evictText == "evict_normal" ? "" : evictText;
  return success();
}

static FailureOr<PyValue> emitLoad(BuiltinCall &call) {
  LoadOptions options;
  if (failed(readCacheHints(call, 5, 6, /*isStore=*/false, options)) ||
      failed(call.readFrom(7, options.isVolatile)))
    return failure();
  if (const Descriptor *block = call.value(0).as<Descriptor>())
    return loadBlock(call, *block, options);
  TypedValue pointer;
  std::optional<TypedValue> mask, other;
  if (failed(call.read(pointer, mask, other)) || failed(refuseBoundaryCheck(call, {3, 4})))
    return failure();
  return call.orReport(call.tiles().load(pointer, mask, other, options));
}

static FailureOr<PyValue> emitStore(BuiltinCall &call) {
  LoadOptions options;
  if (failed(readCacheHints(call, 4, 5, /*isStore=*/true, options)))
    return failure();
  if (const Descriptor *block = call.value(0).as<Descriptor>())
    return storeBlock(call, *block, options);
  TypedValue pointer, value;
  std::optional<TypedValue> mask;
  if (failed(call.read(pointer, value, mask)) || failed(refuseBoundaryCheck(call, {3})))
    return failure();
  return call.orReport(call.tiles().store(pointer, value, mask, options), {0, 1, 2});
}

static LogicalResult readAtomicOptions(BuiltinCall &call, size_t order, size_t scope,
                                       AtomicOptions &options) {
  if (failed(call.readFrom(order, options.order)) || failed(call.readFrom(scope, options.scope)))
    return failure();
  static constexpr llvm::StringLiteral kOrders[] = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr llvm::StringLiteral kScopes[] = {"gpu", "cta", "sys"};
  if (!llvm::is_contained(kOrders, options.order))
    return call.badOption(order, "\"relaxed\", \"acquire\", \"release\", \"acq_rel\"");
  if (!llvm::is_contained(kScopes, options.scope))
    return call.badOption(scope, "\"gpu\", \"cta\", \"sys\"");
  return success();
}

static FailureOr<PyValue> emitAtomic(BuiltinCall &call) {
  TypedValue pointer, value;
  std::optional<TypedValue> mask;
  AtomicOptions options;
  if (failed(call.read(pointer, value, mask)) || failed(readAtomicOptions(call, 3, 4, options)))
    return failure();
  llvm::StringRef kind = call.name;
  kind.consume_front("atomic_");
  return call.orReport(call.tiles().atomic(kind, pointer, value, mask, options));
}

/// A load may acquire and a store may release; what the other one does has no meaning for it.
static FailureOr<PyValue> emitAtomicLoad(BuiltinCall &call) {
  TypedValue pointer;
  std::optional<TypedValue> mask;
  AtomicOptions options;
  options.order = "acquire";
  if (failed(call.read(pointer, mask)) || failed(readAtomicOptions(call, 2, 3, options)))
    return failure();
  if (options.order != "acquire" && options.order != "relaxed")
    return call.badOption(2, "\"acquire\", \"relaxed\"");
  auto emit = [](mlir::OpBuilder &b, mlir::Location loc, const AtomicOperands &of) {
    mlir::Value ignored = mlir::arith::ConstantOp::create(b, loc, b.getZeroAttr(of.type));
    return tile::AtomicRmwOp::create(b, loc, of.type, tile::AtomicKind::Load, of.pointer, ignored,
                                     of.mask, of.order, of.scope)
        .getResult();
  };
  AtomicRule rule{"load", AtomicElements::Bits};
  return call.orReport(call.tiles().atomic(rule, pointer, {}, mask, options, emit));
}

static FailureOr<PyValue> emitAtomicStore(BuiltinCall &call) {
  TypedValue pointer, value;
  std::optional<TypedValue> mask;
  AtomicOptions options;
  options.order = "release";
  if (failed(call.read(pointer, value, mask)) || failed(readAtomicOptions(call, 3, 4, options)))
    return failure();
  if (options.order != "release" && options.order != "relaxed")
    return call.badOption(3, "\"release\", \"relaxed\"");
  TileOr old = call.tiles().atomic("store", pointer, value, mask, options);
  if (!old)
    return call.report(old.reason(), {0, 1, 2});
  return PyValue{None{}};
}

static FailureOr<PyValue> emitAtomicCas(BuiltinCall &call) {
  TypedValue pointer, compare, value;
  AtomicOptions options;
  if (failed(call.read(pointer, compare, value)) || failed(readAtomicOptions(call, 3, 4, options)))
    return failure();
  auto emit = [](mlir::OpBuilder &b, mlir::Location loc, const AtomicOperands &of) {
    return tile::AtomicCasOp::create(b, loc, of.pointer, of.values[0], of.values[1], of.mask,
                                     of.order, of.scope)
        .getResult();
  };
  AtomicRule rule{"cas", AtomicElements::Bits};
  return call.orReport(
      call.tiles().atomic(rule, pointer, {compare, value}, std::nullopt, options, emit));
}

static constexpr BuiltinSignature kAtomicSignature =
    "pointer, val, mask=None, sem=None, scope=None";

static constexpr BuiltinRow kMemoryRows[] = {
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

llvm::ArrayRef<BuiltinRow> tw::memoryBuiltins() { return kMemoryRows; }
