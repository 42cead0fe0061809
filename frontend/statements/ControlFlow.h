// Run-time branches, and how the names at the ends of their arms become one.
#ifndef FRONTEND_CONTROLFLOW_H
#define FRONTEND_CONTROLFLOW_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// `rest` is what follows the `if` in its block. It belongs to one of the arms where the other one
/// always leaves the block; `hasEmittedRest` then is set.
mlir::LogicalResult emitIf(Emitter &emitter, const Node &node, llvm::ArrayRef<const Node *> rest,
                           bool &hasEmittedRest);
/// Emits code that runs unless the flag is set.
mlir::LogicalResult unlessSet(Emitter &emitter, llvm::StringRef flagName, const Node &site,
                              Emit body);

} // namespace tw
#endif
