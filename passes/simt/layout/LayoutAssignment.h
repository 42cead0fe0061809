// Gives every tile of a function a layout: chosen forward from the operations that have reasons for
// one, then made on demand, each value in the layouts that its users want, at the least cost.
#ifndef PASSES_SIMT_LAYOUTASSIGNMENT_H
#define PASSES_SIMT_LAYOUTASSIGNMENT_H
#include "ir/simt/MmaLayouts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/layout/LayoutRules.h"
#include "llvm/ADT/DenseMap.h"

namespace tw::simt {

/// A tile in a certain layout. A null layout means that any will do.
using TileVersion = std::pair<mlir::Value, LayoutAttr>;

struct LayoutAssignment {
  LayoutAssignment(mlir::FunctionOpInterface function, Threads threads);

  /// Decides the layout in which each tile exists by itself; `natural` holds them. Tiles that are
  /// cheap to make and are not tied to others have none. Layouts in the IR of accesses and
  /// accumulators are kept; others are hints for what nothing else decides.
  void choose();
  /// Rewrites the function: users get their operands in the layout that they work in, by computing
  /// them in it or by conversions, whichever costs less.
  void apply();

  // Choosing, in ChooseLayouts.cpp.
  void chooseIn(mlir::Block &block);
  void chooseFor(mlir::Operation *op);
  void chooseLoop(mlir::scf::ForOp loop);
  void chooseWhile(mlir::scf::WhileOp loop);
  void chooseBranch(mlir::scf::IfOp branch);
  void chooseElementwise(mlir::Operation *op);
  void chooseReduce(tile::ReduceOp op);
  void chooseScan(tile::ScanOp op);
  /// Layouts of carried tiles: of the value computed in the loop, the first value, or a user.
  void chooseCarried(mlir::ValueRange inner, mlir::ValueRange first, mlir::ValueRange next);
  LayoutAttr anchorOf(mlir::Operation *op);
  LayoutAttr fallbackOf(mlir::Value tile);
  /// The layout in which the operations behind `tile` that are anchored want it; null when none.
  LayoutAttr wantedOf(mlir::Value tile);
  LayoutAttr naturalOf(mlir::Value tile) const { return natural.lookup(identify(tile)); }
  /// The natural layout of the first of `tiles` that has one; else a user's wish or the fallback.
  LayoutAttr commonOf(mlir::ValueRange tiles);
  void setNatural(mlir::Value tile, LayoutAttr layout);

  // Costs in instructions of a warp, in LayoutCost.cpp.
  double costOf(mlir::Value tile, LayoutAttr layout);
  /// Of all runs of the loops around the tile.
  double conversionCostOf(mlir::Value tile, LayoutAttr to);
  /// Whether loads of the same loop get their addresses or masks from the tile.
  bool feedsLoadOfLoop(mlir::Value tile);
  /// Whether the tile is a loop's load of an operand, which is copied ahead of its iteration.
  bool isCopied(mlir::Value tile);
  double recomputationCost(mlir::Value tile, LayoutAttr layout);
  double reloadCost(tile::LoadOp load, LayoutAttr layout);
  double accessCost(mlir::Value ptr, mlir::Value mask, LayoutAttr layout);

  // Making, in LayoutAssignment.cpp.
  mlir::Value make(mlir::Value tile, LayoutAttr layout);
  mlir::Value convert(mlir::Value tile, LayoutAttr layout);
  mlir::Value recompute(mlir::Value tile, LayoutAttr layout);
  void retype(mlir::Operation *op, LayoutAttr layout);
  void setOperands(mlir::Operation *op, LayoutAttr layout);
  void applyTo(mlir::Operation *op);
  void applyToStore(tile::StoreOp store);
  void applyToTerminator(mlir::Operation *op);
  void applyToCarried(mlir::MutableOperandRange first, mlir::ValueRange inner,
                      mlir::ValueRange results);
  llvm::DenseSet<mlir::Operation *> eraseUnused();
  void reportRecomputed(const llvm::DenseSet<mlir::Operation *> &erased) const;
  /// The tile that a version or a conversion is of.
  mlir::Value identify(mlir::Value tile) const;
  LayoutAttr attributeOf(const LinearLayout &layout);

  mlir::FunctionOpInterface function;
  mlir::MLIRContext *context;
  Threads threads;
  Alignment alignment;
  unsigned vectorBits;
  bool emitsRemarks = false;

  llvm::DenseMap<mlir::Value, LayoutAttr> natural;
  llvm::DenseMap<mlir::Operation *, LayoutAttr> workingLayout; // of reduces, scans, gathers, stores
  llvm::DenseMap<mlir::Value, unsigned> numUses;               // before anything is rewritten
  llvm::DenseMap<TileVersion, double> knownCosts;
  llvm::DenseMap<mlir::Value, bool> knownToFeedLoads, knownToBeCopied;
  llvm::DenseMap<TileVersion, mlir::Value> versions;
  llvm::DenseMap<mlir::Value, mlir::Value> origins; // of recomputed versions
  llvm::DenseSet<mlir::Operation *> retyped;
  mlir::Operation *user = nullptr; // whose operands are being made
  /// Operations with another version, and for whom it was made.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::Operation *>> recomputed;
};

/// The layout that a matrix instruction's operand must have.
LinearLayout layoutOfOperand(MmaOp mma, MmaOperand operand);

/// How often a value is computed, with a guess for the iterations of a loop.
double loopWeightOf(mlir::Value value);

/// Chooses and applies.
void assignLayouts(mlir::FunctionOpInterface function, Threads threads, bool emitsRemarks);

} // namespace tw::simt
#endif
