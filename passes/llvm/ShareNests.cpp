// The pass `share-nests`: loop nests that do the same become one function, which LLVM sees once.
// A kernel whose loop is split, or has a second version for its end, has most of its nests twice.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_SHARENESTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;

/// Fewer operations are not worth a call in the code.
static constexpr uint64_t kFewestOperations = 16;
/// Operations that a nest executes, of which a call takes the time of some ten.
static constexpr uint64_t kLeastWork = 400;
/// The number of iterations assumed for a loop of unknown count.
static constexpr uint64_t kUnknownLoop = 16;
/// More arguments than these travel by the stack, and fill it.
static constexpr size_t kMostArguments = 16;

//===-- Which nests there are ----------------------------------------------------------------===//

namespace {
struct Nest {
  scf::ForOp loop;
  uint64_t numOperations;
  bool namesRegisters;
};

/// A summary of an operation with its regions.
struct Contents {
  llvm::hash_code hash;
  uint64_t numOperations, work;
  bool hasAllocation, namesRegisters;
};

/// Nests that may be shared, by a hash of what they do.
class Nests {
public:
  explicit Nests(ModuleOp module) {
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      visit(*function);
    for (auto &[hash, nest] : found)
      byHash[hash].push_back(nest);
  }
  llvm::MapVector<size_t, SmallVector<Nest>> byHash;

private:
  Contents visit(Operation &op);
  void visitBlock(Block &block, Contents &all);

  SmallVector<std::pair<size_t, Nest>> found;
};
} // namespace

static uint64_t countOf(scf::ForOp loop) {
  std::optional<APInt> count = loop.getStaticTripCount();
  return count ? count->getLimitedValue() : kUnknownLoop;
}

/// Returns true if an operation works on a register that its number stands for, and not on values:
/// the contents of that register do not survive a call.
static bool namesRegister(Operation &op) {
  return isa<LLVM::CallIntrinsicOp>(op) && op.getNumResults() == 0 &&
         llvm::any_of(op.getOperandTypes(), [](Type type) { return type.isInteger(8); });
}

void Nests::visitBlock(Block &block, Contents &all) {
  const size_t firstFound = found.size();
  for (Operation &op : block) {
    Contents contents = visit(op);
    all.hash = llvm::hash_combine(all.hash, contents.hash);
    all.numOperations += contents.numOperations;
    all.work = llvm::SaturatingAdd(all.work, contents.work);
    all.hasAllocation |= contents.hasAllocation;
    all.namesRegisters |= contents.namesRegisters;
  }
  // Nests beside such operations may go on with what those left in registers.
  if (llvm::any_of(block, namesRegister))
    found.erase(std::remove_if(found.begin() + firstFound, found.end(),
                               [](const auto &pair) { return pair.second.namesRegisters; }),
                found.end());
}

Contents Nests::visit(Operation &op) {
  Contents all = {llvm::hash_combine(op.getName().getAsOpaquePointer(), op.hashProperties(),
                                     op.getRawDictionaryAttrs().getAsOpaquePointer(),
                                     llvm::hash_combine_range(op.getResultTypes())),
                  1, 1, isa<LLVM::AllocaOp>(op), namesRegister(op)};
  for (Region &region : op.getRegions())
    for (Block &block : region)
      visitBlock(block, all);
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return all;
  all.work = llvm::SaturatingMultiply(all.work, countOf(loop));
  if (!op.getNumResults() && !all.hasAllocation && all.numOperations >= kFewestOperations &&
      all.work >= kLeastWork)
    found.push_back({all.hash, {loop, all.numOperations, all.namesRegisters}});
  return all;
}

//===-- Which of them do the same ------------------------------------------------------------===//

/// Returns true if both are constants of one value.
static bool areSameConstant(Value a, Value b) {
  Attribute ofA, ofB;
  return matchPattern(a, m_Constant(&ofA)) && matchPattern(b, m_Constant(&ofB)) && ofA == ofB &&
         a.getType() == b.getType();
}

/// Returns true if calls can pass a value: there is no calling convention for all vectors.
static bool canPass(Value value) {
  Type type = value.getType();
  return isa<LLVM::LLVMPointerType, Float32Type, Float64Type>(type) ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() <= 64);
}

/// The values from outside that a nest uses, without constants, in the order of use; nothing
/// where a call cannot pass them.
static std::optional<SmallVector<Value>> capturedBy(scf::ForOp loop) {
  llvm::SetVector<Value> captured;
  bool canCall = true;
  loop->walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *around = operand.getParentBlock()->getParentOp();
      if (loop->isAncestor(around) || matchPattern(operand, m_Constant()))
        continue;
      canCall &= canPass(operand);
      captured.insert(operand);
    }
  });
  if (!canCall || captured.size() > kMostArguments)
    return std::nullopt;
  return captured.takeVector();
}

