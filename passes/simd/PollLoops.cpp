// The pass `poll-loops`: a launch can be stopped in loops that may take long.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/simd/ProgramLayout.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_POLLLOOPS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using arith::CmpIPredicate;

// Steps are operations, of about a nanosecond each.
/// A loop whose count is known may take so many without a poll: some 100 milliseconds at most.
static constexpr uint64_t kShort = 1 << 26;
/// Between two polls of a loop that runs in pieces: some 100 microseconds.
static constexpr uint64_t kPiece = 1 << 16;
/// An iteration that takes so many can afford the counting.
static constexpr uint64_t kLongIteration = 1 << 13;
/// The steps that a loop of unknown count adds to the loop around it.
static constexpr uint64_t kUnknownLoop = 64;

namespace {
/// A loop that polls.
struct LongLoop {
  Operation *op;
  uint64_t steps; // of an iteration
  bool isInnermost;
};

/// Finds them, inner ones first.
class LongLoops {
public:
  explicit LongLoops(Region &function) { visit(function); }
  SmallVector<LongLoop> found;

private:
  uint64_t visit(Region &region);
  uint64_t visit(Operation &op);
};
} // namespace

/// How many iterations, or more than any number where that is not known.
static uint64_t countOf(scf::ForOp loop) {
  APInt lower, upper, step;
  if (auto most = loop->getAttrOfType<IntegerAttr>(simd::kMostIterations))
    return most.getInt();
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || step.isZero())
    return UINT64_MAX;
  unsigned bits = lower.getBitWidth() + 1;
  APInt distance = loop.getUnsignedCmp() ? upper.zext(bits) - lower.zext(bits)
                                         : upper.sext(bits) - lower.sext(bits);
  if (!distance.isStrictlyPositive())
    return 0;
  return distance.udiv(step.zext(bits)).getLimitedValue(UINT64_MAX - 1) + 1;
}

uint64_t LongLoops::visit(Region &region) {
  uint64_t steps = 0;
  for (Operation &op : region.getOps())
    steps = llvm::SaturatingAdd(steps, visit(op));
  return steps;
}

uint64_t LongLoops::visit(Operation &op) {
  size_t numBefore = found.size();
  uint64_t steps = 1;
  for (Region &region : op.getRegions())
    steps = llvm::SaturatingAdd(steps, visit(region));
  if (!isa<scf::ForOp, scf::WhileOp>(op))
    return steps;
  auto counted = dyn_cast<scf::ForOp>(op);
  uint64_t all = llvm::SaturatingMultiply(steps, counted ? countOf(counted) : UINT64_MAX);
  if (all <= kShort)
    return all;
  found.push_back({&op, steps, numBefore == found.size()});
  return kUnknownLoop;
}

static LLVM::LLVMFuncOp declarePoll(ModuleOp module) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>("tw_poll"))
    return known;
  OpBuilder b(module.getBodyRegion());
  MLIRContext *context = b.getContext();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {LLVM::LLVMPointerType::get(context)});
  auto poll = LLVM::LLVMFuncOp::create(b, module.getLoc(), "tw_poll", type);
  poll.setPassthroughAttr(b.getStrArrayAttr({"cold"}));
  return poll;
}

/// A poll touches the program and nothing else that compiled code knows, so that arrays need not be
/// read again behind it; but behind one of a loop that waits for others they are.
static void callPoll(OpBuilder &b, Location loc, Value program, bool rereads) {
  auto module = program.getParentRegion()->getParentOfType<ModuleOp>();
  auto call = LLVM::CallOp::create(b, loc, declarePoll(module), program);
  auto some = LLVM::ModRefInfo::ModRef, none = LLVM::ModRefInfo::NoModRef;
  if (!rereads)
    call.setMemoryEffectsAttr(
        LLVM::MemoryEffectsAttr::get(b.getContext(), {none, some, some, none, none, none}));
}

