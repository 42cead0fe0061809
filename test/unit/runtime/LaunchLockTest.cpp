// The lock of a device: one launch at a time, across threads, handlers, interrupts and forks.
#include "runtime/LaunchLock.h"
#include "runtime/Interrupts.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tw;

TEST(LaunchLockTest, OneThreadAtATime) {
  LaunchLock lock;
  int64_t total = 0; // not atomic: the lock orders the additions
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 5000; ++j) {
        LaunchScope scope(lock);
        if (!scope.isNested() && !scope.isInterrupted())
          ++total;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(total, 4 * 5000);
}

TEST(LaunchLockTest, TheSameThreadIsToldSo) {
  LaunchLock lock;
  LaunchScope outer(lock);
  EXPECT_FALSE(outer.isNested());
  {
    LaunchScope inner(lock);
    EXPECT_TRUE(inner.isNested());
  }
  bool otherWaited = false;
  std::thread other([&] {
    setInterruptCheck([] { return true; });
    otherWaited = LaunchScope(lock).isInterrupted(); // the inner scope has not released it
    setInterruptCheck(nullptr);
  });
  other.join();
  EXPECT_TRUE(otherWaited);
}

TEST(LaunchLockTest, AForkedChildFindsItFree) {
  LaunchLock lock;
  std::atomic<bool> isHeld = false, mayEnd = false;
  std::thread holder([&] {
    LaunchScope scope(lock);
    isHeld = true;
    while (!mayEnd)
      usleep(100);
  });
  while (!isHeld)
    usleep(100);
  pid_t child = fork();
  if (child == 0) {
    LaunchScope scope(lock);
    _exit(scope.isNested() || scope.isInterrupted() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  mayEnd = true;
  holder.join();
}

static bool alwaysInterrupted() { return true; }

TEST(LaunchLockTest, AWaitingThreadCanBeInterrupted) {
  LaunchLock lock;
  ASSERT_EQ(lock.acquire(), LaunchLock::Outcome::Taken);
  setInterruptCheck(&alwaysInterrupted);
  LaunchLock::Outcome outcome = LaunchLock::Outcome::Taken;
  std::thread([&] { outcome = lock.acquire(); }).join();
  setInterruptCheck(nullptr);
  EXPECT_EQ(outcome, LaunchLock::Outcome::Interrupted);
  lock.release();
  EXPECT_EQ(lock.acquire(), LaunchLock::Outcome::Taken);
  lock.release();
}

TEST(LaunchLockTest, AForkedChildFindsItFreeThoughItsOwnThreadHeldIt) {
  LaunchLock lock;
  LaunchScope scope(lock);
  pid_t child = fork();
  if (child == 0)
    _exit(lock.acquire() == LaunchLock::Outcome::Taken ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
