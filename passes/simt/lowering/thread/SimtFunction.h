// The state of lowering one kernel of the stage scheduled to the code of one thread: each tile
// becomes one value per register. LowerSimt.cpp walks the kernel; LowerMemory, LowerReduce ...
// lower what needs more than a copy of the operation per register.
#ifndef PASSES_SIMT_LOWERING_SIMTFUNCTION_H
#define PASSES_SIMT_LOWERING_SIMTFUNCTION_H
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/IndexFacts.h"
#include <map>

namespace tw::simt {

/// The values of a tile in this thread, by register of its layout; of a scalar, one value.
using Registers = llvm::SmallVector<mlir::Value>;

struct SimtFunction {
  explicit SimtFunction(mlir::func::FuncOp source);
  mlir::LogicalResult lower(); // makes the llvm.func beside `source` and erases that

  // Values. Pointers are !llvm.ptr<1>, i1 stays i1, all other element types stay.
  const Registers &registersOf(mlir::Value value);
  mlir::Value scalarOf(mlir::Value value) { return registersOf(value).front(); }
  void setRegisters(mlir::Value value, Registers registers);
  mlir::Type lowerType(mlir::Type element) const;

  // Where this thread is. All i32.
  mlir::Value thread, lane, warp;
  unsigned numWarps = 0;
  /// The coordinate along `dim` of the element that this thread holds in `reg`: what lane and warp
  /// contribute is computed once per layout and dimension.
  mlir::Value coordinate(const LinearLayout &layout, unsigned dim, uint32_t reg);
  /// The row-major index of that element in the tile.
  mlir::Value elementIndex(const LinearLayout &layout, uint32_t reg);
  /// The xor of the bases of `place` (Lane or Warp) that this thread's coordinate selects, of the
  /// bits in `elementMask`.
  mlir::Value placeIndex(llvm::ArrayRef<uint32_t> bases, mlir::Value coordinate,
                         uint32_t elementMask);
  /// Computes whether this thread holds the owner's copy (LinearLayout::freeBits); returns null if
  /// every thread does.
  mlir::Value isOwner(const LinearLayout &layout);
  /// The same of a tile or scalar: of a scalar, the first thread.
  mlir::Value isOwnerOf(mlir::Value value);
  /// The conjunction of conditions of which null is true.
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);

