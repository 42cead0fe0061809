// Lowers copies of boxes to and from shared memory, which one thread starts for all, and the phase
// barriers that count them.
#include "ir/layout/OperandSlabs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/lowering/thread/SharedTile.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Emits code for one thread of the program, or of the loader, where `exists` (null: always). Warps
/// branch as a whole before one of them elects a lane, so that the machine knows the others not to
/// take part.
static void emitForOneThread(SimtFunction &f, Value exists, llvm::function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(f.builder);
  if (!f.isLoader) {
    Value isFirst = f.isZero(f.groupOfWarp(1));
    auto inWarp = f.create<scf::IfOp>(f.both(exists, isFirst));
    f.builder.setInsertionPointToStart(inWarp.thenBlock());
  }
  auto inLane = f.create<scf::IfOp>(f.create<ElectOp>());
  f.builder.setInsertionPointToStart(inLane.thenBlock());
  emit();
}

namespace {
/// The copies of one box into, or out of, the slabs of a buffer.
struct SlabCopies {
  TensorMapAttr map;
  OperandSlabs slabs;
  Value address; // of the map
  ValueRange coordinates;
  SharedStart start;
  unsigned axes = 0; // of the cluster: programs along them copy a part of it each, for all
};

/// The programs of a cluster that copy a box together.
struct CopyingPrograms {
  int64_t count = 1;
  Value number, bits; // of this one among them; one bit for each, by its rank in the cluster
};
} // namespace

/// Finds the programs side by side along some axes (bits). Ranks count the first axis fastest.
static CopyingPrograms programsAlong(SimtFunction &f, Operation *op, unsigned axes) {
  CopyingPrograms programs{clusterSizeOf(op, axes), {}, {}};
  if (programs.count == 1)
    return programs;
  Value rank = f.create<ClusterRankOp>(), first; // the rank of the first of them
  SmallVector<int64_t> distances = {0};          // of the ranks of all of them from it
  int64_t stride = 1, numBefore = 1;
  auto add = [&](Value &sum, Value number, int64_t factor) {
    Value product = factor == 1 ? number : f.create<arith::MulIOp>(number, f.constantI32(factor));
    sum = sum ? f.create<arith::AddIOp>(sum, product).getResult() : product;
  };
  for (auto [axis, extent] : llvm::enumerate(clusterOf(op))) {
    if (extent == 1)
      continue;
    Value number = stride == 1 ? rank : f.create<arith::DivUIOp>(rank, f.constantI32(stride));
    if (stride * extent != clusterSizeOf(op))
      number = f.create<arith::RemUIOp>(number, f.constantI32(extent));
    if (axes >> axis & 1) {
      add(programs.number, number, numBefore);
      numBefore *= extent;
      SmallVector<int64_t> sideBySide;
      for (int64_t index = 0; index < extent; ++index)
        for (int64_t distance : distances)
          sideBySide.push_back(distance + index * stride);
      distances = sideBySide;
    } else {
      add(first, number, stride);
    }
    stride *= extent;
  }
  int64_t bits = 0;
  for (int64_t distance : distances)
    bits |= int64_t(1) << distance;
  programs.bits = f.constantI32(bits);
  if (first)
    programs.bits = f.create<arith::ShLIOp>(programs.bits, first);
  return programs;
}

/// Reads what the stage says of one buffer's box, for the tensor map of this number.
static FailureOr<SlabCopies> findSlabs(SimtFunction &f, Operation *op, int32_t number, Value buffer,
                                       ValueRange coordinates) {
  auto map = cast<TensorMapAttr>(tensorMapsOf(op)[number]);
  auto type = cast<SharedType>(buffer.getType());
  FailureOr<SharedStart> start = sharedStartOf(f, buffer, op);
  if (failed(start))
    return failure();
  Value address = f.create<TensorMapOp>(LLVM::LLVMPointerType::get(op->getContext()), number);
  std::optional<OperandSlabs> slabs = slabsOf(
      type.getLayout().getValue(), bytesInShared(type.getElementType()), map.getSpanBytes());
  return SlabCopies{map, *slabs, address, coordinates.take_front(map.getRank()), *start};
}

/// Emits a copy for each slab, or as many of them as a box has, and for as many rows of it as a box
/// has: from where it begins in the array, and in shared memory. Each of `programs` copies its
/// part.
static void emitCopies(SimtFunction &f, const SlabCopies &copies, ArrayRef<int64_t> shape,
                       const CopyingPrograms &programs,
                       llvm::function_ref<void(ValueRange corner, Value shared)> emit) {
  ArrayRef<int64_t> box = copies.map.getBox();
  int64_t columns = box.size() > 2 ? box[0] * box[2] : box[0], rows = box[1];
  const OperandSlabs &slabs = copies.slabs;
  bool isBySlabs = slabs.areDividedWhole(shape, programs.count);
  int64_t numColumns = shape[slabs.dim] / (isBySlabs ? programs.count : 1);
  int64_t numRows = shape[1 - slabs.dim] / (isBySlabs ? 1 : programs.count);
  auto scaled = [&](int64_t factor) {
    return f.create<arith::MulIOp>(programs.number, f.constantI32(factor)).getResult();
  };
  auto moved = [&](Value coordinate, int64_t distance) -> Value {
    return distance ? f.create<arith::AddIOp>(coordinate, f.constantI32(distance)) : coordinate;
  };
  for (int64_t column = 0; column < numColumns; column += columns)
    for (int64_t row = 0; row < numRows; row += rows) {
      SmallVector<Value> corner;
      for (Value coordinate : copies.coordinates)
        corner.push_back(f.scalarOf(coordinate));
      corner[0] = moved(corner[0], column);
      corner[1] = moved(corner[1], row);
      SharedStart place = copies.start;
      place.bytes += slabs.offsetOf(row, column);
      Value address = sharedAddressIn(f, place, {});
      if (programs.number) {
        Value &first = corner[isBySlabs ? 0 : 1];
        first = f.create<arith::AddIOp>(first, scaled(isBySlabs ? numColumns : numRows));
        int64_t bytesOfPart =
            isBySlabs ? slabs.offsetOf(0, numColumns) : slabs.offsetOf(numRows, 0);
        address = f.create<LLVM::GEPOp>(address.getType(), f.builder.getI8Type(), address,
                                        ValueRange{scaled(bytesOfPart)});
      }
      emit(corner, address);
    }
}

