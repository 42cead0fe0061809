// Runs the code of one CTA's threads in lockstep, at the stage lowered: a machine with
// warps of any size and whatever matrix instructions its rows describe.
#ifndef TEST_TOY64_WARPEVALUATOR_H
#define TEST_TOY64_WARPEVALUATOR_H
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tw {

/// A value in each thread: the bits of its elements (one, unless it is a vector). Pointers to
/// shared memory are byte offsets, those to global memory addresses of the host.
using ThreadValues = std::vector<std::vector<uint64_t>>;

class WarpEvaluator {
public:
  explicit WarpEvaluator(unsigned numThreads, unsigned warpSize = 32, size_t sharedBytes = 1 << 16)
      : warpSize(warpSize), copies(numThreads / warpSize), shared(sharedBytes),
        writers(sharedBytes, -1), isActive(numThreads, true) {}

  void run(mlir::Block &block);
  /// The same value in every thread: an argument of the kernel.
  void set(mlir::Value value, uint64_t bits) { values[value] = ThreadValues(numThreads(), {bits}); }
  /// The program's place in the grid.
  std::array<uint32_t, 3> program = {}, numPrograms = {1, 1, 1};
  /// Memory that the kernel may access.
  std::vector<llvm::ArrayRef<uint8_t>> buffers;
  const ThreadValues &at(mlir::Value value) const { return values.find(value)->second; }
  unsigned numShuffles = 0, numLoads = 0, numStores = 0, numSelects = 0, numProducts = 0,
           numCopies = 0;
  /// What the code did that no machine may, or this evaluator does not know.
  std::string error;

private:
  void runOperation(mlir::Operation &op);
  void runFor(mlir::Operation &op);
  void runIf(mlir::Operation &op);
  void runWhile(mlir::Operation &op);
  void loadOrStore(mlir::Operation &op);
  void loadOrStoreGlobal(mlir::Operation &op);
  bool isInGlobalMemory(const uint8_t *address, size_t bytes);
  void startCopy(mlir::Operation &op);
  void finishCopies(unsigned left);
  void multiply(mlir::Operation &op);
  std::optional<uint64_t> evaluate(mlir::Operation &op, size_t thread, size_t index);
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

  unsigned warpSize;
  llvm::DenseMap<mlir::Value, ThreadValues> values;
  /// A copy that a warp has started: what its active threads move to shared memory, or zeros.
  struct LaneCopy {
    size_t thread = 0;
    const uint8_t *from = nullptr;
    uint64_t to = 0;
    unsigned bytes = 0;
  };
  std::vector<std::vector<std::vector<LaneCopy>>> copies; // of each warp, the oldest first
  void write(size_t thread, uint64_t address, const uint8_t *from, unsigned bytes);
  std::vector<uint8_t> shared;
  std::vector<int> writers; // the thread that wrote each byte since the last barrier
  std::vector<bool> isActive;
};

} // namespace tw
#endif
