// The `.file` lines of PTX.
#ifndef BACKEND_NVIDIA_FILESTAMPS_H
#define BACKEND_NVIDIA_FILESTAMPS_H
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tw {

/// Gives each `.file` line of PTX a time stamp and a size that are the same on every machine: where
/// they are missing, tools look for the file.
std::string withFixedFileStamps(llvm::StringRef ptx);

} // namespace tw
#endif
