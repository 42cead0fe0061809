// Follows asynchronous copies and their groups through the structured control flow of a kernel.
#include "passes/analysis/CopiesInFlight.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

void CopiesInFlight::State::join(const State &other) {
  open = std::min(open, other.open);
  for (auto [own, theirs] : llvm::zip(groups, other.groups))
    own = std::min(own, theirs);
  if (groups.size() < other.groups.size())
    groups.append(other.groups.begin() + groups.size(), other.groups.end());
}

/// Repeats a loop's body until what is in flight where it begins is the same in all iterations.
CopiesInFlight::State CopiesInFlight::afterLoop(State state,
                                                llvm::function_ref<State(State)> afterIteration) {
  while (true) {
    State next = state;
    next.join(afterIteration(state));
    if (next == state)
      return state;
    state = std::move(next);
  }
}

CopiesInFlight::State CopiesInFlight::after(Operation *op, State state) {
  return llvm::TypeSwitch<Operation *, State>(op)
      .Case([&](GlobalToSharedOp) {
        ++state.open;
        return state;
      })
      .Case([&](AsyncCommitOp) {
        state.groups.insert(state.groups.begin(), std::exchange(state.open, 0));
        state.groups.truncate(std::min<size_t>(state.groups.size(), mostPending));
        return state;
      })
      .Case([&](AsyncWaitOp wait) {
        auto end = state.groups.begin() + std::min<size_t>(wait.getPending(), state.groups.size());
        counts[wait] = std::accumulate(state.groups.begin(), end, state.open);
        return state;
      })
      .Case([&](scf::WhileOp loop) {
        State begin = afterLoop(std::move(state), [&](State at) {
          return afterBlock(*loop.getAfterBody(), afterBlock(*loop.getBeforeBody(), std::move(at)));
        });
        return afterBlock(*loop.getBeforeBody(), std::move(begin));
      })
      .Case([&](LoopLikeOpInterface loop) {
        return afterLoop(std::move(state), [&](State at) {
          return afterBlock(loop.getLoopRegions().front()->front(), std::move(at));
        });
      })
      .Case([&](scf::IfOp branch) {
        State taken = afterBlock(*branch.thenBlock(), state);
        taken.join(branch.elseBlock() ? afterBlock(*branch.elseBlock(), state) : state);
        return taken;
      })
      .Default([&](Operation *) { return state; });
}

CopiesInFlight::State CopiesInFlight::afterBlock(Block &block, State state) {
  for (Operation &op : block)
    state = after(&op, std::move(state));
  return state;
}

CopiesInFlight::CopiesInFlight(Operation *kernel) {
  kernel->walk([&](AsyncWaitOp wait) { mostPending = std::max(mostPending, wait.getPending()); });
  for (Region &region : kernel->getRegions())
    for (Block &block : region)
      afterBlock(block, {});
}
