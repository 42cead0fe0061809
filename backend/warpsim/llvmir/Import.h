// From the final LLVM IR of a GPU of AMD's, or of an OpenCL device, to a decoded program. Strict:
// whatever it does not know is an error.
#ifndef BACKEND_WARPSIM_LLVMIR_IMPORT_H
#define BACKEND_WARPSIM_LLVMIR_IMPORT_H
#include "backend/warpsim/Program.h"
#include <optional>
#include <string>

namespace tw::warpsim {

/// Why IR was refused, and where in the user's source: 0 unknown.
struct ImportError {
  std::string message;
  int line = 0;
};

/// `text` is LLVM IR or bitcode, after all passes of the compiler and before LLVM selects
/// instructions; `arch` is the machine that it is for, "gfx942" or
/// "generic16".
std::optional<Program> importAmdgcn(const std::string &text, const std::string &arch,
                                    ImportError &error);

/// The lanes of a wave of an architecture as kernels for it are compiled here; 0: unknown.
unsigned waveSizeOf(const std::string &arch);

} // namespace tw::warpsim
#endif
