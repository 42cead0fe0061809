// Made-up kernel arguments for the command line: arrays filled by rule, and scalars.
#ifndef BACKEND_WARPSIM_TOOLS_ARGUMENTS_H
#define BACKEND_WARPSIM_TOOLS_ARGUMENTS_H
#include "backend/warpsim/TensorMap.h"
#include <cstdint>
#include <memory>
#include <string>

namespace tw::warpsim {

/// One argument. The text is `f32[1024]=random` for an array or `i32=5` for a scalar. Types: i1 i8
/// i16 i32 i64 f16 bf16 f32 f64. Arrays are filled with `random` (floats in [-1, 1), integers of
/// all values), `random:10` (integers from 0 to 9), `iota`, `zeros` or a number; `const ` before
/// the type makes an array read-only.
struct Argument {
  std::string type;
  bool isArray = false, isReadOnly = false;
  uint64_t scalarBits = 0, numElements = 0;
  std::unique_ptr<char[]> storage; // with room to align
  char *data = nullptr;            // 64-byte aligned

  unsigned elementBytes() const;
  uint64_t bytes() const { return numElements * elementBytes(); }
  double element(uint64_t index) const;
};

/// False with a message in `error` when the text is malformed. The same text and seed make the same
/// values.
bool parseArgument(const std::string &text, uint64_t seed, Argument &argument, std::string &error);

/// A tensor map of one of the arrays before it. The text is `map=0,2;64,128;256;64,8;128`: the
/// array's number among the arguments and the bytes of an element, then extents (elements), strides
/// (bytes, of all dimensions but the innermost, which is the first) and the box, and the bytes that
/// rows are swizzled by, or 0.
struct MapArgument {
  uint64_t array = 0;
  TensorMap map; // of base 0
};

inline bool isMapText(const std::string &text) { return text.starts_with("map="); }
bool parseMap(const std::string &text, MapArgument &argument, std::string &error);

} // namespace tw::warpsim
#endif
