// The reference device: interprets Tile IR, checks every access, and so defines the language.
#ifndef BACKEND_REFERENCE_REFERENCEDEVICE_H
#define BACKEND_REFERENCE_REFERENCEDEVICE_H
#include "runtime/Device.h"

namespace tw {

/// Loads artifacts of target "reference", whose binary is Tile IR (text or bytecode), and runs the
/// programs of a grid one after another, x fastest, on the calling thread.
std::shared_ptr<Device> makeReferenceDevice();

} // namespace tw
#endif