/// Returns true if two nests do the same, except for values from outside other than constants.
static bool haveSameOperations(scf::ForOp first, scf::ForOp other) {
  DenseMap<Value, Value> matching; // of what they define
  auto isInside = [](scf::ForOp loop, Value value) {
    return loop->isAncestor(value.getParentBlock()->getParentOp());
  };
  auto areSame = [&](Value a, Value b) -> LogicalResult {
    if (isInside(first, a))
      return success(matching.lookup(a) == b);
    if (matchPattern(a, m_Constant()) || matchPattern(b, m_Constant()))
      return success(areSameConstant(a, b));
    return success(a.getType() == b.getType() && !isInside(other, b));
  };
  auto noteSame = [&](Value a, Value b) { matching[a] = b; };
  return OperationEquivalence::isEquivalentTo(first, other, areSame, noteSame,
                                              OperationEquivalence::IgnoreLocations);
}

/// Returns the values of `other` that correspond to the values captured by `first`; nothing where
/// the two do different things.
static std::optional<SmallVector<Value>> matchNest(scf::ForOp first, ArrayRef<Value> captured,
                                                   scf::ForOp other) {
  if (!haveSameOperations(first, other))
    return std::nullopt;
  SmallVector<std::pair<Value, Value>> operands;
  first->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      operands.emplace_back(operand, nullptr);
  });
  auto next = operands.begin();
  other->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      (next++)->second = operand;
  });
  llvm::SmallDenseMap<Value, Value> standsFor;
  for (Value value : captured)
    standsFor[value] = nullptr;
  for (auto [ours, theirs] : operands)
    if (auto known = standsFor.find(ours); known != standsFor.end()) {
      if (known->second && known->second != theirs)
        return std::nullopt; // one value here and two there
      known->second = theirs;
    }
  return llvm::map_to_vector(captured, [&](Value value) { return standsFor.lookup(value); });
}

//===-- One function for them ----------------------------------------------------------------===//

/// Adds what a pointer may be computed from.
static void collectRoots(Value pointer, llvm::SmallSetVector<Value, 4> &roots) {
  llvm::SmallSetVector<Value, 8> open;
  open.insert(pointer);
  for (size_t next = 0; next < open.size(); ++next) {
    Value value = open[next];
    if (auto address = value.getDefiningOp<LLVM::GEPOp>()) {
      open.insert(address.getBase());
    } else if (auto choice = value.getDefiningOp<scf::IfOp>()) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      open.insert(choice.thenYield().getOperand(number));
      open.insert(choice.elseYield().getOperand(number));
    } else if (auto choice = value.getDefiningOp<arith::SelectOp>()) {
      open.insert(choice.getTrueValue());
      open.insert(choice.getFalseValue());
    } else {
      roots.insert(value);
    }
  }
}

/// Returns true if a root is a buffer on the stack, or cannot lead to one: no address of such a
/// buffer is ever written to memory.
static bool isKnownRoot(Value root) {
  if (isa_and_present<LLVM::AllocaOp, LLVM::LoadOp>(root.getDefiningOp()))
    return true;
  auto argument = dyn_cast<BlockArgument>(root);
  return argument && isa<LLVM::LLVMFuncOp>(argument.getOwner()->getParentOp());
}

/// The facts that a function may assume of a parameter.
struct ParameterFacts {
  bool isAlone = true; // no other argument leads to its memory
  uint64_t alignment = 1u << 31;
};

/// Narrows the facts down to what holds in a call with these arguments.
static void noteArguments(ArrayRef<Value> arguments, MutableArrayRef<ParameterFacts> facts) {
  llvm::SmallDenseMap<Value, int> numArguments; // by what they may be computed from
  bool areKnown = true;
  for (Value argument : arguments) {
    if (!isa<LLVM::LLVMPointerType>(argument.getType()))
      continue;
    llvm::SmallSetVector<Value, 4> roots;
    collectRoots(argument, roots);
    for (Value root : roots)
      ++numArguments[root];
    areKnown &= llvm::all_of(roots, isKnownRoot);
  }
  for (auto [argument, fact] : llvm::zip(arguments, facts)) {
    auto buffer = argument.getDefiningOp<LLVM::AllocaOp>();
    fact.isAlone &= buffer && areKnown && numArguments[argument] == 1;
    fact.alignment = std::min(fact.alignment, buffer ? buffer.getAlignment().value_or(1) : 1);
  }
}

