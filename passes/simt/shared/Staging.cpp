// Writes the code that moves tiles through buffers in shared memory.
#include "passes/simt/shared/Staging.h"
#include "ir/Diagnostic.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/SharedLiveness.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

Staging::Staging(ModuleOp module)
    : builder(module.getContext()), loc(module.getLoc()), buffers(module) {}

std::string tw::simt::bufferName(Location loc, StringRef purpose) {
  SourceSpan span = spanOf(loc);
  return span.isKnown() ? (purpose + " at line " + Twine(span.line)).str() : purpose.str();
}

Value Staging::allocate(Type element, const LinearLayout &layout, StringRef name) {
  auto type = SharedType::get(builder.getContext(), layout.shape(), element,
                              LayoutAttr::get(builder.getContext(), layout));
  return AllocSharedOp::create(builder, loc, type, name, /*offset=*/nullptr, /*slots=*/nullptr);
}

Value Staging::store(Value value, const LinearLayout &layout, StringRef purpose,
                     SmallPtrSetImpl<Operation *> *stores) {
  Value buffer = allocate(elementTypeOf(value.getType()), layout, bufferName(loc, purpose));
  Operation *store = StoreSharedOp::create(builder, loc, value, buffer);
  if (stores)
    stores->insert(store);
  return buffer;
}

SmallVector<Value> Staging::throughShared(ValueRange values, TypeRange types, StringRef purpose,
                                          SmallPtrSetImpl<Operation *> *stores) {
  SmallVector<Value> stored, results;
  for (auto [value, type] : llvm::zip(values, types))
    stored.push_back(store(value, buffers.ofConversion(value.getType(), type), purpose, stores));
  for (auto [buffer, type] : llvm::zip(stored, types))
    results.push_back(LoadSharedOp::create(builder, loc, type, buffer));
  return results;
}

Value Staging::throughShared(Value value, Type type, StringRef purpose,
                             SmallPtrSetImpl<Operation *> *stores) {
  return throughShared(ValueRange(value), TypeRange(type), purpose, stores).front();
}

Value Staging::convert(Value value, Type type, StringRef purpose) {
  if (value.getType() == type)
    return value;
  if (buffers.prefersShared(value.getType(), type))
    return throughShared(value, type, purpose);
  return ConvertLayoutOp::create(builder, loc, type, value);
}

/// Above this a read stays where it is: it would keep too much shared memory occupied.
static constexpr int64_t kSunkBytes = 16 << 10;

/// The branch of a condition that has all uses of a read, directly below the read's block; or null.
static Region *onlyBranchWith(LoadSharedOp load) {
  Region *only = nullptr;
  for (Operation *user : load->getUsers()) {
    Operation *around = load->getBlock()->findAncestorOpInBlock(*user);
    auto condition = dyn_cast_or_null<scf::IfOp>(around);
    if (!condition || around == user)
      return nullptr;
    Region *branch = condition.getThenRegion().isAncestor(user->getParentRegion())
                         ? &condition.getThenRegion()
                         : &condition.getElseRegion();
    if (only && only != branch)
      return nullptr;
    only = branch;
  }
  return only;
}

/// Returns true if the buffer of a read is written between it and an operation of its block.
static bool isWrittenUntil(LoadSharedOp load, Operation *end) {
  AllocSharedOp buffer = allocOf(load.getBuffer());
  auto writes = [&](Operation *op) {
    bool mayWrite = isa<StoreSharedOp, AsyncCopyOp, ArrayCopyOp>(op) &&
                    llvm::any_of(op->getOperands(), [&](Value operand) {
                      return isa<SharedType>(operand.getType()) && allocOf(operand) == buffer;
                    });
    return mayWrite ? WalkResult::interrupt() : WalkResult::advance();
  };
  for (Operation *op = load->getNextNode(); op != end; op = op->getNextNode())
    if (op->walk(writes).wasInterrupted())
      return true;
  return false;
}

void tw::simt::sinkLoads(Block &block) {
  SmallVector<LoadSharedOp> loads(block.getOps<LoadSharedOp>());
  for (LoadSharedOp load : llvm::reverse(loads)) {
    SharedType buffer = load.getBuffer().getType();
    if (buffer.getLayout().getValue().numElements() * elementBytes(buffer.getElementType()) >
        kSunkBytes)
      continue;
    // A branch that is not taken needs no registers for it.
    if (Region *branch = onlyBranchWith(load);
        branch && !isWrittenUntil(load, branch->getParentOp()))
      load->moveBefore(&branch->front(), branch->front().begin());
    Operation *before = load->getNextNode();
    auto mayPass = [&](Operation *op) {
      return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
             !llvm::is_contained(op->getOperands(), load.getResult());
    };
    while (mayPass(before))
      before = before->getNextNode();
    load->moveBefore(before);
  }
}
