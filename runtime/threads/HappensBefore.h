// Tells ThreadSanitizer of an order that it does not see, as code that was built without it makes
// the order.
#ifndef RUNTIME_THREADS_HAPPENSBEFORE_H
#define RUNTIME_THREADS_HAPPENSBEFORE_H
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define TW_THREAD_SANITIZER 1
#endif
#endif

namespace tw {

/// Puts what this thread did up to here before what follows `seeOrder` of the same address in any
/// thread.
inline void makeOrder([[maybe_unused]] void *address) {
#ifdef TW_THREAD_SANITIZER
  __tsan_release(address);
#endif
}
/// Puts what follows behind all that came before `makeOrder` of the same address.
inline void seeOrder([[maybe_unused]] void *address) {
#ifdef TW_THREAD_SANITIZER
  __tsan_acquire(address);
#endif
}

} // namespace tw
#endif
