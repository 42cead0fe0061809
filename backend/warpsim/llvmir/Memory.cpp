// Addresses, loads, stores, atomic operations and fences.
#include "backend/warpsim/llvmir/FunctionImporter.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MemoryModelRelaxationAnnotations.h"
#include "llvm/IR/Operator.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

/// A pointer and a constant beside it, without an instruction for the sum.
PointerParts FunctionImporter::partsOf(llvm::Value *pointer) {
  auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer);
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  if (address && !address->getType()->isVectorTy() &&
      address->accumulateConstantOffset(layout, offset)) {
    PointerParts parts = partsOf(address->getPointerOperand());
    parts.offset += offset.getSExtValue();
    return parts;
  }
  return {readOne(pointer), 0};
}

/// base + constant + sum of index * bytes.
Operand FunctionImporter::importAddress(llvm::GEPOperator &address) {
  unsigned bits = layout.getIndexTypeSizeInBits(address.getType());
  bool isWide = bits > 32;
  llvm::SmallMapVector<llvm::Value *, llvm::APInt, 4> indices;
  llvm::APInt constant(bits, 0);
  if (!address.collectOffset(layout, bits, indices, constant))
    refuse("an address of this form");
  Operand sum = readOne(address.getPointerOperand());
  RegisterFile file = isWide ? RegisterFile::Double : RegisterFile::Word;
  for (auto &[index, bytes] : indices) {
    unsigned indexBits = scalarBits(layout, index->getType());
    Operand value = readOne(index), step = immediate(bytes.getZExtValue());
    if (indexBits < 32)
      value = signExtended(value, indexBits);
    if (isWide && indexBits <= 32) {
      sum = wide(Op::MadWide, Type::S32, {value, immediate(uint32_t(step.bits)), sum});
      continue;
    }
    if (!isWide && indexBits > 32)
      value = convert(Type::U32, Type::U64, value);
    sum = emitTo(file, Op::Mad, isWide ? Type::U64 : Type::U32, {value, step, sum});
  }
  if (!constant.isZero())
    sum = emitTo(
        file, Op::Add, isWide ? Type::U64 : Type::U32,
        {sum, immediate(isWide ? constant.getZExtValue() : uint32_t(constant.getZExtValue()))});
  return sum;
}

static Type accessType(unsigned bits) {
  return bits <= 8 ? Type::U8 : bits == 16 ? Type::B16 : bits == 32 ? Type::B32 : Type::B64;
}

/// Bytes of one access: a power of two that the whole is a multiple of and that is aligned.
static unsigned chunkBytes(unsigned total, unsigned alignment, unsigned elementBytes) {
  unsigned chunk = 16;
  while (chunk > alignment || chunk > total || total % chunk || chunk / elementBytes > 8)
    chunk /= 2;
  return chunk;
}

/// Returns the bits of one access: elements that are narrower than a word, and together wider than
/// an access of eight, go by words.
static unsigned widthOfAccess(unsigned elementBits, unsigned count, unsigned alignment) {
  unsigned bytes = elementBits / 8 * count;
  if (elementBits / 8 > alignment)
    return alignment * 8;
  if (elementBits == 8 && bytes % 4 == 0 && bytes > 4 && alignment >= 4)
    return 32;
  return elementBits;
}

Operands FunctionImporter::loadParts(const PointerParts &at, Space space, unsigned elementBits,
                                     unsigned count, unsigned alignment) {
  unsigned bits = widthOfAccess(elementBits, count, alignment);
  if (bits != elementBits)
    return repack(loadParts(at, space, bits, elementBits * count / bits, alignment), bits,
                  elementBits);
  unsigned elementBytes = bits / 8, total = elementBytes * count;
  unsigned chunk = chunkBytes(total, alignment, elementBytes);
  Operands results;
  for (unsigned offset = 0; offset < total; offset += chunk) {
    Operands part;
    for (unsigned i = 0; i < chunk / elementBytes; ++i)
      part.push_back(fresh(bits > 32 ? RegisterFile::Double : RegisterFile::Word));
    Instruction &load = emit(Op::Ld, accessType(bits), part, {});
    load.space = space;
    load.address = {at.base, at.offset + offset};
    load.vectorWidth = uint8_t(part.size());
    load.order = order;
    load.scope = scope;
    results.insert(results.end(), part.begin(), part.end());
  }
  return results;
}

void FunctionImporter::storeParts(const PointerParts &at, Space space, const Operands &values,
                                  unsigned elementBits, unsigned alignment) {
  unsigned bits = widthOfAccess(elementBits, unsigned(values.size()), alignment);
  if (bits != elementBits)
    return storeParts(at, space, repack(values, elementBits, bits), bits, alignment);
  unsigned elementBytes = bits / 8, total = elementBytes * unsigned(values.size());
  unsigned chunk = chunkBytes(total, alignment, elementBytes);
  for (unsigned offset = 0; offset < total; offset += chunk) {
    auto first = values.begin() + offset / elementBytes;
    Operands part(first, first + chunk / elementBytes);
    Instruction &store = emit(Op::St, accessType(bits), {}, part);
    store.space = space;
    store.address = {at.base, at.offset + offset};
    store.vectorWidth = uint8_t(part.size());
    store.order = order;
    store.scope = scope;
  }
}

