// A run-time loop that is being built: the names that its body may change, and how their types are
// found.
//
// The type of a carried name is found by emitting the body: a number that the body turns into
// another type, and a flag that the body sets, change the entry, and the body is emitted once more.
#ifndef FRONTEND_LOOPDRAFT_H
#define FRONTEND_LOOPDRAFT_H
#include "frontend/emit/Leaves.h"

namespace tw {

/// A name that the body may change. The shape of `entry` (its tuples) stays; its leaves are
/// carried.
struct Carried {
  std::string name;
  PyValue entry;
  SourceSpan where;
};

/// The findings of the attempts at a loop, kept for the next time that the same loop is emitted: an
/// attempt at the loop around it would else begin anew with all loops inside.
struct LoopFacts {
  struct Form {
    PyValue shape; // whose leaves have lost their IR values
    std::vector<LeafType> leaves;
  };
  const Node *node = nullptr;
  std::map<std::string, Form> forms = {};
  bool hasExit = false, hasReturn = false;
  std::vector<LoopFacts> inner = {}; // in the order in which they are emitted
  size_t next = 0;                   // of the inner loops, in the current attempt
};

/// One attempt at a loop, and what the earlier attempts found out.
struct LoopDraft {
  Emitter &emitter;
  const Node &node;
  std::set<std::string> assigned;            // by the body, without the targets of a `for`
  std::map<std::string, PyValue> forms = {}; // types that names must have at the entry, as zeros
  bool hasExit = false;                      // the body may break or return
  bool hasReturn = false;
  bool mustRepeat = false;
  LoopFacts facts = {};               // of the loops inside, from the attempt before
  std::optional<bool> knownTest = {}; // of a `while`, at compile time
  Names before = {};
  std::vector<Carried> carried = {};
  PyValue broke = {false};        // whether a break or a return ended the finished loop
  mlir::Block *outside = nullptr; // what an attempt finds out is built here, to survive it

  /// Begins an attempt: decides which names are carried, and makes what they enter the loop with.
  mlir::LogicalResult prepare();
  /// Sets the insertion point before the loop that is being built.
  void moveOutside();
  std::vector<mlir::Value> entryValues() const;
  /// Gives the carried names these values.
  void bindLeaves(mlir::ValueRange values);
  /// Returns the values that the carried names go on with. Sets `mustRepeat` where the entry has to
  /// be another one.
  mlir::FailureOr<std::vector<mlir::Value>> endValues();
  /// The names behind the finished loop.
  void bindResults(mlir::ValueRange results);

private:
  mlir::LogicalResult findExits(const Names &end);
  mlir::LogicalResult refuseChangedConstexprs(Names &end);
};

/// Emits attempts until the types of the carried names are stable. `attempt` builds the operation
/// and answers it; the draft tells whether to go on.
mlir::LogicalResult
emitUntilStable(LoopDraft &loop,
                llvm::function_ref<mlir::FailureOr<mlir::Operation *>(LoopDraft &)> attempt);

} // namespace tw
#endif
