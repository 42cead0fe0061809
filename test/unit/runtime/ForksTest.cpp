// A fork waits for code that holds locks of the process, and a child may go on with such code.
#include "runtime/Forks.h"
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tw;

static bool endsWell(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// What a forked child says by its exit status.
template <typename Action> static int inChild(Action action) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20); // a child that waits for ever is a failure
    _exit(action());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int canShield() {
  ForkShield outer, inner;
  return 0;
}

TEST(ForksTest, AChildNeverFindsALockOfShieldedCodeTaken) {
  std::mutex mutex;
  std::atomic<bool> isStopping = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!isStopping) {
        ForkShield shield;
        std::lock_guard lock(mutex);
        ForkShield inner; // shields nest
        usleep(10);
      }
    });
  for (int i = 0; i < 50; ++i) {
    pid_t child = fork();
    if (child == 0) {
      ForkShield shield;
      _exit(mutex.try_lock() ? 0 : 1);
    }
    EXPECT_TRUE(endsWell(child));
  }
  isStopping = true;
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ForksTest, AShieldedThreadForksWhereItPauses) {
  ForkShield shield;
  unsigned before = forkCount();
  {
    ForkShieldPause pause;
    std::thread other([] { ForkShield inside; });
    other.join();
  }
  pid_t child = fork(); // its own shield does not stop it
  if (child == 0)
    _exit(forkCount() == before + 1 ? 0 : 1);
  EXPECT_TRUE(endsWell(child));
  EXPECT_EQ(forkCount(), before);
}

TEST(ForksTest, AChildOfAChildCountsBothForks) {
  unsigned before = forkCount();
  EXPECT_EQ(inChild([&] { return inChild([&] { return int(forkCount() - before); }); }), 2);
  EXPECT_EQ(forkCount(), before);
}

namespace {
/// Another thread, within a shield until it is told to leave.
class Insider {
public:
  explicit Insider(bool pauses = false) {
    thread = std::thread([this, pauses] {
      ForkShield shield, nested;
      if (pauses) {
        ForkShieldPause pause;
        stay();
      } else {
        stay();
      }
    });
    while (!isInside)
      usleep(1000);
  }
  ~Insider() {
    mayLeave = true;
    thread.join();
  }
  void leaveIn(unsigned microseconds) {
    std::thread([this, microseconds] {
      usleep(microseconds);
      mayLeave = true;
    }).detach();
  }
  std::atomic<bool> isInside = false, mayLeave = false;

private:
  void stay() {
    isInside = true;
    while (!mayLeave)
      usleep(1000);
  }
  std::thread thread;
};
} // namespace

TEST(ForksTest, WaitsUntilNoOtherThreadIsWithinAShield) {
  Insider insider;
  insider.leaveIn(30'000);
  EXPECT_EQ(inChild([&] { return insider.mayLeave ? canShield() : 1; }), 0);
}

TEST(ForksTest, DoesNotWaitForAPausedShield) {
  Insider insider(/*pauses=*/true);
  EXPECT_EQ(inChild([&] { return insider.mayLeave ? 1 : canShield(); }), 0);
}

TEST(ForksTest, APauseOutsideOfShieldsDoesNothing) {
  {
    ForkShieldPause pause;
  }
  EXPECT_EQ(inChild(canShield), 0);
}

TEST(ForksTest, WhoIsWaitedForEntersOnlyWhereNoForkWaits) {
  {
    ForkShield tried(std::try_to_lock), nested(std::try_to_lock);
    EXPECT_TRUE(tried.isInside() && nested.isInside());
  }
  // In a child, as a deadlock would be for ever.
  int status = inChild([] {
    ForkShield shield;
    std::thread([] {
      if (pid_t child = fork(); child == 0)
        _exit(canShield());
    }).detach();
    usleep(30'000); // the fork waits for this thread
    bool isInside = true;
    std::thread([&] { isInside = ForkShield(std::try_to_lock).isInside(); }).join();
    return int(isInside);
  });
  EXPECT_EQ(status, 0);
}

TEST(ForksTest, TheProcessEndsBesideAThreadThatStaysInside) {
  int status = inChild([] {
    static std::atomic<bool> isInside = false;
    struct Global {
      ~Global() { _exit(1); } // works with what the thread uses
    };
    static Global global;
    std::thread([] {
      ForkShield shield;
      isInside = true;
      while (true)
        pause();
    }).detach();
    while (!isInside)
      usleep(100);
    closeForkShields();
    exit(5);
    return 2;
  });
  EXPECT_EQ(status, 5);
}

TEST(ForksTest, ClosedShieldsKeepOtherThreadsOut) {
  // In a child, as nothing opens them again.
  int status = inChild([] {
    closeForkShields();
    std::atomic<bool> isInside = false;
    std::thread([&] {
      ForkShield shield;
      isInside = true;
    }).detach();
    usleep(30'000);
    return canShield() + (isInside ? 1 : 0); // this thread itself goes on
  });
  EXPECT_EQ(status, 0);
}