/// Counts `TwProgram::untilPoll` down at the end of each iteration, and polls where it is over.
static void countDown(Block &body, Value program, uint64_t steps) {
  Operation *end = body.getTerminator();
  OpBuilder b(end);
  Location loc = end->getLoc();
  Type i32 = b.getI32Type();
  auto constant = [&](uint64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value)));
  };
  Value address =
      LLVM::GEPOp::create(b, loc, program.getType(), b.getI8Type(), program,
                          ArrayRef<LLVM::GEPArg>{int32_t(offsetof(TwProgram, untilPoll))});
  Value left = LLVM::LoadOp::create(b, loc, i32, address);
  left = arith::SubIOp::create(b, loc, left, constant(std::min(steps, kPiece)));
  LLVM::StoreOp::create(b, loc, left, address);
  Value isDue = arith::CmpIOp::create(b, loc, CmpIPredicate::sle, left, constant(0));
  auto branch = scf::IfOp::create(b, loc, isDue, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  callPoll(b, loc, program, /*rereads=*/isa<scf::WhileOp>(body.getParentOp()));
}

/// The counter where the piece that begins at `lower` ends, and whether another piece follows.
static std::pair<Value, Value> endOfPiece(scf::ForOp loop, Value lower, Value piece, OpBuilder &b) {
  bool isUnsigned = loop.getUnsignedCmp();
  CmpIPredicate isLess = isUnsigned ? CmpIPredicate::ult : CmpIPredicate::slt;
  Location loc = loop.getLoc();
  Value upper = loop.getUpperBound();
  Value end = arith::AddIOp::create(b, loc, lower, piece);
  Value isNumber = arith::CmpIOp::create(b, loc, isLess, lower, end); // no wrap
  Value isInside = arith::CmpIOp::create(b, loc, isLess, end, upper);
  Value hasNext = arith::AndIOp::create(b, loc, isNumber, isInside);
  return {arith::SelectOp::create(b, loc, hasNext, end, upper), hasNext};
}

/// The loop, as it is, over a piece of its range at a time, and a poll between two: nothing is
/// added to its iterations. False where the step does not allow that.
static bool runInPieces(scf::ForOp loop, Value program, uint64_t numIterations) {
  Type type = loop.getStep().getType();
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || !type.isInteger() ||
      !llvm::isUIntN(step.getBitWidth(), numIterations))
    return false;
  bool isTooLong = false;
  APInt piece = step.smul_ov(APInt(step.getBitWidth(), numIterations), isTooLong);
  if (isTooLong || !step.isStrictlyPositive())
    return false;
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value pieceLength = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, piece));
  SmallVector<Value> inits = {loop.getLowerBound()};
  llvm::append_range(inits, loop.getInitArgs());
  SmallVector<Type> types = llvm::map_to_vector(inits, [](Value v) { return v.getType(); });
  SmallVector<Location> locations(types.size(), loc);
  auto pieces = scf::WhileOp::create(b, loc, types, inits);
  loop->replaceAllUsesWith(pieces.getResults().drop_front());

  Block *run = b.createBlock(&pieces.getBefore(), {}, types, locations);
  auto [end, hasNext] = endOfPiece(loop, run->getArgument(0), pieceLength, b);
  loop->moveBefore(run, run->end());
  loop.setLowerBound(run->getArgument(0));
  loop.setUpperBound(end);
  loop.getInitArgsMutable().assign(run->getArguments().drop_front());
  b.setInsertionPointToEnd(run);
  SmallVector<Value> carried = {end};
  llvm::append_range(carried, loop.getResults());
  scf::ConditionOp::create(b, loc, hasNext, carried);

  Block *between = b.createBlock(&pieces.getAfter(), {}, types, locations);
  callPoll(b, loc, program, /*rereads=*/false);
  scf::YieldOp::create(b, loc, between->getArguments());
  return true;
}

static void pollIn(const LongLoop &loop, Value program) {
  auto counted = dyn_cast<scf::ForOp>(loop.op);
  if (counted && loop.isInnermost && loop.steps < kLongIteration &&
      runInPieces(counted, program, kPiece / loop.steps))
    return;
  Region &body = loop.op->getRegions().back(); // of a `while`, what comes after its test
  countDown(body.front(), program, loop.steps);
}

namespace {
struct PollLoops : tw::impl::PollLoopsBase<PollLoops> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>())) {
      if (function.isExternal() || function.getNumArguments() != 2)
        continue; // no kernel
      Value program = function.getArgument(1);
      SmallVector<LongLoop> loops = LongLoops(function.getBody()).found;
      if (!loops.empty() && !isa<LLVM::LLVMPointerType>(program.getType())) {
        emitCoded(function, Code::UnfitText)
            << "a kernel's second parameter is the address of its program";
        return signalPassFailure();
      }
      for (const LongLoop &loop : loops)
        pollIn(loop, program);
    }
  }
};
} // namespace
