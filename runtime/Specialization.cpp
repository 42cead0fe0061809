// The rules by which values become what a kernel is compiled to assume.
#include "runtime/Specialization.h"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

using namespace tw;

/// The reach of signed offsets of 32 bits that count elements.
static constexpr uint64_t kReachableElements = 0x7FFFFFFF;

/// The bytes of an element by its type's name: "fp32", "i1", "fp8e4nv".
static uint64_t elementBytes(std::string_view type) {
  type.remove_prefix(std::min(type.find_first_of("0123456789"), type.size()));
  unsigned bits = 0;
  std::from_chars(type.data(), type.data() + type.size(), bits);
  return std::max(1u, bits / 8);
}

// Seen from outside, as is streamingBytes: the bindings call it.
[[gnu::visibility("default")]]
void tw::assumeDisjoint(std::span<ArgumentSpec> specs, std::span<const MemorySpan> memory) {
  for (size_t i = 0; i < specs.size(); ++i) {
    ArgumentSpec &spec = specs[i];
    if (spec.kind != ArgumentSpec::Kind::Pointer)
      continue;
    const auto &[begin, end, countsBytes] = memory[i];
    spec.isLarge = end - begin >
                   (countsBytes ? kReachableBytes : elementBytes(spec.type) * kReachableElements);
    if (begin == end)
      spec.isDisjoint = begin == 0; // a null pointer is to nothing
    for (size_t j = 0; j < specs.size() && spec.isDisjoint; ++j) {
      bool isKnown = memory[j].begin < memory[j].end;
      if (j != i && isKnown && specs[j].kind == ArgumentSpec::Kind::Pointer)
        spec.isDisjoint = memory[j].end <= begin || end <= memory[j].begin;
    }
  }
}

/// The bytes that "512K" names; 0 where it names none.
static uint64_t parseSize(const std::string &text) {
  uint64_t number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc())
    return 0;
  switch (rest == text.data() + text.size() ? '\0' : *rest) {
  case 'K':
    return number << 10;
  case 'M':
    return number << 20;
  case 'G':
    return number << 30;
  default:
    return number;
  }
}

uint64_t tw::lastLevelCacheBytes(const std::string &directory) {
  constexpr uint64_t kUnknown = 32 << 20;
  uint64_t largest = 0;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(directory, error)) {
    std::ifstream file(entry.path() / "size");
    std::string text;
    if (file >> text)
      largest = std::max(largest, parseSize(text));
  }
  return largest ? largest : kUnknown;
}

[[gnu::visibility("default")]]
uint64_t tw::streamingBytes() {
  static const uint64_t bytes = lastLevelCacheBytes("/sys/devices/system/cpu/cpu0/cache") / 2;
  return bytes;
}
