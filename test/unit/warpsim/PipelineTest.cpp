// A pipelined matrix product of cp.async, ldmatrix and mma: right whenever its copies complete; and
// the bugs that such kernels have, each of them found, also where the numbers are right by luck.
#include "SimulationHarness.h"
#include "backend/warpsim/exec/Float.h"
#include <gtest/gtest.h>
#include <random>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

// CTAs of 4 warps make 64x64 of C = A * B from steps of 32, with 3 buffers of A and B each.
constexpr unsigned kRows = 128, kColumns = 128, kDepth = 160, kTile = 64, kStep = 32;
constexpr unsigned kStageBytes = 8192;

namespace {
enum class Bug {
  None,
  WaitLeavesTwo,
  NoWait,
  NoLoopCommit,
  OneCommitForTheFirstTwo,
  NoCommitAtTheEnd,
  BarrierBeforeWait,
  NoBarrier,
  CopyBeforeBarrier,
  WrongFirstStage,
  TwoBuffersOnly,
  NoGuard,
  StoreToSource,
  ReadsNextStageTooEarly,
  NoBarrierBeforeReuse,
  NoBarrierAfterReuse,
  MisalignedCopy,
  WaitByOneWarp
};

struct Seeded {
  Bug bug;
  Kind kind;
  Op at, before; // Op::Nop: none
  bool isRightWhenEager;
};

/// Builds the text, statement by statement.
class PipelineText {
public:
  explicit PipelineText(Bug bug) : bug(bug) {}
  std::string build();

private:
  void add(const std::string &statement) { text += "  " + statement + ";\n"; }
  bool is(Bug other) const { return bug == other; }
  void addressCopies();
  void addressFragments();
  void issue();
  void advance(const std::string &stage);
  void multiplyStep();
  void loop();
  void reuseBuffer();
  void storeResult();

  Bug bug;
  std::string text;
};
} // namespace

static std::string n(const std::string &name, unsigned i) { return name + std::to_string(i); }

void PipelineText::addressCopies() {
  for (unsigned i = 0; i < 2; ++i) {
    // A: 64 rows of 4 chunks of 16 bytes; chunks of two rows share 128 bytes.
    add("add.u32 %q, %tx, " + std::to_string(128 * i));
    add("shr.u32 %row, %q, 2; and.b32 %c, %q, 3; shr.u32 %t, %row, 1; and.b32 %t, %t, 3");
    add("xor.b32 %t, %t, %c; shl.b32 %t, %t, 4; shl.b32 " + n("%toA", i) + ", %row, 6");
    add("add.u32 " + n("%toA", i) + ", " + n("%toA", i) + ", %t");
    add("mad.lo.u32 %t, %bx, 64, %row; mul.lo.u32 %t, %t, " + std::to_string(2 * kDepth));
    add("shl.b32 %c, %c, 4; add.u32 %t, %t, %c; cvt.u64.u32 %w, %t");
    add("add.s64 " + n("%fromA", i) + ", %a, %w");
    // B: 32 rows of 8 chunks.
    add("shr.u32 %row, %q, 3; and.b32 %c, %q, 7; and.b32 %t, %row, 7; xor.b32 %t, %t, %c");
    add("shl.b32 %t, %t, 4; shl.b32 " + n("%toB", i) + ", %row, 7");
    add("add.u32 %t, %t, 4096; add.u32 " + n("%toB", i) + ", " + n("%toB", i) + ", %t");
    add("mul.lo.u32 %t, %row, " + std::to_string(2 * kColumns) + "; shl.b32 %c, %c, 4");
    add("add.u32 %t, %t, %c; mad.lo.u32 %t, %by, 128, %t; cvt.u64.u32 %w, %t");
    add("add.s64 " + n("%fromB", i) + ", %b, %w");
  }
  if (is(Bug::MisalignedCopy))
    add("add.u32 %toA0, %toA0, 8");
}

