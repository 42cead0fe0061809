// The targets that the command-line tools know by name.
#ifndef BACKEND_TOOLS_FINDTARGET_H
#define BACKEND_TOOLS_FINDTARGET_H
#include "backend/Target.h"

namespace tw {

std::vector<std::string> targetNames();
/// The target of a name, or null after saying which there are.
std::unique_ptr<Target> findTarget(llvm::StringRef name);

} // namespace tw
#endif
