// The public C++ interface: compile, cache and launch kernels without Python.
#include "backend/api/Compile.h"
#include "backend/api/BuildId.h"
#include "backend/api/CacheKey.h"
#include "backend/api/Reports.h"
#include "backend/api/Service.h"
#include "backend/api/StoredKernel.h"
#include "backend/api/WarmUp.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/Reproducer.h"
#include "backend/inspect/Inspection.h"
#include "frontend/Frontend.h"
#include "runtime/Forks.h"
#include "runtime/codes/Codes.h"
#include "runtime/threads/InterruptibleWork.h"
#include <chrono>

using namespace tw;
using namespace tw::api;

namespace {

/// Owns all that a compilation works with: an interrupted caller returns before it has ended.
struct Request {
  KernelSource source;
  Specialization specialization;
  const TargetEntry &entry; // lives as long as the process
  std::string key;
  DebugSettings debug;
};

/// Holds the result of a compilation: an artifact, or one stage's text.
struct Product {
  bool isWhole = false;
  Artifact artifact;
  std::string text;
  std::vector<Report> reports;
};

using Step = std::function<void(const Request &, const StaticEvaluator &, Product &)>;

class Stopwatch {
public:
  double milliseconds() const {
    auto elapsed = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};
} // namespace

KernelSource::KernelSource(std::string json)
    : text(std::move(json)), hashes{digestSource(text), hexOf(hashBytes(text))} {}

KernelSource::KernelSource(std::string json, SourceDigests digests)
    : text(std::move(json)), hashes(std::move(digests)) {}

/// The frontend, contained: whatever happens in it, the result has a module or an error.
static FrontendResult runFrontend(mlir::MLIRContext &context, const Request &request,
                                  const StaticEvaluator &evaluator) {
  const auto &[source, specialization, entry, key, debug] = request;
  FrontendOptions options;
  options.debug = specialization.options.debug;
  options.checksOverflow = options.debug && !hasExtraOption(specialization.options, "wraps");
  options.numWarps = specialization.options.numWarps;
  options.numStages = specialization.options.numStages;
  options.checkpoint = stopIfInterrupted;
  options.target = entry.target->name();
  auto result = std::make_unique<FrontendResult>();
  std::string crash;
  bool finished = containCrash(
      [&] {
        *result = buildTileIr(context, source.json(), specialization.arguments, options, evaluator);
      },
      crash);
  if (!finished) {
    (void)result.release(); // half made: leaked with its context
    abandonThreadContext();
    FrontendResult failed;
    if (wasInterrupted()) {
      failed.diagnostics.push_back(interruptedDiagnostic());
      return failed;
    }
    failed.diagnostics.push_back(internalError("the frontend crashed: " + crash));
    std::string path =
        writeReproducer(debug, "source", "json", [&](llvm::StringRef) { return source.json(); });
    if (!path.empty())
      failed.diagnostics.back().hint =
          "this is a fault of the compiler, please report it with the captured source " + path;
    return failed;
  }
  if (!result->module && !hasError(result->diagnostics))
    result->diagnostics.push_back(internalError("the frontend failed without saying why"));
  return std::move(*result);
}

/// Says for which call of the kernel an internal error arose.
static void addReproduction(const Request &request, std::vector<Diagnostic> &diagnostics) {
  std::string arguments;
  llvm::raw_string_ostream stream(arguments);
  for (const ArgumentSpec &spec : request.specialization.arguments) {
    stream << (stream.tell() ? ", " : "") << spec.name << ": ";
    if (spec.kind == ArgumentSpec::Kind::Constexpr)
      stream << spec.constexprJson;
    else
      stream << (spec.kind == ArgumentSpec::Kind::Pointer ? "*" : "") << spec.type;
  }
  for (Diagnostic &diagnostic : diagnostics)
    if (diagnostic.kind == DiagnosticKind::Internal)
      diagnostic.hint += "; compiled for target " + request.entry.target->name() + ", arguments (" +
                         arguments + "), build " + identifyBuild();
}

static void addReports(const std::vector<Diagnostic> &diagnostics,
                       const std::vector<SourceText> &sources, std::vector<Report> &reports) {
  for (const Diagnostic &diagnostic : diagnostics)
    reports.push_back(makeReport(diagnostic, sources));
}

/// The types of parameters as the caller knows them: Tile IR has no signs.
static void nameParameters(const Specialization &specialization, const std::vector<int> &sources,
                           Artifact &artifact) {
  for (size_t i = 0; i < artifact.parameters.size() && i < sources.size(); ++i) {
    ArtifactParameter &parameter = artifact.parameters[i];
    parameter.sourceIndex = sources[i];
    if (sources[i] < 0 || size_t(sources[i]) >= specialization.arguments.size())
      continue;
    const ArgumentSpec &spec = specialization.arguments[sources[i]];
    parameter.name = spec.name;
    parameter.type = (spec.kind == ArgumentSpec::Kind::Pointer ? "*" : "") + spec.type;
  }
}

/// Source to artifact.
static void build(const Request &request, const StaticEvaluator &evaluator, Product &product) {
  WarmUp warmUp(*request.entry.target);
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  Stopwatch watch;
  FrontendResult frontend = runFrontend(*context, request, evaluator);
  product.artifact.milliseconds["frontend"] = watch.milliseconds();
  product.isWhole =
      frontend.module &&
      compileModule(*frontend.module, *request.entry.target, request.specialization.options,
                    product.artifact, frontend.diagnostics, request.debug);
  if (!product.isWhole && isThreadContextAbandoned())
    (void)frontend.module.release(); // its context is gone from this thread
  if (product.isWhole)
    nameParameters(request.specialization, frontend.parameterSources, product.artifact);
  addReproduction(request, frontend.diagnostics);
  addReports(frontend.diagnostics, frontend.sources, product.reports);
}

/// One stage of a kernel as text.
static void print(const Request &request, const StaticEvaluator &evaluator,
                  const std::string &stage, Product &product) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  FrontendResult frontend = runFrontend(*context, request, evaluator);
  product.isWhole =
      frontend.module &&
      inspectModule(*frontend.module, *request.entry.target, request.specialization.options, stage,
                    product.text, frontend.diagnostics, request.debug);
  if (!product.isWhole && isThreadContextAbandoned())
    (void)frontend.module.release();
  addReproduction(request, frontend.diagnostics);
  addReports(frontend.diagnostics, frontend.sources, product.reports);
}

