// Code that computes linear functions of a thread's lane and warp, and of other numbers.
#ifndef PASSES_SIMT_LOWERING_THREADBITS_H
#define PASSES_SIMT_LOWERING_THREADBITS_H
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// Computes whether an odd number of these bits of the lane's and the warp's numbers are set: i1,
/// or null if there are no bits.
mlir::Value isOddParity(SimtFunction &f, uint32_t laneMask, uint32_t warpMask);

/// The xor of the bases of the bits that are set in `number` (i32). Higher bits do not count.
mlir::Value linearImage(SimtFunction &f, mlir::Value number, llvm::ArrayRef<uint32_t> bases);

/// left ^ right, where null is 0.
mlir::Value xorOf(SimtFunction &f, mlir::Value left, mlir::Value right);

/// One value of a family of values, chosen by number: that of `index ^ offset`, where the offset is
/// a linear function of this thread's lane and warp. Costs a select per independent bit of the
/// offset and per value asked for.
class OffsetChoice {
public:
  using Leaf = std::function<mlir::Value(uint32_t)>;
  OffsetChoice(SimtFunction &f, llvm::ArrayRef<uint32_t> ofLane, llvm::ArrayRef<uint32_t> ofWarp,
               Leaf leaf);
  mlir::Value at(uint32_t index) { return at(index, steps.size()); }

private:
  struct Step {
    uint32_t offset;
    mlir::Value isTaken;
  };
  mlir::Value at(uint32_t index, unsigned numSteps);

  SimtFunction &f;
  llvm::SmallVector<Step> steps;
  Leaf leaf;
  std::map<std::pair<unsigned, uint32_t>, mlir::Value> chosen;
};

} // namespace tw::simt
#endif
