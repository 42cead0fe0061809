// Rings of slots that a loader fills for one loop after the other.
#ifndef PASSES_SIMT_PIPELINE_LOADERRING_H
#define PASSES_SIMT_PIPELINE_LOADERRING_H
#include "passes/simt/pipeline/LoopPipeline.h"
#include <array>

namespace tw::simt {

/// A ring of slots and the loops that read it, each of which goes on in the ring where the one
/// before has ended. So does the loader, which need not wait in between.
struct LoaderRing {
  /// Places in the ring: of the program the slot that is read next, the one that is released next
  /// and the parity of the phase that it awaits; of the loader the slot that it fills next and the
  /// parity.
  static constexpr unsigned kOfProgram = 3, kOfLoader = 2, kPlaces = kOfProgram + kOfLoader;

  llvm::SmallVector<mlir::Value> slots;       // per load
  llvm::SmallVector<unsigned> groups;         // of the loads
  llvm::SmallVector<unsigned> sharedAxes;     // of the loads
  llvm::SmallVector<mlir::Value> full, freed; // barriers, per group
  unsigned numSlots = 0;
  /// The first operation of what makes the ring, and the one behind: the loader's first region.
  mlir::Operation *first = nullptr, *behind = nullptr;
  llvm::SmallVector<mlir::Operation *> drops; // behind the last loop
  std::array<mlir::OpOperand *, kPlaces> begin;
  std::array<mlir::Value, kPlaces> end;
  /// How many of the loops around it write nothing that is copied, from the innermost on.
  unsigned numQuietLoops = 0;

  /// Returns true if a loop that is to be pipelined so can be the next one.
  bool canServe(LoopPipeline &next, unsigned slotsOfNext);
  /// Returns true if copies for the next iteration of the loop around may start in this one.
  bool canMoveOut() const;
  /// Makes the ring before the loop around it, for all of its iterations.
  void moveOut();
};

} // namespace tw::simt
#endif
