// Operators by the names of their methods in Python: `x.__add__(y)`.
#ifndef FRONTEND_OPERATORMETHODS_H
#define FRONTEND_OPERATORMETHODS_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// Returns true if a name is that of a method that means an operator of run-time values.
bool isOperatorMethod(llvm::StringRef name);
/// The arguments begin with the object whose method is called.
mlir::FailureOr<PyValue> callOperatorMethod(Emitter &emitter, llvm::StringRef name,
                                            const Arguments &arguments, const Node &site);

} // namespace tw
#endif
