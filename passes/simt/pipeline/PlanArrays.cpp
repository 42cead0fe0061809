// Finds loads whose tiles warps copy as rows of an array, and buffers without bank conflicts for
// them.
#include "passes/simt/pipeline/PlanArrays.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/product/AsyncOperands.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

/// Chooses the padding behind rows with which reads cost least. The machine pads behind up to so
/// many bytes.
static SharedPadding paddingOf(const BufferChoice &buffers, const LinearLayout &layout,
                               ArrayRef<Type> reads, unsigned rowBytes) {
  constexpr unsigned mostInterval = 1024;
  unsigned piece = buffers.machine.banks.accessBytes;
  SharedPadding padded{std::min(rowBytes, mostInterval), piece};
  bool isWorthIt = rowBytes >= piece &&
                   buffers.costOfReads(layout, reads, padded) < buffers.costOfReads(layout, reads);
  return isWorthIt ? padded : SharedPadding();
}

/// Why no warp can copy rows of a tile's array, or nothing.
static StringRef obstacleTo(LoadOp load, unsigned dim) {
  constexpr int64_t mostExtent = 0xffff, leastBytes = 16;
  ArrayRef<int64_t> shape = tile::shapeOf(load.getType());
  Type element = tile::elementTypeOf(load.getType());
  if (!element.isIntOrFloat() || element.isInteger(1))
    return "its elements are not numbers";
  if (shape[dim] * tile::elementBytes(element) < leastBytes ||
      llvm::any_of(shape, [](int64_t extent) { return extent > mostExtent; }))
    return "its rows have fewer than 16 bytes, or too many elements";
  if (!fillsWithZeros(load))
    return "its masked elements are not 0";
  return load.getCache() == tile::CacheModifier::CV ? "it bypasses caches" : "";
}

std::optional<ArrayRows> tw::simt::rowsOfLoad(const IndexFacts &facts, const BufferChoice &buffers,
                                              LoadOp load, StringRef &obstacle) {
  ArrayRef<int64_t> shape = tile::shapeOf(load.getType());
  obstacle = "its tile does not have two dimensions";
  if (shape.size() != 2)
    return std::nullopt;
  unsigned dim = neighbourDim(facts, load);
  obstacle = obstacleTo(load, dim);
  if (!obstacle.empty())
    return std::nullopt;
  std::optional<BoxPlace> place = boxOfRows(facts, load, dim, obstacle);
  if (!place)
    return std::nullopt;
  obstacle = "its array is not known to have a stride from 0 on";
  auto function = load->getParentOfType<FunctionOpInterface>();
  for (unsigned argument : place->map.getStrides().front().getArguments())
    if (!facts.of(function.getArgument(argument)).isNonNegative)
      return std::nullopt;
  Type element = tile::elementTypeOf(load.getType());
  LinearLayout layout = sharedLayout(shape, {int32_t(dim), int32_t(1 - dim)});
  SmallVector<Type> reads = readTypesOf(load);
  SharedPadding padding =
      paddingOf(buffers, layout, reads, unsigned(shape[dim] * tile::elementBytes(element)));
  obstacle = "reads from rows that follow each other would take longer";
  if (buffers.costOfReads(layout, reads, padding) >
      buffers.costOfReads(buffers.ofCopy(load.getType(), reads), reads))
    return std::nullopt;
  auto buffer =
      SharedType::get(load.getContext(), shape, element, LayoutAttr::get(load.getContext(), layout),
                      padding.bytes, padding.interval);
  return ArrayRows{std::move(*place), dim, buffer};
}

//===-- Operands -----------------------------------------------------------------------------===//

namespace {
/// Emits the operands of one copy.
struct RowsWriter {
  RowsWriter(scf::ForOp loop, LoadOp load, const ArrayRows &rows)
      : loop(loop), load(load), rows(rows) {}