void PipelineText::addressFragments() {
  add("and.b32 %low, %lane, 15; shr.u32 %high, %lane, 4");
  for (unsigned k = 0; k < 2; ++k)
    for (unsigned i = 0; i < 2; ++i) {
      std::string a = n("%offA", 2 * k + i), b = n("%offB", 2 * k + i);
      // Row wm * 32 + i * 16 + lane % 16 of A, chunk 2 * k + lane / 16.
      add("mad.lo.u32 %row, %wm, 32, %low; add.u32 %row, %row, " + std::to_string(16 * i));
      add("add.u32 %c, %high, " + std::to_string(2 * k) + "; shr.u32 %t, %row, 1");
      add("and.b32 %t, %t, 3; xor.b32 %c, %c, %t; shl.b32 %c, %c, 4");
      add("mad.lo.u32 " + a + ", %row, 64, %c");
      // Row k * 16 + lane % 16 of B, chunk wn * 4 + 2 * i + lane / 16.
      add("add.u32 %row, %low, " + std::to_string(16 * k) + "; mad.lo.u32 %c, %wn, 4, %high");
      add("add.u32 %c, %c, " + std::to_string(2 * i) + "; and.b32 %t, %row, 7");
      add("xor.b32 %c, %c, %t; shl.b32 %c, %c, 4; add.u32 %c, %c, 4096");
      add("mad.lo.u32 " + b + ", %row, 128, %c");
    }
}

void PipelineText::issue() {
  for (const char *operand : {"A", "B"})
    for (unsigned i = 0; i < 2; ++i) {
      std::string from = n(std::string("%from") + operand, i);
      add("add.u32 %t, %write, " + n(std::string("%to") + operand, i));
      add("cp.async.cg.shared.global [%t], [" + from + "], 16");
      unsigned step = operand[0] == 'A' ? 2 * kStep : 2 * kStep * kColumns;
      add("add.s64 " + from + ", " + from + ", " + std::to_string(step));
    }
  advance("%write");
}

void PipelineText::advance(const std::string &stage) {
  unsigned numStages = is(Bug::TwoBuffersOnly) ? 2 : 3;
  add("add.u32 " + stage + ", " + stage + ", " + std::to_string(kStageBytes));
  add("add.u32 %t, %base, " + std::to_string(numStages * kStageBytes));
  add("setp.eq.u32 %p1, " + stage + ", %t; selp.b32 " + stage + ", %base, " + stage + ", %p1");
}

void PipelineText::multiplyStep() {
  for (unsigned k = 0; k < 2; ++k) {
    for (unsigned i = 0; i < 2; ++i) {
      std::string first = std::to_string(4 * i), registers;
      for (unsigned r = 0; r < 4; ++r)
        registers += (r ? ", %X" : "{%X") + std::to_string(4 * i + r);
      auto named = [&](char operand) {
        std::string list = registers;
        for (char &c : list)
          c = c == 'X' ? operand : c;
        return list + "}, [%t]";
      };
      add("add.u32 %t, %read, " + n("%offA", 2 * k + i));
      add("ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + named('x'));
      add("add.u32 %t, %read, " + n("%offB", 2 * k + i));
      add("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 " + named('y'));
    }
    for (unsigned m = 0; m < 2; ++m)
      for (unsigned column = 0; column < 4; ++column) {
        std::string c, a;
        for (unsigned r = 0; r < 4; ++r) {
          c += (r ? ", %f" : "{%f") + std::to_string(16 * m + 4 * column + r);
          a += (r ? ", %x" : "{%x") + std::to_string(4 * m + r);
        }
        unsigned b = column / 2 * 4 + column % 2 * 2;
        add("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + c + "}, " + a + "}, {" +
            n("%y", b) + ", " + n("%y", b + 1) + "}, " + c + "}");
      }
  }
  advance("%read");
}

