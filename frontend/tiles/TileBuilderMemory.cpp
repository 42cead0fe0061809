// Memory: loads, stores and atomics.
#include "frontend/tiles/BoxBuilder.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;

//===-- Operands of an access ----------------------------------------------------------------===//

static std::optional<Reason> checkAccess(const TypedValue &pointer,
                                         const std::optional<TypedValue> &value,
                                         const std::optional<TypedValue> &mask,
                                         llvm::ArrayRef<int> positions) {
  if (!pointer.dtype.isPointer)
    return operandError(Code::NotAPointer,
                        "a memory access needs a pointer, this is " + pointer.str(),
                        "pass the tensor itself and add offsets to it", pointer);
  if (mask && !mask->dtype.isBool())
    return operandError(Code::MaskType, "a mask is int1, this is " + mask->str(),
                        mask->dtype.isPointer ? kPointerHint
                                              : "compare to make a mask, as in offsets < n",
                        *mask, positions[1]);
  bool hasTile = (value && value->isTile()) || (mask && mask->isTile());
  if (pointer.isTile() || !hasTile)
    return std::nullopt;
  Reason error =
      operandError(Code::AccessShape, "the pointer is a scalar, the value or mask a tile",
                   "add a tile of offsets to the pointer, as in p + tw.arange(0, N)", pointer);
  bool isValue = value && value->isTile();
  error.labels.push_back(
      {positions[isValue ? 0 : 1], "this is " + (isValue ? value : mask)->str()});
  return error;
}

std::optional<Reason> tw::checkWritable(const TypedValue &pointer) {
  if (!pointer.dtype.isConst)
    return std::nullopt;
  return operandError(
      Code::ConstPointer, "Cannot store to a constant pointer, as " + pointer.str() + " is",
      "leave out the annotation tw.const of the parameter that it comes from", pointer);
}

/// `positions`: the operand indices of value and mask, for labels.
OrReason<TileBuilder::Access> TileBuilder::makeAccess(TypedValue pointer,
                                                      std::optional<TypedValue> value,
                                                      std::optional<TypedValue> mask,
                                                      llvm::ArrayRef<int> positions) {
  if (std::optional<Reason> error = checkAccess(pointer, value, mask, positions))
    return *error;
  llvm::SmallVector<TypedValue> operands{pointer};
  llvm::SmallVector<int> indices{0};
  if (value)
    operands.push_back(*value), indices.push_back(positions[0]);
  if (mask)
    operands.push_back(*mask), indices.push_back(positions[1]);
  OrReason<llvm::SmallVector<int64_t>> shape = commonShape(operands);
  if (!shape) {
    for (auto &label : shape.reason().labels)
      label.first = indices[label.first];
    return shape.reason();
  }
  DType element = pointer.dtype.pointee();
  // Tiles of pointers are tables of addresses; a scalar one is an array that should be a number.
  bool isAddresses = value && value->isTile() && element.isInt() && element.bits() == 64;
  if (value && value->dtype.isPointer && !isAddresses)
    return operandError(Code::InvalidCast,
                        "a pointer cannot become an element of type " + element.str(), kPointerHint,
                        *value, positions[0]);
  Access access{expandTo(pointer, *shape), element, std::nullopt, std::nullopt};
  if (value) {
    value = value->dtype.isPointer ? *castPointer(*value, element) : convert(*value, element);
    // A bool takes a byte in memory: 0 or 1.
    if (element.isBool())
      value = convert(*value, findDType("uint8"));
    access.value = expandTo(*value, *shape);
  }
  if (mask)
    access.mask = expandTo(*mask, *shape);
  return access;
}

OrReason<CacheHints> tw::cacheHintsOf(const LoadOptions &options, bool isStore) {
  using C = tile::CacheModifier;
  using E = tile::EvictionPolicy;
  using Cache = std::optional<C>;
  llvm::StringSwitch<Cache> cases(options.cache);
  cases.Case("", C::None).Case(".cg", C::CG).Case(".cs", C::CS);
  Cache cache = isStore ? cases.Case(".wb", C::WB).Case(".wt", C::WT).Default(std::nullopt)
                        : cases.Case(".ca", C::CA).Case(".cv", C::CV).Default(std::nullopt);
  if (!cache)
    return operandError(Code::UnknownOption, "unknown cache modifier \"" + options.cache + "\"",
                        isStore ? "a store takes \".wb\", \".cg\", \".cs\" or \".wt\""
                                : "a load takes \".ca\", \".cg\", \".cs\" or \".cv\"");
  auto evict = llvm::StringSwitch<std::optional<E>>(options.evict)
                   .Cases({"", "evict_normal"}, E::Normal)
                   .Case("evict_first", E::EvictFirst)
                   .Case("evict_last", E::EvictLast)
                   .Default(std::nullopt);
  if (!evict)
    return operandError(Code::UnknownOption, "unknown eviction policy \"" + options.evict + "\"",
                        "the policies are \"evict_first\" and \"evict_last\"");
  return CacheHints{*cache, *evict};
}

