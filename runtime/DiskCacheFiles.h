// The file operations of the disk cache: private directories, whole-file reads, atomic writes,
// eviction.
#ifndef RUNTIME_DISKCACHEFILES_H
#define RUNTIME_DISKCACHEFILES_H
#include <cstdint>
#include <string>
#include <string_view>

namespace tw::disk {

/// Makes `path` and its missing parents with mode 0700. Empty when it is a directory of ours that
/// only we can write; else the reason for people.
std::string makePrivateDirectory(const std::string &path);

/// Failed: nothing is known of the file. Foreign: there is something that no cache wrote.
enum class ReadOutcome { Read, Failed, Foreign };
ReadOutcome readOwnFile(const std::string &path, std::string &bytes);

/// Why a directory that others filled may not be read; empty where it is root's or ours, and nobody
/// else can write to it.
std::string problemOfLayer(const std::string &path);
/// The same as `readOwnFile` of a file in such a directory, for which the same holds.
ReadOutcome readLayerFile(const std::string &path, std::string &bytes);

/// Removes what stands in an entry's place, even a directory.
void removeEntry(const std::string &path);

/// Writes `front` and `content` to a new file of mode 0600 and renames it to `path`. Returns why that
/// failed, and nothing is left behind then; else an empty text.
std::string publishFile(const std::string &path, std::string_view front, std::string_view content);

/// Notes that the file was used, at most once an hour.
void touchIfStale(const std::string &path);

/// When the files two levels below `root` take more than `maxBytes`, removes those used longest ago
/// until `keptBytes` are left; also what interrupted writers left behind an hour ago or earlier.
void evictOldest(const std::string &root, uint64_t maxBytes, uint64_t keptBytes);

} // namespace tw::disk
#endif
