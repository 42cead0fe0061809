// Jobs run on the team of an OpenMP runtime where the process has one, and never wait for threads
// that are not there.
#include "runtime/threads/OpenMp.h"
#include "runtime/threads/AvailableCores.h"
#include "runtime/threads/ThreadPool.h"
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <link.h>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "TemporaryDirectory.h"

using namespace tw;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define TW_REPLACED_LOADER 1 // their run-time libraries replace the loader's functions themselves
#endif
#endif

namespace {
/// libgomp, loaded into this process; each test's own thread has its own number of threads.
class OpenMpTest : public testing::Test {
protected:
  void SetUp() override {
    void *library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
      GTEST_SKIP() << "no libgomp.so.1 on this machine";
    setNumThreads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
    ASSERT_NE(findOpenMp(), nullptr);
  }
  /// Runs `body` on a thread whose teams have `numThreads` threads.
  template <typename Body> void withTeam(int numThreads, Body body) {
    std::thread([&] {
      setNumThreads(numThreads);
      body(*findOpenMp());
    }).join();
  }
  void (*setNumThreads)(int) = nullptr;
};

/// Counts visits, and whether each came from inside a region.
struct Visits {
  const OpenMp &runtime;
  std::vector<std::atomic<int>> counts;
  std::atomic<int> numShared = 0, highestWorker = 0;
  Visits(const OpenMp &runtime, uint64_t count) : runtime(runtime), counts(count) {}

  static void visit(void *context, int worker, uint64_t begin, uint64_t end) {
    auto &visits = *static_cast<Visits *>(context);
    for (uint64_t i = begin; i < end; ++i)
      ++visits.counts[i];
    visits.numShared += visits.runtime.isInParallel() != 0;
    if (worker > visits.highestWorker)
      visits.highestWorker = worker;
  }
  bool run(ThreadPool &pool) {
    bool isWhole = pool.run(counts.size(), {visit, this});
    return isWhole && std::all_of(counts.begin(), counts.end(),
                                  [](const std::atomic<int> &count) { return count == 1; });
  }
};
} // namespace

TEST_F(OpenMpTest, JobsRunOnItsTeamAndHeedItsNumberOfThreads) {
  ThreadPool pool;
  for (int threads : {2, 3, 2})
    withTeam(threads, [&](const OpenMp &runtime) {
      EXPECT_EQ(pool.numThreads(), threads);
      for (int i = 0; i < 1000; ++i) {
        Visits visits(runtime, 100);
        ASSERT_TRUE(visits.run(pool));
        ASSERT_GT(visits.numShared, 0);
        ASSERT_LT(visits.highestWorker, threads);
      }
    });
}

TEST_F(OpenMpTest, OneThreadIsTheCallersAlone) {
  ThreadPool pool;
  withTeam(1, [&](const OpenMp &runtime) {
    EXPECT_EQ(pool.numThreads(), 1);
    Visits visits(runtime, 100);
    EXPECT_TRUE(visits.run(pool));
    EXPECT_EQ(visits.numShared, 0);
  });
}

TEST_F(OpenMpTest, AFixedNumberTakesPartOfTheTeamOrItsOwn) {
  withTeam(4, [&](const OpenMp &runtime) {
    ThreadPool part(2), own(6);
    Visits onPart(runtime, 1000), onOwn(runtime, 1000);
    EXPECT_TRUE(onPart.run(part));
    EXPECT_GT(onPart.numShared, 0);
    EXPECT_LT(onPart.highestWorker, 2);
    EXPECT_TRUE(onOwn.run(own));
    EXPECT_EQ(onOwn.numShared, 0);
  });
}

TEST_F(OpenMpTest, InsideARegionACallerIsAlone) {
  struct Region {
    const OpenMp &runtime;
    ThreadPool pool;
    std::atomic<int> failures = 0, callers = 0;
  };
  withTeam(3, [&](const OpenMp &runtime) {
    Region region{runtime, ThreadPool()};
    auto body = [](void *context) {
      Region &region = *static_cast<Region *>(context);
      for (int i = 0; i < 100; ++i) {
        Visits visits(region.runtime, 50);
        region.failures += !visits.run(region.pool) || visits.highestWorker != 0;
      }
      ++region.callers;
    };
    runtime.parallel(body, &region, 3, 0);
    EXPECT_EQ(region.failures, 0);
    EXPECT_EQ(region.callers, 3);
  });
}

TEST_F(OpenMpTest, CallersOfSeveralThreads) {
  ThreadPool pool;
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      setNumThreads(2);
      for (int j = 0; j < 200; ++j)
        failures += !Visits(*findOpenMp(), 33).run(pool);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(failures, 0);
}

