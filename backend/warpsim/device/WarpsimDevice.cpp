// The device "sim:<arch>": artifacts to programs, launches to simulations, findings to errors.
#include "backend/warpsim/device/WarpsimDevice.h"
#include "backend/warpsim/ImplicitParameters.h"
#include "backend/warpsim/TensorMap.h"
#include "backend/warpsim/core/memory/Provenance.h"
#include "backend/warpsim/device/Simulate.h"
#include "backend/warpsim/llvmir/Import.h"
#include "backend/warpsim/ptx/Parse.h"
#include "runtime/Interrupts.h"
#include "runtime/codes/Codes.h"
#include <cstring>
#include <mutex>
#include <sstream>

using namespace tw;
using namespace tw::warpsim;

namespace {
class SimulatedKernel final : public LoadedKernel {
public:
  Program program;
  std::string symbol;
  std::vector<ArtifactParameter> parameters;
  std::vector<SharedBuffer> sharedBuffers;
  std::vector<TensorMapRecipe> tensorMaps;
  std::shared_ptr<LoadedKernel> promises; // null: there are none to check
  int64_t numThreads = 0, sharedBytes = 0;
  ClusterExtents clusters = {1, 1, 1};
  bool beginsEarly = false;
  const Function &entry() const { return *program.findKernel(symbol); }
};

class WarpsimDevice final : public SimulatedDevice {
public:
  WarpsimDevice(const std::string &arch, ProgramReader reader, std::shared_ptr<Device> promises)
      : arch(arch), reader(std::move(reader)), promises(std::move(promises)) {}
  std::string name() const override { return "sim:" + arch; }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;

  std::string lastReport() override {
    std::lock_guard lock(mutex);
    return report;
  }

private:
  std::string arch;
  ProgramReader reader;
  std::shared_ptr<Device> promises;
  std::mutex mutex; // guards the report; simulations themselves may run side by side
  std::string report;
};
} // namespace

/// CTAs of a cooperative grid: each keeps its registers and shared memory until all have ended.
static constexpr uint64_t kMostTogether = 1024;

static int64_t resourceOf(const Artifact &artifact, const char *name, int64_t absent) {
  auto found = artifact.resources.find(name);
  return found == artifact.resources.end() ? absent : found->second;
}

/// Which line of the user's source the inline assembly around a line of PTX comes from, as text, or
/// nothing outside of such assembly. The marks are those that lower-nvidia writes.
static std::string findInlineAssembly(const std::string &ptx, int line) {
  std::istringstream lines(ptx);
  std::string text, place;
  bool isInside = false;
  for (int number = 1; number <= line && std::getline(lines, text); ++number) {
    size_t location = text.find(".loc\t");
    if (location != std::string::npos && !isInside) {
      std::istringstream fields(text.substr(location + 5));
      int file = 0, sourceLine = 0;
      fields >> file >> sourceLine;
      place = "line " + std::to_string(sourceLine);
    }
    if (text.find("{ // inline assembly ") != std::string::npos)
      isInside = true;
    else if (number < line && text.find("// inline assembly ends") != std::string::npos)
      isInside = false;
  }
  return isInside ? (place.empty() ? "unknown line" : place) : "";
}

static RuntimeError unloadable(const Artifact &artifact, const std::string &reason) {
  return {RuntimeError::Kind::Internal, Code::UnloadableKernel,
          "kernel " + artifact.symbol + " could not be loaded: " + reason, ""};
}

/// The error for PTX that the parser refuses: the user's own assembly and libraries are the user's.
static RuntimeError refusalOf(const Artifact &artifact, const ParseError &refusal) {
  if (std::string place = findInlineAssembly(artifact.binary, refusal.line); !place.empty())
    return {RuntimeError::Kind::Unsupported, Code::AsmNotSimulated,
            "the simulator does not run the inline assembly of " + place + " in kernel " +
                artifact.symbol + ": " + refusal.message,
            "check the text against the PTX ISA; instructions that the simulator does not know "
            "run on a GPU"};
  if (resourceOf(artifact, "linked_functions", 0) > 0)
    return {RuntimeError::Kind::Unsupported, Code::BitcodeNotSimulated,
            "the simulator does not run what kernel " + artifact.symbol +
                " has from a library of bitcode: " + refusal.message,
            "write recursion as a loop and pointers to functions as a choice between calls, or "
            "launch on a GPU"};
  return unloadable(artifact,
                    "line " + std::to_string(refusal.line) + " of its PTX: " + refusal.message);
}

