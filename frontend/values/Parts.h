// What is inside of values: the parts of tuples and aggregates, the elements of sequences.
#ifndef FRONTEND_PARTS_H
#define FRONTEND_PARTS_H
#include "frontend/values/StaticValues.h"

namespace tw {

/// The elements of a tuple or the fields of an aggregate; null for anything else.
const TupleContents *partsOf(const Value &value);
/// The same tuple or aggregate with other parts.
Value withParts(const Value &value, std::vector<Value> parts);
/// The characters of a text in UTF-8.
std::vector<llvm::StringRef> charactersOf(llvm::StringRef text);
/// The elements that iteration or unpacking yields; nullopt when the value cannot be iterated.
std::optional<std::vector<Value>> elementsOf(const Value &value);

} // namespace tw
#endif
