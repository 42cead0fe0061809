// Keeps compiled kernels on disk between processes, and never returns a byte that was not written.
#ifndef RUNTIME_DISKCACHE_H
#define RUNTIME_DISKCACHE_H
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tw {

/// A cryptographic hash of 32 bytes.
using ContentHash = std::array<uint8_t, 32> (*)(std::string_view bytes);

struct DiskCacheSettings {
  std::string directory; // entries go to directory/v<schema>/<2 hex>/<64 hex>
  ContentHash hash = nullptr;
  uint64_t maxBytes = 2ull << 30; // beyond it, the least recently used go until 70 % is left
  int writesPerSizeCheck = 64;    // of all processes together, on average
  int lockMilliseconds = 10'000;  // longest wait for another process that compiles the same kernel
};

struct DiskCacheCounts {
  std::atomic<uint64_t> hits = 0, misses = 0, corrupt = 0, writes = 0, writeFailures = 0;
};

/// Thread safe. Every input or output error is a miss; keys are 64 lower-case hex digits.
class DiskCache {
public:
  explicit DiskCache(DiskCacheSettings settings);
  ~DiskCache();
  DiskCache(const DiskCache &) = delete;
  DiskCache &operator=(const DiskCache &) = delete;

  /// The content written under `key`, verified. A damaged entry is removed and counted. A second
  /// look for the same request, after `lock`, counts no second miss.
  std::optional<std::string> read(const std::string &key, bool isSecondLook = false);
  /// Publishes an entry at once and whole, or not at all.
  bool write(const std::string &key, std::string_view content);
  /// The content of an entry's file, or nothing where any byte is not as it was written.
  static std::optional<std::string> contentOf(ContentHash hash, const std::string &key,
                                              const std::string &file);
  /// The content of an entry in a directory that others filled and that is only read: verified, and
  /// nothing where anyone but root and this user can write to the entry or the way to it. `damaged`
  /// is then the file that is not as it was written, if that is why.
  static std::optional<std::string> readLayer(ContentHash hash, const std::string &directory,
                                              const std::string &key,
                                              std::string *damaged = nullptr);
  /// Why nothing is read from such a directory; empty where it is.
  static std::string problemOfLayer(const std::string &directory);
  /// Removes an entry whose content turned out to be useless.
  void remove(const std::string &key);

  /// Held while one process compiles `key`. Advisory: without it work is done twice, never wrongly.
  class Lock {
  public:
    Lock() = default;
    Lock(Lock &&other) noexcept
        : hadToWait(other.hadToWait), isInterrupted(other.isInterrupted), file(other.file) {
      other.file = -1;
    }
    Lock &operator=(Lock &&) = delete;
    ~Lock();
    /// True if another process held it before: the entry may exist by now.
    bool hadToWait = false;
    /// True if the wait was given up (Ctrl-C): then so is the work that it was for.
    bool isInterrupted = false;

  private:
    friend class DiskCache;
    int file = -1;
  };
  Lock lock(const std::string &key);

  /// Returns true if entries can be read and written at all.
  bool isUsable() { return prepare(); }
  /// Why the directory cannot be used, or an entry was not written for the first time; each is said
  /// once, and the text is empty otherwise.
  std::string takeWarning();
  const DiskCacheCounts &counts() const { return counters; }

private:
  bool prepare();
  bool openRoot();
  void noteUnwritten(const std::string &reason);
  std::string pathOf(const std::string &key) const;
  void maintainSize();

  const DiskCacheSettings settings;
  const std::string root; // directory/v<schema>
  DiskCacheCounts counters;
  std::mutex mutex; // guards what follows
  enum class Access { Unknown, Usable, Unusable } access = Access::Unknown;
  std::string warning;
  bool hasFailedToWrite = false;
  int writesUntilSizeCheck;
};

} // namespace tw
#endif
