// From PTX text to a decoded program. Strict: whatever it does not know is an error.
#ifndef BACKEND_WARPSIM_PTX_PARSE_H
#define BACKEND_WARPSIM_PTX_PARSE_H
#include "backend/warpsim/Program.h"
#include <optional>
#include <string>
#include <string_view>

namespace tw::warpsim {

/// Why a text was refused: `line` counts from 1.
struct ParseError {
  int line = 0;
  std::string message; // "unknown modifier .foo of ld", "register %r7 is not declared", ...
};

std::optional<Program> parsePtx(std::string_view text, ParseError &error);

/// An instruction as PTX writes it, for reports and traces.
std::string printInstruction(const Program &program, const Instruction &instruction);

/// A register by the name that the text gives it, `%rd4`; `function` may be null.
std::string registerName(const Function *function, Register reg);

} // namespace tw::warpsim
#endif
