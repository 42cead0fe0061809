// Computes addresses in shared memory: what lanes and warps contribute once, registers as immediate
// offsets wherever their bits are disjoint from those.
#include "passes/simt/lowering/thread/SharedTile.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "passes/simt/lowering/thread/ThreadBits.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

FailureOr<SharedStart> tw::simt::sharedStartOf(SimtFunction &f, Value buffer, Operation *user) {
  SharedStart start;
  auto slot = buffer.getDefiningOp<SlotOp>();
  AllocSharedOp allocation = allocOf(buffer);
  if (!allocation || !allocation.getOffset())
    return emitCoded(user, Code::CompilerFault) << "a buffer in shared memory has no offset yet";
  start.bytes = *allocation.getOffset();
  if (slot)
    start.slotBytes = f.scalarOf(slot.getResult());
  return start;
}

Value tw::simt::sharedAddressIn(SimtFunction &f, const SharedStart &start, Value offset) {
  if (offset && start.slotBytes)
    offset = f.create<arith::AddIOp>(offset, start.slotBytes);
  return f.sharedAddress(start.bytes, offset ? offset : start.slotBytes);
}

unsigned tw::simt::bytesInShared(Type element) {
  return element.isInteger(1) ? 1 : tile::elementBytes(element);
}

BitMatrix tw::simt::byteOffsetsIn(SharedType buffer) {
  const LinearLayout &layout = buffer.getLayout().getValue();
  // A buffer's layout is a bijection (the type's verifier): it has an inverse.
  BitMatrix offsets{32, *layout.rightInverse()};
  for (uint64_t &column : offsets.columns)
    column *= bytesInShared(buffer.getElementType());
  return offsets;
}

Value tw::simt::withPadding(SimtFunction &f, Value offset, SharedPadding padding) {
  if (!padding.interval || !offset)
    return offset;
  Value number = f.create<arith::ShRUIOp>(offset, f.constantI32(llvm::Log2_32(padding.interval)));
  Value before = f.create<arith::MulIOp>(number, f.constantI32(padding.bytes));
  return f.create<arith::AddIOp>(offset, before);
}

SharedTile::SharedTile(SimtFunction &f, SharedType buffer, SharedStart start,
                       const LinearLayout &registers)
    : f(f), element(buffer.getElementType()), storage(storageType(f, element)),
      registers(registers), byteOffsets(byteOffsetsIn(buffer)), padding(buffer.getPadding()),
      start(start) {
  unsigned widest = f.machine.banks.accessBytes;
  access = sharedAccess(registers, buffer.getLayout().getValue(),
                        std::max(1u, widest / bytesInShared(element)));
  for (auto [place, number] : {std::pair{Place::Lane, f.lane}, std::pair{Place::Warp, f.warp}}) {
    SmallVector<uint32_t> bases;
    uint32_t mask = 0;
    for (uint32_t basis : registers.bases(place)) {
      bases.push_back(uint32_t(byteOffsets.apply(basis)));
      mask |= bases.back();
    }
    if (mask != 0)
      addVariable(f.placeIndex(bases, number, ~0u), mask);
  }
}

void SharedTile::addVariable(Value bytes, uint32_t mask) {
  variable = xorOf(f, variable, bytes);
  variableMask |= mask;
  pointers.clear();
}

Value SharedTile::addressOf(uint32_t reg) {
  uint32_t bytes = uint32_t(byteOffsets.apply(registers.apply(Place::Register, reg)));
  uint32_t xored = bytes & variableMask, added = padding.apply(bytes & ~variableMask);
  if (!variable && !start.slotBytes)
    return f.sharedAddress(start.bytes + added, {});
  Value &pointer = pointers[xored];
  if (!pointer) {
    Value offset = xored ? xorOf(f, variable, f.constantI32(xored)) : variable;
    pointer = sharedAddressIn(f, start, withPadding(f, offset, padding));
  }
  if (added == 0)
    return pointer;
  return f.create<LLVM::GEPOp>(pointer.getType(), f.builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(added)});
}

Type SharedTile::accessType() const {
  return access.vector == 1 ? storage : VectorType::get(int64_t(access.vector), storage);
}

Registers SharedTile::load() {
  Registers values(access.registers.size());
  unsigned alignment = access.vector * bytesInShared(element);
  for (size_t first = 0; first < values.size(); first += access.vector) {
    Value loaded =
        f.create<LLVM::LoadOp>(accessType(), addressOf(access.registers[first]), alignment);
    for (unsigned index = 0; index < access.vector; ++index) {
      Value part = loaded;
      if (access.vector > 1)
        part = f.create<vector::ExtractOp>(loaded, int64_t(index));
      values[access.registers[first + index]] = fromStorage(f, part, element);
    }
  }
  return values;
}

void SharedTile::store(ArrayRef<Value> values) {
  unsigned alignment = access.vector * bytesInShared(element);
  for (size_t first = 0; first < values.size(); first += access.vector) {
    SmallVector<Value> parts;
    for (unsigned index = 0; index < access.vector; ++index)
      parts.push_back(toStorage(f, values[access.registers[first + index]]));
    Value stored = parts.front();
    if (access.vector > 1)
      stored = f.create<vector::FromElementsOp>(cast<VectorType>(accessType()), parts);
    f.create<LLVM::StoreOp>(stored, addressOf(access.registers[first]), alignment);
  }
}
