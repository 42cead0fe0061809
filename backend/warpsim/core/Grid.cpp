// CTAs as jobs of a team of host threads, or in turns on one.
#include "backend/warpsim/core/Grid.h"
#include "backend/warpsim/core/order/Clusters.h"
#include "backend/warpsim/core/order/Interleaver.h"
#include "backend/warpsim/ptx/Parse.h"
#include <algorithm>
#include <optional>
#include <thread>

using namespace tw::warpsim;

// Fruitless rounds of all that wait before that counts as a deadlock, and before lanes that wait
// for others of their own warp let those go on. Only when nobody else can: lanes that go on without
// the others may diverge at a barrier, which a short wait must not cause.
constexpr unsigned kFruitlessRounds = 64, kRoundsBeforeRotation = 4;
constexpr size_t kMaxThreads = 64;
// CTAs that take turns are so many that their warps are about 64. Some of them are from the middle
// and from the end of the grid, which may need what the first have not done.
constexpr unsigned kWarpsInTurns = 64, kMinCtasInTurns = 4, kMaxCtasInTurns = 32;

namespace {
class GridRun {
public:
  explicit GridRun(LaunchState &launch);
  void work();
  Statistics finish();
  size_t numThreads() const;

private:
  void runAlone();
  void runClusters();
  void findClusters();
  std::optional<uint64_t> takeNext();
  std::unique_ptr<Cta> runAsTeam(std::unique_ptr<Cta> cta, uint64_t index);
  void runInTurns(unsigned numTogether);
  void fill(Interleaver &team, unsigned numTogether);
  bool goOn(Interleaver &team);
  std::unique_ptr<Cta> start(uint64_t number, uint64_t index);
  std::unique_ptr<Cta> start(uint64_t index) { return start(launch.numberOf(index), index); }
  uint64_t nextAhead();
  void retire(std::unique_ptr<Cta> cta);
  /// Returns true if CTAs may still begin.
  bool hasNext() const {
    return (low < lowEnd || middle < high) && !launch.hasHitStepLimit &&
           !launch.interrupts.isInterrupted;
  }
  uint64_t nextInOrder() { return low < lowEnd ? low++ : middle++; }
  void print();

  LaunchState &launch;
  std::vector<uint64_t> clusters; // the first CTA of each
  uint64_t count;
  std::mutex mutex; // guards all below
  // Left to begin are [low, lowEnd), which is a half or all, and [middle, high).
  uint64_t low = 0, lowEnd, middle, high;
  size_t numAhead = 0; // running that have begun before others of lower number
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Cta>> idle;  // ended: registers and memory to use again
  std::map<uint64_t, std::string> printed; // by CTA, of those that printed
};
} // namespace

GridRun::GridRun(LaunchState &launch)
    : launch(launch), random(launch.launch.options.seed ^ 0x5851f42d4c957f2d) {
  const auto &grid = launch.launch.grid;
  uint64_t total = uint64_t(grid[0]) * grid[1] * grid[2];
  count = launch.launch.options.ctas.empty() ? total : launch.launch.options.ctas.size();
  if (launch.clusterSize() > 1)
    findClusters();
  lowEnd = launch.sync.interaction == Interaction::Ctas ? (count + 1) / 2 : count;
  middle = lowEnd;
  high = count;
}

size_t GridRun::numThreads() const {
  if (launch.sync.interaction == Interaction::Ctas)
    return 1;
  size_t wanted = launch.launch.options.numThreads;
  if (wanted == 0)
    wanted = std::max(1u, std::thread::hardware_concurrency());
  return std::min<size_t>({wanted, kMaxThreads, count});
}

/// Lists the clusters that have CTAs to run: they run as a whole.
void GridRun::findClusters() {
  const auto &[width, height, depth] = launch.launch.grid;
  const auto &[x, y, z] = launch.cluster;
  for (uint64_t index = 0; index < count; ++index) {
    uint64_t cta = launch.numberOf(index);
    uint64_t column = cta % width, row = cta / width % height, layer = cta / width / height;
    clusters.push_back((layer / z * z * height + row / y * y) * width + column / x * x);
  }
  std::ranges::sort(clusters);
  clusters.erase(std::ranges::unique(clusters).begin(), clusters.end());
  count = clusters.size();
}

std::unique_ptr<Cta> GridRun::start(uint64_t number, uint64_t index) {
  std::unique_ptr<Cta> cta;
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      cta = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (!cta)
    cta = std::make_unique<Cta>(launch);
  cta->start(number, index);
  return cta;
}

