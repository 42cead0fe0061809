// The library's kernels: compiled for what a launch's arguments are, found again by a key of it.
#include "backend/api/Compile.h"
#include "backend/api/Devices.h"
#include "backend/api/library/KernelSignature.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <shared_mutex>

using namespace tw;
using namespace tilewright;

namespace {
/// The facts that a launch is compiled for, as words: launches with equal words share a kernel.
using Key = llvm::SmallVector<uint64_t, 48>;

/// A compiled kernel, and which of the launch's arguments it takes.
struct Ready {
  Key key;
  std::shared_ptr<api::CompiledKernel> kernel;
  llvm::SmallVector<unsigned, 16> taken;
};

struct KeyedKernels {
  std::shared_mutex mutex; // guards the map; what is in it never changes
  llvm::DenseMap<uint64_t, std::vector<std::shared_ptr<const Ready>>> byHash;
};
} // namespace

struct Kernel::State {
  Settings settings;
  api::KernelSource source;
  library::KernelSignature signature;
  Status status;
  KeyedKernels kernels;

  State(std::string text, Settings settings)
      : settings(std::move(settings)), source(std::move(text)) {}
};

std::string Status::text() const {
  std::string all;
  for (const Report &report : reports)
    all += report.rendered;
  return all;
}

static Report reportOf(const api::Report &report) {
  return {report.kind, report.severity, report.code, report.message, report.hint, report.rendered};
}

static Status failed(const RuntimeError &error) {
  std::string code = codeName(error.code);
  std::string rendered = "error[" + code + "]: " + error.message + "\n";
  if (!error.hint.empty())
    rendered += "  = hint: " + error.hint + "\n";
  Status status;
  status.isOk = false;
  status.reports.push_back(
      {kindName(error.kind), "error", code, error.message, error.hint, rendered});
  return status;
}

Kernel::Kernel(std::string source, Settings settings)
    : state(std::make_shared<State>(std::move(source), std::move(settings))) {
  std::string error;
  if (auto signature = library::readSignature(state->source.json(), error))
    state->signature = std::move(*signature);
  else
    state->status = failed({RuntimeError::Kind::Internal, Code::MalformedBuffer,
                            "this is not a kernel source buffer: " + error,
                            "`tilewright compile FILE.py:NAME --emit source` writes one"});
}

const Status &Kernel::status() const { return state->status; }
const std::string &Kernel::name() const { return state->signature.name; }

std::vector<std::string> Kernel::parameters() const {
  std::vector<std::string> names;
  for (const library::SignatureParameter &parameter : state->signature.parameters)
    names.push_back(parameter.name);
  return names;
}

static void addText(Key &key, std::string_view text) {
  key.push_back(text.size());
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, text.data() + i, std::min(sizeof(word), text.size() - i));
    key.push_back(word);
  }
}

static uint64_t factsOf(const ArgumentSpec &spec) {
  uint64_t facts = uint64_t(spec.kind) | uint64_t(spec.divisibility) << 8;
  for (const ArgumentFact &fact : kArgumentFacts)
    facts = facts << 1 | uint64_t(spec.*fact.value);
  return facts;
}

static Key keyOf(const library::BoundArguments &bound, const LaunchOptions &options,
                 bool usesMaps) {
  Key key;
  for (size_t i = 0; i < bound.specs.size(); ++i) {
    key.push_back(factsOf(bound.specs[i]) << 8 | bound.types[i]);
    if (bound.specs[i].kind != ArgumentSpec::Kind::Constexpr || !bound.given[i])
      continue;
    const Argument &constant = *bound.given[i];
    key.push_back(uint64_t(constant.kind) << 8 | uint64_t(constant.type));
    if (constant.kind == Argument::Kind::Text)
      addText(key, constant.text);
    else
      key.push_back(constant.bits);
  }
  addText(key, options.device);
  key.push_back(uint64_t(options.numWarps) << 32 | uint64_t(options.numStages) << 1 |
                uint64_t(options.debug));
  for (int32_t extent : {options.cluster.x, options.cluster.y, options.cluster.z})
    key.push_back(uint32_t(extent));
  key.push_back(uint64_t(options.launchPdl) << 1 | uint64_t(usesMaps));
  return key;
}

