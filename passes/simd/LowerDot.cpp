// Matrix products: operands are packed once per tile, then a register-tiled micro-kernel runs over
// them (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

namespace {
/// How one dot is cut into register tiles.
struct DotPlan {
  int64_t m, n, k;
  Type compute;    // of accumulators in registers
  Type operand;    // of packed operands
  bool isPaired;   // two neighbours along k per 32-bit lane, for the pairwise dot instruction
  int64_t lanes;   // accumulator lanes
  int64_t vectors; // accumulator vectors per row of the register tile
  int64_t rows;    // rows of the register tile
  int64_t panel() const { return lanes * vectors; }
};
} // namespace

static int64_t chooseRows(int64_t m, int64_t limit) {
  for (int64_t rows = std::min(m, limit); rows > limit / 2; --rows)
    if (m % rows == 0)
      return rows;
  return std::min(m, limit);
}

static DotPlan planDot(DotOp op, const SimdMachine &machine, OpBuilder &builder) {
  RankedTensorType a = op.getA().getType(), acc = op.getAcc().getType();
  int64_t rank = acc.getRank();
  DotPlan plan;
  plan.m = acc.getDimSize(rank - 2);
  plan.n = acc.getDimSize(rank - 1);
  plan.k = a.getDimSize(rank - 1);
  Type element = acc.getElementType();
  bool isNarrowFloat = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  plan.compute = isNarrowFloat ? Type(builder.getF32Type()) : element;
  plan.lanes = machine.vectorBytes / elementBytes(plan.compute);
  while (plan.n % plan.lanes != 0)
    plan.lanes /= 2;
  plan.isPaired = !machine.bf16DotIntrinsic.empty() && a.getElementType().isBF16() &&
                  op.getB().getType().getElementType().isBF16() && plan.compute.isF32() &&
                  plan.k % 2 == 0 && plan.lanes * 4 == int64_t(machine.vectorBytes);
  plan.operand = plan.isPaired ? a.getElementType() : plan.compute;
  plan.vectors = (plan.n / plan.lanes) % 2 == 0 ? 2 : 1;
  // The tile's accumulators, one row of B and one broadcast element of A fill the registers.
  int64_t limit = (machine.numRegisters - plan.vectors - 1) / plan.vectors;
  plan.rows = chooseRows(plan.m, std::min<int64_t>(limit, 14));
  return plan;
}

/// Converts a scalar or vector between float widths or integer widths.
static Value convert(SimdFunction &f, Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(vector.getShape(), element);
  bool isWider = element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  if (isa<FloatType>(element)) {
    if (!isWider && from.getIntOrFloatBitWidth() == element.getIntOrFloatBitWidth()) {
      auto wide = VectorType::get(cast<VectorType>(type).getShape(), f.builder.getF32Type());
      return convert(f, arith::ExtFOp::create(f.builder, f.loc, wide, value), element);
    }
    return isWider ? Value(arith::ExtFOp::create(f.builder, f.loc, type, value))
                   : Value(arith::TruncFOp::create(f.builder, f.loc, type, value));
  }
  return isWider ? Value(arith::ExtSIOp::create(f.builder, f.loc, type, value))
                 : Value(arith::TruncIOp::create(f.builder, f.loc, type, value));
}

/// Elements of an operand in the type that the micro-kernel takes.
static Value convertOperand(SimdFunction &f, Value operand, Value value, const DotPlan &plan) {
  return convert(f, f.asElement(value, elementTypeOf(operand.getType())), plan.operand);
}

static Value offsetIndex(SimdFunction &f, Value index, int64_t offset) {
  return f.builder.createOrFold<arith::AddIOp>(f.loc, index, f.constantIndex(offset));
}

/// Coordinates of an operand: the batch index, if any, then two more.
static Coordinates matrixAt(ArrayRef<Value> batch, Value row, Value column, int vectorDim = -1,
                            int64_t lanes = 1) {
  Coordinates at;
  at.index.assign(batch.begin(), batch.end());
  at.index.append({row, column});
  at.vectorDim = vectorDim < 0 ? -1 : int(batch.size()) + vectorDim;
  at.lanes = lanes;
  return at;
}

