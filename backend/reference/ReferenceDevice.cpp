// Loads Tile IR and runs its programs in order under the reference interpreter.
#include "backend/reference/ReferenceDevice.h"
#include "backend/reference/Interpreter.h"
#include "backend/reference/Memory.h"
#include "backend/reference/Turns.h"
#include "ir/RegisterDialects.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Forks.h"
#include "runtime/LaunchLock.h"
#include "runtime/Simulation.h"
#include "runtime/codes/Codes.h"
#include "runtime/threads/Gang.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;
using namespace tw::reference;

namespace {
struct ReferenceKernel final : LoadedKernel {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  MeaningTable meanings;
  std::vector<std::string> argumentNames;
  bool readsMemory = false, differsByProgram = false;
  LaunchLock running; // a context without threading serves one thread at a time
};

class ReferenceDevice final : public Device {
public:
  std::string name() const override { return "reference"; }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;
};

/// The forms of a kernel with promises; the first that can decides them.
struct PromiseKernel final : LoadedKernel {
  std::vector<std::shared_ptr<ReferenceKernel>> forms;
};

class PromiseDevice final : public Device {
public:
  std::string name() const override { return "reference"; }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;
};
} // namespace

static OwningOpRef<ModuleOp> parseModule(MLIRContext &context, const std::string &binary,
                                         std::string &reason) {
  DialectRegistry registry;
  registerTileDialects(registry);
  context.appendDialectRegistry(registry);
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (reason.empty())
      reason = diagnostic.str();
    return success();
  });
  return parseSourceString<ModuleOp>(binary, &context);
}

static std::vector<std::string> argumentNamesOf(func::FuncOp entry) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, tile::kArgName);
    names.push_back(name ? name.str() : "#" + std::to_string(i));
  }
  return names;
}

/// Why the entry cannot be run, or empty.
static std::string findObstacle(const MeaningTable &meanings, ModuleOp module, func::FuncOp entry,
                                const std::string &symbol) {
  if (!entry || !llvm::hasSingleElement(entry.getBody()))
    return "the module has no plain function '" + symbol + "'";
  return findUnknown(meanings, module);
}

static std::shared_ptr<ReferenceKernel> loadKernel(const std::string &binary,
                                                   const std::string &symbol, RuntimeError &error) {
  auto kernel = std::make_shared<ReferenceKernel>();
  std::string reason;
  kernel->module = parseModule(kernel->context, binary, reason);
  if (!kernel->module) {
    error = {RuntimeError::Kind::Internal, Code::MalformedArtifact, "malformed Tile IR: " + reason,
             ""};
    return nullptr;
  }
  kernel->entry = kernel->module->lookupSymbol<func::FuncOp>(symbol);
  reason = findObstacle(kernel->meanings, *kernel->module, kernel->entry, symbol);
  if (!reason.empty()) {
    error = {RuntimeError::Kind::Internal, Code::UnknownMeaning, reason, ""};
    return nullptr;
  }
  kernel->argumentNames = argumentNamesOf(kernel->entry);
  kernel->module->walk([&](Operation *op) {
    auto access = dyn_cast<tile::MemoryAccess>(op);
    kernel->readsMemory |= access && access.readsMemory();
    kernel->differsByProgram |= isa<tile::ProgramIdOp>(op) || (access && access.writesMemory());
  });
  return kernel;
}

std::shared_ptr<LoadedKernel> ReferenceDevice::load(const Artifact &artifact, RuntimeError &error) {
  return loadKernel(artifact.binary, artifact.symbol, error);
}

std::shared_ptr<LoadedKernel> PromiseDevice::load(const Artifact &artifact, RuntimeError &error) {
  auto kernel = std::make_shared<PromiseKernel>();
  for (const std::string &form : artifact.promises) {
    kernel->forms.push_back(loadKernel(form, artifact.symbol, error));
    if (!kernel->forms.back())
      return nullptr;
  }
  return kernel;
}

/// The value of a parameter as the program first sees it.
static Element bindArgument(Type type, const LaunchArgument &argument, int32_t index) {
  if (isa<tile::PtrType>(type))
    return {argument.bits, index};
  return {truncateToWidth(argument.bits, elementWidth(type))};
}

