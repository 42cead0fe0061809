// Threads that live for one job. None begins before all are there: a gang that is too small would
// wait for the members that it lacks.
#include "runtime/threads/Gang.h"
#include "runtime/Forks.h"
#include "runtime/Futex.h"
#include "runtime/threads/WorkerThread.h"
#include <memory>
#include <vector>

using namespace tw;

/// How long the caller sleeps before it looks around.
static constexpr int kWaitMilliseconds = 50;

namespace {
enum Signal : uint32_t { Wait, Go, GiveUp };

struct Gang {
  GangFunction function;
  std::atomic<uint32_t> signal = Wait;
  std::atomic<uint32_t> numInside = 0;
  const unsigned forkedAt = forkCount();

  bool waitForMembers();
};

struct Member {
  Gang &gang;
  int number;
  WorkerThread thread;

  Member(Gang &gang, int number) : gang(gang), number(number) {}
  void serve();
};
} // namespace

void Member::serve() {
  gang.signal.wait(Wait);
  if (gang.signal == Go)
    gang.function.call(gang.function.context, number);
  if (--gang.numInside == 0)
    wakeAll(gang.numInside);
}

/// False in a forked child, where they are not.
bool Gang::waitForMembers() {
  while (uint32_t left = numInside.load()) {
    if (forkedAt != forkCount())
      return false;
    sleepWhile(numInside, left, kWaitMilliseconds);
    if (function.whileWaiting)
      function.whileWaiting(function.context);
  }
  return forkedAt == forkCount();
}

/// As many as can be started, up to `count`.
static void startMembers(Gang &gang, int count, std::vector<std::unique_ptr<Member>> &members) {
  auto body = [](void *member) -> void * {
    static_cast<Member *>(member)->serve();
    return nullptr;
  };
  for (int number = 0; number < count; ++number) {
    auto member = std::make_unique<Member>(gang, number);
    ++gang.numInside;
    if (!member->thread.start(body, member.get())) {
      --gang.numInside;
      return;
    }
    members.push_back(std::move(member));
  }
}

GangOutcome tw::runGang(int count, GangFunction function) {
  Gang gang{function};
  std::vector<std::unique_ptr<Member>> members;
  members.reserve(count);
  startMembers(gang, count, members);
  bool isWhole = int(members.size()) == count;
  gang.signal = isWhole ? Go : GiveUp;
  gang.signal.notify_all();
  if (!gang.waitForMembers()) {
    for (std::unique_ptr<Member> &member : members)
      (void)member.release(); // what the parent's threads had is left alone
    return GangOutcome::Forked;
  }
  for (std::unique_ptr<Member> &member : members)
    member->thread.join();
  return isWhole ? GangOutcome::Done : GangOutcome::NoThreads;
}
