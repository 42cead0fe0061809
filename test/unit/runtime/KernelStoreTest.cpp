// Each key is made by one thread at a time, and every thread gets what was made.
#include "backend/api/KernelStore.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tw;
using namespace tw::api;

static std::shared_ptr<CompiledKernel> makeKernel(const std::string &key) {
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->key = key;
  return kernel;
}

/// The kernel of a key, made by this thread where nobody else does.
static std::shared_ptr<CompiledKernel> obtain(KernelStore &store, const std::string &key,
                                              std::atomic<int> &numMade) {
  KernelStore::Turn turn = store.findOrBegin(key);
  if (turn.kernel || !turn.isOwner)
    return turn.kernel;
  ++numMade;
  usleep(200);
  std::shared_ptr<CompiledKernel> kernel = makeKernel(key);
  store.finish(key, kernel);
  return kernel;
}

TEST(KernelStoreTest, ThreadsMakeEachKernelOnce) {
  KernelStore store(100);
  std::atomic<int> numMade = 0, numWrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        std::string key = std::to_string(j / 4);
        std::shared_ptr<CompiledKernel> kernel = obtain(store, key, numMade);
        numWrong += !kernel || kernel->key != key;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numMade, 50);
  EXPECT_EQ(numWrong, 0);
}

TEST(KernelStoreTest, WhatIsEvictedOrClearedIsMadeAgain) {
  KernelStore store(3);
  std::atomic<int> numMade = 0, numWrong = 0;
  std::atomic<bool> isStopping = false;
  std::thread clearer([&] {
    while (!isStopping) {
      store.clear();
      usleep(100);
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 100; ++j) {
        std::string key = std::to_string((i + j) % 7);
        std::shared_ptr<CompiledKernel> kernel = obtain(store, key, numMade);
        numWrong += !kernel || kernel->key != key;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  isStopping = true;
  clearer.join();
  EXPECT_EQ(numWrong, 0);
  EXPECT_GT(numMade, 7);
}

TEST(KernelStoreTest, AChildMakesWhatAThreadOfItsParentWasMaking) {
  KernelStore store(10);
  std::atomic<int> numMade = 0;
  std::thread([&] { EXPECT_TRUE(store.findOrBegin("k").isOwner); }).join();
  pid_t child = fork();
  if (child == 0)
    _exit(obtain(store, "k", numMade) && numMade == 1 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  store.finish("k", nullptr);
}
