// The state of lowering one kernel to vector code: buffers, tiles at coordinates, loop nests.
// LowerSimd.cpp walks the kernel; LowerMemory, LowerReduce, LowerDot ... lower the roots.
#ifndef PASSES_SIMD_SIMDFUNCTION_H
#define PASSES_SIMD_SIMDFUNCTION_H
#include "ir/target/TargetDesc.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simd/BufferPlaces.h"
#include "passes/simd/KnownMasks.h"
#include "passes/simd/MatrixRegisters.h"
#include "passes/simd/Memo.h"
#include "passes/simd/ProductLoop.h"
#include "passes/simd/TilePlaces.h"
#include "passes/simd/TilePlan.h"
#include <map>

namespace tw::simd {

struct SimdFunction {
  explicit SimdFunction(mlir::func::FuncOp source);
  mlir::LogicalResult lower();

  // Walking the kernel (LowerSimd.cpp, LowerControlFlow.cpp).
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOperation(mlir::Operation *op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult lowerWhile(mlir::scf::WhileOp op);
  /// Calls a function outside of the kernel, which gives nothing back.
  void callHost(llvm::StringRef name, mlir::ValueRange arguments);
  // What is told to the host (LowerDebug.cpp): texts of the module, and which element it is about.
  mlir::Value stringAddress(llvm::StringRef text);
  mlir::Value shapeAddress(llvm::ArrayRef<int64_t> shape);
  mlir::Value elementIndex(llvm::ArrayRef<int64_t> shape, const Coordinates &at); // row-major
  /// In front of a load, store, atomic or gather: is each element inside of what it is taken from?
  void checkAccess(mlir::Operation *op); // LowerChecks.cpp
  /// Writes the yielded tiles into `slots`, in an order that reads every old value in time.
  void writeCarried(mlir::ValueRange yielded, mlir::ValueRange carried,
                    llvm::ArrayRef<TileBuffer> slots);

  // Roots. Each leaves its tile results in buffers and its scalar results in `scalars`.
  mlir::LogicalResult lowerStore(tile::StoreOp op);
  mlir::LogicalResult lowerAtomic(mlir::Operation *op);
  mlir::LogicalResult lowerReduce(tile::ReduceOp op);
  mlir::LogicalResult lowerScan(tile::ScanOp op);
  mlir::LogicalResult lowerHistogram(tile::HistogramOp op);
  mlir::LogicalResult lowerDot(tile::DotOp op);
  mlir::LogicalResult lowerJoin(tile::JoinOp op);
  mlir::LogicalResult lowerPrint(tile::PrintOp op);
  mlir::LogicalResult lowerAssert(tile::AssertOp op);
  mlir::LogicalResult lowerMachine(tile::MachineOp op);
  /// Evaluates a tile into a buffer.
  void keep(mlir::Value tile, const TileBuffer &buffer);

  // Evaluation (Evaluate.cpp): a scalar when the tile does not vary over the lanes, else a vector.
  mlir::Value evaluate(mlir::Value tile, const Coordinates &at);
  mlir::Value evaluateVector(mlir::Value tile, const Coordinates &at); // always a vector of lanes
  mlir::Value evaluateOperation(mlir::OpResult result, const Coordinates &at);
  mlir::Value evaluateUniform(mlir::Value tile, const Coordinates &at);
  mlir::Value evaluateLoad(tile::LoadOp op, const Coordinates &at);
  mlir::Value cloneElementwise(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  /// Applies a combining region to scalars or vectors.
  llvm::SmallVector<mlir::Value> combine(mlir::Region &region, llvm::ArrayRef<mlir::Value> lhs,
                                         llvm::ArrayRef<mlir::Value> rhs);

  // Memory (LowerMemory.cpp).
  mlir::Value loadBuffer(const TileBuffer &buffer, const Coordinates &at);
  void storeBuffer(const TileBuffer &buffer, const Coordinates &at, mlir::Value value);
  mlir::Value bufferAddress(const TileBuffer &buffer, llvm::ArrayRef<mlir::Value> index);

  // Buffers live to their last reader, at most to the end of the region that they are made in.
  TileBuffer allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element); // for this operation only
  TileBuffer allocate(mlir::Value tile);
  TileBuffer allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                      mlir::Operation *lastReader);
  TileBuffer destinationOf(mlir::Value tile); // the carried slot it may overwrite, or a new buffer

