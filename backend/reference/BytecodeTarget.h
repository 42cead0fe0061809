// A target whose binary is the kernel's Tile IR itself, for devices that interpret it.
#ifndef BACKEND_REFERENCE_BYTECODETARGET_H
#define BACKEND_REFERENCE_BYTECODETARGET_H
#include "backend/Target.h"
#include <memory>

namespace tw {

std::unique_ptr<Target> makeBytecodeTarget(std::string name);

} // namespace tw
#endif
