// What the names of a kernel stand for.
#ifndef FRONTEND_NAMES_H
#define FRONTEND_NAMES_H
#include "frontend/emit/Emitter.h"

namespace tw {

mlir::FailureOr<PyValue> readName(Emitter &emitter, const Node &node);
/// The captured value of a dotted chain such as `tw.load`; nullopt when it is not one.
std::optional<mlir::FailureOr<PyValue>> readChain(Emitter &emitter, const Node &node);

} // namespace tw
#endif
