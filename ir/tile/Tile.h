// The `tile` dialect's C++ classes: everything that reads or makes Tile IR includes this.
#ifndef IR_TILE_TILE_H
#define IR_TILE_TILE_H
#include "ir/layout/LinearLayout.h"
#include "ir/layout/SharedBanks.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tw {
/// Found by argument-dependent lookup when MLIR makes layouts unique.
llvm::hash_code hash_value(const LinearLayout &layout);
} // namespace tw

#include "ir/tile/TileDialect.h.inc"
#include "ir/tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.h.inc"
namespace tw::tile {
/// Returns true if a combining function is one commutative operation per result, on that result's
/// own pair of arguments.
bool combinesPairs(mlir::Region &combine);
/// Checks that the types of a MemoryAccess fit its pointers.
mlir::LogicalResult verifyAccess(mlir::Operation *op);
} // namespace tw::tile
#include "ir/tile/TileInterfaces.h.inc"
#define GET_OP_CLASSES
#include "ir/tile/TileOps.h.inc"

namespace tw::tile {

/// A string on an argument of a kernel: its parameter. ArgumentFacts.h has the facts.
inline constexpr llvm::StringLiteral kArgName = "tile.name";
/// An integer on a loop: iterations that are in work at once, as its kernel asks for.
inline constexpr llvm::StringLiteral kLoopNumStages = "tile.num_stages";
/// Unit, on a loop of a few iterations most often: copies by threads are not worth a ring.
inline constexpr llvm::StringLiteral kLoopShort = "tile.short";
/// An integer on a loop: whether a warp of its own is to load for it, or 0 for not, as its kernel
/// says.
inline constexpr llvm::StringLiteral kLoopWarpSpecialize = "tile.warp_specialize";
/// Unit, on a function that a library of the user's bitcode defines.
inline constexpr llvm::StringLiteral kExternFunction = "tile.extern";
/// Begins its name, before the library's: no Python identifier and no name of C has a dollar sign.
inline constexpr llvm::StringLiteral kExternPrefix = "extern$";
/// On a module, an array of the libraries: "DIGEST:PATH", the SHA-256 of the file in hex digits.
inline constexpr llvm::StringLiteral kBitcode = "tile.bitcode";

/// Most elements that a tile of a kernel may have.
inline constexpr int64_t kMostTileElements = int64_t(1) << 20;
/// No program has more warps, on any machine.
inline constexpr unsigned kMostWarps = 64;

/// Returns true if a value is a tile, not a scalar.
inline bool isTile(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }
/// Returns true if each element of the results depends only on the operands' elements at its index.
bool isElementwise(mlir::Operation *op);
/// Returns true if the operation reads and writes elements of memory in one step.
bool isAtomic(mlir::Operation *op);
/// The element type of a tile, or the type itself of a scalar.
mlir::Type elementTypeOf(mlir::Type type);
/// The shape of a tile; empty for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
/// `type` with another element type: a tile stays a tile of the same shape and layout.
mlir::Type withElementType(mlir::Type type, mlir::Type element);
/// Number of elements of a tile; 1 for a scalar.
int64_t numElementsOf(mlir::Type type);
/// The layout of a tile. Only tiles of the stages laid-out and scheduled have one.
const LinearLayout &layoutOf(mlir::Type tile);
bool hasLayout(mlir::Type type);
mlir::RankedTensorType withLayout(mlir::Type tile, const LinearLayout &layout);
/// The type that a reduction of `tile` along `axis` yields: a scalar for rank 1. Of a tile with a
/// layout, threads that differ only along the axis all hold the result.
mlir::Type reducedType(mlir::Type tile, unsigned axis);
/// Bytes that an element takes in memory: i1 takes one, pointers take eight.
unsigned elementBytes(mlir::Type element);

} // namespace tw::tile
#endif
