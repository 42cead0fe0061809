// Accesses of a thread's registers of a tile to a buffer in shared memory.
#ifndef PASSES_SIMT_LOWERING_SHAREDTILE_H
#define PASSES_SIMT_LOWERING_SHAREDTILE_H
#include "passes/simt/lowering/SimtFunction.h"

namespace tw::simt {

/// The bytes at which a buffer begins; failure, with a diagnostic, before allocate-shared set them.
mlir::FailureOr<uint64_t> sharedBytesOf(mlir::Value buffer, mlir::Operation *user);

/// The elements that `registers` (bases of Register, Lane and Warp; of any surjectivity) name in a
/// buffer, accessed in vectors as wide as the buffer's layout allows. A basis of Cta stands for a
/// part of the index that varies at run time (a loop): see `addVariable`.
class SharedTile {
public:
  SharedTile(SimtFunction &f, SharedType buffer, uint64_t firstByte, const LinearLayout &registers);
  /// Adds (by xor) a byte offset computed by the caller, of bits of `mask`.
  void addVariable(mlir::Value bytes, uint32_t mask);
  Registers load();
  void store(llvm::ArrayRef<mlir::Value> values);
  unsigned vector() const { return access.vector; }

private:
  mlir::Value addressOf(uint32_t reg);
  mlir::Type accessType() const;

  SimtFunction &f;
  mlir::Type element, storage;
  LinearLayout registers;
  SharedAccess access;
  BitMatrix byteOffsets; // of an element's index
  uint64_t firstByte;
  mlir::Value variable;
  uint32_t variableMask = 0;
  std::map<uint32_t, mlir::Value> pointers; // by the constant that is xored to `variable`
};

/// The byte offsets in a buffer of the bits of an element's index.
BitMatrix byteOffsetsIn(SharedType buffer);
unsigned bytesInShared(mlir::Type element);

} // namespace tw::simt
#endif
