// The entry of the simulator: checks a launch and runs it.
#include "backend/warpsim/device/Simulate.h"
#include "backend/warpsim/core/Grid.h"
#include <algorithm>

using namespace tw::warpsim;

static std::string textOf(const std::array<uint32_t, 3> &extents) {
  return "(" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " +
         std::to_string(extents[2]) + ")";
}

/// Bytes of shared memory that a CTA may have at most (CUDA C++ Programming Guide, technical
/// specifications per compute capability).
static uint32_t maxSharedBytes(const Program &program) {
  constexpr uint32_t kilo = 1024;
  if (program.target == "xe2" || program.target == "xe-hpc") // oneAPI GPU Optimization Guide
    return 128 * kilo;
  unsigned arch = program.arch();
  if (program.isAmdgcn) // LLVM, AMDGPUUsage, and the instruction set manual of CDNA4
    return (arch == 1250 ? 320 : arch == 950 ? 160 : 64) * kilo;
  if (arch < 70)
    return 48 * kilo;
  if (arch < 75)
    return 96 * kilo;
  if (arch < 80)
    return 64 * kilo;
  if (arch == 86 || arch == 89 || arch >= 120)
    return 99 * kilo;
  return (arch < 90 ? 163 : 227) * kilo;
}

static std::string findBlockObstacle(const Function &kernel, const Launch &launch, bool isAmdgcn) {
  uint64_t numThreads = 1, maxThreads = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    numThreads *= launch.block[axis];
    maxThreads *= std::max(1u, kernel.maxNtid[axis]);
    if (launch.block[axis] > 1024 || numThreads > 1024)
      return "a CTA has at most 1024 threads";
  }
  if (launch.block[2] > 64)
    return "a CTA has at most 64 threads along z";
  if (numThreads == 0)
    return "a CTA without threads cannot run";
  std::array<uint32_t, 3> required = kernel.reqNtid;
  for (uint32_t &extent : required)
    extent = std::max(1u, extent);
  if (kernel.reqNtid[0] && required != launch.block)
    return "the block " + textOf(launch.block) +
           (isAmdgcn ? " is not what the kernel is for, " : " is not the kernel's .reqntid ") +
           textOf(required);
  if (kernel.maxNtid[0] && numThreads > maxThreads)
    return "the block " + textOf(launch.block) + " has more threads than the kernel's .maxntid " +
           textOf(kernel.maxNtid);
  return "";
}

static std::string findGridObstacle(const Launch &launch) {
  uint64_t numCtas = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] == 0)
      return "the grid " + textOf(launch.grid) + " has no CTA";
    if (launch.grid[axis] > (axis == 0 ? 0x7fffffffu : 0xffffu))
      return "a grid has at most 2^31 - 1 CTAs along x and 65535 along y and z";
    numCtas *= launch.grid[axis];
  }
  for (uint64_t cta : launch.options.ctas)
    if (cta >= numCtas)
      return "CTA " + std::to_string(cta) + " is not in the grid";
  if (launch.options.ctas.empty() && numCtas >= 0xffffffff)
    return std::to_string(numCtas) + " CTAs are more than the simulator can tell apart";
  return "";
}

static std::string findClusterObstacle(const Program &program, const Function &kernel,
                                       const Launch &launch) {
  constexpr unsigned kMost = 16; // of those, 8 are portable
  if (!kernel.cluster[0])
    return "";
  if (program.arch() < 90)
    return program.target + " has no clusters";
  uint64_t size = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    uint32_t extent = std::max(1u, kernel.cluster[axis]);
    size *= extent;
    if (launch.grid[axis] % extent)
      return "the grid " + textOf(launch.grid) + " is not divided into clusters " +
             textOf(kernel.cluster);
  }
  return size > kMost ? "a cluster has at most " + std::to_string(kMost) + " CTAs" : "";
}

std::string tw::warpsim::findObstacle(const Program &program, const Launch &launch) {
  const Function *kernel = program.findKernel(launch.kernel);
  if (!kernel)
    return "there is no kernel `" + launch.kernel + "`";
  if (std::string obstacle = findBlockObstacle(*kernel, launch, program.isAmdgcn);
      !obstacle.empty())
    return obstacle;
  if (std::string obstacle = findGridObstacle(launch); !obstacle.empty())
    return obstacle;
  if (std::string obstacle = findClusterObstacle(program, *kernel, launch); !obstacle.empty())
    return obstacle;
  uint64_t bytes = uint64_t(program.staticSharedBytes) + launch.dynamicSharedBytes;
  if (uint32_t most = maxSharedBytes(program); bytes > most)
    return std::to_string(bytes) + " bytes of shared memory are more than the " +
           std::to_string(most) + " of a CTA on " + program.target;
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
  report.statistics = runGrid(state);
  report.isInterrupted = state.interrupts.isInterrupted;
  report.findings = state.findings.take();
  report.timelines = std::move(state.timelines);
  std::ranges::sort(report.timelines, {}, &Timeline::cta);
  return report;
}
