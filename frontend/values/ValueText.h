// Values as text for messages and f-strings, and their form in the kernel source buffer.
#ifndef FRONTEND_VALUETEXT_H
#define FRONTEND_VALUETEXT_H
#include "frontend/values/PyValue.h"

namespace tw {

std::string typeName(const PyValue &value);            // "int", "float32[64, 32]"
std::string toText(const PyValue &value, bool isRepr); // str() and repr()
std::string floatText(double value);                   // repr() of a float

/// Between values and their form in the buffer. Malformed values read as nullopt.
std::optional<PyValue> fromJson(const JsonObject &object);
std::optional<llvm::json::Value> toJson(const PyValue &value);

} // namespace tw
#endif
