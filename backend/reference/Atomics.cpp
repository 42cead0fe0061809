// The meaning of atomics: programs run one after another, so each is a checked read and write.
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "backend/reference/Memory.h"
#include "ir/tile/Tile.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::reference;

static uint64_t combineIntegers(tile::AtomicKind kind, uint64_t old, uint64_t value,
                                unsigned width) {
  int64_t signedOld = signExtend(old, width), signedValue = signExtend(value, width);
  switch (kind) {
  case tile::AtomicKind::Add:
    return truncateToWidth(old + value, width);
  case tile::AtomicKind::Max:
    return signedOld >= signedValue ? old : value;
  case tile::AtomicKind::Min:
    return signedOld <= signedValue ? old : value;
  case tile::AtomicKind::UMax:
    return std::max(old, value);
  case tile::AtomicKind::UMin:
    return std::min(old, value);
  case tile::AtomicKind::And:
    return old & value;
  case tile::AtomicKind::Or:
    return old | value;
  case tile::AtomicKind::Xor:
    return old ^ value;
  case tile::AtomicKind::Load:
    return old;
  default:
    return value;
  }
}

static uint64_t combine(tile::AtomicKind kind, Type type, uint64_t old, uint64_t value) {
  if (!isa<FloatType>(type))
    return combineIntegers(kind, old, value, elementWidth(type));
  double lhs = toDouble(type, old), rhs = toDouble(type, value);
  switch (kind) {
  case tile::AtomicKind::FAdd:
    return fromDouble(type, lhs + rhs);
  case tile::AtomicKind::FMax:
    return fromDouble(type, maximumOf(lhs, rhs, false));
  case tile::AtomicKind::FMin:
    return fromDouble(type, minimumOf(lhs, rhs, false));
  case tile::AtomicKind::Load:
    return old;
  default:
    return value;
  }
}

/// Returns true if the kind acts on elements of the type: integer kinds on integers, float kinds on
/// floats.
static bool isKindOf(tile::AtomicKind kind, Type type) {
  switch (kind) {
  case tile::AtomicKind::Xchg:
  case tile::AtomicKind::Load:
    return true;
  case tile::AtomicKind::FAdd:
  case tile::AtomicKind::FMax:
  case tile::AtomicKind::FMin:
    return isa<FloatType>(type);
  default:
    return isa<IntegerType>(type);
  }
}

/// Combines memory with `value`; `result` takes the old elements, and 0 where nothing is accessed.
static LogicalResult combineElements(const Access &access, tile::AtomicKind kind,
                                     const TileValue &value, TileValue &result) {
  if (!isKindOf(kind, access.pointee))
    return failAt(access.program, access.op, Code::UnknownMeaning,
                  "this kind of atomic has no meaning on its type");
  result.resize(value.size());
  for (size_t position = 0; position < value.size(); ++position) {
    if (!access.isActive(position))
      continue;
    if (failed(access.check(position)))
      return failure();
    result[position] = access.read(position);
    if (kind == tile::AtomicKind::Load)
      continue;
    uint64_t updated = combine(kind, access.pointee, result[position].bits, value[position].bits);
    access.write(position, {updated});
    if (updated != result[position].bits)
      access.program.launch.loops->noteEffect();
  }
  access.noteRead(result);
  return success();
}

static LogicalResult runAtomicRmw(Program &program, Operation &op) {
  auto atomic = cast<tile::AtomicRmwOp>(op);
  bool isLoad = atomic.getKind() == tile::AtomicKind::Load;
  Access access(program, op, isLoad ? AccessKind::Load : AccessKind::Atomic, atomic.getPtr(),
                atomic.getMask());
  TileValue result;
  if (failed(combineElements(access, atomic.getKind(), program.valueOf(atomic.getValue()), result)))
    return failure();
  program.set(atomic, std::move(result));
  return success();
}

static LogicalResult runDescriptorAtomic(Program &program, Operation &op) {
  auto atomic = cast<tile::DescriptorAtomicOp>(op);
  BoxElements box(program, op);
  Access access(program, op, AccessKind::Atomic, box);
  TileValue old;
  return combineElements(access, atomic.getKind(), program.valueOf(atomic.getValue()), old);
}

/// Compares bits: -0.0 and 0.0 differ, a NaN equals itself.
static LogicalResult runAtomicCas(Program &program, Operation &op) {
  auto atomic = cast<tile::AtomicCasOp>(op);
  Access access(program, op, AccessKind::Atomic, atomic.getPtr(), atomic.getMask());
  const TileValue &compare = program.valueOf(atomic.getCompare());
  const TileValue &value = program.valueOf(atomic.getValue());
  TileValue result(value.size());
  for (size_t position = 0; position < value.size(); ++position) {
    if (!access.isActive(position))
      continue;
    if (failed(access.check(position)))
      return failure();
    result[position] = access.read(position);
    if (!access.isUnknown && result[position].bits != compare[position].bits)
      continue;
    access.write(position, value[position]);
    if (value[position].bits != compare[position].bits)
      program.launch.loops->noteEffect();
  }
  access.noteRead(result);
  program.set(atomic, std::move(result));
  return success();
}

void tw::reference::addAtomicMeanings(Meanings &meanings) {
  meanings["tile.atomic_rmw"].structured = runAtomicRmw;
  meanings["tile.descriptor_atomic"].structured = runDescriptorAtomic;
  meanings["tile.atomic_cas"].structured = runAtomicCas;
}
