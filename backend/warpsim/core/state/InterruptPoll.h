// Whether the launch is to stop before its end.
#ifndef BACKEND_WARPSIM_CORE_INTERRUPTPOLL_H
#define BACKEND_WARPSIM_CORE_INTERRUPTPOLL_H
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace tw::warpsim {

/// Asks the launch whether to stop: only on the thread that launched, and not all the time.
class InterruptPoll {
public:
  explicit InterruptPoll(const std::function<bool()> &ask)
      : ask(ask), launcher(std::this_thread::get_id()), next(Clock::now() + kInterval) {}
  static constexpr std::chrono::milliseconds kInterval{50};
  bool isLauncher() const { return ask && std::this_thread::get_id() == launcher; }
  /// True when the launch is to stop.
  bool poll();
  std::atomic<bool> isInterrupted = false;

private:
  using Clock = std::chrono::steady_clock;
  const std::function<bool()> &ask;
  std::thread::id launcher;
  Clock::time_point next; // only of the launching thread
};

} // namespace tw::warpsim
#endif
