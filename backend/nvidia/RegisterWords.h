// Values as the registers that PTX memory instructions name: one register, or a vector of two or
// four.
#ifndef BACKEND_NVIDIA_REGISTERWORDS_H
#define BACKEND_NVIDIA_REGISTERWORDS_H
#include "mlir/IR/Builders.h"

namespace tw::nvidia {

/// How a value of 1 to 16 bytes lies in registers.
struct WordForm {
  mlir::Type word; // i16, i32 or i64; a byte is in an i16
  unsigned count = 1;
  const char *type; // of the instruction: "b32"
  unsigned bytes;   // of the whole value
};

WordForm wordFormOf(mlir::Type type);
llvm::SmallVector<mlir::Value> toWords(mlir::OpBuilder &builder, mlir::Location loc,
                                       mlir::Value value);
mlir::Value fromWords(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::Value> words, mlir::Type type);

} // namespace tw::nvidia
#endif
