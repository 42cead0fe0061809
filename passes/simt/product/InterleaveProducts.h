// In which order matrix instructions take the rows and columns of products, for select-mma.
#ifndef PASSES_SIMT_INTERLEAVEPRODUCTS_H
#define PASSES_SIMT_INTERLEAVEPRODUCTS_H
#include "ir/simt/Simt.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/analysis/IndexFacts.h"
#include <vector>

namespace tw::simt {

/// A product that becomes matrix instructions.
struct SelectedProduct {
  tile::DotOp dot;
  tile::MmaAttr instruction;
  llvm::SmallVector<int64_t> warps;
  bool feedsProduct = false, isFedByProduct = false; // in its loop, by the other's operand
  llvm::SmallVector<int64_t> interleave;             // per dimension and for K; chosen here
  tile::AsyncMmaAttr async = nullptr;                // by several warps, which take all in order
};

/// Chooses how many neighbouring rows, columns and steps of K lanes hold, such that they read them
/// at once where they are consecutive in memory. Products that may share an accumulator get the
/// same rows and columns.
void interleaveProducts(mlir::FunctionOpInterface function, const IndexFacts &facts,
                        std::vector<SelectedProduct> &products);

} // namespace tw::simt
#endif
