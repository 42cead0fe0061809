// The functions by which the parts of the walk over a kernel's source call each other.
#ifndef FRONTEND_WALK_H
#define FRONTEND_WALK_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// Reports an error where expressions and blocks are nested too deeply to walk any further.
mlir::LogicalResult checkDepth(Emitter &emitter, const Node &node);

// expressions/.
/// Computes an expression now, or emits its operations.
mlir::FailureOr<PyValue> eval(Emitter &emitter, const Node &node);
/// Calls a function, a method, a type or a builtin; what users define is inlined.
mlir::FailureOr<PyValue> callValue(Emitter &emitter, const PyValue &callee, Arguments arguments,
                                   const Node &site);
/// Reads `base.name`; `node` is where reports point.
mlir::FailureOr<PyValue> readAttribute(Emitter &emitter, const PyValue &base, llvm::StringRef name,
                                       const Node &node);

// statements/.
/// Emits statements, one after the other.
mlir::LogicalResult emitBlock(Emitter &emitter, llvm::ArrayRef<const Node *> body);
/// Gives a name, a tuple of names or a field its value.
mlir::LogicalResult assign(Emitter &emitter, const Node &target, const PyValue &value);
/// Emits both arms of a run-time branch and joins the names.
mlir::LogicalResult emitBranch(Emitter &emitter, mlir::Value condition, const Node &site,
                               Emit thenArm, Emit elseArm);

} // namespace tw
#endif