/// Operand A, row-major [m, k] in the operand type; a buffer that is already so is used as it is.
static TileBuffer packA(SimdFunction &f, DotOp op, const DotPlan &plan, ArrayRef<Value> batch) {
  auto home = f.buffers.find(op.getA());
  if (home != f.buffers.end() && batch.empty() && home->second.element == plan.operand)
    return home->second;
  TileBuffer packed = f.allocate({plan.m, plan.k}, plan.operand);
  int64_t lanes = 0;
  int readDim = 0, lastDim = int(batch.size()) + 1;
  std::tie(readDim, lanes) = f.chooseVector({op.getA()}, shapeOf(op.getA().getType()));
  auto store = [&](const Coordinates &at, Value value) {
    Coordinates to = at;
    to.index.erase(to.index.begin(), to.index.begin() + batch.size());
    to.vectorDim = at.vectorDim < 0 ? -1 : at.vectorDim - int(batch.size());
    f.storeBuffer(packed, to, convertOperand(f, op.getA(), value, plan));
  };
  f.withFullMasks({op.getA()}, [&] {
    if (f.emitTransposed(op.getA(), batch, readDim, lastDim, lanes, store))
      return;
    f.emitNest({plan.m, plan.k}, std::max(readDim - int(batch.size()), 0),
               readDim < int(batch.size()) ? 1 : lanes, [&](const Coordinates &at) {
                 Coordinates from =
                     matrixAt(batch, at.index[0], at.index[1], at.vectorDim, at.lanes);
                 store(from, f.evaluateVector(op.getA(), from));
               });
  });
  return packed;
}

/// The vectors of B along n for `lanes` consecutive columns, at row k (both rows k and k + 1 when
/// paired, interleaved).
static Value loadBRow(SimdFunction &f, DotOp op, const DotPlan &plan, ArrayRef<Value> batch,
                      Value k, Value column) {
  auto row = [&](Value index) {
    Coordinates at = matrixAt(batch, index, column, plan.lanes > 1 ? 1 : -1, plan.lanes);
    return convertOperand(f, op.getB(), f.evaluateVector(op.getB(), at), plan);
  };
  if (!plan.isPaired)
    return row(k);
  SmallVector<int64_t> interleaved;
  for (int64_t lane = 0; lane < plan.lanes; ++lane)
    interleaved.append({lane, plan.lanes + lane});
  Value even = row(k), odd = row(offsetIndex(f, k, 1));
  return vector::ShuffleOp::create(f.builder, f.loc, even, odd, interleaved);
}

/// Whether B is contiguous along k, so that it is read so and transposed in registers.
static bool readsBAlongK(SimdFunction &f, DotOp op, const DotPlan &plan, size_t numBatch) {
  auto [vectorDim, lanes] = f.chooseVector({op.getB()}, shapeOf(op.getB().getType()));
  int64_t step = plan.isPaired ? 2 * plan.lanes : plan.lanes;
  return vectorDim == int(numBatch) && plan.lanes > 1 && plan.k % step == 0;
}

namespace {
/// Operand B in panels of `panel()` columns: [n / panel, k, panel], or [n / panel, k / 2, panel,
/// 2].
struct PackedB {
  SimdFunction &f;
  DotOp op;
  const DotPlan &plan;
  ArrayRef<Value> batch;
  TileBuffer buffer;

  int64_t group() const { return plan.isPaired ? 2 : 1; } // rows of B in one row of the panel

  /// Stores one vector of panel `panel`, at row `row` of the buffer and vector number `vector`.
  void store(Value panel, Value row, Value vector, Value value) {
    Coordinates at;
    Value column =
        f.builder.createOrFold<arith::MulIOp>(f.loc, vector, f.constantIndex(plan.lanes * group()));
    at.index = {panel, row, column};
    at.vectorDim = plan.lanes > 1 ? 2 : -1;
    at.lanes = plan.lanes * group();
    f.storeBuffer(buffer, at, value);
  }

  Value columnOf(Value panel, Value vector) {
    Value first =
        f.builder.createOrFold<arith::MulIOp>(f.loc, panel, f.constantIndex(plan.panel()));
    Value offset =
        f.builder.createOrFold<arith::MulIOp>(f.loc, vector, f.constantIndex(plan.lanes));
    return f.builder.createOrFold<arith::AddIOp>(f.loc, first, offset);
  }

