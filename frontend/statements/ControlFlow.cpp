// Run-time branches: both arms are emitted, then their names are joined.
#include "frontend/statements/ControlFlow.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/statements/Join.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;
namespace scf = mlir::scf;

// Emitting, verifying and lowering nested regions is recursive.
static constexpr int kMaxBranchDepth = 200;

/// The same branch with results: regions are moved, not copied.
static scf::IfOp withYields(mlir::OpBuilder &builder, scf::IfOp draft, BranchEnds &ends) {
  builder.setInsertionPoint(draft);
  auto op = scf::IfOp::create(builder, draft.getLoc(), mlir::ValueRange(ends.yields[0]).getTypes(),
                              draft.getCondition(), /*addThenBlock=*/false,
                              /*addElseBlock=*/false);
  op.getThenRegion().takeBody(draft.getThenRegion());
  op.getElseRegion().takeBody(draft.getElseRegion());
  for (int i : {0, 1}) {
    builder.setInsertionPoint(ends.terminators[i]);
    scf::YieldOp::create(builder, ends.terminators[i]->getLoc(), ends.yields[i]);
    ends.terminators[i]->erase();
  }
  draft.erase();
  return op;
}

LogicalResult tw::emitBranch(Emitter &emitter, mlir::Value condition, const Node &site,
                             Emit thenArm, Emit elseArm) {
  if (emitter.branchDepth >= kMaxBranchDepth)
    return emitter.error(
        Code::LimitExceeded, site,
        llvm::formatv("branches are nested more than {0} deep", kMaxBranchDepth).str(),
        "each run-time return, break or continue nests what follows it: use a run-time "
        "loop instead of many of them");
  llvm::SaveAndRestore<int> deeper(emitter.branchDepth, emitter.branchDepth + 1);
  emitter.locate(site);
  mlir::Location here = emitter.location();
  auto draft = scf::IfOp::create(emitter.builder, here, condition, /*withElseRegion=*/true);
  Names before = emitter.frame().names;
  emitter.builder.setInsertionPoint(draft.thenYield());
  if (failed(thenArm()))
    return failure();
  Names thenNames = std::exchange(emitter.frame().names, std::move(before));
  emitter.builder.setInsertionPoint(draft.elseYield());
  if (failed(elseArm()))
    return failure();
  emitter.tiles.setLocation(here);
  BranchEnds ends{{draft.thenYield(), draft.elseYield()}};
  JoinedNames joined = joinNames(emitter, site, ends, thenNames, emitter.frame().names);
  scf::IfOp op = ends.numResults() == 0 ? draft : withYields(emitter.builder, draft, ends);
  emitter.builder.setInsertionPointAfter(op);
  emitter.frame().names = withResults(std::move(joined), op.getResults());
  return emitter.hasFailed() ? failure() : success();
}

LogicalResult tw::unlessSet(Emitter &emitter, llvm::StringRef flagName, const Node &site,
                            Emit body) {
  PyValue isSet = emitter.frame().flag(flagName);
  if (!isSet.isRuntime())
    return truthOf(isSet) ? success() : body();
  auto guarded = [&]() -> LogicalResult {
    emitter.frame().clearJumps();
    return body();
  };
  auto left = [&]() -> LogicalResult {
    for (llvm::StringRef name : {kJumped, kBroke, kReturned})
      if (areIdentical(emitter.frame().flag(name), isSet))
        emitter.frame().setFlag(name, {true});
    return success();
  };
  return emitBranch(emitter, isSet.as<TypedValue>()->value, site, left, guarded);
}

LogicalResult tw::emitIf(Emitter &emitter, const Node &node, llvm::ArrayRef<const Node *> rest,
                         bool &hasEmittedRest) {
  const Node &test = node.child("test");
  FailureOr<PyValue> value = eval(emitter, test);
  if (failed(value))
    return failure();
  if (!value->isRuntime() && !value->is<Absent>()) {
    FailureOr<bool> truth = staticTruth(emitter, *value, test);
    if (failed(truth))
      return failure();
    return emitBlock(emitter, node.list(*truth ? "body" : "orelse"));
  }
  FailureOr<mlir::Value> condition = toCondition(emitter, *value, test);
  if (failed(condition))
    return failure();
  // When one arm always leaves the block, the rest belongs to the other arm: no flag is needed.
  bool thenJumps = alwaysJumps(node.list("body")), elseJumps = alwaysJumps(node.list("orelse"));
  hasEmittedRest = thenJumps != elseJumps;
  auto arm = [&](llvm::StringRef field, bool hasRest) -> LogicalResult {
    std::vector<const Node *> body = node.list(field).vec();
    if (hasRest)
      llvm::append_range(body, rest);
    return emitBlock(emitter, body);
  };
  return emitBranch(
      emitter, *condition, node, [&] { return arm("body", elseJumps && !thenJumps); },
      [&] { return arm("orelse", thenJumps && !elseJumps); });
}
