// Writes what each pass of a compilation makes of a kernel, as numbered files of one directory.
#ifndef BACKEND_COMPILE_PASSDUMPS_H
#define BACKEND_COMPILE_PASSDUMPS_H
#include "backend/compile/DebugSettings.h"
#include "ir/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"

namespace tw {

/// A kernel's name as a part of file names.
std::string fileNameOf(llvm::StringRef kernel);

/// The files DIRECTORY/NAME-KEY/NN-PASS.mlir, one where a pass changed the text. Inactive without a
/// directory; a directory that cannot be written is one warning. What an earlier compilation of the
/// kernel wrote there goes, where these are `new` dumps.
class PassDumps {
public:
  PassDumps(const DebugSettings &debug, llvm::StringRef kernel,
            std::vector<Diagnostic> &diagnostics, bool isNew = true);
  bool isActive() const { return !directory.empty(); }
  /// Writes NN-NAME.mlir unless the module reads as it did the last time.
  void record(unsigned number, llvm::StringRef name, mlir::ModuleOp module);
  /// Writes NN-NAME with its extension.
  void write(unsigned number, llvm::StringRef fileName, llvm::StringRef text);

private:
  void fail(const std::error_code &error);

  std::string directory, last;
  bool printsLocations;
  std::vector<Diagnostic> &diagnostics;
};

} // namespace tw
#endif
