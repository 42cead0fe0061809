// Statements, one after the other, and assignment.
#ifndef FRONTEND_STATEMENTS_H
#define FRONTEND_STATEMENTS_H
#include "frontend/emit/Emitter.h"

namespace tw {

mlir::LogicalResult emitBlock(Emitter &emitter, llvm::ArrayRef<const Node *> body);
mlir::LogicalResult assign(Emitter &emitter, const Node &target, const PyValue &value);

} // namespace tw
#endif