static Scope scopeNamed(llvm::StringRef name) {
  name.consume_back("-one-as");
  name = name == "one-as" ? "" : name;
  if (name == "wavefront" || name == "singlethread")
    return Scope::None;
  return name == "workgroup"                   ? Scope::Cta
         : name == "agent" || name == "device" ? Scope::Gpu
                                               : Scope::Sys;
}

void FunctionImporter::setOrder(llvm::AtomicOrdering ordering, llvm::SyncScope::ID id) {
  using llvm::AtomicOrdering;
  switch (ordering) {
  case AtomicOrdering::NotAtomic:
    order = Order::Weak;
    scope = Scope::None;
    return;
  case AtomicOrdering::Unordered:
  case AtomicOrdering::Monotonic:
    order = Order::Relaxed;
    break;
  case AtomicOrdering::Acquire:
    order = Order::Acquire;
    break;
  case AtomicOrdering::Release:
    order = Order::Release;
    break;
  case AtomicOrdering::AcquireRelease:
    order = Order::AcqRel;
    break;
  case AtomicOrdering::SequentiallyConsistent:
    order = Order::SeqCst;
    break;
  }
  llvm::SmallVector<llvm::StringRef, 8> names;
  function.getContext().getSyncScopeNames(names);
  scope = scopeNamed(id < names.size() ? names[id] : "");
}

void FunctionImporter::importLoad(llvm::LoadInst &load) {
  llvm::Type *scalar = load.getType()->getScalarType();
  unsigned space = load.getPointerAddressSpace();
  if (space > 5 || scalar->isAggregateType() || load.getType()->isAggregateType())
    return unsupported(load);
  setOrder(load.getOrdering(), load.getSyncScopeID());
  bool isBit = scalar->isIntegerTy(1);
  unsigned bits = isBit ? 8 : scalarBits(layout, scalar);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return unsupported(load);
  Operands loaded = loadParts(partsOf(load.getPointerOperand()), spaceOf(space), bits,
                              numRegistersOf(load.getType()), unsigned(load.getAlign().value()));
  if (isBit)
    for (Operand &each : loaded)
      each = resizeInteger(1, 32, false, each);
  define(load, loaded);
  order = Order::Weak;
}

void FunctionImporter::importStore(llvm::StoreInst &store) {
  llvm::Type *type = store.getValueOperand()->getType(), *scalar = type->getScalarType();
  unsigned space = store.getPointerAddressSpace();
  if (space > 5 || type->isAggregateType())
    return unsupported(store);
  setOrder(store.getOrdering(), store.getSyncScopeID());
  Operands stored = read(store.getValueOperand());
  bool isBit = scalar->isIntegerTy(1);
  unsigned bits = isBit ? 8 : scalarBits(layout, scalar);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return unsupported(store);
  for (Operand &each : stored)
    each = isBit ? resizeInteger(8, 1, false, each) : each;
  storeParts(partsOf(store.getPointerOperand()), spaceOf(space), stored, bits,
             unsigned(store.getAlign().value()));
  order = Order::Weak;
}

Operand FunctionImporter::emitAtomic(AtomOp op, Type type, const PointerParts &at, Space space,
                                     Operands stored, bool isUsed) {
  Operand old = fresh(bytesOf(type) == 8 ? RegisterFile::Double : RegisterFile::Word);
  Instruction &atomic = emit(isUsed ? Op::Atom : Op::Red, type, {}, std::move(stored));
  if (isUsed)
    atomic.results = {old};
  atomic.atomOp = op;
  atomic.space = space;
  atomic.address = {at.base, at.offset};
  atomic.order = order;
  atomic.scope = scope;
  return old;
}

static std::optional<AtomOp> atomOpOf(llvm::AtomicRMWInst::BinOp operation) {
  using llvm::AtomicRMWInst;
  switch (operation) {
  case AtomicRMWInst::Add:
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::FAdd:
  case AtomicRMWInst::FSub:
    return AtomOp::Add;
  case AtomicRMWInst::And:
    return AtomOp::And;
  case AtomicRMWInst::Or:
    return AtomOp::Or;
  case AtomicRMWInst::Xor:
    return AtomOp::Xor;
  case AtomicRMWInst::Xchg:
    return AtomOp::Exch;
  case AtomicRMWInst::Min:
  case AtomicRMWInst::UMin:
  case AtomicRMWInst::FMin:
    return AtomOp::Min;
  case AtomicRMWInst::Max:
  case AtomicRMWInst::UMax:
  case AtomicRMWInst::FMax:
    return AtomOp::Max;
  case AtomicRMWInst::UIncWrap:
    return AtomOp::Inc;
  case AtomicRMWInst::UDecWrap:
    return AtomOp::Dec;
  default:
    return std::nullopt;
  }
}