/// Makes a product by `step`, for which an interrupt of this thread does not wait.
static Product makeInterruptibly(std::shared_ptr<const Request> request,
                                 const StaticEvaluator &evaluator, Step step) {
  auto product = std::make_shared<Product>();
  auto work = [product, request = std::move(request), step = std::move(step)](const Answer &ask) {
    step(*request, ask, *product);
    return product->isWhole;
  };
  if (runInterruptibly(work, evaluator, R"({"error": "the evaluation was interrupted"})"))
    return std::move(*product);
  Product none;
  none.reports.push_back(makeReport(interruptedDiagnostic(), {}));
  return none;
}

/// The kernel on its device; null with a reason in `reports`, or made again with a warning there.
static std::shared_ptr<CompiledKernel> load(const std::string &key,
                                            const std::shared_ptr<Device> &device,
                                            Artifact artifact, Origin origin,
                                            std::vector<Report> &reports) {
  Stopwatch watch;
  auto kernel = std::make_shared<CompiledKernel>();
  RuntimeError error;
  kernel->loaded = device->load(artifact, error);
  if (!kernel->loaded) {
    reports.push_back(makeReport(diagnosticOf(error), {}));
    return nullptr;
  }
  if (error.code == Code::DamagedCacheFile)
    reports.push_back(makeReport(warningOf(error.code, std::move(error.message)), {}));
  artifact.milliseconds["link"] = watch.milliseconds();
  kernel->artifact = std::move(artifact);
  kernel->key = key;
  kernel->origin = origin;
  kernel->device = device;
  return kernel;
}