  SmallVector<Value> write();
  bool isFixed(const Polynomial &coordinate);
  OpBuilder builderOf(bool isOutside) { return isOutside ? OpBuilder(loop) : OpBuilder(load); }
  bool isInAddress(size_t dim) const { return dim > 1 || !rows.place.hasExtent[dim]; }
  Value extentOf(size_t dim);
  Value coordinateOf(size_t dim);
  Value heightOf();

  scf::ForOp loop;
  LoadOp load;
  const ArrayRows &rows;
};
} // namespace

bool RowsWriter::isFixed(const Polynomial &coordinate) {
  return llvm::all_of(coordinate.all(), [&](const Monomial &monomial) {
    return llvm::all_of(monomial.leaves,
                        [&](Value leaf) { return loop.isDefinedOutsideOfLoop(leaf); });
  });
}

/// Emits an extent of the array: from 0 on, as far as 32 bits with a sign hold it. Where the kernel
/// names none, the array ends with the tile.
Value RowsWriter::extentOf(size_t dim) {
  OpBuilder builder(loop);
  Location loc = load.getLoc();
  Type word = builder.getI32Type(), wide = builder.getI64Type();
  auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  };
  if (!rows.place.hasExtent[dim])
    return constant(word, tile::shapeOf(load.getType())[dim == 0 ? rows.dim : 1 - rows.dim]);
  LaunchProductAttr extent = rows.place.map.getExtents()[dim];
  auto function = load->getParentOfType<FunctionOpInterface>();
  ArrayRef<unsigned> arguments = extent.getArguments();
  bool isWord = extent.getFactor() == 1 && arguments.size() == 1 &&
                function.getArgument(arguments.front()).getType() == word;
  Value number = emitProduct(builder, loc, load, extent, isWord ? word : wide);
  number = arith::MaxSIOp::create(builder, loc, number, constant(number.getType(), 0));
  if (isWord)
    return number;
  number = arith::MinSIOp::create(builder, loc, number, constant(wide, INT32_MAX));
  return arith::TruncIOp::create(builder, loc, word, number);
}

Value RowsWriter::coordinateOf(size_t dim) {
  Polynomial coordinate = isInAddress(dim) ? Polynomial() : rows.place.coordinates[dim];
  OpBuilder builder = builderOf(isFixed(coordinate));
  return emitCoordinate(builder, load.getLoc(), coordinate);
}

/// Emits the rows of the array: none where the box is of a matrix that a batch does not have.
Value RowsWriter::heightOf() {
  Value height = extentOf(1);
  for (size_t dim = 2; dim < rows.place.map.getRank(); ++dim) {
    if (!rows.place.hasExtent[dim])
      continue;
    const Polynomial &coordinate = rows.place.coordinates[dim];
    Value extent = extentOf(dim);
    OpBuilder builder = builderOf(isFixed(coordinate));
    Location loc = load.getLoc();
    Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                           emitCoordinate(builder, loc, coordinate), extent);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    height = arith::SelectOp::create(builder, loc, isInside, height, zero);
  }
  return height;
}

SmallVector<Value> RowsWriter::write() {
  bool isOutside = true;
  for (size_t dim = 0; dim < rows.place.map.getRank(); ++dim)
    isOutside &= !isInAddress(dim) || isFixed(rows.place.coordinates[dim]);
  OpBuilder ofBase = builderOf(isOutside), outside(loop);
  Value base =
      emitArrayStart(ofBase, load, rows.place, [&](size_t dim) { return isInAddress(dim); });
  Value pitch = emitProduct(outside, load.getLoc(), load, rows.place.map.getStrides().front(),
                            outside.getI64Type());
  return {base, extentOf(0), heightOf(), pitch, coordinateOf(0), coordinateOf(1)};
}

SmallVector<Value> tw::simt::emitRows(scf::ForOp loop, LoadOp load, const ArrayRows &rows) {
  return RowsWriter(loop, load, rows).write();
}
