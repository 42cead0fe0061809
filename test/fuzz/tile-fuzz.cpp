// Changes IR at random and gives it to the passes and targets: every answer must be success or a
// diagnostic. `tile-fuzz test --count 2000` fails where one is a crash, an assertion, a hang, too
// much memory, IR that is not well formed, or an internal error.
#include "test/fuzz/Shrink.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace tw::fuzz;
namespace cl = llvm::cl;

namespace {
/// The command line. Its options live on main's stack, so there are no static constructors.
struct CommandLine {
  cl::list<std::string> inputs{cl::Positional, cl::desc("<files and folders>"), cl::OneOrMore};
  cl::opt<uint64_t> seed{"seed", cl::desc("the first trial's"), cl::init(0)};
  cl::opt<uint64_t> count{"count", cl::desc("how many trials"), cl::init(2000)};
  cl::opt<unsigned> seconds{"seconds", cl::desc("processor time for a trial"), cl::init(10)};
  cl::opt<unsigned> megabytes{"megabytes", cl::desc("memory for a trial"), cl::init(3000)};
  cl::opt<std::string> out{"out", cl::desc("write what is found to files in this folder")};
  cl::opt<bool> keepSize{"keep-size", cl::desc("do not make findings smaller")};
  cl::opt<bool> onlyPrint{"print", cl::desc("print the first attempts of trials and run none")};
};
} // namespace

static std::string textOf(const Finding &finding) {
  return "// " + finding.what + "\n// seed " + std::to_string(finding.seed) + ": " +
         finding.trial.task.command("FILE") + "\n" + finding.trial.text;
}

static void report(const Finding &finding, const std::string &folder) {
  llvm::outs() << textOf(finding) << "\n";
  llvm::outs().flush();
  if (folder.empty())
    return;
  std::error_code error = llvm::sys::fs::create_directories(folder);
  llvm::raw_fd_ostream file(folder + "/seed_" + std::to_string(finding.seed) + ".mlir", error);
  file << textOf(finding);
}

static void printTrials(const CommandLine &line, const Corpus &corpus) {
  std::unique_ptr<mlir::MLIRContext> context = makeDrawingContext();
  for (uint64_t seed = line.seed; seed < line.seed + line.count; ++seed) {
    Trial trial = drawTrial(seed, /*attempt=*/0, corpus, *context);
    llvm::outs() << "// seed " << seed << ": " << trial.task.command("FILE") << "\n"
                 << trial.text << "\n// -----\n";
  }
}

int main(int argc, char **argv) {
  CommandLine line;
  cl::ParseCommandLineOptions(argc, argv, "Fuzzes the compiler with changed IR\n");
  Corpus corpus = readCorpus(line.inputs);
  if (line.onlyPrint) {
    printTrials(line, corpus);
    return 0;
  }
  Limits limits{line.seconds, line.megabytes};
  std::map<std::string, unsigned> kinds;
  Counts counts = runTrials(line.seed, line.count, corpus, limits, [&](const Finding &finding) {
    if (++kinds[finding.kind()] == 1)
      report(line.keepSize ? finding : shrink(finding, limits), line.out);
  });
  for (const auto &[kind, number] : kinds)
    llvm::outs() << number << " x " << kind << "\n";
  llvm::outs() << line.count << " trials from seed " << line.seed << " on " << corpus.parts.size()
               << " parts: " << counts.refusedByParser << " refused by the parser, " << counts.done
               << " successes, " << counts.findings << " findings of " << kinds.size() << " kinds, "
               << counts.notDrawn.size() << " trials not drawn\n";
  for (const std::string &why : counts.notDrawn)
    llvm::outs() << why << "\n";
  return counts.findings > 0;
}
