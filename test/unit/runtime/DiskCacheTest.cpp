// The disk cache returns what was written or nothing, heals what is damaged and never fails a
// caller.
#include "runtime/DiskCache.h"
#include "test/unit/runtime/TemporaryDirectory.h"
#include <atomic>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tw;
namespace fs = std::filesystem;

/// FNV-1a in four lanes: enough to tell damaged entries in tests that know of no attacker.
static std::array<uint8_t, 32> testHash(std::string_view bytes) {
  std::array<uint8_t, 32> result{};
  for (unsigned lane = 0; lane < 4; ++lane) {
    uint64_t state = 0xcbf29ce484222325ull + lane;
    for (unsigned char byte : bytes)
      state = (state ^ byte) * 0x100000001b3ull;
    memcpy(result.data() + lane * 8, &state, 8);
  }
  return result;
}

static DiskCacheSettings settingsFor(const std::string &directory) {
  DiskCacheSettings settings;
  settings.directory = directory;
  settings.hash = testHash;
  return settings;
}

static std::string keyOf(unsigned number) {
  char text[65];
  snprintf(text, sizeof(text), "%08x%056x", number * 2654435761u, number);
  return text;
}

static std::string entryPath(const std::string &directory, const std::string &key) {
  return directory + "/v1/" + key.substr(0, 2) + "/" + key;
}

static std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

static mode_t modeOf(const std::string &path) {
  struct stat status{};
  stat(path.c_str(), &status);
  return status.st_mode & 0777;
}

TEST(DiskCacheTest, ReturnsWhatWasWritten) {
  TemporaryDirectory directory;
  std::string content("kernel\0code", 11);
  DiskCache writer(settingsFor(directory.path));
  EXPECT_FALSE(writer.read(keyOf(1)));
  EXPECT_TRUE(writer.write(keyOf(1), content));
  DiskCache reader(settingsFor(directory.path));
  EXPECT_EQ(reader.read(keyOf(1)), content);
  EXPECT_FALSE(reader.read(keyOf(2)));
  EXPECT_EQ(reader.counts().hits, 1u);
  EXPECT_EQ(reader.counts().misses, 1u);
  EXPECT_EQ(reader.takeWarning(), "");
}

TEST(DiskCacheTest, FilesAreThePersonsOwn) {
  TemporaryDirectory directory;
  std::string path = directory.path + "/deep/cache";
  DiskCache cache(settingsFor(path));
  ASSERT_TRUE(cache.write(keyOf(1), "content"));
  EXPECT_EQ(modeOf(path), 0700u);
  EXPECT_EQ(modeOf(path + "/v1"), 0700u);
  EXPECT_EQ(modeOf(entryPath(path, keyOf(1))), 0600u);
}

TEST(DiskCacheTest, NoFlippedBitIsReturned) {
  TemporaryDirectory directory;
  DiskCache cache(settingsFor(directory.path));
  ASSERT_TRUE(cache.write(keyOf(1), "some machine code"));
  std::string path = entryPath(directory.path, keyOf(1)), original = readFile(path);
  for (size_t bit = 0; bit < original.size() * 8; ++bit) {
    std::string damaged = original;
    damaged[bit / 8] ^= char(1 << (bit % 8));
    writeFile(path, damaged);
    ASSERT_FALSE(cache.read(keyOf(1))) << "bit " << bit;
    ASSERT_FALSE(fs::exists(path)) << "bit " << bit;
  }
  EXPECT_EQ(cache.counts().corrupt, original.size() * 8);
  EXPECT_TRUE(cache.write(keyOf(1), "some machine code"));
  EXPECT_EQ(cache.read(keyOf(1)), "some machine code");
}

TEST(DiskCacheTest, NoOtherDamageIsReturned) {
  TemporaryDirectory directory;
  DiskCache cache(settingsFor(directory.path));
  ASSERT_TRUE(cache.write(keyOf(2), "the entry of another key"));
  ASSERT_TRUE(cache.write(keyOf(1), "some machine code"));
  std::string path = entryPath(directory.path, keyOf(1)), original = readFile(path);
  std::vector<std::string> damages = {"",
                                      original.substr(0, 7),
                                      original.substr(0, original.size() - 1),
                                      original + "x",
                                      std::string(original.size(), '\0'),
                                      readFile(entryPath(directory.path, keyOf(2))),
                                      original.substr(0, 100) + original};
  for (const std::string &damage : damages) {
    writeFile(path, damage);
    EXPECT_FALSE(cache.read(keyOf(1)));
    EXPECT_FALSE(fs::exists(path));
  }
  fs::create_symlink(entryPath(directory.path, keyOf(2)), path);
  EXPECT_FALSE(cache.read(keyOf(1))) << "an entry is not a link";
}

TEST(DiskCacheTest, RefusesKeysThatArePaths) {
  TemporaryDirectory directory;
  DiskCache cache(settingsFor(directory.path));
  std::string key = "../../../../etc/passwd";
  key.resize(64, 'a');
  EXPECT_FALSE(cache.write(key, "x"));
  EXPECT_FALSE(cache.read(key));
}

