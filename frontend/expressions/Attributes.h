// Attributes, methods and subscripts of values.
#ifndef FRONTEND_ATTRIBUTES_H
#define FRONTEND_ATTRIBUTES_H
#include "frontend/emit/Emitter.h"

namespace tw {

mlir::FailureOr<PyValue> readAttribute(Emitter &emitter, const PyValue &base, llvm::StringRef name,
                                       const Node &node);
mlir::FailureOr<PyValue> readSubscript(Emitter &emitter, const PyValue &base, const PyValue &index,
                                       const Node &node);

} // namespace tw
#endif
