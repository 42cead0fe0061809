// Offsets into arrays that 32 bits do not reach all of are computed in 64 bits.
//
// First the values that loops and branches carry into such an offset change their type, with what
// else uses them reading the low half; then each offset is computed again from where its numbers
// begin. So are the sums and products of places that are compared: a mask must hold for the element
// that is reached, not for what 32 bits leave of its number. Other numbers wrap as in any kernel.
// What is no longer used goes with the passes' clean-ups.
#include "frontend/tiles/WideOffsets.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;

namespace {
/// A place where control flow hands a value on: what may come in, and the names it then has.
struct Carried {
  SmallVector<OpOperand *> incoming;
  SmallVector<Value> names;
};

class OffsetWidening {
public:
  explicit OffsetWidening(func::FuncOp kernel) : kernel(kernel), builder(kernel.getContext()) {}
  void run();

private:
  bool mayBeLarge(Value pointer);
  void collect(Value value, SetVector<Value> &needed) const;
  bool tellsPlace(Value value, const SetVector<Value> &offsets) const;
  void widenComparisons(const SetVector<Value> &offsets);
  void changeType(const Carried &carried);
  Value widen(Value value);
  Value compute(Value value);

  func::FuncOp kernel;
  OpBuilder builder;
  DenseMap<Value, Value> wide; // of 32-bit values
};
} // namespace

static unsigned widthOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isInteger() ? element.getIntOrFloatBitWidth() : 0;
}

static Type wideType(Type type) {
  Type i64 = IntegerType::get(type.getContext(), 64);
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Type(RankedTensorType::get(tile.getShape(), i64)) : i64;
}

/// Operations whose exact result is the same operation on exact operands.
static bool isExact(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::RemSIOp,
             arith::MinSIOp, arith::MaxSIOp, arith::SelectOp, tile::SplatOp, tile::BroadcastOp,
             tile::ExpandDimsOp, tile::ReshapeOp, tile::TransOp, tile::HintOp>(op);
}

static bool mayWrap(Value value) {
  return widthOf(value) == 32 &&
         isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(value.getDefiningOp());
}

/// Arithmetic of fewer bits wraps on purpose.
static bool extends(Operation *op) {
  return isa_and_nonnull<arith::ExtSIOp>(op) && widthOf(op->getOperand(0)) >= 32;
}

/// The operands of such an operation that are numbers: a choice's condition is none.
static SmallVector<unsigned> numbersOf(Operation *op) {
  if (isa<arith::SelectOp>(op))
    return {1, 2};
  return llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
}

/// How a value gets here by control flow; no names where it does not.
static Carried carriedOf(Value value) {
  Carried carried;
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (argument && argument == loop.getInductionVar())
      return carried;
    unsigned i = argument ? argument.getArgNumber() - 1 : cast<OpResult>(value).getResultNumber();
    carried.incoming = {&loop.getInitArgsMutable()[i],
                        &loop.getBody()->getTerminator()->getOpOperand(i)};
    carried.names = {loop.getRegionIterArg(i), loop.getResult(i)};
  } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && !argument) {
    unsigned i = cast<OpResult>(value).getResultNumber();
    carried.incoming = {&branch.thenYield()->getOpOperand(i), &branch.elseYield()->getOpOperand(i)};
    carried.names = {value};
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    unsigned i = argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber();
    if (argument && argument.getOwner() == loop.getBeforeBody()) {
      carried.incoming = {&loop.getInitsMutable()[i], &loop.getYieldOp()->getOpOperand(i)};
      carried.names = {argument};
    } else {
      carried.incoming = {&loop.getConditionOp()->getOpOperand(i + 1)};
      carried.names = {loop.getAfterArguments()[i], loop.getResult(i)};
    }
  }
  return carried;
}

/// Returns true if a pointer's memory may be that of a large argument.
bool OffsetWidening::mayBeLarge(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (!isa<tile::AddPtrOp, tile::PtrCastOp>(op) && !isExact(op))
      return true;
    if (isa<arith::SelectOp>(op))
      return true;
    pointer = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(pointer);
  if (!argument || argument.getOwner()->getParentOp() != kernel)
    return true; // carried by a loop
  return bool(kernel.getArgAttr(argument.getArgNumber(), tile::kArgLarge));
}

/// The values of 32 bits that an offset is computed from.
void OffsetWidening::collect(Value value, SetVector<Value> &needed) const {
  size_t next = needed.size();
  needed.insert(value);
  for (; next < needed.size(); ++next) {
    Value current = needed[next];
    for (OpOperand *incoming : carriedOf(current).incoming)
      needed.insert(incoming->get());
    Operation *op = current.getDefiningOp();
    if (op && widthOf(current) >= 32 && (isExact(op) || extends(op)))
      for (unsigned index : numbersOf(op))
        needed.insert(op->getOperand(index));
  }
}

