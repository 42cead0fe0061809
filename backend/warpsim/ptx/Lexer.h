// The words of PTX text, with their lines.
#ifndef BACKEND_WARPSIM_PTX_LEXER_H
#define BACKEND_WARPSIM_PTX_LEXER_H
#include "backend/warpsim/ptx/Parse.h"
#include <string_view>

namespace tw::warpsim::ptx {

enum class TokenKind : uint8_t {
  End,
  Word,        // identifiers, registers (%r1), and names with `::`
  Directive,   // .reg, .b32, .L1::evict_last: `text` is without the dot
  Integer,     // `bits` holds the value
  Float32,     // 0f3F800000: `bits` holds the 32 bits
  Float64,     // 0d..., and decimal literals: `bits` holds the 64 bits of a double
  String,      // `text` is without the quotes
  Punctuation, // one character: , ; : { } [ ] ( ) + - = @ ! | < > ~ *
};

struct Token {
  TokenKind kind = TokenKind::End;
  int line = 1;
  std::string_view text;
  uint64_t bits = 0;

  bool is(char punctuation) const {
    return kind == TokenKind::Punctuation && text.front() == punctuation;
  }
  bool isDirective(std::string_view name) const {
    return kind == TokenKind::Directive && text == name;
  }
};

/// Hands out the tokens of a text one by one; the views of tokens point into the text. A dot
/// between two letters of an instruction (`ld.global`) begins a new token, so modifiers are
/// directives.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}
  /// False with an error for a character or a literal that PTX does not have.
  bool next(Token &token, ParseError &error);

private:
  bool skipBlank(ParseError &error);
  bool number(Token &token, ParseError &error);
  bool hexFloat(Token &token, ParseError &error);
  bool decimalFloat(Token &token, ParseError &error);
  bool string(Token &token, ParseError &error);
  char at(size_t index) const { return index < text.size() ? text[index] : '\0'; }

  std::string_view text;
  size_t position = 0;
  int line = 1;
};

} // namespace tw::warpsim::ptx
#endif