  // Loop nests (LoopNest.cpp, FullMasks.cpp).
  using Body = llvm::function_ref<void(const Coordinates &)>;
  void emitNest(llvm::ArrayRef<int64_t> shape, int vectorDim, int64_t lanes, Body body);
  void emitOuterLoops(llvm::ArrayRef<int64_t> shape, int exceptDim, Body body);
  void emitVectorLoop(int64_t extent, const Coordinates &outer, int vectorDim, int64_t lanes,
                      Body body, bool splitsAtKnownMasks = false);
  llvm::SmallVector<mlir::Value>
  emitLoop(int64_t lower, int64_t upper, int64_t step, llvm::ArrayRef<mlir::Value> carried,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// Emits the code once, or twice under a test whether all masks of the trees are full.
  llvm::SmallVector<mlir::Value>
  withFullMasks(llvm::ArrayRef<mlir::Value> trees, mlir::TypeRange results,
                llvm::function_ref<llvm::SmallVector<mlir::Value>()> emit, int64_t rowStep = 0);
  void withFullMasks(llvm::ArrayRef<mlir::Value> trees, llvm::function_ref<void()> emit,
                     int64_t rowStep = 0);
  /// The dimension along which the trees are best read as vectors, and how many lanes.
  std::pair<int, int64_t> chooseVector(llvm::ArrayRef<mlir::Value> trees,
                                       llvm::ArrayRef<int64_t> shape);

  // Reading along one dimension, writing along another (Transpose.cpp).
  using StoreVector = llvm::function_ref<void(const Coordinates &, mlir::Value)>;
  /// Hands on vectors along `writeDim` of a tile that is read along `readDim` in square blocks, or
  /// emits nothing and returns false where they do not fit. `batch` has the leading indices.
  bool emitTransposed(mlir::Value tile, llvm::ArrayRef<mlir::Value> batch, int readDim,
                      int writeDim, int64_t lanes, StoreVector store);
  /// Transposes as many vectors as they have lanes (`size`, a power of two), in loops over a few.
  void transposeSquare(int64_t size, mlir::Type element,
                       llvm::function_ref<mlir::Value(mlir::Value)> rowAt,
                       llvm::function_ref<void(mlir::Value, mlir::Value)> storeColumn);

  mlir::Value constantIndex(int64_t value);
  mlir::Value addIndex(mlir::Value index, int64_t offset);
  mlir::Value scaleIndex(mlir::Value index, int64_t factor);
  mlir::Value constantOf(mlir::Type type, int64_t value);
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  mlir::Value iota(mlir::Type element, int64_t lanes);
  mlir::Value scalarOf(mlir::Value value); // the lowered scalar of a Tile IR scalar
  /// Pointers become !llvm.ptr; 8-bit floats, which LLVM does not have, become i8.
  mlir::Type lowered(mlir::Type type);
  /// A lowered scalar or vector as elements that an operation on 8-bit floats takes, and back.
  mlir::Value asElement(mlir::Value value, mlir::Type element);
  mlir::Value asLowered(mlir::Value value);

  mlir::func::FuncOp source;
  tile::SimdAttr machine;
  mlir::OpBuilder builder;
  mlir::Location loc;
  IndexFacts facts;
  TilePlan plan;
  mlir::Operation *function = nullptr; // the llvm.func being written
  mlir::Value programArgument, scratch;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, TileBuffer> buffers;
  std::map<std::pair<unsigned, unsigned>, ElementPlaces> places; // by argument and element's bytes
  BufferPlaces bufferPlaces;
  std::optional<MatrixShape> matrices;      // where the kernel uses the machine's matrix registers
  mlir::Operation *current = nullptr;       // the operation that is being lowered
  llvm::DenseSet<mlir::Operation *> stored; // stores that products have done
  llvm::DenseMap<mlir::Operation *, ProductLoop> productLoops; // by product

  // A Scope restores the rest at its end.
  Memo memo;                               // values computed in the block that is being written
  llvm::DenseSet<mlir::Value> assumedTrue; // i1 tiles known to be all true
  mlir::Value someTaken;                   // an evaluated mask of which some lane is true
  llvm::SmallVector<KnownPrefix> prefixes; // of the trees of withFullMasks
  RowEnd rowEnd;                           // of the same trees
  llvm::SmallVector<Level> levels;
  llvm::SmallVector<BufferInUse> owned; // whose places are taken
};

} // namespace tw::simd
#endif
