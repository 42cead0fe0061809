// The file operations of the disk cache: private directories, whole-file reads, atomic writes,
// eviction.
#include "runtime/DiskCacheFiles.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace tw;
using namespace tw::disk;

static constexpr time_t kStaleSeconds = 3600;
/// No kernel comes near this: a larger file is not an entry.
static constexpr off_t kLargestFile = off_t(1) << 30;
/// Part of every unfinished file's name.
static constexpr std::string_view kTemporaryMark = ".tmp.";

/// mkdir -p; false with errno set.
static bool makeDirectories(const std::string &path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST)
    return true;
  size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0)
    return false;
  return makeDirectories(path.substr(0, slash)) &&
         (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

std::string disk::makePrivateDirectory(const std::string &path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 &&
      (!makeDirectories(path) || ::lstat(path.c_str(), &status) != 0))
    return "it cannot be created (" + std::string(strerror(errno)) + ")";
  if (S_ISLNK(status.st_mode))
    return "it is a symbolic link";
  if (!S_ISDIR(status.st_mode))
    return "it is not a directory";
  if (status.st_uid != ::geteuid())
    return "it belongs to another user";
  if (status.st_mode & S_IWOTH)
    return "everyone can write to it";
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0)
    return "it cannot be written (" + std::string(strerror(errno)) + ")";
  return {};
}

namespace {
/// Closes a file at the end of a scope.
struct OpenFile {
  explicit OpenFile(int descriptor) : descriptor(descriptor) {}
  ~OpenFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  OpenFile(const OpenFile &) = delete;
  int descriptor;
};
} // namespace

static int openRetrying(const std::string &path, int flags, mode_t mode = 0) {
  int descriptor;
  do
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/// Returns who else than root and us may have written the file, or can change it; empty for nobody.
static std::string whoseElse(const struct stat &status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return "it belongs to another user";
  return status.st_mode & (S_IWGRP | S_IWOTH) ? "others can write to it" : "";
}

std::string disk::problemOfLayer(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return strerror(errno);
  return S_ISDIR(status.st_mode) ? whoseElse(status) : "it is not a directory";
}

static ReadOutcome readFile(const std::string &path, std::string &bytes, bool isOfLayer) {
  // O_NONBLOCK: a FIFO in an entry's place must not stop us.
  OpenFile file(openRetrying(path, O_RDONLY | O_NONBLOCK));
  if (file.descriptor < 0)
    return errno == ELOOP ? ReadOutcome::Foreign : ReadOutcome::Failed;
  struct stat status;
  if (::fstat(file.descriptor, &status) != 0)
    return ReadOutcome::Failed;
  bool isTrusted = isOfLayer ? whoseElse(status).empty() : status.st_uid == ::geteuid();
  if (!S_ISREG(status.st_mode) || !isTrusted || status.st_size > kLargestFile)
    return ReadOutcome::Foreign;
  bytes.resize(size_t(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::pread(file.descriptor, bytes.data() + done, bytes.size() - done, off_t(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ReadOutcome::Failed;
    if (got == 0)
      break;
    done += size_t(got);
  }
  bytes.resize(done);
  return ReadOutcome::Read;
}

ReadOutcome disk::readOwnFile(const std::string &path, std::string &bytes) {
  return readFile(path, bytes, /*isOfLayer=*/false);
}

ReadOutcome disk::readLayerFile(const std::string &path, std::string &bytes) {
  return readFile(path, bytes, /*isOfLayer=*/true);
}

static bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written == 0)
      errno = ENOSPC;
    if (written <= 0)
      return false;
    bytes.remove_prefix(size_t(written));
  }
  return true;
}

/// A name that no other writer uses at the same time. O_EXCL catches the rest.
static std::string temporaryName(const std::string &path) {
  static std::atomic<uint64_t> serial = 0;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return path + std::string(kTemporaryMark) + std::to_string(::getpid()) + "." +
         std::to_string(now.tv_nsec) + "." + std::to_string(++serial);
}

static std::string unwritten(int error) {
  return "an entry cannot be written (" + std::string(strerror(error)) + ")";
}

std::string disk::publishFile(const std::string &path, std::string_view front,
                              std::string_view content) {
  const std::string temporary = temporaryName(path);
  int descriptor = openRetrying(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (descriptor < 0)
    return unwritten(errno);
  int error = writeAll(descriptor, front) && writeAll(descriptor, content) ? 0 : errno;
  // Some file systems report a full disk only here.
  bool isWritten = ::close(descriptor) == 0 && !error;
  if (isWritten && ::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  error = error ? error : errno;
  ::unlink(temporary.c_str());
  return unwritten(error);
}

void disk::removeEntry(const std::string &path) {
  // Links are removed, not followed.
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void disk::touchIfStale(const std::string &path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0 && ::time(nullptr) - status.st_mtime > kStaleSeconds)
    (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

namespace {
struct StoredFile {
  std::string path;
  uint64_t bytes;
  timespec lastUse;
};
} // namespace

static std::vector<std::string> listDirectory(const std::string &path) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR *)> directory(::opendir(path.c_str()), ::closedir);
  while (directory) {
    dirent *entry = ::readdir(directory.get());
    if (!entry)
      break;
    if (entry->d_name[0] != '.')
      names.emplace_back(entry->d_name);
  }
  return names;
}

static std::vector<StoredFile> listEntries(const std::string &root) {
  std::vector<StoredFile> files;
  time_t now = ::time(nullptr);
  for (const std::string &shard : listDirectory(root)) {
    if (shard.size() != 2)
      continue;
    for (const std::string &name : listDirectory(root + "/" + shard)) {
      std::string path = root + "/" + shard + "/" + name;
      struct stat status;
      if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        continue;
      bool isTemporary = name.find(kTemporaryMark) != std::string::npos;
      if (isTemporary && now - status.st_mtime > kStaleSeconds)
        ::unlink(path.c_str());
      else if (!isTemporary)
        files.push_back({path, uint64_t(status.st_size), status.st_mtim});
    }
  }
  return files;
}

void disk::evictOldest(const std::string &root, uint64_t maxBytes, uint64_t keptBytes) {
  std::vector<StoredFile> files = listEntries(root);
  uint64_t total = 0;
  for (const StoredFile &file : files)
    total += file.bytes;
  if (total <= maxBytes)
    return;
  std::sort(files.begin(), files.end(), [](const StoredFile &a, const StoredFile &b) {
    return std::pair(a.lastUse.tv_sec, a.lastUse.tv_nsec) <
           std::pair(b.lastUse.tv_sec, b.lastUse.tv_nsec);
  });
  for (const StoredFile &file : files) {
    if (total <= keptBytes)
      break;
    if (::unlink(file.path.c_str()) == 0)
      total -= file.bytes;
  }
}
