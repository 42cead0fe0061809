// The lines that device_print writes, the same on every device and for any reader of Triton's.
#ifndef BACKEND_PRINTEDLINE_H
#define BACKEND_PRINTEDLINE_H
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <string>

namespace tw {

/// Places that an index below `extent` is padded to: as Triton 3.9, ceil(log10(extent)).
unsigned printedIndexWidth(int64_t extent);

/// The printed form of an element: `type` is a character of i (signed), u (unsigned), f (the bits
/// of a double), p (address) and n (nothing: the prefix alone). With `hexDigits`, the bits in as
/// many digits instead.
struct PrintedValue {
  char type = 'n';
  unsigned hexDigits = 0;
  uint64_t bits = 0;
};

/// "pid (x, y, z) idx (i, j)" for the row-major index, the prefix, the value and a line feed;
/// without an index where nothing but the prefix is printed.
std::string printedLine(const std::array<int32_t, 3> &program, llvm::ArrayRef<int64_t> shape,
                        int64_t index, llvm::StringRef prefix, const PrintedValue &value);

} // namespace tw
#endif