void GridRun::retire(std::unique_ptr<Cta> cta) {
  std::lock_guard lock(mutex);
  numAhead -= cta->isAhead;
  if (!cta->printed.empty())
    printed[cta->number] += cta->printed;
  if (cta->timeline.isKept) {
    cta->timeline.finish(cta->clock);
    launch.timelines.push_back(std::move(cta->timeline));
  }
  idle.push_back(std::move(cta));
}

/// The CTA, or the cluster, that begins next; nullopt when none does.
std::optional<uint64_t> GridRun::takeNext() {
  std::lock_guard lock(mutex);
  return hasNext() ? std::optional(nextInOrder()) : std::nullopt;
}

/// Runs a CTA whose warps wait for each other; null where it was given up.
std::unique_ptr<Cta> GridRun::runAsTeam(std::unique_ptr<Cta> cta, uint64_t index) {
  Interleaver team(launch);
  team.reseed(index);
  team.add(std::move(cta));
  do
    cta = team.run();
  while (!cta && goOn(team));
  return cta;
}

void GridRun::runAlone() {
  while (std::optional<uint64_t> index = takeNext()) {
    std::unique_ptr<Cta> cta = start(*index);
    if (launch.sync.interaction == Interaction::None)
      cta->run();
    else
      cta = runAsTeam(std::move(cta), *index);
    if (!cta)
      continue;
    retire(std::move(cta));
    launch.interrupts.poll();
  }
}

void GridRun::runClusters() {
  const auto &[width, height, depth] = launch.launch.grid;
  const auto &[x, y, z] = launch.cluster;
  while (std::optional<uint64_t> index = takeNext()) {
    std::vector<std::unique_ptr<Cta>> ctas;
    Cluster cluster;
    for (uint64_t rank = 0; rank < launch.clusterSize(); ++rank) {
      uint64_t column = rank % x, row = rank / x % y, layer = rank / x / y;
      uint64_t number = clusters[*index] + (layer * height + row) * width + column;
      ctas.push_back(start(number, *index * launch.clusterSize() + rank));
      cluster.ctas.push_back(ctas.back().get());
    }
    join(cluster);
    Cta::runTogether(cluster);
    for (std::unique_ptr<Cta> &cta : ctas)
      retire(std::move(cta));
    launch.interrupts.poll();
  }
}

/// The next CTA that begins before those of lower numbers.
uint64_t GridRun::nextAhead() {
  bool isFromEnd = launch.launch.options.schedule == LaunchOptions::Schedule::Random
                       ? random() % 2 == 0
                       : numAhead % 2 == 0;
  return isFromEnd ? --high : middle++;
}

/// Every second CTA that begins is from the middle or from the end, while such ones are half of
/// those that run at most: programs that wait for lower numbers would fill all places.
void GridRun::fill(Interleaver &team, unsigned numTogether) {
  while (team.size() < numTogether && hasNext()) {
    bool isAhead = low < lowEnd && middle < high && numAhead < numTogether / 2 &&
                   numAhead < (team.size() + 1) / 2;
    std::unique_ptr<Cta> cta = start(isAhead ? nextAhead() : nextInOrder());
    cta->isAhead = isAhead;
    numAhead += isAhead;
    team.add(std::move(cta));
  }
}

/// All who run wait for others. False when nothing comes of it: then a deadlock has been reported,
/// unless a limit has stopped whom they wait for, and nobody is left.
bool GridRun::goOn(Interleaver &team) {
  launch.interrupts.poll();
  unsigned numRounds = team.tryAgain();
  if (numRounds > kRoundsBeforeRotation)
    team.rotateSpinners();
  bool isStopped = launch.hasHitStepLimit || launch.interrupts.isInterrupted;
  if (numRounds <= kFruitlessRounds && !isStopped)
    return true;
  for (std::unique_ptr<Cta> &cta : team.takeAll()) {
    if (!isStopped)
      cta->reportDeadlock();
    retire(std::move(cta));
  }
  return false;
}

void GridRun::runInTurns(unsigned numTogether) {
  Interleaver team(launch);
  while (true) {
    fill(team, numTogether);
    if (team.size() == 0)
      return;
    if (std::unique_ptr<Cta> ended = team.run())
      retire(std::move(ended));
    else if (hasNext())
      team.add(start(nextInOrder())); // they may wait for it
    else
      goOn(team);
    launch.interrupts.poll();
  }
}

void GridRun::work() {
  if (launch.clusterSize() > 1)
    runClusters();
  else if (launch.sync.interaction == Interaction::Ctas && launch.launch.isCooperative)
    runInTurns(unsigned(count));
  else if (launch.sync.interaction == Interaction::Ctas)
    runInTurns(std::clamp(kWarpsInTurns / launch.numWarps, kMinCtasInTurns, kMaxCtasInTurns));
  else
    runAlone();
}

