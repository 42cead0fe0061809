// Matrix products in the machine's matrix registers: A as it lies in rows, B packed with neighbours
// along k side by side, accumulators in the result's memory between two steps of the user's loop.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/Scope.h"
#include "passes/simd/product/Operands.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

// Registers: four accumulators, two operands A and two B.
static constexpr int kFirstA = 4, kFirstB = 6, kMostOperands = 2;
static constexpr int64_t kLaneBytes = 4;

static void callUnit(SimdFunction &f, StringRef intrinsic, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(f.builder, f.loc, f.builder.getStringAttr(intrinsic), operands);
}

static Value registerNumber(SimdFunction &f, int number) {
  return f.constantOf(f.builder.getI8Type(), number);
}

//===-- Configuration -------------------------------------------------------------------------===//

/// Tells the unit the rows of each register and their bytes.
static void configureFor(SimdFunction &f, const MatrixShape &shape) {
  MatrixRegistersAttr unit = f.machine.getMatrixRegisters();
  SmallVector<Value> arguments;
  for (int number = 0; number < int(unit.getCount()); ++number) {
    bool isA = number >= kFirstA && number < kFirstB, isB = number >= kFirstB;
    int64_t rows = isB ? shape.groups : shape.rows, lanes = isA ? shape.groups : shape.lanes;
    for (int64_t extent : {rows, lanes * kLaneBytes})
      arguments.push_back(f.constantOf(f.builder.getI32Type(), extent));
  }
  f.callHost(unit.getConfigure(), arguments);
}

void tw::simd::configureMatrixRegisters(SimdFunction &f) {
  if (!f.machine.getMatrixRegisters())
    return;
  SmallVector<std::pair<MatrixShape, double>> wanted;
  f.source.walk([&](DotOp op) {
    DotPlan plan = planDot(op, f);
    if (!plan.matrix)
      return;
    double products = double(plan.m) * plan.n * plan.k;
    auto *known = llvm::find_if(wanted, [&](auto &one) { return one.first == *plan.matrix; });
    if (known == wanted.end())
      wanted.push_back({*plan.matrix, products});
    else
      known->second += products;
  });
  if (wanted.empty())
    return;
  f.matrices = llvm::max_element(wanted, llvm::less_second())->first;
  configureFor(f, *f.matrices);
}

void tw::simd::releaseMatrixRegisters(SimdFunction &f) {
  if (f.matrices)
    callUnit(f, f.machine.getMatrixRegisters().getRelease(), {});
}

//===-- Products ------------------------------------------------------------------------------===//

namespace {
/// Multiplies blocks of `plan.rows` rows and a panel of columns.
struct MatrixKernel {
  SimdFunction &f;
  const DotPlan &plan;
  MatrixRegistersAttr unit;
  DotRows a;
  TileBuffer b;    // packed
  TileBuffer sums; // accumulators, of the type in registers
  bool startsAtZero;
  ArrayRef<Value> batch;

  Value sumAddress(Value firstRow, Value panel, int64_t down, int64_t across) {
    Value row = f.addIndex(firstRow, down * plan.matrix->rows);
    Value column = f.addIndex(f.scaleIndex(panel, plan.panel()), across * plan.lanes);
    return f.bufferAddress(sums, matrixAt(batch, row, column).index);
  }

  void loadA(int number, Value row, Value step) {
    Type i8 = f.builder.getI8Type();
    Value offset = f.builder.createOrFold<arith::AddIOp>(
        f.loc, f.builder.createOrFold<arith::MulIOp>(f.loc, row, a.rowBytes),
        f.scaleIndex(step, kLaneBytes));
    Value address = LLVM::GEPOp::create(f.builder, f.loc, a.base.getType(), i8, a.base, offset);
    callUnit(f, unit.getLoad(), {registerNumber(f, number), address, a.rowBytes});
  }

  void loadB(int number, Value panel, Value step, int64_t across) {
    Value lane = f.constantIndex(across * plan.lanes * plan.group);
    Value address = f.bufferAddress(b, {panel, step, lane});
    callUnit(f, unit.getLoad(),
             {registerNumber(f, number), address, f.constantIndex(plan.panel() * kLaneBytes)});
  }

  /// One step along k: each operand is loaded once, since one of the two sides has at most as many
  /// matrices as there are registers for operands.
  void emitStep(int64_t numDown, Value firstRow, Value panel, Value step) {
    StringRef product = plan.instruction.getIntrinsic();
    for (int64_t across = 0; across < plan.vectors; ++across) {
      int bNumber = kFirstB + across % kMostOperands;
      loadB(bNumber, panel, step, across);
      for (int64_t down = 0; down < numDown; ++down) {
        int aNumber = kFirstA + down % kMostOperands;
        if (across == 0)
          loadA(aNumber, f.addIndex(firstRow, down * plan.matrix->rows), step);
        callUnit(f, product,
                 {registerNumber(f, down * plan.vectors + across), registerNumber(f, aNumber),
                  registerNumber(f, bNumber)});
      }
    }
  }

