// Lowers writes and reads of whole tiles in shared memory, and gathers from it.
#include "ir/Diagnostic.h"
#include "ir/layout/DerivedLayouts.h"
#include "ir/layout/MatrixAccess.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/layout/BufferChoice.h"
#include "passes/simt/lowering/thread/SharedTile.h"
#include "passes/simt/lowering/thread/Storage.h"
#include "passes/simt/lowering/thread/ThreadBits.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The layout of a tile, or of a scalar as the only element of a buffer of `shape`.
static LinearLayout layoutIn(Type value, ArrayRef<int64_t> shape) {
  return hasLayout(value) ? layoutOf(value) : LinearLayout(shape, {});
}

/// Says how many times the transfers of accesses without bank conflicts these take. `vector` holds
/// the registers of one access.
static void reportConflicts(const SimtFunction &f, Operation *op, SharedType buffer,
                            const LinearLayout &vector, SharedUse use) {
  double conflicts =
      bankConflicts(vector, buffer.getLayout().getValue(), use,
                    bytesInShared(buffer.getElementType()), f.machine.banks, buffer.getPadding());
  if (conflicts > 1)
    emitCodedRemark(op, Code::BankConflicts)
        << (use == SharedUse::Read ? "reads" : "writes") << " of shared memory take "
        << llvm::formatv("{0:f1}", conflicts).str() << " times as long: bank conflicts";
}

/// The matrices as which a warp can write a tile whose registers are narrow pieces of the buffer;
/// none where the target or the layouts forbid it.
static std::optional<MatrixAccess> matrixStoreOf(const SimtFunction &f, SharedType buffer,
                                                 const LinearLayout &layout) {
  Type element = buffer.getElementType();
  bool isStored = hasFeature(f.target, tile::Feature::StoreMatrix) && element.isIntOrFloat() &&
                  !element.isInteger(1) && !hasCopies(layout);
  if (!isStored)
    return std::nullopt;
  unsigned widest = f.machine.banks.accessBytes / bytesInShared(element);
  if (sharedAccess(layout, buffer.getLayout().getValue(), widest).vector >= widest)
    return std::nullopt;
  return matrixAccess(layout, buffer.getLayout().getValue(), bytesInShared(element),
                      MatrixReads::Words);
}

static void storeMatrices(SimtFunction &f, SharedType buffer, const SharedStart &start,
                          const MatrixAccess &access, ArrayRef<Value> values) {
  SharedTile rows(f, buffer, start, access.rows);
  unsigned rowElements = access.rowBytes / bytesInShared(buffer.getElementType());
  Registers going(values.size());
  for (auto [number, value] : llvm::enumerate(going))
    value = values[access.registerOf(number)];
  SmallVector<Value> words = packWords(f, going);
  Type word = f.builder.getI32Type();
  for (Value &each : words)
    if (each.getType() != word)
      each = f.create<LLVM::BitcastOp>(word, each);
  for (uint32_t first = 0, row = 0; first < words.size();
       first += access.numMatrices, row += rowElements)
    f.create<StoreMatrixOp>(rows.addressOf(row), ArrayRef(words).slice(first, access.numMatrices),
                            access.transposed);
}