/// The kernel from the disk store; null when it is not there or of no use.
static std::shared_ptr<CompiledKernel> loadFromDisk(const std::string &key,
                                                    const std::shared_ptr<Device> &device,
                                                    DiskCache &cache, bool isSecondLook) {
  std::optional<std::string> bytes = cache.read(key, isSecondLook);
  if (!bytes)
    return nullptr;
  Artifact artifact;
  std::vector<Report> failures; // answered by compiling anew
  std::shared_ptr<CompiledKernel> kernel;
  if (decodeStored(*bytes, artifact))
    kernel = load(key, device, std::move(artifact), Origin::Disk, failures);
  // A device without memory, for example, says nothing against what is stored.
  if (kernel ? !failures.empty() : failures.empty() || failures.front().kind == "internal")
    cache.remove(key);
  if (kernel && !failures.empty())
    service().noteDamaged(failures.front().message);
  return kernel;
}

/// The kernel from a directory that is only read; null when none has it.
static std::shared_ptr<CompiledKernel> loadFromLayers(const std::string &key,
                                                      const std::shared_ptr<Device> &device) {
  for (const std::string &directory : service().layers()) {
    std::string damaged;
    std::optional<std::string> content = DiskCache::readLayer(hashBytes, directory, key, &damaged);
    if (!damaged.empty())
      service().noteDamaged("an entry of a shared cache is damaged and not used: " + damaged);
    Artifact artifact;
    std::vector<Report> failures; // answered by compiling anew
    if (content && decodeStored(*content, artifact))
      if (auto kernel = load(key, device, std::move(artifact), Origin::Disk, failures)) {
        if (!failures.empty())
          service().noteDamaged("the shared cache " + directory + ": " + failures.front().message);
        return kernel;
      }
  }
  return nullptr;
}

/// Compiles a kernel and loads it, and stores it in between unless `cache` is null.
static std::shared_ptr<CompiledKernel> compileAnew(std::shared_ptr<const Request> request,
                                                   const StaticEvaluator &evaluator,
                                                   DiskCache *cache, std::vector<Report> &reports) {
  Product product = makeInterruptibly(request, evaluator, build);
  llvm::append_range(reports, product.reports);
  if (!product.isWhole)
    return nullptr;
  if (cache)
    cache->write(request->key, encodeStored(product.artifact, request->specialization,
                                            request->entry.target->name(), identifyBuild()));
  return load(request->key, request->entry.device, std::move(product.artifact), Origin::Compiled,
              reports);
}

/// The kernel from the disk store, or compiled and stored there. Within another compilation of the
/// same kernel by the same thread, which holds the lock, it is only compiled.
static std::shared_ptr<CompiledKernel> obtain(std::shared_ptr<const Request> request,
                                              const StaticEvaluator &evaluator, DiskCache *cache,
                                              std::vector<Report> &reports) {
  const std::string &key = request->key;
  const std::shared_ptr<Device> &device = request->entry.device;
  std::optional<DiskCache::Lock> lock;
  if (cache) {
    if (auto kernel = loadFromDisk(key, device, *cache, /*isSecondLook=*/false))
      return kernel;
    if (auto kernel = loadFromLayers(key, device))
      return kernel;
    lock.emplace(cache->lock(key));
    if (lock->isInterrupted) {
      reports.push_back(makeReport(interruptedDiagnostic(), {}));
      return nullptr;
    }
    // Another process may have finished between the two.
    if (auto kernel = loadFromDisk(key, device, *cache, /*isSecondLook=*/true))
      return kernel;
  }
  return compileAnew(std::move(request), evaluator, cache, reports);
}

static std::shared_ptr<CompiledKernel> fromMemory(const CompiledKernel &stored) {
  auto kernel = std::make_shared<CompiledKernel>(stored);
  kernel->origin = Origin::Memory;
  return kernel;
}

static DebugSettings identified(DebugSettings debug, const std::string &key) {
  debug.key = key;
  debug.buildId = identifyBuild();
  return debug;
}

