// The parameters of a builtin, which the compiler of this file reads out of how Python writes them.
#ifndef FRONTEND_BUILTINSIGNATURE_H
#define FRONTEND_BUILTINSIGNATURE_H
#include "frontend/values/Parameter.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <string_view>

namespace tw {

/// "pointer, /, mask=None, *rest, key=None, **named". Those before a "/" take no keyword; a tuple
/// for "*rest" may also be given under its name.
class BuiltinSignature {
public:
  template <size_t length>
  consteval BuiltinSignature(const char (&literal)[length]) : source(literal, length - 1) {
    std::string_view rest(literal, length - 1);
    while (!rest.empty()) {
      size_t end = rest.find(", ");
      add(rest.substr(0, end));
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 2);
    }
  }

  llvm::StringRef text() const { return source; }
  llvm::ArrayRef<Parameter> params() const { return llvm::ArrayRef(all).take_front(count); }

private:
  constexpr void add(std::string_view word) {
    if (word == "/") {
      for (size_t i = 0; i < count; ++i)
        all[i].kind = Parameter::Kind::PositionalOnly;
      return;
    }
    Parameter &param = all[count++];
    bool isRest = word.starts_with("*"), isNamed = word.starts_with("**");
    word.remove_prefix(isNamed ? 2 : isRest ? 1 : 0);
    std::string_view name = word.substr(0, word.find('='));
    param.name = llvm::StringRef(name.data(), name.size());
    param.hasDefault = name.size() < word.size();
    param.takesTuple = isRest && !isNamed;
    param.kind = isNamed        ? Parameter::Kind::VarKeyword
                 : isRest       ? Parameter::Kind::VarPositional
                 : isBehindRest ? Parameter::Kind::KeywordOnly
                                : Parameter::Kind::Positional;
    isBehindRest = isBehindRest || isRest;
  }

  static constexpr size_t kMostParameters = 10;
  llvm::StringRef source;
  std::array<Parameter, kMostParameters> all = {};
  size_t count = 0;
  bool isBehindRest = false;
};

} // namespace tw
#endif
