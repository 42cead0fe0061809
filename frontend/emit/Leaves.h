// The run-time leaves of joined and carried values: their types, and numbers that take those types.
#ifndef FRONTEND_LEAVES_H
#define FRONTEND_LEAVES_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// What a leaf of a carried or joined value is at run time.
struct LeafType {
  DType dtype;
  std::vector<int64_t> shape;
  bool operator==(const LeafType &) const = default;
};
LeafType leafTypeOf(const TypedValue &value);
/// int32 (or the smallest type that holds it), fp32 or int1: what a Python number is at run time.
LeafType leafTypeOf(const Value &number);
/// True when a Python number may take a type without changing its kind or value.
bool fits(const Value &number, const LeafType &type);
/// A number as a value of a type to which it fits, at the builder's insertion point.
mlir::FailureOr<TypedValue> materialize(Emitter &emitter, const Value &number, const LeafType &type,
                                        const Node &site);
TypedValue zeroOf(Emitter &emitter, const LeafType &type);

} // namespace tw
#endif