  void emitBlock(int64_t rows, Value firstRow, Value panel) {
    int64_t numDown = rows / plan.matrix->rows;
    Value rowBytes = f.constantIndex(plan.n * kLaneBytes);
    auto forEachSum = [&](auto visit) {
      for (int64_t down = 0; down < numDown; ++down)
        for (int64_t across = 0; across < plan.vectors; ++across)
          visit(registerNumber(f, down * plan.vectors + across),
                sumAddress(firstRow, panel, down, across));
    };
    forEachSum([&](Value number, Value address) {
      startsAtZero ? callUnit(f, unit.getZero(), number)
                   : callUnit(f, unit.getLoad(), {number, address, rowBytes});
    });
    f.emitLoop(0, plan.steps(), plan.matrix->groups, {}, [&](Value step, ValueRange) {
      Scope scope(f);
      emitStep(numDown, firstRow, panel, step);
      return SmallVector<Value>();
    });
    forEachSum([&](Value number, Value address) {
      callUnit(f, unit.getStore(), {number, address, rowBytes});
    });
  }

  void emitPanels() {
    int64_t whole = plan.m / plan.rows * plan.rows;
    f.emitLoop(0, plan.n / plan.panel(), 1, {}, [&](Value panel, ValueRange) {
      Scope panels(f);
      f.emitLoop(0, whole, plan.rows, {}, [&](Value row, ValueRange) {
        Scope rows(f);
        emitBlock(plan.rows, row, panel);
        return SmallVector<Value>();
      });
      if (whole < plan.m)
        emitBlock(plan.m - whole, f.constantIndex(whole), panel);
      return SmallVector<Value>();
    });
  }
};
} // namespace

/// Writes every element of one matrix of a buffer.
static void fillMatrix(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                       const TileBuffer &buffer,
                       llvm::function_ref<Value(const Coordinates &)> valueAt) {
  f.emitNest({plan.m, plan.n}, 1, plan.lanes, [&](const Coordinates &at) {
    Coordinates place =
        matrixAt(batch, at.index[0], at.index[1], at.vectorDim < 0 ? -1 : 1, at.lanes);
    f.storeBuffer(buffer, place, convertDotElements(f, valueAt(place), buffer.element));
  });
}

void tw::simd::emitMatrixProduct(SimdFunction &f, DotOp op, const DotPlan &plan,
                                 ArrayRef<Value> batch, const TileBuffer &result) {
  bool isWide = result.element == plan.compute;
  TileBuffer sums = isWide ? result : f.allocate(result.shape, plan.compute);
  DotExtent all = emitExtent(f, plan, batch.size(), StoreOp());
  DotRows a = placeA(f, plan, batch, all);
  TileBuffer b = packB(f, plan, batch, all);
  bool isZero = matchPattern(op.getAcc(), m_PosZeroFloat()) || matchPattern(op.getAcc(), m_Zero());
  auto home = f.buffers.find(op.getAcc());
  bool isInPlace = home != f.buffers.end() && home->second.base == sums.base;
  if (!isZero && !isInPlace)
    f.withFullMasks({op.getAcc()}, [&] {
      fillMatrix(f, plan, batch, sums,
                 [&](const Coordinates &at) { return f.evaluateVector(op.getAcc(), at); });
    });
  MatrixKernel{f, plan, f.machine.getMatrixRegisters(), a, b, sums, isZero, batch}.emitPanels();
  if (!isWide)
    fillMatrix(f, plan, batch, result,
               [&](const Coordinates &at) { return f.loadBuffer(sums, at); });
}

//===-- Remarks -------------------------------------------------------------------------------===//

/// Loads of operands for each product of two matrices.
static double loadsPerProduct(const DotPlan &plan) {
  double down = double(plan.rows) / plan.matrix->rows, across = plan.vectors;
  return (down + across) / (down * across);
}

void tw::simd::remarkOnMatrices(SimdFunction &f, DotOp op, const DotPlan &plan) {
  if (!f.machine.getMatrixRefusal().empty()) {
    Type element = elementTypeOf(op.getA().getType());
    if (element.getIntOrFloatBitWidth() < 32)
      emitCodedRemark(op, Code::UnusedMatrixUnit)
          << "this product does without the processor's matrix unit: "
          << f.machine.getMatrixRefusal();
    return;
  }
  if (!plan.matrix)
    return;
  const MatrixShape &shape = *plan.matrix;
  int64_t count = plan.m / shape.rows * (plan.n / shape.lanes) * (plan.steps() / shape.groups);
  emitCodedRemark(op, Code::MatrixUnitUse)
      << "this product of " << plan.m << " x " << plan.n << " x " << plan.k << " takes " << count
      << " instructions of the matrix unit of " << shape.rows << " x " << shape.lanes << " x "
      << shape.groups * plan.group << ", with "
      << llvm::formatv("{0:f2}", loadsPerProduct(plan)).str() << " loads of operands for each";
}