void OffsetWidening::changeType(const Carried &carried) {
  for (Value name : carried.names) {
    if (auto argument = dyn_cast<BlockArgument>(name))
      builder.setInsertionPointToStart(argument.getOwner());
    else
      builder.setInsertionPointAfter(name.getDefiningOp());
    Type narrow = name.getType();
    name.setType(wideType(narrow));
    auto low = arith::TruncIOp::create(builder, name.getLoc(), narrow, name);
    name.replaceAllUsesExcept(low, low);
    wide[low] = name;
  }
}

Value OffsetWidening::widen(Value value) {
  if (auto known = wide.find(value); known != wide.end())
    return known->second;
  Value result = compute(value);
  wide[value] = result;
  return result;
}

Value OffsetWidening::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (extends(op))
    return widen(op->getOperand(0));
  if (op && isExact(op) && widthOf(value) >= 32) {
    SmallVector<Value> operands(op->getOperands());
    for (unsigned index : numbersOf(op))
      operands[index] = widen(operands[index]);
    builder.setInsertionPointAfter(op);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(wideType(value.getType()));
    if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(copy))
      copy->setAttr(flags.getIntegerOverflowAttrName(),
                    arith::IntegerOverflowFlagsAttr::get(value.getContext(),
                                                         arith::IntegerOverflowFlags::none));
    return copy->getResult(0);
  }
  if (widthOf(value) == 64)
    return value;
  if (auto argument = dyn_cast<BlockArgument>(value))
    builder.setInsertionPointToStart(argument.getOwner());
  else
    builder.setInsertionPointAfter(op);
  return arith::ExtSIOp::create(builder, value.getLoc(), wideType(value.getType()), value);
}

/// Returns true if a number says which element is meant: offsets are computed from it, or it is the
/// number of a program or of an element.
bool OffsetWidening::tellsPlace(Value value, const SetVector<Value> &offsets) const {
  Operation *op = value.getDefiningOp();
  if (op && op->hasTrait<OpTrait::ConstantLike>())
    return false;
  return offsets.contains(value) || wide.contains(value) ||
         isa_and_nonnull<tile::ProgramIdOp, tile::ArangeOp>(op);
}

/// Compares exact numbers of places; what was loaded, for one, wraps. Whether two numbers of 32
/// bits are equal stays a question of 32 bits: they may be unsigned, and wrap.
void OffsetWidening::widenComparisons(const SetVector<Value> &offsets) {
  SmallVector<arith::CmpIOp> comparisons;
  kernel.walk([&](arith::CmpIOp op) {
    bool isSigned = llvm::is_contained({arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
                                        arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge},
                                       op.getPredicate());
    if (!isSigned || widthOf(op.getLhs()) < 32)
      return;
    SetVector<Value> compared;
    collect(op.getLhs(), compared);
    collect(op.getRhs(), compared);
    if (llvm::any_of(compared, [&](Value v) { return mayWrap(v) || wide.contains(v); }) &&
        llvm::any_of(compared, [&](Value v) { return tellsPlace(v, offsets); }))
      comparisons.push_back(op);
  });
  for (arith::CmpIOp op : comparisons)
    for (OpOperand &operand : op->getOpOperands())
      operand.set(widen(operand.get()));
}

void OffsetWidening::run() {
  SmallVector<tile::AddPtrOp> moves;
  SetVector<Value> needed;
  kernel.walk([&](tile::AddPtrOp op) {
    if (!mayBeLarge(op.getPtr()))
      return;
    moves.push_back(op);
    collect(op.getOffset(), needed);
  });
  SetVector<OpOperand *> incoming;
  for (Value value : needed) {
    Carried carried = carriedOf(value);
    if (carried.names.empty() || widthOf(value) != 32 || wide.contains(value))
      continue;
    changeType(carried);
    incoming.insert(carried.incoming.begin(), carried.incoming.end());
  }
  for (OpOperand *operand : incoming)
    operand->set(widen(operand->get()));
  for (tile::AddPtrOp move : moves)
    move.getOffsetMutable().assign(widen(move.getOffset()));
  widenComparisons(needed);
}

void tw::widenOffsets(func::FuncOp kernel) {
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (kernel.getArgAttr(i, tile::kArgLarge)) {
      OffsetWidening(kernel).run();
      return;
    }
}
