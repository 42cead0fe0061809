// What compiled CPU kernels call back: printing and assertions.
#include "backend/cpu/HostFunctions.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <bit>
#include <chrono>
#include <cstdio>

using namespace tw;

static std::string formatValue(char type, bool isHex, uint64_t bits) {
  if (type == 'p')
    return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true, /*Width=*/16);
  if (type == 'f') {
    char text[40];
    // Nine digits tell any two f32 apart; f64 shows as many.
    snprintf(text, sizeof(text), isHex ? "%a" : "%.9g", std::bit_cast<double>(bits));
    return text;
  }
  if (isHex)
    return "0x" + llvm::utohexstr(bits, /*LowerCase=*/true);
  if (type == 'b')
    return bits & 1 ? "True" : "False";
  return type == 'u' ? std::to_string(bits) : std::to_string(int64_t(bits));
}

/// The coordinates of a row-major index in a tile of a shape such as "4x8".
static std::string formatIndex(llvm::StringRef shape, uint64_t index) {
  llvm::SmallVector<llvm::StringRef> extents;
  shape.split(extents, 'x', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string text;
  for (llvm::StringRef digits : llvm::reverse(extents)) {
    uint64_t extent = 1;
    digits.getAsInteger(10, extent);
    text = std::to_string(index % extent) + (text.empty() ? "" : ", ") + text;
    index /= extent;
  }
  return text;
}

static std::string formatPlace(const TwProgram *program, llvm::StringRef shape, int64_t index) {
  return llvm::formatv("pid ({0}, {1}, {2}) idx ({3})", program->programId[0],
                       program->programId[1], program->programId[2], formatIndex(shape, index))
      .str();
}

static uint64_t linearProgram(const TwProgram *program) {
  return program->programId[0] +
         uint64_t(program->numPrograms[0]) *
             (program->programId[1] + uint64_t(program->numPrograms[1]) * program->programId[2]);
}

extern "C" void tw_device_print(const TwProgram *program, const char *prefix, const char *shape,
                                char type, int32_t isHex, int64_t index, uint64_t bits) {
  static_cast<CpuLaunch *>(program->launch)->hasPrinted = true;
  std::string value = type == 'n' ? "" : " " + formatValue(type, isHex, bits);
  std::string line = formatPlace(program, shape, index) + " " + prefix + value + "\n";
  // One call: stdio locks the stream around it, so lines of several workers do not mix.
  fwrite(line.data(), 1, line.size(), stdout);
}

extern "C" int64_t tw_device_clock() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

extern "C" void tw_device_assert(const TwProgram *program, const char *message, const char *where,
                                 const char *shape, int64_t index) {
  auto *launch = static_cast<CpuLaunch *>(program->launch);
  uint64_t number = linearProgram(program);
  std::lock_guard lock(launch->mutex);
  const std::optional<AssertFailure> &first = launch->failure;
  if (first && std::pair(first->program, first->index) <= std::pair(number, index))
    return;
  launch->failure = {number, index,
                     llvm::formatv("device_assert failed at {0}: {1} ({2})", where, message,
                                   formatPlace(program, shape, index))
                         .str()};
}
