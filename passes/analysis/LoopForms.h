// Sums in loops: how they grow from one iteration to the next, and where they are exact.
#ifndef PASSES_ANALYSIS_LOOPFORMS_H
#define PASSES_ANALYSIS_LOOPFORMS_H
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/DenseSet.h"

namespace tw {

/// Returns by how much all elements grow from one iteration of a loop to the next, in elements of
/// the pointee; nothing where they do not grow alike, or by a number that is not known. Sums that
/// overflow are taken not to: they are outside of every array anyway.
std::optional<int64_t> stepOf(const IndexFacts &facts, mlir::Value value, mlir::scf::ForOp loop);

/// Returns true if a tile of pointers may, in two iterations of a loop around its definition, point
/// to the same memory with different elements. It does not where it stays as it is, nor where each
/// iteration moves it past its own end.
bool mayMeetLaterIterations(const IndexFacts &facts, mlir::Value pointers, mlir::Operation *loop);

/// Returns true if no two elements of a tile of pointers point to the same memory, as far as it is
/// known.
bool areDistinct(const IndexFacts &facts, mlir::Value pointers);

/// A sum in the first iteration of a loop, of scalars from before it, and by how much each
/// iteration adds to it.
struct LoopForm {
  LinearForm start;
  int64_t slope = 0;
  bool operator==(const LoopForm &) const = default;
};

/// A value that must stay inside [min, max] in all iterations for sums to be exact.
struct FormGuard {
  LoopForm form;
  int64_t min, max;
  bool operator==(const FormGuard &) const = default;
};

/// Reads sums of one loop, and collects what they rely on.
class LoopForms {
public:
  LoopForms(mlir::scf::ForOp loop, const IndexFacts &facts) : loop(loop), facts(facts) {}

  /// Returns a sum in all iterations; nothing where it has other summands, or numbers too large to
  /// be computed in 64 bits.
  std::optional<LoopForm> of(const LinearForm &form);
  /// Returns an integer before the loop, or one of its counter's bounds.
  std::optional<LoopForm> ofInvariant(mlir::Value scalar);
  /// Requires that nothing wraps around on the way to a value. Fails where that is not known.
  bool requireExact(mlir::Value value);
  /// Requires that a value is at least 0 in all iterations; fails as above.
  bool requireNonNegative(mlir::Value value);

  llvm::ArrayRef<FormGuard> getGuards() const { return guards; }

private:
  bool addTerm(LoopForm &form, const LinearForm::Term &term);
  bool addInvariant(LinearForm &form, mlir::Value scalar, int64_t factor);
  bool require(mlir::Value value, int64_t min, int64_t max);
  void require(FormGuard guard);

  mlir::scf::ForOp loop;
  const IndexFacts &facts;
  llvm::DenseSet<mlir::Value> exact;
  llvm::SmallVector<FormGuard> guards;
};

} // namespace tw
#endif