  // One function per group of operations; each sets the registers of the results.
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOperation(mlir::Operation *op);
  mlir::LogicalResult lowerElementwise(mlir::Operation *op); // LowerElementwise.cpp
  mlir::LogicalResult lowerInlineAsm(tile::InlineAsmOp op);  // LowerInlineAsm.cpp
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);         // LowerControlFlow.cpp
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult lowerShape(mlir::Operation *op); // LowerShape.cpp
  mlir::LogicalResult lowerLoad(tile::LoadOp op);      // LowerMemory.cpp
  mlir::LogicalResult lowerStore(tile::StoreOp op);
  mlir::LogicalResult lowerAtomic(mlir::Operation *op); // LowerAtomic.cpp
  mlir::LogicalResult lowerPrint(tile::PrintOp op);     // LowerDebug.cpp
  mlir::LogicalResult lowerAssert(tile::AssertOp op);
  mlir::LogicalResult lowerConvertLayout(ConvertLayoutOp op); // LowerLayoutConversion.cpp
  mlir::LogicalResult lowerStoreShared(StoreSharedOp op);     // LowerShared.cpp
  mlir::LogicalResult lowerLoadShared(LoadSharedOp op);
  mlir::LogicalResult lowerGatherShared(GatherSharedOp op);
  mlir::LogicalResult lowerSlot(SlotOp op);
  mlir::LogicalResult lowerDotShared(DotSharedOp op); // LowerDot.cpp
  mlir::LogicalResult lowerMma(MmaOp op);             // LowerMma.cpp
  mlir::LogicalResult lowerMmaAsync(MmaAsyncOp op);   // LowerAsyncMma.cpp
  mlir::LogicalResult lowerMmaWait(MmaWaitOp op);
  /// The number of this warp's group of so many warps.
  mlir::Value groupOfWarp(unsigned warpsOfGroup);
  mlir::LogicalResult lowerAsyncCopy(AsyncCopyOp op); // LowerAsync.cpp
  mlir::LogicalResult lowerArrayCopy(ArrayCopyOp op);
  mlir::LogicalResult lowerLoadBlocks(LoadBlocksOp op); // LowerMemory.cpp
  mlir::LogicalResult lowerBoxCopy(BoxCopyOp op);       // LowerBoxes.cpp
  mlir::LogicalResult lowerBoxStore(BoxStoreOp op);
  mlir::LogicalResult lowerPhase(mlir::Operation *op);
  mlir::LogicalResult lowerRoles(mlir::Block &body);  // LowerLoader.cpp
  mlir::LogicalResult lowerReduce(tile::ReduceOp op); // LowerReduce.cpp: no warps along the axis
  mlir::LogicalResult lowerPartialReduce(PartialReduceOp op);
  mlir::LogicalResult lowerScan(tile::ScanOp op); // LowerScan.cpp: no warps along the axis

  /// Applies a combining region to one value per operand. Sums may take products into one FMA where
  /// `mayContract`: other lanes must not combine the same values in another order.
  Registers combine(mlir::Region &region, llvm::ArrayRef<mlir::Value> lhs,
                    llvm::ArrayRef<mlir::Value> rhs, bool mayContract = false);
  /// Lets a sum or product of the user's become one FMA with another, which rounds once, if the
  /// target does so. Those of formulas, which later passes write, may not.
  void allowContraction(mlir::Operation *op) const;
  /// A copy of `op` on other operands, with the result types lowered to scalars.
  mlir::Operation *cloneScalar(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  /// The value of another lane.
  mlir::Value shuffle(ShuffleMode mode, mlir::Value value, mlir::Value lane);

  // Small pieces of code.
  template <typename Op, typename... Arguments> Op create(Arguments &&...arguments) {
    return Op::create(builder, loc, std::forward<Arguments>(arguments)...);
  }
  mlir::Value constantI32(int64_t value);
  mlir::Value constantOf(mlir::Type type, int64_t value); // integers, floats and i1
  mlir::Value isZero(mlir::Value integer);
  /// Byte address `offsetBytes` (i32, or null for none) past `bytes` into shared memory:
  /// !llvm.ptr<3>.
  mlir::Value sharedAddress(uint64_t bytes, mlir::Value offsetBytes);
  /// In shared memory i1 is a byte; pointers are 64-bit integers.
  mlir::Type memoryType(mlir::Type element) const;

  mlir::OpBuilder builder;
  mlir::Location loc; // of the operation being lowered
  mlir::func::FuncOp source;
  mlir::Operation *function = nullptr; // the llvm.func
  tile::TargetAttr target;             // may be null in tests
  Machine machine;
  IndexFacts facts;      // of the source
  bool isLoader = false; // what is lowered is the loader's

private:
  /// Runs `emit` at the end of the kernel's prologue, where all later code can use what it makes.
  mlir::Value emitInPrologue(llvm::function_ref<mlir::Value()> emit);
  mlir::LogicalResult emitPrologue();

  mlir::Operation *prologueEnd = nullptr;
  llvm::DenseMap<mlir::Value, Registers> known;
  /// The arguments of `placeIndex`.
  struct PlaceIndexKey {
    std::vector<uint32_t> bases;
    void *coordinate;
    uint32_t elementMask;
    auto operator<=>(const PlaceIndexKey &) const = default;
  };
  std::map<PlaceIndexKey, mlir::Value> placeIndices;
};

/// Turns waits of a lowered function for groups into waits for all but the copies that were started
/// after these groups, for machines that count copies.
void awaitByCounts(mlir::Operation *function); // LowerAsync.cpp

} // namespace tw::simt
#endif
