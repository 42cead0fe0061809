// The text in which an instruction says where a warp, or a core, holds an operand: see MmaAttr.
#ifndef IR_TILE_FRAGMENT_H
#define IR_TILE_FRAGMENT_H
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir {
class Type;
}

namespace tw::tile {

/// Bit `bit` of an element's index along `dim` ('m', 'n' or 'k'), or none ('-').
struct FragmentBit {
  char dim = '-';
  unsigned bit = 0;
  bool operator==(const FragmentBit &) const = default;
};

/// The meaning of the bits of a register's number and of a lane's number, lowest first.
struct Fragment {
  llvm::SmallVector<FragmentBit> registers, lanes;
};

/// Reads "k0 m3 | k1 k2 m0 m1 m2"; nullopt for what is not written so.
std::optional<Fragment> parseFragment(llvm::StringRef text);

/// Returns the type of the elements of a tile that is an operand of this type: f32 of tf32, i8 of
/// unsigned bytes and of pairs of 4-bit floats.
mlir::Type storedType(mlir::Type type);
/// Returns how many neighbours along k are one element of such a tile.
unsigned packedInStored(mlir::Type type);
/// Returns the bits that an element of such a tile takes in a register.
unsigned registerBits(mlir::Type type);
/// Neighbours along k that have one scale.
inline constexpr unsigned kScaledGroup = 32;

/// How a core holds the operands and the accumulator of a product: see ProductAttr.
struct CoreFragments {
  std::string a, b, accumulator;
};
/// Returns those of a product of m x n x k elements with `group` neighbours along k in each lane of
/// B: with one row, A is repeated in every lane.
CoreFragments coreFragments(unsigned m, unsigned n, unsigned k, unsigned group);

} // namespace tw::tile
#endif
