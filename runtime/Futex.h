// Sleeping on a word of memory for a limited time, which std::atomic cannot.
#ifndef RUNTIME_FUTEX_H
#define RUNTIME_FUTEX_H
#include <atomic>
#include <cstdint>

namespace tw {

/// Sleeps while `word` is `expected`, `milliseconds` at most; it may also wake early for no reason.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t expected, int milliseconds);
/// Wakes whoever sleeps on the word. It is changed before.
void wakeAll(std::atomic<uint32_t> &word);

} // namespace tw
#endif
