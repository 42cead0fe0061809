// The arguments of a call as they are written, and what evaluations answer.
#ifndef FRONTEND_ARGUMENTS_H
#define FRONTEND_ARGUMENTS_H
#include "frontend/values/StaticValues.h"
#include "mlir/Support/LLVM.h"

namespace tw {

/// The value of an expression; failure when an error is reported.
using ValueOr = mlir::FailureOr<Value>;
using Emit = llvm::function_ref<mlir::LogicalResult()>;

/// An argument of a call as written.
struct Argument {
  Value value;
  const Node *node = nullptr; // for spans
  std::string keyword;        // empty: positional
};
using Arguments = std::vector<Argument>;

} // namespace tw
#endif
