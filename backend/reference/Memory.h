// Checked access to the memory behind pointers.
#ifndef BACKEND_REFERENCE_MEMORY_H
#define BACKEND_REFERENCE_MEMORY_H
#include "backend/reference/Interpreter.h"

namespace tw::reference {

enum class AccessKind { Load, Store, Atomic };

/// Memory as the programs of a trial leave it. What they write lies here, so that memory itself
/// stays as it is for everybody else, and nothing is left to undo.
class Overlay {
public:
  /// Puts what was written over `bits`, which are those of `bytes` bytes of memory at an address
  /// that is a multiple of them.
  void cover(uint64_t address, size_t bytes, uint64_t &bits);
  void write(uint64_t address, size_t bytes, uint64_t bits);
  /// Takes note of a write of something that the trial does not compute.
  void writeUnknown(uint64_t address, size_t bytes);
  /// Returns true if something of that kind was read: the trial decides nothing then.
  bool isUndecided() const { return hasReadUnknown; }

private:
  struct Word {
    std::array<uint8_t, 8> bytes = {};
    uint8_t written = 0, unknown = 0; // a bit for each byte
  };
  bool hasReadUnknown = false;
  llvm::DenseMap<uint64_t, Word> words; // by their address / 8
};

/// The elements of the box of an operation on a strided array: where each is, and whether it lies
/// inside of the array.
struct BoxElements {
  mlir::RankedTensorType type;
  TileValue pointers, isInside;

  BoxElements(Program &program, mlir::Operation &op);
};

/// One operation's accesses: its pointers and mask, checked element by element.
struct Access {
  Program &program;
  mlir::Operation &op;
  AccessKind kind;
  mlir::Type pointee;
  const TileValue &pointers;
  const TileValue *mask; // null: everything is accessed
  llvm::ArrayRef<int64_t> shape;
  bool isUnknown; // what a trial would write or compare, and does not compute

  Access(Program &program, mlir::Operation &op, AccessKind kind, mlir::Value pointer,
         mlir::Value mask);
  /// The accesses of an operation on a box, whose pointers and mask must outlive this.
  Access(Program &program, mlir::Operation &op, AccessKind kind, const BoxElements &box);
  bool isActive(size_t position) const { return !mask || (*mask)[position].bits != 0; }
  /// Fails with a device error unless the element can be accessed.
  llvm::LogicalResult check(size_t position) const;
  Element read(size_t position) const;
  void write(size_t position, Element value) const;
  /// Tells the limit of loops what the operation has read.
  void noteRead(const TileValue &found) const;
};

/// The argument whose allocation holds the address, or kUnknownOrigin.
int32_t findOrigin(const Launch &launch, uint64_t address);

} // namespace tw::reference
#endif
