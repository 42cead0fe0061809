// Functions that the driver provides to kernels: printing and assertions.
#include "backend/warpsim/core/Operations.h"
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

using namespace tw::warpsim;

namespace {
/// One lane's view of memory, through generic addresses.
struct LaneMemory {
  Cta &cta;
  Warp &warp;
  unsigned lane;

  bool read(uint64_t address, void *into, uint64_t bytes) const;
  /// Characters up to the terminating zero, or as many as there are.
  std::string readText(uint64_t address) const;
};
} // namespace

static bool copyWithin(const std::vector<uint8_t> &from, uint64_t offset, void *into,
                       uint64_t bytes) {
  if (offset > from.size() || from.size() - offset < bytes)
    return false;
  memcpy(into, from.data() + offset, bytes);
  return true;
}

bool LaneMemory::read(uint64_t address, void *into, uint64_t bytes) const {
  uint64_t offset = address & ~kWindowMask, localBytes = cta.launch.localBytes;
  switch (address & kWindowMask) {
  case kSharedWindow:
    return offset >= cta.launch.program.sharedBase &&
           copyWithin(cta.shared.bytes, offset - cta.launch.program.sharedBase, into, bytes);
  case kLocalWindow:
    return offset + bytes <= localBytes &&
           copyWithin(warp.local.bytes, lane * localBytes + offset, into, bytes);
  default:
    break;
  }
  uint32_t hint = 0;
  const Region *region = cta.launch.memory.find(address, hint);
  if (!region || region->end - address < bytes)
    return false;
  memcpy(into, region->host + (address - region->base), bytes);
  return true;
}

std::string LaneMemory::readText(uint64_t address) const {
  std::string text;
  char next = 0;
  while (read(address + text.size(), &next, 1) && next)
    text += next;
  return text;
}

namespace {
/// The argument buffer of vprintf: each value at a multiple of its size, integers as 4 or 8 bytes,
/// floats as doubles.
class PrintArguments {
public:
  PrintArguments(const LaneMemory &memory, uint64_t address) : memory(memory), address(address) {}
  uint64_t next(unsigned bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    uint64_t value = 0;
    if (!address || !memory.read(address + offset, &value, bytes))
      value = 0;
    offset += bytes;
    return value;
  }

private:
  const LaneMemory &memory;
  uint64_t address, offset = 0;
};
} // namespace

template <typename T> static std::string formatOne(const std::string &specification, T value) {
  char text[512];
  int count = snprintf(text, sizeof(text), specification.c_str(), value);
  return std::string(text, size_t(std::clamp(count, 0, int(sizeof(text)) - 1)));
}

static std::string formatConversion(const std::string &flags, unsigned numLongs, char conversion,
                                    const LaneMemory &memory, PrintArguments &arguments) {
  switch (conversion) {
  case 'd':
  case 'i': {
    uint64_t bits = arguments.next(numLongs ? 8 : 4);
    long long value = numLongs ? static_cast<long long>(bits) : int32_t(bits);
    return formatOne(flags + "ll" + conversion, value);
  }
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    return formatOne(flags + "ll" + conversion,
                     static_cast<unsigned long long>(arguments.next(numLongs ? 8 : 4)));
  case 'c':
    return formatOne(flags + conversion, int(arguments.next(4)));
  case 'p':
    return formatOne(flags + "#llx", static_cast<unsigned long long>(arguments.next(8)));
  case 's': {
    std::string text = memory.readText(arguments.next(8));
    return flags == "%" ? text : formatOne(flags + "s", text.c_str());
  }
  case '%':
    return "%";
  default:
    if (!strchr("fFeEgGaA", conversion))
      return flags + conversion;
    return formatOne(flags + conversion, std::bit_cast<double>(arguments.next(8)));
  }
}

static std::string formatPrint(const std::string &format, const LaneMemory &memory,
                               PrintArguments arguments) {
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    std::string flags = "%";
    while (++i < format.size() && strchr("-+ #0123456789.*", format[i]))
      flags +=
          format[i] == '*' ? std::to_string(int32_t(arguments.next(4))) : std::string(1, format[i]);
    unsigned numLongs = 0;
    for (; i < format.size() && strchr("hlLqjzt", format[i]); ++i)
      numLongs += format[i] != 'h';
    if (i < format.size())
      text += formatConversion(flags, numLongs, format[i], memory, arguments);
  }
  return text;
}

static void print(Cta &cta, Warp &warp, const Instruction &call, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    LaneMemory memory = {cta, warp, lane};
    std::string format = memory.readText(readLane(call.sources[0], warp.registers(), lane));
    uint64_t arguments = readLane(call.sources[1], warp.registers(), lane);
    cta.printed += formatPrint(format, memory, PrintArguments(memory, arguments));
    if (!call.results.empty())
      writeLane(call.results[0], warp.registers(), lane, 0, true);
  }
}

/// Kernels print which element failed before they fail, since the driver's message has no place for
/// it. Takes all such lines out of what was printed; the result is the first.
static std::string takeAnnouncement(std::string &printed, const std::string &prefix) {
  std::string first;
  for (size_t begin; (begin = printed.find(prefix)) != std::string::npos;) {
    size_t end = std::min(printed.find('\n', begin), printed.size());
    if (first.empty())
      first = printed.substr(begin, end - begin);
    printed.erase(begin, end + 1 - begin);
  }
  return first;
}

std::string tw::warpsim::takeFailedAssertion(std::string &printed) {
  return takeAnnouncement(printed, "device-side assert failed at ");
}

/// Ends the CTA, as a failed assertion ends a kernel.
static void failAssertion(Cta &cta, Warp &warp, const Instruction &call, int32_t pc,
                          LaneMask active) {
  unsigned lane = unsigned(__builtin_ctz(active));
  LaneMemory memory = {cta, warp, lane};
  auto argument = [&](size_t i) {
    return i < call.sources.size() ? readLane(call.sources[i], warp.registers(), lane) : 0;
  };
  std::string line = std::to_string(uint32_t(argument(2)));
  std::string failure = "device-side assert failed at " + memory.readText(argument(1)) +
                        (line == "0" ? "" : ":" + line) + ": " + memory.readText(argument(0));
  std::string announced = takeAnnouncement(cta.printed, failure);
  cta.report(Kind::Assertion, warp, lane, pc, [&](Finding &finding) {
    finding.message = !announced.empty() ? announced
                                         : failure + " (pid (" + std::to_string(cta.position[0]) +
                                               ", " + std::to_string(cta.position[1]) + ", " +
                                               std::to_string(cta.position[2]) + "))";
  });
  cta.isStopped = true;
}

void tw::warpsim::executeHostCall(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                  LaneMask active) {
  if (instruction.calleeName == "vprintf" && instruction.sources.size() >= 2)
    return print(cta, warp, instruction, active);
  if (instruction.calleeName == "__assertfail")
    return failAssertion(cta, warp, instruction, pc, active);
  cta.report(Kind::Unsupported, warp, unsigned(__builtin_ctz(active)), pc, [&](Finding &finding) {
    finding.message = "call of `" + instruction.calleeName + "`, which the simulator does not have";
  });
}
