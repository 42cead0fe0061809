// Loads and stores: the registers of neighbours in memory are read and written by one instruction.
#include "ir/simt/BlockLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "passes/simt/lowering/thread/Storage.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// One group of the registers of a scalar or tile.
static VectorAccess groupsOf(SimtFunction &f, Value ptr, Value mask) {
  if (hasLayout(ptr.getType()))
    return vectorAccess(f.facts, ptr, mask, layoutOf(ptr.getType()), 8 * f.machine.vectorBytes);
  VectorAccess scalar;
  scalar.registers.push_back(0);
  return scalar;
}

//===-- Values in registers and in memory ----------------------------------------------------===//

/// Values of consecutive elements as one value in memory.
static Value pack(SimtFunction &f, ArrayRef<Value> values) {
  SmallVector<Value> elements;
  for (Value value : values)
    elements.push_back(toStorage(f, value));
  if (elements.size() == 1)
    return elements.front();
  auto type = VectorType::get({int64_t(elements.size())}, elements.front().getType());
  if (llvm::all_equal(values))
    return f.create<vector::BroadcastOp>(type, elements.front());
  return f.create<vector::FromElementsOp>(type, elements);
}

static Value extract(SimtFunction &f, Value packed, unsigned index) {
  if (!isa<VectorType>(packed.getType()))
    return packed;
  return f.create<vector::ExtractOp>(packed, int64_t(index));
}

static Value zeroOf(SimtFunction &f, Type memoryType) {
  return f.create<arith::ConstantOp>(cast<TypedAttr>(f.builder.getZeroAttr(memoryType)));
}

//===-- Accesses -----------------------------------------------------------------------------===//

LogicalResult SimtFunction::lowerLoad(LoadOp op) {
  VectorAccess access = groupsOf(*this, op.getPtr(), op.getMask());
  Type element = lowerType(elementTypeOf(op.getType())), type = storageType(*this, element);
  if (access.vector > 1)
    type = VectorType::get({int64_t(access.vector)}, type);
  // Copied: lowering may add values to the map that these live in.
  Registers pointers = registersOf(op.getPtr());
  Registers masks = op.getMask() ? registersOf(op.getMask()) : Registers();
  Registers others = op.getOther() ? registersOf(op.getOther()) : Registers();
  Registers result(pointers.size());
  ArrayRef<uint32_t> remaining = access.registers;
  while (!remaining.empty()) {
    ArrayRef<uint32_t> group = remaining.take_front(access.vector);
    remaining = remaining.drop_front(access.vector);
    Value mask, other;
    if (!masks.empty()) {
      mask = masks[group.front()];
      other =
          others.empty()
              ? zeroOf(*this, type)
              : pack(*this, llvm::map_to_vector(group, [&](uint32_t reg) { return others[reg]; }));
    }
    Value packed = create<GlobalLoadOp>(type, pointers[group.front()], mask, other, op.getCache(),
                                        op.getEvict(), op.getIsVolatile());
    for (auto [index, reg] : llvm::enumerate(group))
      result[reg] = fromStorage(*this, extract(*this, packed, index), element);
  }
  setRegisters(op, result);
  return success();
}

LogicalResult SimtFunction::lowerStore(StoreOp op) {
  VectorAccess access = groupsOf(*this, op.getPtr(), op.getMask());
  Registers pointers = registersOf(op.getPtr()), values = registersOf(op.getValue());
  Registers masks = op.getMask() ? registersOf(op.getMask()) : Registers();
  Value owner = isOwnerOf(op.getPtr());
  ArrayRef<uint32_t> remaining = access.registers;
  while (!remaining.empty()) {
    ArrayRef<uint32_t> group = remaining.take_front(access.vector);
    remaining = remaining.drop_front(access.vector);
    Value mask = both(masks.empty() ? Value() : masks[group.front()], owner);
    Value packed =
        pack(*this, llvm::map_to_vector(group, [&](uint32_t reg) { return values[reg]; }));
    create<GlobalStoreOp>(pointers[group.front()], packed, mask, op.getCache(), op.getEvict());
  }
  return success();
}

LogicalResult SimtFunction::lowerLoadBlocks(LoadBlocksOp op) {
  const LinearLayout &layout = op.getLayout().getValue();
  BlockParts parts = *divideIntoBlocks(op.getBlock(), layout, op.getDim());
  Type element = lowerType(elementTypeOf(op.getType()));
  Registers base = registersOf(op.getBase()), result(layout.size(Place::Register));
  size_t numWords = parts.registers.size() * op.getBlock().getBits() / 32;
  SmallVector<Type> words(numWords, builder.getI32Type());
  Value width = scalarOf(op.getWidth()), height = scalarOf(op.getHeight()),
        pitch = scalarOf(op.getPitch());
  for (uint32_t start : parts.starts) {
    SmallVector<int64_t> within = layout.coordinatesOf(layout.apply(Place::Register, start));
    auto place = [&](Value corner, unsigned dim) {
      Value ofWarp = placeIndex(layout.bases(Place::Warp), warp, layout.maskOf(dim));
      ofWarp = create<arith::ShRUIOp>(ofWarp, constantI32(layout.firstBitOf(dim)));
      corner = create<arith::AddIOp>(corner, ofWarp);
      return within[dim] ? create<arith::AddIOp>(corner, constantI32(within[dim])) : corner;
    };
    auto load = create<LoadBlockOp>(words, base.front(), width, height, pitch,
                                    place(scalarOf(op.getX()), op.getDim()),
                                    place(scalarOf(op.getY()), 1 - op.getDim()), op.getBlock());
    for (auto [reg, value] :
         llvm::zip_equal(parts.registers, unpackWords(*this, load.getResults(), element)))
      result[start | reg] = value;
  }
  setRegisters(op, result);
  return success();
}
