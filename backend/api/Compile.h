// The public C++ interface: compile, cache and launch kernels without Python. No LLVM types.
#ifndef BACKEND_API_COMPILE_H
#define BACKEND_API_COMPILE_H
#include "backend/compile/DebugSettings.h"
#include "runtime/Device.h"
#include "runtime/Specialization.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tw::api {
// Seen from outside: the portable build keeps the bindings and the compiler in files of their own.
#pragma GCC visibility push(default)

/// A report to the user, rendered and in parts (JSON) for tools.
struct Report {
  std::string kind;     // "compile", "unsupported", "launch", "device", "internal"
  std::string severity; // "error", "warning", "remark"
  std::string code, message, hint, rendered, json;
};

/// Evaluates static expressions that the frontend does not know: frontend/Frontend.h.
using StaticEvaluator = std::function<std::string(const std::string &)>;

/// Digests that identify a kernel's source in keys. Their maker guarantees that sources with equal
/// digests are equal: `meaning` covers what a binary depends on, which is all of the buffer except
/// its places in files (those too where assertions name them), `exact` the whole buffer.
struct SourceDigests {
  std::string meaning, exact;
};

/// One kernel's source buffer (frontend/README.md documents the format), hashed once.
class KernelSource {
public:
  explicit KernelSource(std::string json);
  KernelSource(std::string json, SourceDigests digests);
  const std::string &json() const { return text; }
  const std::string &digest() const { return hashes.meaning; }
  const SourceDigests &digests() const { return hashes; }

private:
  std::string text;
  SourceDigests hashes;
};

/// Where a compiled kernel came from.
enum class Origin { Compiled, Disk, Memory };

struct CompiledKernel {
  Artifact artifact;
  std::string key; // 64 hex digits: everything the binary depends on
  Origin origin = Origin::Compiled;
  std::shared_ptr<LoadedKernel> loaded;
  std::shared_ptr<Device> device;
};

struct CompileResult {
  std::shared_ptr<CompiledKernel> kernel; // null when a report is an error
  std::vector<Report> reports;
};

struct CacheSettings {
  std::string directory; // empty: memory only
  bool enabled = true;
};

/// Compiles for a target ("cpu", "reference", "sim:sm_80", ...) or finds the result in memory or on
/// disk. Thread safe; one compile per key at a time. A kernel that is looked into (dumps,
/// overrides, remarks) is compiled every time and kept nowhere.
CompileResult compile(const KernelSource &source, const Specialization &specialization,
                      const std::string &target, const StaticEvaluator &evaluator,
                      const CacheSettings &cache, const DebugSettings &debug = {});

/// The kernel from memory or disk by the digests of its source, so that nobody has to make the
/// source's text; null where it has to be compiled.
std::shared_ptr<CompiledKernel> find(const SourceDigests &source,
                                     const Specialization &specialization,
                                     const std::string &target, const CacheSettings &cache);

/// A compiled kernel on its way to another process: its key and what a cache keeps of it.
struct PackedKernel {
  std::string key, content; // `content` is empty when a report is an error
  std::vector<Report> reports;
};

/// Compiles as `compile` does, for another process: nothing is looked up, loaded or kept.
PackedKernel pack(const KernelSource &source, const Specialization &specialization,
                  const std::string &target, const StaticEvaluator &evaluator);

/// Loads and keeps a kernel that another process has packed, as if it had been compiled here. Null
/// where its key is not the one of this process (another build, other features of the processor),
/// or it cannot be loaded.
std::shared_ptr<CompiledKernel> unpack(const SourceDigests &source,
                                       const Specialization &specialization,
                                       const std::string &target, const std::string &key,
                                       const std::string &content, const CacheSettings &cache);

/// The text of one stage: "tile", "lowered", "llvm-dialect", "llvm", "asm"; nothing after that
/// stage runs.
CompileResult inspect(const KernelSource &source, const Specialization &specialization,
                      const std::string &target, const std::string &stage,
                      const StaticEvaluator &evaluator, std::string &text,
                      const DebugSettings &debug = {});

/// Runs a kernel over a grid on its device. No error: empty.
std::optional<RuntimeError> launch(CompiledKernel &kernel, const LaunchGrid &grid,
                                   std::span<const LaunchArgument> arguments);

struct CacheStatistics {
  uint64_t hits = 0, misses = 0, corrupt = 0, writes = 0, writeFailures = 0;
};
CacheStatistics cacheStatistics();
/// Keeps small texts of the caller between processes, beside the kernels of the same cache and as
/// safe as they are, but not among them: they are in no statistics. Keys are 64 hex digits.
std::optional<std::string> readRecord(const std::string &key, const CacheSettings &cache);
void writeRecord(const std::string &key, const std::string &content, const CacheSettings &cache);
/// Directories of kernel caches that are looked into, in order, where a cache in use has no entry,
/// and never written: those of an image or a cluster. They are root's or the person's own, and
/// nobody else's to write; every entry is verified. Gives the reasons why some are not used.
std::vector<std::string> setCacheLayers(std::vector<std::string> directories);
/// Gives what `find` noted of damaged entries of caches and nobody was told: `compile` reports it
/// as warnings.
std::vector<std::string> takeDamagedEntries();
/// Returns what the file of an entry says of its kernel, as JSON: kernel, target, arguments,
/// options, build. Nothing where the file is not as it was written under `key`.
std::optional<std::string> describeStored(const std::string &key, const std::string &file);
/// Drops this process's loaded kernels, other than those that a caller holds: the next compile
/// looks on disk again.
void forgetLoadedKernels();

/// This build's identity: it changes with any source change.
std::string buildId();

#pragma GCC visibility pop
} // namespace tw::api
#endif
