// What the compiler knows of the language's own functions, for tools and for tests. No LLVM types.
#ifndef BACKEND_API_LANGUAGE_H
#define BACKEND_API_LANGUAGE_H
#include <map>
#include <string>

namespace tw::api {
#pragma GCC visibility push(default)

/// The parameters, such as "pointer, mask=None, *rest", of every function that the compiler
/// implements, by its name; of a method of descriptors, by "tensor_descriptor.load".
std::map<std::string, std::string> builtinSignatures();

#pragma GCC visibility pop
} // namespace tw::api
#endif
