// The run-time leaves of joined and carried values: their types, and numbers that take those types.
#ifndef FRONTEND_LEAVES_H
#define FRONTEND_LEAVES_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// The type that a leaf of a carried or joined value has at run time.
struct LeafType {
  DType dtype;
  std::vector<int64_t> shape;
  bool operator==(const LeafType &) const = default;
};
LeafType leafTypeOf(const TypedValue &value);
/// int32 (or the smallest type that holds it), fp32 or int1: what a Python number is at run time.
LeafType leafTypeOf(const PyValue &number);
/// True when a Python number may take a type without changing its kind or value.
bool fits(const PyValue &number, const LeafType &type);
/// A number as a value of a type to which it fits, at the builder's insertion point.
mlir::FailureOr<TypedValue> materialize(Emitter &emitter, const PyValue &number,
                                        const LeafType &type, const Node &site);
/// The IR values of a value's leaves that are known at run time, in order.
std::vector<mlir::Value> leavesOf(const PyValue &value);
/// The value with others in their place, which are taken from the front of `leaves`.
PyValue withLeaves(const PyValue &value, mlir::ValueRange &leaves);
/// Zeros in the place of every run-time leaf.
PyValue zerosLike(Emitter &emitter, const PyValue &value);
TypedValue zeroOf(Emitter &emitter, const LeafType &type);

} // namespace tw
#endif
