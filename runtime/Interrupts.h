// Lets whoever launches a kernel stop it: Python's Ctrl-C, while a launch holds its thread.
#ifndef RUNTIME_INTERRUPTS_H
#define RUNTIME_INTERRUPTS_H
#include "runtime/Device.h"

namespace tw {

/// Sets what `isInterrupted` asks; null: nothing. A long launch asks on the thread that called
/// `Device::launch`, every few milliseconds at most, and gives up when the answer is true.
/// Seen from outside, as the public interface is: the bindings call it.
[[gnu::visibility("default")]] void setInterruptCheck(bool (*check)());
bool isInterrupted();
/// What such a launch returns.
RuntimeError interruptError(const std::string &kernel);

} // namespace tw
#endif