static std::shared_ptr<const Ready> findReady(KeyedKernels &kernels, const Key &key,
                                              uint64_t hash) {
  std::shared_lock lock(kernels.mutex);
  auto found = kernels.byHash.find(hash);
  if (found != kernels.byHash.end())
    for (const std::shared_ptr<const Ready> &ready : found->second)
      if (ready->key == key)
        return ready;
  return nullptr;
}

/// There is no Python to ask; the report of the expression says so.
static std::string evaluateNothing(const std::string &) {
  return R"({"error": "only Python can evaluate this expression, and a program without it compiles the kernel"})";
}

namespace {
/// The request of a launch.
struct Wanted {
  KeyedKernels &kernels;
  const api::KernelSource &source;
  const Settings &settings;
  const library::KernelSignature &signature;
  const LaunchOptions &options;
  bool usesMaps = true; // false: for arrays that no tensor map describes
};
} // namespace

static bool asksForClusters(const LaunchOptions &options) {
  const Grid &cluster = options.cluster;
  return cluster.x != 1 || cluster.y != 1 || cluster.z != 1;
}

/// Refuses clusters on GPUs that have none.
static std::optional<RuntimeError> checkClusters(const LaunchOptions &options) {
  std::optional<TargetFacts> facts = api::targetFacts(options.device);
  bool isRefused = asksForClusters(options) && facts && facts->warpSize > 1 &&
                   !llvm::is_contained(facts->options, "cluster");
  if (!isRefused)
    return std::nullopt;
  return RuntimeError{RuntimeError::Kind::Launch, Code::DeviceLacksOption,
                      "the launch asks for clusters of programs, which " + options.device +
                          " does not have",
                      "leave LaunchOptions::cluster out for this device"};
}

/// The further options of a compilation, of those that the device heeds.
static std::string extraOptions(const Wanted &wanted) {
  std::optional<TargetFacts> facts = api::targetFacts(wanted.options.device);
  std::string extra;
  auto add = [&](bool isWanted, const char *word) {
    if (isWanted && facts && llvm::is_contained(facts->options, word))
      extra += (extra.empty() ? "" : ",") + std::string(word);
  };
  add(wanted.options.launchPdl, "early-launch");
  add(!wanted.usesMaps, "no-tensor-maps");
  const Grid &cluster = wanted.options.cluster;
  if (asksForClusters(wanted.options) && facts && facts->warpSize > 1)
    extra += (extra.empty() ? "" : ",") +
             llvm::formatv("cluster={0}x{1}x{2}", cluster.x, cluster.y, cluster.z).str();
  return extra;
}

static std::shared_ptr<const Ready> compileReady(const Wanted &wanted,
                                                 const library::BoundArguments &bound, Key key,
                                                 uint64_t hash, Status &status) {
  const LaunchOptions &options = wanted.options;
  if (std::optional<RuntimeError> error = checkClusters(options)) {
    status = failed(*error);
    return nullptr;
  }
  Specialization specialization;
  specialization.arguments = library::specsOf(wanted.signature, bound);
  specialization.options = {options.numWarps, options.numStages, options.debug,
                            extraOptions(wanted)};
  const std::string &directory = wanted.settings.cacheDirectory;
  api::CompileResult result = api::compile(wanted.source, specialization, options.device,
                                           evaluateNothing, {directory, !directory.empty()});
  for (const api::Report &report : result.reports)
    status.reports.push_back(reportOf(report));
  status.isOk = result.kernel != nullptr;
  if (!status.isOk)
    return nullptr;
  auto ready = std::make_shared<Ready>();
  ready->kernel = result.kernel;
  for (const ArtifactParameter &parameter : result.kernel->artifact.parameters)
    ready->taken.push_back(unsigned(parameter.sourceIndex));
  ready->key = std::move(key);
  std::unique_lock lock(wanted.kernels.mutex);
  wanted.kernels.byHash[hash].push_back(ready);
  return ready;
}