static std::string keyOf(const SourceDigests &source, const Specialization &specialization,
                         const std::string &name, const Target &target) {
  // Code that names places in the source depends on the whole buffer: that of some targets, and the
  // checks of debug builds.
  bool namesPlaces = target.keepsLocations() || specialization.options.debug;
  const std::string &digest = namesPlaces ? source.exact : source.meaning;
  return makeKey(digest, specialization, name + ";" + target.describe(), identifyBuild());
}

/// Reads what a call asks for; null where there is no such target, which `reports` then says.
static std::shared_ptr<const Request>
makeRequest(const KernelSource &source, const Specialization &specialization,
            const std::string &target, const DebugSettings &debug, std::vector<Report> &reports) {
  RuntimeError error;
  const TargetEntry *entry = service().findTarget(target, error);
  if (!entry) {
    reports.push_back(makeReport(diagnosticOf(error), {}));
    return nullptr;
  }
  const std::string key = keyOf(source.digests(), specialization, target, *entry->target);
  return std::make_shared<Request>(source, specialization, *entry, key, identified(debug, key));
}

CompileResult api::compile(const KernelSource &source, const Specialization &specialization,
                           const std::string &target, const StaticEvaluator &evaluator,
                           const CacheSettings &cacheSettings, const DebugSettings &debug) {
  ForkShield shield;
  CompileResult result;
  const std::shared_ptr<const Request> request =
      makeRequest(source, specialization, target, debug, result.reports);
  if (!request)
    return result;
  if (needsCompilation(debug)) {
    result.kernel = compileAnew(request, evaluator, /*cache=*/nullptr, result.reports);
    return result;
  }
  KernelStore::Turn turn = service().store.findOrBegin(request->key);
  if (turn.isInterrupted)
    result.reports.push_back(makeReport(interruptedDiagnostic(), {}));
  if (turn.kernel)
    result.kernel = fromMemory(*turn.kernel);
  if (turn.kernel || turn.isInterrupted)
    return result;
  DiskCache *cache = service().acquireCache(cacheSettings);
  result.kernel = obtain(request, evaluator, turn.isOwner ? cache : nullptr, result.reports);
  if (turn.isOwner)
    service().store.finish(request->key, result.kernel);
  if (std::string warning = cache ? cache->takeWarning() : ""; !warning.empty())
    result.reports.push_back(makeReport(warningOf(Code::UnusableCache, std::move(warning)), {}));
  for (std::string &problem : service().takeDamaged())
    result.reports.push_back(makeReport(warningOf(Code::DamagedCacheFile, std::move(problem)), {}));
  return result;
}

std::shared_ptr<CompiledKernel> api::find(const SourceDigests &source,
                                          const Specialization &specialization,
                                          const std::string &target,
                                          const CacheSettings &cacheSettings) {
  ForkShield shield;
  RuntimeError error;
  const TargetEntry *entry = service().findTarget(target, error);
  if (!entry)
    return nullptr; // `compile` says so
  const std::string key = keyOf(source, specialization, target, *entry->target);
  KernelStore::Turn turn = service().store.findOrBegin(key);
  if (turn.kernel)
    return fromMemory(*turn.kernel);
  if (turn.isInterrupted)
    return nullptr;
  std::shared_ptr<CompiledKernel> kernel;
  // A miss is counted by `compile`, which looks again.
  if (DiskCache *cache = service().acquireCache(cacheSettings)) {
    kernel = loadFromDisk(key, entry->device, *cache, /*isSecondLook=*/true);
    if (!kernel)
      kernel = loadFromLayers(key, entry->device);
  }
  if (turn.isOwner)
    service().store.finish(key, kernel);
  return kernel;
}

PackedKernel api::pack(const KernelSource &source, const Specialization &specialization,
                       const std::string &target, const StaticEvaluator &evaluator) {
  ForkShield shield;
  PackedKernel packed;
  const std::shared_ptr<const Request> request =
      makeRequest(source, specialization, target, /*debug=*/{}, packed.reports);
  if (!request)
    return packed;
  Product product = makeInterruptibly(request, evaluator, build);
  packed.reports = std::move(product.reports);
  packed.key = request->key;
  if (product.isWhole)
    packed.content = encodeStored(product.artifact, specialization, request->entry.target->name(),
                                  identifyBuild());
  return packed;
}

