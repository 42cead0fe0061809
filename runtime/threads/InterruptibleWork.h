// Long work that an interrupt does not wait for: it goes on alone.
#ifndef RUNTIME_THREADS_INTERRUPTIBLEWORK_H
#define RUNTIME_THREADS_INTERRUPTIBLEWORK_H
#include <functional>
#include <string>

namespace tw {

/// Answers a question that work asks on the thread that called for it.
using Answer = std::function<std::string(const std::string &)>;

/// Runs `work` to its end, or returns false when this thread is interrupted before. On a thread
/// that interrupts reach, the work runs on another one, and its questions are answered here;
/// elsewhere it runs here. Interrupted work goes on until it asks `isInterrupted`, so it owns what
/// it touches, and the answer to its questions is `refusal`. `work` returns whether it succeeded.
///
/// Call it within a `ForkShield`; the work is within one, too.
bool runInterruptibly(std::function<bool(const Answer &)> work, const Answer &answer,
                      const std::string &refusal);

} // namespace tw
#endif
