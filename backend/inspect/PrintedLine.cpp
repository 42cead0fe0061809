// The lines that device_print writes, the same on every device and for any reader of Triton's.
#include "backend/inspect/PrintedLine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <bit>
#include <cstdio>

using namespace tw;

unsigned tw::printedIndexWidth(int64_t extent) {
  unsigned width = 0;
  for (int64_t reached = 1; reached < extent; reached *= 10)
    ++width;
  return width;
}

static std::string formatted(const char *format, auto... values) {
  // The longest is a float64: 309 digits before the point.
  char text[400];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

static std::string formatIndex(llvm::ArrayRef<int64_t> shape, int64_t index) {
  std::string text;
  for (int64_t extent : llvm::reverse(shape)) {
    std::string coordinate =
        formatted("%*lld", int(printedIndexWidth(extent)), (long long)(index % extent));
    text = coordinate + (text.empty() ? "" : ", ") + text;
    index /= extent;
  }
  return text;
}

static std::string formatValue(const PrintedValue &value) {
  const auto &[type, hexDigits, bits] = value;
  if (type == 'p')
    return formatted("0x%llx", (unsigned long long)bits);
  if (hexDigits > 0) {
    uint64_t mask = ~uint64_t(0) >> (64 - 4 * hexDigits);
    return formatted("0x%0*llx", int(hexDigits), (unsigned long long)(bits & mask));
  }
  if (type == 'f')
    return formatted("%f", std::bit_cast<double>(bits));
  return type == 'u' ? std::to_string(bits) : std::to_string(int64_t(bits));
}

std::string tw::printedLine(const std::array<int32_t, 3> &program, llvm::ArrayRef<int64_t> shape,
                            int64_t index, llvm::StringRef prefix, const PrintedValue &value) {
  std::string line = llvm::formatv("pid ({0}, {1}, {2})", program[0], program[1], program[2]);
  if (value.type != 'n')
    line += " idx (" + formatIndex(shape, index) + ")";
  line += prefix;
  if (value.type != 'n')
    line += formatValue(value);
  return line + "\n";
}
