// How a launch and its CTAs begin.
#include "backend/warpsim/core/state/Machine.h"
#include "backend/warpsim/core/memory/Provenance.h"
#include <algorithm>

using namespace tw::warpsim;

void AsyncCopies::reset(unsigned numWarps, uint32_t sharedBytes, uint64_t seed) {
  ofWarp.resize(numWarps);
  for (std::vector<AsyncCopy> &copies : ofWarp)
    copies.clear();
  numCommitted.assign(numWarps, {});
  numOfRows.assign(numWarps, 0);
  inFlight.assign(sharedBytes / 256 + 1, 0);
  numInFlight = numUnmoved = 0;
  random.seed(seed);
}

void Coverage::reset(unsigned numWarps) {
  for (std::vector<WarpCoverage> &warps : ofMemory)
    warps.assign(numWarps, {});
  numSignals.assign(numWarps, 0);
}

static uint64_t localBytesOf(const Program &program) {
  uint64_t bytes = 0;
  for (const Function &function : program.functions)
    bytes = std::max<uint64_t>(bytes, function.localBytes);
  for (const Variable &variable : program.variables)
    if (variable.space == Space::Local)
      bytes = std::max(bytes, variable.offset + variable.bytes);
  return (bytes + 15) / 16 * 16;
}

static uint32_t sharedBytesOf(const Program &program, const Launch &launch) {
  uint32_t fixed = program.staticSharedBytes;
  if (program.hasDynamicShared || launch.dynamicSharedBytes)
    fixed = (fixed + 15) / 16 * 16;
  return fixed + launch.dynamicSharedBytes;
}

/// Returns the CTAs of a cluster along each axis.
static std::array<uint32_t, 3> clusterOf(const Function &kernel) {
  std::array<uint32_t, 3> cluster = kernel.cluster;
  for (uint32_t &extent : cluster)
    extent = std::max(1u, extent);
  return cluster;
}

/// Finds what executes each instruction, and which of them nothing can hinder.
static void prepareHandlers(const Program &program, std::vector<Prepared> &prepared) {
  for (size_t i = 0; i < program.code.size(); ++i) {
    const Instruction &instruction = program.code[i];
    if (instruction.op < Op::FirstOfCore)
      prepared[i].handler = findHandler(instruction);
    prepared[i].isPlain = prepared[i].handler && instruction.guard.kind == Operand::Kind::None;
  }
  // Running off the end of a function is a return, and only the slow path looks for it.
  for (const Function &function : program.functions)
    if (function.begin < function.end)
      prepared[function.begin].isPlain = false;
}

LaunchState::LaunchState(const Program &program, const Launch &launch, const Function &kernel)
    : program(program), launch(launch), kernel(kernel),
      numThreads(launch.block[0] * launch.block[1] * launch.block[2]),
      numWarps((numThreads + program.lanesPerWarp() - 1) / program.lanesPerWarp()),
      cluster(clusterOf(kernel)), arch(program.arch()), sharedBytes(sharedBytesOf(program, launch)),
      localBytes(localBytesOf(program)), prepared(program.code.size() + 1), memory(program, launch),
      findings(program, launch.options.maxFindings), interrupts(launch.isInterrupted) {
  prepareHandlers(program, prepared);
  std::vector<bool> touches = findTouchesOfProducts(program, kernel);
  hasProducts = !touches.empty();
  for (size_t i = 0; i < touches.size(); ++i)
    prepared[i].touchesProduct = touches[i];
  sync = findSynchronization(program, kernel);
  for (size_t i = 0; i < program.code.size(); ++i)
    prepared[i].sync = sync.steps[i];
  std::vector<int32_t> provenance = findProvenance(program, kernel, launch);
  for (size_t i = 0; i < program.code.size(); ++i)
    if (provenance[i] >= 0)
      prepared[i].expected = memory.regionOf(launch.allocations[provenance[i]]);
  std::vector<int32_t> shared = findSharedProvenance(program, kernel);
  for (size_t i = 0; i < program.code.size(); ++i)
    if (shared[i] >= 0)
      prepared[i].sharedVariable = &program.variables[shared[i]];
}

