// Loads Tile IR and runs its programs in order under the reference interpreter.
#include "backend/reference/ReferenceDevice.h"
#include "backend/reference/Interpreter.h"
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
  LaunchLock running; // a context without threading serves one thread at a time
};

class ReferenceDevice final : public Device {
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

std::shared_ptr<LoadedKernel> ReferenceDevice::load(const Artifact &artifact, RuntimeError &error) {
  auto kernel = std::make_shared<ReferenceKernel>();
  std::string reason;
  kernel->module = parseModule(kernel->context, artifact.binary, reason);
  if (!kernel->module) {
    error = {RuntimeError::Kind::Internal, Code::MalformedArtifact, "malformed Tile IR: " + reason,
             ""};
    return nullptr;
  }
  kernel->entry = kernel->module->lookupSymbol<func::FuncOp>(artifact.symbol);
  reason = findObstacle(kernel->meanings, *kernel->module, kernel->entry, artifact.symbol);
  if (!reason.empty()) {
    error = {RuntimeError::Kind::Internal, Code::UnknownMeaning, reason, ""};
    return nullptr;
  }
  kernel->argumentNames = argumentNamesOf(kernel->entry);
  return kernel;
}

/// The value of a parameter as the program first sees it.
static Element bindArgument(Type type, const LaunchArgument &argument, int32_t index) {
  if (isa<tile::PtrType>(type))
    return {argument.bits, index};
  return {truncateToWidth(argument.bits, elementWidth(type))};
}

static std::optional<RuntimeError> runProgram(ReferenceKernel &kernel, const Launch &launch,
                                              std::array<int32_t, 3> id) {
  Program program(kernel.meanings, launch, id);
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
  uint64_t x = uint64_t(launch.grid.programs[0]), y = uint64_t(launch.grid.programs[1]);
  std::array<int32_t, 3> id = {int32_t(number % x), int32_t(number / x % y),
                               int32_t(number / x / y)};
  std::optional<RuntimeError> error = runProgram(kernel, launch, id);
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

std::optional<RuntimeError> ReferenceDevice::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                                    std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<ReferenceKernel &>(loaded);
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
                isMemoryKnown(kernel.entry, arguments)};
  if (grid.isCooperative)
    return runTogether(kernel, launch);
  for (int32_t z = 0; z < grid.programs[2]; ++z)
    for (int32_t y = 0; y < grid.programs[1]; ++y)
      for (int32_t x = 0; x < grid.programs[0]; ++x)
        if (std::optional<RuntimeError> error = runProgram(kernel, launch, {x, y, z}))
          return error;
  return std::nullopt;
}

std::shared_ptr<Device> tw::makeReferenceDevice() { return std::make_shared<ReferenceDevice>(); }
