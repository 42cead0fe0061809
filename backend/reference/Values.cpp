// Converts elements of the reference interpreter between bits, integers and floats, exactly.
#include "backend/reference/Values.h"
#include "ir/tile/Tile.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw::reference;

bool tw::reference::isSupportedElement(Type element) {
  if (isa<IndexType>(element))
    return true;
  if (auto pointer = dyn_cast<tile::PtrType>(element)) // no element in memory is an index
    return !isa<IndexType>(pointer.getPointee()) && isSupportedElement(pointer.getPointee());
  auto integer = dyn_cast<IntegerType>(element);
  auto floating = dyn_cast<FloatType>(element);
  return (integer && integer.getWidth() >= 1 && integer.getWidth() <= 64) ||
         (floating && floating.getWidth() <= 64);
}

unsigned tw::reference::elementWidth(Type element) {
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

uint64_t tw::reference::truncateToWidth(uint64_t bits, unsigned width) {
  return bits & llvm::maskTrailingOnes<uint64_t>(width);
}

int64_t tw::reference::signExtend(uint64_t bits, unsigned width) {
  return llvm::SignExtend64(bits, width);
}

llvm::APFloat tw::reference::toApFloat(Type floatType, uint64_t bits) {
  const llvm::fltSemantics &semantics = cast<FloatType>(floatType).getFloatSemantics();
  return llvm::APFloat(semantics, llvm::APInt(elementWidth(floatType), bits));
}

uint64_t tw::reference::fromApFloat(const llvm::APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

double tw::reference::toDouble(Type floatType, uint64_t bits) {
  if (floatType.isF32())
    return llvm::bit_cast<float>(uint32_t(bits));
  if (floatType.isF64())
    return llvm::bit_cast<double>(bits);
  return toApFloat(floatType, bits).convertToDouble();
}

uint64_t tw::reference::fromDouble(Type floatType, double value, llvm::RoundingMode rounding) {
  bool isNearest = rounding == llvm::RoundingMode::NearestTiesToEven;
  if (floatType.isF64())
    return llvm::bit_cast<uint64_t>(value);
  if (floatType.isF32() && isNearest)
    return llvm::bit_cast<uint32_t>(float(value));
  const llvm::fltSemantics &semantics = cast<FloatType>(floatType).getFloatSemantics();
  llvm::APFloat exact(value);
  if (elementWidth(floatType) == 8 && !exact.isNaN()) {
    double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
    exact = llvm::APFloat(std::clamp(value, -largest, largest));
  }
  bool losesInfo = false;
  exact.convert(semantics, rounding, &losesInfo);
  return fromApFloat(exact);
}

bool tw::reference::decodeConstant(Attribute attribute, TileValue &value) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    value.assign(1, {integer.getValue().getZExtValue()});
    return true;
  }
  if (auto floating = dyn_cast<FloatAttr>(attribute)) {
    value.assign(1, {fromApFloat(floating.getValue())});
    return true;
  }
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements || !elements.getElementType().isIntOrIndexOrFloat())
    return false;
  value.clear();
  value.reserve(elements.getNumElements());
  if (isa<FloatType>(elements.getElementType())) {
    for (const llvm::APFloat &element : elements.getValues<llvm::APFloat>())
      value.push_back({fromApFloat(element)});
    return true;
  }
  for (const llvm::APInt &element : elements.getValues<llvm::APInt>())
    value.push_back({element.getZExtValue()});
  return true;
}

llvm::SmallVector<int64_t> tw::reference::unflatten(int64_t position, ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
    index[dim] = position % shape[dim];
  return index;
}

int64_t tw::reference::flatten(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (auto [coordinate, extent] : llvm::zip(index, shape))
    position = position * extent + coordinate;
  return position;
}

std::string tw::reference::formatIndex(int64_t position, ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (int64_t coordinate : unflatten(position, shape))
    text += (text.size() > 1 ? ", " : "") + std::to_string(coordinate);
  return text + ")";
}