static std::string nameOfOperation(const Program &program, const Instruction &instruction) {
  if (program.isAmdgcn)
    return program.texts[size_t(program.textOf[size_t(&instruction - program.code.data())])].name;
  std::string text = printInstruction(program, instruction);
  size_t begin = 0;
  if (text.starts_with("@"))
    begin = text.find_first_not_of(" \t", text.find_first_of(" \t"));
  return text.substr(begin, text.find_first_of(" \t;", begin) - begin);
}

static void add(Statistics &sum, const Statistics &part) {
  sum.warpInstructions += part.warpInstructions;
  sum.threadInstructions += part.threadInstructions;
  sum.globalLoadRequests += part.globalLoadRequests;
  sum.globalLoadSectors += part.globalLoadSectors;
  sum.globalLoadBytes += part.globalLoadBytes;
  sum.globalStoreRequests += part.globalStoreRequests;
  sum.globalStoreSectors += part.globalStoreSectors;
  sum.globalStoreBytes += part.globalStoreBytes;
  sum.sharedRequests += part.sharedRequests;
  sum.sharedWavefronts += part.sharedWavefronts;
  sum.idealSharedWavefronts += part.idealSharedWavefronts;
  sum.matrixRowGroups += part.matrixRowGroups;
  sum.matrixWavefronts += part.matrixWavefronts;
  sum.asyncCopies += part.asyncCopies;
  sum.barriers += part.barriers;
  sum.atomics += part.atomics;
  sum.localAccesses += part.localAccesses;
  sum.divergentBranches += part.divergentBranches;
}

void GridRun::print() {
  const auto &sink = launch.launch.print;
  for (const auto &[number, text] : printed) {
    if (text.empty())
      continue;
    if (sink)
      sink(text);
    else
      fwrite(text.data(), 1, text.size(), stdout);
  }
  if (!sink && !printed.empty())
    fflush(stdout);
}

/// How often instruction `i` ran, as the machine counts: what an instruction of LLVM IR is made of
/// counts as one, and a wave's two warps as one wave.
static uint64_t timesOf(const Program &program, size_t i, uint64_t executed) {
  if (!program.isAmdgcn)
    return executed;
  bool isPart = i && program.textOf[i] == program.textOf[i - 1];
  return isPart ? 0 : (executed * program.lanesPerWarp() + program.waveSize - 1) / program.waveSize;
}

LineStatistics &LineStatistics::operator+=(const LineStatistics &other) {
  warpInstructions += other.warpInstructions;
  globalRequests += other.globalRequests;
  globalSectors += other.globalSectors;
  globalBytes += other.globalBytes;
  sharedRequests += other.sharedRequests;
  sharedWavefronts += other.sharedWavefronts;
  idealSharedWavefronts += other.idealSharedWavefronts;
  divergentBranches += other.divergentBranches;
  waits += other.waits;
  return *this;
}

/// Adds an instruction's counters to those of its line, if it names one.
static void addToLine(Statistics &sum, const Program &program, size_t pc, uint64_t times,
                      LineStatistics counted) {
  int32_t location = program.code[pc].location;
  if (location < 0 || size_t(location) >= program.locations.size())
    return;
  const SourceLocation &place = program.locations[size_t(location)];
  auto file = program.files.find(place.file);
  counted.warpInstructions = times;
  sum.lines[{file == program.files.end() ? "" : file->second, place.line}] += counted;
}

Statistics GridRun::finish() {
  print();
  Statistics sum;
  std::vector<uint64_t> executed(launch.program.code.size());
  std::vector<LineStatistics> counted(executed.size());
  for (const std::unique_ptr<Cta> &cta : idle) {
    add(sum, cta->statistics);
    for (size_t i = 0; i < executed.size(); ++i) {
      executed[i] += cta->executed[i];
      counted[i] += cta->counted[i];
    }
  }
  for (size_t i = 0; i < executed.size(); ++i) {
    uint64_t times = timesOf(launch.program, i, executed[i]);
    if (executed[i])
      addToLine(sum, launch.program, i, times, counted[i]);
    if (!times)
      continue;
    sum.warpInstructions += times;
    sum.mix[nameOfOperation(launch.program, launch.program.code[i])] += times;
  }
  return sum;
}

Statistics tw::warpsim::runGrid(LaunchState &launch) {
  GridRun run(launch);
  std::vector<std::thread> team;
  for (size_t i = 1; i < run.numThreads(); ++i)
    team.emplace_back([&run] { run.work(); });
  run.work();
  for (std::thread &member : team)
    member.join();
  return run.finish();
}
