// Every index runs exactly once, whatever the team, the job and the process.
#include "runtime/threads/ThreadPool.h"
#include "runtime/threads/AvailableCores.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tw;

namespace {
struct Visits {
  explicit Visits(uint64_t count) : counts(count) {}
  static void visit(void *context, int worker, uint64_t begin, uint64_t end) {
    auto &visits = *static_cast<Visits *>(context);
    if (worker < 0 || worker >= visits.numThreads)
      visits.badWorkers++;
    for (uint64_t i = begin; i < end; ++i)
      visits.counts[i]++;
  }
  bool run(ThreadPool &pool) {
    numThreads = pool.numThreads();
    pool.run(counts.size(), {visit, this});
    for (const std::atomic<int> &count : counts)
      if (count != 1)
        return false;
    return badWorkers == 0;
  }
  std::vector<std::atomic<int>> counts;
  std::atomic<int> badWorkers = 0;
  int numThreads = 0;
};
} // namespace

TEST(ThreadPoolTest, RunsEveryIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.numThreads(), threads);
    for (uint64_t count : {0, 1, 2, 3, 7, 64, 1000, 65537})
      EXPECT_TRUE(Visits(count).run(pool)) << threads << " threads, " << count << " indices";
  }
}

TEST(ThreadPoolTest, DefaultsToAllCores) {
  EXPECT_EQ(ThreadPool().numThreads(), numAvailableCores());
}

TEST(ThreadPoolTest, ManyShortJobsInARow) {
  ThreadPool pool(4);
  for (int i = 0; i < 20000; ++i)
    ASSERT_TRUE(Visits(5).run(pool)) << i;
}

TEST(ThreadPoolTest, JobsAfterWorkersFellAsleep) {
  ThreadPool pool(4);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Visits(100).run(pool)) << i;
    usleep(1000); // longer than workers spin: the next job has to wake them
  }
}

TEST(ThreadPoolTest, CallersOfSeveralThreads) {
  ThreadPool pool(3);
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int j = 0; j < 500; ++j)
        failures += !Visits(33).run(pool);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(failures, 0);
}

TEST(ThreadPoolTest, UnequalIndicesRunOnSeveralWorkers) {
  ThreadPool pool(2);
  struct Seen {
    std::atomic<int> numWaiting = 0;
  } seen;
  // Each of two indices waits for the other: only two workers at once can finish.
  pool.run(2, {[](void *context, int, uint64_t, uint64_t) {
                 auto &seen = *static_cast<Seen *>(context);
                 ++seen.numWaiting;
                 while (seen.numWaiting < 2)
                   std::this_thread::yield();
               },
               &seen});
  EXPECT_EQ(seen.numWaiting, 2);
}

/// A signal's handler may fork while the thread that it interrupted waits for its workers.
TEST(ThreadPoolTest, ForkWithinAJobEndsTheJobOfTheChild) {
  struct Job {
    std::atomic<int> numInside = 0;
    std::atomic<bool> mayEnd = false;
    pid_t child = -1;
  } job;
  ThreadPool pool(2);
  auto chunk = [](void *context, int worker, uint64_t, uint64_t) {
    Job &job = *static_cast<Job *>(context);
    ++job.numInside;
    while (job.numInside < 2 || (worker != 0 && !job.mayEnd))
      usleep(100);
  };
  auto whileWaiting = [](void *context) {
    Job &job = *static_cast<Job *>(context);
    if (job.child < 0)
      job.child = fork();
    job.mayEnd = true;
  };
  bool isWhole = pool.run(2, {chunk, &job, whileWaiting});
  if (job.child == 0)
    _exit(!isWhole && Visits(1000).run(pool) ? 0 : 1);
  EXPECT_TRUE(isWhole);
  int status = -1;
  ASSERT_EQ(waitpid(job.child, &status, 0), job.child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ThreadPoolTest, ForkedChildRunsJobs) {
  ThreadPool pool(3);
  ASSERT_TRUE(Visits(100).run(pool));
  pid_t child = fork();
  if (child == 0)
    _exit(Visits(1000).run(pool) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(Visits(100).run(pool)) << "the parent's team must go on";
}
