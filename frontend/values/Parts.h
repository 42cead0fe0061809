// What is inside of values: the parts of tuples and aggregates, the elements of sequences.
#ifndef FRONTEND_PARTS_H
#define FRONTEND_PARTS_H
#include "frontend/values/PyValue.h"

namespace tw {

/// Longer texts and tuples are never meant, and would let a kernel exhaust the compiler's memory.
inline constexpr size_t kMaxElements = 1 << 16;

/// The elements of a tuple or the fields of an aggregate; null for anything else.
const TupleContents *partsOf(const PyValue &value);
/// The same tuple or aggregate with other parts.
PyValue withParts(const PyValue &value, std::vector<PyValue> parts);
/// The value with every leaf (what is neither a tuple, an aggregate nor a descriptor) replaced by
/// what `change` makes of it, in order.
PyValue mapLeaves(const PyValue &value, llvm::function_ref<PyValue(const PyValue &)> change);
/// Calls `visit` for every leaf, in the same order.
void forEachLeaf(const PyValue &value, llvm::function_ref<void(const PyValue &)> visit);
/// The characters of a text in UTF-8.
std::vector<llvm::StringRef> charactersOf(llvm::StringRef text);
/// The elements that iteration or unpacking yields; nullopt when the value cannot be iterated.
std::optional<std::vector<PyValue>> elementsOf(const PyValue &value);

} // namespace tw
#endif
