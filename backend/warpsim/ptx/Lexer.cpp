// Cuts PTX text into words, modifiers, literals and punctuation (PTX ISA, chapter "Syntax").
#include "backend/warpsim/ptx/Lexer.h"
#include <charconv>
#include <cstring>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool isNameStart(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%'; }
static bool isNamePart(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '$'; }

static int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

bool Lexer::skipBlank(ParseError &error) {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n')
      ++line;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++position;
    } else if (c == '/' && at(position + 1) == '/') {
      while (position < text.size() && text[position] != '\n')
        ++position;
    } else if (c == '/' && at(position + 1) == '*') {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos) {
        error = {line, "comment without an end"};
        return false;
      }
      for (; position < end + 2; ++position)
        line += text[position] == '\n';
    } else {
      break;
    }
  }
  return true;
}

/// `0f` and 8, or `0d` and 16 hexadecimal digits.
bool Lexer::hexFloat(Token &token, ParseError &error) {
  bool isDouble = text[position + 1] == 'd' || text[position + 1] == 'D';
  size_t begin = position + 2, numDigits = isDouble ? 16 : 8, end = begin;
  for (; digitValue(at(end)) < 16; ++end)
    token.bits = token.bits << 4 | unsigned(digitValue(text[end]));
  if (end - begin != numDigits || isNamePart(at(end))) {
    error = {line, "literal " + std::string(text.substr(position, end - position)) + " needs " +
                       std::to_string(numDigits) + " hexadecimal digits"};
    return false;
  }
  token.kind = isDouble ? TokenKind::Float64 : TokenKind::Float32;
  token.text = text.substr(position, end - position);
  position = end;
  return true;
}

bool Lexer::decimalFloat(Token &token, ParseError &error) {
  double value = 0;
  const char *begin = text.data() + position;
  std::from_chars_result result = std::from_chars(begin, text.data() + text.size(), value);
  size_t length = size_t(result.ptr - begin);
  token.text = text.substr(position, length);
  if (result.ec != std::errc() || isNamePart(at(position + length))) {
    error = {line, "literal " + std::string(token.text) + " is not a number"};
    return false;
  }
  token.kind = TokenKind::Float64;
  std::memcpy(&token.bits, &value, sizeof(value));
  position += length;
  return true;
}

bool Lexer::number(Token &token, ParseError &error) {
  char second = at(position + 1);
  if (text[position] == '0' && std::strchr("fFdD", second) && second)
    return hexFloat(token, error);
  int base = 10;
  size_t begin = position;
  if (text[position] == '0' && (second == 'x' || second == 'X')) {
    base = 16;
    begin += 2;
  } else if (text[position] == '0' && (second == 'b' || second == 'B')) {
    base = 2;
    begin += 2;
  } else {
    size_t end = position;
    while (isDigit(at(end)))
      ++end;
    if (at(end) == '.' || at(end) == 'e' || at(end) == 'E')
      return decimalFloat(token, error);
    base = text[position] == '0' ? 8 : 10;
  }
  size_t end = begin;
  bool fits = true;
  for (; digitValue(at(end)) < base; ++end) {
    unsigned __int128 wide = static_cast<unsigned __int128>(token.bits) * unsigned(base) +
                             unsigned(digitValue(text[end]));
    fits &= wide >> 64 == 0;
    token.bits = uint64_t(wide);
  }
  size_t suffix = end > begin && at(end) == 'U' ? 1 : 0;
  token.text = text.substr(position, end + suffix - position);
  if (end == begin || !fits || isNamePart(at(end + suffix))) {
    error = {line, "literal " + std::string(token.text) + " is not a 64-bit integer"};
    return false;
  }
  token.kind = TokenKind::Integer;
  position = end + suffix;
  return true;
}

bool Lexer::string(Token &token, ParseError &error) {
  size_t end = position + 1;
  while (end < text.size() && text[end] != '"' && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  if (at(end) != '"') {
    error = {line, "string without an end"};
    return false;
  }
  token.kind = TokenKind::String;
  token.text = text.substr(position + 1, end - position - 1);
  position = end + 1;
  return true;
}

bool Lexer::next(Token &token, ParseError &error) {
  if (!skipBlank(error))
    return false;
  token = Token();
  token.line = line;
  if (position >= text.size())
    return true;
  char c = text[position];
  if (isDigit(c))
    return number(token, error);
  if (c == '"')
    return string(token, error);
  // A dimension, `.2d`, is the one word that begins with a digit.
  bool isDimension = isDigit(at(position + 1)) && at(position + 2) == 'd';
  bool isDirective = c == '.' && (isNameStart(at(position + 1)) || isDimension);
  if (isDirective || isNameStart(c)) {
    size_t begin = position + (c == '.'), end = begin + 1;
    // `::` is part of a word (L1::evict_last, shared::cta); a single colon ends a label.
    while (isNamePart(at(end)) || (at(end) == ':' && at(end + 1) == ':'))
      end += at(end) == ':' ? 2 : 1;
    token.kind = c == '.' ? TokenKind::Directive : TokenKind::Word;
    token.text = text.substr(begin, end - begin);
    position = end;
    return true;
  }
  if (!std::strchr(",;:{}[]()+-=@!|<>~*", c) || c == '\0') {
    error = {line, "character '" + std::string(1, c) + "' has no meaning here"};
    return false;
  }
  token.kind = TokenKind::Punctuation;
  token.text = text.substr(position, 1);
  ++position;
  return true;
}