/// States the facts where LLVM can use them.
static void stateFacts(LLVM::LLVMFuncOp function, ArrayRef<ParameterFacts> facts) {
  Builder b(function.getContext());
  for (auto [index, fact] : llvm::enumerate(facts)) {
    if (fact.isAlone)
      function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    if (fact.alignment > 1)
      function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                          b.getI64IntegerAttr(fact.alignment));
  }
}

static LLVM::LLVMFuncOp declareShared(ModuleOp module, LLVM::LLVMFuncOp user,
                                      ArrayRef<Value> arguments, int number) {
  OpBuilder b(module.getBodyRegion());
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::map_to_vector(arguments, [](Value v) { return v.getType(); });
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types,
                                          /*isVarArg=*/false);
  std::string name = (user.getName() + ".nest" + Twine(number)).str();
  auto function = LLVM::LLVMFuncOp::create(b, user.getLoc(), name, type);
  function.setLinkage(LLVM::Linkage::Internal);
  return function;
}

/// Moves the nest into the function; the constants that it uses are made anew there.
static void moveInto(LLVM::LLVMFuncOp function, scf::ForOp loop, ArrayRef<Value> captured) {
  OpBuilder b(function.getContext());
  Block *body = function.addEntryBlock(b);
  loop->moveBefore(body, body->end());
  b.setInsertionPointToStart(body);
  IRMapping inside;
  inside.map(captured, body->getArguments());
  loop->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (loop->isAncestor(value.getParentBlock()->getParentOp()))
        continue;
      if (!inside.contains(value))
        inside.map(value, b.clone(*value.getDefiningOp())->getResult(0));
      operand.set(inside.lookup(value));
    }
  });
  b.setInsertionPointToEnd(body);
  LLVM::ReturnOp::create(b, loop.getLoc(), ValueRange());
}

namespace {
struct ShareNests : tw::impl::ShareNestsBase<ShareNests> {
  void runOnOperation() override {
    auto groups = Nests(getOperation()).byHash.takeVector();
    SmallVector<std::pair<uint64_t, size_t>> largestFirst;
    for (auto [index, group] : llvm::enumerate(groups))
      largestFirst.emplace_back(UINT64_MAX - group.second.front().numOperations, index);
    llvm::sort(largestFirst);
    for (auto [rank, index] : largestFirst)
      shareIn(groups[index].second);
  }

private:
  void shareIn(SmallVector<Nest> &nests);
  bool share(scf::ForOp first, ArrayRef<Nest> others);
  void callInstead(scf::ForOp loop, LLVM::LLVMFuncOp function, ArrayRef<Value> arguments);

  llvm::SmallPtrSet<Operation *, 16> gone; // loops that were replaced, and all loops in them
  int numFunctions = 0;
};
} // namespace

void ShareNests::callInstead(scf::ForOp loop, LLVM::LLVMFuncOp function,
                             ArrayRef<Value> arguments) {
  OpBuilder b(loop);
  LLVM::CallOp::create(b, loop.getLoc(), function, arguments);
}

/// Makes one function of the nests that do what the first does.
bool ShareNests::share(scf::ForOp first, ArrayRef<Nest> others) {
  std::optional<SmallVector<Value>> captured = capturedBy(first);
  if (!captured)
    return false;
  SmallVector<std::pair<scf::ForOp, SmallVector<Value>>> same;
  SmallVector<ParameterFacts> facts(captured->size());
  noteArguments(*captured, facts);
  for (const Nest &other : others) {
    if (gone.contains(other.loop))
      continue;
    std::optional<SmallVector<Value>> arguments = matchNest(first, *captured, other.loop);
    if (!arguments)
      continue;
    noteArguments(*arguments, facts);
    same.emplace_back(other.loop, std::move(*arguments));
  }
  if (same.empty())
    return false;
  LLVM::LLVMFuncOp function = declareShared(
      getOperation(), first->getParentOfType<LLVM::LLVMFuncOp>(), *captured, numFunctions++);
  stateFacts(function, facts);
  callInstead(first, function, *captured);
  moveInto(function, first, *captured);
  for (auto &[loop, arguments] : same) {
    callInstead(loop, function, arguments);
    loop->walk([&](scf::ForOp inner) { gone.insert(inner); });
    loop->erase();
  }
  return true;
}

void ShareNests::shareIn(SmallVector<Nest> &nests) {
  for (auto [index, nest] : llvm::enumerate(nests)) {
    ArrayRef<Nest> others = ArrayRef(nests).drop_front(index + 1);
    if (!gone.contains(nest.loop) && !others.empty() && share(nest.loop, others))
      gone.insert(nest.loop); // it is the function's now
  }
}
