// The entry of the simulator: checks a launch and runs it.
#include "backend/warpsim/Simulate.h"
#include "backend/warpsim/core/Grid.h"

using namespace tw::warpsim;

const char *tw::warpsim::nameOf(Kind kind) {
  switch (kind) {
  case Kind::RaceRaw:
    return "race-raw";
  case Kind::RaceWar:
    return "race-war";
  case Kind::RaceWaw:
    return "race-waw";
  case Kind::RedundantWrite:
    return "redundant-write";
  case Kind::UninitShared:
    return "uninit-shared";
  case Kind::UninitGlobal:
    return "uninit-global";
  case Kind::UninitRegister:
    return "uninit-register";
  case Kind::OutOfBoundsGlobal:
    return "out-of-bounds-global";
  case Kind::OutOfBoundsShared:
    return "out-of-bounds-shared";
  case Kind::OutOfBoundsLocal:
    return "out-of-bounds-local";
  case Kind::OutOfBoundsParam:
    return "out-of-bounds-param";
  case Kind::ReadOnly:
    return "read-only";
  case Kind::Misaligned:
    return "misaligned";
  case Kind::DivergentCollective:
    return "divergent-collective";
  case Kind::DivergentBarrier:
    return "divergent-barrier";
  case Kind::BadMembermask:
    return "bad-membermask";
  case Kind::InactiveLane:
    return "inactive-lane";
  case Kind::BarrierMisuse:
    return "barrier-misuse";
  case Kind::Deadlock:
    return "deadlock";
  case Kind::Trap:
    return "trap";
  case Kind::Assertion:
    return "assertion";
  case Kind::Unsupported:
    return "unsupported";
  case Kind::StepLimit:
    return "step-limit";
  case Kind::BranchIndex:
    return "branch-index";
  case Kind::AsyncRace:
    return "async-race";
  case Kind::AsyncLeak:
    return "async-leak";
  case Kind::AsyncMisuse:
    return "async-misuse";
  }
  return "unknown";
}

/// Why a launch cannot begin, or empty.
static std::string findObstacle(const Program &program, const Launch &launch) {
  if (!program.findKernel(launch.kernel))
    return "there is no kernel `" + launch.kernel + "`";
  uint64_t numThreads = 1, numCtas = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    numThreads *= launch.block[axis];
    if (launch.block[axis] > 1024 || numThreads > 1024)
      return "a CTA has at most 1024 threads";
    if (launch.grid[axis] > (axis == 0 ? 0x7fffffffu : 0xffffu))
      return "a grid has at most 2^31 - 1 CTAs along x and 65535 along y and z";
    numCtas *= launch.grid[axis];
  }
  if (numThreads == 0)
    return "a CTA without threads cannot run";
  for (uint64_t cta : launch.options.ctas)
    if (cta >= numCtas)
      return "CTA " + std::to_string(cta) + " is not in the grid";
  return "";
}

SimulationReport tw::warpsim::simulate(const Program &program, const Launch &launch) {
  SimulationReport report;
  if (std::string obstacle = findObstacle(program, launch); !obstacle.empty()) {
    Finding finding;
    finding.kind = Kind::Unsupported;
    finding.message = obstacle;
    report.findings.push_back(finding);
    return report;
  }
  LaunchState state(program, launch, *program.findKernel(launch.kernel));
  if (uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2] != 0)
    report.statistics = runGrid(state);
  report.isInterrupted = state.interrupts.isInterrupted;
  report.findings = state.findings.take();
  return report;
}
