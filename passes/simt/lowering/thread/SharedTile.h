// Accesses of a thread's registers of a tile to a buffer in shared memory.
#ifndef PASSES_SIMT_LOWERING_SHAREDTILE_H
#define PASSES_SIMT_LOWERING_SHAREDTILE_H
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// Where a buffer begins in shared memory.
struct SharedStart {
  uint64_t bytes = 0;
  mlir::Value slotBytes; // i32, of a slot: bytes after those; or null
};
/// Failure, with a diagnostic, before allocate-shared placed the buffer.
mlir::FailureOr<SharedStart> sharedStartOf(SimtFunction &f, mlir::Value buffer,
                                           mlir::Operation *user);

/// The address (!llvm.ptr<3>) `offset` bytes (i32, or null for none) into a buffer.
mlir::Value sharedAddressIn(SimtFunction &f, const SharedStart &start, mlir::Value offset);

/// The elements that `registers` (bases of Register, Lane and Warp; of any surjectivity) name in a
/// buffer, accessed in vectors as wide as the buffer's layout allows. Bases of Step are added by
/// the caller: see `addVariable`.
class SharedTile {
public:
  SharedTile(SimtFunction &f, SharedType buffer, SharedStart start, const LinearLayout &registers);
  /// Adds (by xor) a byte offset computed by the caller, of bits of `mask`.
  void addVariable(mlir::Value bytes, uint32_t mask);
  Registers load();
  void store(llvm::ArrayRef<mlir::Value> values);
  unsigned vector() const { return access.vector; }
  /// The address (!llvm.ptr<3>) of the element in one register.
  mlir::Value addressOf(uint32_t reg);

private:
  mlir::Type accessType() const;

  SimtFunction &f;
  mlir::Type element, storage;
  LinearLayout registers;
  SharedAccess access;
  BitMatrix byteOffsets; // of an element's index, without the padding
  SharedPadding padding;
  SharedStart start;
  mlir::Value variable;
  uint32_t variableMask = 0;
  std::map<uint32_t, mlir::Value> pointers; // by the constant that is xored to `variable`
};

/// The byte offsets in a buffer of the bits of an element's index, without its padding.
BitMatrix byteOffsetsIn(SharedType buffer);
unsigned bytesInShared(mlir::Type element);
/// Adds the padding in front of a byte of a buffer; null stays null. The padding of a sum of
/// offsets that have no bit in common is the sum of theirs.
mlir::Value withPadding(SimtFunction &f, mlir::Value offset, SharedPadding padding);

} // namespace tw::simt
#endif
