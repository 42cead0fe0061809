// What it costs to have a tile in another layout than its own: in instructions of a warp, roughly;
// a loop's count for many.
#ifndef PASSES_SIMT_LAYOUT_LAYOUTCOST_H
#define PASSES_SIMT_LAYOUT_LAYOUTCOST_H
#include "ir/target/TargetDesc.h"
#include "passes/simt/layout/Coalescing.h"
#include "passes/simt/layout/LayoutChoice.h"

namespace tw::simt {

/// Questions over a choice of layouts, which may be made meanwhile.
class LayoutCost {
public:
  LayoutCost(mlir::FunctionOpInterface function, const LayoutChoice &choice)
      : choice(choice), facts(function), machine(machineOf(function)) {}

  /// The least of all ways; 0 for a tile without a layout of its own that is not computed.
  double costOf(mlir::Value tile, LayoutAttr layout);
  // Of one way, in all runs of the loops around the tile.
  double conversionCost(mlir::Value tile, LayoutAttr to);
  double recomputationCost(mlir::Value tile, LayoutAttr layout);
  double reloadCost(tile::LoadOp load, LayoutAttr layout);
  /// Gathering elements in another layout: they are read from shared memory in any.
  double gatherCost(tile::GatherOp gather, LayoutAttr layout);
  /// Returns the cost of executing the access once.
  double accessCost(mlir::Value ptr, mlir::Value mask, LayoutAttr layout);

  /// After a change of own layouts that answers may depend on.
  void forgetCosts() { knownCosts.clear(); }
  /// Before a rewrite: only tiles with one use are then taken to be computed there instead. Until
  /// then all tiles are.
  void countUses(mlir::FunctionOpInterface function);

private:
  /// Returns true if loads of the same loop get their addresses or masks from the tile.
  bool feedsLoadOfLoop(mlir::Value tile);
  /// Returns true if the tile is a loop's load of an operand, which is copied ahead of its
  /// iteration.
  bool isCopied(mlir::Value tile);

  const LayoutChoice &choice;
  IndexFacts facts;
  Machine machine;
  llvm::DenseMap<mlir::Value, unsigned> numUses;
  llvm::DenseMap<std::pair<mlir::Value, LayoutAttr>, double> knownCosts;
  llvm::DenseMap<mlir::Value, bool> knownToFeedLoads, knownToBeCopied;
};

/// Chooses the own layout of each tile of a function and the working layouts of its operations.
/// Layouts in the IR of accesses and accumulators are kept; others are hints for what nothing else
/// decides.
void chooseLayouts(mlir::FunctionOpInterface function, LayoutChoice &choice, LayoutCost &cost);
/// Rewrites the function: operations get their operands in the layouts that they work in, by
/// computing them in it or by conversions, whichever costs less.
void rewriteLayouts(mlir::FunctionOpInterface function, LayoutChoice &choice, LayoutCost &cost,
                    bool emitsRemarks);

} // namespace tw::simt
#endif