//===-- Loads and stores ---------------------------------------------------------------------===//

TileOr TileBuilder::load(TypedValue pointer, std::optional<TypedValue> mask,
                         std::optional<TypedValue> other, const LoadOptions &options) {
  if (other && !mask)
    return operandError(Code::OtherWithoutMask, "`other` is given without a mask",
                        "`other` is what masked-off elements read as: add mask=...", *other, 2);
  OrReason<CacheHints> hints = cacheHintsOf(options, /*isStore=*/false);
  if (!hints)
    return hints.reason();
  OrReason<Access> access = makeAccess(pointer, other, mask, {2, 1});
  if (!access)
    return access.reason();
  DType stored = access->element.isBool() ? findDType("uint8") : access->element;
  mlir::Value loaded = create<tile::LoadOp>(typeLike(access->pointer, stored),
                                            access->pointer.value, access->maskOrNull(),
                                            access->value ? access->value->value : mlir::Value(),
                                            hints->cache, hints->evict, options.isVolatile);
  return convert(typed(loaded, stored), access->element);
}

std::optional<Reason> TileBuilder::store(TypedValue pointer, TypedValue value,
                                         std::optional<TypedValue> mask,
                                         const LoadOptions &options) {
  OrReason<CacheHints> hints = cacheHintsOf(options, /*isStore=*/true);
  if (!hints)
    return hints.reason();
  if (std::optional<Reason> error = checkWritable(pointer))
    return error;
  OrReason<Access> access = makeAccess(pointer, value, mask, {1, 2});
  if (!access)
    return access.reason();
  tile::StoreOp::create(builder, loc, access->pointer.value, access->value->value,
                        access->maskOrNull(), hints->cache, hints->evict);
  return std::nullopt;
}

//===-- Atomics ------------------------------------------------------------------------------===//

static bool isAccepted(AtomicElements elements, DType element) {
  switch (elements) {
  case AtomicElements::Bits:
    return element.bits() >= 16;
  case AtomicElements::Integers:
    return element.bits() >= 32 && !element.isFloat();
  case AtomicElements::Numbers:
    return element.bits() >= 32;
  case AtomicElements::Sums:
    return element.bits() >= (element.isFloat() ? 16 : 32);
  }
  return false;
}

static llvm::StringRef listOf(AtomicElements elements) {
  switch (elements) {
  case AtomicElements::Bits:
    return "it takes integers and floats of 16, 32 and 64 bits";
  case AtomicElements::Integers:
    return "it takes int32, uint32, int64 and uint64";
  case AtomicElements::Numbers:
    return "it takes 32- and 64-bit integers and floats";
  case AtomicElements::Sums:
    return "it takes 32- and 64-bit integers and floats, float16 and bfloat16";
  }
  return "";
}

std::optional<Reason> tw::checkAtomicType(const AtomicRule &rule, const TypedValue &pointer) {
  if (!pointer.dtype.isPointer)
    return std::nullopt; // makeAccess reports it
  DType element = pointer.dtype.pointee();
  if (isAccepted(rule.elements, element))
    return std::nullopt;
  return operandError(Code::AtomicType,
                      "atomic " + rule.name.str() + " does not exist for " + element.str(),
                      listOf(rule.elements).str(), pointer);
}

AtomicRule tw::atomicRuleOf(llvm::StringRef kind) {
  auto elements = llvm::StringSwitch<AtomicElements>(kind)
                      .Cases({"and", "or", "xor"}, AtomicElements::Integers)
                      .Case("add", AtomicElements::Sums)
                      .Case("store", AtomicElements::Bits)
                      .Default(AtomicElements::Numbers);
  return {kind, elements};
}

