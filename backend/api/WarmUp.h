// Warms up the last part of the compiler while the first ones run.
#ifndef BACKEND_API_WARMUP_H
#define BACKEND_API_WARMUP_H
#include "backend/Target.h"
#include "runtime/threads/WorkerThread.h"
#include <functional>
#include <optional>

namespace tw::api {

/// Within the first compilation of a process that there is something to make for: a thread that
/// makes it. Where the process has one core only there is none. The compilation takes longer than
/// the thread, unless it fails: then its end waits some milliseconds.
class WarmUp {
public:
  explicit WarmUp(const Target &target);
  ~WarmUp();
  WarmUp(const WarmUp &) = delete;

private:
  static void *run(void *self);

  std::function<void()> action;
  std::optional<WorkerThread> thread; // where it was started
};

} // namespace tw::api
#endif
