// The disk cache under faults: system calls that fail, damaged entries, killed processes, many at
// once. A few of each; with DISK_CACHE_FAULTS=full as many as shall never be wrong.
#include "runtime/DiskCache.h"
#include "test/unit/runtime/DiskCacheEntries.h"
#include "test/unit/runtime/TemporaryDirectory.h"
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tw;
namespace fs = std::filesystem;

/// `few`, or `all` where the whole harness was asked for.
static int count(int few, int all) {
  const char *asked = getenv("DISK_CACHE_FAULTS");
  return asked && std::string_view(asked) == "full" ? all : few;
}

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
// Sanitizers have functions of their own in the place of these.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define FAILS_SYSTEM_CALLS 1

namespace {
constexpr int kShort = -1; // half of what was asked for is read or written
struct Fault {
  bool isArmed = false;
  int callsLeft = 0, error = 0;

  /// Whether this call is the one that fails.
  bool strikes() {
    if (!isArmed || --callsLeft > 0)
      return false;
    isArmed = false;
    errno = error == kShort ? EIO : error;
    return true;
  }
} fault;
} // namespace

// The executable's own functions come before the C library's.
extern "C" {
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fault.strikes() ? -1 : int(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int close(int file) {
  bool fails = fault.strikes();
  int error = errno;
  int result = int(syscall(SYS_close, file));
  errno = fails ? error : errno;
  return fails ? -1 : result;
}
ssize_t pread(int file, void *data, size_t bytes, off_t offset) {
  bool isShort = fault.error == kShort, strikes = fault.strikes();
  if (strikes && !isShort)
    return -1;
  return syscall(SYS_pread64, file, data, strikes ? (bytes + 1) / 2 : bytes, offset);
}
ssize_t write(int file, const void *data, size_t bytes) {
  bool isShort = fault.error == kShort, strikes = fault.strikes();
  if (strikes && !isShort)
    return -1;
  return syscall(SYS_write, file, data, strikes ? (bytes + 1) / 2 : bytes);
}
int rename(const char *from, const char *to) noexcept {
  return fault.strikes() ? -1 : int(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char *path) noexcept {
  return fault.strikes() ? -1 : int(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int mkdir(const char *path, mode_t mode) noexcept {
  return fault.strikes() ? -1 : int(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int lstat(const char *path, struct stat *status) noexcept {
  return fault.strikes() ? -1 : fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int stat(const char *path, struct stat *status) noexcept {
  return fault.strikes() ? -1 : fstatat(AT_FDCWD, path, status, 0);
}
int fstat(int file, struct stat *status) noexcept {
  return fault.strikes() ? -1 : fstatat(file, "", status, AT_EMPTY_PATH);
}
int fcntl(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  long argument = va_arg(rest, long);
  va_end(rest);
  return fault.strikes() ? -1 : int(syscall(SYS_fcntl, file, command, argument));
}
}

static const std::string kContent(5000, 'c'), kOther(3000, 'o');

namespace {
struct Scenario {
  const char *name;
  std::function<void(const std::string &directory)> prepare;
  /// Gives whether the first key's entry was promised to be there.
  std::function<bool(DiskCache &cache)> act;
};
} // namespace

static void keep(const std::string &directory, unsigned key, const std::string &content) {
  DiskCache(settingsFor(directory)).write(keyOf(key), content);
}

/// A read gives what was written, or nothing.
static bool expectRead(DiskCache &cache) {
  std::optional<std::string> found = cache.read(keyOf(1));
  if (found)
    EXPECT_TRUE(*found == kContent);
  return found.has_value();
}

static std::vector<Scenario> scenarios() {
  auto nothing = [](const std::string &) {};
  auto one = [](const std::string &directory) { keep(directory, 1, kContent); };
  auto damaged = [](const std::string &directory) {
    keep(directory, 1, kContent);
    std::string path = entryPath(directory, keyOf(1)), bytes = readFile(path);
    bytes.back() ^= 1;
    writeFile(path, bytes);
  };
  auto several = [](const std::string &directory) {
    for (unsigned i = 1; i < 9; ++i)
      keep(directory, i, i == 1 ? kContent : kOther);
  };
  auto write = [](DiskCache &cache) { return cache.write(keyOf(1), kContent); };
  auto lock = [](DiskCache &cache) {
    DiskCache::Lock held = cache.lock(keyOf(1));
    return false;
  };
  auto evict = [](DiskCache &cache) {
    cache.write(keyOf(20), kOther);
    return false;
  };
  return {{"a first write", nothing, write},
          {"a write over another", one, write},
          {"a read", one, expectRead},
          {"a read of a damaged entry", damaged, expectRead},
          {"a lock", one, lock},
          {"an eviction", several, evict}};
}

static size_t numOpenFiles() {
  return size_t(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// Whether the call was reached that was to fail.
static bool runWithFault(const Scenario &scenario, int call, int error) {
  TemporaryDirectory directory;
  scenario.prepare(directory.path + "/cache");
  DiskCacheSettings settings = settingsFor(directory.path + "/cache");
  settings.maxBytes = 15'000;
  settings.writesPerSizeCheck = 1;
  settings.lockMilliseconds = 5;
  size_t openBefore = numOpenFiles();
  fault = {true, call, error};
  bool isPromised = false;
  {
    DiskCache cache(settings);
    isPromised = scenario.act(cache);
  }
  bool wasReached = !fault.isArmed;
  fault.isArmed = false;
  EXPECT_EQ(numOpenFiles(), openBefore);
  DiskCache later(settings);
  EXPECT_TRUE(expectRead(later) || !isPromised);
  EXPECT_TRUE(later.write(keyOf(1), kContent)) << "the cache heals";
  EXPECT_EQ(later.read(keyOf(1)), kContent);
  return wasReached;
}

TEST(DiskCacheFaultsTest, EverySystemCallMayFail) {
  const int errors[] = {EIO, EINTR, kShort, ENOSPC, EACCES, EROFS, EMFILE, ESTALE};
  for (const Scenario &scenario : scenarios())
    for (int error : std::span(errors).first(size_t(count(3, 8)))) {
      int call = 1;
      while (runWithFault(scenario, call, error) && !testing::Test::HasFailure())
        ++call;
      ASSERT_FALSE(testing::Test::HasFailure())
          << scenario.name << ", call " << call << " fails with " << error;
      EXPECT_GT(call, 2) << scenario.name << " calls nothing that could fail";
    }
}
#endif

TEST(DiskCacheFaultsTest, DamagedEntriesAreNeverReturned) {
  TemporaryDirectory directory;
  DiskCache cache(settingsFor(directory.path));
  std::mt19937 random(11);
  const std::string content(300, 'm');
  const std::string path = entryPath(directory.path, keyOf(1));
  ASSERT_TRUE(cache.write(keyOf(2), std::string(300, 'n')) && cache.write(keyOf(1), content));
  const std::string original = readFile(path),
                    other = readFile(entryPath(directory.path, keyOf(2)));
  for (int round = count(2'000, 100'000); round > 0; --round) {
    std::string damaged = original;
    size_t at = random() % damaged.size(), length = 1 + random() % (damaged.size() - at);
    switch (random() % 6) {
    case 0:
      damaged[at] ^= char(1 << random() % 8);
      break;
    case 1:
      damaged.resize(at);
      break;
    case 2:
      damaged.replace(at, length, length, '\0');
      break;
    case 3:
      damaged.replace(at, length, other, at, length);
      break;
    case 4:
      std::swap(damaged[at], damaged[random() % damaged.size()]);
      break;
    default:
      damaged[8] = char(random()); // the schema
    }
    writeFile(path, damaged);
    std::optional<std::string> found = cache.read(keyOf(1));
    ASSERT_EQ(found.has_value(), damaged == original);
    ASSERT_EQ(fs::exists(path), damaged == original) << "it heals";
  }
}

TEST(DiskCacheFaultsTest, KilledProcessesLeaveNoWrongEntry) {
  TemporaryDirectory directory;
  const std::string content(1 << 18, 'k');
  std::mt19937 random(7);
  int numFound = 0, written[2];
  ASSERT_EQ(pipe(written), 0);
  for (int round = count(20, 2'000); round > 0; --round) {
    pid_t child = fork();
    if (child == 0) {
      DiskCacheSettings settings = settingsFor(directory.path);
      settings.maxBytes = 1 << 20; // every fourth write evicts
      settings.writesPerSizeCheck = 1;
      DiskCache cache(settings);
      for (unsigned i = 0;; ++i) {
        bool isKept = cache.write(keyOf(i % 7), content);
        if (i == 0 && round % 2 == 0 && ::write(written[1], &isKept, 1) != 1)
          _exit(1);
      }
    }
    // Every other one is killed at its first write at the earliest, and the rest at any time.
    if (char first = 0; round % 2 == 0)
      ASSERT_EQ(::read(written[0], &first, 1), 1);
    usleep(random() % 5000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    DiskCache cache(settingsFor(directory.path));
    for (unsigned i = 0; i < 7; ++i)
      if (auto found = cache.read(keyOf(i))) {
        ASSERT_TRUE(*found == content);
        ++numFound;
      }
    ASSERT_EQ(cache.counts().corrupt, 0u);
  }
  close(written[0]);
  close(written[1]);
  EXPECT_GT(numFound, 0) << "no process wrote anything";
}

/// Reads keys or writes them under their locks, as compilations do; the exit status counts what is
/// wrong.
static int compileAll(const std::string &directory, unsigned keys, std::atomic<int> &numCompiles) {
  DiskCacheSettings settings = settingsFor(directory);
  settings.lockMilliseconds = 60'000;
  DiskCache cache(settings);
  int numWrong = 0;
  for (unsigned i = 0; i < keys; ++i) {
    std::optional<std::string> found = cache.read(keyOf(i));
    if (!found) {
      DiskCache::Lock lock = cache.lock(keyOf(i));
      found = cache.read(keyOf(i));
      if (!found) {
        ++numCompiles;
        usleep(2000); // what a compile would take
        cache.write(keyOf(i), std::to_string(i));
        continue;
      }
    }
    numWrong += *found != std::to_string(i);
  }
  return std::min(numWrong, 100);
}

TEST(DiskCacheFaultsTest, ProcessesShareOneCompilePerKey) {
  const int numProcesses = count(8, 64), numKeys = count(12, 200);
  TemporaryDirectory directory;
  void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto *numCompiles = new (shared) std::atomic<int>(0);
  std::vector<pid_t> children;
  for (int process = 0; process < numProcesses; ++process) {
    children.push_back(fork());
    if (children.back() == 0)
      _exit(compileAll(directory.path, unsigned(numKeys), *numCompiles));
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*numCompiles, numKeys);
  munmap(shared, 4096);
}
