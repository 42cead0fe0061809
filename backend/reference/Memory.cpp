// The meaning of pointers, loads and stores; every access is checked against its argument's memory.
#include "backend/reference/Memory.h"
#include "backend/reference/Meanings.h"
#include "ir/tile/Box.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mlir;
using namespace tw;
using namespace tw::reference;

// No object lies in the first page: an address there is a null pointer and an offset.
static constexpr uint64_t kFirstValidAddress = 4096;

int32_t tw::reference::findOrigin(const Launch &launch, uint64_t address) {
  for (auto [index, argument] : llvm::enumerate(launch.arguments))
    if (address - argument.allocationBase < argument.bytes)
      return index;
  return kUnknownOrigin;
}

/// Returns a bit for each byte of an access in its word.
static unsigned bytesAt(uint64_t address, size_t bytes) {
  return ((1u << bytes) - 1) << address % 8;
}

void Overlay::cover(uint64_t address, size_t bytes, uint64_t &bits) {
  auto found = words.find(address / 8);
  if (found == words.end())
    return;
  const Word &word = found->second;
  hasReadUnknown |= (word.unknown & bytesAt(address, bytes)) != 0;
  for (size_t i = 0, first = address % 8; i < bytes; ++i)
    if (word.written >> (first + i) & 1)
      std::memcpy(reinterpret_cast<char *>(&bits) + i, &word.bytes[first + i], 1);
}

void Overlay::write(uint64_t address, size_t bytes, uint64_t bits) {
  Word &word = words[address / 8];
  std::memcpy(&word.bytes[address % 8], &bits, bytes);
  word.written |= bytesAt(address, bytes);
  word.unknown &= ~bytesAt(address, bytes);
}

void Overlay::writeUnknown(uint64_t address, size_t bytes) {
  words[address / 8].unknown |= bytesAt(address, bytes);
}

/// Returns true if the part of a kernel that a trial runs leaves out what the operation writes.
static bool writesUnknown(Operation &op) {
  auto access = cast<tile::MemoryAccess>(op);
  auto isLeftOut = [](Value value) { return value && value.getDefiningOp<ub::PoisonOp>(); };
  return isLeftOut(access.getWrittenValue()) || isLeftOut(access.getExpectedValue());
}

Access::Access(Program &program, Operation &op, AccessKind kind, Value pointer, Value maskValue)
    : program(program), op(op), kind(kind),
      pointee(cast<tile::PtrType>(tile::elementTypeOf(pointer.getType())).getPointee()),
      pointers(program.valueOf(pointer)), mask(maskValue ? &program.valueOf(maskValue) : nullptr),
      shape(tile::shapeOf(pointer.getType())),
      isUnknown(program.launch.overlay && writesUnknown(op)) {}

Access::Access(Program &program, Operation &op, AccessKind kind, const BoxElements &box)
    : program(program), op(op), kind(kind), pointee(box.type.getElementType()),
      pointers(box.pointers), mask(&box.isInside), shape(box.type.getShape()),
      isUnknown(program.launch.overlay && writesUnknown(op)) {}

/// The indices of the array that a box covers along one dimension.
static SmallVector<int64_t> indicesAlong(Program &program, const tile::Box &box, int64_t dim) {
  const TileValue &offset = program.valueOf(box.offsets[dim]);
  unsigned width = elementWidth(tile::elementTypeOf(box.offsets[dim].getType()));
  SmallVector<int64_t> indices;
  for (int64_t i = 0; i < box.type.getDimSize(dim); ++i) {
    uint64_t first = uint64_t(signExtend(offset[box.isListed(dim) ? i : 0].bits, width));
    indices.push_back(int64_t(box.isListed(dim) ? first : first + uint64_t(i)));
  }
  return indices;
}

