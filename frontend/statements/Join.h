// How the names at the ends of a run-time branch's two arms become one.
#ifndef FRONTEND_JOIN_H
#define FRONTEND_JOIN_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// The ends of the two arms, and what they yield for each result of the branch.
struct BranchEnds {
  mlir::Operation *terminators[2];
  llvm::SmallVector<mlir::Value> yields[2] = {};

  size_t numResults() const { return yields[0].size(); }
  void dropResultsAfter(size_t count) {
    for (llvm::SmallVector<mlir::Value> &side : yields)
      side.resize(count);
  }
};

/// Names whose leaves that differ wait for the results of the branch.
struct JoinedNames {
  Names names;
  std::map<std::string, std::string> sameFlags; // flags that hold what another one holds
};
JoinedNames joinNames(Emitter &emitter, const Node &site, BranchEnds &ends, const Names &thenNames,
                      const Names &elseNames);
/// The names once the branch is complete.
Names withResults(JoinedNames joined, mlir::ValueRange results);

} // namespace tw
#endif