std::optional<Program> tw::readPtx(const Artifact &artifact, RuntimeError &error) {
  ParseError refusal;
  std::optional<Program> program = parsePtx(artifact.binary, refusal);
  if (!program)
    error = refusalOf(artifact, refusal);
  return program;
}

ProgramReader tw::irReader(const std::string &target) {
  return [target](const Artifact &artifact, RuntimeError &error) {
    ImportError refusal;
    std::string arch = target.substr(target.find(':') + 1);
    std::optional<Program> program = importAmdgcn(artifact.binary, arch, refusal);
    if (!program)
      error = {RuntimeError::Kind::Unsupported, Code::IrNotSimulated,
               "the simulator cannot execute " + refusal.message + " in kernel " + artifact.symbol +
                   (refusal.line ? ", line " + std::to_string(refusal.line) : ""),
               target + " compiles it, for a GPU to run"};
    return program;
  };
}

/// Why a kernel cannot be launched with what its artifact says of it; empty: it can.
static std::string misfitOf(const SimulatedKernel &kernel) {
  if (!kernel.program.findKernel(kernel.symbol))
    return "its code has no kernel of that name";
  if (kernel.numThreads < 1 || kernel.numThreads > 1024 ||
      kernel.numThreads % kernel.program.waveSize != 0)
    return "a CTA of " + std::to_string(kernel.numThreads) + " threads cannot be launched";
  if (kernel.sharedBytes < 0 || kernel.sharedBytes > (int64_t(1) << 20))
    return std::to_string(kernel.sharedBytes) + " bytes of shared memory";
  const std::vector<Parameter> &declared = kernel.entry().parameters;
  size_t numPlain = kernel.parameters.size(),
         numMaps = std::ranges::count_if(
             kernel.tensorMaps, [](const TensorMapRecipe &map) { return !map.isOfBlocks(); });
  if (declared.size() < numPlain + numMaps)
    return "its code declares fewer parameters than the kernel has";
  for (size_t map = 0; map < numMaps; ++map)
    if (declared[numPlain + map].bytes != kTensorMapBytes)
      return "its code declares no tensor map behind the parameters";
  return "";
}

std::shared_ptr<LoadedKernel> WarpsimDevice::load(const Artifact &artifact, RuntimeError &error) {
  std::optional<Program> program = reader(artifact, error);
  if (!program)
    return nullptr;
  auto kernel = std::make_shared<SimulatedKernel>();
  kernel->program = std::move(*program);
  kernel->symbol = artifact.symbol;
  kernel->parameters = artifact.parameters;
  kernel->numThreads = resourceOf(artifact, "threads", 4 * kernel->program.waveSize);
  kernel->sharedBytes = resourceOf(artifact, "shared_bytes", 0);
  kernel->beginsEarly = resourceOf(artifact, "early_launch", 0) != 0;
  kernel->clusters = clustersOf(artifact);
  kernel->tensorMaps = artifact.tensorMaps;
  for (const ArtifactBuffer &buffer : artifact.sharedBuffers)
    kernel->sharedBuffers.push_back({buffer.name, uint32_t(buffer.offset), uint32_t(buffer.bytes)});
  if (std::string misfit = misfitOf(*kernel); !misfit.empty()) {
    error = unloadable(artifact, misfit);
    return nullptr;
  }
  if (promises && !artifact.promises.empty() &&
      !(kernel->promises = promises->load(artifact, error)))
    return nullptr;
  return kernel;
}

static std::optional<RuntimeError> checkGrid(const LaunchGrid &grid) {
  const auto &[x, y, z] = grid.programs;
  auto error = [&](const char *fault, const char *hint) {
    return RuntimeError{RuntimeError::Kind::Launch, Code::BadGrid,
                        "the grid (" + std::to_string(x) + ", " + std::to_string(y) + ", " +
                            std::to_string(z) + ") has " + fault,
                        hint};
  };
  if (x < 0 || y < 0 || z < 0)
    return error("a negative extent", "a grid counts programs along each axis: 0 or more");
  if (y > 65535 || z > 65535)
    return error("more than 65535 programs along its second or third axis",
                 "put the longest axis first: it may have 2147483647");
  return std::nullopt;
}

