// Checked access to the memory behind pointers.
#ifndef BACKEND_REFERENCE_MEMORY_H
#define BACKEND_REFERENCE_MEMORY_H
#include "backend/reference/Interpreter.h"

namespace tw::reference {

enum class AccessKind { Load, Store, Atomic };

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
