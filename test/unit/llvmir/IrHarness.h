// Runs kernels written as LLVM IR for AMD's GPUs, on arrays of 32-bit words.
#ifndef TEST_UNIT_LLVMIR_IRHARNESS_H
#define TEST_UNIT_LLVMIR_IRHARNESS_H
#include "backend/warpsim/device/Simulate.h"
#include <deque>

namespace tw::warpsim {

/// A kernel `k` with global pointers %p0, %p1, ..., the dynamic shared array @lds of 4096 bytes,
/// %tid as i32 and %at0, %at1, ..., where each lane has its word of an array. `!mmra !0` and `!1`
/// tag fences of shared and of global memory only.
std::string irKernel(const std::string &body, unsigned numParameters);

class IrSimulation {
public:
  explicit IrSimulation(std::string arch = "gfx942", unsigned numThreads = 64);
  /// Adds an argument. The reference stays valid.
  std::vector<uint32_t> &array(std::vector<uint32_t> values);
  /// Runs a body. One that cannot be imported fails the test.
  SimulationReport run(const std::string &body);

  std::string arch;
  Launch launch;
  Program program;

private:
  std::deque<std::vector<uint32_t>> arrays;
};

/// Why a body is refused; empty where it is not.
std::string refusalOf(const std::string &body, const std::string &arch = "gfx942");
/// The kinds found, each once, in order of their names: "race-raw race-waw".
std::string kindsIn(const SimulationReport &report);
/// 0, 1, 2, ...
std::vector<uint32_t> iota(uint32_t count);

} // namespace tw::warpsim
#endif
