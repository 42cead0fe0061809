// The bits of an axis as steps from one register and lane to another, for reductions and scans.
#ifndef PASSES_SIMT_LOWERING_AXISSTEPS_H
#define PASSES_SIMT_LOWERING_AXISSTEPS_H
#include "ir/layout/XorBasis.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// Flipping these bits of the register's and of the lane's number leads to the element that differs
/// in one bit of its index along the axis only.
struct AxisStep {
  uint32_t elementBit = 0; // of the element's index
  uint32_t reg = 0, lane = 0;
};

/// A step per bit of the axis, lowest first, without the bits that only warps have. A step stays in
/// the lane where possible.
llvm::SmallVector<AxisStep> axisSteps(const LinearLayout &layout, unsigned axis);

/// Computes what lane and warp add (by xor) to the bit of a step: i1, or null if they add nothing.
mlir::Value axisFlips(SimtFunction &f, const LinearLayout &layout, const AxisStep &step);
/// Which half of a step an element is in: a constant of the register, xored with `flips`.
struct AxisHalf {
  bool isHigh = false;
  mlir::Value flips;
};
AxisHalf halfOf(const LinearLayout &layout, const AxisStep &step, mlir::Value flips, uint32_t reg);
/// The half as i1.
mlir::Value isHighHalf(SimtFunction &f, const AxisHalf &half);

/// Registers of several tiles of one layout, of which those that differ by steps taken already hold
/// the same: there is one value per class of registers, under its representative.
class RegisterClasses {
public:
  explicit RegisterClasses(llvm::ArrayRef<Registers> tiles);
  uint32_t classOf(uint32_t reg) const { return uint32_t(taken.reduce(reg).vector); }
  /// One value per tile.
  llvm::ArrayRef<mlir::Value> at(uint32_t reg) const { return values.at(classOf(reg)); }
  void set(uint32_t reg, Registers value) { values[classOf(reg)] = std::move(value); }
  llvm::SmallVector<uint32_t> representatives() const;
  /// From now on, registers that differ by `step` are one class; their values are to be set.
  void merge(uint32_t step);

private:
  XorBasis taken;
  std::map<uint32_t, Registers> values;
};

} // namespace tw::simt
#endif
