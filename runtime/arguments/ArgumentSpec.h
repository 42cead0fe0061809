// A kernel's parameter as a compiled kernel knows it: its type or constant, and its facts.
#ifndef RUNTIME_ARGUMENTS_ARGUMENTSPEC_H
#define RUNTIME_ARGUMENTS_ARGUMENTSPEC_H
#include <cstdint>
#include <optional>
#include <string>

namespace tw {

/// The assumptions about the value of an argument.
struct ArgumentFacts {
  int64_t divisibility = 1; // of an integer or a pointer's address; 16 when known
#define TW_ARGUMENT_FACT(fact, ...) bool is##fact = false;
#include "runtime/arguments/ArgumentFacts.def"
};

/// One parameter of the Python signature, in order. Behind them come the parts of tuples that are
/// known at run time: the constant of such a parameter refers to the first of them as
/// {"k": "argument", "v": 0}, and so on.
struct ArgumentSpec : ArgumentFacts {
  enum class Kind { Constexpr, Scalar, Pointer } kind = Kind::Scalar;
  std::string name;
  std::string type;          // Scalar: "i32", "fp32", "u64", "i1"; Pointer: pointee "fp32"
  std::string constexprJson; // Constexpr: the captured value, as in the kernel source buffer
  /// A scalar integer of this very value, of `type`: it computes as an argument does and is not
  /// passed.
  std::optional<int64_t> equals = {};

  void assume(const ArgumentFacts &facts) { static_cast<ArgumentFacts &>(*this) = facts; }
};

/// Says which binaries an argument may be given to, where they were compiled for another one.
enum class FactUse {
  Assumed,  // the binary is wrong where it was compiled as true and is false
  Provided, // the binary is wrong where it was compiled as false and is true
  Noted,    // the binary is right, but may have been refused where the fact is true
  Advice,   // the binary is right, and may be slower
};

struct ArgumentFact {
  ArgumentSpec::Kind kind;
  const char *name, *attribute;
  bool usual;
  const char *text;
  FactUse use;
  const char *part, *needs, *rule;
  bool ArgumentFacts::*value;
};

/// The rows of ArgumentFacts.def.
inline constexpr ArgumentFact kArgumentFacts[] = {
#define TW_ARGUMENT_FACT(fact, kind, name, attribute, usual, text, use, part, needs, rule)         \
  {ArgumentSpec::Kind::kind, name, attribute, usual, text, FactUse::use, part, needs, #rule,       \
   &ArgumentFacts::is##fact},
#include "runtime/arguments/ArgumentFacts.def"
};

} // namespace tw
#endif
