// Text of MLIR as tokens, to be changed one by one and joined again.
#ifndef TEST_FUZZ_TOKENS_H
#define TEST_FUZZ_TOKENS_H
#include <string>
#include <string_view>
#include <vector>

namespace tw::fuzz {

enum class TokenKind { Number, Word, Name, String, Punctuation, Space };

/// A name is what begins with one of `%@#!^`. In `64x8xf32` the extents are numbers.
struct Token {
  TokenKind kind;
  std::string text;
  bool operator==(const Token &) const = default;
};

std::vector<Token> tokensOf(std::string_view text);
std::string textOf(const std::vector<Token> &tokens);

} // namespace tw::fuzz
#endif
