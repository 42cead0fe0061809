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
