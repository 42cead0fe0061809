// Runs the code of one CTA's threads in lockstep, for tests of lower-simt.
#ifndef TEST_UNIT_PASSES_WARPEVALUATOR_H
#define TEST_UNIT_PASSES_WARPEVALUATOR_H
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <string>
#include <vector>

namespace tw {

/// A value in each thread: the bits of its elements (one, unless it is a vector). Pointers to
/// shared memory are byte offsets.
using ThreadValues = std::vector<std::vector<uint64_t>>;

class WarpEvaluator {
public:
  explicit WarpEvaluator(unsigned numThreads, size_t sharedBytes = 1 << 16)
      : shared(sharedBytes), writers(sharedBytes, -1), isActive(numThreads, true) {}

  void run(mlir::Block &block);
  const ThreadValues &at(mlir::Value value) const { return values.find(value)->second; }
  unsigned numShuffles = 0, numLoads = 0, numStores = 0, numSelects = 0;
  /// What the code did that no machine may, or this evaluator does not know.
  std::string error;

private:
  void runOperation(mlir::Operation &op);
  void runFor(mlir::Operation &op);
  void runIf(mlir::Operation &op);
  void loadOrStore(mlir::Operation &op);
  void shuffle(mlir::Operation &op);
  void evaluateVector(mlir::Operation &op);
  void fail(const std::string &message) {
    if (error.empty())
      error = message;
  }
  size_t numThreads() const { return isActive.size(); }
  uint64_t operand(mlir::Operation &op, unsigned number, size_t thread) const {
    return at(op.getOperand(number))[thread].front();
  }

  llvm::DenseMap<mlir::Value, ThreadValues> values;
  std::vector<uint8_t> shared;
  std::vector<int> writers; // the thread that wrote each byte since the last barrier
  std::vector<bool> isActive;
};

} // namespace tw
#endif
