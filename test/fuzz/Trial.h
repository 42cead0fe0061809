// One attempt to make the compiler fail: a text, and what is done with it.
#ifndef TEST_FUZZ_TRIAL_H
#define TEST_FUZZ_TRIAL_H
#include "mlir/IR/MLIRContext.h"
#include "test/fuzz/Mutations.h"
#include <memory>

namespace tw::fuzz {

/// What a text is given to: passes, or the compiler of a target.
struct Task {
  std::string pipeline; // as of `tile-opt --pass-pipeline='builtin.module(...)'`
  std::string target;   // "nvidia:sm_80"; empty: the pipeline
  int numWarps = 4, numStages = 3;
  std::string fromStage; // the text is what this stage ends with

  /// The command that repeats it on a file.
  std::string command(const std::string &file) const;
};

struct Trial {
  std::string text;
  Task task;
};

/// All dialects and, once per process, all passes.
std::unique_ptr<mlir::MLIRContext> makeFuzzContext();

/// A context for `drawTrial`: not the one of the trials, which must load what they need themselves.
std::unique_ptr<mlir::MLIRContext> makeDrawingContext();

/// The trial of one seed. `context` parses what is changed as structure. Where the parser refuses a
/// trial, another attempt of the seed may reach further.
Trial drawTrial(uint64_t seed, unsigned attempt, const Corpus &corpus, mlir::MLIRContext &context);

inline constexpr char kParsing[] = "parser", kDone[] = "done", kContained[] = "a contained crash";

/// Does the task; what is wrong with the answer, empty when nothing is. `progress` is called with
/// each step's name before it begins, for whoever sees the process die: first kParsing, and at last
/// kDone where the answer is success, or kContained where it is a crash that was contained: then
/// `context` may be in any state.
std::string runTrial(const Trial &trial, mlir::MLIRContext &context,
                     llvm::function_ref<void(llvm::StringRef)> progress);

} // namespace tw::fuzz
#endif