/// libgomp waits for ever for threads that a forked child does not have.
TEST_F(OpenMpTest, AForkedChildUsesItsOwnThreads) {
  ThreadPool pool;
  withTeam(2, [&](const OpenMp &runtime) {
    ThreadPool::Plan before = pool.plan();
    ASSERT_TRUE(Visits(runtime, 100).run(pool));
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      Visits late(runtime, 1000);
      bool lateIsWhole = pool.run(before, 1000, {Visits::visit, &late});
      _exit(!hasOpenMpTeams() && lateIsWhole && Visits(runtime, 1000).run(pool) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(Visits(runtime, 100).run(pool)) << "the parent goes on";
  });
}

/// Workers of a loader of torch are processes whose number of threads is set to one.
TEST_F(OpenMpTest, AForkedChildHeedsItsNumberOfThreads) {
  ThreadPool pool, fixed(3);
  int own = numAvailableCores();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const OpenMp *runtime = findOpenMp();
    bool isHeeded = runtime != nullptr;
    for (int threads : {1, 2, 1000}) {
      setNumThreads(threads);
      Visits visits(*runtime, 1000);
      isHeeded &= pool.numThreads() == std::min(own, threads) && visits.run(pool) &&
                  visits.highestWorker < threads;
    }
    _exit(isHeeded && fixed.numThreads() == 3 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#ifndef TW_REPLACED_LOADER
/// Called under the loader's lock by each search.
static std::atomic<void (*)()> underLoadersLock = nullptr;

/// The loader's function, which this replaces for the whole program, with a call in between.
extern "C" int dl_iterate_phdr(int (*call)(dl_phdr_info *, size_t, void *), void *data) {
  using Iterate = decltype(&dl_iterate_phdr);
  static const auto iterate = reinterpret_cast<Iterate>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  struct Wrapped {
    decltype(call) inner;
    void *data;
  } wrapped{call, data};
  auto wrapper = [](dl_phdr_info *object, size_t size, void *context) {
    if (auto between = underLoadersLock.load())
      between();
    auto &wrapped = *static_cast<Wrapped *>(context);
    return wrapped.inner(object, size, wrapped.data);
  };
  return iterate(wrapper, &wrapped);
}

/// In a child that was forked while another thread had the loader's lock, nobody can free it.
TEST_F(OpenMpTest, NoForkWhileAnotherThreadSearches) {
  static std::atomic<bool> isSearching;
  isSearching = false;
  underLoadersLock = [] {
    isSearching = true;
    usleep(100'000);
  };
  std::thread other([] { (void)findOpenMp(); });
  while (!isSearching)
    usleep(100);
  pid_t child = fork();
  if (child == 0) {
    alarm(5);
    underLoadersLock = nullptr;
    (void)dl_iterate_phdr([](dl_phdr_info *, size_t, void *) { return 1; }, nullptr);
    _exit(0);
  }
  underLoadersLock = nullptr;
  other.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
}
#endif

/// A signal's handler may fork while the thread that it interrupted waits inside of the region.
TEST_F(OpenMpTest, ForkWithinAJobEndsTheJobOfTheChild) {
  struct Job {
    std::atomic<int> numInside = 0;
    std::atomic<bool> mayEnd = false;
    pid_t child = -1;
  };
  withTeam(2, [&](const OpenMp &runtime) {
    Job job;
    ThreadPool pool;
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
    if (job.child == 0) {
      alarm(20);
      _exit(!isWhole && Visits(runtime, 1000).run(pool) ? 0 : 1);
    }
    EXPECT_TRUE(isWhole);
    int status = -1;
    ASSERT_EQ(waitpid(job.child, &status, 0), job.child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  });
}

namespace {
/// A tree of control groups as the kernel shows it.
struct Groups {
  TemporaryDirectory root;
  void write(const std::string &group, const std::string &file, const std::string &text) {
    std::string directory = root.path + group;
    ASSERT_EQ(system(("mkdir -p " + directory).c_str()), 0);
    std::ofstream(directory + "/" + file) << text;
  }
};
} // namespace

TEST(AvailableCoresTest, TheLeastQuotaOfAllGroupsCounts) {
  Groups groups;
  groups.write("/pod", "cpu.max", "250000 100000\n");
  groups.write("/pod/app", "cpu.max", "max 100000\n");
  EXPECT_EQ(coresOfQuota("0::/pod/app\n", groups.root.path), 3) << "2.5 cores";
  EXPECT_EQ(coresOfQuota("0::/\n", groups.root.path), 0);
  groups.write("", "cpu.max", "50000 100000\n");
  EXPECT_EQ(coresOfQuota("0::/pod/app\n", groups.root.path), 1);
}

TEST(AvailableCoresTest, QuotasOfVersion1) {
  Groups groups;
  groups.write("/cpu/app", "cpu.cfs_quota_us", "400000\n");
  groups.write("/cpu/app", "cpu.cfs_period_us", "100000\n");
  groups.write("/cpu/free", "cpu.cfs_quota_us", "-1\n");
  groups.write("/cpu/free", "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(coresOfQuota("4:cpu,cpuacct:/app\n3:memory:/\n", groups.root.path), 4);
  EXPECT_EQ(coresOfQuota("4:cpu,cpuacct:/free\n", groups.root.path), 0);
  EXPECT_EQ(coresOfQuota("4:cpuset:/app\n", groups.root.path), 0);
}

TEST(AvailableCoresTest, ATeamIsHeldWithinTheQuota) {
  EXPECT_EQ(threadsWithinQuota(32, 64, 4), 4);
  EXPECT_EQ(threadsWithinQuota(2, 64, 4), 2);
  EXPECT_EQ(threadsWithinQuota(32, 64, 0), 32) << "no quota";
  EXPECT_EQ(threadsWithinQuota(100, 64, 4), 100) << "asked for";
}
