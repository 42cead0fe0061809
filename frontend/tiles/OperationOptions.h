// The options of operations, as kernels write them.
#ifndef FRONTEND_OPERATIONOPTIONS_H
#define FRONTEND_OPERATIONOPTIONS_H
#include "frontend/values/TypedValue.h"
#include <string>

namespace tw {

struct CastOptions {
  bool isBitcast = false;
  llvm::StringRef rounding = ""; // "", "rtne" or "rtz"
};
struct LoadOptions {
  std::string cache, evict; // as the user wrote them; "" for none
  bool isVolatile = false;
};
struct AtomicOptions {
  std::string order = "acq_rel", scope = "gpu";
};
/// Which elements an atomic takes.
enum class AtomicElements {
  Bits,     // of 16, 32 and 64 bits: they are moved and compared, whatever they mean
  Integers, // of 32 and 64 bits
  Numbers,  // integers and floats of 32 and 64 bits
  Sums,     // these, and the 16-bit floats
};
/// An atomic as its messages name it.
struct AtomicRule {
  llvm::StringRef name;
  AtomicElements elements;
};
/// The operands of an atomic that fit each other: under one shape, values and mask as Tile IR has
/// them.
struct AtomicOperands {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> values;
  mlir::Value mask; // null for everywhere
  tile::MemoryOrder order;
  tile::MemoryScope scope;
  mlir::Type type; // of each value, and of the old elements
};
/// Makes the operation; gives the old elements.
using AtomicEmitter =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, const AtomicOperands &)>;

struct DotOptions {
  std::optional<TypedValue> acc = std::nullopt;
  llvm::StringRef precision = "";                     // "", tf32, tf32x3, ieee, bf16x3 or bf16x6
  std::optional<DType> outDType = std::nullopt;       // without acc
  std::optional<int64_t> maxImprecise = std::nullopt; // elements along k; nothing: the machine's
  /// Those of both operands, where the machine has an instruction for them: see tile.dot.
  std::vector<TypedValue> scales = {};
};
} // namespace tw
#endif
