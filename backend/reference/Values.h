// Run-time values of the reference interpreter, and exact conversions of their elements.
#ifndef BACKEND_REFERENCE_VALUES_H
#define BACKEND_REFERENCE_VALUES_H
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace tw::reference {

/// Which launch argument a pointer came from.
inline constexpr int32_t kUnknownOrigin = -1;

/// One scalar. The bits above the type's width are zero.
struct Element {
  uint64_t bits = 0;
  int32_t origin = kUnknownOrigin; // pointers: index of the argument
};

/// A scalar (one element) or a tile (row-major); the IR value says the type and the shape.
using TileValue = llvm::SmallVector<Element, 1>;

/// Returns true if values of the element type can be held: integers up to 64 bits, floats,
/// pointers, index.
bool isSupportedElement(mlir::Type element);
/// Bits of a value of the element type: 64 for index and pointers.
unsigned elementWidth(mlir::Type element);

/// The low `width` bits, and the same read as a two's complement number.
uint64_t truncateToWidth(uint64_t bits, unsigned width);
int64_t signExtend(uint64_t bits, unsigned width);

llvm::APFloat toApFloat(mlir::Type floatType, uint64_t bits);
uint64_t fromApFloat(const llvm::APFloat &value);
/// Exact for every float type of at most 64 bits.
double toDouble(mlir::Type floatType, uint64_t bits);
/// Rounds once, to nearest even unless asked otherwise. 8-bit floats saturate, other types
/// overflow.
uint64_t fromDouble(mlir::Type floatType, double value,
                    llvm::RoundingMode rounding = llvm::RoundingMode::NearestTiesToEven);

/// Decodes the value of an arith.constant; false when the attribute is of another kind.
bool decodeConstant(mlir::Attribute attribute, TileValue &value);

/// Row-major position <-> multi-dimensional index.
llvm::SmallVector<int64_t> unflatten(int64_t position, llvm::ArrayRef<int64_t> shape);
int64_t flatten(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);
/// "(3, 5)"; "()" for a scalar.
std::string formatIndex(int64_t position, llvm::ArrayRef<int64_t> shape);

} // namespace tw::reference
#endif
