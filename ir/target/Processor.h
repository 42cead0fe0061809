// The processor that holds programs of a GPU: the module attribute `tile.processor`.
#ifndef IR_TARGET_PROCESSOR_H
#define IR_TARGET_PROCESSOR_H
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace tw {

inline constexpr llvm::StringLiteral kProcessorAttribute = "tile.processor";

/// The part of a GPU whose programs share memory, and the sizes that limit how many of them it
/// holds at once.
struct Processor {
  unsigned simds;       // each of which runs some of a program's warps
  unsigned registers;   // of 32 bits, that a SIMD has for each lane of its warps
  unsigned granule;     // a warp takes a multiple of so many of them
  unsigned warps;       // that a SIMD holds at most
  unsigned sharedBytes; // of all programs together

  /// Returns how many programs fit at once, of so many warps with so many registers a lane.
  unsigned programsThatFit(unsigned numWarps, unsigned registersOfLane, uint64_t bytes) const;
};

/// Returns the attribute that says it: {simds = 4, registers = 512, ...}, of 32 bits each.
mlir::DictionaryAttr processorAttribute(mlir::MLIRContext &context, const Processor &processor);
/// Reads the attribute of an operation's module; none where it has none, or is incomplete.
std::optional<Processor> processorOf(mlir::Operation *op);

} // namespace tw
#endif
