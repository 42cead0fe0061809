// Rewrites a loop so that copies run ahead: a ring of slots in shared memory, filled `numStages` -
// 1 iterations before they are read.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/simt/LoopPipeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

namespace {
struct Rewriter {
  Rewriter(LoopPipeline &pipeline, unsigned numStages)
      : pipeline(pipeline), loop(pipeline.loop), numStages(numStages), builder(loop),
        loc(loop.getLoc()) {}

  void run();
  void allocate();
  Value hasIteration(int64_t number);
  Value iterationBound();
  SmallVector<Value> startCopies(Value induction, ArrayRef<Value> state, Value exists, Value slot,
                                 std::optional<int64_t> phase);
  void copy(const PipelinedLoad &pipelined, Value ring, const IRMapping &mapping, Value exists,
            Value slot, std::optional<int64_t> phase);
  SmallVector<Value> prologue();
  void replaceLoads(Value slot);

  Value integer(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value slotNumber(int64_t value) { return integer(builder.getI32Type(), value); }
  int64_t distance() const { return numStages - 1; }

  LoopPipeline &pipeline;
  scf::ForOp loop;
  unsigned numStages;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> rings; // per load
};
} // namespace

void Rewriter::allocate() {
  for (const PipelinedLoad &pipelined : pipeline.loads) {
    LoadOp load = pipelined.load;
    SourceSpan span = spanOf(load.getLoc());
    std::string name = span.isKnown() ? "load of line " + std::to_string(span.line) : "load";
    rings.push_back(AllocSharedOp::create(builder, load.getLoc(), pipelined.slot, name,
                                          /*offset=*/nullptr,
                                          builder.getI64IntegerAttr(numStages)));
  }
}

/// The condition as a mask of every element of `like`, and with `mask`.
static Value maskWith(OpBuilder &b, Location loc, Value mask, Value exists, Type like) {
  auto type = withLayout(tile::withElementType(like, b.getI1Type()), layoutOf(like));
  Value all = tile::SplatOp::create(b, loc, type, exists);
  return mask ? Value(arith::AndIOp::create(b, loc, mask, all)) : all;
}

void Rewriter::copy(const PipelinedLoad &pipelined, Value ring, const IRMapping &mapping,
                    Value exists, Value slot, std::optional<int64_t> phase) {
  LoadOp load = pipelined.load;
  OpBuilder::InsertionGuard guard(builder);
  Value mask = load.getMask() ? mapping.lookupOrDefault(load.getMask()) : Value();
  mask = maskWith(builder, load.getLoc(), mask, exists, load.getPtr().getType());
  Value place = SlotOp::create(builder, load.getLoc(), ring, slot,
                               phase ? builder.getI64IntegerAttr(*phase) : IntegerAttr());
  AsyncCopyOp::create(builder, load.getLoc(), mapping.lookupOrDefault(load.getPtr()), place, mask,
                      pipelined.vector, pipelined.dim, load.getCache(), load.getEvict());
}

/// Starts the copies of one iteration, if it `exists`, with the carried values `state`; returns
/// those of the iteration after it.
SmallVector<Value> Rewriter::startCopies(Value induction, ArrayRef<Value> state, Value exists,
                                         Value slot, std::optional<int64_t> phase) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), induction);
  for (auto [number, value] : llvm::zip(pipeline.carried, state))
    mapping.map(loop.getRegionIterArg(number), value);
  for (Operation *op : pipeline.ahead) {
    Operation *clone = builder.clone(*op, mapping);
    // An iteration that does not exist has no addresses to read from.
    if (auto load = dyn_cast<LoadOp>(clone)) {
      builder.setInsertionPoint(clone);
      Value mask = exists;
      if (hasLayout(load.getPtr().getType()))
        mask = maskWith(builder, loc, load.getMask(), exists, load.getPtr().getType());
      else if (load.getMask())
        mask = arith::AndIOp::create(builder, loc, load.getMask(), exists);
      load.getMaskMutable().assign(mask);
      builder.setInsertionPointAfter(clone);
    }
  }
  for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings))
    copy(pipelined, ring, mapping, exists, slot, phase);
  AsyncCommitOp::create(builder, loc);
  SmallVector<Value> next;
  for (unsigned number : pipeline.carried)
    next.push_back(mapping.lookupOrDefault(loop.getYieldedValues()[number]));
  return next;
}

/// Whether the loop has an iteration of this number, counted from 0. lower + number * step < upper
/// may overflow; (upper - lower - 1) / number >= step, without signs, is the same and does not.
Value Rewriter::hasIteration(int64_t number) {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  if (number == 0)
    return exists;
  Type type = lower.getType();
  Value reach = arith::SubIOp::create(builder, loc, upper, lower);
  reach = arith::SubIOp::create(builder, loc, reach, integer(type, 1));
  if (number > 1)
    reach = arith::DivUIOp::create(builder, loc, reach, integer(type, number));
  Value isNear =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, reach, loop.getStep());
  return arith::AndIOp::create(builder, loc, exists, isNear);
}

