// Lowers products of matrices in shared memory to multiply-adds: each thread reads the rows of A
// and the columns of B that its registers of the product need, some steps of k at a time.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/simt/lowering/thread/SharedTile.h"
#include "passes/simt/lowering/thread/ThreadBits.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Multiply-adds in the loop's body, beyond which unrolling only makes code longer.
static constexpr unsigned kMaxMultiplyAdds = 512;
/// Steps of k that a body takes at least, where there are as many: one 16-byte access of f32.
static constexpr unsigned kMinUnrolled = 4;
static constexpr unsigned kMaxUnrolled = 16;

namespace {
/// One operand as a thread reads it: elements of several rows (columns of B), and of `unrolled`
/// steps of k.
struct Operand {
  SharedType buffer;
  SharedStart start;
  LinearLayout reads; // registers: rows, then steps of k; Step: the loop's bits of k
  SmallVector<uint32_t>
      rowOfRegister; // of the product's registers: number among this thread's rows
};
} // namespace

/// The part of a product's element that names the row (column) of an operand, as an element at k =
/// 0.
static uint32_t rowOf(const LinearLayout &product, uint32_t element, const LinearLayout &operand,
                      bool isRight) {
  unsigned rank = product.rank();
  SmallVector<int64_t> coordinates = product.coordinatesOf(element);
  coordinates[isRight ? rank - 2 : rank - 1] = 0;
  return operand.elementAt(coordinates);
}

static Operand operandOf(const LinearLayout &product, SharedType buffer, SharedStart start,
                         unsigned unrolled, bool isRight) {
  LinearLayout whole(buffer.getShape(), {});
  unsigned depthDim = whole.rank() - (isRight ? 2 : 1);
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  auto project = [&](uint32_t basis) { return rowOf(product, basis, whole, isRight); };
  for (Place place : {Place::Register, Place::Lane, Place::Warp})
    for (uint32_t basis : product.bases(place))
      bases[unsigned(place)].push_back(project(basis));
  LinearLayout rows = LinearLayout(buffer.getShape(), bases).withoutFreeRegisters();
  Operand operand{buffer, start, rows, {}};
  // The registers of the product without those of other columns: every row is found.
  std::optional<SmallVector<uint32_t>> numbers =
      LinearLayout(buffer.getShape(), bases).registersFrom(rows);
  operand.rowOfRegister = *numbers;
  LinearLayout::Bases registers(rows.bases(Place::Register)), loop;
  for (unsigned bit = 0; bit < whole.numBitsOf(depthDim); ++bit)
    (1u << bit < unrolled ? registers : loop).push_back(1u << (whole.firstBitOf(depthDim) + bit));
  operand.reads = rows.withPlace(Place::Register, registers).withPlace(Place::Step, loop);
  return operand;
}

/// The operand's elements at k = first .. first + unrolled - 1, all steps of one k together.
static Registers readOperand(SimtFunction &f, const Operand &operand, Value first,
                             unsigned unrolled) {
  SharedTile tile(f, operand.buffer, operand.start, operand.reads);
  if (first) {
    BitMatrix offsets = byteOffsetsIn(operand.buffer);
    SmallVector<uint32_t> ofDepth(llvm::Log2_32(unrolled), 0);
    uint32_t mask = 0;
    for (uint32_t basis : operand.reads.bases(Place::Step)) {
      ofDepth.push_back(uint32_t(offsets.apply(basis)));
      mask |= ofDepth.back();
    }
    tile.addVariable(linearImage(f, first, ofDepth), mask);
  }
  return tile.load();
}

static Value widen(SimtFunction &f, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type))
    return f.create<arith::ExtFOp>(type, value);
  return f.create<arith::ExtSIOp>(type, value);
}

static Value multiplyAdd(SimtFunction &f, Value a, Value b, Value acc) {
  if (isa<FloatType>(acc.getType()))
    return f.create<math::FmaOp>(a, b, acc);
  Value product = f.create<arith::MulIOp>(a, b);
  return f.create<arith::AddIOp>(acc, product);
}

static Registers multiplyStep(SimtFunction &f, const Operand &a, const Operand &b, Value first,
                              unsigned unrolled, ArrayRef<Value> acc) {
  Registers left = readOperand(f, a, first, unrolled), right = readOperand(f, b, first, unrolled);
  Type type = acc.front().getType();
  for (Registers *values : {&left, &right})
    for (Value &value : *values)
      value = widen(f, value, type);
  size_t numRows = left.size() / unrolled, numColumns = right.size() / unrolled;
  Registers result(acc);
  for (unsigned depth = 0; depth < unrolled; ++depth)
    for (auto [reg, value] : llvm::enumerate(result))
      value = multiplyAdd(f, left[depth * numRows + a.rowOfRegister[reg]],
                          right[depth * numColumns + b.rowOfRegister[reg]], value);
  return result;
}

static unsigned chooseUnrolled(DotSharedOp op, unsigned depth, unsigned numRegisters,
                               SharedBanks banks) {
  auto perAccess = [&](SharedType type) {
    return std::max(1u, banks.accessBytes / bytesInShared(type.getElementType()));
  };
  unsigned wanted = std::max(perAccess(op.getA().getType()), kMinUnrolled);
  wanted = std::min({wanted, kMaxUnrolled, depth});
  while (wanted > 1 && wanted * numRegisters > kMaxMultiplyAdds)
    wanted /= 2;
  return wanted;
}

LogicalResult SimtFunction::lowerDotShared(DotSharedOp op) {
  FailureOr<SharedStart> firstA = sharedStartOf(*this, op.getA(), op),
                         firstB = sharedStartOf(*this, op.getB(), op);
  if (failed(firstA) || failed(firstB))
    return failure();
  const LinearLayout &product = layoutOf(op.getType());
  Registers acc = registersOf(op.getAcc());
  unsigned depth = unsigned(op.getA().getType().getShape().back());
  unsigned unrolled = chooseUnrolled(op, depth, acc.size(), machine.banks);
  Operand a = operandOf(product, op.getA().getType(), *firstA, unrolled, /*isRight=*/false);
  Operand b = operandOf(product, op.getB().getType(), *firstB, unrolled, /*isRight=*/true);
  if (depth == unrolled) {
    setRegisters(op, multiplyStep(*this, a, b, {}, unrolled, acc));
    return success();
  }
  auto loop = create<scf::ForOp>(constantI32(0), constantI32(depth), constantI32(unrolled), acc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Registers next = multiplyStep(*this, a, b, loop.getInductionVar(), unrolled,
                                Registers(loop.getRegionIterArgs()));
  create<scf::YieldOp>(next);
  setRegisters(op, Registers(loop.getResults()));
  return success();
}