/// Programs that were chosen and are not there would silently not run.
static std::optional<RuntimeError> checkChoice(const std::vector<uint64_t> &chosen,
                                               uint64_t numPrograms) {
  for (uint64_t program : chosen)
    if (program >= numPrograms)
      return RuntimeError{RuntimeError::Kind::Launch, Code::BadGrid,
                          "program " + std::to_string(program) +
                              " is chosen to run, and the grid has " + std::to_string(numPrograms),
                          "programs=[...] of tw.simulation.simulate are numbered from 0"};
  return std::nullopt;
}

static bool isPointer(const ArtifactParameter &parameter) {
  return parameter.type.starts_with("*");
}

static std::optional<RuntimeError> checkArgument(const SimulatedKernel &kernel, size_t index,
                                                 const LaunchArgument &argument) {
  const ArtifactParameter &parameter = kernel.parameters[index];
  if (argument.isReadOnly && parameter.isStored)
    return RuntimeError{RuntimeError::Kind::Launch, Code::ReadOnlyArgument,
                        "argument `" + parameter.name + "` is read-only, and kernel " +
                            kernel.symbol + " stores to it",
                        "pass a writable array, or a copy"};
  // A null pointer is passed on: the simulator says so if the kernel follows it.
  if (isPointer(parameter) && argument.bytes == 0 && argument.bits != 0 &&
      argument.allocationBase == 0)
    return RuntimeError{RuntimeError::Kind::Launch, Code::UnknownMemory,
                        "argument `" + parameter.name + "` of kernel " + kernel.symbol +
                            " is a pointer to memory of unknown size",
                        "pass an array: the simulator checks every access against its bounds"};
  return std::nullopt;
}

static std::optional<RuntimeError> checkArguments(const SimulatedKernel &kernel,
                                                  std::span<const LaunchArgument> arguments) {
  if (arguments.size() != kernel.parameters.size())
    return RuntimeError{RuntimeError::Kind::Launch, Code::LaunchArguments,
                        "kernel " + kernel.symbol + " takes " +
                            std::to_string(kernel.parameters.size()) + " run-time arguments, " +
                            std::to_string(arguments.size()) + " were given",
                        ""};
  for (size_t i = 0; i < arguments.size(); ++i)
    if (std::optional<RuntimeError> error = checkArgument(kernel, i, arguments[i]))
      return error;
  return std::nullopt;
}

/// Returns true if the kernel may write through an address that it computed from no argument, such
/// as one that it loaded from an array of addresses.
static bool storesAnywhere(const SimulatedKernel &kernel, const Launch &launch) {
  const Program &program = kernel.program;
  std::vector<int32_t> provenance = findProvenance(program, kernel.entry(), launch);
  for (int32_t pc = kernel.entry().begin; pc < kernel.entry().end; ++pc) {
    const Instruction &instruction = program.code[pc];
    bool isStore =
        instruction.op == Op::St || instruction.op == Op::Atom || instruction.op == Op::Red;
    bool isGlobal = instruction.space == Space::Global || instruction.space == Space::Generic;
    if (isStore && isGlobal && provenance[pc] < 0)
      return true;
  }
  return false;
}

/// Room for the bytes of the parameters; none is a pointer yet.
static void reserveParameters(Launch &launch, const std::vector<Parameter> &declared) {
  uint32_t size = 0;
  for (const Parameter &parameter : declared)
    size = std::max(size, parameter.offset + parameter.bytes);
  launch.parameters.assign(size, 0);
  launch.allocationOfParameter.assign(declared.size(), -1);
}

static void addArguments(Launch &launch, const SimulatedKernel &kernel,
                         std::span<const LaunchArgument> arguments) {
  const std::vector<Parameter> &declared = kernel.entry().parameters;
  reserveParameters(launch, declared);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const LaunchArgument &argument = arguments[i];
    memcpy(launch.parameters.data() + declared[i].offset, &argument.bits,
           std::min<size_t>(declared[i].bytes, sizeof(argument.bits)));
    if (!isPointer(kernel.parameters[i]))
      continue;
    launch.allocationOfParameter[i] = int(launch.allocations.size());
    launch.allocations.push_back({kernel.parameters[i].name, argument.allocationBase,
                                  argument.bytes, argument.isReadOnly, nullptr,
                                  argument.skippedBytes});
  }
  if (storesAnywhere(kernel, launch))
    return;
  // What the kernel does not store to by its own word is checked as if it could not.
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isPointer(kernel.parameters[i]) && !kernel.parameters[i].isStored)
      launch.allocations[launch.allocationOfParameter[i]].isReadOnly = true;
}