BoxElements::BoxElements(Program &program, Operation &op) : type(tile::boxOf(&op)->type) {
  tile::Box box = *tile::boxOf(&op);
  int64_t size = type.getNumElements();
  pointers.assign(size, program.valueOf(box.base)[0]);
  isInside.assign(size, {1});
  uint64_t bytes = tile::elementBytes(type.getElementType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    SmallVector<int64_t> indices = indicesAlong(program, box, dim);
    int64_t extent = program.integerOf(box.shape[dim]);
    uint64_t stride = bytes * uint64_t(program.integerOf(box.strides[dim]));
    for (int64_t position = 0; position < size; ++position) {
      int64_t index = indices[unflatten(position, type.getShape())[dim]];
      if (box.isChecked(dim) && (index < 0 || index >= extent))
        isInside[position].bits = 0;
      pointers[position].bits += uint64_t(index) * stride;
    }
  }
}

static llvm::StringRef accessName(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::Atomic:
    return "atomic";
  }
  return "access";
}

LogicalResult Access::check(size_t position) const {
  const Launch &launch = program.launch;
  uint64_t address = pointers[position].bits, bytes = tile::elementBytes(pointee);
  int32_t origin = pointers[position].origin;
  if (origin == kUnknownOrigin) // arithmetic on numbers may have led into memory since
    origin = findOrigin(launch, address);
  auto fail = [&](Code code, const std::string &what) {
    std::string where =
        origin == kUnknownOrigin
            ? llvm::formatv("address {0:x} is in no argument's memory", address).str()
            : describeElement(launch.arguments[origin], launch.argumentNames[origin], address,
                              bytes);
    return failAt(program, op, code, what + ": " + where, position, shape);
  };
  if (origin != kUnknownOrigin) {
    const LaunchArgument &argument = launch.arguments[origin];
    uint64_t offset = address - argument.allocationBase;
    bool isKnown = argument.bytes != 0 || argument.allocationBase != 0; // an empty array has a base
    if (isKnown && (offset >= argument.bytes || argument.bytes - offset < bytes))
      return fail(Code::OutOfBounds, ("out-of-bounds " + accessName(kind)).str());
    if (!isKnown && launch.overlay) // a trial must not fault
      return fail(Code::OutOfBounds, (accessName(kind) + " of unknown memory").str());
    if (argument.isReadOnly && kind != AccessKind::Load)
      return fail(Code::ReadOnlyStore, (accessName(kind) + " to read-only memory").str());
  }
  if (address < kFirstValidAddress)
    return fail(Code::OutOfBounds, (accessName(kind) + " through a null pointer").str());
  if (origin == kUnknownOrigin && launch.isMemoryKnown)
    return fail(Code::OutOfBounds, ("out-of-bounds " + accessName(kind)).str());
  if (address % bytes != 0)
    return fail(
        Code::MisalignedAccess,
        ("misaligned " + accessName(kind) + " of " + std::to_string(bytes) + " bytes").str());
  return success();
}

Element Access::read(size_t position) const {
  Element element;
  uint64_t address = pointers[position].bits;
  size_t bytes = tile::elementBytes(pointee);
  std::memcpy(&element.bits, reinterpret_cast<const void *>(address), bytes);
  if (Overlay *overlay = program.launch.overlay; overlay && !isUnknown)
    overlay->cover(address, bytes, element.bits);
  if (elementWidth(pointee) == 1)
    element.bits = element.bits != 0;
  if (isa<tile::PtrType>(pointee))
    element.origin = findOrigin(program.launch, element.bits);
  return element;
}

void Access::write(size_t position, Element value) const {
  uint64_t address = pointers[position].bits;
  size_t bytes = tile::elementBytes(pointee);
  Overlay *overlay = program.launch.overlay;
  if (!overlay)
    std::memcpy(reinterpret_cast<void *>(address), &value.bits, bytes);
  else if (isUnknown)
    overlay->writeUnknown(address, bytes);
  else
    overlay->write(address, bytes, value.bits);
}

void Access::noteRead(const TileValue &found) const {
  llvm::hash_code digest = 0;
  for (size_t position = 0; position < found.size(); ++position)
    if (isActive(position))
      digest = llvm::hash_combine(digest, pointers[position].bits, found[position].bits);
  program.launch.loops->noteRead(&op, program.number, digest);
}

