// Values of classes that users define for kernels (`@tw.aggregate`): how they are made, and their
// fields and methods.
#ifndef FRONTEND_AGGREGATES_H
#define FRONTEND_AGGREGATES_H
#include "frontend/emit/Emitter.h"
#include "frontend/values/Parts.h"

namespace tw {

/// False when one of them is an aggregate and the other one is not of its class.
bool isSameClass(const PyValue &a, const PyValue &b);
/// Returns true if a field of an aggregate is declared to be known at compile time.
bool isStaticField(const PyValue &value, size_t field);

/// An object of a class before its constructor has run: every field is absent.
PyValue unmade(const JsonObject &type);
/// The object, or an error when the constructor left a field out.
mlir::FailureOr<PyValue> checkMade(Emitter &emitter, const PyValue &object, const Node &site);
/// The object with its fields from arguments in the order of their declaration, by name, or from
/// the class.
mlir::FailureOr<PyValue> withFieldsOf(Emitter &emitter, const PyValue &object,
                                      const Arguments &arguments, const Node &site);
/// The object with the fields that are named in the arguments replaced.
mlir::FailureOr<PyValue> replaceFields(Emitter &emitter, const PyValue &object,
                                       const Arguments &replacements, const Node &site);
/// `object.field = value` in the constructor that makes the object.
mlir::LogicalResult assignField(Emitter &emitter, const Node &target, const PyValue &value);
mlir::FailureOr<PyValue> aggregateAttribute(Emitter &emitter, const PyValue &base,
                                            llvm::StringRef name, const Node &node);
mlir::FailureOr<PyValue> callAggregateMethod(Emitter &emitter, const Callable &method,
                                             Arguments arguments, const Node &site);

} // namespace tw
#endif