OrReason<tile::AtomicKind> tw::atomicKindOf(llvm::StringRef kind, DType element) {
  using K = tile::AtomicKind;
  auto choose = [&](K ofFloat, K ofSigned, K ofUnsigned) {
    return element.isFloat() ? ofFloat : element.isSigned() ? ofSigned : ofUnsigned;
  };
  auto found = llvm::StringSwitch<std::optional<K>>(kind)
                   .Case("add", choose(K::FAdd, K::Add, K::Add))
                   .Case("max", choose(K::FMax, K::Max, K::UMax))
                   .Case("min", choose(K::FMin, K::Min, K::UMin))
                   .Case("and", K::And)
                   .Case("or", K::Or)
                   .Case("xor", K::Xor)
                   .Cases({"xchg", "store"}, K::Xchg)
                   .Default(std::nullopt);
  if (found)
    return *found;
  return operandError(Code::UnknownOption, "unknown atomic \"" + kind.str() + "\"",
                      "the atomics are add, max, min, and, or, xor, xchg and cas");
}

struct Ordering {
  tile::MemoryOrder order;
  tile::MemoryScope scope;
};

static OrReason<Ordering> orderingOf(const AtomicOptions &options) {
  std::optional<tile::MemoryOrder> order = tile::symbolizeMemoryOrder(options.order);
  if (!order)
    return operandError(Code::UnknownOption, "unknown memory order \"" + options.order + "\"",
                        "sem is \"acquire\", \"release\", \"acq_rel\" or \"relaxed\"");
  std::optional<tile::MemoryScope> scope = tile::symbolizeMemoryScope(options.scope);
  if (!scope)
    return operandError(Code::UnknownOption, "unknown memory scope \"" + options.scope + "\"",
                        "scope is \"gpu\", \"cta\" or \"sys\"");
  return Ordering{*order, *scope};
}

OrReason<AtomicOperands> TileBuilder::atomicOperands(TypedValue pointer,
                                                     llvm::ArrayRef<TypedValue> values,
                                                     std::optional<TypedValue> mask) {
  int count = int(values.size());
  std::vector<TypedValue> fitting;
  std::optional<Access> access;
  // The pointer takes the shape of all values and the mask before any is converted to it.
  for (int i = 0; i < std::max(count, 1); ++i) {
    bool isLast = i + 1 >= count;
    OrReason<Access> next = makeAccess(pointer, count ? std::optional(values[i]) : std::nullopt,
                                       isLast ? mask : std::nullopt, {i + 1, count + 1});
    if (!next)
      return next.reason();
    access = *next;
    pointer = access->pointer;
    if (access->value)
      fitting.push_back(*access->value);
  }
  AtomicOperands operands;
  operands.pointer = pointer.value;
  for (const TypedValue &value : fitting)
    operands.values.push_back(expandTo(value, pointer.shape()).value);
  operands.mask = access->maskOrNull();
  operands.type = typeLike(pointer, access->element);
  return operands;
}

TileOr TileBuilder::atomic(const AtomicRule &rule, TypedValue pointer,
                           llvm::ArrayRef<TypedValue> values, std::optional<TypedValue> mask,
                           const AtomicOptions &options, AtomicEmitter emit) {
  OrReason<Ordering> ordering = orderingOf(options);
  if (!ordering)
    return ordering.reason();
  if (std::optional<Reason> error = checkAtomicType(rule, pointer))
    return *error;
  if (std::optional<Reason> error = values.empty() ? std::nullopt : checkWritable(pointer))
    return *error;
  OrReason<AtomicOperands> operands = atomicOperands(pointer, values, mask);
  if (!operands)
    return operands.reason();
  operands->order = ordering->order;
  operands->scope = ordering->scope;
  return typed(emit(builder, loc, *operands), pointer.dtype.pointee());
}

TileOr TileBuilder::atomic(llvm::StringRef kind, TypedValue pointer, TypedValue value,
                           std::optional<TypedValue> mask, const AtomicOptions &options) {
  OrReason<tile::AtomicKind> operation = atomicKindOf(kind, pointer.dtype.pointee());
  if (!operation)
    return operation.reason();
  return atomic(atomicRuleOf(kind), pointer, value, mask, options,
                [&](mlir::OpBuilder &b, mlir::Location at, const AtomicOperands &of) {
                  return tile::AtomicRmwOp::create(b, at, of.type, *operation, of.pointer,
                                                   of.values[0], of.mask, of.order, of.scope)
                      .getResult();
                });
}