/// Returns true if an argument's memory is larger than 32-bit offsets reach where they count bytes.
/// Targets are asked by name, which takes longer than all else of a warm launch, so only for large
/// arrays.
static bool exceedsBytes(const Argument *arguments, size_t count, const std::string &device) {
  auto isBig = [](const Argument &argument) { return argument.bytes > kReachableBytes; };
  if (!arguments || std::none_of(arguments, arguments + count, isBig))
    return false;
  std::optional<TargetFacts> facts = api::targetFacts(device);
  return facts && facts->countsBytes;
}

/// Binds the arguments and finds or compiles the kernel for them; null with a status.
static std::shared_ptr<const Ready> acquire(const Wanted &wanted, const Argument *arguments,
                                            size_t count, library::BoundArguments &bound,
                                            Status &status) {
  bool countsBytes = exceedsBytes(arguments, count, wanted.options.device);
  if (std::optional<RuntimeError> error =
          library::bind(wanted.signature, arguments, count, countsBytes, bound)) {
    status = failed(*error);
    return nullptr;
  }
  Key key = keyOf(bound, wanted.options, wanted.usesMaps);
  uint64_t hash = llvm::hash_combine_range(key.begin(), key.end());
  if (std::shared_ptr<const Ready> ready = findReady(wanted.kernels, key, hash))
    return ready;
  return compileReady(wanted, bound, std::move(key), hash, status);
}

static bool isMapRefused(const Status &status) {
  return !status && !status.reports.empty() &&
         status.reports.back().code == codeName(Code::TensorMapRefused);
}

static Status prepareFor(const Wanted &wanted, const Argument *arguments, size_t count) {
  Status status;
  library::BoundArguments bound;
  acquire(wanted, arguments, count, bound, status);
  return status;
}

static Status launchFor(const Wanted &wanted, Grid grid, const Argument *arguments, size_t count) {
  Status status;
  library::BoundArguments bound;
  std::shared_ptr<const Ready> ready = acquire(wanted, arguments, count, bound, status);
  if (!ready)
    return status;
  LaunchGrid programs{{grid.x, grid.y, grid.z},
                      uint64_t(reinterpret_cast<uintptr_t>(wanted.options.stream))};
  llvm::SmallVector<LaunchArgument, 16> taken;
  for (unsigned index : ready->taken) {
    taken.push_back(bound.launched[index]);
    bool isArray = bound.specs[index].kind == ArgumentSpec::Kind::Pointer;
    if (isArray && taken.back().bits == 0 && programs.numPrograms() != 0)
      return failed(library::refuseNull(wanted.signature, index));
  }
  if (std::optional<RuntimeError> error = api::launch(*ready->kernel, programs, taken))
    return failed(*error);
  return status;
}

Status Kernel::prepare(const Argument *arguments, size_t count, const LaunchOptions &options) {
  if (!state->status)
    return state->status;
  Wanted wanted{state->kernels, state->source, state->settings, state->signature, options};
  Status status = prepareFor(wanted, arguments, count);
  if (!isMapRefused(status))
    return status;
  wanted.usesMaps = false;
  return prepareFor(wanted, arguments, count);
}

/// Where no tensor map describes an array, or the driver makes none, code without maps runs.
Status Kernel::launch(Grid grid, const Argument *arguments, size_t count,
                      const LaunchOptions &options) {
  if (!state->status)
    return state->status;
  Wanted wanted{state->kernels, state->source, state->settings, state->signature, options};
  Status status = launchFor(wanted, grid, arguments, count);
  if (!isMapRefused(status))
    return status;
  wanted.usesMaps = false;
  return launchFor(wanted, grid, arguments, count);
}

Status tilewright::synchronize(const std::string &device) {
  std::optional<RuntimeError> error = api::synchronize(device);
  return error ? failed(*error) : Status();
}

std::vector<std::string> tilewright::devices() {
  std::vector<std::string> names = api::targets();
  for (const std::string &gpu : api::gpus(/*opens=*/true))
    names.push_back(gpu);
  return names;
}

bool tilewright::setNumThreads(int count) { return api::setNumThreads(count); }

void tilewright::setAssemblers(const std::vector<std::string> &paths) {
  api::setTargetSetting("only-assemblers", paths);
}

const char *tilewright::version() { return TILEWRIGHT_VERSION; }
