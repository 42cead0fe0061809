// The parameters of functions: of kernels, of builtins, of nested functions.
#ifndef FRONTEND_PARAMETER_H
#define FRONTEND_PARAMETER_H
#include "frontend/values/Json.h"

namespace tw {

struct Parameter {
  enum class Kind { Positional, PositionalOnly, KeywordOnly, VarPositional, VarKeyword };
  llvm::StringRef name;
  Kind kind = Kind::Positional;
  bool isConstexpr = false;
  bool hasDefault = false;
  bool isConst = false;    // a pointer that is only read through
  bool takesTuple = false; // VarPositional: a tuple of all may be given under the name
  const JsonObject *defaultValue = nullptr; // as captured; null: not captured

  constexpr bool takesPosition() const {
    return kind == Kind::Positional || kind == Kind::PositionalOnly;
  }
  constexpr bool takesKeyword() const {
    return kind == Kind::Positional || kind == Kind::KeywordOnly || takesTuple;
  }
  constexpr bool isRequired() const {
    return !hasDefault && kind != Kind::VarPositional && kind != Kind::VarKeyword;
  }
};

} // namespace tw
#endif