static std::optional<RuntimeError> runProgram(ReferenceKernel &kernel, const Launch &launch,
                                              uint64_t number) {
  uint64_t x = uint64_t(launch.grid.programs[0]), y = uint64_t(launch.grid.programs[1]);
  Program program(kernel.meanings, launch,
                  {int32_t(number % x), int32_t(number / x % y), int32_t(number / x / y)});
  for (BlockArgument parameter : kernel.entry.getArguments()) {
    unsigned index = parameter.getArgNumber();
    program.set(parameter, {bindArgument(parameter.getType(), launch.arguments[index], index)});
  }
  if (failed(runBlock(program, kernel.entry.getBody().front())))
    return program.error;
  return std::nullopt;
}

static std::optional<RuntimeError> checkLaunch(ReferenceKernel &kernel, const LaunchGrid &grid,
                                               size_t numArguments) {
  const auto &[x, y, z] = grid.programs;
  if (x < 0 || y < 0 || z < 0)
    return RuntimeError{RuntimeError::Kind::Launch, Code::BadGrid,
                        llvm::formatv("the grid ({0}, {1}, {2}) has a negative extent", x, y, z),
                        "a grid counts programs along each axis: 0 or more"};
  if (numArguments != kernel.argumentNames.size())
    return RuntimeError{RuntimeError::Kind::Launch, Code::LaunchArguments,
                        llvm::formatv("kernel {0} takes {1} run-time arguments, {2} were given",
                                      kernel.entry.getName(), kernel.argumentNames.size(),
                                      numArguments),
                        ""};
  return std::nullopt;
}

namespace {
/// A cooperative launch as its threads see it.
struct TogetherRun {
  ReferenceKernel &kernel;
  Launch launch;
  Turns turns;
  InterruptClock interrupts = {};
  bool isInterrupted = false;
  const unsigned forkedAt = forkCount();
  std::optional<RuntimeError> failure = {}; // of the first that failed; who has the turn writes it

  TogetherRun(ReferenceKernel &kernel, const Launch &given, uint64_t count)
      : kernel(kernel), launch(given), turns(count) {
    launch.turns = &turns;
  }
  void run(uint64_t number);
  /// On the thread that launched.
  void poll();
};
} // namespace

void TogetherRun::run(uint64_t number) {
  if (!turns.begin(number))
    return;
  std::optional<RuntimeError> error = runProgram(kernel, launch, number);
  if (turns.isStopped())
    return; // its failure is that it was stopped
  if (error)
    failure = error;
  turns.end(number, /*stops=*/error.has_value());
}

void TogetherRun::poll() {
  if (isInterrupted || !interrupts.ask() || forkedAt != forkCount())
    return;
  isInterrupted = true;
  turns.stop();
}

/// Programs that may wait for each other have a thread each, of which one runs at a time.
static std::optional<RuntimeError> runTogether(ReferenceKernel &kernel, const Launch &launch) {
  uint64_t count = launch.grid.numPrograms();
  if (count > kMostInGang)
    return tooManyTogether(launch.grid, launch.name, kMostInGang, "each needs a thread");
  auto run = std::make_unique<TogetherRun>(kernel, launch, count);
  auto call = [](void *run, int member) { static_cast<TogetherRun *>(run)->run(member); };
  auto poll = [](void *run) { static_cast<TogetherRun *>(run)->poll(); };
  switch (runGang(int(count), {call, run.get(), poll})) {
  case GangOutcome::Done:
    return run->isInterrupted ? interruptError(launch.name) : std::move(run->failure);
  case GangOutcome::Forked:
    (void)run.release(); // threads of the parent wait in it
    return interruptError(launch.name);
  case GangOutcome::NoThreads:
    return tooFewThreads(launch.grid, launch.name);
  }
}

/// Returns true if all pointers are to memory of a known size.
static bool isMemoryKnown(func::FuncOp entry, std::span<const LaunchArgument> arguments) {
  for (auto [parameter, argument] : llvm::zip(entry.getArguments(), arguments))
    if (isa<tile::PtrType>(parameter.getType()) && argument.bits && !argument.allocationBase)
      return false;
  return true;
}

