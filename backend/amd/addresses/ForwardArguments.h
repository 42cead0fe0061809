// Arguments whose memory a kernel accesses from their own address on.
#ifndef BACKEND_AMD_ADDRESSES_FORWARDARGUMENTS_H
#define BACKEND_AMD_ADDRESSES_FORWARDARGUMENTS_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace tw::amd {

/// Which arguments of a kernel have no access through a buffer below their own address, as far as
/// the signs of indices tell. As in passes/simt/Rationale.md, "Signs", sums and products of 32 bits
/// or more are taken not to overflow, but for products with constants that only hashes have.
class ForwardArguments {
public:
  explicit ForwardArguments(mlir::Operation *kernel);
  bool contains(mlir::BlockArgument argument) const { return !others.contains(argument); }

private:
  llvm::DenseSet<mlir::Value> others;
};

} // namespace tw::amd
#endif