LogicalResult SimtFunction::lowerBoxCopy(BoxCopyOp op) {
  FailureOr<SharedStart> barrierStart = sharedStartOf(*this, op.getBarrier(), op);
  if (failed(barrierStart))
    return failure();
  SmallVector<SlabCopies> boxes;
  ValueRange coordinates = op.getCoordinates();
  int64_t bytes = 0;
  for (auto [number, buffer] : llvm::zip(op.getMaps(), op.getBuffers())) {
    FailureOr<SlabCopies> copies = findSlabs(*this, op, number, buffer, coordinates);
    if (failed(copies))
      return failure();
    copies->axes = op.multicastAxes(boxes.size());
    boxes.push_back(*copies);
    coordinates = coordinates.drop_front(copies->map.getRank());
    bytes += bytesOf(cast<SharedType>(buffer.getType()));
  }
  emitForOneThread(*this, op.getExists() ? scalarOf(op.getExists()) : Value(), [&] {
    Value barrier = sharedAddressIn(*this, *barrierStart, {});
    create<PhaseExpectOp>(barrier, bytes);
    for (auto [copies, buffer] : llvm::zip(boxes, op.getBuffers())) {
      llvm::SaveAndRestore<Location> atLoad(loc, buffer.getLoc());
      CopyingPrograms programs = programsAlong(*this, op, copies.axes);
      emitCopies(*this, copies, cast<SharedType>(buffer.getType()).getShape(), programs,
                 [&](ValueRange corner, Value shared) {
                   create<CopyBoxOp>(copies.address, corner, shared, barrier, programs.bits);
                 });
    }
  });
  return success();
}

LogicalResult SimtFunction::lowerBoxStore(BoxStoreOp op) {
  FailureOr<SlabCopies> copies =
      findSlabs(*this, op, op.getMap(), op.getBuffer(), op.getCoordinates());
  if (failed(copies))
    return failure();
  emitForOneThread(*this, /*exists=*/{}, [&] {
    if (op.getOrdered())
      create<StoresWaitOp>(/*read=*/false);
    emitCopies(*this, *copies, op.getBuffer().getType().getShape(), /*programs=*/{},
               [&](ValueRange corner, Value shared) {
                 create<StoreBoxOp>(copies->address, corner, shared, op.getKindAttr());
               });
    create<StoresWaitOp>(/*read=*/true);
  });
  return success();
}

/// Emits whether this lane's number is the rank of a program that copies to this one.
static Value isOfCopier(SimtFunction &f, ReleaseOp op) {
  Value bits; // of the ranks
  ArrayRef<int32_t> sets = *op.getCluster();
  for (int32_t axes : sets) {
    if (clusterSizeOf(op, axes) == clusterSizeOf(op))
      return f.create<arith::CmpIOp>(arith::CmpIPredicate::ult, f.lane,
                                     f.constantI32(clusterSizeOf(op)));
    Value along = programsAlong(f, op, axes).bits;
    bits = bits ? f.create<arith::OrIOp>(bits, along).getResult() : along;
  }
  Value bit = f.create<arith::ShRUIOp>(bits, f.lane);
  return f.create<arith::TruncIOp>(f.builder.getI1Type(), bit);
}

/// Lets a lane of each warp arrive at the barrier of what is free, when its lanes have come here.
/// In a cluster the barrier of each program that copies to this one has a lane of its own.
static void lowerRelease(SimtFunction &f, const SharedStart &start, ReleaseOp op) {
  OpBuilder::InsertionGuard guard(f.builder);
  bool isOfCluster = op.getCluster().has_value();
  auto inLane = f.create<scf::IfOp>(isOfCluster ? isOfCopier(f, op) : f.isZero(f.lane));
  f.builder.setInsertionPointToStart(inLane.thenBlock());
  f.create<PhaseArriveOp>(sharedAddressIn(f, start, {}), isOfCluster ? f.lane : Value());
}

LogicalResult SimtFunction::lowerPhase(Operation *op) {
  auto release = dyn_cast<ReleaseOp>(op);
  FailureOr<SharedStart> start =
      sharedStartOf(*this, release ? release.getFree() : op->getOperand(0), op);
  if (failed(start))
    return failure();
  if (release) {
    lowerRelease(*this, *start, release);
    return success();
  }
  if (auto phase = dyn_cast<PhaseAwaitOp>(op)) {
    create<PhaseAwaitOp>(sharedAddressIn(*this, *start, {}), scalarOf(phase.getParity()),
                         phase.getCluster());
    return success();
  }
  emitForOneThread(*this, /*exists=*/{}, [&] {
    Value address = sharedAddressIn(*this, *start, {});
    if (auto init = dyn_cast<PhaseInitOp>(op))
      create<PhaseInitOp>(address, init.getSlots(), init.getCount());
    else
      create<PhaseDropOp>(address, cast<PhaseDropOp>(op).getSlots());
  });
  return success();
}