/// Runs the programs of a grid, or those that are chosen, with what they write in memory or in an
/// overlay.
static std::optional<RuntimeError> runGrid(ReferenceKernel &kernel, const LaunchGrid &grid,
                                           std::span<const LaunchArgument> arguments,
                                           Overlay *overlay = nullptr) {
  // A launch within a launch, by a signal's handler, has values of its own: it may run.
  LaunchScope scope(kernel.running);
  if (scope.isInterrupted())
    return interruptError(kernel.entry.getName().str());
  if (auto error = checkLaunch(kernel, grid, arguments.size()))
    return error;
  constexpr uint64_t kUsualIterations = 5'000'000;
  const SimulationOptions usual, &chosen = grid.simulation ? *grid.simulation : usual;
  InterruptPoll poll;
  LoopLimit loops(chosen.maxSteps ? chosen.maxSteps : kUsualIterations);
  std::vector<LaunchArgument> memory(arguments.begin(), arguments.end());
  std::vector<std::string> names = kernel.argumentNames;
  for (const ReachableMemory &reachable : chosen.reachable) {
    memory.push_back({reachable.base, reachable.base, reachable.bytes, reachable.isReadOnly});
    names.push_back(reachable.name);
  }
  Launch launch{grid,
                memory,
                std::move(names),
                kernel.entry.getName().str(),
                &poll,
                &loops,
                overlay || isMemoryKnown(kernel.entry, arguments),
                /*turns=*/nullptr,
                overlay};
  if (grid.isCooperative)
    return runTogether(kernel, launch);
  uint64_t count = chosen.ctas.empty() ? grid.numPrograms() : chosen.ctas.size();
  for (uint64_t i = 0; i < count; ++i) {
    loops.noteEffect(); // the program before has ended
    if (auto error = runProgram(kernel, launch, chosen.ctas.empty() ? i : chosen.ctas[i]))
      return error;
  }
  return std::nullopt;
}

std::optional<RuntimeError> ReferenceDevice::launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                                    std::span<const LaunchArgument> arguments) {
  return runGrid(static_cast<ReferenceKernel &>(kernel), grid, arguments);
}

/// Runs what decides promises, with its writes in an overlay. Programs that wait for later ones
/// find nothing new for long and are run together then.
static std::optional<RuntimeError> runTrial(ReferenceKernel &kernel, LaunchGrid grid,
                                            std::span<const LaunchArgument> arguments,
                                            Overlay &overlay) {
  constexpr uint64_t kShortWait = 20'000; // iterations: some milliseconds
  SimulationOptions options;
  if (grid.simulation)
    options = *grid.simulation;
  grid.simulation = &options;
  if (!kernel.differsByProgram)
    options.ctas = {options.ctas.empty() ? 0 : options.ctas.front()};
  bool mayWait = kernel.readsMemory && options.ctas.empty() && grid.numPrograms() <= kMostInGang;
  uint64_t most = std::exchange(options.maxSteps, mayWait ? kShortWait : options.maxSteps);
  grid.isCooperative = false;
  std::optional<RuntimeError> error = runGrid(kernel, grid, arguments, &overlay);
  if (!mayWait || !error || error->code != Code::EndlessLoop)
    return error;
  options.maxSteps = most;
  grid.isCooperative = true;
  overlay = Overlay();
  return runGrid(kernel, grid, arguments, &overlay);
}

std::optional<RuntimeError> PromiseDevice::launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                                  std::span<const LaunchArgument> arguments) {
  for (const auto &form : static_cast<PromiseKernel &>(kernel).forms) {
    Overlay overlay;
    std::optional<RuntimeError> error = runTrial(*form, grid, arguments, overlay);
    if (overlay.isUndecided())
      continue;
    bool isReported =
        error && (error->code == Code::FalseAssumption || error->code == Code::InterruptedLaunch);
    return isReported ? error : std::nullopt;
  }
  return std::nullopt;
}

std::shared_ptr<Device> tw::makeReferenceDevice() { return std::make_shared<ReferenceDevice>(); }
std::shared_ptr<Device> tw::makePromiseDevice() { return std::make_shared<PromiseDevice>(); }
