// Keeps compiled kernels on disk between processes, and never returns a byte that was not written.
#include "runtime/DiskCache.h"
#include "runtime/DiskCacheFiles.h"
#include "runtime/Interrupts.h"
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace tw;
using namespace tw::disk;

namespace {
constexpr char kMagic[8] = {'T', 'W', 'C', 'A', 'C', 'H', 'E', '\n'};
constexpr uint32_t kSchema = 1;

/// The front of every entry. The hash covers the rest of the header too, so a flip anywhere shows.
struct EntryHeader {
  char magic[8];
  uint32_t schema;
  uint32_t reserved;
  uint64_t length; // of the content that follows
  char key[64];
  uint8_t hash[32];
};
static_assert(sizeof(EntryHeader) == 120);
} // namespace

static bool isKey(const std::string &key) {
  return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

static std::array<uint8_t, 32> hashEntry(ContentHash hash, EntryHeader header,
                                         std::string_view content) {
  std::array<uint8_t, 32> ofContent = hash(content);
  memcpy(header.hash, ofContent.data(), sizeof(header.hash));
  return hash({reinterpret_cast<const char *>(&header), sizeof(header)});
}

static EntryHeader makeHeader(ContentHash hash, const std::string &key, std::string_view content) {
  EntryHeader header{};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.schema = kSchema;
  header.length = content.size();
  memcpy(header.key, key.data(), sizeof(header.key));
  std::array<uint8_t, 32> digest = hashEntry(hash, header, content);
  memcpy(header.hash, digest.data(), sizeof(header.hash));
  return header;
}

std::optional<std::string> DiskCache::contentOf(ContentHash hash, const std::string &key,
                                                const std::string &bytes) {
  EntryHeader header;
  if (!isKey(key) || bytes.size() < sizeof(header))
    return std::nullopt;
  memcpy(&header, bytes.data(), sizeof(header));
  std::string_view content = std::string_view(bytes).substr(sizeof(header));
  EntryHeader expected = makeHeader(hash, key, content);
  if (memcmp(&header, &expected, sizeof(header)) != 0)
    return std::nullopt;
  return std::string(content);
}

/// directory/v<schema>
static std::string rootOf(const std::string &directory) {
  return directory + "/v" + std::to_string(kSchema);
}

static std::string placeOf(const std::string &root, const std::string &key) {
  return root + "/" + key.substr(0, 2) + "/" + key;
}

/// Some number below `count`. Most processes write a few entries: if each measured the directory at
/// its first one, the first call of a kernel would wait for thousands of files to be looked at.
static int anyBelow(int count) {
  auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return int((uint64_t(now) ^ uint64_t(::getpid()) << 20) * 0x9E3779B97F4A7C15 >> 33) % count;
}

DiskCache::DiskCache(DiskCacheSettings settings)
    : settings(std::move(settings)), root(rootOf(this->settings.directory)),
      writesUntilSizeCheck(anyBelow(this->settings.writesPerSizeCheck)) {}

DiskCache::~DiskCache() = default;

std::string DiskCache::pathOf(const std::string &key) const { return placeOf(root, key); }

std::optional<std::string> DiskCache::readLayer(ContentHash hash, const std::string &directory,
                                                const std::string &key, std::string *damaged) {
  if (!isKey(key))
    return std::nullopt;
  const std::string root = rootOf(directory), path = placeOf(root, key);
  for (const std::string &folder : {directory, root, path.substr(0, path.rfind('/'))})
    if (!disk::problemOfLayer(folder).empty())
      return std::nullopt;
  std::string bytes;
  if (readLayerFile(path, bytes) != ReadOutcome::Read)
    return std::nullopt;
  std::optional<std::string> content = contentOf(hash, key, bytes);
  if (!content && damaged)
    *damaged = path;
  return content;
}

std::string DiskCache::problemOfLayer(const std::string &directory) {
  std::string why = disk::problemOfLayer(directory);
  return why.empty() ? disk::problemOfLayer(rootOf(directory)) : why;
}

bool DiskCache::openRoot() {
  std::string reason = makePrivateDirectory(settings.directory);
  if (reason.empty())
    reason = makePrivateDirectory(root);
  if (reason.empty())
    return true;
  warning = "the kernel cache " + settings.directory + " is not used: " + reason +
            "; kernels are kept in memory only";
  return false;
}

bool DiskCache::prepare() {
  std::lock_guard guard(mutex);
  if (access == Access::Unknown)
    access = openRoot() ? Access::Usable : Access::Unusable;
  return access == Access::Usable;
}

std::string DiskCache::takeWarning() {
  std::lock_guard guard(mutex);
  return std::exchange(warning, {});
}

std::optional<std::string> DiskCache::read(const std::string &key, bool isSecondLook) {
  if (!isKey(key) || !prepare()) {
    counters.misses += !isSecondLook;
    return std::nullopt;
  }
  const std::string path = pathOf(key);
  std::string bytes;
  ReadOutcome outcome = readOwnFile(path, bytes);
  std::optional<std::string> content;
  if (outcome == ReadOutcome::Read)
    content = contentOf(settings.hash, key, bytes);
  if (content) {
    ++counters.hits;
    touchIfStale(path);
    return content;
  }
  counters.misses += !isSecondLook;
  if (outcome == ReadOutcome::Read || outcome == ReadOutcome::Foreign) {
    ++counters.corrupt;
    removeEntry(path);
  }
  return std::nullopt;
}

bool DiskCache::write(const std::string &key, std::string_view content) {
  if (!isKey(key) || !prepare())
    return false;
  EntryHeader header = makeHeader(settings.hash, key, content);
  std::string_view front(reinterpret_cast<const char *>(&header), sizeof(header));
  // Someone may have removed the directory since it was prepared: every write makes what is
  // missing.
  const std::string shard = root + "/" + key.substr(0, 2);
  std::string reason;
  for (const std::string &needed : {settings.directory, root, shard})
    if (reason.empty())
      reason = makePrivateDirectory(needed);
  if (reason.empty())
    reason = publishFile(pathOf(key), front, content);
  if (!reason.empty()) {
    ++counters.writeFailures;
    noteUnwritten(reason);
    return false;
  }
  ++counters.writes;
  maintainSize();
  return true;
}

/// Warns of the first entry that cannot be written: a disk that is full stays so.
void DiskCache::noteUnwritten(const std::string &reason) {
  std::lock_guard guard(mutex);
  if (std::exchange(hasFailedToWrite, true))
    return;
  warning = "the kernel cache " + settings.directory + " does not take a kernel: " + reason +
            "; it is kept in memory only, and so are others that cannot be written";
}

void DiskCache::remove(const std::string &key) {
  if (!isKey(key) || !prepare())
    return;
  ++counters.corrupt;
  removeEntry(pathOf(key));
}

void DiskCache::maintainSize() {
  {
    std::lock_guard guard(mutex);
    if (writesUntilSizeCheck-- > 0)
      return;
    writesUntilSizeCheck = settings.writesPerSizeCheck - 1;
  }
  evictOldest(root, settings.maxBytes, settings.maxBytes / 10 * 7);
}

DiskCache::Lock::~Lock() {
  if (file < 0)
    return;
  // Explicitly: a forked child shares the open file, and closing ours would not release the lock.
  struct flock everything{};
  everything.l_type = F_UNLCK;
  everything.l_whence = SEEK_SET;
  (void)fcntl(file, F_OFD_SETLK, &everything);
  ::close(file);
}

/// One file holds all locks: a key locks the byte whose offset its first digits give.
DiskCache::Lock DiskCache::lock(const std::string &key) {
  Lock result;
  if (!isKey(key) || !prepare())
    return result;
  const std::string path = root + "/locks";
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return result;
  result.file = file;
  struct flock byte{};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = off_t(strtoull(key.substr(0, 15).c_str(), nullptr, 16));
  byte.l_len = 1;
  auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(settings.lockMilliseconds);
  auto pause = std::chrono::microseconds(500);
  InterruptClock interrupts;
  while (fcntl(file, F_OFD_SETLK, &byte) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return result; // this file system has no locks
    result.hadToWait = true;
    if (std::chrono::steady_clock::now() > deadline)
      return result;
    if (interrupts.ask()) {
      result.isInterrupted = true;
      return result;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
  return result;
}
