// Writes the code that moves tiles through buffers in shared memory.
#include "passes/simt/shared/Staging.h"
#include "ir/Diagnostic.h"

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

void tw::simt::sinkLoads(Block &block) {
  SmallVector<LoadSharedOp> loads(block.getOps<LoadSharedOp>());
  for (LoadSharedOp load : llvm::reverse(loads)) {
    SharedType buffer = load.getBuffer().getType();
    if (buffer.getLayout().getValue().numElements() * elementBytes(buffer.getElementType()) >
        kSunkBytes)
      continue;
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