LogicalResult SimtFunction::lowerStoreShared(StoreSharedOp op) {
  FailureOr<SharedStart> start = sharedStartOf(*this, op.getBuffer(), op);
  if (failed(start))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  LinearLayout layout = layoutIn(op.getValue().getType(), buffer.getShape());
  if (std::optional<MatrixAccess> access = matrixStoreOf(*this, buffer, layout)) {
    storeMatrices(*this, buffer, *start, *access, registersOf(op.getValue()));
    return success();
  }
  // Copies of an element are equal, but writing each would be a race: its owner writes it.
  Value owner = hasLayout(op.getValue().getType()) ? isOwner(layout) : isZero(thread);
  reportConflicts(*this, op, buffer, layout, SharedUse::Write);
  SharedTile tile(*this, buffer, *start, layout);
  OpBuilder::InsertionGuard guard(builder);
  if (owner) {
    auto branch = create<scf::IfOp>(owner);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  tile.store(registersOf(op.getValue()));
  return success();
}

/// The matrices as which a warp can read a tile; none where the target or the layouts forbid it.
static std::optional<MatrixAccess> matrixAccessOf(const SimtFunction &f, SharedType buffer,
                                                  const LinearLayout &layout) {
  Type element = buffer.getElementType();
  if (!element.isIntOrFloat() || element.isInteger(1))
    return std::nullopt;
  return matrixAccess(layout, buffer.getLayout().getValue(), bytesInShared(element),
                      matrixReadsOf(f.target));
}

/// The words that one access gives a lane.
static ValueRange loadWords(SimtFunction &f, Value address, const MatrixAccess &access,
                            unsigned elementBytes) {
  Type word = f.builder.getI32Type();
  MatrixReads reads = matrixReadsOf(f.target);
  if (areColumns(reads)) {
    SmallVector<Type> columns(access.rowBytes / 4, word);
    bool isSplit = reads == MatrixReads::Columns8 && elementBytes == 1;
    return f.create<LoadTransposedOp>(columns, address, 8 * elementBytes, isSplit).getResults();
  }
  SmallVector<Type> words(access.numMatrices, word);
  return f.create<LoadMatrixOp>(words, address, access.transposed).getResults();
}

static Registers loadMatrices(SimtFunction &f, SharedType buffer, const SharedStart &start,
                              const MatrixAccess &access) {
  SharedTile rows(f, buffer, start, access.rows);
  unsigned elementBytes = bytesInShared(buffer.getElementType());
  Registers coming;
  for (uint32_t row = 0; row < access.rows.size(Place::Register);
       row += access.rowBytes / elementBytes)
    llvm::append_range(coming,
                       unpackWords(f, loadWords(f, rows.addressOf(row), access, elementBytes),
                                   buffer.getElementType()));
  Registers values(coming.size());
  for (auto [number, value] : llvm::enumerate(coming))
    values[access.registerOf(number)] = value;
  return values;
}

LogicalResult SimtFunction::lowerLoadShared(LoadSharedOp op) {
  FailureOr<SharedStart> start = sharedStartOf(*this, op.getBuffer(), op);
  if (failed(start))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  LinearLayout layout = layoutIn(op.getType(), buffer.getShape());
  if (std::optional<MatrixAccess> access = matrixAccessOf(*this, buffer, layout)) {
    unsigned rowElements = access->rowBytes / bytesInShared(buffer.getElementType());
    LinearLayout::Bases row(
        access->rows.bases(Place::Register).take_front(llvm::Log2_32(rowElements)));
    reportConflicts(*this, op, buffer, access->rows.withPlace(Place::Register, row),
                    SharedUse::Read);
    setRegisters(op, loadMatrices(*this, buffer, *start, *access));
    return success();
  }
  reportConflicts(*this, op, buffer, layout, SharedUse::Read);
  SharedTile tile(*this, buffer, *start, layout);
  setRegisters(op, tile.load());
  return success();
}

LogicalResult SimtFunction::lowerSlot(SlotOp op) {
  uint64_t bytes = bytesOf(op.getType());
  setRegisters(op, {create<arith::MulIOp>(scalarOf(op.getNumber()), constantI32(int64_t(bytes)))});
  return success();
}

/// The byte offset of the element at `index` along the axis, and at the coordinates of register
/// `reg` of `layout` along the others.
static Value gatherOffset(SimtFunction &f, const LinearLayout &layout, uint32_t reg, Value index,
                          const LinearLayout &buffer, const BitMatrix &byteOffsets, unsigned axis) {
  // Where an element of the indices' tile is in the buffer, at index 0 along the axis.
  auto offsetOf = [&](uint32_t element) {
    SmallVector<int64_t> coordinates = layout.coordinatesOf(element);
    coordinates[axis] = 0;
    return uint32_t(byteOffsets.apply(buffer.elementAt(coordinates)));
  };
  Value offset;
  for (auto [place, number] : {std::pair{Place::Lane, f.lane}, std::pair{Place::Warp, f.warp}}) {
    SmallVector<uint32_t> bases;
    for (uint32_t basis : layout.bases(place))
      bases.push_back(offsetOf(basis));
    if (llvm::any_of(bases, [](uint32_t basis) { return basis != 0; }))
      offset = xorOf(f, offset, f.placeIndex(bases, number, ~0u));
  }
  if (uint32_t constant = offsetOf(layout.apply(Place::Register, reg)))
    offset = xorOf(f, offset, f.constantI32(constant));
  SmallVector<uint32_t> ofIndex;
  for (unsigned bit = 0; bit < buffer.numBitsOf(axis); ++bit)
    ofIndex.push_back(uint32_t(byteOffsets.columns[buffer.firstBitOf(axis) + bit]));
  // Bits beyond the buffer's extent do not count: no index reads outside the buffer.
  return ofIndex.empty() ? offset : xorOf(f, offset, linearImage(f, index, ofIndex));
}

static Value toI32(SimtFunction &f, Value integer) {
  Type type = f.builder.getI32Type();
  unsigned bits = integer.getType().getIntOrFloatBitWidth();
  if (bits > 32)
    return f.create<arith::TruncIOp>(type, integer);
  if (bits < 32)
    return f.create<arith::ExtUIOp>(type, integer);
  return integer;
}

/// The address, or one that no shared memory has where the index is outside of `extent` elements:
/// the read then fails at the user's line, instead of giving another element.
static Value checkedAddress(SimtFunction &f, Value address, Value index, int64_t extent) {
  Type type = index.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits < 32) {
    type = f.builder.getI32Type();
    index = f.create<arith::ExtSIOp>(type, index);
  }
  Value limit = f.create<arith::ConstantOp>(f.builder.getIntegerAttr(type, extent));
  Value isInside = f.create<arith::CmpIOp>(arith::CmpIPredicate::ult, index, limit);
  Value nowhere = f.create<LLVM::IntToPtrOp>(address.getType(), f.constantI32(int32_t(0xfffffff0)));
  return f.create<arith::SelectOp>(isInside, address, nowhere);
}