void PipelineText::loop() {
  std::string wait = is(Bug::WaitLeavesTwo) ? "cp.async.wait_group 2" : "cp.async.wait_group 1";
  if (is(Bug::WaitByOneWarp))
    wait = "setp.lt.u32 %p2, %tx, 32; @%p2 " + wait;
  text += "LOOP:\n";
  if (is(Bug::BarrierBeforeWait))
    add("bar.sync 0");
  if (is(Bug::ReadsNextStageTooEarly))
    add("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x0}, [%read]");
  if (!is(Bug::NoWait))
    add(wait);
  if (!is(Bug::BarrierBeforeWait) && !is(Bug::NoBarrier) && !is(Bug::CopyBeforeBarrier))
    add("bar.sync 0");
  add("add.u32 %t, %k, 2; setp.ge.u32 %p0, %t, %numSteps");
  if (!is(Bug::NoGuard))
    add("@%p0 bra SKIP");
  issue();
  if (is(Bug::NoCommitAtTheEnd))
    add("cp.async.commit_group");
  text += "SKIP:\n";
  if (!is(Bug::NoLoopCommit) && !is(Bug::NoCommitAtTheEnd))
    add("cp.async.commit_group");
  if (is(Bug::CopyBeforeBarrier))
    add("bar.sync 0");
  multiplyStep();
  add("add.u32 %k, %k, 1; setp.lt.u32 %p0, %k, %numSteps; @%p0 bra LOOP");
  if (is(Bug::NoLoopCommit))
    add("cp.async.wait_all"); // so that nothing else is wrong
}

/// Warps exchange a value through the buffer that the last step has used.
void PipelineText::reuseBuffer() {
  std::string lastStage = std::to_string((kDepth / kStep - 1) % 3 * kStageBytes);
  if (!is(Bug::NoBarrierBeforeReuse))
    add("bar.sync 0");
  add("mad.lo.u32 %q, %tx, 4, %base; st.shared.f32 [%q+" + lastStage + "], %f0");
  if (!is(Bug::NoBarrierAfterReuse))
    add("bar.sync 0");
  add("xor.b32 %t, %tx, 64; mad.lo.u32 %q, %t, 4, %base; ld.shared.f32 %g, [%q+" + lastStage + "]");
}

void PipelineText::storeResult() {
  add("mad.lo.u32 %row, %bx, 64, %group; mad.lo.u32 %row, %wm, 32, %row");
  add("mad.lo.u32 %c, %by, 64, %member; mad.lo.u32 %c, %wn, 32, %c");
  add("mad.lo.u32 %t, %row, " + std::to_string(kColumns) + ", %c; shl.b32 %t, %t, 2");
  add("cvt.u64.u32 %w, %t; add.s64 %w, %out, %w");
  for (unsigned m = 0; m < 2; ++m)
    for (unsigned column = 0; column < 4; ++column)
      for (unsigned half = 0; half < 2; ++half) {
        unsigned offset = 4 * ((16 * m + 8 * half) * kColumns + 8 * column);
        unsigned first = 16 * m + 4 * column + 2 * half;
        add("st.global.v2.f32 [%w+" + std::to_string(offset) + "], {" + n("%f", first) + ", " +
            n("%f", first + 1) + "}");
      }
  add("mad.lo.u32 %t, %by, 2, %bx; mad.lo.u32 %t, %t, 128, %tx; shl.b32 %t, %t, 2");
  add("cvt.u64.u32 %w, %t; add.s64 %w, %more, %w; st.global.f32 [%w], %g");
}

