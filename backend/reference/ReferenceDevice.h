// The reference device: interprets Tile IR, checks every access, and so defines the language.
#ifndef BACKEND_REFERENCE_REFERENCEDEVICE_H
#define BACKEND_REFERENCE_REFERENCEDEVICE_H
#include "runtime/Device.h"

namespace tw {

/// Loads artifacts of target "reference", whose binary is Tile IR (text or bytecode), and runs the
/// programs of a grid one after another, x fastest, on the calling thread.
std::shared_ptr<Device> makeReferenceDevice();

/// Loads what decides the promises of kernels for other devices (`Artifact::promises`) and runs it
/// beside a launch of theirs. Memory stays as it is. A launch reports a promise that does not hold
/// or an interruption; whatever else is wrong is for the other device to report.
std::shared_ptr<Device> makePromiseDevice();

} // namespace tw
#endif
