// What a target adds to the compiler: the passes below Tile IR and the emission of its binary.
#ifndef BACKEND_TARGET_H
#define BACKEND_TARGET_H
#include "ir/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/StagedPasses.h"
#include "runtime/Artifact.h"
#include "runtime/Specialization.h"
#include "runtime/TargetFacts.h"
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace tw {

struct LlvmMachine;

/// A form in which generated code can be shown.
enum class CodeForm { LlvmIr, OptimizedLlvmIr, Assembly, Object, Linked, Resources };

/// A stage that is code, no longer MLIR.
struct CodeStage {
  llvm::StringLiteral name;
  CodeForm form;
};

class Target {
public:
  /// Which artifacts have what checks the promises of their kernels (compile/Promises.h): those for
  /// a device that does so before its launches.
  AccessChecks checksPromises = AccessChecks::Never;

  virtual ~Target() = default;
  virtual std::string name() const = 0;
  /// Every fact of the machine that the generated code depends on, as text: part of the cache key.
  virtual std::string describe() const = 0;
  /// The symbol of a kernel in the binary. Where code is linked by name, it must not be a Python
  /// identifier: a kernel may be called `memcpy`, and its own code calls that.
  virtual std::string symbolOf(llvm::StringRef kernelName) const { return kernelName.str(); }
  /// Returns true if the binary names places in the user's source: then moving a kernel changes it.
  virtual bool keepsLocations() const { return false; }
  /// Returns true if the shared tile passes come first. An interpreter takes the frontend's own IR,
  /// so that it can judge those passes.
  virtual bool runsTilePasses() const { return true; }
  /// The names of the stages that a kernel goes through as MLIR, in order: those its passes begin.
  llvm::ArrayRef<llvm::StringLiteral> irStages() const;
  /// The stages that follow, in order.
  virtual llvm::ArrayRef<CodeStage> codeStages() const;
  /// From Tile IR, after the shared tile passes, to what `compile` takes.
  virtual void addPasses(StagedPasses &passes, const CompileOptions &options) const = 0;
  /// Returns the inputs of the target's own passes.
  virtual llvm::ArrayRef<PassInput> passInputs() const { return {}; }
  /// Returns the machine that LLVM generates the code for; null where LLVM does not.
  virtual const LlvmMachine *llvmMachine() const { return nullptr; }
  /// Fills the artifact's binary, codeBytes, scratchBytes and milliseconds. On failure returns
  /// false with `error` saying why in the compiler's terms: such a failure is the compiler's own
  /// fault.
  virtual bool compile(mlir::ModuleOp lowered, Artifact &artifact, std::string &error) const = 0;
  /// Returns the assembler of the target's text with its version and its file, or why none works;
  /// empty where there is none, or none is needed.
  virtual std::string describeAssembler() const { return ""; }
  /// Returns the work that another thread can do before the first `compile` in a process; null if
  /// there is none.
  virtual std::function<void()> warmUp() const { return nullptr; }
  /// The stage whose text `compileText` takes; empty where there is none.
  virtual llvm::StringRef textStage() const { return ""; }
  /// Returns true if the artifact's binary is that text.
  virtual bool hasTextBinary() const { return false; }
  /// Goes on from a text of that stage in an artifact that `compile` filled. On failure returns
  /// false with `error`.
  virtual bool compileText(const std::string &text, Artifact &artifact, std::string &error) const {
    return false;
  }
  /// The text of a form of the code, or false and `error`.
  virtual bool print(mlir::ModuleOp lowered, CodeForm form, std::string &text,
                     std::string &error) const = 0;
  /// The assembly with directives that name source lines, for targets whose own has none.
  virtual bool printLocated(mlir::ModuleOp lowered, std::string &text, std::string &error) const {
    return print(lowered, CodeForm::Assembly, text, error);
  }

private:
  mutable std::once_flag areStagesKnown;
  mutable std::vector<llvm::StringLiteral> stageNames; // written once, by the first to ask
};

} // namespace tw
#endif
