// Values as the registers that a GPU's memory instructions name: one register, or a vector of two
// or four.
#ifndef BACKEND_GPU_REGISTERWORDS_H
#define BACKEND_GPU_REGISTERWORDS_H
#include "mlir/IR/Builders.h"

namespace tw::gpu {

/// How a value of 1 to 16 bytes lies in registers.
struct WordForm {
  mlir::Type word; // i16, i32 or i64; a byte is in an i16
  unsigned count = 1;
  unsigned bits;  // of each word in memory: 8 of a byte
  unsigned bytes; // of the whole value
};

/// The bits of a scalar: 64 of a pointer.
unsigned bitsOf(mlir::Type scalar);
/// The bits of a scalar as an integer of its width, and back.
mlir::Value toInteger(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar);
mlir::Value fromInteger(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits,
                        mlir::Type scalar);

WordForm wordFormOf(mlir::Type type);
llvm::SmallVector<mlir::Value> toWords(mlir::OpBuilder &builder, mlir::Location loc,
                                       mlir::Value value);
mlir::Value fromWords(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::Value> words, mlir::Type type);
/// Joins registers one after another to one vector; a single one stays as it is. What was one
/// vector before is that: LLVM takes long to see it.
mlir::Value joinRegisters(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange registers);
/// Replaces single registers by those that were joined to one vector.
void replaceByJoined(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange registers,
                     mlir::Value joined);

} // namespace tw::gpu
#endif