static LogicalResult runLoad(Program &program, Operation &op) {
  auto load = cast<tile::LoadOp>(op);
  Access access(program, op, AccessKind::Load, load.getPtr(), load.getMask());
  const TileValue *other = load.getOther() ? &program.valueOf(load.getOther()) : nullptr;
  TileValue result(access.pointers.size());
  for (size_t position = 0; position < result.size(); ++position) {
    if (!access.isActive(position)) {
      result[position] = other ? (*other)[position] : Element();
      continue;
    }
    if (failed(access.check(position)))
      return failure();
    result[position] = access.read(position);
  }
  access.noteRead(result);
  program.set(load, std::move(result));
  return success();
}

static LogicalResult writeElements(Program &program, Access &access, Value stored) {
  const TileValue &value = program.valueOf(stored);
  for (size_t position = 0; position < value.size(); ++position) {
    if (!access.isActive(position))
      continue;
    if (failed(access.check(position)))
      return failure();
    access.write(position, value[position]);
    program.launch.loops->noteEffect();
  }
  return success();
}

static LogicalResult runStore(Program &program, Operation &op) {
  auto store = cast<tile::StoreOp>(op);
  Access access(program, op, AccessKind::Store, store.getPtr(), store.getMask());
  return writeElements(program, access, store.getValue());
}

static LogicalResult runDescriptorLoad(Program &program, Operation &op) {
  auto load = cast<tile::DescriptorLoadOp>(op);
  BoxElements box(program, op);
  Access access(program, op, AccessKind::Load, box);
  TileValue result(box.pointers.size());
  Element padding;
  if (load.getNanOutside())
    padding.bits =
        fromApFloat(APFloat::getNaN(cast<FloatType>(access.pointee).getFloatSemantics()));
  for (size_t position = 0; position < result.size(); ++position) {
    if (access.isActive(position) && failed(access.check(position)))
      return failure();
    result[position] = access.isActive(position) ? access.read(position) : padding;
  }
  access.noteRead(result);
  program.set(load, std::move(result));
  return success();
}

static LogicalResult runDescriptorStore(Program &program, Operation &op) {
  auto store = cast<tile::DescriptorStoreOp>(op);
  BoxElements box(program, op);
  Access access(program, op, AccessKind::Store, box);
  return writeElements(program, access, store.getValue());
}

static LogicalResult runAddPtr(Program &program, Operation &op) {
  auto add = cast<tile::AddPtrOp>(op);
  Type pointee = cast<tile::PtrType>(tile::elementTypeOf(add.getType())).getPointee();
  uint64_t bytes = tile::elementBytes(pointee);
  const TileValue &offsets = program.valueOf(add.getOffset());
  unsigned width = elementWidth(tile::elementTypeOf(add.getOffset().getType()));
  TileValue result = program.valueOf(add.getPtr());
  for (auto [element, offset] : llvm::zip(result, offsets))
    element.bits += bytes * uint64_t(signExtend(offset.bits, width));
  program.set(add, std::move(result));
  return success();
}

static LogicalResult runPtrCast(Program &program, Operation &op) {
  assignValues(program, op.getResults(), op.getOperands());
  return success();
}

static LogicalResult runPtrToInt(Program &program, Operation &op) {
  TileValue result = program.valueOf(op.getOperand(0));
  unsigned width = elementWidth(tile::elementTypeOf(op.getResult(0).getType()));
  for (Element &element : result)
    element = {truncateToWidth(element.bits, width)};
  program.set(op.getResult(0), std::move(result));
  return success();
}

static LogicalResult runIntToPtr(Program &program, Operation &op) {
  TileValue result = program.valueOf(op.getOperand(0));
  for (Element &element : result)
    element.origin = findOrigin(program.launch, element.bits);
  program.set(op.getResult(0), std::move(result));
  return success();
}

void tw::reference::addMemoryMeanings(Meanings &meanings) {
  meanings["tile.load"].structured = runLoad;
  meanings["tile.store"].structured = runStore;
  meanings["tile.descriptor_load"].structured = runDescriptorLoad;
  meanings["tile.descriptor_store"].structured = runDescriptorStore;
  meanings["tile.addptr"].structured = runAddPtr;
  meanings["tile.ptr_cast"].structured = runPtrCast;
  meanings["tile.ptr_to_int"].structured = runPtrToInt;
  meanings["tile.int_to_ptr"].structured = runIntToPtr;
}
