// An object file of a text in a machine's assembly language.
#ifndef BACKEND_CODEGEN_ASSEMBLETEXT_H
#define BACKEND_CODEGEN_ASSEMBLETEXT_H
#include "backend/codegen/EmitLlvm.h"

namespace tw {

/// Makes an object file of text in the machine's assembly language. False with the assembler's
/// messages in `error` when it refuses the text.
bool assembleText(const std::string &text, const LlvmMachine &machine, EmittedCode &code,
                  std::string &error);

} // namespace tw
#endif
