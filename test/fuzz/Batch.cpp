// Forks a process for a row of trials; what it is at lies in memory that both see.
#include "test/fuzz/Batch.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tw::fuzz;

namespace {
/// What a child writes for its parent, which may have to read it after the child's death.
struct Journal {
  uint64_t seed;
  char step[128], what[4096], task[5][256], text[1 << 20], errors[4096];
  int warps, stages;
  unsigned refusedByParser, done; // so many trials so far
};
} // namespace

template <size_t Size> static void put(char (&field)[Size], llvm::StringRef text) {
  size_t count = std::min(text.size(), Size - 1);
  std::memcpy(field, text.data(), count);
  field[count] = 0;
}

static void write(Journal &journal, const Trial &trial) {
  put(journal.text, trial.text);
  put(journal.task[0], trial.task.pipeline);
  put(journal.task[1], trial.task.target);
  put(journal.task[2], trial.task.fromStage);
  journal.warps = trial.task.numWarps;
  journal.stages = trial.task.numStages;
}

static Trial read(const Journal &journal) {
  return {journal.text,
          {journal.task[0], journal.task[1], journal.warps, journal.stages, journal.task[2]}};
}

static Journal &makeJournal() {
  void *memory =
      mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("tile-fuzz: mmap");
    std::exit(2);
  }
  return *new (memory) Journal();
}

/// Gives the trial that begins its time.
static void startClock(const Limits &limits) {
  itimerval timer{{0, 0}, {time_t(limits.seconds), 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

static void limitProcess(const Limits &limits) {
  uint64_t bytes = uint64_t(limits.megabytes) << 20;
  rlimit none{0, 0}, memory{bytes, bytes};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_AS, &memory);
}

/// The child's standard error is a file without a name: assertions say there what failed.
static int openErrors() { return memfd_create("errors", 0); }

static std::string readErrors(int file) {
  char text[4096];
  ssize_t count = pread(file, text, sizeof text, 0);
  return std::string(text, count > 0 ? size_t(count) : 0);
}

/// How a child that did not end by itself ended.
static std::string causeOfDeath(int status, const Journal &journal, const std::string &errors) {
  size_t assertion = errors.find("Assertion `");
  if (assertion != std::string::npos) {
    size_t start = errors.rfind('\n', assertion);
    start = start == std::string::npos ? 0 : start + 1;
    return errors.substr(start, errors.find('\n', assertion) - start);
  }
  std::string place = std::string(" in ") + journal.step;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    return "no end in sight" + place;
  std::string last = errors.substr(0, errors.find('\n'));
  if (WIFSIGNALED(status))
    return std::string(strsignal(WTERMSIG(status))) + place + (last.empty() ? "" : ": " + last);
  return "exit " + std::to_string(WEXITSTATUS(status)) + place + ": " + last;
}

/// Runs `child` in a process of its own; what killed it, empty where it ended by itself.
static std::string inChild(Journal &journal, const Limits &limits,
                           llvm::function_ref<void()> child) {
  int errors = openErrors();
  pid_t process = fork();
  if (process == 0) {
    limitProcess(limits);
    dup2(errors, STDERR_FILENO);
    child();
    _exit(0);
  }
  int status = 0;
  waitpid(process, &status, 0);
  std::string text = readErrors(errors);
  close(errors);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : causeOfDeath(status, journal, text);
}

/// The step in which the fuzzer itself is at work.
static constexpr char kDrawing[] = "the fuzzer";

/// A context holds all it ever made; this many trials make it worth a new one.
static constexpr unsigned kTrialsPerContext = 100;

/// Whether the last attempt did not get beyond the parser and there may be another.
static bool isRefused(const Journal &journal, unsigned numAttempts) {
  constexpr unsigned mostAttempts = 4;
  return llvm::StringRef(journal.step) == kParsing && numAttempts < mostAttempts;
}

/// In the child: the trials from `first` until one has a finding.
static void runRow(Journal &journal, uint64_t first, uint64_t end, const Corpus &corpus,
                   const Limits &limits) {
  std::unique_ptr<mlir::MLIRContext> context, drawing;
  for (uint64_t seed = first; seed < end; ++seed) {
    if ((seed - first) % kTrialsPerContext == 0) {
      context = makeFuzzContext();
      drawing = makeDrawingContext();
    }
    journal.seed = seed;
    for (unsigned attempt = 0; attempt == 0 || isRefused(journal, attempt); ++attempt) {
      put(journal.step, kDrawing);
      startClock(limits);
      Trial trial = drawTrial(seed, attempt, corpus, *drawing);
      write(journal, trial);
      put(journal.what,
          runTrial(trial, *context, [&](llvm::StringRef s) { put(journal.step, s); }));
      if (journal.what[0] || llvm::StringRef(journal.step) == kContained)
        _exit(0);
    }
    journal.refusedByParser += llvm::StringRef(journal.step) == kParsing;
    journal.done += llvm::StringRef(journal.step) == kDone;
  }
  journal.seed = end;
}

Counts tw::fuzz::runTrials(uint64_t first, uint64_t count, const Corpus &corpus,
                           const Limits &limits, llvm::function_ref<void(const Finding &)> report) {
  Journal &journal = makeJournal();
  Counts counts;
  for (uint64_t seed = first, end = first + count; seed < end; seed = journal.seed + 1) {
    journal.what[0] = 0;
    journal.seed = seed;
    std::string cause =
        inChild(journal, limits, [&] { runRow(journal, seed, end, corpus, limits); });
    std::string what = journal.what[0] ? journal.what : cause;
    if (what.empty())
      continue;
    if (llvm::StringRef(journal.step) == kDrawing) {
      counts.notDrawn.push_back("seed " + std::to_string(journal.seed) + ": " + what);
      continue;
    }
    ++counts.findings;
    report({journal.seed, read(journal), what});
  }
  counts.refusedByParser = journal.refusedByParser;
  counts.done = journal.done;
  munmap(&journal, sizeof(Journal));
  return counts;
}

std::string tw::fuzz::runAlone(const Trial &trial, const Limits &limits) {
  Journal &journal = makeJournal();
  std::string cause = inChild(journal, limits, [&] {
    std::unique_ptr<mlir::MLIRContext> context = makeFuzzContext();
    startClock(limits);
    put(journal.what, runTrial(trial, *context, [&](llvm::StringRef s) { put(journal.step, s); }));
    _exit(0);
  });
  std::string what = journal.what[0] ? journal.what : cause;
  munmap(&journal, sizeof(Journal));
  return what;
}

std::string Finding::kind() const {
  std::string kind;
  bool isQuoted = false;
  for (char c : what) {
    isQuoted ^= c == '\'' || c == '"';
    if (!isQuoted && !std::isdigit(static_cast<unsigned char>(c)))
      kind += c;
  }
  return kind.substr(0, 160);
}