std::string PipelineText::build() {
  text = ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".shared .align 128 .b8 tiles[24576];\n"
         ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n"
         "  .reg .pred %p<4>; .reg .b64 %a, %b, %out, %more, %w, %fromA<2>, %fromB<2>;\n"
         "  .reg .b32 %tx, %lane, %warp, %wm, %wn, %bx, %by, %base, %read, %write, %k, %numSteps;\n"
         "  .reg .b32 %q, %row, %c, %t, %low, %high, %group, %member, %toA<2>, %toB<2>;\n"
         "  .reg .b32 %offA<4>, %offB<4>, %x<8>, %y<8>;\n  .reg .f32 %f<32>, %g;\n";
  add("ld.param.u64 %a, [p0]; ld.param.u64 %b, [p1]; ld.param.u64 %out, [p2]");
  add("ld.param.u64 %more, [p3]; mov.u32 %tx, %tid.x; mov.u32 %bx, %ctaid.x");
  add("mov.u32 %by, %ctaid.y; mov.u32 %base, tiles; and.b32 %lane, %tx, 31");
  add("shr.u32 %warp, %tx, 5; and.b32 %wm, %warp, 1; shr.u32 %wn, %warp, 1");
  add("shr.u32 %group, %lane, 2; and.b32 %member, %lane, 3; shl.b32 %member, %member, 1");
  add("mov.u32 %k, 0; mov.u32 %numSteps, " + std::to_string(kDepth / kStep));
  add("mov.u32 %read, %base; mov.u32 %write, %base");
  for (unsigned i = 0; i < 32; ++i)
    add(n("mov.f32 %f", i) + ", 0f00000000");
  addressCopies();
  addressFragments();
  issue();
  if (is(Bug::StoreToSource))
    add("ld.global.b32 %t, [%fromA0+-64]; st.global.b32 [%fromA0+-64], %t");
  if (!is(Bug::OneCommitForTheFirstTwo))
    add("cp.async.commit_group");
  issue();
  add("cp.async.commit_group");
  if (is(Bug::WrongFirstStage))
    add("add.u32 %write, %base, " + std::to_string(kStageBytes));
  loop();
  reuseBuffer();
  storeResult();
  return text + "  ret;\n}\n";
}

namespace {
struct PipelineRun {
  SimulationReport report;
  Program program;
  bool isRight = false;
};
} // namespace

static std::vector<uint32_t> pack(const std::vector<int> &values) {
  std::vector<uint32_t> words(values.size() / 2);
  for (size_t i = 0; i < values.size(); ++i)
    words[i / 2] |= roundToFormat(values[i], kHalf, Rounding::Rn) << 16 * (i % 2);
  return words;
}

static PipelineRun runPipeline(Bug bug, LaunchOptions options) {
  std::mt19937 generator(unsigned(options.seed) + 7);
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<int> a(kRows * kDepth), b(kDepth * kColumns);
  for (std::vector<int> *values : {&a, &b})
    for (int &value : *values)
      value = small(generator);
  Simulation simulation;
  simulation.array("A", pack(a), bug != Bug::StoreToSource);
  simulation.array("B", pack(b), true);
  auto &out = simulation.array("C", std::vector<uint32_t>(kRows * kColumns));
  simulation.array("more", std::vector<uint32_t>(4 * 128));
  simulation.launch.grid = {kRows / kTile, kColumns / kTile, 1};
  simulation.launch.block = {128, 1, 1};
  simulation.launch.options = options;
  PipelineRun run;
  run.report = simulation.runText(PipelineText(bug).build());
  run.program = simulation.program;
  run.isRight = true;
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned column = 0; column < kColumns; ++column) {
      int sum = 0;
      for (unsigned k = 0; k < kDepth; ++k)
        sum += a[row * kDepth + k] * b[k * kColumns + column];
      run.isRight &= std::bit_cast<float>(out[row * kColumns + column]) == float(sum);
    }
  return run;
}

static std::vector<LaunchOptions> allOptions() {
  std::vector<LaunchOptions> all;
  for (Completion completion : {Completion::Late, Completion::Early, Completion::Random})
    for (uint64_t seed = 0; seed < (completion == Completion::Random ? 4 : 1); ++seed) {
      LaunchOptions options;
      options.completion = completion;
      options.completionSeed = seed;
      all.push_back(options);
    }
  return all;
}