static void expectUnusable(const std::string &directory, const std::string &reason) {
  DiskCache cache(settingsFor(directory));
  EXPECT_FALSE(cache.write(keyOf(1), "x"));
  EXPECT_FALSE(cache.read(keyOf(1)));
  std::string warning = cache.takeWarning();
  EXPECT_NE(warning.find(reason), std::string::npos) << warning;
  EXPECT_EQ(cache.takeWarning(), "") << "one warning is enough";
}

TEST(DiskCacheTest, UnusableDirectoryIsOneWarning) {
  TemporaryDirectory directory;
  fs::create_directory(directory.path + "/open");
  ASSERT_EQ(chmod((directory.path + "/open").c_str(), 0777), 0);
  expectUnusable(directory.path + "/open", "everyone can write");
  fs::create_directory_symlink(directory.path, directory.path + "/link");
  expectUnusable(directory.path + "/link", "symbolic link");
  writeFile(directory.path + "/file", "");
  expectUnusable(directory.path + "/file", "not a directory");
  expectUnusable(directory.path + "/file/below", "cannot be created");
  expectUnusable("/proc/tilewright", "cannot be created");
}

TEST(DiskCacheTest, DirectoryRemovedMeanwhileIsMadeAgain) {
  TemporaryDirectory directory;
  DiskCache cache(settingsFor(directory.path + "/cache"));
  ASSERT_TRUE(cache.write(keyOf(1), "x"));
  fs::remove_all(directory.path + "/cache");
  EXPECT_FALSE(cache.read(keyOf(1)));
  EXPECT_TRUE(cache.write(keyOf(1), "x"));
  EXPECT_EQ(cache.read(keyOf(1)), "x");
}

TEST(DiskCacheTest, KeepsTheRecentlyUsedBelowTheCap) {
  TemporaryDirectory directory;
  DiskCacheSettings settings = settingsFor(directory.path);
  settings.maxBytes = 20'000;
  settings.writesPerSizeCheck = 1;
  DiskCache cache(settings);
  const std::string content(1000, 'c');
  const auto now = fs::file_time_type::clock::now();
  for (unsigned i = 0; i < 100; ++i) {
    ASSERT_TRUE(cache.write(keyOf(i), content));
    // Written one second apart, as far as the file system can tell.
    fs::last_write_time(entryPath(directory.path, keyOf(i)), now - std::chrono::seconds(1000 - i));
    uint64_t total = 0;
    for (const auto &file : fs::recursive_directory_iterator(directory.path))
      total += file.is_regular_file() ? file.file_size() : 0;
    ASSERT_LE(total, settings.maxBytes);
  }
  EXPECT_FALSE(cache.read(keyOf(0)));
  EXPECT_EQ(cache.read(keyOf(99)), content);
}

TEST(DiskCacheTest, LockIsHeldByOneAtATime) {
  TemporaryDirectory directory;
  DiskCache cache(settingsFor(directory.path));
  std::atomic<int> inside = 0, overlaps = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        DiskCache::Lock lock = cache.lock(keyOf(1));
        overlaps += inside++ != 0;
        std::this_thread::yield();
        inside--;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(overlaps, 0);
}

TEST(DiskCacheTest, LockTimesOutAndOtherKeysAreFree) {
  TemporaryDirectory directory;
  DiskCacheSettings settings = settingsFor(directory.path);
  settings.lockMilliseconds = 5;
  DiskCache cache(settings);
  DiskCache::Lock held = cache.lock(keyOf(1));
  EXPECT_FALSE(held.hadToWait);
  EXPECT_FALSE(cache.lock(keyOf(2)).hadToWait) << "another key";
  EXPECT_TRUE(cache.lock(keyOf(1)).hadToWait) << "returns without the lock";
}

TEST(DiskCacheTest, KilledWriterLeavesNoWrongEntry) {
  TemporaryDirectory directory;
  const std::string content(1 << 20, 'k');
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    if (child == 0) {
      DiskCache cache(settingsFor(directory.path));
      for (unsigned i = 0;; ++i)
        cache.write(keyOf(i % 4), content);
    }
    usleep(random() % 5000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    DiskCache cache(settingsFor(directory.path));
    for (unsigned i = 0; i < 4; ++i)
      if (auto found = cache.read(keyOf(i)))
        EXPECT_EQ(*found, content);
    EXPECT_EQ(cache.counts().corrupt, 0u);
  }
}

TEST(DiskCacheTest, ProcessesShareOneCompilePerKey) {
  constexpr int kProcesses = 8, kKeys = 12;
  TemporaryDirectory directory;
  void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto *numCompiles = new (shared) std::atomic<int>(0);
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() != 0)
      continue;
    DiskCache cache(settingsFor(directory.path));
    int numWrong = 0;
    for (unsigned i = 0; i < kKeys; ++i) {
      if (cache.read(keyOf(i)))
        continue;
      DiskCache::Lock lock = cache.lock(keyOf(i));
      std::optional<std::string> found = cache.read(keyOf(i));
      if (found) {
        numWrong += *found != std::to_string(i);
        continue;
      }
      ++*numCompiles;
      usleep(2000); // what a compile would take
      cache.write(keyOf(i), std::to_string(i));
    }
    _exit(numWrong);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*numCompiles, kKeys);
  munmap(shared, 4096);
}
