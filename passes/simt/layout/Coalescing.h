// How accesses to global memory are spread over a warp: how many neighbours one instruction can
// read or write, and the layout in which that is most.
#ifndef PASSES_SIMT_COALESCING_H
#define PASSES_SIMT_COALESCING_H
#include "ir/layout/LinearLayout.h"
#include "mlir/IR/Value.h"
#include "passes/analysis/IndexFacts.h"

namespace tw::simt {

/// The registers of a tile in groups that one instruction can access.
struct VectorAccess {
  unsigned vector = 1;                       // elements per access, a power of two
  unsigned dim = 0;                          // along which they are neighbours in memory
  llvm::SmallVector<uint32_t, 16> registers; // groups of `vector`, in the order of their addresses
};

/// The widest groups: consecutive addresses, the first of each group aligned to the group's bytes,
/// one mask for all (`mask` may be null), at most `maxBits`.
VectorAccess vectorAccess(const IndexFacts &facts, mlir::Value ptr, mlir::Value mask,
                          const LinearLayout &layout, unsigned maxBits);
/// The groups of `vector` neighbours along `dim`, where a layout has them.
llvm::SmallVector<uint32_t, 16> neighbourGroups(const LinearLayout &layout, unsigned dim,
                                                unsigned vector);

/// The vectorization that an access allows along its dimension of consecutive addresses, whatever
/// the layout.
struct AccessShape {
  llvm::SmallVector<int32_t, 4> order; // dimensions, fastest first
  int64_t run = 1;                     // neighbours with consecutive addresses
  int64_t aligned = 1;                 // ... the first of which is aligned to all of their bytes
  int64_t masked = 1;                  // ... that share a mask
  int64_t vector() const { return std::min({run, aligned, masked}); }
};
AccessShape accessShape(const IndexFacts &facts, mlir::Value ptr, mlir::Value mask);

/// Bytes of an element of the memory behind pointers.
unsigned pointeeBytes(mlir::Type pointers);

} // namespace tw::simt
#endif
