// What the disk cache keeps of a kernel: its artifact, and words about it for people.
#ifndef BACKEND_API_STOREDKERNEL_H
#define BACKEND_API_STOREDKERNEL_H
#include "backend/api/Compile.h"
#include <string_view>

namespace tw::api {

/// The content of an entry: the artifact behind a line of JSON about it.
std::string encodeStored(const Artifact &artifact, const Specialization &specialization,
                         const std::string &target, const std::string &build);
/// False where the content is not such.
bool decodeStored(std::string_view content, Artifact &artifact);

} // namespace tw::api
#endif
