// Text of MLIR as tokens, to be changed one by one and joined again.
#include "test/fuzz/Tokens.h"
#include <cctype>

using namespace tw::fuzz;

static bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
static bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)); }
static bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

static size_t endWhile(std::string_view text, size_t at, bool (*holds)(char)) {
  while (at < text.size() && holds(text[at]))
    ++at;
  return at;
}

static size_t endOfNumber(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "0x" && at + 10 <= text.size())
    return endWhile(text, at + 2, [](char c) { return bool(std::isxdigit((unsigned char)c)); });
  size_t end = endWhile(text, at + 1, isDigit);
  if (end + 1 < text.size() && text[end] == '.' && isDigit(text[end + 1])) {
    end = endWhile(text, end + 1, isDigit);
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E'))
      end = endWhile(text, end + 2, isDigit);
  }
  return end;
}

static size_t endOfString(std::string_view text, size_t at) {
  size_t end = text.find('"', at + 1);
  return end == std::string_view::npos ? text.size() : end + 1;
}

/// Whether the `x` at `at` separates two extents.
static bool isExtentSeparator(const std::vector<Token> &before, std::string_view text, size_t at) {
  return text[at] == 'x' && !before.empty() &&
         (before.back().kind == TokenKind::Number || before.back().text == "?");
}

static Token nextToken(const std::vector<Token> &before, std::string_view text, size_t at) {
  char c = text[at];
  auto make = [&](TokenKind kind, size_t end) {
    return Token{kind, std::string(text.substr(at, end - at))};
  };
  if (isSpace(c))
    return make(TokenKind::Space, endWhile(text, at, isSpace));
  if (isExtentSeparator(before, text, at))
    return make(TokenKind::Punctuation, at + 1);
  bool isNegative = c == '-' && at + 1 < text.size() && isDigit(text[at + 1]);
  if (isDigit(c) || isNegative)
    return make(TokenKind::Number, endOfNumber(text, at));
  if (c == '"')
    return make(TokenKind::String, endOfString(text, at));
  if (std::string_view("%@#!^").find(c) != std::string_view::npos)
    return make(TokenKind::Name, endWhile(text, at + 1, isWordPart));
  if (isWordPart(c))
    return make(TokenKind::Word, endWhile(text, at, isWordPart));
  return make(TokenKind::Punctuation, at + 1);
}

std::vector<Token> tw::fuzz::tokensOf(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size(); at += tokens.back().text.size())
    tokens.push_back(nextToken(tokens, text, at));
  return tokens;
}

std::string tw::fuzz::textOf(const std::vector<Token> &tokens) {
  std::string text;
  for (const Token &token : tokens)
    text += token.text;
  return text;
}
