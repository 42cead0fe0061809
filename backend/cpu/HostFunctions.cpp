// What compiled CPU kernels call back: printing and checks.
#include "backend/cpu/HostFunctions.h"
#include "backend/inspect/PrintedLine.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <chrono>
#include <cstdio>

using namespace tw;

/// The extents of a shape such as "4x8".
static llvm::SmallVector<int64_t> extentsOf(llvm::StringRef shape) {
  llvm::SmallVector<llvm::StringRef> texts;
  shape.split(texts, 'x', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::SmallVector<int64_t> extents;
  for (llvm::StringRef digits : texts)
    digits.getAsInteger(10, extents.emplace_back());
  return extents;
}

/// The coordinates of a row-major index.
static std::string formatIndex(llvm::StringRef shape, uint64_t index) {
  std::string text;
  llvm::SmallVector<int64_t> extents = extentsOf(shape);
  for (int64_t extent : llvm::reverse(extents)) {
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

uint64_t tw::linearProgram(const TwProgram &program) {
  const auto &[id, count] = std::tie(program.programId, program.numPrograms);
  return id[0] + uint64_t(count[0]) * (id[1] + uint64_t(count[1]) * id[2]);
}

void CpuLaunch::endBefore(uint64_t program) {
  if (isCooperative)
    program = 0;
  uint64_t current = end.load();
  while (program < current && !end.compare_exchange_weak(current, program)) {
  }
}

/// Keeps the failure of the first program that has one.
static void keepFailure(const TwProgram &program, Code code, std::string message) {
  auto &launch = *static_cast<CpuLaunch *>(program.launch);
  uint64_t number = linearProgram(program);
  std::lock_guard lock(launch.mutex);
  if (number >= launch.end.load())
    return;
  launch.endBefore(number);
  launch.failure = {RuntimeError::Kind::Device, code, std::move(message), ""};
}

extern "C" void tw_device_print(const TwProgram *program, const char *prefix, const char *shape,
                                char type, int32_t hexDigits, int64_t index, uint64_t bits) {
  static_cast<CpuLaunch *>(program->launch)->hasPrinted = true;
  std::string line = printedLine(std::to_array(program->programId), extentsOf(shape), index, prefix,
                                 {type, unsigned(hexDigits), bits});
  // One call: stdio locks the stream around it, so lines of several workers do not mix.
  fwrite(line.data(), 1, line.size(), stdout);
}

extern "C" int64_t tw_device_clock() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

extern "C" void tw_device_assert(const TwProgram *program, const char *message, const char *where,
                                 const char *shape, int64_t index) {
  keepFailure(*program, Code::DeviceAssert,
              llvm::formatv("device-side assert failed at {0}: {1} ({2})", where, message,
                            formatPlace(program, shape, index))
                  .str());
  leaveKernel(*program);
}

extern "C" void tw_device_assert_of(const TwProgram *program, const char *message,
                                    const char *where, const char *shape, int64_t index,
                                    const char *joint, int32_t isSigned, int64_t first,
                                    int64_t second) {
  auto shown = [&](int64_t value) {
    return isSigned ? std::to_string(value) : std::to_string(uint64_t(value));
  };
  // The strings do not outlive this scope: leaving the kernel runs no destructor.
  {
    std::string text =
        std::string(message) + ": " + shown(first) + " " + joint + " " + shown(second);
    keepFailure(*program, Code::DeviceAssert,
                llvm::formatv("device-side assert failed at {0}: {1} ({2})", where, text,
                              formatPlace(program, shape, index))
                    .str());
  }
  leaveKernel(*program);
}

/// The parameter whose memory is nearest to an address that lies in none.
static size_t nearestParameter(const CpuLaunch &launch, uint64_t address) {
  size_t nearest = 0;
  uint64_t least = ~uint64_t(0);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    uint64_t base = launch.arguments[i].allocationBase, bytes = launch.arguments[i].bytes;
    uint64_t distance = address < base ? base - address : address - base;
    if (bytes > 0 && distance < least)
      std::tie(nearest, least) = std::pair(i, distance);
  }
  return nearest;
}

/// " [kernel k, program (x, y, z), tile index (i, j)]" and the places in the source.
static std::string describeFailed(const TwProgram &program, llvm::StringRef shape, int64_t index,
                                  const char *where) {
  auto &launch = *static_cast<CpuLaunch *>(program.launch);
  std::string text =
      llvm::formatv(" [kernel {0}, program ({1}, {2}, {3})", launch.kernel, program.programId[0],
                    program.programId[1], program.programId[2]);
  if (!shape.empty())
    text += ", tile index (" + formatIndex(shape, index) + ")";
  return text + "]" + where;
}

static std::string describeOutside(const TwProgram &program, const char *name, uint64_t address,
                                   int32_t bytes, int32_t argument) {
  auto &launch = *static_cast<CpuLaunch *>(program.launch);
  size_t which = argument < 0 ? nearestParameter(launch, address) : argument;
  return std::string("out-of-bounds ") + name + ": " +
         describeElement(launch.arguments[which], launch.parameters[which].name, address, bytes);
}

extern "C" void tw_device_outside(const TwProgram *program, const char *name, const char *where,
                                  const char *shape, int64_t index, uint64_t address, int32_t bytes,
                                  int32_t argument) {
  keepFailure(*program, Code::OutOfBounds,
              describeOutside(*program, name, address, bytes, argument) +
                  describeFailed(*program, shape, index, where));
  leaveKernel(*program);
}

extern "C" void tw_device_gather(const TwProgram *program, const char *where, const char *shape,
                                 int64_t index, int64_t value, int64_t extent) {
  std::string text =
      llvm::formatv("gather index {0} is outside an axis of extent {1}", value, extent);
  keepFailure(*program, Code::GatherIndex, text + describeFailed(*program, shape, index, where));
  leaveKernel(*program);
}
