// Kernels of one warpgroup that multiply with wgmma, and their operands in shared memory, laid out
// by formulas of rows and columns.
#ifndef TEST_UNIT_WARPSIM_WARPGROUPHARNESS_H
#define TEST_UNIT_WARPSIM_WARPGROUPHARNESS_H
#include "test/unit/warpsim/SimulationHarness.h"
#include <random>

namespace tw::warpsim {

/// How an operand lies in shared memory.
struct OperandLayout {
  bool isKMajor = true;
  unsigned rowBytes = 128; // of a swizzled row; 16: no swizzle
};

/// D (64 x columns) = A x B + D, with a depth of `numSteps` instructions.
struct WarpgroupCase {
  unsigned columns = 64;
  Type result = Type::F32, a = Type::BF16, b = Type::BF16;
  OperandLayout layoutOfA, layoutOfB;
  bool isAInRegisters = false;
  bool readsAccumulator = true, negatesA = false, negatesB = false, isSaturating = false;
  unsigned numSteps = 2;

  unsigned elementBytes() const;
  unsigned depthOfStep() const { return 32 / elementBytes(); }
  unsigned depth() const { return numSteps * depthOfStep(); }
  unsigned numRegisters() const { return columns / (result == Type::F16 ? 4 : 2); }
  /// Bytes of an operand of so many rows (of A) or columns (of B) in shared memory.
  unsigned bytesOf(const OperandLayout &layout, unsigned count) const;
  std::string name() const;
};

/// Values of the matrices, row-major: A 64 x depth, B depth x columns, C 64 x columns.
struct WarpgroupMatrices {
  std::vector<double> a, b, c;
};
WarpgroupMatrices randomMatrices(const WarpgroupCase &product, std::mt19937 &random);
/// The product by a plain loop over rows, columns and depth.
std::vector<double> multiplied(const WarpgroupCase &product, const WarpgroupMatrices &matrices);

/// The bits of an element.
uint32_t codeOf(double value, Type type);
/// `{%d0, %d1, ...}`.
std::string registerList(const std::string &prefix, unsigned count);
/// The descriptor of the operand that begins at byte `offset` of the kernel's shared array, without
/// the address.
uint64_t descriptorOf(const WarpgroupCase &product, const OperandLayout &layout, unsigned count);
/// The instruction of a step; A's and B's descriptors are in %a and %b, A's elements in %x.
std::string productText(const WarpgroupCase &product, unsigned step);

/// A kernel `k` of 128 threads for sm_90a that has `tile` of `sharedBytes` bytes, aligned to 1024,
/// its address in %base, the thread in %thread and the parameters in %rd0, ...
std::string warpgroupText(const std::string &body, unsigned numParameters, unsigned sharedBytes);

struct WarpgroupRun {
  SimulationReport report;
  std::vector<double> result; // 64 x columns
};
/// Runs the whole product: operands are stored by threads, fenced, and multiplied.
WarpgroupRun runProduct(const WarpgroupCase &product, const WarpgroupMatrices &matrices,
                        const LaunchOptions &options);

} // namespace tw::warpsim
#endif