  /// Reads B along n.
  void packRows() {
    f.emitNest({plan.n / plan.panel(), plan.k / group()}, 1, 1, [&](const Coordinates &at) {
      Value k = f.builder.createOrFold<arith::MulIOp>(f.loc, at.index[1], f.constantIndex(group()));
      for (int64_t i = 0; i < plan.vectors; ++i) {
        Value vector = f.constantIndex(i);
        Value value = loadBRow(f, op, plan, batch, k, columnOf(at.index[0], vector));
        store(at.index[0], at.index[1], vector, value);
      }
    });
  }

  /// Reads B along k, in square blocks (of pairs, when paired) that are transposed in registers.
  void packColumns() {
    int64_t step = plan.lanes * group();
    Type pair = VectorType::get({plan.lanes}, f.builder.getI32Type());
    Type pairElements = VectorType::get({plan.lanes * 2}, plan.operand);
    auto bitcast = [&](Type type, Value value) -> Value {
      return plan.isPaired ? vector::BitCastOp::create(f.builder, f.loc, type, value) : value;
    };
    f.emitNest(
        {plan.n / plan.panel(), plan.vectors, plan.k / step}, 2, 1, [&](const Coordinates &at) {
          Value k =
              f.builder.createOrFold<arith::MulIOp>(f.loc, at.index[2], f.constantIndex(step));
          Value firstColumn = columnOf(at.index[0], at.index[1]);
          SmallVector<Value> columns;
          for (int64_t lane = 0; lane < plan.lanes; ++lane) {
            Coordinates from = matrixAt(batch, k, offsetIndex(f, firstColumn, lane), 0, step);
            Value value = convertOperand(f, op.getB(), f.evaluateVector(op.getB(), from), plan);
            columns.push_back(bitcast(pair, value));
          }
          Value firstRow = f.builder.createOrFold<arith::MulIOp>(f.loc, at.index[2],
                                                                 f.constantIndex(plan.lanes));
          for (auto [i, value] : llvm::enumerate(f.transposeSquare(columns)))
            store(at.index[0], offsetIndex(f, firstRow, i), at.index[1],
                  bitcast(pairElements, value));
        });
  }
};

} // namespace

static TileBuffer packB(SimdFunction &f, DotOp op, const DotPlan &plan, ArrayRef<Value> batch) {
  PackedB packed = {f, op, plan, batch, {}};
  packed.buffer =
      f.allocate({plan.n / plan.panel(), plan.k / packed.group(), plan.panel() * packed.group()},
                 plan.operand);
  bool isAlongK = readsBAlongK(f, op, plan, batch.size());
  f.withFullMasks({op.getB()}, [&] { isAlongK ? packed.packColumns() : packed.packRows(); });
  return packed.buffer;
}

/// acc + a * b for one element of A broadcast against one vector of B.
static Value multiplyAdd(SimdFunction &f, const DotPlan &plan, Value a, Value b, Value acc) {
  if (plan.isPaired) {
    StringAttr name = f.builder.getStringAttr(f.machine.bf16DotIntrinsic);
    return LLVM::CallIntrinsicOp::create(f.builder, f.loc, acc.getType(), name,
                                         ValueRange{acc, a, b})
        .getResult(0);
  }
  if (isa<FloatType>(plan.compute))
    return math::FmaOp::create(f.builder, f.loc, a, b, acc);
  Value product = arith::MulIOp::create(f.builder, f.loc, a, b);
  return arith::AddIOp::create(f.builder, f.loc, acc, product);
}

/// An element of A (a pair of them when paired), repeated over the lanes of B.
static Value broadcastA(SimdFunction &f, const DotPlan &plan, const TileBuffer &a, Value row,
                        Value k) {
  Value address = f.bufferAddress(a, {row, k});
  Type type = plan.isPaired ? Type(f.builder.getI32Type()) : plan.operand;
  Value element = LLVM::LoadOp::create(f.builder, f.loc, type, address, elementBytes(plan.operand));
  if (plan.lanes == 1)
    return element;
  Value repeated = f.splat(element, plan.lanes);
  if (!plan.isPaired)
    return repeated;
  return vector::BitCastOp::create(f.builder, f.loc,
                                   VectorType::get({plan.lanes * 2}, plan.operand), repeated);
}

