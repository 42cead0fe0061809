// Writes the code that moves tiles through buffers in shared memory, for stage-through-shared.
#ifndef PASSES_SIMT_SHARED_STAGING_H
#define PASSES_SIMT_SHARED_STAGING_H
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/simt/layout/BufferChoice.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tw::simt {

/// All is written at the builder's place.
struct Staging {
  explicit Staging(mlir::ModuleOp module);

  mlir::OpBuilder builder;
  mlir::Location loc; // of the operation being staged
  BufferChoice buffers;
  uint64_t mostBytesOfPart = 0; // of a tile on its way through shared memory

  /// A new buffer.
  mlir::Value allocate(mlir::Type element, const LinearLayout &layout, llvm::StringRef name);
  /// A new buffer with the value in it. `purpose` names it in reports, with the line.
  mlir::Value store(mlir::Value value, const LinearLayout &layout, llvm::StringRef purpose,
                    llvm::SmallPtrSetImpl<mlir::Operation *> *stores = nullptr);
  /// The values as other types with the same elements. All are written before any is read.
  llvm::SmallVector<mlir::Value>
  throughShared(mlir::ValueRange values, mlir::TypeRange types, llvm::StringRef purpose,
                llvm::SmallPtrSetImpl<mlir::Operation *> *stores = nullptr);
  mlir::Value throughShared(mlir::Value value, mlir::Type type, llvm::StringRef purpose,
                            llvm::SmallPtrSetImpl<mlir::Operation *> *stores = nullptr);
  /// The same, in parts of at most `mostBytesOfPart`, as far as registers can be told apart.
  mlir::Value inParts(mlir::Value tile, mlir::Type type,
                      llvm::StringRef purpose); // StagedParts.cpp
  /// The value with another layout: itself, converted within warps, or through shared memory.
  mlir::Value convert(mlir::Value value, mlir::Type type, llvm::StringRef purpose);
};

/// "operand A of dot at line 12"
std::string bufferName(mlir::Location loc, llvm::StringRef purpose);
/// Gives products of several warps their operands: buffers that copies or stores fill, or for the
/// left one registers.
void stageAsyncProducts(Staging &staging, mlir::ModuleOp module); // StageProducts.cpp
/// Stores boxes of arrays as the machine's `copy` does. What threads store is left, with a remark.
void stageStores(Staging &staging, mlir::func::FuncOp kernel,
                 tile::CopyAttr copy); // StageStores.cpp
/// Returns how many bytes of shared memory a tile may occupy on its way through: as many as
/// pipelined loops use before or after.
uint64_t mostBytesOfPart(mlir::ModuleOp module);
/// Moves reads of small buffers down to their first use, so that one barrier serves several of
/// them.
void sinkLoads(mlir::Block &block);

} // namespace tw::simt
#endif
