// Where in the user's source an operation comes from.
#include "passes/analysis/SourcePlace.h"
#include "ir/Diagnostic.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"
#include <tuple>

using namespace mlir;
using namespace tw;

Location tw::placeOf(Operation *op) {
  llvm::SetVector<Operation *> found;
  found.insert(op);
  // Users of users only where none of the users has a place.
  for (size_t begin = 0, end = 1; begin < end; begin = end, end = found.size()) {
    auto order = [](Location loc) {
      SourceSpan span = spanOf(loc);
      return std::tuple(span.line, span.column);
    };
    std::optional<Location> first;
    for (size_t i = begin; i < end; ++i) {
      Location loc = found[i]->getLoc();
      if (spanOf(loc).isKnown() && (!first || order(loc) < order(*first)))
        first = loc;
    }
    if (first)
      return *first;
    for (size_t i = begin; i < end; ++i)
      found.insert_range(found[i]->getUsers());
  }
  return op->getLoc();
}