TEST(WarpsimPipeline, IsRightWheneverItsCopiesComplete) {
  using Schedule = LaunchOptions::Schedule;
  for (LaunchOptions options : allOptions())
    for (Schedule schedule : {Schedule::RoundRobin, Schedule::Reverse, Schedule::Random}) {
      options.schedule = schedule;
      options.seed = options.completionSeed;
      PipelineRun run = runPipeline(Bug::None, options);
      EXPECT_TRUE(run.isRight);
      EXPECT_EQ(kindsIn(run.report), "");
      const Statistics &statistics = run.report.statistics;
      EXPECT_EQ(statistics.matrixWavefronts, statistics.matrixRowGroups);
      EXPECT_EQ(statistics.sharedWavefronts, statistics.idealSharedWavefronts);
      EXPECT_EQ(statistics.asyncCopies, 4u * 4 * 4 * (kDepth / kStep));
      EXPECT_EQ(statistics.globalLoadEfficiency(), 1.0);
    }
  LaunchOptions exact;
  exact.arithmetic = LaunchOptions::Arithmetic::Exact;
  EXPECT_TRUE(runPipeline(Bug::None, exact).isRight);
}

static constexpr Seeded kSeeded[] = {
    {Bug::WaitLeavesTwo, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::NoWait, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::NoLoopCommit, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::OneCommitForTheFirstTwo, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::NoCommitAtTheEnd, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::BarrierBeforeWait, Kind::RaceRaw, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::NoBarrier, Kind::RaceRaw, Op::Ldmatrix, Op::AsyncCopy, false},
    {Bug::CopyBeforeBarrier, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, false},
    {Bug::WrongFirstStage, Kind::AsyncRace, Op::AsyncCopy, Op::AsyncCopy, false},
    {Bug::TwoBuffersOnly, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, false},
    {Bug::NoGuard, Kind::OutOfBoundsGlobal, Op::AsyncCopy, Op::Nop, true},
    {Bug::StoreToSource, Kind::AsyncRace, Op::St, Op::AsyncCopy, true},
    {Bug::ReadsNextStageTooEarly, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
    {Bug::NoBarrierBeforeReuse, Kind::RaceWar, Op::St, Op::Ldmatrix, false},
    {Bug::NoBarrierAfterReuse, Kind::RaceRaw, Op::Ld, Op::St, true},
    {Bug::MisalignedCopy, Kind::Misaligned, Op::AsyncCopy, Op::Nop, false},
    {Bug::WaitByOneWarp, Kind::AsyncRace, Op::Ldmatrix, Op::AsyncCopy, true},
};

/// Whether the report has the bug by kind and by the two instructions.
static bool isFound(const PipelineRun &run, const Seeded &seeded) {
  auto opOf = [&](int32_t pc) { return pc < 0 ? Op::Nop : run.program.code[size_t(pc)].op; };
  for (const Finding &finding : run.report.findings)
    if (finding.kind == seeded.kind && opOf(finding.instruction) == seeded.at &&
        opOf(finding.otherInstruction) == seeded.before && finding.ptxLine > 0)
      return true;
  return false;
}

TEST(WarpsimPipeline, SeededBugsAreFoundWheneverCopiesComplete) {
  unsigned numRight = 0;
  for (const Seeded &seeded : kSeeded)
    for (const LaunchOptions &options : allOptions()) {
      SCOPED_TRACE("bug " + std::to_string(int(seeded.bug)) + ", completion " +
                   std::to_string(int(options.completion)));
      PipelineRun run = runPipeline(seeded.bug, options);
      EXPECT_TRUE(isFound(run, seeded)) << run.report.text(run.program);
      if (options.completion != Completion::Early)
        continue;
      // These compute what they should when the copies complete at once: only checks find them.
      EXPECT_EQ(run.isRight, seeded.isRightWhenEager);
      numRight += run.isRight;
    }
  EXPECT_GE(numRight, 6u);
}