LogicalResult SimtFunction::lowerGatherShared(GatherSharedOp op) {
  FailureOr<SharedStart> start = sharedStartOf(*this, op.getBuffer(), op);
  if (failed(start))
    return failure();
  SharedType buffer = op.getBuffer().getType();
  Type element = buffer.getElementType(), storage = storageType(*this, element);
  const LinearLayout &layout = layoutOf(op.getType());
  BitMatrix byteOffsets = byteOffsetsIn(buffer);
  Registers indices = registersOf(op.getIndices()), result;
  int64_t extent = buffer.getShape()[op.getAxis()];
  bool isWithin = facts.isWithin(op.getIndices(), extent);
  emitCodedRemark(op, Code::BankConflicts)
      << "bank conflicts follow from the indices: lanes whose elements lie in one bank of shared "
         "memory wait for each other";
  for (auto [reg, index] : llvm::enumerate(indices)) {
    Value offset = gatherOffset(*this, layout, reg, toI32(*this, index),
                                buffer.getLayout().getValue(), byteOffsets, op.getAxis());
    offset = withPadding(*this, offset, buffer.getPadding());
    Value address = sharedAddressIn(*this, *start, offset);
    if (!isWithin)
      address = checkedAddress(*this, address, index, extent);
    Value loaded = create<LLVM::LoadOp>(storage, address, bytesInShared(element));
    result.push_back(fromStorage(*this, loaded, element));
  }
  setRegisters(op, result);
  return success();
}