/// Starts the copies of the first iterations; returns the carried values of the one after them.
SmallVector<Value> Rewriter::prologue() {
  SmallVector<Value> state;
  for (unsigned number : pipeline.carried)
    state.push_back(loop.getInitArgs()[number]);
  Value induction = loop.getLowerBound();
  for (int64_t iteration = 0; iteration < distance(); ++iteration) {
    if (iteration > 0)
      induction = arith::AddIOp::create(builder, loc, induction, loop.getStep());
    state =
        startCopies(induction, state, hasIteration(iteration), slotNumber(iteration), std::nullopt);
  }
  return state;
}

/// Users read the slot when they need it, in the layout that they want.
void Rewriter::replaceLoads(Value slot) {
  for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings)) {
    LoadOp load = pipelined.load;
    auto readFor = [&](Operation *user, Type type) -> Value {
      builder.setInsertionPoint(loop.getBody()->findAncestorOpInBlock(*user));
      Value place =
          SlotOp::create(builder, load.getLoc(), ring, slot, builder.getI64IntegerAttr(0));
      return LoadSharedOp::create(builder, load.getLoc(), type, place);
    };
    auto firstUserOf = [&](Value value) {
      Operation *first = nullptr;
      for (Operation *user : value.getUsers()) {
        Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
        if (!first || inBody->isBeforeInBlock(first))
          first = inBody;
      }
      return first;
    };
    for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
      auto conversion = dyn_cast<ConvertLayoutOp>(user);
      if (!conversion || conversion->use_empty())
        continue;
      Value value = readFor(firstUserOf(conversion), conversion.getType());
      conversion.replaceAllUsesWith(value);
      conversion.erase();
    }
    if (!load->use_empty())
      load.replaceAllUsesWith(readFor(firstUserOf(load), load.getType()));
    load.erase();
  }
}

/// The induction variable is below it where there is an iteration `distance()` later.
Value Rewriter::iterationBound() {
  Value steps = integer(loop.getStep().getType(), distance());
  Value ahead = arith::MulIOp::create(builder, loc, loop.getStep(), steps);
  Value bound = arith::SubIOp::create(builder, loc, loop.getUpperBound(), ahead);
  return arith::SelectOp::create(builder, loc, hasIteration(distance()), bound,
                                 loop.getLowerBound());
}

void Rewriter::run() {
  allocate();
  SmallVector<Value> state = prologue();
  Value bound = iterationBound();
  SmallVector<Value> inits(loop.getInitArgs());
  size_t numOwn = inits.size();
  llvm::append_range(inits, state);
  inits.push_back(slotNumber(0));
  inits.push_back(slotNumber(numStages - 1));

  auto next = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                 loop.getStep(), inits);
  next->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = next.getBody();
  builder.setInsertionPointToStart(body);
  Value slot = body->getArguments().end()[-2], written = body->getArguments().back();
  AsyncWaitOp::create(builder, loc, distance() - 1);
  simt::BarrierOp::create(builder, loc, /*warp=*/false);
  Value step = loop.getStep(), induction = next.getInductionVar();
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, induction, bound);
  Value steps = arith::MulIOp::create(builder, loc, step, integer(step.getType(), distance()));
  Value later = arith::AddIOp::create(builder, loc, induction, steps);
  ValueRange carried = next.getRegionIterArgs().slice(numOwn, state.size());
  SmallVector<Value> advanced =
      startCopies(later, llvm::to_vector(carried), exists, written, distance());
  Value one = arith::AddIOp::create(builder, loc, slot, slotNumber(1));
  Value isLast =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, one, slotNumber(numStages));
  Value following = arith::SelectOp::create(builder, loc, isLast, slotNumber(0), one);

  replaceLoads(slot);
  Block *old = loop.getBody();
  body->getOperations().splice(body->end(), old->getOperations());
  for (unsigned i = 0; i <= numOwn; ++i)
    old->getArgument(i).replaceAllUsesWith(body->getArgument(i));
  Operation *yield = body->getTerminator();
  SmallVector<Value> yielded(advanced);
  yielded.push_back(following);
  yielded.push_back(slot);
  yield->insertOperands(yield->getNumOperands(), yielded);
  for (unsigned i = 0; i < numOwn; ++i)
    loop.getResult(i).replaceAllUsesWith(next.getResult(i));
  builder.setInsertionPointAfter(next);
  AsyncWaitOp::create(builder, loc, 0);
  next.emitRemark("[TW0356] pipelined: the copies of ")
      << pipeline.loads.size() << (pipeline.loads.size() == 1 ? " load" : " loads") << " run "
      << distance() << " iterations ahead";
  loop.erase();
}

void tw::simt::applyPipeline(LoopPipeline &pipeline, unsigned numStages) {
  Rewriter(pipeline, numStages).run();
}