Cta::Cta(LaunchState &launch)
    : launch(launch), warps(launch.numWarps),
      sharedShadow((launch.sharedBytes + 15) / 16 * 16, true), executed(launch.program.code.size()),
      counted(launch.program.code.size()), regionHints(launch.program.code.size()) {}

/// Registers of the last CTA on this host thread keep their values, which are as good as any.
static void forgetValues(WarpRegisters &registers) {
  std::fill(registers.predicatesSet.begin(), registers.predicatesSet.end(), 0);
  std::fill(registers.wordsSet.begin(), registers.wordsSet.end(), 0);
  std::fill(registers.wordsPartial.begin(), registers.wordsPartial.end(), 0);
  std::fill(registers.doublesSet.begin(), registers.doublesSet.end(), 0);
  std::fill(registers.doublesPartial.begin(), registers.doublesPartial.end(), 0);
  registers.carrySet = 0;
}

static void startWarp(Warp &warp, unsigned index, const LaunchState &launch) {
  std::vector<std::unique_ptr<Frame>> frames = std::move(warp.frames);
  TrackedBytes local = std::move(warp.local);
  warp = Warp();
  warp.index = index;
  unsigned most = launch.program.lanesPerWarp();
  unsigned count = std::min(most, launch.numThreads - index * most);
  warp.lanes = count == kWarpSize ? ~LaneMask(0) : (1u << count) - 1;
  if (frames.empty())
    frames.push_back(std::make_unique<Frame>(launch.kernel));
  frames.resize(1);
  forgetValues(frames[0]->registers);
  warp.frames = std::move(frames);
  warp.local = std::move(local);
  if (!warp.local.bytes.empty())
    warp.local.reset(kWarpSize * launch.localBytes);
  warp.stack.push_back({launch.kernel.begin, -1, warp.lanes, 0, -1});
}

void Cta::start(uint64_t linear, uint64_t index) {
  number = linear;
  slot = uint32_t(index + 1);
  isAhead = false;
  const auto &grid = launch.launch.grid;
  position = {uint32_t(linear % grid[0]), uint32_t(linear / grid[0] % grid[1]),
              uint32_t(linear / grid[0] / grid[1])};
  for (unsigned i = 0; i < warps.size(); ++i)
    startWarp(warps[i], i, launch);
  barriers = {};
  shared.reset(launch.sharedBytes);
  alone = {};
  alone.ctas = {this};
  cluster = &alone;
  rank = 0;
  // Warps of other CTAs of the cluster are guests, each behind its own CTA's.
  unsigned numWarps = launch.numWarps * (launch.clusterSize() > 1 ? 2 : 1);
  clocks.reset(slot, numWarps, launch.program.waveSize);
  if (launch.program.isAmdgcn) {
    globalClocks.reset(slot, launch.numWarps, launch.program.waveSize);
    coverage.reset(launch.numWarps);
  }
  async.reset(launch.numWarps, launch.sharedBytes,
              launch.launch.options.completionSeed * 0x9e3779b97f4a7c15 + linear);
  bulk.reset(launch.numWarps, launch.sharedBytes,
             launch.launch.options.completionSeed * 0x9e3779b97f4a7c15 + linear);
  registerShares = {};
  proxyFences.reset(clocks, numWarps);
  if (launch.hasProducts)
    products.reset(launch.numWarps, launch.sharedBytes,
                   launch.kernel.numRegisters[size_t(RegisterFile::Word)],
                   launch.launch.options.completionSeed * 0x9e3779b97f4a7c15 + linear);
  released.clear();
  printed.clear();
  clock = nextPoll = numTold = numChanges = 0;
  isStopped = false;
  timeline.start(number, index < launch.launch.options.numTimelines);
  lastWarp = launch.numWarps - 1;
  random.seed(launch.launch.options.seed * 0x9e3779b97f4a7c15 + linear);
}

std::array<uint32_t, 3> Cta::threadPosition(unsigned warp, unsigned lane) const {
  uint32_t linear = warp % launch.numWarps * launch.program.lanesPerWarp() + lane;
  const auto &block = launch.launch.block;
  return {linear % block[0], linear / block[0] % block[1], linear / block[0] / block[1]};
}

bool InterruptPoll::poll() {
  if (isLauncher() && Clock::now() >= next) {
    if (ask())
      isInterrupted = true;
    next = Clock::now() + kInterval;
  }
  return isInterrupted;
}
