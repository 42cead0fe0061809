// The identity of this build of the compiler, a part of every cache key.
#ifndef BACKEND_API_BUILDID_H
#define BACKEND_API_BUILDID_H
#include <string>

namespace tw::api {

/// The linker's hash of the file that this code was loaded from, in hex: it changes with any change
/// of the compiler or of the LLVM inside it. Empty when it cannot be found out; nothing may be kept
/// on disk then.
const std::string &identifyBuild();

} // namespace tw::api
#endif
