// What the functions that print are asked to write.
#ifndef FRONTEND_PRINTING_H
#define FRONTEND_PRINTING_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// The values, and the texts between and behind them.
struct PrintForm {
  std::vector<PyValue> values;
  std::string separator, end;
};
/// Reads the form from the arguments "*values, sep, end, file, flush".
mlir::FailureOr<PrintForm> printFormOf(Emitter &emitter,
                                       llvm::ArrayRef<std::optional<Argument>> bound);
/// The text in front of printed values, set apart from what stands before and behind it, as Triton
/// 3.9 does: " x: " for "x".
std::string devicePrefix(llvm::StringRef text, bool hasValues);

} // namespace tw
#endif
