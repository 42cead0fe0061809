// What a compiled kernel assumes of its arguments.
#ifndef RUNTIME_SPECIALIZATION_H
#define RUNTIME_SPECIALIZATION_H
#include "runtime/arguments/ArgumentSpec.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tw {

/// The memory behind a pointer; where its size is not known, its address twice.
struct MemorySpan {
  uint64_t begin = 0, end = 0;
  bool countsBytes = false; // offsets of 32 bits into it count bytes, not elements
};

/// The reach of signed offsets of 32 bits that count bytes, of which buffers need a few for
/// themselves. Smaller memory is within reach of all offsets.
inline constexpr uint64_t kReachableBytes = 0x7FFF0000;

/// The number that facts about alignment and divisibility are about.
inline constexpr uint64_t kFactDivisor = 16;

/// The assumptions about an integer. `bits` is its value sign- or zero-extended from `width` bits;
/// of unsigned types the large half is negative.
constexpr ArgumentFacts integerFacts(uint64_t bits, unsigned width) {
  ArgumentFacts facts;
  facts.divisibility = bits % kFactDivisor ? 1 : int64_t(kFactDivisor);
#define TW_INTEGER_FACT(fact, name, attribute, usual, text, use, part, needs, rule)                \
  facts.is##fact = rule;
#define TW_POINTER_FACT(...)
#include "runtime/arguments/ArgumentFacts.def"
  return facts;
}
/// The assumptions about a pointer that no other meets, by its address and the size of its memory,
/// where `streamingBytes` and more are too much for the caches.
constexpr ArgumentFacts pointerFacts(uint64_t address, uint64_t bytes, uint64_t streamingBytes) {
  ArgumentFacts facts;
  facts.divisibility = address % kFactDivisor ? 1 : int64_t(kFactDivisor);
#define TW_INTEGER_FACT(...)
#define TW_POINTER_FACT(fact, name, attribute, usual, text, use, part, needs, rule)                \
  facts.is##fact = rule;
#include "runtime/arguments/ArgumentFacts.def"
  return facts;
}

/// Takes it back that pointers are disjoint where their memory meets another's or is not known, and
/// finds memory that 32-bit offsets do not reach all of. Of the same lengths; numbers have no
/// memory.
void assumeDisjoint(std::span<ArgumentSpec> specs, std::span<const MemorySpan> memory);
/// From this size on an array counts as streaming: half of the last-level cache.
uint64_t streamingBytes();
/// The largest cache that a directory like Linux's .../cpu0/cache tells of; 32 MiB where it does
/// not.
uint64_t lastLevelCacheBytes(const std::string &directory);

struct CompileOptions {
  int numWarps = 4;
  int numStages = 3;
  bool debug = false; // device_assert and overflow checks are compiled in
  std::string extra;  // further target options, part of the key
};

struct Specialization {
  std::vector<ArgumentSpec> arguments;
  CompileOptions options;
};

} // namespace tw
#endif