std::shared_ptr<CompiledKernel> api::unpack(const SourceDigests &source,
                                            const Specialization &specialization,
                                            const std::string &target, const std::string &key,
                                            const std::string &content,
                                            const CacheSettings &cacheSettings) {
  ForkShield shield;
  RuntimeError error;
  const TargetEntry *entry = service().findTarget(target, error);
  if (!entry || keyOf(source, specialization, target, *entry->target) != key)
    return nullptr;
  KernelStore::Turn turn = service().store.findOrBegin(key);
  if (turn.kernel)
    return fromMemory(*turn.kernel);
  if (turn.isInterrupted)
    return nullptr;
  Artifact artifact;
  std::vector<Report> failures; // `compile` meets them again
  std::shared_ptr<CompiledKernel> kernel;
  if (decodeStored(content, artifact))
    kernel = load(key, entry->device, std::move(artifact), Origin::Compiled, failures);
  if (DiskCache *cache = kernel ? service().acquireCache(cacheSettings) : nullptr)
    cache->write(key, content);
  if (turn.isOwner)
    service().store.finish(key, kernel);
  return kernel;
}

CompileResult api::inspect(const KernelSource &source, const Specialization &specialization,
                           const std::string &target, const std::string &stage,
                           const StaticEvaluator &evaluator, std::string &text,
                           const DebugSettings &debug) {
  ForkShield shield;
  CompileResult result;
  const std::shared_ptr<const Request> request =
      makeRequest(source, specialization, target, debug, result.reports);
  if (!request)
    return result;
  Product product =
      makeInterruptibly(request, evaluator,
                        [stage](const Request &request, const StaticEvaluator &ask,
                                Product &product) { print(request, ask, stage, product); });
  text = std::move(product.text);
  result.reports = std::move(product.reports);
  return result;
}

std::optional<RuntimeError> api::launch(CompiledKernel &kernel, const LaunchGrid &grid,
                                        std::span<const LaunchArgument> arguments) {
  return kernel.device->launch(*kernel.loaded, grid, arguments);
}

CacheStatistics api::cacheStatistics() {
  ForkShield shield;
  CacheStatistics total;
  std::lock_guard lock(service().cachesMutex);
  for (const auto &[directory, cache] : service().caches) {
    const DiskCacheCounts &counts = cache->counts();
    total.hits += counts.hits;
    total.misses += counts.misses;
    total.corrupt += counts.corrupt;
    total.writes += counts.writes;
    total.writeFailures += counts.writeFailures;
  }
  return total;
}

std::optional<std::string> api::readRecord(const std::string &key, const CacheSettings &cache) {
  ForkShield shield;
  if (DiskCache *records = service().acquireRecords(cache))
    if (std::optional<std::string> content = records->read(key))
      return content;
  if (!service().acquireCache(cache))
    return std::nullopt;
  for (const std::string &directory : service().layers())
    if (std::optional<std::string> content =
            DiskCache::readLayer(hashBytes, recordsOf(directory), key))
      return content;
  return std::nullopt;
}

void api::writeRecord(const std::string &key, const std::string &content,
                      const CacheSettings &cache) {
  ForkShield shield;
  if (DiskCache *records = service().acquireRecords(cache))
    records->write(key, content);
}

std::vector<std::string> api::setCacheLayers(std::vector<std::string> directories) {
  std::vector<std::string> problems;
  for (const std::string &directory : directories)
    if (std::string why = DiskCache::problemOfLayer(directory); !why.empty())
      problems.push_back("the kernel cache " + directory + " is not read: " + why);
  service().changeLayers(std::move(directories));
  return problems;
}

std::vector<std::string> api::takeDamagedEntries() { return service().takeDamaged(); }

void api::forgetLoadedKernels() { service().store.clear(); }

std::string api::buildId() { return identifyBuild(); }