/// Fills in the tensor maps behind the parameters, in the simulator's own encoding.
static std::optional<RuntimeError> addTensorMaps(Launch &launch, const SimulatedKernel &kernel,
                                                 std::span<const LaunchArgument> arguments) {
  TensorMapMaker maker(kernel.tensorMaps, kernel.parameters);
  size_t next = kernel.parameters.size(); // parameter of a map
  for (size_t i = 0; i < kernel.tensorMaps.size(); ++i) {
    const TensorMapRecipe &recipe = kernel.tensorMaps[i];
    TensorMapNumbers numbers;
    if (std::optional<RuntimeError> error = maker.compute(i, arguments, numbers))
      return error;
    if (recipe.isOfBlocks())
      continue;
    TensorMap map;
    map.element = TensorElement(recipe.element); // both have the numbers of the driver
    map.rank = uint8_t(recipe.box.size());
    map.base = numbers.base;
    std::copy_n(numbers.extents.begin(), map.rank, map.extents.begin());
    std::copy_n(numbers.strides.begin(), map.rank - 1, map.strides.begin());
    std::copy(recipe.box.begin(), recipe.box.end(), map.box.begin());
    map.swizzleBytes = recipe.spanBytes < 32 ? 0 : uint8_t(recipe.spanBytes);
    if (std::string reason = validate(map); !reason.empty())
      return RuntimeError{RuntimeError::Kind::Internal, Code::UnloadableKernel,
                          "a tensor map of kernel " + kernel.symbol + " is invalid: " + reason, ""};
    std::array<uint8_t, kTensorMapBytes> bytes = encode(map);
    const Parameter &declared = kernel.entry().parameters[next++];
    memcpy(launch.parameters.data() + declared.offset, bytes.data(), bytes.size());
  }
  return std::nullopt;
}

/// How many errors there are, and the first of them in full.
static std::string textOfErrors(const SimulatedKernel &kernel, const SimulationReport &report,
                                size_t numErrors) {
  SimulationReport shown;
  constexpr size_t kNumShown = 4;
  for (const Finding &finding : report.findings)
    if (finding.isError && shown.findings.size() < kNumShown)
      shown.findings.push_back(finding);
  std::string text =
      "kernel " + kernel.symbol + " is wrong as GPU code: " + std::to_string(numErrors) +
      (numErrors == 1 ? " finding\n" : " findings\n") + shown.findingsText(kernel.program);
  text.pop_back(); // the last line's end
  if (numErrors > kNumShown)
    text += "\nand " + std::to_string(numErrors - kNumShown) + " more";
  return text;
}

static std::optional<RuntimeError> errorOf(const SimulatedKernel &kernel,
                                           const SimulationReport &report) {
  size_t numErrors = 0;
  for (const Finding &finding : report.findings) {
    // A failed assertion is the program's own word; other findings may only follow from it.
    if (finding.kind == Kind::Assertion)
      return RuntimeError{RuntimeError::Kind::Device, Code::DeviceAssert, finding.message, ""};
    numErrors += finding.isError;
  }
  if (!numErrors)
    return std::nullopt;
  return RuntimeError{RuntimeError::Kind::Device, Code::SimulatorFinding,
                      textOfErrors(kernel, report, numErrors),
                      "the report of the simulation has all findings with their counts"};
}

template <typename Value> using NamedRow = std::pair<const char *, Value>;

/// The value of a word; false where no row has it.
template <typename Value, size_t count>
static bool choose(const NamedRow<Value> (&rows)[count], const std::string &word, Value &value) {
  for (const auto &[name, meaning] : rows)
    if (word == name) {
      value = meaning;
      return true;
    }
  return false;
}

/// Reads the options that are words; false where one is none of them.
static bool readWords(const SimulationOptions &chosen, LaunchOptions &launch) {
  using Schedule = LaunchOptions::Schedule;
  using Completion = LaunchOptions::Completion;
  using Arithmetic = LaunchOptions::Arithmetic;
  static constexpr NamedRow<Schedule> schedules[] = {{"round-robin", Schedule::RoundRobin},
                                                     {"greedy", Schedule::Greedy},
                                                     {"reverse", Schedule::Reverse},
                                                     {"random", Schedule::Random}};
  static constexpr NamedRow<Completion> completions[] = {
      {"late", Completion::Late}, {"early", Completion::Early}, {"random", Completion::Random}};
  static constexpr NamedRow<Arithmetic> arithmetics[] = {{"fast", Arithmetic::Fast},
                                                         {"exact", Arithmetic::Exact}};
  return choose(schedules, chosen.schedule, launch.schedule) &&
         choose(completions, chosen.completion, launch.completion) &&
         choose(arithmetics, chosen.arithmetic, launch.arithmetic);
}

