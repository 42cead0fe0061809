// The disk cache returns what was written or nothing, heals what is damaged and never fails a
// caller.
#include "runtime/DiskCache.h"
#include "test/unit/runtime/DiskCacheEntries.h"
#include "test/unit/runtime/TemporaryDirectory.h"
#include <atomic>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tw;
namespace fs = std::filesystem;

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

TEST(DiskCacheTest, ProcessesOfOneWriteMeasureTheDirectoryNowAndThen) {
  TemporaryDirectory directory;
  DiskCacheSettings settings = settingsFor(directory.path);
  settings.maxBytes = 20'000;
  settings.writesPerSizeCheck = 4;
  constexpr unsigned kWrites = 300, kMostBetween = 80; // that many in vain: once in 10^10
  unsigned numChecks = 0;
  size_t numBefore = 0;
  for (unsigned i = 0; i < kWrites; ++i) {
    DiskCache cache(settings); // as another process has it
    ASSERT_TRUE(cache.write(keyOf(i), std::string(1000, 'c')));
    size_t numFiles = 0;
    for (const auto &file : fs::recursive_directory_iterator(directory.path))
      numFiles += file.is_regular_file();
    numChecks += numFiles <= numBefore;
    numBefore = numFiles;
    ASSERT_LE(numFiles, settings.maxBytes / 1000 + kMostBetween);
  }
  EXPECT_LT(numChecks, kWrites / 2);
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

TEST(DiskCacheTest, LayerIsReadAndNeverChanged) {
  TemporaryDirectory directory;
  ASSERT_TRUE(DiskCache(settingsFor(directory.path)).write(keyOf(1), "shared"));
  std::string path = entryPath(directory.path, keyOf(1)), original = readFile(path);
  EXPECT_EQ(DiskCache::problemOfLayer(directory.path), "");
  EXPECT_EQ(DiskCache::readLayer(testHash, directory.path, keyOf(1)), "shared");
  std::string absent;
  EXPECT_FALSE(DiskCache::readLayer(testHash, directory.path, keyOf(2), &absent));
  EXPECT_EQ(absent, "");
  EXPECT_FALSE(DiskCache::readLayer(testHash, directory.path + "/nothing", keyOf(1)));
  EXPECT_NE(DiskCache::problemOfLayer(directory.path + "/nothing"), "");
  for (size_t bit = 0; bit < original.size() * 8; ++bit) {
    std::string tampered = original;
    tampered[bit / 8] ^= char(1 << (bit % 8));
    writeFile(path, tampered);
    std::string damaged;
    ASSERT_FALSE(DiskCache::readLayer(testHash, directory.path, keyOf(1), &damaged));
    ASSERT_EQ(damaged, path) << "bit " << bit;
    ASSERT_EQ(readFile(path), tampered) << "a layer is not healed";
  }
}

TEST(DiskCacheTest, LayerThatOthersCanWriteToIsNotRead) {
  TemporaryDirectory directory;
  ASSERT_TRUE(DiskCache(settingsFor(directory.path)).write(keyOf(1), "shared"));
  std::string path = entryPath(directory.path, keyOf(1)), shard = path.substr(0, path.rfind('/'));
  auto read = [&] { return DiskCache::readLayer(testHash, directory.path, keyOf(1)); };
  for (const std::string &place : {directory.path, directory.path + "/v1", shard, path})
    for (mode_t others : {S_IWGRP, S_IWOTH}) {
      mode_t before = modeOf(place);
      ASSERT_EQ(chmod(place.c_str(), before | others), 0);
      EXPECT_FALSE(read()) << place;
      ASSERT_EQ(chmod(place.c_str(), before), 0);
      EXPECT_EQ(read(), "shared");
    }
  if (geteuid() != 0)
    return; // only root gives files away
  for (const std::string &place : {directory.path, directory.path + "/v1", shard, path}) {
    ASSERT_EQ(chown(place.c_str(), 12345, gid_t(-1)), 0);
    EXPECT_FALSE(read()) << place;
    ASSERT_EQ(chown(place.c_str(), 0, gid_t(-1)), 0);
  }
  EXPECT_EQ(read(), "shared");
  fs::rename(path, path + "x");
  fs::create_symlink(path + "x", path);
  EXPECT_FALSE(read()) << "an entry is not a link";
}
