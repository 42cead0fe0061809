// The arguments of a call as they are written.
#ifndef FRONTEND_ARGUMENTS_H
#define FRONTEND_ARGUMENTS_H
#include "frontend/values/PyValue.h"
#include "mlir/Support/LLVM.h"

namespace tw {

/// Emits a part of the kernel; failure when an error is reported.
using Emit = llvm::function_ref<mlir::LogicalResult()>;

/// An argument of a call as written.
struct Argument {
  PyValue value;
  const Node *node = nullptr;  // for spans
  std::string keyword;         // empty: positional
  const Node *whole = nullptr; // of a keyword argument: the keyword with its value
};
using Arguments = std::vector<Argument>;

} // namespace tw
#endif
