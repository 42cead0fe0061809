// Methods of types.
#ifndef FRONTEND_ATTRIBUTES_H
#define FRONTEND_ATTRIBUTES_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// `x.type.get_block_shapes()`, `x.dtype.get_int_max_value()`, ... of a type that has the method.
mlir::FailureOr<PyValue> callTypeMethod(Emitter &emitter, const PyValue &type, llvm::StringRef name,
                                        const Arguments &arguments, const Node &site);

} // namespace tw
#endif
