// Turns a function of scalars into a handler that applies it to the lanes of a warp.
#ifndef BACKEND_WARPSIM_EXEC_LANELOOP_H
#define BACKEND_WARPSIM_EXEC_LANELOOP_H
#include "backend/warpsim/exec/KnownLanes.h"
#include <tuple>
#include <utility>

namespace tw::warpsim {

/// The cost of a function: light ones are computed for inactive lanes too, in vectors.
enum class Cost { Light, Heavy };

/// How to call `function`, R(A...) or R(const Instruction &, A...), where source i is argument i.
template <auto function, Cost cost> struct LaneLoop;

template <typename R, typename... A, R (*function)(A...), Cost cost>
struct LaneLoop<function, cost> {
  [[gnu::always_inline]] static R call(const Instruction &, A... arguments) {
    return function(arguments...);
  }
  static constexpr size_t arity = sizeof...(A);
  using Arguments = std::tuple<A...>;
  using Result = R;
};

template <typename R, typename... A, R (*function)(const Instruction &, A...), Cost cost>
struct LaneLoop<function, cost> {
  [[gnu::always_inline]] static R call(const Instruction &instruction, A... arguments) {
    return function(instruction, arguments...);
  }
  static constexpr size_t arity = sizeof...(A);
  using Arguments = std::tuple<A...>;
  using Result = R;
};

template <typename Loop, Cost cost, size_t... I>
[[gnu::always_inline]] inline void applyToLanes(const Instruction &instruction,
                                                WarpRegisters &registers, LaneMask active,
                                                std::index_sequence<I...>) {
  using R = typename Loop::Result;
  using A = typename Loop::Arguments;
  std::tuple<LaneValues<Storage<std::tuple_element_t<I, A>>>...> buffers;
  const std::tuple<const Storage<std::tuple_element_t<I, A>> *...> sources(
      readLanes(instruction.sources[I], registers, std::get<I>(buffers))...);
  // A result register may be a source too; a local array aliases nothing.
  LaneValues<Storage<R>> values;
  if constexpr (cost == Cost::Heavy)
    std::memset(values.lanes, 0, sizeof(values.lanes)); // lanes that the loop skips
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (cost == Cost::Heavy && !((active >> lane) & 1))
      continue;
    values.lanes[lane] = encode<R>(
        Loop::call(instruction, decode<std::tuple_element_t<I, A>>(std::get<I>(sources)[lane])...));
  }
  LaneMask set = (kAllLanes & ... &
                  setOfArgument<std::tuple_element_t<I, A>>(instruction.sources[I], registers));
  writeLanes(instruction.results[0], registers, active, values, set, std::is_signed_v<R>);
}

template <auto function, Cost cost>
[[gnu::always_inline]] inline void runLanes(const Instruction &instruction,
                                            WarpRegisters &registers, LaneMask active) {
  using Loop = LaneLoop<function, cost>;
  applyToLanes<Loop, cost>(instruction, registers, active, std::make_index_sequence<Loop::arity>());
}

/// Returns true if each byte of all sources is set in all lanes.
template <typename Arguments, size_t... I>
[[gnu::always_inline]] inline bool areWhole(const Instruction &instruction,
                                            const WarpRegisters &registers,
                                            std::index_sequence<I...>) {
  return (kAllLanes & ... &
          wholeOfSource<Storage<std::tuple_element_t<I, Arguments>>>(instruction.sources[I],
                                                                     registers)) == kAllLanes;
}

/// Applies a function whose result's bytes follow from single bytes of its sources: `missingOf`
/// says which of them have no value. Compilers pack values beside parts that have none, which
/// nothing reads or a later instruction replaces.
template <auto function, auto missingOf>
[[gnu::always_inline]] inline void runBytewise(const Instruction &instruction,
                                               WarpRegisters &registers, LaneMask active) {
  using Loop = LaneLoop<function, Cost::Light>;
  bool isWhole = areWhole<typename Loop::Arguments>(instruction, registers,
                                                    std::make_index_sequence<Loop::arity>());
  MissingBytes missing = {};
  if (!isWhole)
    missing = missingOf(instruction, registers);
  runLanes<function, Cost::Light>(instruction, registers, active);
  if (!isWhole)
    markBytes(instruction.results[0], registers, active, missing, bytesOf(instruction.type));
}

/// Returns true if this machine has the vector unit that `runOnVectorUnit` is compiled for.
bool hasVectorUnit();

using Body = void (*)(const Instruction &, WarpRegisters &, LaneMask);

template <Body body>
void runAnywhere(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  body(instruction, registers, active);
}

#if defined(__x86_64__)
template <Body body>
[[gnu::target("arch=x86-64-v3")]] void runOnVectorUnit(const Instruction &instruction,
                                                       WarpRegisters &registers, LaneMask active) {
  body(instruction, registers, active);
}
#endif

/// A handler from an always-inlined body: compiled twice, for any machine and for one with AVX2 and
/// FMA; the program is built for the former.
template <Body body> Handler handlerOf() {
#if defined(__x86_64__)
  if (hasVectorUnit())
    return runOnVectorUnit<body>;
#endif
  return runAnywhere<body>;
}

/// The handler that applies `function` to all lanes, or null if the operands do not fit it.
template <auto function, Cost cost = Cost::Light> Handler lanes(const Instruction &instruction) {
  if (instruction.sources.size() != LaneLoop<function, cost>::arity ||
      instruction.results.size() != 1)
    return nullptr;
  return handlerOf<runLanes<function, cost>>();
}

/// The handler of a function of bytes, or null.
template <auto function, auto missingOf> Handler bytewiseLanes(const Instruction &instruction) {
  return lanes<function>(instruction) ? handlerOf<runBytewise<function, missingOf>>() : nullptr;
}

} // namespace tw::warpsim
#endif
