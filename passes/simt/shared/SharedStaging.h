// Pieces of stage-through-shared: moving tiles through buffers, and the layouts that it moves them
// to.
#ifndef PASSES_SIMT_SHAREDSTAGING_H
#define PASSES_SIMT_SHAREDSTAGING_H
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tw::simt {

/// Writes the code that moves tiles, at the builder's place.
struct Staging {
  explicit Staging(mlir::ModuleOp module);

  mlir::OpBuilder builder;
  mlir::Location loc; // of the operation being staged
  Machine machine;
  unsigned numWarps = 1;
  bool loadsMatrices = false;
  uint64_t mostBytesOfPart = 0; // of a tile on its way through shared memory

  /// The layout of a buffer that a tile in layout `from` is copied to from global memory, and read
  /// from as each of `to`.
  LinearLayout bufferLayout(mlir::Type from, llvm::ArrayRef<mlir::Type> to) const;
  /// The same for a tile that registers hold; of a scalar, one element.
  LinearLayout conversionLayout(mlir::Type from, mlir::Type to) const;

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
  mlir::Value inParts(mlir::Value tile, mlir::Type type, llvm::StringRef purpose);
  /// The value with another layout: itself, converted within warps, or through shared memory.
  mlir::Value convert(mlir::Value value, mlir::Type type, llvm::StringRef purpose);
  /// A layout in which neighbours along `axis` are in registers first, then in lanes, then in warps
  /// if wanted; lanes and warps that remain go to the other dimensions, or hold copies.
  LinearLayout layoutAlong(llvm::ArrayRef<int64_t> shape, unsigned axis, bool warpsAlongAxis) const;
};

/// What a tile on its way through shared memory may occupy: as much as pipelined loops do before
/// or after.
uint64_t mostBytesOfPart(mlir::ModuleOp module);
/// Whether a conversion goes through shared memory: between warps it must, within a warp where
/// shuffles would take many more instructions.
bool prefersShared(mlir::Type from, mlir::Type to, SharedBanks banks);
/// Whether several threads hold the same element of a tile. A scalar is in all of them.
bool hasCopies(mlir::Type value);
/// Whether the warp's bases along the axis are its highest bits: pieces in order are of warps in
/// order.
bool warpsHoldHighestBits(const LinearLayout &layout, unsigned axis);
/// The layout of two tiles of this layout side by side: each thread has both elements of its pairs.
LinearLayout withPairInRegisters(const LinearLayout &half);
/// Which elements of an operand [.., M, K] or [.., K, N] (the right one) each thread reads for its
/// elements of the product: registers along the dimension of neighbours first.
LinearLayout dotOperandReads(const LinearLayout &product, llvm::ArrayRef<int64_t> operandShape,
                             bool isRight);
llvm::SmallVector<int32_t> rowMajorOrder(unsigned rank);
/// Moves reads of small buffers down to their first use, so that one barrier serves several of
/// them.
void sinkLoads(mlir::Block &block);

} // namespace tw::simt
#endif