/// Takes a launch's options over; an error where a word of them is unknown.
static std::optional<RuntimeError> addOptions(const SimulationOptions &chosen, Launch &launch) {
  LaunchOptions &options = launch.options;
  if (!readWords(chosen, options))
    return RuntimeError{RuntimeError::Kind::Launch, Code::SimulatedLaunch,
                        "a word of the simulation's options is unknown: " + chosen.schedule + ", " +
                            chosen.completion + " or " + chosen.arithmetic,
                        ""};
  options.seed = options.completionSeed = chosen.seed;
  options.ctas = chosen.ctas;
  options.numTimelines = chosen.numTimelines;
  for (auto [limit, asked] : {std::pair(&options.maxStepsPerWarp, chosen.maxSteps),
                              std::pair(&options.maxStepsPerCta, chosen.maxStepsPerCta),
                              std::pair(&options.maxStepsPerLaunch, chosen.maxStepsPerLaunch)})
    if (asked)
      *limit = asked;
  for (const ReachableMemory &memory : chosen.reachable)
    launch.allocations.push_back(
        {memory.name, memory.base, memory.bytes, memory.isReadOnly, nullptr});
  return std::nullopt;
}

std::optional<RuntimeError> WarpsimDevice::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                                  std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<SimulatedKernel &>(loaded);
  if (std::optional<RuntimeError> error = checkGrid(grid))
    return error;
  if (std::optional<RuntimeError> error = checkClusters(grid, kernel.clusters, kernel.symbol))
    return error;
  if (grid.isCooperative && grid.numPrograms() > kMostTogether)
    return tooManyTogether(grid, kernel.symbol, kMostTogether, "the simulator keeps them all");
  if (std::optional<RuntimeError> error = checkArguments(kernel, arguments))
    return error;
  Launch launch;
  launch.kernel = kernel.symbol;
  launch.beginsEarly = kernel.beginsEarly;
  launch.isCooperative = grid.isCooperative;
  for (unsigned axis = 0; axis < 3; ++axis)
    launch.grid[axis] = uint32_t(grid.programs[axis]);
  launch.block = {uint32_t(kernel.numThreads), 1, 1};
  if (kernel.program.hasDynamicShared)
    launch.dynamicSharedBytes = uint32_t(
        std::max<int64_t>(0, kernel.sharedBytes - int64_t(kernel.program.staticSharedBytes)));
  addArguments(launch, kernel, arguments);
  if (std::optional<RuntimeError> error = addTensorMaps(launch, kernel, arguments))
    return error;
  addImplicitParameters(kernel.program, launch);
  launch.sharedBuffers = kernel.sharedBuffers;
  if (grid.simulation)
    if (std::optional<RuntimeError> error = addOptions(*grid.simulation, launch))
      return error;
  uint64_t numCtas = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (numCtas == 0)
    return std::nullopt;
  if (std::optional<RuntimeError> error = checkChoice(launch.options.ctas, numCtas))
    return error;
  if (std::string obstacle = findObstacle(kernel.program, launch); !obstacle.empty())
    return RuntimeError{RuntimeError::Kind::Launch, Code::SimulatedLaunch,
                        "kernel " + kernel.symbol + " cannot be launched on " + name() + ": " +
                            obstacle,
                        "choose smaller tiles, fewer stages or another number of warps"};
  if (kernel.promises)
    if (std::optional<RuntimeError> error = promises->launch(*kernel.promises, grid, arguments))
      return error;
  launch.isInterrupted = isInterrupted;
  SimulationReport found = simulate(kernel.program, launch);
  if (found.isInterrupted)
    return interruptError(kernel.symbol);
  {
    std::lock_guard lock(mutex);
    report = found.json(kernel.program);
  }
  return errorOf(kernel, found);
}

std::shared_ptr<SimulatedDevice> tw::makeWarpsimDevice(const std::string &arch,
                                                       ProgramReader reader,
                                                       std::shared_ptr<Device> promises) {
  return std::make_shared<WarpsimDevice>(arch, std::move(reader), std::move(promises));
}