void FunctionImporter::importAtomic(llvm::AtomicRMWInst &atomic) {
  llvm::Type *type = atomic.getValOperand()->getType(), *scalar = type->getScalarType();
  std::optional<AtomOp> op = atomOpOf(atomic.getOperation());
  unsigned bits = unsigned(layout.getTypeSizeInBits(type).getFixedValue());
  bool isFloat = scalar->isFloatingPointTy(), isPair = type->isVectorTy();
  if (!op || atomic.getPointerAddressSpace() > 5 || (bits != 16 && bits != 32 && bits != 64) ||
      (isPair && bits != 32))
    return unsupported(atomic);
  using llvm::AtomicRMWInst;
  bool isSigned =
      atomic.getOperation() == AtomicRMWInst::Min || atomic.getOperation() == AtomicRMWInst::Max;
  Type how = bits == 16 ? Type::U16 : integerType(bits, isSigned);
  if (isFloat)
    how = isPair ? (scalar->isHalfTy() ? Type::F16x2 : Type::BF16x2) : floatType(scalar);
  Operands stored = read(atomic.getValOperand());
  for (Operand &each : stored) {
    if (atomic.getOperation() == AtomicRMWInst::Sub)
      each = integerBinary(llvm::Instruction::Sub, bits, immediate(0), each);
    if (atomic.getOperation() == AtomicRMWInst::FSub)
      each = emitTo(fileOf(scalar), Op::Neg, floatType(scalar), {each});
  }
  if (isPair)
    stored = repack(stored, 16, 32);
  setOrder(atomic.getOrdering(), atomic.getSyncScopeID());
  Operand old = emitAtomic(*op, how, partsOf(atomic.getPointerOperand()),
                           spaceOf(atomic.getPointerAddressSpace()), stored, !atomic.use_empty());
  order = Order::Weak;
  define(atomic, isPair ? repack({old}, 32, 16) : Operands{old});
}

void FunctionImporter::importExchange(llvm::AtomicCmpXchgInst &exchange) {
  unsigned bits = scalarBits(layout, exchange.getCompareOperand()->getType());
  if (exchange.getPointerAddressSpace() > 5 || (bits != 16 && bits != 32 && bits != 64))
    return unsupported(exchange);
  Operand compared = readOne(exchange.getCompareOperand());
  Operand next = readOne(exchange.getNewValOperand());
  setOrder(exchange.getMergedOrdering(), exchange.getSyncScopeID());
  Type type = bits == 16 ? Type::B16 : bits == 32 ? Type::B32 : Type::B64;
  Operand old = emitAtomic(AtomOp::Cas, type, partsOf(exchange.getPointerOperand()),
                           spaceOf(exchange.getPointerAddressSpace()), {compared, next}, true);
  order = Order::Weak;
  Type compareType = bits > 32 ? Type::U64 : Type::U32;
  define(exchange, {old, compare(Compare::Eq, compareType, old, compared)});
}

void FunctionImporter::importFence(llvm::FenceInst &fence) {
  setOrder(fence.getOrdering(), fence.getSyncScopeID());
  Instruction &made = emitWave(WaveOp::Fence, {}, {});
  made.order = order;
  made.scope = scope;
  llvm::MMRAMetadata tags(fence);
  if (tags.hasTagWithPrefix("amdgpu-synchronize-as")) {
    made.coversShared = tags.hasTag("amdgpu-synchronize-as", "local");
    made.coversGlobal = tags.hasTag("amdgpu-synchronize-as", "global");
  }
  order = Order::Weak;
}

void FunctionImporter::importAlloca(llvm::AllocaInst &alloca) {
  std::optional<llvm::TypeSize> bytes = alloca.getAllocationSize(layout);
  if (!bytes || !alloca.isStaticAlloca())
    return unsupported(alloca);
  uint32_t alignment = uint32_t(alloca.getAlign().value());
  made.localBytes = (made.localBytes + alignment - 1) / alignment * alignment;
  define(alloca, {immediate(made.localBytes)});
  made.localBytes += uint32_t(bytes->getFixedValue());
}

/// Returns true if a pointer is used by loads from it and stores to it only.
static bool isOnlyAccessed(llvm::Value &pointer) {
  return llvm::all_of(pointer.users(), [&](llvm::User *user) {
    auto *store = llvm::dyn_cast<llvm::StoreInst>(user);
    return llvm::isa<llvm::LoadInst>(user) || (store && store->getValueOperand() != &pointer);
  });
}

bool FunctionImporter::importElementAddress(llvm::GetElementPtrInst &address) {
  if (address.getType()->isVectorTy() || address.getPointerAddressSpace() > 5)
    return false;
  // Constants are part of the accesses that use them.
  if (!address.hasAllConstantIndices() || !isOnlyAccessed(address))
    define(address, {importAddress(*llvm::cast<llvm::GEPOperator>(&address))});
  return true;
}

bool FunctionImporter::importMemory(llvm::Instruction &instruction) {
  if (auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
    return importElementAddress(*address);
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    importLoad(*load);
  else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    importStore(*store);
  else if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    importAtomic(*atomic);
  else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    importExchange(*exchange);
  else if (auto *fence = llvm::dyn_cast<llvm::FenceInst>(&instruction))
    importFence(*fence);
  else if (auto *alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
    importAlloca(*alloca);
  else
    return false;
  return true;
}