namespace {
struct MicroKernel {
  SimdFunction &f;
  DotOp op;
  const DotPlan &plan;
  TileBuffer a, b, result;
  SmallVector<Value> batch;

  /// One register tile of `rows` rows from row `firstRow`, columns of panel `panel`.
  void emit(int64_t rows, Value firstRow, Value panel) {
    Value firstColumn =
        f.builder.createOrFold<arith::MulIOp>(f.loc, panel, f.constantIndex(plan.panel()));
    SmallVector<Value> tile;
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      tile.push_back(convert(f, f.evaluateVector(op.getAcc(), at), plan.compute));
    });
    int64_t group = plan.isPaired ? 2 : 1, steps = plan.k / group;
    int64_t unroll = steps % 4 == 0 ? 4 : 1;
    tile = f.emitLoop(0, steps, unroll, tile, [&](Value index, ValueRange old) {
      SmallVector<Value> next(old);
      for (int64_t i = 0; i < unroll; ++i)
        emitStep(rows, firstRow, panel, offsetIndex(f, index, i), next);
      return next;
    });
    size_t position = 0;
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      f.storeBuffer(result, at, convert(f, tile[position++], result.element));
    });
  }

  void emitStep(int64_t rows, Value firstRow, Value panel, Value step, SmallVector<Value> &tile) {
    int64_t group = plan.isPaired ? 2 : 1;
    SmallVector<Value> columns;
    for (int64_t vector = 0; vector < plan.vectors; ++vector) {
      Coordinates at;
      at.index = {panel, step, f.constantIndex(vector * plan.lanes * group)};
      at.vectorDim = plan.lanes > 1 ? 2 : -1;
      at.lanes = plan.lanes * group;
      columns.push_back(f.loadBuffer(b, at));
    }
    Value k = f.builder.createOrFold<arith::MulIOp>(f.loc, step, f.constantIndex(group));
    for (int64_t row = 0; row < rows; ++row) {
      Value repeated = broadcastA(f, plan, a, offsetIndex(f, firstRow, row), k);
      for (int64_t vector = 0; vector < plan.vectors; ++vector) {
        Value &element = tile[row * plan.vectors + vector];
        element = multiplyAdd(f, plan, repeated, columns[vector], element);
      }
    }
  }

  void forEachVector(int64_t rows, Value firstRow, Value firstColumn,
                     llvm::function_ref<void(const Coordinates &)> visit) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t vector = 0; vector < plan.vectors; ++vector)
        visit(matrixAt(batch, offsetIndex(f, firstRow, row),
                       offsetIndex(f, firstColumn, vector * plan.lanes), plan.lanes > 1 ? 1 : -1,
                       plan.lanes));
  }
};
} // namespace

static void emitMatrix(SimdFunction &f, DotOp op, const DotPlan &plan, ArrayRef<Value> batch,
                       const TileBuffer &result) {
  MicroKernel kernel = {f,
                        op,
                        plan,
                        packA(f, op, plan, batch),
                        packB(f, op, plan, batch),
                        result,
                        SmallVector<Value>(batch)};
  int64_t whole = plan.m / plan.rows * plan.rows;
  f.emitLoop(0, plan.n / plan.panel(), 1, {}, [&](Value panel, ValueRange) {
    Scope panels(f);
    f.emitLoop(0, whole, plan.rows, {}, [&](Value row, ValueRange) {
      Scope rows(f);
      kernel.emit(plan.rows, row, panel);
      return SmallVector<Value>();
    });
    if (whole < plan.m)
      kernel.emit(plan.m - whole, f.constantIndex(whole), panel);
    return SmallVector<Value>();
  });
}

LogicalResult SimdFunction::lowerDot(DotOp op) {
  DotPlan dot = planDot(op, machine, builder);
  TileBuffer result = destinationOf(op.getResult());
  int64_t batches = op.getAcc().getType().getRank() == 3 ? op.getAcc().getType().getDimSize(0) : 0;
  Scope scope(*this); // packed operands end here
  if (batches == 0)
    emitMatrix(*this, op, dot, {}, result);
  else
    emitLoop(0, batches, 1, {}, [&](Value index, ValueRange) {
      Scope batch(*this);
      emitMatrix(*this, op, dot, {index}, result);
      return SmallVector<Value>();
    });
  buffers[op.getResult()] = result;
  return success();
}
