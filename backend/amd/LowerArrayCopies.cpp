// Copies of rows of arrays to shared memory by the tensor data mover: a wave gives it a descriptor,
// in scalar registers.
#include "backend/amd/LowerAmd.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

namespace {
/// Writes the words of a descriptor (LLVM, "AMDGPU usage"; MLIR's amdgpu.make_dma_descriptor).
struct DescriptorWriter {
  explicit DescriptorWriter(Lowering &lowering) : lowering(lowering), b(lowering.builder) {}

  Value constant(uint32_t value) { return constantI32(lowering, int32_t(value)); }
  Value wide(uint64_t value) { return constantOf(lowering, b.getI64Type(), int64_t(value)); }
  Value low(Value number) { return LLVM::TruncOp::create(b, lowering.loc, b.getI32Type(), number); }
  Value high(Value number) { return low(LLVM::LShrOp::create(b, lowering.loc, number, wide(32))); }
  Value both(Value left, Value right) { return LLVM::OrOp::create(b, lowering.loc, left, right); }
  /// The lower half of a number in the upper half of a word, and its upper half in a lower one.
  Value up(Value number) { return LLVM::ShlOp::create(b, lowering.loc, number, constant(16)); }
  Value down(Value number) { return LLVM::LShrOp::create(b, lowering.loc, number, constant(16)); }
  Value vectorOf(ArrayRef<Value> numbers);
  Value placeOf(simt::CopyArrayOp op);
  Value formOf(simt::CopyArrayOp op);

  Lowering &lowering;
  OpBuilder &b;
};
} // namespace

Value DescriptorWriter::vectorOf(ArrayRef<Value> numbers) {
  auto type = VectorType::get({int64_t(numbers.size())}, numbers.front().getType());
  Value vector = LLVM::PoisonOp::create(b, lowering.loc, type);
  for (auto [index, number] : llvm::enumerate(numbers))
    vector = LLVM::InsertElementOp::create(b, lowering.loc, vector, number, constant(index));
  return vector;
}

/// Writes whether there is a tile, and the addresses, of 64 bits at a time: LLVM selects these by
/// scalar instructions, and 0 or 1 by those of vectors.
Value DescriptorWriter::placeOf(simt::CopyArrayOp op) {
  constexpr uint64_t hasTile = 1, isTensor = uint64_t(2) << 62;
  Type i64 = b.getI64Type();
  Value shared = LLVM::PtrToIntOp::create(b, lowering.loc, b.getI32Type(), op.getShared());
  shared = LLVM::ZExtOp::create(b, lowering.loc, i64, shared);
  shared = LLVM::ShlOp::create(b, lowering.loc, shared, wide(32));
  shared = both(shared, wide(hasTile));
  if (op.getExists())
    shared = LLVM::SelectOp::create(b, lowering.loc, op.getExists(), shared, wide(0));
  // The last step of the address is what loops change: all else comes before it.
  auto step = op.getPtr().getDefiningOp<LLVM::GEPOp>();
  bool isStep = step && step.getElemType().isInteger(8) && step.getDynamicIndices().size() == 1;
  Value address =
      LLVM::PtrToIntOp::create(b, lowering.loc, i64, isStep ? step.getBase() : op.getPtr());
  address = both(address, wide(isTensor));
  if (isStep)
    address = LLVM::AddOp::create(b, lowering.loc, address, step.getDynamicIndices().front());
  Value place = vectorOf({shared, address});
  return LLVM::BitcastOp::create(b, lowering.loc, VectorType::get({4}, b.getI32Type()), place);
}

/// Returns the word that says how large elements are, and how much padding follows how many words.
static uint32_t wordOfForm(simt::CopyArrayOp op) {
  constexpr unsigned bytesOfWord = 4, isPadded = 1u << 20;
  uint32_t form = llvm::Log2_32(op.getBytes()) << 16;
  if (op.getPad())
    form |= isPadded | (llvm::Log2_32(op.getInterval() / bytesOfWord) - 1) << 22 |
            (op.getPad() / bytesOfWord - 1) << 25;
  return form;
}

/// Writes the extents of the array and of the tile, and how far rows are apart.
Value DescriptorWriter::formOf(simt::CopyArrayOp op) {
  constexpr uint32_t halfWord = 0xffff;
  Value width = op.getWidth(), height = op.getHeight(), pitch = op.getPitch();
  Value first = up(width);
  Value second = both(down(width), up(height));
  Value third = both(down(height), constant(op.getColumns() << 16));
  Value pitchHigh = LLVM::AndOp::create(b, lowering.loc, high(pitch), constant(halfWord));
  return vectorOf({constant(wordOfForm(op)), first, second, third, constant(op.getRows()),
                   low(pitch), pitchHigh, constant(0)});
}

/// The mover ignores which lanes are active. A descriptor without a tile copies nothing, and is
/// counted as any other, so that all waves wait by the same counts.
void tw::amd::lowerCopyArray(Lowering &lowering, simt::CopyArrayOp op) {
  DescriptorWriter writer(lowering);
  Value place = writer.placeOf(op), form = writer.formOf(op);
  callIntrinsic(lowering, "amdgcn.tensor.load.to.lds.d2", Type(),
                {place, form, writer.constant(0)});
}
