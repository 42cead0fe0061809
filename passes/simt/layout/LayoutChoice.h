// Which layout each tile of a function has. Three words:
//   own      of a tile: the layout in which it exists by itself. Tiles that are cheap to make and
//            not tied to others have none: they are made as their users take them.
//   working  of an operation: the layout in which it takes its operands. The IR gives it to
//            accesses, the instruction to products; for reductions, scans and gathers it is chosen.
//   wanted   of a tile: the working layout of an operation behind it, where one is given.
#ifndef PASSES_SIMT_LAYOUT_LAYOUTCHOICE_H
#define PASSES_SIMT_LAYOUT_LAYOUTCHOICE_H
#include "ir/simt/MmaLayouts.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/simt/LayoutRules.h"
#include "llvm/ADT/DenseMap.h"

namespace tw::simt {

class LayoutChoice {
public:
  LayoutChoice(mlir::MLIRContext *context, Threads threads) : context(context), threads(threads) {}

  /// Null for what has none.
  LayoutAttr ownOf(mlir::Value tile) const { return own.lookup(identify(tile)); }
  void setOwn(mlir::Value tile, LayoutAttr layout);
  void forgetOwn(mlir::Value tile) { own.erase(tile); }

  LayoutAttr workingOf(mlir::Operation *op) const;
  void setWorking(mlir::Operation *op, LayoutAttr layout) { working[op] = layout; }
  /// For an operation that follows its operands: the own layout of the first that has one, else
  /// what is wanted of one, else a plain layout.
  LayoutAttr workingFor(mlir::ValueRange operands) const;

  /// Null where no operation behind the tile, reached through others that can be recomputed, has a
  /// given layout.
  LayoutAttr wantedOf(mlir::Value tile) const;
  /// The layout that the tile has in the IR, else one for its shape.
  LayoutAttr plainOf(mlir::Value tile) const;

  /// The tile that a version or a conversion is of.
  mlir::Value identify(mlir::Value tile) const;
  /// `version` has the elements of `tile`, in another layout.
  void addVersion(mlir::Value version, mlir::Value tile) { origins[version] = tile; }

  LayoutAttr attributeOf(const LinearLayout &layout) const {
    return LayoutAttr::get(context, layout);
  }
  Threads threadsOfProgram() const { return threads; }

private:
  LayoutAttr wantedBy(mlir::OpOperand &use,
                      llvm::function_ref<LayoutAttr(mlir::Value)> follow) const;

  mlir::MLIRContext *context;
  Threads threads;
  llvm::DenseMap<mlir::Value, LayoutAttr> own;
  llvm::DenseMap<mlir::Operation *, LayoutAttr> working; // those that are chosen
  llvm::DenseMap<mlir::Value, mlir::Value> origins;      // of versions
};

/// The layout that a matrix instruction's operand must have.
LinearLayout layoutOfOperand(MmaOp mma, MmaOperand operand);

} // namespace tw::simt
#endif
