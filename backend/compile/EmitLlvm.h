// From the LLVM dialect to machine code: translation, optimization and code generation, contained
// so that a failure inside LLVM is an error message and not the end of the process.
#ifndef BACKEND_EMITLLVM_H
#define BACKEND_EMITLLVM_H
#include "backend/Target.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace llvm {
class Module;
class Pass;
} // namespace llvm
namespace mlir {
class DialectRegistry;
}

namespace tw {

/// A pass of ours among those of a code generator: before each that LLVM has of this name.
struct PlacedPass {
  llvm::StringRef next;
  llvm::Pass *(*make)();
};

/// The machine that LLVM generates code for.
struct LlvmMachine {
  std::string triple, cpu, features;
  /// Registers LLVM's code generator for the machine; called before every use of it.
  void (*initialize)() = nullptr;
  /// Returns true if code may call a function that it does not define; null: it may call none.
  bool (*provides)(llvm::StringRef function) = nullptr;
  /// Changes a module before its clean-ups; null: no change.
  void (*prepare)(llvm::Module &) = nullptr;
  /// Changes an optimized module as the code generator requires; null: no change.
  void (*finish)(llvm::Module &) = nullptr;
  unsigned vectorBits = 0;  // registers to prefer, 0: LLVM's choice
  bool pairsFloats = false; // whether scalars are to be joined where the machine acts on pairs
  /// True if an access takes a base and a scaled index, so that loops need no pointer of their own.
  bool hasScaledAddresses = false;
  bool mayCall = false; // whether calls cost little, so that large functions are split
  /// The clean-ups of a function, as `opt -passes=` takes them; empty: those of -O2.
  llvm::StringRef simplifications;
  /// Where one emission leaves the optimized module, before `finish`, as bitcode for the next ones
  /// of the same module; empty before the first. Null: nowhere.
  std::string *optimized = nullptr;
  /// Passes of the code generator that no kernel has use for, by LLVM's names of them.
  llvm::ArrayRef<llvm::StringRef> unusedPasses;
  llvm::ArrayRef<PlacedPass> ownPasses;
};

struct EmittedCode {
  std::string bytes;             // text or an object file
  uint64_t codeBytes = 0;        // executable sections of an object file
  size_t numLinkedFunctions = 0; // from libraries of bitcode
  double translateMilliseconds = 0, optimizeMilliseconds = 0, generateMilliseconds = 0;
};

/// Registers what translation to LLVM IR needs to know about the dialects.
void registerLlvmTranslations(mlir::DialectRegistry &registry);

/// Emits a module of the LLVM dialect in one form. False with a message in `error` when it fails.
bool emitLlvm(mlir::ModuleOp module, const LlvmMachine &machine, CodeForm form, EmittedCode &code,
              std::string &error);

/// Has LLVM make what it makes once in a process, its tables and its registries of passes, by
/// emitting a small function.
void readyEmission(const LlvmMachine &machine);

/// LLVM's names of the scheduling that is left out where a machine orders instructions as it runs,
/// and a block has so many memory accesses that it would take most of the compilation: LLVM 22
/// makes an edge for each pair that may be to one place, and compares each with all others of its
/// access (1.8 s for 450 loads and as many stores). Three quarters of that is scheduling a second
/// time, when registers have been chosen.
llvm::SmallVector<llvm::StringRef> unusedSchedulers(const llvm::Module &module);

/// The executable bytes of an object file.
uint64_t countCodeBytes(const std::string &object);

/// Adds the times of an emission's parts to an artifact, under the names that reports use.
void addTimes(const EmittedCode &code, Artifact &artifact);

} // namespace tw
#endif
