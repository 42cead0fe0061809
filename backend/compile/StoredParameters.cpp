// Finds which pointer parameters a kernel writes and reads through.
#include "backend/compile/StoredParameters.h"
#include "ir/tile/Tile.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;

/// The operand through which `op` writes to memory, or null.
static Value writtenPointer(Operation *op) {
  auto access = dyn_cast<tile::MemoryAccess>(op);
  return access && access.writesMemory() ? access.getPointers() : Value();
}

/// The operand through which `op` reads memory, or null.
static Value readPointer(Operation *op) {
  auto access = dyn_cast<tile::MemoryAccess>(op);
  return access && access.readsMemory() ? access.getPointers() : Value();
}

/// Returns true if the result of `user` can no longer be an address derived from its operand
/// `value`.
static bool endsAddress(Operation *user, Value value) {
  if (isa<tile::MemoryAccess, arith::CmpIOp>(user))
    return true;
  if (auto add = dyn_cast<tile::AddPtrOp>(user))
    return add.getPtr() != value;
  if (auto select = dyn_cast<arith::SelectOp>(user))
    return select.getTrueValue() != value && select.getFalseValue() != value;
  return false;
}

/// Adds every value of `op` and its regions that may receive a value of `type` by control flow.
static void addForwarded(Operation *op, Type type, llvm::SetVector<Value> &derived) {
  auto addAll = [&](auto &&values) {
    for (Value value : values)
      if (value.getType() == type)
        derived.insert(value);
  };
  addAll(op->getResults());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      addAll(block.getArguments());
}

/// Returns true if an operation uses an address derived from `pointer`; `usedPointer` returns the
/// pointer that an operation uses.
static bool isUsedThrough(Value pointer, Value (*usedPointer)(Operation *)) {
  llvm::SetVector<Value> derived;
  derived.insert(pointer);
  for (size_t i = 0; i < derived.size(); ++i) {
    Value value = derived[i];
    for (Operation *user : value.getUsers()) {
      auto assembly = dyn_cast<tile::InlineAsmOp>(user);
      if (usedPointer(user) == value || (assembly && !assembly.getIsPure()))
        return true;
      if (endsAddress(user, value))
        continue;
      if (user->getNumRegions() > 0)
        addForwarded(user, value.getType(), derived);
      else if (user->hasTrait<OpTrait::IsTerminator>())
        addForwarded(user->getParentOp(), value.getType(), derived);
      else
        derived.insert(user->result_begin(), user->result_end());
    }
  }
  return false;
}

bool tw::isStoredThrough(Value pointer) { return isUsedThrough(pointer, writtenPointer); }

bool tw::isLoadedThrough(Value pointer) { return isUsedThrough(pointer, readPointer); }
